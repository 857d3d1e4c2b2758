"""Texts are as wide as they are drawn, and labels stand where they cover the least."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from ensedu.plot import places, texts
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
    assert texts.width(words, size, weight) == pytest.approx(drawn.width / 200, rel=0.03, abs=0.01)
    assert 0.95 <= texts.height(words, size) / (drawn.height / 200) < 1.25


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
    assert texts.wrapped(words, room) == expected


def test_a_word_without_room_is_broken():
    lines = texts.wrapped("of " + "n" * 20 + " or m", 1).split("\n")
    assert all(0 < texts.width(line) <= 1 for line in lines)
    assert "".join(lines).replace(" ", "") == "of" + "n" * 20 + "orm"
    assert lines[0] == "of" and len(lines) == 4
    assert texts.wrapped("MW", 0.01) == "M\nW"


def test_after_four_lines_the_rest_is_left_out():
    for words in ("a few words " * 30, "n" * 10_000):
        lines = texts.wrapped(words, 1).split("\n")
        assert len(lines) == 4 and lines[-1].endswith("…")
        assert all(texts.width(line) <= 1 for line in lines)
    assert texts.wrapped("one two three four", 0.01 + texts.width("three")).count("\n") == 3


def test_neighbors_stand_in_rows():
    words, centers = ["1,000"] * 5, [0.2, 0.5, 0.8, 1.1, 1.4]
    found = texts.rows(words, centers, 0.1, 1.6)
    half = texts.width("1,000") / 2
    for i, (x, row) in enumerate(found):
        assert 0.1 <= round(x - half, 9) and round(x + half, 9) <= 1.6
        for other, line in found[:i]:
            assert row != line or x - other >= 2 * half
    assert {row for _, row in found} == {0, 1, 2}
    assert texts.rows(["1", "2"], [0.2, 0.8], 0, 1) == [(0.2, 0), (0.8, 0)]


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
    assert texts.number(value) == expected


PANEL = np.zeros(2), np.full(2, 300.0)
ANCHOR, HALF = np.array([150.0, 150.0]), np.array([20.0, 6.0])


def place(lines=(), taken=(), anchor=ANCHOR):
    lines = np.reshape(np.array(lines, dtype=float), (-1, 2, 2))
    offset = places.free_place(anchor, HALF, PANEL, taken, lines, clear=9)
    return anchor + offset - HALF, anchor + offset + HALF


def test_a_label_stands_near_where_nothing_is():
    low, high = place()
    assert np.linalg.norm((low + high) / 2 - ANCHOR) < 30
    assert not ((low < ANCHOR + 8) & (high > ANCHOR - 8)).all()


def test_a_label_stays_in_the_panel():
    for anchor in ([2.0, 2.0], [298.0, 150.0], [150.0, 299.0]):
        low, high = place(anchor=np.array(anchor))
        assert (low >= 0).all() and (high <= 300).all()


def test_a_label_is_off_boxes_and_lines():
    # All of the left half is taken; a line runs through the right one, above the anchor.
    half = np.zeros(2), np.array([160.0, 300.0])
    line = [[160, 170], [300, 170]]
    low, high = place([line], [half])
    assert low[0] >= 160
    assert high[1] < 170  # not beyond it either: the leader would cross the line


def test_the_leader_of_a_label_crosses_no_line():
    wall = [[160, 140], [160, 160]]
    low, high = place([wall], [(np.zeros(2), np.array([155.0, 300.0]))])
    x, y = (low + high) / 2
    assert low[0] >= 155
    assert abs((y - 150) * (160 - 150) / (x - 150)) > 10


def test_an_axis_of_few_powers_of_ten_has_numbers_between_them():
    assert places.powers(0.9, 110, 100) == [1, 2, 5, 10, 20, 50, 100]
    assert places.powers(0.9, 1100, 1000) == [1, 10, 100, 1000]
    found = places.powers(11.1, 14.9, 1.2)
    assert 4 <= len(found) <= 8 and all(11.1 <= x <= 14.9 for x in found)
