"""What *More from one network* draws is what it is given, and each sentence says one thing."""

import numpy as np
import pytest
import torch

from ensedu import plot
from ensedu.book.figures.more_from_one_network import (
    Paths,
    Runs,
    Temperature,
    Walks,
    swag_covariance,
)
from ensedu.contest.swag import draw_weights
from ensedu.plot.style import INK, LOOKS
from tests.plot.looks import LIGHT, drawn

GRID = np.linspace(-4.6, 4.6, 47)
RNG = np.random.default_rng(0)
APART = np.array([-2, -1, 0, 1, 2])[:, None]
CURVES = {
    "constant": np.stack([np.sin(GRID) + 0.01 * APART, np.sin(GRID) + 0.1 * APART]),
    "falls to zero": np.stack([np.sin(GRID) + 0 * APART, np.sin(GRID) + 0.2 * APART]),
}
PATHS = Paths(GRID, RNG.uniform(-1, 1, (13, 2)), CURVES)
TEMPERATURE = Temperature(
    {0.5: 0.44, 1.0: 0.26, 4.0: 0.43}, {0.5: 0.98, 1.0: 0.962, 4.0: 0.71}, 0.937
)
RATES = "constant", "holds", "falls to zero"
RUNS = Runs(
    {
        title: {
            name: dict(zip(RATES, own, strict=True))
            for name, own in {
                "last network": [high, high - 0.01, high - 0.04],
                "last five epochs": [high - 0.08, high - 0.07, high - 0.042],
                "SWAG": [high - 0.1, high - 0.09, high - 0.06],
                "five networks": [high - 0.101, high - 0.12, high - 0.13],
            }.items()
        }
        for title, high in {"NLL": 3.1, "RMSE": 6.0}.items()
    }
)
COVARIANCE = np.array([[0.04, -0.03], [-0.03, 0.03]])
BEST = np.array([0.7, -1.1])
SEEN = BEST + 0.05 * RNG.standard_normal((101, 2)) + 0.01
WALKS = Walks({"0.05": BEST + (SEEN - BEST) / 2, "0.2": SEEN}, BEST, COVARIANCE)


@pytest.mark.parametrize("rate", CURVES)
def test_one_run_is_gray_and_five_are_blue(rate):
    assert PATHS.choices == {"learning_rate": [*CURVES]}
    figure = drawn(lambda: PATHS.draw(rate), LIGHT[0])
    for axes, own, name in zip(figure.axes, CURVES[rate], ("single", "deep_ensemble"), strict=True):
        points, *lines = axes.lines
        np.testing.assert_array_equal(points.get_xydata(), PATHS.points)
        np.testing.assert_array_equal([line.get_ydata() for line in lines], own)
        assert {line.get_color() for line in lines} == {plot.PALETTE[name]}


def test_paths_are_told_apart_in_the_gap():
    assert PATHS.say("constant") == (
        "In the gap, networks of one run lie 0.01 apart, those of five runs 0.14."
    )
    assert PATHS.say("falls to zero").startswith("In the gap, networks of one run lie 0.00 apart")


def test_a_temperature_moves_loss_and_confidence_and_not_what_is_right():
    for temperature in TEMPERATURE.choices["temperature"]:
        left, right = drawn(lambda t=temperature: TEMPERATURE.draw(t), LOOKS[0]).axes
        for axes, own in ((left, TEMPERATURE.loss), (right, TEMPERATURE.confidence)):
            line, dot = axes.lines[:2]
            assert line.get_xydata().tolist() == [[*pair] for pair in own.items()]
            assert dot.get_xydata().tolist() == [[temperature, own[temperature]]]
        assert [*right.lines[2].get_ydata()] == [0.937, 0.937]
    assert TEMPERATURE.say(1.0) == (
        "At temperature 1 the network is 96% sure on average, and 94% of its answers are right."
    )


def test_a_line_for_each_that_is_made_of_a_run():
    for axes, rows in zip(drawn(RUNS.draw, LIGHT[0]).axes, RUNS.scores.values(), strict=True):
        for line, own in zip(axes.lines, rows.values(), strict=True):
            assert [*line.get_ydata()] == [*own.values()]
        colors = [line.get_color() for line in axes.lines]
        assert colors == [plot.PALETTE["single"], INK, INK, plot.PALETTE["deep_ensemble"]]
    assert RUNS.say() == (
        "NLL: last five epochs gain 0.08 at a constant rate, and 0.00 once it has fallen to zero."
    )


@pytest.mark.parametrize("rate", WALKS.walks)
def test_a_walk_its_mean_and_both_ellipses(rate):
    seen = WALKS.walks[rate]
    (axes,) = drawn(lambda: WALKS.draw(rate), LIGHT[0]).axes
    dots, exact, cloud, mean, best = axes.lines
    np.testing.assert_array_equal(dots.get_xydata(), seen)
    np.testing.assert_allclose(mean.get_xydata(), [seen.mean(0)])
    np.testing.assert_allclose(best.get_xydata(), [BEST])
    for line, center, covariance in (
        (exact, BEST, COVARIANCE), (cloud, seen.mean(0), swag_covariance(seen)),
    ):  # fmt: skip
        away = line.get_xydata() - center
        lengths = np.einsum("bi,ij,bj->b", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(lengths, 4)


def test_a_walk_says_how_wide_it_is():
    assert WALKS.say("0.2") == "The run moves its intercept by 0.05; the data leave 0.20 open."


def test_the_covariance_is_that_of_the_contests_swag():
    seen = torch.tensor(RNG.standard_normal((7, 2)) @ [[2.0, 1.0], [0.0, 1.0]]).float()
    generator = torch.Generator().manual_seed(0)
    samples = np.array([draw_weights(seen, generator).numpy() for _ in range(20_000)])
    np.testing.assert_allclose(np.cov(samples.T), swag_covariance(seen.numpy()), rtol=0.06)
