"""What *Bayes by Backprop* draws is what it is given, and each sentence says one thing of it."""

import numpy as np

from ensedu.book import measured
from ensedu.book.experiments import bayes, nuts
from ensedu.book.figures import bayes_by_backprop as figures
from ensedu.book.page.frames import ranges
from ensedu.data import gap
from ensedu.plot.style import Look
from ensedu.theory import conjugate
from ensedu.uncertainty import Interval
from tests.plot.looks import LIGHT, drawn, texts

GRID = nuts.grid()


def lines_of(axes):
    return [np.array(line.get_xydata()) for line in axes.lines]


def test_the_band_of_nuts_and_its_data_are_of_one_draw():
    band, points = bayes.shown()
    row = measured.row(measured.load("nuts")["rows"], data_seed=bayes.TYPICAL)
    assert (band["mean"], band["std"], band["label"]) == (row["mean"], row["std"], "NUTS")
    assert points.shape == (60, 2)
    np.testing.assert_array_equal(points, np.hstack(gap.sample(np.random.default_rng(8))))


def line(correlation):
    covariance = np.array([[0.25, 0.5 * 0.2 * correlation], [0.5 * 0.2 * correlation, 0.04]])
    doubt = np.linspace(0.1, 0.7, 7), np.full(7, 0.3)
    return figures.Line(
        np.array([2.0, 3.5]), covariance, np.array([0.01, -0.02]), np.array([0.3, 0.12]), doubt
    )  # fmt: skip


def test_ellipses_are_two_standard_deviations():
    x = np.linspace(-1, 4, 7)
    shown = figures.Lines(x, {0: line(0.0), 3: line(-0.8)})
    assert shown.choices == {"inputs_around": [0, 3]}
    left, right = drawn(lambda: shown.draw(3), Look()).axes
    exact, q = lines_of(left)
    inverse = np.linalg.inv(shown.lines[3].covariance)
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", exact, inverse, exact), 4)
    np.testing.assert_allclose(q.max(0), [0.61, 0.22], atol=1e-3)
    np.testing.assert_allclose(q.min(0), [-0.59, -0.26], atol=1e-3)
    true, ours, inputs = lines_of(right)
    np.testing.assert_array_equal(true, np.stack([x, shown.lines[3].doubt[0]], 1))
    np.testing.assert_array_equal(ours, np.stack([x, shown.lines[3].doubt[1]], 1))
    np.testing.assert_array_equal(inputs[:, 0], [2.0, 3.5])
    assert ranges(drawn(lambda: shown.draw(0), LIGHT[0])) == ranges(
        drawn(lambda: shown.draw(3), LIGHT[0])
    )


def test_the_sentence_of_a_line_is_the_theorem():
    shown = figures.Lines(np.zeros(2), {3: line(-0.8), 0: line(0.0)})
    said = "With inputs around {} each weight has {} of its true standard deviation."
    assert shown.say(3) == said.format(3, "0.60")  # √(1 − 0.8²)
    assert shown.say(0) == said.format(0, "1.00")
    rng = np.random.default_rng(3)
    features, targets = np.split(rng.normal([1.0, 2.0, 0.0], size=(11, 3)), [2], axis=1)
    exact = conjugate.posterior(features, targets, noise_std=0.5)
    mean = np.zeros(2)
    one = figures.Line(np.zeros(2), exact.covariance, np.zeros(2), np.ones(2), (mean, mean))
    part = (exact.mean_field_std / exact.std)[0]
    assert f"{part:.2f}" in figures.Lines(np.zeros(2), {3: one}).say(3)


RATIOS = {
    "single": {"regions": 0.0, "gap": 0.0, "outside": 0.0},
    "deep_ensemble": {"regions": 0.15, "gap": 0.49, "outside": 0.58},
    "mean_field": {"regions": 1.7, "gap": 0.45, "outside": 0.36},
}
NAMES = {"single": "one network", "deep_ensemble": "deep ensemble", "mean_field": "mean-field BNN"}


def test_distances_are_lines_over_places():
    shown = figures.Distances(RATIOS, NAMES)
    assert shown.say() == "1 of 3 are less sure than NUTS at the data, none in the gap."
    wide = RATIOS | {"single": {"regions": 2.0, "gap": 1.2, "outside": 0.0}}
    assert figures.Distances(wide, NAMES).say() == (
        "2 of 3 are less sure than NUTS at the data, 1 in the gap."
    )
    (axes,) = drawn(shown.draw, Look()).axes
    found = [one[:, 1].tolist() for one in lines_of(axes) if len(one) == 3]
    assert found == [list(own.values()) for own in RATIOS.values()]


def test_names_stand_at_the_ends_of_curves_on_an_axis_of_square_roots():
    high = RATIOS | {"single": {"regions": 0.0, "gap": 0.0, "outside": 2.0}}
    figure = drawn(figures.Distances(high, NAMES).draw, Look())
    (axes,) = figure.axes
    (text,) = (text for text in texts(figure) if text.get_text() == NAMES["single"])
    middle = text.get_window_extent().get_points()[:, 1].mean()
    assert abs(middle - axes.transData.transform((2, 2.0))[1]) < 0.1 * figure.dpi


def effect(mean):
    return Interval(mean, mean - 0.1, mean + 0.2, 10, 0.01)


def test_settings_say_best_and_worst_of_those_that_are_clear():
    effects = {
        "KL weight 10": effect(-2.0), "12,000 steps": effect(-0.34),
        "16 samples a step": effect(-0.2), "initial σ 1": effect(0.96),
    }  # fmt: skip
    shown = figures.Settings(effects, [*effects][1:], 0.1)
    assert shown.say() == (
        "Most is gained by 12,000 steps, most lost by initial σ 1: 0.96 nats a point."
    )
    figure = drawn(shown.draw, Look())
    words = {text.get_text() for text in texts(figure)}
    assert {"base: 0.10", "+0.96", "−0.34", *effects} <= words
    hollow = [
        line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "v"
    ]
    assert hollow[0] != hollow[1] == hollow[2]
