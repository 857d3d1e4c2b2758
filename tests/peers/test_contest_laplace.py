"""Laplace of the contest: laplace-torch used by hand, and a last layer's Gaussian worked out."""

import copy
import math

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.trainers import laplace
from ensedu.contest.trainers.networks import training_data
from tests.contest import small

pytest.importorskip("laplace", reason="laplace-torch is absent: run `make test-others`")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what it imports

ROW = CONTESTANTS["laplace"]


def trained(classes):
    """A training of a small task, and what it gives."""
    job = small.job(small.task(classes=classes, steps=60), ROW)
    return job, laplace.train_laplace(job)


def test_classes_are_those_of_the_package_by_hand():
    job, found = trained(classes=True)
    net = copy.deepcopy(found.net)
    by_hand = laplace.laplace_torch().Laplace(net, "classification")  # as the package comes
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
    np.testing.assert_array_equal(laplace.train_laplace(job)(x).logits, logits)


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


def test_a_regression_is_bayesian_linear_regression_on_the_last_features():
    job, found = trained(classes=False)
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
