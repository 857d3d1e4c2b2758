"""IVON of the contest: what ivon-opt draws, the rate at each step, and rates that are too large."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector

from ensedu.contest import one_split
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.trainers import ivon
from tests.contest import small

package = pytest.importorskip("ivon", reason="ivon-opt is absent: run `make test-others`")

ROW = CONTESTANTS["ivon"]
#: A rate that takes the weights out of the floats in one step.
EXPLODES = {"lr": 1e39, "precision": 1.0}


def trained(classes=False, **options):
    job = small.job(small.task(classes=classes, steps=24), ROW, **options)
    return job, ivon.train_ivon(job)


@pytest.mark.parametrize("classes", [False, True])
def test_a_forecast_repeats_and_leaves_the_mean_as_it_is(classes):
    job, found = trained(classes)
    x, part = job.data.test[0], "logits" if classes else "mean"
    before = parameters_to_vector(found.net.parameters()).detach().clone()
    one, other = (getattr(found(x), part) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (32, len(x), small.k if classes else 1)
    assert np.ptp(one, axis=0).min() > 0
    assert torch.equal(parameters_to_vector(found.net.parameters()), before)
    np.testing.assert_array_equal(getattr(trained(classes)[1](x), part), one)
    assert found.num_stored == 2 * len(before)


def test_passes_draw_from_the_gaussian_of_the_optimizer():
    """Shen et al. 2024, alg. 1: of variance 1 / (λ (h + δ)), λ rows and δ the prior's part."""
    job, found = trained()
    (group,) = found.optimizer.param_groups
    rows = len(job.data.fit[0])
    assert group["ess"] == rows
    assert group["weight_decay"] == pytest.approx(job.setting["precision"] / rows)
    seen = []
    keep = found.net.register_forward_pre_hook(
        lambda net, _: seen.append(parameters_to_vector(net.parameters()).detach().clone())
    )
    for seed in range(20):
        replaced = ivon.Ivon(replace(job, seed=seed), found.net, found.optimizer)
        replaced(job.data.test[0])
    keep.remove()
    mean = parameters_to_vector(found.net.parameters()).detach()
    drawn = torch.stack(seen)
    std = (rows * group["hess"] + job.setting["precision"]).rsqrt()
    scaled = (drawn - mean) / std
    assert len(drawn) == 20 * 32
    assert scaled.mean().abs() < 0.02 and scaled.std() == pytest.approx(1, abs=0.01)


def test_the_rate_falls_to_0_as_a_cosine(monkeypatch):
    rates, step = [], package.IVON.step

    def spied(self, *args, **options):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(package.IVON, "step", spied)
    job, _ = trained()
    every = job.epochs * math.ceil(len(job.data.fit[0]) / 17)
    rate = job.setting["lr"]
    expected = [rate / 2 * (1 + math.cos(math.pi * i / every)) for i in range(every)]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


def test_a_rate_that_explodes_is_an_error_and_is_not_chosen():
    row = replace(ROW, settings=(EXPLODES, ROW.settings[0]))
    job = small.job(small.task(), row)
    x = job.data.select[0]
    with pytest.raises(FloatingPointError, match="IVON: its outputs are not finite"):
        ivon.train_ivon(job)(x)
    found = one_split.choose(job.task, job.data, row, 3)
    assert found.best_setting == 1 and max(found.nll[0]) == one_split.FAILED_NLL > min(found.nll[1])
