"""Adversarial examples: inputs moved to where each member's loss rises."""

import copy

import pytest
import torch

import ensedu.torch as et
from ensedu.methods import METHODS
from ensedu.torch.train.adversarial import Adversary
from tests.torch.train.trained_networks import STEPS, B, M, N, converted, data, m, network


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_adversarial_examples(method):
    x, y = data()
    nets = [network(method), *([] if method == "single" else [converted(method)])]
    for net, inputs in zip(nets, (x, data(images=True)[0]), strict=False):
        rows, plain = (
            et.fit(
                copy.deepcopy(net), inputs, y, et.softmax_cross_entropy, epochs=1, batch_size=B,
                adversarial=part, validation=(inputs, y),
            )
            for part in (0.3, 0.0)
        )  # fmt: skip
        assert rows[0]["step"] == STEPS
        assert rows[0]["nll"] > plain[0]["nll"]  # they are where the loss is higher


def test_inputs_move_to_where_each_members_loss_rises():
    x, y = data()
    net = network("batch_ensemble")
    far = 0.01 * (x.amax(0) - x.amin(0))
    examples, targets = Adversary(net, et.softmax_cross_entropy, x, 0.01, None)(x, y)
    assert examples.shape == (M, 2 * N, m) and torch.equal(targets, torch.cat([y, y]))
    assert torch.equal(examples[:, :N], x.expand(M, N, m))
    steps = examples[:, N:] - x
    learns = (steps != 0).any(-1)  # where every unit is off, there is no slope
    assert learns.double().mean() > 0.9
    torch.testing.assert_close(steps[learns].abs(), far.expand_as(steps)[learns])
    assert len({tuple(each.sign().flatten().tolist()) for each in steps}) == M
    losses = et.softmax_cross_entropy(net(examples), targets, reduction="none")
    rises = (losses[:, N:] > losses[:, :N])[learns]
    assert rises.double().mean() > 0.95  # but where a unit is switched on the way
