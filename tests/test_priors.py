"""Priors and the KL to them: against quadrature, Torch's distributions, and long Monte Carlo."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.numpy import variational
from ensedu.priors import DROPOUT_STD, Cauchy, Normal, ScaleMixture

M, m, n = 3, 5, 11
PRIORS = {
    "normal": Normal(0.3, 0.7),
    "cauchy": Cauchy(0.3, 0.7),
    "mixture": ScaleMixture(0.25, 1.3, 0.05, loc=0.3),
}
DRAWN = ("cauchy", "mixture")


def in_torch(prior):
    number = torch.tensor(prior.loc, dtype=torch.float64)
    if isinstance(prior, Cauchy):
        return torch.distributions.Cauchy(number, prior.scale)
    if isinstance(prior, Normal):
        return torch.distributions.Normal(number, prior.scale)
    parts = torch.tensor([prior.pi, 1 - prior.pi], dtype=torch.float64)
    scales = torch.tensor([prior.scale1, prior.scale2], dtype=torch.float64)
    return torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(parts),
        torch.distributions.Normal(number.expand(2), scales),
    )


@pytest.mark.parametrize("name", PRIORS)
def test_densities_and_slopes_equal_torch(name):
    w = torch.linspace(-4, 5, 181, dtype=torch.float64, requires_grad=True)
    expected = in_torch(PRIORS[name]).log_prob(w)
    (slope,) = torch.autograd.grad(expected.sum(), w)
    points = w.detach().numpy()
    np.testing.assert_allclose(PRIORS[name].log_density(points, np), expected.detach(), rtol=1e-12)
    torch.testing.assert_close(PRIORS[name].log_density(w, torch), expected, rtol=1e-12, atol=0)
    np.testing.assert_allclose(PRIORS[name].slope(points, np), slope, rtol=1e-9, atol=1e-12)


def by_quadrature(mean, std, prior):
    def integrand(w):
        log_q = -0.5 * ((w - mean) / std) ** 2 - math.log(std * math.sqrt(2 * math.pi))
        return math.exp(log_q) * (log_q - float(prior.log_density(np.float64(w), np)))

    edges = np.linspace(mean - 12 * std, mean + 12 * std, 49)
    return sum(integrate.quad(integrand, a, b)[0] for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize(("mean", "std"), [(0.3, 0.2), (-1.0, 0.1), (2.0, 1.5)])
def test_the_kl_equals_quadrature(name, mean, std):
    prior, expected = PRIORS[name], by_quadrature(mean, std, PRIORS[name])
    rho = variational.inverse_softplus(std)
    draws = 400_003
    noise = np.random.default_rng(0).standard_normal((draws, 1))
    found = variational.entry_kl(np.array([mean]), np.array([rho]), prior, noise)[0]
    log_p = prior.log_density(mean + std * noise, np)
    error = 0.0 if prior.has_closed_kl else log_p.std() / draws**0.5
    assert abs(found - expected) <= 5 * error + 1e-9
    if not prior.has_closed_kl:
        tensors = (torch.tensor([value], dtype=torch.float64) for value in (mean, rho))
        theirs = et.variational.sampled_kl(*tensors, prior, torch.from_numpy(noise))
        assert theirs.item() == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("name", DRAWN)
def test_the_entropy_is_exact(name):
    """So that a drawn KL scatters by the prior's part alone, and one draw may be negative."""
    noise = np.random.default_rng(1).standard_normal((1_009, 1))
    values = [
        variational.entry_kl(np.zeros(1), np.zeros(1), PRIORS[name], one)[0]
        for one in noise[:, None]
    ]
    log_p = PRIORS[name].log_density(np.log(2) * noise, np)
    assert np.std(values) == pytest.approx(log_p.std())


@given(
    loc=st.floats(-5, 5), scale=st.floats(0.05, 5), prior_loc=st.floats(-5, 5),
    prior_scale=st.floats(0.05, 5),
)  # fmt: skip
def test_the_kl_of_two_cauchys_is_no_less_than_zero_and_equals_quadrature(
    loc, scale, prior_loc, prior_scale
):
    prior, q = Cauchy(prior_loc, prior_scale), Cauchy(loc, scale)
    found = float(prior.kl_from_cauchy(np.float64(loc), np.float64(scale), np))

    def integrand(u):  # w = loc + scale tan u spreads the mass of q evenly
        w = np.float64(loc + scale * math.tan(u))
        return float(q.log_density(w, np) - prior.log_density(w, np)) / math.pi

    edge = math.pi / 2
    expected = integrate.quad(integrand, -edge, edge, limit=400, points=[
        math.atan((prior_loc - loc) / scale)
    ])[0]  # fmt: skip
    assert found >= -1e-12
    assert found == pytest.approx(expected, abs=2e-6)
    tensors = (torch.tensor(value, dtype=torch.float64) for value in (loc, scale))
    assert prior.kl_from_cauchy(*tensors, torch).item() == pytest.approx(found, abs=1e-12)


def layers(name, prior):
    rng = np.random.default_rng(2)
    options = {"rng": rng, "prior": prior, "posterior_std": 0.4}
    if name == "rank1":
        return en.Rank1Linear(m, n, M, **options)
    return en.MeanFieldLinear(m, n, **options)


@pytest.mark.parametrize("name", ["rank1", "mean_field"])
def test_a_layer_draws_its_kl_where_it_must(name):
    for prior, equal in ((Normal(1.0, 0.5), True), (Cauchy(1.0, 0.5), False)):
        layer = layers(name, prior)
        first, second = np.sum(layer.kl()), np.sum(layer.kl())
        assert bool(first == second) is equal
        module = et.from_numpy(layer)
        assert (module.kl().sum() == module.kl().sum()).item() is equal


def test_the_standard_deviation_of_gaussian_dropout():
    # Kept units are multiplied by 1 / (1 - p), dropped ones by 0: variance p / (1 - p), mean 1.
    p = 0.001
    values, chances = np.array([0.0, 1 / (1 - p)]), np.array([p, 1 - p])
    mean = (values * chances).sum()
    variance = (chances * (values - mean) ** 2).sum()
    assert pytest.approx(variance**0.5, rel=1e-12) == DROPOUT_STD
