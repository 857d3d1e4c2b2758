"""Where texts, ticks and panels stand: as wide as they are drawn, round, and apart."""

import pytest

from tests.book.plot.looks import LIGHT
from workshop.plot import colored_cells, house_style, label_layout, panels, rendering
from workshop.plot.bars import _multiple_words
from workshop.plot.panels import (
    decimal,
    ends_room,
    name_curves,
    number,
    ticks,
)  # fmt: skip
from workshop.plot.text_layout import (
    number_in_words,
    wrapped,
)  # fmt: skip


@pytest.mark.parametrize("words, room, expected", [
    ("deep ensemble", 2, "deep ensemble"), ("deep ensemble", 1, "deep\nensemble"),
    ("a formula $x + y + z$ here", 0.8, "a formula\n$x + y + z$\nhere"), ("", 1, ""),
    ("MW", 0.01, "M\nW"), ("a few words " * 9, 0.8, "a few\nwords a\nfew words\na few…"),
])  # fmt: skip
def test_texts_are_broken_between_words(words, room, expected):
    assert wrapped(words, room) == expected


def signed(value):
    return decimal(value, 2, "+")


@pytest.mark.parametrize("write, value, expected", [
    (number_in_words, 0, "0"), (number_in_words, -0.25, "−0.25"), (number_in_words, 0.3, "0.3"),
    (number_in_words, 999999, "999,999"), (number_in_words, 1e6, "1 million"),
    (number_in_words, 2.5e9, "2.5 billion"), (number_in_words, -3e12, "−3 trillion"),
    (number_in_words, 1e15, "10¹⁵"), (number_in_words, 2.5e60, "2.5·10⁶⁰"),
    (number_in_words, -2e-7, "−2·10⁻⁷"), (number, -1.5, "−1.5"),
    (signed, -0.25, "−0.25"), (signed, 1234.5, "+1,234.50"), (signed, -0.004, "0.00"),
    (colored_cells.entry_text, -0.004, "0.00"),
    (colored_cells.entry_text, -1.236, "−1.24"), (colored_cells.scale_number, 12345.6, "12,346"),
    (colored_cells.scale_number, 0.00161, "0.0016"), (colored_cells.scale_number, -5.764, "−5.76"),
    (_multiple_words, 0, "0.00 ×"), (_multiple_words, 1, "1.00 ×"),
    (_multiple_words, 0.0042, "0.0042 ×"), (_multiple_words, 0.996, "0.9960 ×"),
    (_multiple_words, 150, "150.00 ×"), (_multiple_words, 12345.6, "12,346 ×"),
])  # fmt: skip
def test_numbers_in_few_letters(write, value, expected):
    assert write(value) == expected


def test_ticks_are_round_numbers_within_the_ends():
    assert ticks((-0.3, 1.2), 4) == {0.0: "0", 0.5: "0.5", 1.0: "1"}
    assert ticks((-4.6, 4.6), 5) == {-4: "−4", -2: "−2", 0: "0", 2: "2", 4: "4"}
    assert list(ticks((1, 3), 9, whole=True).values()) == ["1", "2", "3"]
    assert list(ticks((0.1, 0.3), 2)) == [0.1, 0.2, 0.3]
    assert label_layout.log_ticks(0.9, 110) == [1, 2, 5, 10, 20, 50, 100]
    assert label_layout.log_ticks(0.9, 1100) == [1, 10, 100, 1000]
    found = label_layout.log_ticks(11.1, 14.9)
    assert 4 <= len(found) <= 8 and all(11.1 <= x <= 14.9 for x in found)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("look", LIGHT)
def test_curves_are_named_where_they_end(look, scale):
    with rendering(look), house_style():
        figure, (axes,) = panels(1, height=2.0, right=ends_room(["rising"]))
        axes.plot([0, 5], [1, 3], color="C1", label="rising")
        axes.plot([0, 5], [2, 1], color="C2")
        axes.plot([0, 5], [2, 2], "o", label="points")
        axes.set(ylim=(1, 9), yscale=scale)
        name_curves(figure, axes)
    (name,) = figure.texts
    assert (name.get_text(), name.get_color()) == ("rising", "C1")
    box, (_, y) = axes.get_position(), name.get_position()
    part = {"linear": 1 / 4, "log": 1 / 2}[scale]
    assert y / figure.get_figheight() == pytest.approx(box.y0 + box.height * part)
