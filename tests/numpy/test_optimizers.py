"""SGD and Adam against torch.optim, step by step; float32 layers; what a step empties."""

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et

M, B, m, n = 3, 7, 5, 11


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda net: en.SGD(net, 0.05), lambda p: torch.optim.SGD(p, 0.05)),
        (lambda net: en.SGD(net, 0.05, 0.9), lambda p: torch.optim.SGD(p, 0.05, 0.9)),
        (lambda net: en.Adam(net, 0.01), lambda p: torch.optim.Adam(p, 0.01)),
        (
            lambda net: en.Adam(net, 0.02, (0.5, 0.75), 1e-3),
            lambda p: torch.optim.Adam(p, 0.02, (0.5, 0.75), 1e-3),
        ),
    ],
)
def test_steps_equal_torch(ours, theirs):
    rng = np.random.default_rng(0)
    net = en.mlp([m, 13, n], "batch_ensemble", M, rng=rng)
    twin = et.from_numpy(net)
    x, y = rng.standard_normal((B, m)), rng.standard_normal((B, n))
    optimizer, reference = ours(net), theirs(twin.parameters())
    for _ in range(20):
        _, grad = en.squared_error(net(x), y)
        net.backward(grad)
        optimizer.step()
        reference.zero_grad()
        out = twin(torch.from_numpy(x))
        (0.5 * (out - torch.from_numpy(y)).square().sum(-1).mean()).backward()
        reference.step()
    back = et.to_numpy(twin, rng=rng).params
    for key, value in net.params.items():
        np.testing.assert_allclose(value, back[key], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "method", ["single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout"]
)
def test_training_lowers_the_loss(method):
    rng = np.random.default_rng(0)
    net = en.mlp([2, 19, 1], method, M, rng=rng)
    optimizer = en.Adam(net, 0.01)
    x = rng.standard_normal((29, 2))
    y = np.sin(x[:, :1]) + x[:, 1:]
    losses = []
    for _ in range(300):
        loss, grad = en.squared_error(net(x), y)
        net.backward(grad)
        net.kl_backward(1e-4)
        optimizer.step()
        losses.append(loss)
    assert np.mean(losses[-20:]) < 0.2 * losses[0]


def test_float32_network_stays_float32():
    rng = np.random.default_rng(0)
    for method in ["single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field"]:
        net = en.mlp([m, 13, n], method, M, rng=rng, dtype=np.float32)
        optimizer = en.Adam(net)
        x, y = (rng.standard_normal((B, size)).astype(np.float32) for size in (m, n))
        for _ in range(2):
            out = net(x)
            _, grad = en.squared_error(out, y)
            grad_x = net.backward(grad)
            net.kl_backward(0.1)
            assert {a.dtype for a in (out, grad, grad_x, *net.grads.values())} == {np.dtype("f4")}
            optimizer.step()
        assert {a.dtype for a in net.params.values()} == {np.dtype("f4")}


def test_a_step_empties_the_gradients():
    rng = np.random.default_rng(0)
    layer = en.Linear(m, n, rng=rng)
    layer.backward(np.ones_like(layer.forward(rng.standard_normal((B, m)))))
    optimizer = en.SGD(layer, 0.1)
    optimizer.step()
    assert layer.grads == {}
    with pytest.raises(ValueError, match="no gradient for weight, bias"):
        optimizer.step()
