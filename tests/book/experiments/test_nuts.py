"""The reference posterior: the same model in NumPy, Torch and NumPyro, and what the tables say.

A short chain runs where NumPyro is: ``.venv-results/bin/python -m pytest -k chain`` and this file.
"""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import torch

from ensedu.book import experiments, measured
from ensedu.book.experiments import nuts, nuts_distances
from ensedu.book.experiments.__main__ import main
from ensedu.data import gap
from ensedu.torch import MeanFieldLinear, kl, mlp, predict
from ensedu.torch.variational import normal_kl, softplus

ROOT = Path(__file__).parents[3]
SHORT = nuts_distances.SETTINGS | {"starts": 2, "steps": [3, 2], "rates": [0.05, 0.01]}


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


def stack(starts=3, seed=0):
    torch.manual_seed(seed)
    net = nuts_distances.Factorized(starts, posterior_std=0.02)
    with torch.no_grad():
        net.rho += 0.1 * torch.randn_like(net.rho)
    return net


def test_a_factorized_posterior_is_that_of_the_network():
    net, x = stack(), torch.from_numpy(nuts.coarse()[:, None])
    drawn = net(x, 20_000).detach()
    for start in range(3):
        own = net.network(start)
        f = predict(own, x, samples=500)[..., 0]
        error = drawn[start].std(0) / 500**0.5
        assert ((f.mean(0) - drawn[start].mean(0)).abs() < 6 * error).all()
        torch.testing.assert_close(f.std(0), drawn[start].std(0), rtol=0.2, atol=0)
        wanted = normal_kl(net.mean[start], net.rho[start], nuts.PRIOR).sum()
        torch.testing.assert_close(kl(own), wanted, rtol=1e-12, atol=0)


def test_the_free_energy_is_that_of_the_joint():
    """Over draws of q the mean of log q minus the log joint, which knows nothing of layers."""
    x, y = gap.sample(np.random.default_rng(0))
    net = stack()
    found = nuts_distances.free_energies("mean_field", [net], 0, 1000)
    for start in range(3):
        mean, std = net.mean[start].detach().numpy(), softplus(net.rho[start]).detach().numpy()
        q = scipy.stats.norm(mean, std)
        drawn = q.rvs((4000, nuts.NUMBER), random_state=np.random.default_rng(1))
        free_energy = q.logpdf(drawn).sum(1) - nuts.log_joint(drawn, x[:, 0], y[:, 0])
        error = free_energy.std() / 4000**0.5
        assert found[start] == pytest.approx(free_energy.mean(), abs=6 * error)


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
    found = nuts.places(nuts.coarse())
    assert {name: int(rows.sum()) for name, rows in found.items()} == {
        "regions": 14, "gap": 6, "outside": 4,
    }  # fmt: skip
    assert (sum(rows.astype(int) for rows in found.values()) == 1).all()
    np.testing.assert_allclose(nuts.coarse()[found["gap"]], np.arange(-0.6, 1.5, 0.4), atol=1e-12)


def test_functions_of_the_prior_look_like_such_a_curve():
    f = nuts.curve(parameters(number=1000), nuts.grid())
    assert 2.2 < f.std() < 3.2
    assert 0.7 < np.diff(f).std() / 0.1 < 1.2


def test_chains_agree_on_all_data():
    table = measured.load("nuts")
    for row in table["rows"]:
        assert row["r_hat"] <= 1.01
        assert row["effective_draws"] >= 1000
        assert row["divergences"] <= 8  # of 8,000 draws
        shapes = [np.shape(row[key]) for key in ("mean", "std", "quantiles")]
        assert shapes == [(93,), (93,), (24, 50)]
        # Quantiles are those of the same distribution.
        np.testing.assert_allclose(np.mean(row["quantiles"], 1), row["mean"][::4], atol=0.02)
        assert row["between_chains"]["gap"] < 0.06
    assert table["summary"]["r_hat"] == max(row["r_hat"] for row in table["rows"])


def test_curves_are_of_the_same_posterior():
    (row,) = measured.load("nuts-curves")["rows"]
    reference = measured.row(measured.load("nuts")["rows"], data_seed=0)
    assert np.shape(row["draws"]) == (40, 93)
    middle = np.array(reference["quantiles"])[:, 24:26].mean(1)
    np.testing.assert_allclose(np.array(row["percentiles"])[2, ::4], middle, atol=0.05)
    inside = nuts.places(nuts.grid())["regions"]
    x = np.array(row["draws"])[:, inside]
    np.testing.assert_allclose(x.mean(0), np.array(reference["mean"])[inside], atol=0.1)


