"""One network: what it learns from, what only stops it, and that it predicts the same each time."""

import numpy as np
import pytest
import torch

from ensedu.methods import METHODS
from ensedu.sklearn import scaled_network as module
from ensedu.sklearn.scaled_network import train_scaled
from ensedu.torch import gaussian_nll, softmax_cross_entropy

n, m, k = 41, 3, 2
SETTINGS = {
    "method": "deep_ensemble", "ensemble_size": 3, "hidden": (5,), "epochs": 1, "lr": 0.01,
    "weight_decay": 0.0, "batch_size": 7, "patience": None,
}  # fmt: skip


def rows(seed=0):
    """Inputs and numbers to predict, both far from standardized, and labels."""
    rng = np.random.default_rng(seed)
    x = 300 + 70 * rng.standard_normal((n, m))
    return x, 5e6 + 1e5 * rng.standard_normal((n, 1)), rng.integers(0, k, n)


def of_labels(x, labels, seed=11, **settings):
    return train_scaled(x, labels, k, softmax_cross_entropy, seed, 4, **SETTINGS | settings)


def same(one, other):
    """Whether two networks have the same bits."""
    first, second = one.net.state_dict(), other.net.state_dict()
    return all(torch.equal(value, second[name]) for name, value in first.items())


def test_outputs_are_those_of_standardized_rows():
    x, y, _ = rows()
    found = train_scaled(x, y, 2, gaussian_nll, 11, 4, **SETTINGS)
    assert found.y_scaler.mean_ == pytest.approx(y.mean()) and y.std() == found.y_scaler.scale_
    standardized = torch.tensor((x - x.mean(0)) / x.std(0))
    with torch.no_grad():
        expected = found.net(standardized).numpy()
    assert expected.shape == (3, n, 2)
    np.testing.assert_allclose(found.outputs(x), expected, atol=1e-12)


def test_targets_are_learned_standardized():
    """One step of a bias that starts at 0 and ends near the mean of y would need a rate of 1e6."""
    x, y, _ = rows()
    found, moved = (
        train_scaled(x, unit * y - 3, 2, gaussian_nll, 11, 4, **SETTINGS) for unit in (1.0, 1024.0)
    )
    np.testing.assert_allclose(moved.outputs(x), found.outputs(x), atol=1e-7)


def test_the_first_rows_stop_and_teach_nothing():
    x, _, labels = rows()
    stop = 4  # of 41
    others = [labels.copy() for _ in range(2)]
    others[0][:stop] = 1 - labels[:stop]
    others[1][stop] = 1 - labels[stop]
    first = of_labels(x, labels, patience=9)
    assert same(of_labels(x, others[0], patience=9), first)
    assert not same(of_labels(x, others[1], patience=9), first)
    # And without stopping all rows teach.
    assert not same(of_labels(x, others[0]), of_labels(x, labels))


def test_the_weights_are_those_of_the_best_epoch():
    """Labels of chance in the rows that stop: the first epochs are the best."""
    x, _, labels = rows()
    x[:, 0] = np.where(np.arange(n) < 4, -1, 1) * (labels - 0.5)  # those four say the opposite
    patient = of_labels(x, labels, patience=2, epochs=50, lr=0.1)
    assert same(patient, of_labels(x, labels, patience=2, epochs=1, lr=0.1))
    assert not same(patient, of_labels(x[4:], labels[4:], epochs=50, lr=0.1))


@pytest.mark.parametrize("method", METHODS)
def test_each_method_predicts_the_same_each_time(method, monkeypatch):
    x, _, labels = rows()
    row = METHODS[method]
    found = of_labels(x, labels, method=method, hidden=(31,))
    outputs = found.outputs(x)
    members = 3 if row.has_members or row.stochastic else 1
    assert len(outputs) == members * (module.SAMPLES if row.stochastic else 1)
    assert np.array_equal(found.outputs(x), outputs)
    np.testing.assert_allclose(found.outputs(x[:5]), outputs[:, :5], atol=1e-12)
    monkeypatch.setattr(module, "ROWS", 17)
    np.testing.assert_allclose(found.outputs(x), outputs, atol=1e-12)
    if row.stochastic:  # and no two samples are the same
        assert len({one.tobytes() for one in outputs}) == len(outputs)
