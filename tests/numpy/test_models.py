"""LeNet-5 of every method, against Torch."""

import numpy as np
import pytest

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS
from tests.numpy.convolutions import B, M, S, check_gradients, in_torch


def lenet(method):
    row, options = METHODS[method], {}
    if row.members:
        options["ensemble_size"] = M
    if method in ("rank1", "mean_field"):
        options["posterior_std"] = 0.3
    if row.stochastic:
        options["samples"] = S
    return en.lenet5(method, rng=np.random.default_rng(8), filters=(2, 3), classes=7, **options)


@pytest.mark.parametrize("method", METHODS)
def test_lenet_is_torchs_with_all_gradients(method):
    net = lenet(method)
    rng = np.random.default_rng(9)
    x = rng.standard_normal((B, 1, 28, 28))
    noise = net.noise(rng, x.shape) if METHODS[method].stochastic else None
    y = net.forward(x, noise)
    assert y.shape == net.output_shape(x.shape)
    grad = rng.standard_normal(y.shape)
    expected, wanted = in_torch(net, x, noise, grad)
    found = {"x": net.backward(grad), **net.grads}
    scale = np.abs(expected).max()
    np.testing.assert_allclose(y, expected, rtol=0, atol=1e-12 * max(1.0, scale))
    check_gradients(found, wanted)
    again = et.to_numpy(et.from_numpy(net), rng=rng)
    assert all((again.params[key] == value).all() for key, value in net.params.items())


def test_lenet_has_the_published_count():
    assert counting.count(en.lenet5(rng=np.random.default_rng(0))).total == 61_706


@pytest.mark.bad_input
def test_bad_filters_are_named():
    with pytest.raises((TypeError, ValueError), match="filters must be"):
        en.lenet5(rng=np.random.default_rng(0), filters=6)
