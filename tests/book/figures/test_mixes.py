"""The figure of six mixtures shows the intervals that it is given, and says which miss."""

import numpy as np
import pytest

from ensedu.book.experiments.contest.mixes import Mix
from ensedu.book.figures.mixes import Mixes
from ensedu.plot.style import INK, color
from tests.plot.looks import LIGHT, drawn, texts

MIXES = [
    Mix(name, kind, row, strength, 0.5)
    for row, (name, kind, strength) in enumerate(
        [
            ("weak", "ordinary", 11.0), ("medium", "ordinary", 37.0), ("strong", "ordinary", 61.0),
            ("little water", "unusual", 29.0), ("cement and water", "unusual", 23.0),
            ("much water", "unusual", 31.0),
        ]
    )
]  # fmt: skip
STRENGTHS = np.array([mix.strength for mix in MIXES])
AROUND = np.stack([STRENGTHS - 5, STRENGTHS + 7])
SHIFTED = AROUND + np.array([0, 0, 0, 0, 13, 0])
SHOWN = Mixes(MIXES, {"single": AROUND, "mc_dropout": SHIFTED, "swag": AROUND - 1})


@pytest.mark.parametrize(("method", "key"), [("MC dropout", "mc_dropout"), ("SWAG", "swag")])
def test_each_mix_has_both_intervals_and_its_strength(method, key):
    assert SHOWN.choices == {"method": ["MC dropout", "SWAG"]}
    figure = drawn(lambda: SHOWN.draw(method), LIGHT[0])
    (axes,) = figure.axes
    for lines, own in zip(axes.collections, ("single", key), strict=True):
        ends = np.array(lines.get_segments())[:, :, 0].T
        np.testing.assert_allclose(ends, SHOWN.intervals[own])
    dots = axes.lines[0]
    np.testing.assert_array_equal(dots.get_xdata(), STRENGTHS)
    assert {text.get_text() for text in texts(figure)} >= {mix.name for mix in MIXES}
    named = {text.get_text(): text.get_color() for text in axes.texts}
    assert (named["one network"], named[method]) == (color("single"), color(key))
    assert dots.get_color() == INK


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("MC dropout", "Not in the interval of MC dropout: cement and water."),
        ("SWAG", "All six strengths lie in the intervals of SWAG."),
    ],
)
def test_it_says_whom_the_intervals_miss(method, words):
    assert SHOWN.say(method) == words
