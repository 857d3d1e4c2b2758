"""Networks of the contest: sizes, schedules, and forecasts that repeat."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from ensedu import counting, uncertainty
from ensedu.contest import networks
from ensedu.contest.contestants import CONTESTANTS, HALVES
from ensedu.torch import MCDropout, predict
from ensedu.torch.models import lenet5
from tests.contest import small

OWN = [name for name, row in CONTESTANTS.items() if row.train is networks.train_network]


@pytest.mark.parametrize("make", [small.task, small.images])
def test_one_larger_network_has_as_many_parameters_as_the_ensemble(make):
    task = make()
    wide, deep, one = (
        counting.count(networks.network(small.job(task, CONTESTANTS[name]))).total
        for name in ("wide", "deep_ensemble", "single")
    )
    assert deep == 4 * one
    assert wide == pytest.approx(deep, rel=0.02)


def test_half_the_width_is_half_of_each_hidden_layer():
    net = networks.network(small.job(small.task(hidden=(14, 22)), HALVES["deep_ensemble_half"]))
    assert [part.out_features for part in net if hasattr(part, "out_features")] == [7, 11, 2]


def test_dropout_stands_behind_each_relu_and_drops_channels_of_images():
    net = networks.with_dropout(lenet5(), 0.3)
    follows = [type(net[i + 1]) for i, part in enumerate(net) if isinstance(part, nn.ReLU)]
    assert follows == [nn.Dropout2d, nn.Dropout2d, nn.Dropout, nn.Dropout]
    own = networks.network(small.job(small.task(), CONTESTANTS["mc_dropout"]))
    assert [part.p for part in own.modules() if isinstance(part, MCDropout)] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("name", "make"),
    [(name, small.task) for name in OWN]
    + [(name, lambda: small.task(classes=True)) for name in ("single", "rank1")]
    # Each way in which LeNet-5 becomes one of them.
    + [(name, small.images) for name in ("wide", "batch_ensemble", "mc_dropout", "last_layer")],
)
def test_a_network_trains_and_repeats_its_forecast(name, make):
    task = make()
    job = small.job(task, CONTESTANTS[name], until=1)
    first, again = (networks.train_network(job) for _ in range(2))
    x = job.given.test[0]
    one, other, anew = first(x), first(x), again(x)
    parts = ["logits"] if task.classes else ["mean", "variance"]
    for part in parts:
        found = getattr(one, part)
        members = 4 if name in ("deep_ensemble", "batch_ensemble", "last_layer") else 1
        drawn = name in ("rank1", "mean_field", "mc_dropout")
        assert found.shape == (32 if drawn else members, len(x), task.classes or 1)
        np.testing.assert_array_equal(found, getattr(other, part))
        np.testing.assert_array_equal(found, getattr(anew, part))
    untrained = networks.TrainedNetwork(job, networks.network(job))(x)
    assert not np.array_equal(getattr(untrained, parts[0]), getattr(one, parts[0]))


def test_the_forecast_is_the_networks_own_outputs():
    job = small.job(small.task(), CONTESTANTS["deep_ensemble"])
    found = networks.train_network(job)
    x = job.given.test[0]
    out = predict(found.net, torch.from_numpy(x).float()).double().numpy()
    np.testing.assert_array_equal(found(x).mean, uncertainty.gaussian_heads(out)[0])
    assert found.kept == counting.count(found.net).total


@pytest.mark.parametrize("until", [2, 3])
def test_the_rate_falls_as_a_cosine_over_all_epochs_also_where_it_stops_before(until, monkeypatch):
    job = small.job(small.task(steps=12), CONTESTANTS["single"], until=until)
    steps = math.ceil(len(job.given.fit[0]) / 17)
    rates, step = [], torch.optim.AdamW.step

    def spied(self, *args, **options):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", spied)
    networks.train_network(job)
    every = job.epochs * steps
    expected = [0.0005 * (1 + math.cos(math.pi * i / every)) for i in range(until * steps)]
    assert job.epochs == 3 and len(rates) == until * steps
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


def test_looks_see_the_network_as_it_is_then():
    job = small.job(small.task(steps=12), CONTESTANTS["single"])
    x, seen = job.given.select[0], {}
    networks.train_network(job, lambda epoch, own: seen.update({epoch: own(x).mean}))
    assert [*seen] == [1, 2, 3]
    for epoch, mean in seen.items():
        alone = networks.train_network(small.job(job.task, job.contestant, until=epoch))
        np.testing.assert_array_equal(mean, alone(x).mean)
