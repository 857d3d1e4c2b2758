"""TabM of the contest: the package's own network, what decays, and widths that it cannot have."""

import numpy as np
import pytest
import torch

from ensedu import counting, uncertainty
from ensedu.contest.contestants import TABULAR
from ensedu.contest.trainers import tabm
from tests.contest import small

package = pytest.importorskip("tabm", reason="tabm is absent: run `make test-others`")

ROW = TABULAR["tabm"]
WIDTHS = (11, 11)


def trained(classes=False, **options):
    job = small.job(small.task(classes=classes, hidden=WIDTHS), ROW, **options)
    return job, tabm.train_tabm(job)


@pytest.mark.parametrize("classes", [False, True])
def test_a_forecast_is_the_mixture_of_the_packages_32_members(classes):
    job, found = trained(classes)
    x = torch.from_numpy(job.data.test[0]).float()
    by_hand = package.TabM.make(
        n_num_features=x.shape[1], d_out=small.k if classes else 2, n_blocks=2, d_block=11
    )
    by_hand.load_state_dict(found.net.net.state_dict())
    out = by_hand.eval()(x).detach().double().numpy()  # (B, 32, outputs)
    forecast = found(job.data.test[0])
    if classes:
        p = uncertainty.softmax(out).mean(axis=1)
        np.testing.assert_allclose(forecast.averaged, p, rtol=1e-5)
    else:
        mean, variance = uncertainty.gaussian_heads(out.transpose(1, 0, 2))
        np.testing.assert_allclose(forecast.mean, mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(forecast.variance, variance, rtol=1e-4)
    assert out.shape[1] == 32
    assert found.num_stored == counting.count(by_hand).total
    again = trained(classes)[1](job.data.test[0])
    part = "logits" if classes else "mean"
    np.testing.assert_array_equal(getattr(again, part), getattr(forecast, part))


def test_matrices_decay_and_neither_fast_weights_nor_biases(monkeypatch):
    groups, adam = [], torch.optim.AdamW

    def spied(own, **options):
        groups.extend(own)
        return adam(own, **options)

    monkeypatch.setattr(torch.optim, "AdamW", spied)
    job, found = trained(number=5)
    names = {id(p): name.rpartition(".")[2] for name, p in found.net.named_parameters()}
    found = [(g["weight_decay"], names[id(p)]) for g in groups for p in g["params"]]
    others = ["bias"] * 3 + ["r"] * 2 + ["s"] * 2
    assert sorted(found) == [(0.0, name) for name in others] + [(0.5, "weight")] * 3
    assert job.setting["weight_decay"] == 0.5


@pytest.mark.parametrize("task", [small.task(), small.images()])
def test_sizes_that_the_package_cannot_have_are_named(task):
    with pytest.raises(ValueError, match="hidden must be equal sizes for TabM, got"):
        tabm.train_tabm(small.job(task, ROW))
