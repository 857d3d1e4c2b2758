"""Who takes part in the shoot-out: networks, settings, seeds and training."""

import math

import numpy as np
import pytest
from torch import nn

from ensedu import counting
from ensedu.book.experiments import shootout
from ensedu.book.experiments.shootout import contestants, tasks
from ensedu.book.experiments.shootout.tasks import TASKS, split_of_task
from ensedu.torch import MCDropout
from ensedu.torch.models import lenet5

OWN = [name for name, row in shootout.CONTESTANTS.items() if not row.other]


def test_no_two_starts_have_one_seed():
    found = [
        shootout.seed(data, name, split, start)
        for data, task in TASKS.items()
        for name in shootout.CONTESTANTS
        for split in range(shootout.SPLITS + 1)
        for start in range(max(task.starts, 6))
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("data", TASKS)
def test_one_larger_network_has_as_many_parameters_as_the_ensemble(data):
    rows = shootout.CONTESTANTS
    wide, deep = (
        counting.count(shootout.network(TASKS[data], rows[name], rows[name].tries[0])).total
        for name in ("wide", "deep_ensemble")
    )
    assert deep == 4 * TASKS[data].total(1.0)
    assert wide == pytest.approx(deep, rel=0.01)


def test_each_has_six_settings_and_those_of_half_the_width_none_of_their_own():
    for name, row in shootout.CONTESTANTS.items():
        assert len(row.tries) == 6
        assert bool(row.like) == (name in shootout.WIDTHS)
        if row.like:
            assert shootout.CONTESTANTS[row.like].tries == row.tries
            assert shootout.CONTESTANTS[row.like].method == row.method


def test_dropout_stands_behind_each_relu_and_drops_channels_of_images():
    net = contestants.with_dropout(lenet5(), 0.3)
    follows = [type(net[i + 1]) for i, part in enumerate(net) if isinstance(part, nn.ReLU)]
    assert follows == [nn.Dropout2d, nn.Dropout2d, nn.Dropout, nn.Dropout]
    task, row = TASKS["digits"], shootout.CONTESTANTS["mc_dropout"]
    own = shootout.network(task, row, {"p": 0.3, "lr": 0.01})
    assert [part.p for part in own.modules() if isinstance(part, MCDropout)] == [0.3, 0.3]


@pytest.mark.parametrize("name", OWN)
def test_a_contestant_is_trained_and_repeats_its_forecast(name):
    given = split_of_task("digits", 0)
    few = tasks.TaskSplit(
        train=tuple(part[:64] for part in given.train), held_out=given.held_out, test=given.test,
        foreign=given.foreign,
    )  # fmt: skip
    row = shootout.CONTESTANTS[name]
    trained = shootout.train("digits", name, row.tries[0], few, 7)
    x, y = few.test
    logits = trained(x).logits
    draws = row.method in ("rank1", "mean_field", "mc_dropout")
    passes = 32 if draws else 1 if row.method == "single" else 4
    assert logits.shape == (passes, len(x), 10)
    np.testing.assert_array_equal(trained(x).logits, logits)
    assert (np.ptp(logits, axis=0).max() > 1e-3) == (passes > 1)
    assert trained(x).scores(y)["nll"] < math.log(10)
    assert trained.kept == counting.count(trained.net).total
