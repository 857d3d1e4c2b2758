"""Kernels, perturbations and posteriors against theorems, Gaussian processes, SciPy, one another.

A short chain runs where NumPyro is: ``.venv-others/bin/python -m pytest -k chain`` and this file.
"""

import numpy as np
import pytest
import scipy.stats
import torch

from ensedu.data import gap
from ensedu.theory import ntk
from ensedu.theory.perturbations import entry_covariance, hessian, sample_covariance, separable
from ensedu.torch import MeanFieldLinear, kl, mlp
from workshop import measured
from workshop.experiments import bayes, embedded, nuts, perturbed
from workshop.experiments import running_example as example
from workshop.experiments.exact import FEATURES, GRID, exact, points
from workshop.experiments.perturbed import Descent, distance, score_at


def test_a_pull_at_one_member_is_the_step_of_one_network():
    """A pull at all of two members is γ = M; outputs are those after these numbers of steps."""
    x, y = np.linspace(-1, 1, 16).reshape(8, 2), np.linspace(0, 1, 8)
    nets = [ntk.embedded([2, 7, 5, 1], 2, rng=np.random.default_rng(4)) for _ in range(2)]
    for _ in range(3):
        nets[0].step(x, y, 0.2, gamma=2.0, modulation_lr=0.0)
    both = embedded.pulled(nets[1], (1, 1), x, y, x, lr=0.2, steps=(0, 3))
    np.testing.assert_allclose(both[1], nets[0](x), rtol=0, atol=1e-12)
    # Who alone is pulled trains as a network of one member.
    pair = ntk.embedded([2, 7, 5, 1], 2, rng=np.random.default_rng(4), bias_std=0.5)
    alone = ntk.EmbeddedEnsemble(
        [own.copy() for own in pair.weights], [own.copy() for own in pair.biases],
        [u[:1] for u in pair.u], [v[:1] for v in pair.v], bias_std=0.5,
    )  # fmt: skip
    for _ in range(4):
        alone.step(x, y, 0.2, modulation_lr=0.0)
    found = embedded.pulled(pair, (1, 0), x, y, x, lr=0.2, steps=(4,))
    np.testing.assert_allclose(found[0, :1], alone(x), rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def stored():
    """The numbers of the first network at both states, as the table has them."""
    (row,) = measured.load("perturbed-network")["rows"]
    return {state: np.array(row[state]) for state in perturbed.STATES}


MIDDLE = slice(64 * 7 + 7, 64 * 7 + 7 + 35)


def test_the_loss_is_that_of_the_numpy_network_on_a_part_of_its_own(stored):
    found = [perturbed.digits_of_part(number)[0] for number in range(perturbed.PARTS)]
    assert len(np.unique(np.concatenate(found), axis=0)) == perturbed.PARTS * 256
    numbers, (x, y) = stored["halfway"], perturbed.digits_of_part(0)
    logits = torch.from_numpy(perturbed.network(numbers)(x))
    nll = float(torch.nn.functional.cross_entropy(logits, torch.from_numpy(y)))
    loss = float(Descent(0)(torch.from_numpy(numbers)))
    assert loss == pytest.approx(nll + perturbed.DECAY / 2 * (numbers**2).sum(), rel=1e-12)
    score = score_at(numbers, 0)  # minus its gradient by the middle matrix
    own = Descent(0).gradient(numbers)[MIDDLE]
    np.testing.assert_allclose(-score(score.weight[None]).ravel(), own, rtol=0, atol=1e-14)


def test_states_are_a_minimum_and_halfway_to_it(stored):
    loss = Descent(0)
    numbers, norms = perturbed.polished(stored["minimum"], 0, 2)
    assert norms[-1] < 1e-12 < norms[0] < 1e-5
    np.testing.assert_allclose(numbers, stored["minimum"], rtol=0, atol=1e-6)
    bend, rows = loss.hessian(numbers), measured.load("perturbed")["rows"]
    row = measured.row(rows, number=0, state="minimum")
    assert np.linalg.eigvalsh(bend)[0] == pytest.approx(row["least"], rel=1e-3)
    move = np.random.default_rng(1).standard_normal(len(numbers)) * 1e-6
    change = (loss.gradient(numbers + move) - loss.gradient(numbers - move)) / 2
    np.testing.assert_allclose(bend @ move, change, rtol=0, atol=1e-12)
    score = score_at(numbers, 0)
    np.testing.assert_allclose(hessian(score, score.weight), bend[MIDDLE, MIDDLE], atol=1e-6)
    three = perturbed.untrained_numbers(0), stored["minimum"], stored["halfway"]
    first, low, half = (float(loss(torch.from_numpy(own))) for own in three)
    assert low < half < (first + low) / 2 < half * 1.02
    found = np.linalg.norm(loss.gradient(stored["halfway"]))
    row = measured.row(rows, number=0, state="halfway")
    assert found == pytest.approx(row["gradient"], rel=1e-3)


def test_each_law_has_its_moments():
    W, scale, draws = np.random.default_rng(0).standard_normal((3, 5)), 0.3, 40_000
    exact = entry_covariance(W, separable(*perturbed.variances(W, scale)))
    laws = perturbed.perturbation_laws(W, scale, np.random.default_rng(0), draws)
    found = {name: draw() for name, draw in laws.items()}
    pair = perturbed.coupled_draws(W, scale, np.random.default_rng(1), draws)
    for name, V in (found | dict(zip(("one", "other"), pair, strict=True))).items():
        error = V.std(axis=0) / draws**0.5
        assert (np.abs(V.mean(axis=0) - W) < 6 * error + 1e-12).all(), name
        wanted = np.diag(np.diag(exact)) if name == "mean_field" else exact
        assert distance(sample_covariance(V), wanted) < 0.05, name
    assert [np.linalg.matrix_rank(V[0] / W) for V in pair] == [3, 1]
    apart = (pair[0] - pair[1]).std(axis=0)  # τ² (g - u v), with τ = scale / √2
    np.testing.assert_allclose(apart, abs(W) * scale**2 / np.sqrt(2), rtol=0.05)


def test_distances_are_relative_to_the_full_law(stored):
    score, scale, draws = score_at(stored["minimum"], 0), perturbed.SCALES[0], 20
    found = perturbed.distances(score, np.random.default_rng(0), draws)
    assert [*found] == [*perturbed.KINDS]
    rng = np.random.default_rng(0)
    laws = perturbed.perturbation_laws(score.weight, scale, rng, draws)
    own = {name: sample_covariance(score(draw())) for name, draw in laws.items()}
    coupled = perturbed.coupled_draws(score.weight, scale, rng, draws)
    full, pair = map(sample_covariance, map(score, coupled))
    for name, one, other in (("rank1", own["rank1"], own["full"]), ("coupled", pair, full)):
        wanted = np.sqrt(((one - other) ** 2).sum() / (other**2).sum())
        assert found[name][0] == pytest.approx(wanted, rel=1e-12)


NUTS = measured.load("nuts")["rows"]


@pytest.mark.parametrize(("number", "noise"), [(7, 0.1), (53, 0.4)])
@pytest.mark.parametrize("model", FEATURES)
def test_the_exact_one_is_a_gaussian_process(number, noise, model):
    """Conditioned on the targets, with the covariance of the features."""
    found, features = exact(number, noise, model), FEATURES[model]
    x, y = points(number, noise)
    targets = features(x) @ features(x).T + noise**2 * np.eye(number)
    cross = features(GRID) @ features(x).T
    left = features(GRID) @ features(GRID).T - cross @ np.linalg.solve(targets, cross.T)
    np.testing.assert_allclose(found.mean, cross @ np.linalg.solve(targets, y), atol=1e-8)
    np.testing.assert_allclose(found.unknown**2, np.diag(left), atol=1e-8)
    np.testing.assert_array_equal(found.y, y)


def given_network(weights, rho=-50.0):
    """Return the package's network of the model, with these 61 means in the book's order."""
    options = {"activation": "tanh", "parametrization": "ntk", "prior": nuts.PRIOR}
    net = mlp(nuts.SIZES, "mean_field", **options, dtype=torch.float64)
    W, b, V, c = torch.as_tensor(weights).tensor_split((20, 40, 60))
    first, last = (layer for layer in net if isinstance(layer, MeanFieldLinear))
    with torch.no_grad():
        for layer, weight, bias in ((first, W, b), (last, V, c)):
            layer.weight_mean.copy_(weight.reshape(layer.weight_mean.shape))
            layer.bias_mean.copy_(bias)
            layer.weight_rho.fill_(rho)
            layer.bias_rho.fill_(rho)
    return net


def test_numpy_torch_and_the_package_have_one_model():
    x, _ = gap.sample(np.random.default_rng(3))
    weights = 2 * np.random.default_rng(0).standard_normal((7, nuts.NUMBER))
    curves = nuts.curve(weights, x[:, 0])
    each = torch.from_numpy(x.T).expand(7, 1, -1)  # with inputs of its own
    own = nuts.curve(torch.from_numpy(weights), each, torch).numpy()
    np.testing.assert_allclose(own, curves, rtol=0, atol=1e-12)
    for given, curve in zip(weights, curves, strict=True):
        f = given_network(given)(torch.from_numpy(x)).detach()
        np.testing.assert_allclose(f[0, :, 0], curve, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("S", "T"), [(7, 3), (1, 5), (11, 11), (50, 13)])
def test_the_distance_is_scipys(S, T):
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((S, 5)), 0.3 + 2 * rng.standard_normal((T, 5))
    wanted = [scipy.stats.wasserstein_distance(*pair) for pair in zip(one.T, other.T, strict=True)]
    np.testing.assert_allclose(nuts.wasserstein(one, other), wanted, rtol=1e-12)


def test_a_short_chain_agrees_with_the_table():
    pytest.importorskip("numpyro")
    row = measured.row(NUTS, data_seed=0)
    found = nuts.run(0, chains=2, warmup=300, draws=300, accept=0.9)
    assert found["r_hat"] < 1.05
    here = nuts.inputs_by_place(nuts.grid())["regions"]
    for key in ("mean", "std"):
        own, wanted = (np.array(one[key])[here] for one in (found, row))
        np.testing.assert_allclose(own, wanted, rtol=0, atol=0.02)


@pytest.mark.parametrize("prior", bayes.PRIORS.values())
def test_stacked_posteriors_have_the_packages_loss_and_do_not_mix(prior):
    q = bayes.started([3, 4, 5], 0.1)
    noise = torch.zeros(2, 3, nuts.NUMBER, dtype=torch.float64)
    x, y = map(torch.from_numpy, gap.sample(np.random.default_rng(0)))
    each = bayes.loss(q, noise, x.T.expand(3, -1), y.T.expand(3, -1), prior, 0.3)
    each[1].backward()
    for part in (q.mean, q.rho):
        assert (part.grad[[0, 2]] == 0).all() and (part.grad[1] != 0).any()
    rho = float(q.rho.detach()[1, 0])
    net = given_network(q.mean[1].detach(), rho)
    f = given_network(q.mean[1].detach())(x)[0]
    if prior is nuts.PRIOR:
        torch.testing.assert_close(
            each[1], 0.3 * kl(net) + len(x) * example.nll(f, y), rtol=1e-9, atol=0
        )


def test_the_kl_grows_and_one_batch_has_one_share():
    def spread_of(number=20, **changed):
        settings = bayes.BASE | {"steps": 30, "beta": 10.0} | changed
        return bayes.trained([0, 1], 2, **settings, lr=0.01, batch_size=number).rho.mean()

    assert spread_of(beta=0.0) < spread_of(anneal=1.0) < spread_of()
    assert spread_of(60, share="geometric") == spread_of(60, share="uniform")
    assert spread_of(beta=0.0, anneal=0.5) == spread_of(beta=0.0)


def test_what_is_shown_is_typical_and_scores_are_lists_over_data():
    """Of all draws its NLL and spread, in both places, are closest to their medians."""
    table = np.array(
        [[row["scores"][place][name] for place in example.PLACES for name in ("nll", "spread")]
         for row in NUTS]
    )  # fmt: skip
    apart = np.abs(table - np.median(table, axis=0)) / table.std(axis=0)
    assert NUTS[int(apart.sum(1).argmin())]["data_seed"] == bayes.TYPICAL
    settings = bayes.EXPERIMENT.settings | {"data": [0, 8], "starts": 2, "passes": 20}
    found = bayes.run(**bayes.BASE | {"steps": 0, "std": 1e-9}, **settings)
    assert len(found["sigma"]) == len(found["gap"]["wasserstein"]) == 2
    assert found["outside"].keys() == {"mean_difference", "std_ratio", "wasserstein"}
