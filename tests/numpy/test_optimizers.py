"""SGD and Adam against torch.optim, step by step; what a step adds up and empties."""

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
        _, grad = en.half_squared_error(net(x), y)
        net.backward(grad)
        optimizer.step()
        reference.zero_grad()
        out = twin(torch.from_numpy(x))
        (0.5 * (out - torch.from_numpy(y)).square().sum(-1).mean()).backward()
        reference.step()
    back = et.to_numpy(twin, rng=rng).params
    for key, value in net.params.items():
        np.testing.assert_allclose(value, back[key], rtol=0, atol=1e-12)


def test_a_step_empties_the_gradients():
    rng = np.random.default_rng(0)
    layer = en.Linear(m, n, rng=rng)
    layer.backward(np.ones_like(layer.forward(rng.standard_normal((B, m)))))
    optimizer = en.SGD(layer, 0.1)
    optimizer.step()
    assert layer.grads == {}
    with pytest.raises(ValueError, match="no gradient for weight, bias"):
        optimizer.step()
