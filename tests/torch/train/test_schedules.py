"""Learning rates that change from step to step, also in a training that goes on."""

from functools import partial

import pytest
import torch
from torch.optim import lr_scheduler as schedulers

import ensedu.torch as et
from tests.torch.train.trained_networks import STEPS, B, data, keeping, network, same

MAKERS = {
    "steps at milestones": partial(schedulers.MultiStepLR, milestones=[3, 9], gamma=0.3),
    "cosine with restarts": partial(schedulers.CosineAnnealingWarmRestarts, T_0=3, T_mult=2),
    "one cycle": partial(schedulers.OneCycleLR, max_lr=0.3, total_steps=5 * STEPS),
    "a function": partial(schedulers.LambdaLR, lr_lambda=lambda step: 1 / (1 + step)),
    "one after the other": lambda optimizer: schedulers.SequentialLR(
        optimizer,
        [schedulers.LinearLR(optimizer, 0.1, total_iters=4),
         schedulers.ExponentialLR(optimizer, 0.9)],
        milestones=[4],
    ),
}  # fmt: skip


def train(net, epochs, made=None, **options):
    x, y = data()
    made = [] if made is None else made
    rows = et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=epochs, batch_size=B, fast_lr_factor=3.0,
        optimizer=keeping(made), **{"lr": 0.02} | options,
    )  # fmt: skip
    return rows, net.state_dict(), made[-1].state_dict()


@pytest.mark.parametrize("name", MAKERS)
def test_a_training_that_goes_on_takes_the_rates_of_one_that_was_not_stopped(tmp_path, name):
    expected = train(network("rank1"), 5, scheduler=MAKERS[name])
    plain = train(network("rank1"), 5)
    assert not same(plain[1], expected[1])
    for epochs in (1, 3, 5):
        found = train(network("rank1"), epochs, scheduler=MAKERS[name], checkpoint=tmp_path)
    assert same(found, expected)


def test_the_rates_are_those_of_the_scheduler_step_by_step():
    seen = []

    class Watched(torch.optim.SGD):
        def step(self, closure=None):
            seen.append([group["lr"] for group in self.param_groups])
            super().step()

    x, y = data()
    et.fit(
        network("batch_ensemble"), x, y, et.softmax_cross_entropy, epochs=2, batch_size=B, lr=0.1,
        fast_lr_factor=4.0, optimizer=Watched,
        scheduler=partial(schedulers.ExponentialLR, gamma=0.5),
    )  # fmt: skip
    assert seen == [
        pytest.approx([0.1 * 0.5**i, 0.1 * 0.5**i, 0.4 * 0.5**i]) for i in range(2 * STEPS)
    ]


def test_a_training_goes_on_at_another_rate_where_it_is_told_so(tmp_path):
    """As one by hand, whose optimizer keeps its moments and gets the rate of each part."""
    x, y = data()
    expected, made = network("batch_ensemble"), []

    def change(row):
        if row["epoch"] == 2:
            for group, lr in zip(made[0].param_groups, (0.005, 0.005, 0.01), strict=True):
                group["lr"] = lr

    train(expected, 5, made, callback=change)
    train(network("batch_ensemble"), 2, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"training with lr = 0\.005.*new_lr=True"):
        train(network("batch_ensemble"), 5, lr=0.005, checkpoint=tmp_path)
    net = network("batch_ensemble")
    anew = {"lr": 0.005, "checkpoint": et.SaveTo(tmp_path, new_lr=True)}
    x, y = data()
    for epochs in (3, 5):
        et.fit(
            net, x, y, et.softmax_cross_entropy, epochs=epochs, batch_size=B, fast_lr_factor=2.0,
            optimizer=torch.optim.AdamW, **anew,
        )  # fmt: skip
    assert same(net.state_dict(), expected.state_dict())
    with pytest.raises(ValueError, match=r"training with weight_decay.*another folder$"):
        train(net, 6, weight_decay=0.1, **anew)


def test_a_new_rate_is_what_a_new_scheduler_starts_from(tmp_path):
    """The schedule is that of the whole training at the new rate; what was trained stays."""
    halving, seen = partial(schedulers.ExponentialLR, gamma=0.5), []

    class Watched(torch.optim.AdamW):
        def step(self, closure=None):
            seen.append(self.param_groups[0]["lr"])
            super().step()

    x, y = data()
    for epochs, options in (
        (1, {"lr": 0.1, "checkpoint": tmp_path}),
        (2, {"lr": 0.3, "checkpoint": et.SaveTo(tmp_path, new_lr=True), "scheduler": halving}),
    ):
        net = network("batch_ensemble")
        et.fit(
            net, x, y, et.softmax_cross_entropy, epochs=epochs, batch_size=B, optimizer=Watched,
            **options,
        )  # fmt: skip
    assert seen[:STEPS] == [0.1] * STEPS
    assert seen[STEPS:] == pytest.approx([0.3 * 0.5**i for i in range(STEPS, 2 * STEPS)])
