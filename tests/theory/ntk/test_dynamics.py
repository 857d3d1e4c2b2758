"""A kernel that stands still, against its differential equation and against real training."""

import numpy as np
import pytest
from scipy import linalg

from ensedu.theory.ntk import Modulation, embedded, flow, limit, modes, tangent

M, B = 3, 5


def some_kernel(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((M * B, M * B))
    return (root @ root.T).reshape(M, B, M, B).transpose(0, 2, 1, 3).copy()


def test_flow_solves_its_equation():
    kernel, rng = some_kernel(0), np.random.default_rng(1)
    start, y, times = rng.standard_normal((M, B)), rng.standard_normal(B), [0.0, 0.3, 2.0]
    found = flow(kernel, start, y, times)
    matrix = kernel.transpose(0, 2, 1, 3).reshape(M * B, M * B)
    for outputs, time in zip(found, times, strict=True):
        expected = y + (linalg.expm(-matrix * time / B) @ (start - y).ravel()).reshape(M, B)
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("kind", "gamma"), [("signs", 1.0), ("normal", 3.0)])
def test_wide_ensembles_train_as_their_linearization_does(kind, gamma):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((B, 2))
    y, apart = np.sin(x[:, 0]), []
    for width in (32, 512):
        u = Modulation(kind, std=0.5)
        net = embedded((2, width, width, 1), M, rng=np.random.default_rng(3), u=u, activation="erf")
        start, kernel = net(x), tangent(net, x).total(gamma)
        expected = flow(kernel, start, y, [10.0])[0]
        for _ in range(50):
            net.step(x, y, 0.2, gamma=gamma)
        apart.append(np.abs(net(x) - expected).max())
        assert np.abs(net(x) - start).max() > 0.5
    assert apart[1] < 0.03
    assert apart[1] < apart[0] / 3


@pytest.mark.parametrize("ratio", [-0.4, 0.0, 0.3, 1.0])
def test_modes_are_eigenvalues(ratio):
    gamma = 1.7
    matrix = gamma / M * (ratio * np.ones((M, M)) + (1 - ratio) * np.eye(M))
    together, difference = modes(M, ratio, gamma)
    expected = sorted([together] + [difference] * (M - 1))
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), expected, atol=1e-14)


@pytest.mark.bad_input
def test_bad_input_is_named():
    kernel, start, y = some_kernel(0), np.zeros((M, B)), np.zeros(B)
    for call, words in (
        (lambda: flow(kernel, start, y[:-1], [0.0]), "targets"),
        (lambda: flow(kernel + np.arange(B), start, y, [0.0]), "kernel must be symmetric"),
        (lambda: flow(kernel, start, y, [-1.0]), r"times\[0\]"),
        (lambda: flow(kernel, start, y, 3.0), "times must be"),
        (lambda: modes(3, -0.6), "ratio must be"),
        (lambda: modes(0, 0.1), "ensemble_size"),
        (lambda: limit(start, hidden_layers=1, bias_std=1e200), "bias_std must have a finite squ"),
        (lambda: limit(start, hidden_layers=1, v=Modulation("bernoulli", p=0.5)), "v must not be"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            call()
