"""Adversarial examples: inputs moved to where each member's loss rises."""

import pytest
import torch

import ensedu.torch as et
from ensedu.methods import METHODS
from ensedu.torch.train.fitting import Adversary
from tests.torch.train.nets import STEPS, B, M, N, converted, data, m, network
from tests.torch.train.tools import train


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_where_the_loss_is_higher(method):
    y, settings = data()[1], {"epochs": 1, "batch_size": B}
    for make in (network, converted) if method != "single" else (network,):
        x = data(make)[0]
        adverse, plain = (
            train(make(method), x, y, adversarial=part, **settings)[0] for part in (0.3, 0.0)
        )
        assert adverse["step"] == STEPS and adverse["nll"] > plain["nll"]


def test_behind_the_examples_are_those_that_each_member_moves():
    """Where to, a deep ensemble trained by hand shows; here a weight is shared."""
    x, y = data()
    net = network("batch_ensemble")
    far = 0.01 * (x.amax(0) - x.amin(0))
    examples, targets = Adversary(net, et.softmax_cross_entropy, x, 0.01, None)(x, y)
    assert torch.equal(targets, torch.cat([y, y]))
    assert torch.equal(examples[:, :N], x.expand(M, N, m))
    steps = examples[:, N:] - x
    learns = (steps != 0).any(-1)  # where every unit is off, there is no slope
    assert learns.double().mean() > 0.9
    torch.testing.assert_close(steps[learns].abs(), far.expand_as(steps)[learns])
    assert len({tuple(each.sign().flatten().tolist()) for each in steps}) == M
