"""Texts are as wide as they are drawn, broken between words, and apart from each other."""

import pytest
from matplotlib.figure import Figure

from ensedu.plot import text_layout
from ensedu.plot.style import house_style


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize("size", [11, 12])
@pytest.mark.parametrize(
    "words", ["member 7", "4·(50 + 50)", "$x + y$ is a formula", "two\nlines, one longer", "MMM"]
)
def test_texts_are_as_wide_as_they_are_drawn(words, size, weight):
    with house_style():
        figure = Figure(dpi=200)
        text = figure.text(0, 0, words, fontsize=size, weight=weight)
        drawn = text.get_window_extent()
    assert text_layout.text_width(words, size, weight) == pytest.approx(
        drawn.width / 200, rel=0.03, abs=0.01
    )
    assert 0.95 <= text_layout.text_height(words, size) / (drawn.height / 200) < 1.25


@pytest.mark.parametrize(
    "words, room, expected",
    [
        ("deep ensemble", 2, "deep ensemble"),
        ("deep ensemble", 1, "deep\nensemble"),
        ("a formula $x + y + z$ here", 0.8, "a formula\n$x + y + z$\nhere"),
        ("", 1, ""),
    ],
)
def test_texts_are_broken_between_words(words, room, expected):
    assert text_layout.wrapped(words, room) == expected


def test_a_word_without_room_is_broken():
    lines = text_layout.wrapped("of " + "n" * 20 + " or m", 1).split("\n")
    assert all(0 < text_layout.text_width(line) <= 1 for line in lines)
    assert "".join(lines).replace(" ", "") == "of" + "n" * 20 + "orm"
    assert lines[0] == "of" and len(lines) == 4
    assert text_layout.wrapped("MW", 0.01) == "M\nW"


def test_after_four_lines_the_rest_is_left_out():
    for words in ("a few words " * 30, "n" * 1_000):
        lines = text_layout.wrapped(words, 1).split("\n")
        assert len(lines) == 4 and lines[-1].endswith("…")
        assert all(text_layout.text_width(line) <= 1 for line in lines)
    assert (
        text_layout.wrapped("one two three four", 0.01 + text_layout.text_width("three")).count(
            "\n"
        )
        == 3
    )


def test_neighbors_stand_in_rows():
    words, centers = ["100,000"] * 5, [0.2, 0.5, 0.8, 1.1, 1.4]
    found = text_layout.rows_of_texts(words, centers, 0.1, 1.6)
    half = text_layout.text_width("100,000") / 2
    for i, (x, row) in enumerate(found):
        assert 0.1 <= round(x - half, 9) and round(x + half, 9) <= 1.6
        for other, line in found[:i]:
            assert row != line or x - other >= 2 * half
    assert {row for _, row in found} == {0, 1, 2}
    assert text_layout.rows_of_texts(["1", "2"], [0.2, 0.8], 0, 1) == [(0.2, 0), (0.8, 0)]


@pytest.mark.parametrize(
    "value, expected",
    [
        (0, "0"),
        (7, "7"),
        (-0.25, "−0.25"),
        (12.5, "12.5"),
        (0.1 + 0.2, "0.3"),
        (12345, "12,345"),
        (999999, "999,999"),
        (1e6, "1 million"),
        (2.5e9, "2.5 billion"),
        (-3e12, "−3 trillion"),
        (1e15, "10¹⁵"),
        (2.5e60, "2.5·10⁶⁰"),
        (1e-5, "10⁻⁵"),
        (-2e-7, "−2·10⁻⁷"),
    ],
)
def test_numbers_in_few_letters(value, expected):
    assert text_layout.number_in_words(value) == expected
