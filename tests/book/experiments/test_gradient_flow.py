"""Small networks on a circle: kernels by hand, and what is watched while they train."""

import numpy as np

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
    width, net = 16, small.network(16)
    rows, (times, real, still) = small.trained(width), small.paths(width)
    first = rows[0]
    np.testing.assert_allclose(first[0], first[2], rtol=0, atol=1e-12)
    np.testing.assert_allclose(real[0], still[0], rtol=0, atol=1e-12)
    small.train(net, 80)  # until time 8
    outputs, at_data, _, reach = rows[small.TIMES.index(8)]
    np.testing.assert_allclose(outputs, net(small.ALL)[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(at_data, net(small.X)[0], rtol=0, atol=1e-12)
    own = small.kernel(net, small.ALL, small.X[[small.AT]])[:, 0]
    np.testing.assert_allclose(reach, own, rtol=0, atol=1e-12)
    angles, adds, way = small.trails(width)
    assert angles.shape == adds.shape == (65, width)
    W, w = net.weights
    np.testing.assert_allclose(adds[8], np.linalg.norm(W, axis=0) * w[:, 0], rtol=0, atol=1e-12)
    turned = np.radians(angles[8]) - np.arctan2(W[1], W[0])
    np.testing.assert_allclose(np.cos(turned), 1, rtol=0, atol=1e-12)
    assert 0.4 < way < 0.5
    small.train(net, 560)
    np.testing.assert_allclose(real[-1], net(small.X)[0], rtol=0, atol=1e-12)
    assert times[-1] == 64


def test_where_the_kernel_stands_still_the_prediction_holds():
    (times, real, still), (_, narrow, guessed) = small.paths(1024), small.paths(16)
    assert np.abs(real - still).max() < 0.25 < np.abs(narrow - guessed).max()
    assert times[0] == 0
    assert small.moved(256, 0) < 0.1 < 0.3 < small.moved(16, 0)


def test_random_outputs_have_the_variance_of_the_limit():
    found = small.before(64, draws=2000)
    assert found.shape == (2000, 61)
    assert abs((found**2).mean() - 0.5) < 0.03
    np.testing.assert_allclose(found[:, 0], found[:, -1], rtol=0, atol=1e-9)
