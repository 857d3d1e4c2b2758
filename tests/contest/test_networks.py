"""Networks of the contest: sizes, schedules, and forecasts that repeat."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ensedu import counting, uncertainty
from ensedu.contest import networks
from ensedu.contest.contestants import CONTESTANTS, HALVES
from ensedu.torch import predict
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


@pytest.mark.parametrize(
    ("name", "make"),
    [(name, small.task) for name in OWN]
    + [(name, lambda: small.task(classes=True)) for name in ("single", "rank1")]
    # Each way in which LeNet-5 becomes one of them.
    + [(name, small.images) for name in ("wide", "batch_ensemble", "mc_dropout", "last_layer")],
)
def test_a_network_trains_and_repeats_its_forecast(name, make):
    task = make()
    job = small.job(task, CONTESTANTS[name], epochs=1)
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
    slow = replace(job, setting=job.setting | {"lr": 1e-9})
    assert not np.allclose(getattr(networks.train_network(slow)(x), parts[0]), found, atol=1e-4)


def test_the_forecast_is_the_networks_own_outputs():
    job = small.job(small.task(), CONTESTANTS["deep_ensemble"])
    found = networks.train_network(job)
    x = job.given.test[0]
    out = predict(found.net, torch.from_numpy(x).float()).double().numpy()
    np.testing.assert_array_equal(found(x).mean, uncertainty.gaussian_heads(out)[0])
    assert found.kept == counting.count(found.net).total


@pytest.mark.parametrize("epochs", [2, 3])
def test_the_rate_falls_to_0_as_a_cosine_over_its_own_epochs(epochs, monkeypatch):
    job = small.job(small.task(steps=12), CONTESTANTS["single"], epochs=epochs)
    every = epochs * math.ceil(len(job.given.fit[0]) / 17)
    rates, step = [], torch.optim.AdamW.step

    def spied(self, *args, **options):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", spied)
    networks.train_network(job)
    rate = job.setting["lr"]
    expected = [rate / 2 * (1 + math.cos(math.pi * i / every)) for i in range(every)]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


def test_dropout_draws_a_mask_an_example_in_training_and_a_pass_in_prediction(monkeypatch):
    masks, dropout = [], torch.nn.functional.dropout

    def spied(x, *args, **options):
        found = dropout(torch.ones_like(x), *args, **options)
        masks.append((found > 0).sum(1).unique().numel())
        return dropout(x, *args, **options)

    monkeypatch.setattr(torch.nn.functional, "dropout", spied)
    job = small.job(small.task(hidden=(97, 89)), CONTESTANTS["mc_dropout"], epochs=1)
    found = networks.train_network(job)
    assert masks and min(masks) > 1  # rows drop other units, and so many others
    x = np.repeat(job.given.test[0][:1], 11, axis=0)
    mean = found(x).mean
    np.testing.assert_allclose(mean, np.repeat(mean[:, :1], 11, axis=1), atol=1e-5)
    assert np.ptp(mean, axis=0).min() > 0.01
