"""Tangent kernels and perturbations against gradients by hand, theorems and other code."""

import numpy as np
import pytest
import torch

from ensedu.theory import ntk
from ensedu.theory.perturbations import hessian, separable, spread, spread_of
from workshop import measured
from workshop.experiments import embedded, perturbed
from workshop.experiments import gradient_flow as small
from workshop.experiments.perturbed import Descent, distance, score_at


def by_hand(net, x):
    """The outputs, and the gradient of each output in all weights, (B, 3 · width)."""
    (W, w), m = net.weights, 2
    z = x @ W / m**0.5
    hidden = np.maximum(z, 0) / W.shape[1] ** 0.5
    slopes = (z > 0) * w[:, 0] / W.shape[1] ** 0.5
    inner = x[:, :, None] / m**0.5 * slopes[:, None]
    return (hidden @ w)[:, 0], np.concatenate([inner.reshape(len(x), -1), hidden], axis=1)


def test_what_is_foreseen_is_where_the_linearized_network_goes():
    """Its weights trained by small steps, with the gradients of the start."""
    net = small.network(11, seed=2)
    (start, slopes), (everywhere, ways) = by_hand(net, small.X), by_hand(net, small.ALL)
    moved, rate = np.zeros(slopes.shape[1]), 1e-3
    for _ in range(3000):
        moved -= rate * slopes.T @ (start + slopes @ moved - small.TARGETS) / 6
    still = small.foreseen(net, [0.0, 3.0])
    np.testing.assert_allclose(still[0], everywhere, rtol=0, atol=1e-12)
    np.testing.assert_allclose(still[1], everywhere + ways @ moved, rtol=0, atol=2e-3)
    assert np.abs(still[1] - still[0]).max() > 0.2


def test_what_is_watched_is_that_of_one_training():
    rows, net = small.trained(16), small.network(16)
    np.testing.assert_allclose(rows[0][0], rows[0][2], rtol=0, atol=1e-12)
    small.train(net, 80)  # until time 8
    outputs, at_data, _, reach = rows[small.TIMES.index(8)]
    own = small.kernel(net, small.ALL, small.X[[small.AT]])[:, 0]
    for found, wanted in ((outputs, net(small.ALL)[0]), (at_data, net(small.X)[0]), (reach, own)):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    angles, adds = small.trails(16)
    W, w = net.weights
    np.testing.assert_allclose(adds[8], np.linalg.norm(W, axis=0) * w[:, 0], rtol=0, atol=1e-12)
    turned = np.radians(angles[8]) - np.arctan2(W[1], W[0])
    np.testing.assert_allclose(np.cos(turned), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0])
def test_what_joins_members_is_the_square_of_the_mean(mean):
    x, u = embedded.inputs_at_angle(-0.5), embedded.by_mean(mean)
    np.testing.assert_allclose(x @ x.T / 2, [[1, -0.5], [-0.5, 1]], rtol=0, atol=1e-15)
    found = ntk.limit(x, hidden_layers=2, u=u)
    for same, cross in (found.shared, found.covariance):
        np.testing.assert_allclose(cross, mean**2 * same, rtol=0, atol=1e-14)


def test_a_pull_at_one_member_is_the_step_of_one_network():
    """A pull at all of two members is γ = M; outputs are those after these numbers of steps."""
    x, y = embedded.curve()
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


def test_of_two_members_one_is_dragged_along():
    grid, _, found, (points, y) = embedded.dragged()
    for mean, outputs in found.items():
        way = outputs[-1] - outputs[0]
        assert way[0] @ way[1] / (way[0] @ way[0]) == pytest.approx(mean**2, abs=0.1)
        assert np.abs(np.interp(points, grid, outputs[-1, 0]) - y).max() < 0.3


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
    exact = spread_of(W, separable(*perturbed.variances(W, scale)))
    laws = perturbed.perturbation_laws(W, scale, np.random.default_rng(0), draws)
    found = {name: draw() for name, draw in laws.items()}
    pair = perturbed.coupled_draws(W, scale, np.random.default_rng(1), draws)
    for name, V in (found | dict(zip(("one", "other"), pair, strict=True))).items():
        error = V.std(axis=0) / draws**0.5
        assert (np.abs(V.mean(axis=0) - W) < 6 * error + 1e-12).all(), name
        wanted = np.diag(np.diag(exact)) if name == "mean_field" else exact
        assert distance(spread(V), wanted) < 0.05, name
    assert [np.linalg.matrix_rank(V[0] / W) for V in pair] == [3, 1]


def test_distances_are_relative_to_the_full_law(stored):
    score, scale, draws = score_at(stored["minimum"], 0), perturbed.SCALES[0], 20
    found = perturbed.distances(score, np.random.default_rng(0), draws)
    assert [*found] == [*perturbed.KINDS]
    rng = np.random.default_rng(0)
    laws = perturbed.perturbation_laws(score.weight, scale, rng, draws)
    own = {name: spread(score(draw())) for name, draw in laws.items()}
    full, pair = (
        spread(score(V)) for V in perturbed.coupled_draws(score.weight, scale, rng, draws)
    )
    for name, one, other in (("rank1", own["rank1"], own["full"]), ("coupled", pair, full)):
        wanted = np.sqrt(((one - other) ** 2).sum() / (other**2).sum())
        assert found[name][0] == pytest.approx(wanted, rel=1e-12)
