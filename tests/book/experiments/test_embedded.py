"""Theorems on embedded ensembles, measured: what one row is made of, and what the tables say."""

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments import embedded
from ensedu.book.experiments.embedded import (
    EXPERIMENT,
    MODULATIONS,
    OUTPUTS,
    TRAINING,
    WIDTHS,
    by_mean,
    curve,
    inputs_at_angle,
    run,
    run_outputs,
    run_training,
    spread,
)
from ensedu.theory import ntk

KERNELS, OUTPUT, TRAINED = (
    measured.load(one.name)["rows"] for one in (EXPERIMENT, OUTPUTS, TRAINING)
)


@pytest.mark.parametrize("mean", [0.0, 0.3, 1.0])
def test_what_joins_members_is_the_square_of_the_mean(mean):
    first, last = by_mean(mean)
    assert first.moments == (1.0, 1.0)
    np.testing.assert_allclose(last.moments, (mean, 1.0), rtol=0, atol=1e-15)
    found = ntk.limit(inputs_at_angle(0.5), hidden_layers=2, u=by_mean(mean))
    for same, cross in (found.shared, found.covariance):
        np.testing.assert_allclose(cross, mean**2 * same, rtol=0, atol=1e-14)


@pytest.mark.parametrize("cosine", [-1.0, -0.5, 0.3])
def test_a_pair_has_its_angle(cosine):
    x = inputs_at_angle(cosine)
    np.testing.assert_allclose(x @ x.T / 2, [[1, cosine], [cosine, 1]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("power", [-0.5, -1.0])
def test_slopes_of_known_draws(power):
    rng, widths = np.random.default_rng(0), [64, 256, 512, 1024]
    draws = rng.standard_normal((4, 5000)) * np.array(widths)[:, None] ** power
    found = spread(0.7 + draws, 0.7, widths, rng, 300)
    assert found["low"] < power < found["high"]
    assert found["high"] - found["low"] < 0.08
    assert found["slope"] == pytest.approx(power, abs=0.03)
    np.testing.assert_allclose(found["rms"], np.array(widths) ** power, rtol=0.05)
    np.testing.assert_allclose(found["error"], np.array(widths) ** power / 5000**0.5, rtol=0.05)
    # The slope has nothing of the narrow ones.
    draws[0] *= 100
    again = spread(0.7 + draws, 0.7, widths, np.random.default_rng(1), 10)
    assert again["slope"] == pytest.approx(found["slope"], abs=1e-12)


def test_a_short_row_of_kernels_is_near_the_table():
    short = run("erf", "last", 60, [32, 256, 512], 200)
    row = measured.row(KERNELS, activation="erf", modulation="last")
    for part in ("cross", "same"):
        assert short[part]["limit"] == pytest.approx(row[part]["limit"], abs=2e-4)
        for width, value in zip([32, 256], short[part]["rms"], strict=False):
            assert 0.7 < value / row[part]["rms"][WIDTHS.index(width)] < 1.4
        for mean, error in zip(short[part]["mean"], short[part]["error"], strict=True):
            assert abs(mean - short[part]["limit"]) < 5 * error


def test_kernels_come_to_their_limits_as_the_theorems_say():
    for row in KERNELS:
        for part in ("cross", "same"):
            own = row[part]
            assert abs(own["mean"][-1] - own["limit"]) < 4 * own["error"][-1]
        zero = row["modulation"] in ("last", "signs")
        assert (abs(row["cross"]["limit"]) < 1e-12) == zero
        assert row["same"]["limit"] > 0
    assert {row["modulation"] for row in KERNELS} == set(MODULATIONS)


def test_outputs_become_gaussian_and_as_correlated_as_the_limit():
    by_width = [row for row in OUTPUT if row["mean"] == 0]
    tails = [row["kurtosis"] for row in by_width]
    assert tails == sorted(tails, reverse=True)
    assert abs(tails[-1]) < 3 * by_width[-1]["kurtosis_error"]
    assert tails[1] > 3 * by_width[1]["kurtosis_error"]
    for row in OUTPUT:
        assert row["limit"] == pytest.approx(row["mean"] ** 2, abs=1e-9)
        assert abs(row["correlation"] - row["limit"]) < 3.5 * row["error"]
    row = run_outputs(2, 0.0, **OUTPUTS.settings)
    expected = measured.row(OUTPUT, width=2, mean=0.0)
    assert row["kurtosis"] == pytest.approx(expected["kurtosis"], rel=1e-3)
    np.testing.assert_allclose(row["quantiles"], expected["quantiles"], rtol=0, atol=1e-3)


@pytest.mark.parametrize(("mean", "gamma"), [(0.0, 4.0), (0.5, 1.0)])
def test_a_training_is_that_of_the_table(mean, gamma):
    case = {"mean": mean, "gamma": gamma, "width": 32, "seed": 3}
    found = run_training(**case, **TRAINING.settings)
    expected = measured.row(TRAINED, **case)
    for name, value in found.items():
        assert value == pytest.approx(expected[name], rel=1e-3)


def test_a_training_returns_outputs_before_each_step():
    net = ntk.embedded([2, 16, 16, 1], 3, rng=np.random.default_rng(0))
    start = net(curve()[0])
    found = embedded.trained(net, 3.0, 1.0, 0.1)
    assert found.shape == (10, 3, 8)
    np.testing.assert_array_equal(found[0], start)
    assert not np.array_equal(found[-1], start)


def test_a_pull_at_one_member_is_the_step_of_one_network():
    """A pull at all of two members is γ = M; outputs are those after these numbers of steps."""
    x, y = curve()
    nets = [ntk.embedded([2, 7, 5, 1], 2, rng=np.random.default_rng(4)) for _ in range(2)]
    for _ in range(3):
        nets[0].step(x, y, 0.2, gamma=2.0, modulation_lr=0.0)
    both = embedded.pulled(nets[1], (1, 1), x, y, x, lr=0.2, steps=(0, 3))
    assert both.shape == (2, 2, 8)
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
    grid, steps, found, (points, y) = embedded.dragged()
    for mean, outputs in found.items():
        assert outputs.shape == (len(steps), 2, len(grid))
        way = outputs[-1] - outputs[0]
        along = way[0] @ way[1] / (way[0] @ way[0])
        assert abs(along - mean**2) < 0.1
        assert np.abs(np.interp(points, grid, outputs[-1, 0]) - y).max() < 0.3


def test_wide_trainings_stay_with_their_kernels():
    for score in ("change", "gap"):
        for mean, gamma in {(row["mean"], row["gamma"]) for row in TRAINED}:
            means = [
                np.mean(
                    [
                        row[score]
                        for row in TRAINED
                        if (row["mean"], row["gamma"], row["width"]) == (mean, gamma, width)
                    ]
                )
                for width in (32, 256, 1024)
            ]
            assert means[0] > 2 * means[1] > 3 * means[2]
    for row in measured.load(TRAINING.name)["summary"]:
        assert row["high"] < -0.5
    # Members of equal modulations stay one network.
    assert all(row["apart"] < 1e-12 for row in TRAINED if row["mean"] == 1)
