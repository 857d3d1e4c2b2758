"""The figure of six mixtures shows the intervals that it is given, and says which miss."""

import numpy as np
import pytest

from ensedu.book.experiments.contest.mixes import Mix
from ensedu.book.figures.mixes import Mixes
from ensedu.book.page.said import too_much
from ensedu.plot.style import INK, LOOKS, color
from tests.plot.looks import drawn, readable, texts

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
SHOWN = Mixes(MIXES, {"single": AROUND, "mc_dropout": SHIFTED})


def test_each_mix_has_both_intervals_and_its_strength():
    readable(SHOWN.draw)
    for look in LOOKS:
        figure = drawn(SHOWN.draw, look)
        (axes,) = figure.axes
        for lines, key in zip(axes.collections, ("single", "mc_dropout"), strict=True):
            ends = np.array(lines.get_segments())[:, :, 0].T
            np.testing.assert_allclose(ends, SHOWN.intervals[key])
        dots = axes.lines[0]
        np.testing.assert_array_equal(dots.get_xdata(), STRENGTHS)
        assert {text.get_text() for text in texts(figure)} >= {mix.name for mix in MIXES}
        named = [text for text in axes.texts if text.get_text() == "MC dropout"]
        assert [text.get_color() for text in named] == [color("mc_dropout")]
        assert dots.get_color() == INK


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (SHIFTED, "Not in the interval of MC dropout: cement and water."),
        (AROUND, "All six strengths lie in the intervals of MC dropout."),
    ],
)
def test_it_says_whom_the_intervals_miss(own, words):
    said = Mixes(MIXES, {"single": AROUND, "mc_dropout": own}).say()
    assert said == words
    assert not too_much(said)


def test_names_may_be_others():
    figure = drawn(
        Mixes(MIXES, {"single": AROUND, "rank1": AROUND}, {"rank1": "SWAG"}).draw, LOOKS[0]
    )
    assert {"one network", "SWAG"} <= {text.get_text() for text in texts(figure)}
