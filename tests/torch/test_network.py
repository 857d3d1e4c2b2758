"""Networks, and layers without weights, in Torch."""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from tests import networks
from tests.backends import B, InTorch, M, m
from tests.gradients import Twin, as_book, for_layers_and_inputs, torch_noise


class TestNetworks(InTorch, networks.Networks):
    pass


@for_layers_and_inputs("network", "activations")
class TestTwin(InTorch, Twin):
    pass


@pytest.mark.parametrize("method", METHODS)
def test_networks_agree_and_every_parameter_gets_a_gradient(method):
    rng = np.random.default_rng(11)
    net = en.mlp([m, 13, 17, 2], method, **size_option(method, M), rng=rng)
    twin = et.from_numpy(net)
    x = rng.standard_normal((B, m))
    noise = net.noise(rng, x.shape)
    y, y_twin = net(x, noise), twin(torch.from_numpy(x), torch_noise(noise))
    np.testing.assert_allclose(y_twin.detach(), y, rtol=0, atol=1e-12)
    grad = rng.standard_normal(y.shape)
    net.backward(grad)
    y_twin.backward(torch.from_numpy(grad))
    for key, parameter in twin.named_parameters():
        name = key.split(".")[1]
        np.testing.assert_allclose(
            as_book(name, parameter.grad), net.grads[key], rtol=0, atol=1e-12
        )
    assert net.grads.keys() == net.params.keys()
    assert all(np.any(g != 0) for g in net.grads.values())
