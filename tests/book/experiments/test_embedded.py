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
