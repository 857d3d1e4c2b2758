"""What a call that leaves an argument out gets: the numbers that the docstrings promise."""

import inspect

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu import priors
from ensedu.priors import DROPOUT_STD, Normal

M, B, m, n = 3, 7, 5, 11
# Of both backends, layers and convolutions.
DEFAULTS = {
    "Rank1": {
        "prior": Normal(1.0, 0.1),
        "init": "normal",
        "init_std": 0.1,
        "posterior_std": DROPOUT_STD,
        "per_example": False,
    },
    "MeanField": {"prior": Normal(0.0, 1.0), "posterior_std": 0.01},
    "BatchEnsemble": {"init": "signs", "init_std": 0.5},
    "DeepEnsemble": {},
}
CASES = [
    (getattr(package, name + kind), DEFAULTS[name] | {"bias": True})
    for name in DEFAULTS
    for package, kind in ((en, "Linear"), (et, "Linear"), (et, "Conv2d"))
]
CASES += [
    (package.MCDropout, {"p": 0.1, "per_example": False, "feature_axes": 1}) for package in (en, et)
]


@pytest.mark.parametrize(("kind", "expected"), CASES)
def test_defaults_of_a_layer(kind, expected):
    found = inspect.signature(kind).parameters
    assert {name: found[name].default for name in expected} == expected
    left = {
        name
        for name, parameter in found.items()
        if parameter.default not in (parameter.empty, None)
    }
    assert left - {"estimator", "memory_saving"} == set(expected)


def test_the_standard_deviation_of_gaussian_dropout():
    # Kept units are multiplied by 1 / (1 - p), dropped ones by 0: variance p / (1 - p), mean 1.
    p = 0.001
    values, chances = np.array([0.0, 1 / (1 - p)]), np.array([p, 1 - p])
    mean = (values * chances).sum()
    variance = (chances * (values - mean) ** 2).sum()
    assert pytest.approx(variance**0.5, rel=1e-12) == priors.DROPOUT_STD


@pytest.mark.parametrize("kind", ["Rank1", "MeanField"])
@pytest.mark.parametrize("std", [None, 0.3])
def test_a_layer_starts_at_its_standard_deviation(kind, std):
    given = {} if std is None else {"posterior_std": std}
    expected = std or DEFAULTS[kind]["posterior_std"]
    members = (M,) if kind == "Rank1" else ()
    rng = np.random.default_rng(0)
    layer = getattr(en, f"{kind}Linear")(m, n, *members, rng=rng, **given)
    twin = getattr(et, f"{kind}Linear")(m, n, *members, dtype=torch.float64, **given)
    image = getattr(et, f"{kind}Conv2d")(m, n, 2, *members, dtype=torch.float64, **given)
    scales = {**layer.params}
    for module in (twin, image):
        scales |= {(module, k): v.detach().numpy() for k, v in module.named_parameters()}
    found = [value for name, value in scales.items() if str(name).rstrip("')").endswith("rho")]
    assert len(found) == 6
    for rho in found:
        np.testing.assert_allclose(np.log1p(np.exp(rho)), expected, rtol=1e-12)


def test_dropout_drops_a_tenth():
    noise = en.MCDropout(rng=np.random.default_rng(0)).noise(None, (1, 100_000))
    assert 1 - noise["mask"].mean() == pytest.approx(0.1, abs=0.005)


@pytest.mark.parametrize("rho", [15.0, 19.0, 20.5, 25.0, 30.0])
def test_softplus_keeps_what_stands_behind_rho(rho):
    # log(1 + exp(ρ)) = ρ + log(1 + exp(-ρ)): above 20 the second term is 2e-9, 6e5 ulp of 20.
    behind = np.log1p(np.exp(-rho))
    both = (
        en.variational.softplus(np.array([rho])),
        et.variational.softplus(torch.tensor([rho], dtype=torch.float64)),
    )
    for value in both:
        assert float(value[0]) - rho == pytest.approx(behind, abs=8e-15)
        assert float(value[0]) > rho


@pytest.mark.parametrize("std", [1e-300, 5e-324])
def test_a_tiny_standard_deviation_has_a_finite_kl(std):
    rng, prior = np.random.default_rng(0), Normal(1.0, 0.1)
    layer = en.Rank1Linear(m, n, M, rng=rng, prior=prior, posterior_std=std)
    with np.errstate(all="raise", under="ignore"):
        # -1/2 - log t of each entry, beside the means' share.
        found = layer.kl()
    means = np.concatenate([layer.params["r_mean"], layer.params["s_mean"]], axis=1)
    spread = -0.5 - np.log(std) + np.log(0.1)
    np.testing.assert_allclose(found, (spread + 50 * (means - 1) ** 2).sum(axis=1), rtol=1e-3)
