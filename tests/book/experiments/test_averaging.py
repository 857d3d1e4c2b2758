"""What averaging leaves of an error: the formula, and the table that the chapter reads."""

from itertools import combinations

import numpy as np
import pytest
import torch

from ensedu import numpy as en
from ensedu.book import measured
from ensedu.book.experiments import averaging
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.averaging import averaged_error, error_products
from ensedu.data import gap


def test_common_against_a_loop():
    errors = np.random.default_rng(0).standard_normal((5, 7)) + 0.3
    square, product = error_products(errors)
    assert square == pytest.approx(np.mean([np.mean(e**2) for e in errors]), rel=1e-12)
    pairs = [np.mean(errors[i] * errors[j]) for i, j in combinations(range(5), 2)]
    assert product == pytest.approx(np.mean(pairs), rel=1e-12)


@pytest.mark.parametrize("members", [1, 2, 3, 5])
def test_the_formula_is_the_mean_over_all_choices_of_members(members):
    errors = np.random.default_rng(1).standard_normal((5, 7)) + 0.3
    choices = [list(choice) for choice in combinations(range(5), members)]
    left = np.mean([np.mean(errors[choice].mean(axis=0) ** 2) for choice in choices])
    assert averaged_error(*error_products(errors), members) == pytest.approx(left, rel=1e-12)


def test_the_summary_is_that_of_the_rows():
    table = measured.load("averaging")
    assert len(table["rows"]) == 20
    for place, found in averaging.summarize(table["rows"]).items():
        for name, value in found.items():
            assert table["summary"][place][name] == pytest.approx(value, rel=1e-3)


def test_a_short_run_is_of_the_errors_of_the_ensemble(monkeypatch):
    monkeypatch.setitem(example.SETTINGS, "epochs", 2)
    found = averaging.run(4, seeds=1, members=3, points=5)
    x, truth, _ = example.new_points(4, 5)
    net = example.deep_ensemble(3, data_seed=4, seed=4)
    outputs = net(torch.from_numpy(x)).detach().numpy()
    for place, rows in (("regions", range(5)), ("gap", range(5, 10))):
        square, product = error_products(outputs[:, rows, 0] - truth[rows, 0])
        assert found[place] == {"square": [square], "product": [product]}


def test_each_start_is_trained_on_the_data_of_its_row(monkeypatch):
    seen = []

    def trained(number, *, data_seed, seed):
        seen.append((number, data_seed, seed))
        return torch.nn.Identity()

    monkeypatch.setattr(averaging.example, "deep_ensemble", trained)
    zeros = torch.zeros(3, 10, 1, dtype=torch.float64)
    monkeypatch.setattr(averaging, "predict", lambda net, x: zeros)
    averaging.run(4, seeds=2, members=3, points=5)
    assert seen == [(3, 4, 8), (3, 4, 9)]


def test_what_is_left_is_that_of_members_from_different_starts_in_the_gap(monkeypatch):
    monkeypatch.setitem(example.SETTINGS, "epochs", 2)
    found = averaging.by_start(3)
    assert np.ptp(found.curves["same"], axis=0).max() < 1e-12
    assert np.ptp(found.curves["different"], axis=0).max() > 0.01
    low, high = gap.gaps[0]
    inside = [low < x < high for x in found.x]
    assert found.in_gap.tolist() == inside
    errors = found.curves["different"][:, inside] - gap.truth(found.x)[inside]
    assert found.left([1, 3]) == pytest.approx(
        {1: (errors**2).mean(), 3: (errors.mean(0) ** 2).mean()}, rel=1e-12
    )


@pytest.mark.parametrize("M", [2, 5])
def test_how_members_begin(M):
    """Equal members keep all of a gradient, signs 1/M; a member's output has variance (1 + σ²)²."""

    def mean(**start):
        nets = (
            en.mlp([97, 101, 7], "batch_ensemble", M, rng=np.random.default_rng(seed), **start)
            for seed in range(6)
        )
        return np.mean([averaging.begun(net, seed) for seed, net in enumerate(nets)], axis=0)

    assert mean(init="normal", init_std=1e-9) == pytest.approx([1, 1])
    correlation, left = mean(init="signs")
    assert abs(correlation) < 0.05
    assert left == pytest.approx(1 / M, abs=0.02)
    assert mean(init="normal", init_std=0.5)[0] == pytest.approx(1 / 1.25**2, abs=0.06)
