"""The reference posterior: the same model in NumPy, Torch and NumPyro, and what the tables say.

A short chain runs where NumPyro is: ``.venv-others/bin/python -m pytest -k chain`` and this file.
"""

import numpy as np
import pytest
import scipy.stats
import torch

from ensedu.book import measured
from ensedu.book.experiments import nuts
from ensedu.data import gap
from ensedu.torch import MeanFieldLinear, mlp


def parameters(seed=0, number=7):
    return nuts.PRIOR.scale * np.random.default_rng(seed).standard_normal((number, nuts.NUMBER))


def layers(net):
    return [layer for layer in net if isinstance(layer, MeanFieldLinear)]


def test_the_mean_field_network_has_the_same_model():
    x, y = gap.sample(np.random.default_rng(3))
    net = mlp(
        nuts.SIZES, "mean_field", activation="tanh", parametrization="ntk", prior=nuts.PRIOR,
        dtype=torch.float64,
    )  # fmt: skip
    first, last = layers(net)
    for given in parameters():
        parts = np.split(given, [20, 40, 60])
        with torch.no_grad():
            for layer, weight, bias in ((first, *parts[:2]), (last, *parts[2:])):
                layer.weight_mean.copy_(torch.from_numpy(weight.reshape(layer.weight_mean.shape)))
                layer.bias_mean.copy_(torch.from_numpy(bias))
            noise = net.noise(None, (len(x), 1))
            f = net(torch.from_numpy(x), {key: 0 * value for key, value in noise.items()})
        np.testing.assert_allclose(f[0, :, 0], nuts.curve(given, x[:, 0]), rtol=0, atol=1e-12)
        means = [p for name, p in net.named_parameters() if name.endswith("_mean")]
        scale = torch.tensor(2.0, dtype=torch.float64)
        prior = sum(torch.distributions.Normal(0.0, scale).log_prob(p).sum() for p in means)
        likelihood = torch.distributions.Normal(f[0], gap.noise).log_prob(torch.from_numpy(y))
        wanted = (prior + likelihood.sum()).item()
        assert nuts.log_joint(given[None], x[:, 0], y[:, 0])[0] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("S", "T"), [(7, 3), (1, 5), (11, 11), (50, 13)])
def test_the_distance_is_scipys(S, T):
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((S, 5)), 0.3 + 2 * rng.standard_normal((T, 5))
    wanted = [scipy.stats.wasserstein_distance(*pair) for pair in zip(one.T, other.T, strict=True)]
    np.testing.assert_allclose(nuts.wasserstein(one, other), wanted, rtol=1e-12)


def test_quantiles_stand_for_all_draws():
    f = np.random.default_rng(0).standard_normal((3000, 5))
    kept = nuts.quantiles(f).T
    assert kept.shape == (50, 5)
    assert nuts.wasserstein(f, kept).max() < 0.04
    far = nuts.wasserstein(f + 3, kept)
    np.testing.assert_allclose(far, 3.0, atol=0.01)


def test_each_input_has_one_place():
    found = nuts.inputs_by_place(nuts.coarse_grid())
    assert {name: int(rows.sum()) for name, rows in found.items()} == {
        "regions": 14, "gap": 6, "outside": 4,
    }  # fmt: skip
    assert (sum(rows.astype(int) for rows in found.values()) == 1).all()
    np.testing.assert_allclose(
        nuts.coarse_grid()[found["gap"]], np.arange(-0.6, 1.5, 0.4), atol=1e-12
    )


def test_functions_of_the_prior_look_like_such_a_curve():
    f = nuts.curve(parameters(number=1000), nuts.grid())
    assert 2.2 < f.std() < 3.2
    assert 0.7 < np.diff(f).std() / 0.1 < 1.2


def test_chains_agree_on_all_data():
    table = measured.load("nuts")
    for row in table["rows"]:
        assert row["divergences"] <= 8  # of 8,000 draws
        shapes = [np.shape(row[key]) for key in ("mean", "std", "quantiles")]
        assert shapes == [(93,), (93,), (24, 50)]
        # Quantiles are those of the same distribution.
        np.testing.assert_allclose(np.mean(row["quantiles"], 1), row["mean"][::4], atol=0.02)
        assert row["between_chains"]["gap"] < 0.06
    assert table["summary"]["r_hat"] == max(row["r_hat"] for row in table["rows"])


def test_a_short_chain_agrees_with_the_table():
    pytest.importorskip("numpyro")
    row = measured.row(measured.load("nuts")["rows"], data_seed=0)
    found = nuts.run(0, chains=2, warmup=300, draws=300, accept=0.9)
    assert found["r_hat"] < 1.05
    here = nuts.inputs_by_place(nuts.grid())["regions"]
    for key, atol in (("mean", 0.02), ("std", 0.02)):
        np.testing.assert_allclose(
            np.array(found[key])[here], np.array(row[key])[here], rtol=0, atol=atol
        )
