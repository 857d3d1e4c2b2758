"""What each step of a training weighs: exact fractions, and both training loops."""

from fractions import Fraction

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.common.training_plan import Plan, minibatch_kl_weights

M, m, n = 3, 5, 11


def test_the_weight_of_the_kl_grows_over_the_epochs_of_a_plan():
    plan = Plan(num_examples=22, batch_size=6, beta=2.0, anneal=3)
    assert [plan.kl_weight(step) for step in (0, 5, 11, 12)] == [2 / 12, 1.0, 2.0, 2.0]
    # Of 22 examples, 3 members that split them leave a last minibatch of 4; of 20, none.
    for number, steps in ((22, 4), (20, 3), (18, 3)):
        plan = Plan(num_examples=number, batch_size=6, anneal=1, split=M)
        assert plan.kl_weight(0) == 1 / steps


@pytest.mark.parametrize("number", [1, 2, 7, 1_500])
def test_minibatches_share_the_kl(number):
    uniform, geometric = (minibatch_kl_weights(number, k) for k in ("uniform", "geometric"))
    assert uniform == [1 / number] * number
    assert sum(geometric) == pytest.approx(1, abs=1e-12)
    exact = [Fraction(2 ** (number - i), 2**number - 1) for i in range(1, number + 1)]
    np.testing.assert_allclose(geometric, [float(part) for part in exact], rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("kind", ["uniform", "geometric"])
def test_both_loops_give_each_minibatch_its_share(kind):
    """Inputs of 0 teach nothing, so that each step shrinks the means by its share of the KL."""
    number, size, rate = 12, 4, 0.9 * 12
    x, y = np.zeros((number, m)), np.zeros((number, n))
    rng = np.random.default_rng(4)
    layer = en.MeanFieldLinear(m, n, rng=rng, bias=False)
    before = layer.params["weight_mean"].copy()
    module = et.from_numpy(layer)
    seen: dict[str, list[np.ndarray]] = {"numpy": [], "torch": []}

    class Watched(en.optimizers.SGD):
        def step(self):
            super().step()
            seen["numpy"].append(layer.params["weight_mean"].copy())

    def watched(groups, lr):
        optimizer = torch.optim.SGD(groups, lr=lr)
        optimizer.register_step_post_hook(
            lambda *_: seen["torch"].append(module.weight_mean.detach().T.numpy().copy())
        )
        return optimizer

    own = {"epochs": 2, "batch_size": size, "lr": rate, "kl": et.KLWeight(minibatches=kind)}
    en.fit(layer, x, y, en.half_squared_error, rng=rng, optimizer=Watched, **own)
    tensors = torch.from_numpy(x), torch.from_numpy(y)
    et.fit(module, *tensors, et.half_squared_error, optimizer=watched, bar=False, **own)
    # After each step, because the product of all factors is the same in any order.
    factors = [1 - rate / number * 3 * part for part in minibatch_kl_weights(3, kind)]
    for loop, means in seen.items():
        for found, factor in zip(means, np.cumprod(2 * factors), strict=True):
            np.testing.assert_allclose(found, factor * before, rtol=1e-12, atol=1e-15, err_msg=loop)
