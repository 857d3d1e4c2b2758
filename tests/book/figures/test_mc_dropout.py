"""What *MC dropout* draws is what it is given, and each sentence says one thing."""

import itertools

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.figures.mc_dropout import Doubt, Passes, Spread
from tests.plot.looks import LIGHT, drawn, texts

SPREAD = Spread(
    {0.02: 0.07, 0.1: 0.11, 0.5: 0.175},
    {
        "rate 0.2": ("mc_dropout", {60: 0.12, 240: 0.118, 960: 0.126}),
        "deep ensemble": ("deep_ensemble", {60: 0.03, 240: 0.025, 960: 0.015}),
    },
)
S, RATES = (1, 2, 4, 8), (0.1, 0.5)
FALLING = 0.15 + 0.1 / np.array(S)
PASSES = Passes(
    S, RATES,
    {"400": np.stack([FALLING, FALLING + 0.1]), "1,200": np.stack([FALLING] * 2)},
    {"400": np.array([0.18, 0.17]), "1,200": np.array([0.085, 0.095])},
    {"400": 0.21, "1,200": 0.1},
)  # fmt: skip
X = np.linspace(-4, 4, 81)
INSIDE = (-1 < X) & (X < 1.5)
DOUBT = Doubt(
    X, np.array([-3.5, -2.0, 1.7, 3.9]),
    {
        "dropout in 1 layer": ("mc_dropout", 0.05 + X**2 / 80),
        "dropout in 2 layers": ("mc_dropout", np.where(INSIDE, 0.18, 0.09)),
        "deep ensemble": ("deep_ensemble", np.where(INSIDE, 0.3, 0.06)),
    },
)  # fmt: skip
EVERY = [*itertools.product(RATES, PASSES.choices["digits"])]


def test_both_panels_of_the_spread_have_one_axis():
    left, right = drawn(SPREAD.draw, LIGHT[0]).axes
    assert left.get_ylim() == right.get_ylim()
    assert left.lines[0].get_xydata().tolist() == [[p, y] for p, y in SPREAD.by_rate.items()]
    for line, (method, own) in zip(right.lines, SPREAD.by_number.values(), strict=True):
        assert line.get_xydata().tolist() == [[n, y] for n, y in own.items()]
        assert line.get_color() == plot.PALETTE[method]
    low, high = left.get_ylim()
    assert low == 0
    assert max(SPREAD.by_rate.values()) < high
    assert {"rate 0.2", "deep ensemble"} <= {text.get_text() for text in right.texts}


def test_the_spread_says_how_much_both_move_it():
    assert SPREAD.say() == (
        "From lowest to highest rate: 2.5 times as far apart; from fewest to most points: 1.1 "
        "times."
    )


@pytest.mark.parametrize(("rate", "digits"), EVERY)
def test_passes_are_dots_beside_two_lines(rate, digits):
    plain, off, on = drawn(lambda: PASSES.draw(rate, digits), LIGHT[0]).axes[0].lines
    row = RATES.index(rate)
    assert set(plain.get_ydata()) == {PASSES.plain[digits]}
    assert set(off.get_ydata()) == {PASSES.off[digits][row]}
    np.testing.assert_array_equal(
        on.get_xydata(), np.stack([S, PASSES.averaged[digits][row]], axis=1)
    )
    colors = [line.get_color() for line in (plain, off, on)]
    assert colors == [plot.PALETTE[name] for name in ("single", "mc_dropout", "mc_dropout")]


def test_passes_say_where_they_end():
    assert PASSES.choices == {"rate": [0.1, 0.5], "digits": ["400", "1,200"]}
    assert PASSES.say(0.5, "400") == (
        "8 passes with masks: NLL 0.263; one pass with masks off: 0.170."
    )


def test_doubt_has_a_line_each_and_says_how_much_more_there_is_in_the_gap():
    figure = drawn(DOUBT.draw, LIGHT[0])
    *lines, ticks = figure.axes[0].lines
    for line, (method, y) in zip(lines, DOUBT.curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.stack([X, y], axis=1))
        assert line.get_color() == plot.PALETTE[method]
    assert [*ticks.get_xdata()] == [*DOUBT.inputs]
    said = {" ".join(text.get_text().split()) for text in texts(figure)}
    assert {*DOUBT.curves} <= said
    assert DOUBT.ratio("deep ensemble") == pytest.approx(5)
    assert DOUBT.say() == (
        "In the gap over at the data: dropout in 1 layer 0.4, dropout in 2 layers 2.0, "
        "deep ensemble 5.0."
    )