def test_starts_and_draws_of_contestants():
    for name in nuts_distances.CONTESTANTS:
        own = {key: SHORT[key] for key in ("starts", "steps", "rates")}
        nets = nuts_distances.trained(name, 3, **own)
        f = nuts_distances.beliefs(name, nets, nuts.coarse(), 2, 64)
        draws = {"single": 1, "deep_ensemble": 5}.get(name, 64)
        assert f.shape == (2, draws, 24)
        assert np.abs(f[0].mean(0) - f[1].mean(0)).max() > 0.01
        again = nuts_distances.beliefs(name, nets, nuts.coarse(), 2, 64)
        np.testing.assert_array_equal(f, again)


def test_members_of_a_stack_train_as_if_alone():
    own = {"steps": [20], "rates": [0.01]}
    (stack,) = nuts_distances.trained("single", 0, 3, **own)
    x = torch.from_numpy(nuts.coarse()[:, None])
    row = nuts_distances.CONTESTANTS["single"]
    again = nuts_distances._one(row, 0, 0, 3, **own)
    np.testing.assert_array_equal(stack(x).detach(), again(x).detach())
    (five,) = nuts_distances.trained("deep_ensemble", 0, 3, **own)
    assert len(five(x)) == 15


def test_a_reference_has_no_distance_from_itself():
    row = measured.row(measured.load("nuts")["rows"], data_seed=0)
    kept = np.array(row["quantiles"]).T
    for scores in nuts_distances.distances(kept, dict(row)).values():
        assert scores["wasserstein"] == 0
        assert scores["mean_difference"] < 0.02
        assert scores["std_ratio"] == pytest.approx(1.0, abs=0.03)


def test_a_reduced_run_agrees_with_the_table():
    """Shorter for the mean-field BNN, whose standard deviations settle before its means do."""
    rows = measured.load("nuts-distances")["rows"]
    for contestant, steps, scores, rel in (
        ("deep_ensemble", nuts_distances.SETTINGS["steps"], nuts_distances.SCORES, 0.1),
        ("mean_field", [250, 80, 40], ["std_ratio"], 0.2),
    ):
        row = measured.row(rows, contestant=contestant, data_seed=0)
        found = nuts_distances.run(contestant, 0, **nuts_distances.SETTINGS | {"steps": steps})
        for place in ("regions", "gap"):
            for score in scores:
                wanted = np.mean(row[place][score])
                got = np.mean(found[place][score])
                assert got == pytest.approx(wanted, rel=rel), (contestant, place, score)
    assert np.mean(found["free_energy"]) > np.mean(row["free_energy"])


def test_a_curve_is_that_of_a_row():
    """Of the same start, and so at the same distance."""
    reference = measured.row(measured.load("nuts")["rows"], data_seed=0)
    for row in measured.load("nuts-distances-curves")["rows"]:
        mean, std = (np.array(row[key])[:: nuts.COARSE] for key in ("mean", "std"))
        table = measured.load("nuts-distances")["rows"]
        own = measured.row(table, contestant=row["contestant"], data_seed=0)
        for place, here in nuts.places(nuts.coarse()).items():
            apart = np.abs(mean - np.array(reference["mean"])[:: nuts.COARSE])[here].mean()
            ratio = (std / np.array(reference["std"])[:: nuts.COARSE])[here].mean()
            # Draws for the grid are others.
            assert apart == pytest.approx(own[place]["mean_difference"][0], rel=0.1, abs=0.02)
            assert ratio == pytest.approx(own[place]["std_ratio"][0], rel=0.12)


def test_the_makefile_knows_which_tables_need_more():
    line = re.search(r"^OTHERS +:= (.*)$", (ROOT / "Makefile").read_text(), flags=re.M)
    assert line[1].split() == list(experiments.NEEDS)
    assert experiments.NEEDS.keys() <= experiments.LOCATIONS.keys()


def test_where_a_package_is_missing_the_command_is_named(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(experiments.NEEDS, "nuts", "no_such_package")
    assert experiments.missing_package("nuts") == "no_such_package"
    assert not experiments.missing_package("starts")
    assert main(["nuts", "--out", str(tmp_path)]) == 1
    words = capsys.readouterr().err
    assert "no_such_package" in words and "make results NAME=nuts" in words
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    with pytest.raises(ImportError, match="make results NAME=nuts"):
        nuts.posterior(0, chains=1, warmup=1, draws=1, accept=0.9)


def test_here_leaves_those_out(capsys):
    assert main(["--here", "--list"]) == 0
    names = re.findall(r"^([a-z0-9-]+):", capsys.readouterr().out, flags=re.M)
    assert names == [name for name in experiments.EXPERIMENTS if name not in experiments.NEEDS]


def test_a_short_chain_agrees_with_the_table():
    pytest.importorskip("numpyro")
    row = measured.row(measured.load("nuts")["rows"], data_seed=0)
    found = nuts.run(0, chains=2, warmup=300, draws=300, accept=0.9)
    assert found["r_hat"] < 1.05
    here = nuts.places(nuts.grid())["regions"]
    for key, atol in (("mean", 0.02), ("std", 0.02)):
        np.testing.assert_allclose(
            np.array(found[key])[here], np.array(row[key])[here], rtol=0, atol=atol
        )
