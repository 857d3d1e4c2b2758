"""An embedded ensemble's gradients and step against autograd."""

import numpy as np
import torch

from ensedu.theory.ntk import embedded
from tests.theory.ntk.networks import AROUND_ONE, B, M, in_torch, inputs, m


def test_gradients_and_a_step_are_autograds():
    net = embedded((m, 7, 13, 1), M, rng=np.random.default_rng(4), v=AROUND_ONE, bias_std=0.3)
    x, pull = inputs(5), np.random.default_rng(6).standard_normal((M, B))
    function, values, number = in_torch(net)
    values.requires_grad_()
    (function(values, torch.from_numpy(x)) * torch.from_numpy(pull)).sum().backward()
    grads = net.gradients(net.forward_pass(x), pull)
    row = np.concatenate([a.ravel() for several in grads.values() for a in several])
    np.testing.assert_allclose(row, values.grad.numpy(), rtol=0, atol=1e-12)
    y, lr, gamma = np.sin(x[:, 0]), 0.1, 1.3
    values.grad = None
    losses = 0.5 * (function(values, torch.from_numpy(x)) - torch.from_numpy(y)).square().mean(-1)
    losses.sum().backward()
    rate = torch.full_like(values, 0.02)
    rate[:number] = lr * gamma / M
    wanted = (values - rate * values.grad).detach().numpy()
    before = net(x)
    np.testing.assert_array_equal(net.step(x, y, lr, gamma=gamma, modulation_lr=0.02), before)
    names = ("weights", "biases", "u", "v")
    row = np.concatenate([a.ravel() for name in names for a in getattr(net, name)])
    np.testing.assert_allclose(row, wanted, rtol=0, atol=1e-12)
