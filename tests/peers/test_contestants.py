"""Contestants of other packages (`make test-others`): TabM, IVON, Laplace, by these alone."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.utils import parameters_to_vector
from torch.utils.data import DataLoader, TensorDataset

from ensedu import counting, uncertainty
from ensedu.contest import one_split
from ensedu.contest.contestants import CONTESTANTS, TABULAR
from ensedu.contest.trainers import packages
from ensedu.contest.trainers.networks import training_data
from tests.contest import small

ivon_opt, tabm, _ = (
    pytest.importorskip(name, reason=f"{package} is absent: run `make test-others`")
    for name, package in (("ivon", "ivon-opt"), ("tabm", "tabm"), ("laplace", "laplace-torch"))
)

ROWS = CONTESTANTS | TABULAR
#: What each is trained on.
TASKS = {"ivon": {"steps": 24}, "laplace": {"steps": 60}, "tabm": {"hidden": (11, 11)}}
of_its_imports = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def trained(name, classes=False, **options):
    """A training of a small task, and what it gives."""
    job = small.job(small.task(classes=classes, **TASKS[name]), ROWS[name], **options)
    return job, ROWS[name].train(job)


@pytest.mark.parametrize("classes", [False, True])
def test_a_forecast_of_tabm_is_the_mixture_of_the_packages_32_members(classes):
    job, found = trained("tabm", classes)
    x = torch.from_numpy(job.data.test[0]).float()
    by_hand = tabm.TabM.make(
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
    again = trained("tabm", classes)[1](job.data.test[0])
    part = "logits" if classes else "mean"
    np.testing.assert_array_equal(getattr(again, part), getattr(forecast, part))


def test_matrices_of_tabm_decay_and_neither_fast_weights_nor_biases(monkeypatch):
    groups, adam = [], torch.optim.AdamW

    def spied(own, **options):
        groups.extend(own)
        return adam(own, **options)

    monkeypatch.setattr(torch.optim, "AdamW", spied)
    job, found = trained("tabm", number=5)
    names = {id(p): name.rpartition(".")[2] for name, p in found.net.named_parameters()}
    found = [(g["weight_decay"], names[id(p)]) for g in groups for p in g["params"]]
    others = ["bias"] * 3 + ["r"] * 2 + ["s"] * 2
    assert sorted(found) == [(0.0, name) for name in others] + [(0.5, "weight")] * 3
    assert job.setting["weight_decay"] == 0.5


@pytest.mark.parametrize("task", [small.task(), small.images()])
def test_sizes_that_tabm_cannot_have_are_named(task):
    with pytest.raises(ValueError, match="hidden must be equal sizes for TabM, got"):
        ROWS["tabm"].train(small.job(task, ROWS["tabm"]))


#: A rate that takes the weights out of the floats in one step.
EXPLODES = {"lr": 1e39, "precision": 1.0}


@pytest.mark.parametrize("classes", [False, True])
def test_a_forecast_of_ivon_repeats_and_leaves_the_mean_as_it_is(classes):
    job, found = trained("ivon", classes)
    x, part = job.data.test[0], "logits" if classes else "mean"
    before = parameters_to_vector(found.net.parameters()).detach().clone()
    one, other = (getattr(found(x), part) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (32, len(x), small.k if classes else 1)
    assert np.ptp(one, axis=0).min() > 0
    assert torch.equal(parameters_to_vector(found.net.parameters()), before)
    np.testing.assert_array_equal(getattr(trained("ivon", classes)[1](x), part), one)
    assert found.num_stored == 2 * len(before)


def test_passes_of_ivon_draw_from_the_gaussian_of_the_optimizer():
    """Shen et al. 2024, alg. 1: of variance 1 / (λ (h + δ)), λ rows and δ the prior's part."""
    job, found = trained("ivon")
    (group,) = found.optimizer.param_groups
    rows = len(job.data.fit[0])
    assert group["ess"] == rows
    assert group["weight_decay"] == pytest.approx(job.setting["precision"] / rows)
    seen = []
    keep = found.net.register_forward_pre_hook(
        lambda net, _: seen.append(parameters_to_vector(net.parameters()).detach().clone())
    )
    for seed in range(20):
        replaced = packages.Ivon(replace(job, seed=seed), found.net, found.optimizer)
        replaced(job.data.test[0])
    keep.remove()
    mean = parameters_to_vector(found.net.parameters()).detach()
    drawn = torch.stack(seen)
    std = (rows * group["hess"] + job.setting["precision"]).rsqrt()
    scaled = (drawn - mean) / std
    assert len(drawn) == 20 * 32
    assert scaled.mean().abs() < 0.02 and scaled.std() == pytest.approx(1, abs=0.01)


