"""Perturbed networks: minima that are minima, laws with the moments they claim, and the tables."""

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import perturbed
from ensedu.book.experiments.perturbed import (
    EXPERIMENT,
    KINDS,
    NETWORK,
    PARTS,
    SCALES,
    STATES,
    Descent,
    coupled_draws,
    digits_of_part,
    distance,
    network,
    perturbation_laws,
    polished,
    score_at,
    trained,
    untrained_numbers,
    variances,
)
from ensedu.theory.perturbations import hessian, separable, spread, spread_of

W = np.random.default_rng(0).standard_normal((3, 5))


@pytest.fixture(scope="module")
def stored():
    """The numbers of the first network at both states, as the table has them."""
    row = measured.row(measured.load("perturbed-network")["rows"], number=0)
    return {state: np.array(row[state]) for state in STATES}


def test_parts_have_no_digit_in_common():
    found = [digits_of_part(number) for number in range(PARTS)]
    images = np.concatenate([x for x, _ in found])
    assert images.shape == (PARTS * 256, 64)
    assert len(np.unique(images, axis=0)) == len(images)
    assert all(set(y) == set(range(10)) for _, y in found)
    starts = [untrained_numbers(number) for number in range(PARTS)]
    assert len(np.unique(np.stack(starts)[:, 0])) == PARTS


def test_the_loss_is_that_of_the_numpy_network(stored):
    numbers = stored["halfway"]
    x, y = digits_of_part(0)
    nll = -np.log(np.take_along_axis(softmax(network(numbers)(x)), y[:, None], 1)).mean()
    loss = float(Descent(0)(torch.from_numpy(numbers)))
    assert loss == pytest.approx(nll + perturbed.DECAY / 2 * (numbers**2).sum(), rel=1e-12)
    # Its gradient by the middle matrix is minus the score.
    score = score_at(numbers, 0)
    rows = slice(64 * 7 + 7, 64 * 7 + 7 + 35)
    own = Descent(0).gradient(numbers)[rows]
    np.testing.assert_allclose(-score(score.weight[None]).ravel(), own, rtol=0, atol=1e-14)


