"""Small networks on a circle: kernels by hand, and what is watched while they train."""

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments import gradient_flow as small


def by_hand(net, x):
    """The outputs, and the gradient of each output in all weights, (B, 3 · width)."""
    (W, w), m = net.weights, 2
    z = x @ W / m**0.5
    hidden = np.maximum(z, 0) / W.shape[1] ** 0.5
    slopes = (z > 0) * w[:, 0] / W.shape[1] ** 0.5
    inner = x[:, :, None] / m**0.5 * slopes[:, None]
    return (hidden @ w)[:, 0], np.concatenate([inner.reshape(len(x), -1), hidden], axis=1)


def test_a_kernel_is_a_product_of_gradients_and_a_step_goes_down_them():
    net = small.network(7, seed=3)
    x = small.circle(np.array([10.0, 50.0, 200.0]))
    np.testing.assert_allclose((x**2).sum(axis=1), 2, rtol=0, atol=1e-12)
    outputs, slopes = by_hand(net, x)
    np.testing.assert_allclose(net(x)[0], outputs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(small.kernel(net, x), slopes @ slopes.T, rtol=0, atol=1e-12)
    at_data, slopes = by_hand(net, small.X)
    before = np.concatenate([weight.ravel() for weight in net.weights])
    small.train(net, 1, lr=0.3)
    after = np.concatenate([weight.ravel() for weight in net.weights])
    step = 0.3 * slopes.T @ (small.TARGETS - at_data) / 6
    np.testing.assert_allclose(after - before, step, rtol=0, atol=1e-12)


def test_what_is_watched_is_that_of_one_training():
    *data, found = small.watched()
    assert [*found] == [16, 256]
    for own, wanted in zip(
        data, (small.ANGLES, small.TARGETS, small.AT, small.GRID, small.TIMES), strict=True
    ):
        np.testing.assert_array_equal(own, wanted)
    width, net, rows = 16, small.network(16), found[16]
    assert len(rows) == len(small.TIMES)
    np.testing.assert_allclose(rows[0][0], rows[0][2], rtol=0, atol=1e-12)
    small.train(net, 80)  # until time 8
    outputs, at_data, _, reach = rows[small.TIMES.index(8)]
    np.testing.assert_allclose(outputs, net(small.ALL)[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_data, net(small.X)[0], rtol=0, atol=1e-12)
    own = small.kernel(net, small.ALL, small.X[[small.AT]])[:, 0]
    np.testing.assert_allclose(reach, own, rtol=0, atol=1e-12)
    angles, adds = small.trails(width)
    assert angles.shape == adds.shape == (65, width)
    W, w = net.weights
    np.testing.assert_allclose(adds[8], np.linalg.norm(W, axis=0) * w[:, 0], rtol=0, atol=1e-12)
    turned = np.radians(angles[8]) - np.arctan2(W[1], W[0])
    np.testing.assert_allclose(np.cos(turned), 1, rtol=0, atol=1e-12)


def test_what_is_foreseen_is_where_the_linearized_network_goes():
    """Its weights trained by small steps, with the gradients of the start."""
    net = small.network(11, seed=2)
    start, slopes = by_hand(net, small.X)
    everywhere, ways = by_hand(net, small.ALL)
    moved, rate = np.zeros(slopes.shape[1]), 1e-3
    for _ in range(3000):
        errors = start + slopes @ moved - small.TARGETS
        moved -= rate * slopes.T @ errors / 6
    still = small.foreseen(net, [0.0, 3.0])
    np.testing.assert_allclose(still[0], everywhere, rtol=0, atol=1e-12)
    np.testing.assert_allclose(still[1], everywhere + ways @ moved, rtol=0, atol=2e-3)
    assert np.abs(still[1] - still[0]).max() > 0.2


def test_a_row_is_what_one_training_moves():
    table = measured.load("gradient-flow")
    for width, seed in ((16, 3), (64, 0)):
        net = small.network(width, seed)
        _, slopes = by_hand(net, small.X)
        begin = np.concatenate([weight.ravel() for weight in net.weights])
        still = small.foreseen(net, [64.0])[0]
        small.train(net, 640)
        end = np.concatenate([weight.ravel() for weight in net.weights])
        _, after = by_hand(net, small.X)
        kernels = slopes @ slopes.T, after @ after.T
        wanted = {
            "weights": np.sqrt(np.mean((end - begin) ** 2)),
            "kernel": np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0]),
            "apart": np.sqrt(np.mean((by_hand(net, small.ALL)[0] - still) ** 2)),
        }
        found = small.run(width, seed, **table["settings"])
        row = measured.row(table["rows"], width=width, seed=seed)
        for name, value in wanted.items():
            assert found[name] == pytest.approx(value, rel=1e-9)
            assert row[name] == pytest.approx(value, rel=1e-3)


def test_units_of_a_narrow_network_turn_and_those_of_a_wide_one_stay():
    turned = {}
    for width in (16, 1024):
        angles, _ = small.trails(width)
        turned[width] = np.sqrt(np.mean((angles[-1, :16] - angles[0, :16]) ** 2))
    assert turned[16] > 20 > 10 > turned[1024]