def test_the_rate_of_ivon_falls_to_0_as_a_cosine(monkeypatch):
    rates, step = [], ivon_opt.IVON.step

    def spied(self, *args, **options):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(ivon_opt.IVON, "step", spied)
    job, _ = trained("ivon")
    every = job.epochs * math.ceil(len(job.data.fit[0]) / 17)
    rate = job.setting["lr"]
    expected = [rate / 2 * (1 + math.cos(math.pi * i / every)) for i in range(every)]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


def test_a_rate_that_explodes_is_an_error_and_is_not_chosen():
    row = ROWS["ivon"]
    row = replace(row, settings=(EXPLODES, row.settings[0]))
    job = small.job(small.task(), row)
    x = job.data.select[0]
    with pytest.raises(FloatingPointError, match="IVON: its outputs are not finite"):
        row.train(job)(x)
    found = one_split.choose(job.task, job.data, row, 3)
    assert found.best_setting == 1 and max(found.nll[0]) == one_split.FAILED_NLL > min(found.nll[1])


@of_its_imports
def test_classes_of_laplace_are_those_of_the_package_by_hand():
    job, found = trained("laplace", classes=True)
    net = copy.deepcopy(found.net)
    by_hand = packages.laplace_torch().Laplace(net, "classification")  # as the package comes
    by_hand.fit(DataLoader(TensorDataset(*training_data(job)), batch_size=17))
    with pytest.warns(UserWarning, match="probit"):
        by_hand.optimize_prior_precision(method="marglik")
    assert found.found.prior_precision.item() == pytest.approx(by_hand.prior_precision.item())
    x = job.data.test[0]
    logits = found(x).logits
    assert logits.shape == (32, len(x), small.k)
    mean, covariance = by_hand._glm_predictive_distribution(torch.from_numpy(x).float())
    std = covariance.diagonal(dim1=1, dim2=2).sqrt().detach().numpy()
    away = (logits.mean(axis=0) - mean.detach().numpy()) / (std / math.sqrt(32))
    assert np.abs(away).mean() == pytest.approx(math.sqrt(2 / math.pi), abs=0.2)
    assert (logits.var(axis=0, ddof=1) / std**2).mean() == pytest.approx(1, abs=0.2)
    torch.manual_seed(job.seed)
    drawn = by_hand.functional_samples(torch.from_numpy(x).float(), n_samples=32)
    np.testing.assert_allclose(logits, drawn.detach().numpy(), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(packages.train_laplace(job)(x).logits, logits)


def posterior(job, own, log_prior, log_noise):
    """Return the covariance of a regression's last layer, and its log marginal likelihood.

    Bishop 2006, eq. 3.51, 3.54 and 3.86, around the trained weights instead of the best ones.
    """
    x, y = training_data(job)
    with torch.no_grad():
        features = own.net[: len(own.net) - 1](x).double()
        errors = (own.net(x) - y).double()
    features = torch.cat([features, torch.ones(len(x), 1)], dim=1)
    last = own.net[len(own.net) - 1]
    weights = torch.cat([last.weight.detach().flatten(), last.bias.detach()]).double()
    prior, square = math.exp(log_prior), math.exp(2 * log_noise)
    precision = features.T @ features / square + prior * torch.eye(len(weights))
    value = (
        -0.5 * len(x) * math.log(2 * math.pi * square)
        - 0.5 * (errors**2).sum().item() / square
        - 0.5 * prior * (weights**2).sum().item()
        + 0.5 * len(weights) * log_prior
        - 0.5 * torch.logdet(precision).item()
    )
    return torch.linalg.inv(precision), value


@of_its_imports
def test_a_regression_of_laplace_is_bayesian_linear_regression_on_the_last_features():
    job, found = trained("laplace", classes=False)
    own = found
    prior = math.log(found.found.prior_precision.item())
    noise = 0.5 * math.log(found.noise)
    covariance, best = posterior(job, own, prior, noise)
    # Noise and prior are those of the greatest marginal likelihood.
    for change in (-0.1, 0.1):
        assert posterior(job, own, prior, noise + change)[1] < best
        assert posterior(job, own, prior + 5 * change, noise)[1] < best
    x = job.data.test[0]
    inputs = torch.from_numpy(x).float()
    with torch.no_grad():
        features = own.net[: len(own.net) - 1](inputs).double()
        mean = own.net(inputs).double()
    features = torch.cat([features, torch.ones(len(x), 1)], dim=1)
    spread = (features @ covariance * features).sum(dim=1)
    forecast = found(x)
    np.testing.assert_allclose(forecast.mean[0], mean, rtol=1e-6)
    np.testing.assert_allclose(forecast.variance[0, :, 0], spread + found.noise, rtol=1e-3)
    assert (spread > 1e-6).all()