def softmax(outputs):
    powers = np.exp(outputs - outputs.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_newton_ends_at_a_minimum(stored):
    numbers, norms = polished(stored["minimum"], 0, 2)
    assert norms[-1] < 1e-12 < norms[0] < 1e-5
    np.testing.assert_allclose(numbers, stored["minimum"], rtol=0, atol=1e-6)
    bend = Descent(0).hessian(numbers)
    rng = np.random.default_rng(1)
    for _ in range(3):  # autograd's against differences of the gradient
        move = rng.standard_normal(len(numbers)) * 1e-6
        change = (Descent(0).gradient(numbers + move) - Descent(0).gradient(numbers - move)) / 2
        np.testing.assert_allclose(bend @ move, change, rtol=0, atol=1e-12)
    row = measured.row(measured.load("perturbed")["rows"], number=0, state="minimum")
    assert np.linalg.eigvalsh(bend)[0] == pytest.approx(row["least"], rel=1e-3)
    # The block of the middle matrix, as the score's differences have it.
    score = score_at(numbers, 0)
    rows = slice(64 * 7 + 7, 64 * 7 + 7 + 35)
    np.testing.assert_allclose(hessian(score, score.weight), bend[rows, rows], atol=1e-6)


def test_halfway_is_halfway_and_no_minimum(stored):
    loss, three = Descent(0), (untrained_numbers(0), stored["minimum"], stored["halfway"])
    first, low, half = (float(loss(torch.from_numpy(own))) for own in three)
    assert low < half < (first + low) / 2 < half * 1.02
    row = measured.row(measured.load("perturbed")["rows"], number=0, state="halfway")
    found = np.linalg.norm(loss.gradient(stored["halfway"]))
    assert found == pytest.approx(row["gradient"], rel=1e-3) and found > 0.1


def test_training_makes_these_networks(stored):
    found = trained(0, **NETWORK.settings)
    for state in STATES:
        # Of other processors the path differs, and its end at a minimum does not.
        np.testing.assert_allclose(found[state], stored[state], rtol=0, atol=1e-3)


def test_each_law_has_its_moments():
    scale, draws = 0.3, 40_000
    exact = spread_of(W, separable(*variances(W, scale)))
    found = {
        name: draw()
        for name, draw in perturbation_laws(W, scale, np.random.default_rng(0), draws).items()
    }
    assert set(found) == {"full", *KINDS} - {"coupled"}
    found |= dict(
        zip(("one", "other"), coupled_draws(W, scale, np.random.default_rng(1), draws), strict=True)
    )
    for name, V in found.items():
        assert V.shape == (draws, 3, 5), name
        error = V.std(axis=0) / draws**0.5
        assert (np.abs(V.mean(axis=0) - W) < 6 * error + 1e-12).all(), name
        cov = spread(V)
        if name == "mean_field":
            assert distance(cov, np.diag(np.diag(exact))) < 0.03
            assert distance(cov, exact) > 0.5
        else:
            assert distance(cov, exact) < 0.05, name
    assert np.linalg.matrix_rank(found["other"][0] / W) == 1
    assert np.linalg.matrix_rank(found["one"][0] / W) == 3


def test_clouds_lie_along_and_beyond_what_rows_and_columns_reach():
    found = perturbed.clouds([0.03], draws=100)[0.03]
    assert list(found) == ["full", "rank-1", "independent entries"]
    along, beyond = (
        {name: own[:, axis].std(ddof=1) for name, own in found.items()} for axis in (0, 1)
    )
    assert along["full"] == pytest.approx(1, rel=1e-12)
    assert max(beyond["full"], beyond["rank-1"]) < 0.05 < 0.3 < beyond["independent entries"]
    # Draws from the same random numbers stay together, others do not.
    apart = {name: np.abs(own - found["full"]).mean() for name, own in found.items()}
    assert apart["rank-1"] < 0.1 < apart["independent entries"]


def test_distances_are_relative():
    one = np.diag([3.0, 4.0])
    assert distance(one, one) == 0
    assert distance(2 * one, one) == pytest.approx(1)
    assert distance(np.zeros((2, 2)), one) == pytest.approx(1)


def test_a_row_has_all_distances(stored):
    score = score_at(stored["minimum"], 0)
    found = perturbed.distances(score, np.random.default_rng(0), 100)
    assert list(found) == list(KINDS)
    for values in found.values():
        assert len(values) == len(SCALES)
        assert np.isfinite(values).all()
    small, large = (found["coupled"][i] for i in (0, 3))
    assert small < 0.01 < large


def test_a_reduced_run_agrees_with_the_table(stored):
    """With as many draws of the smallest size the laws that share their numbers are the same."""
    row = measured.row(measured.load("perturbed")["rows"], number=0, state="halfway")
    score = score_at(stored["halfway"], 0)
    both = coupled_draws(score.weight, SCALES[1], np.random.default_rng(2), 2000)
    one, other = (spread(score(own)) for own in both)
    # Other draws than the table's: what sampling leaves of a small difference.
    assert distance(other, one) == pytest.approx(row["distances"]["coupled"][1], rel=0.5)


def test_the_summary_is_that_of_the_rows():
    table = measured.load("perturbed")
    assert len(table["rows"]) == len(EXPERIMENT.cases) == PARTS * len(STATES)
    found = table["summary"]["halfway"]
    own = [row for row in table["rows"] if row["state"] == "halfway"]
    entry = measured.row(found, kind="mean_field", scale=0.1)
    values = np.array([row["distances"]["mean_field"][2] for row in own])
    noise = np.array([row["distances"]["again"][2] for row in own])
    assert entry["mean"] == pytest.approx(values.mean(), rel=1e-3)
    assert entry["difference"] == pytest.approx((values - noise).mean(), rel=1e-2)
    assert entry["low"] < entry["mean"] < entry["high"]
    assert entry["resolved"]
