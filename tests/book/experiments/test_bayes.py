"""Bayes by Backprop: the stacked posteriors are those of the package, and the tables' claims."""

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import bayes, nuts
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.bayes import BASE, EXPERIMENT, NOISE, Posterior, loss, started, trained
from ensedu.data import gap
from ensedu.torch import MeanFieldLinear, mlp

TABLE = measured.load("bayes")
SHORT = {"lr": 0.01, "batch_size": 20}


def posterior(K=3, seed=0):
    draw = torch.Generator().manual_seed(seed)
    mean = torch.randn(K, nuts.NUMBER, generator=draw, dtype=torch.float64)
    rho = torch.randn(K, nuts.NUMBER, generator=draw, dtype=torch.float64)
    return Posterior(mean, rho)


def test_curves_are_those_of_nuts():
    rng = np.random.default_rng(0)
    weights, x = rng.standard_normal((5, 3, nuts.NUMBER)), rng.standard_normal((3, 7))
    found = bayes.curve(torch.from_numpy(weights), torch.from_numpy(x)).numpy()
    for k in range(3):
        np.testing.assert_allclose(found[:, k], nuts.curve(weights[:, k], x[k]), atol=1e-13)


def test_the_loss_is_that_of_the_packages_network():
    q = posterior(1)
    noise = torch.randn(1, 1, nuts.NUMBER, dtype=torch.float64)
    x, y = map(torch.from_numpy, gap.sample(np.random.default_rng(0)))
    options = {"activation": "tanh", "parametrization": "ntk", "prior": nuts.PRIOR}
    net = mlp(nuts.SIZES, "mean_field", **options, dtype=torch.float64)
    layers = [layer for layer in net.modules() if isinstance(layer, MeanFieldLinear)]
    cuts = np.cumsum([20, 20, 20])
    given = {}
    with torch.no_grad():
        for name, own in {"mean": q.mean[0], "rho": q.rho[0], "noise": noise[0, 0]}.items():
            W, b, V, c = own.tensor_split(torch.from_numpy(cuts))
            parts = ((W[None], b), (V[:, None], c))  # the book's axes (m, n)
            for k, (layer, (weight, bias)) in enumerate(zip(layers, parts, strict=True)):
                if name == "noise":
                    given[k] = {"weight": weight, "bias": bias}
                else:
                    getattr(layer, f"weight_{name}").copy_(weight.T)
                    getattr(layer, f"bias_{name}").copy_(bias)
        hidden = torch.tanh(layers[0](x, given[0]))
        out = layers[1](hidden / 20**0.5, given[1])
        wanted = 0.3 * sum(layer.kl() for layer in layers) + len(x) * example.nll(out, y)
        found = loss(q, noise, x.T, y.T, nuts.PRIOR, 0.3)
    torch.testing.assert_close(found[0], wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("prior", bayes.PRIORS.values())
def test_posteriors_do_not_mix(prior):
    q = posterior()
    for part in (q.mean, q.rho):
        part.requires_grad_()
    noise = torch.randn(2, 3, nuts.NUMBER, dtype=torch.float64)
    x = torch.randn(3, 5, dtype=torch.float64)
    loss(q, noise, x, x, prior, 0.5)[1].backward()
    for part in (q.mean, q.rho):
        assert (part.grad[[0, 2]] == 0).all()
        assert (part.grad[1] != 0).any()


def test_starts_differ_and_settings_share_them():
    one, other = (started([3, 4, 5], std) for std in (0.01, 1.0))
    assert torch.equal(one.mean, other.mean)
    assert len(one.mean[:, 0].unique()) == 3
    sigma = torch.nn.functional.softplus(other.rho)
    torch.testing.assert_close(sigma, torch.ones_like(sigma))


def test_one_batch_has_one_share():
    ways = [
        trained([0], 1, **BASE | {"share": share, "steps": 5}, lr=0.01, batch_size=60)
        for share in ("uniform", "geometric")
    ]
    assert torch.equal(ways[0].mean, ways[1].mean)


def test_the_kl_grows():
    settings = BASE | {"steps": 30, "beta": 10.0}
    with_kl, grown, without = (
        trained([0, 1], 2, **settings | changed, **SHORT).rho.mean()
        for changed in ({}, {"anneal": 1.0}, {"beta": 0.0})
    )
    assert without < grown < with_kl


def test_no_kl_means_no_growth():
    settings = BASE | {"steps": 6, "beta": 0.0}
    one, other = (trained([0], 2, **settings | {"anneal": a}, **SHORT) for a in (0.0, 0.5))
    assert torch.equal(one.rho, other.rho)


def test_a_short_run():
    settings = EXPERIMENT.settings | {"data": [0, 8], "starts": 2, "passes": 20}
    found = bayes.run(**BASE | {"steps": 3, "prior": "mixture"}, **settings)
    assert len(found["sigma"]) == len(found["gap"]["wasserstein"]) == 2
    assert np.shape(found["draws"]) == (4, len(nuts.grid()))
    assert set(found["outside"]) == {"mean_difference", "std_ratio", "wasserstein"}


def test_the_curves_are_those_of_typical_data():
    rows = measured.load("nuts")["rows"]
    assert bayes.typical(rows) == EXPERIMENT.settings["shown"]


def test_the_summary_compares_with_the_base():
    key = BASE | {"place": "gap", "score": "nll"}
    entry = measured.row(TABLE["summary"], **key | {"beta": 10.0})
    rows = [measured.row(TABLE["rows"], **BASE | {"beta": b}) for b in (10.0, 1.0)]
    own, base = (np.array(row["gap"]["nll"]) for row in rows)
    assert entry["difference"] == pytest.approx((own - base).mean(), abs=2e-3)
    assert entry["low"] < entry["difference"] < entry["high"]
    assert "difference" not in measured.row(TABLE["summary"], **key)


def test_a_short_measurement_of_noise():
    settings = NOISE.settings | {"epochs": 1, "sizes": [1, 64], "batches": 1, "draws": 10}
    found = bayes.gradient_noise(0, **settings)
    assert set(found) == set(bayes.ESTIMATORS)
    for part in ("mean", "rho"):
        small, large = found["local"][part]
        assert 0 < large < small
        assert large < found["weights"][part][1]
