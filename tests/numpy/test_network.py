"""Layers in a row, and multilayer perceptrons, in NumPy."""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from tests import networks
from tests.backends import InNumPy, M, m
from tests.gradients import ByHand, Sums, for_layers, for_layers_and_inputs


class TestNetworks(InNumPy, networks.Networks):
    pass


@for_layers_and_inputs("network")
class TestTileGradients(ByHand):
    pass


@for_layers("network")
class TestTileSums(Sums):
    pass


@pytest.mark.parametrize("method", METHODS)
def test_the_kl_of_a_network_is_the_sum_over_its_layers(method):
    rng = np.random.default_rng(11)
    net = en.mlp([m, 13, 17, 2], method, **size_option(method, M), rng=rng)
    twin = et.from_numpy(en.Sequential(net, en.ReLU()))
    layers = [layer for layer in net.layers if hasattr(layer, "kl")]
    expected = sum(np.mean(layer.kl()) for layer in layers)
    assert len(layers) == (3 if method in ("rank1", "mean_field") else 0)
    assert len({np.mean(layer.kl()) for layer in layers}) == len(layers)
    assert en.kl(net) == en.kl(en.Sequential(net)) == pytest.approx(expected, rel=1e-12)
    assert et.kl(twin).item() == pytest.approx(expected, rel=1e-12)
    en.kl_backward(en.Sequential(net), 0.5)
    for layer in layers:
        together = dict(layer.grads)
        layer.zero_grad()
        layer.kl_backward(0.5)
        for key, value in layer.grads.items():
            np.testing.assert_array_equal(together[key], value)


def test_tile_copies_images_for_samples_and_members():
    S, M, B = 2, 3, 5
    x = np.random.default_rng(11).standard_normal((B, 2, 3, 5))
    tile = en.Tile(S, M, feature_axes=3)
    y = tile.forward(x)
    assert y.shape == (S, M, B, 2, 3, 5)
    np.testing.assert_array_equal(y, et.from_numpy(tile)(torch.from_numpy(x)).numpy())
    np.testing.assert_allclose(tile.backward(y), S * M * x)


@pytest.mark.bad_input
def test_other_axes_of_an_input_are_named():
    with pytest.raises((TypeError, ValueError), match=r"\(B, ·, ·, ·\)"):
        en.Tile(2, feature_axes=3).forward(np.ones((2, 3)))
