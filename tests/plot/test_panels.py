"""Panels stand where they are told to, side by side or stacked, and nothing in them touches."""

import itertools

import numpy as np
import pytest

from ensedu.plot import house_style, panels, rendering
from ensedu.plot.panels import (
    axis_ends,
    cut_to_lines,
    decimal,
    ends_room,
    middles_apart,
    name_curves,
    number,
    ticks,
)
from ensedu.plot.style import Figure
from ensedu.plot.text_layout import text_width
from tests.plot.looks import LIGHT, readable

WIDE, NARROW = LIGHT


def boxes(look, *arguments, **options):
    with rendering(look):
        figure, axes = panels(*arguments, **options)
    wide, high = figure.get_size_inches()
    return figure, [ax.get_position().bounds * np.array([wide, high, wide, high]) for ax in axes]


def test_wide_panels_stand_side_by_side_and_narrow_ones_below_each_other():
    for count in (1, 2, 3):
        figure, found = boxes(WIDE, count, height=1.7)
        assert isinstance(figure, Figure) and figure.get_figwidth() == 7.2
        assert len({round(y, 6) for _, y, _, _ in found}) == 1
        figure, found = boxes(NARROW, count, height=1.7)
        assert figure.get_figwidth() == 4
        assert len({round(x, 6) for x, _, _, _ in found}) == 1
        np.testing.assert_allclose([h for *_, h in found], 1.7)


@pytest.mark.parametrize(
    ("columns", "count", "wide", "narrow"),
    [(None, 4, 2, 1), (None, 7, 3, 1), (5, 7, 5, 1), ((4, 2), 4, 4, 2), ((4, 2), 3, 3, 2)],
)
def test_so_many_columns_as_are_asked_for(columns, count, wide, narrow):
    for look, across in ((WIDE, wide), (NARROW, narrow)):
        _, found = boxes(look, count, height=1.0, columns=columns, left=0.3, right=0.1)
        assert len({round(x, 6) for x, *_ in found}) == across
        for one, other in itertools.pairwise(found):
            beside = other[0] >= one[0] + one[2] + 0.3 - 1e-9
            below = other[1] + other[3] <= one[1] - 0.36 + 1e-9
            assert beside or below


def test_the_room_around_panels_is_what_was_asked_for():
    around = {"left": 0.31, "right": 0.17, "above": 0.23, "below": 0.53, "top": 0.71}
    figure, found = boxes(NARROW, 2, height=1.3, **around)
    (x, y, w, h), (_, low, _, _) = found
    assert (x, 4 - x - w) == (pytest.approx(0.31), pytest.approx(0.17))
    assert figure.get_figheight() - y - h == pytest.approx(0.71 + 0.23)
    assert y - low - 1.3 == pytest.approx(0.23 + 0.53)
    assert low == pytest.approx(0.53)


def test_shared_axes_are_labeled_once_and_stand_closer():
    def draw(count=5):
        with house_style():
            figure, found = panels(count, height=1.5, columns=3, sharex=True, sharey=True)
            for axes in found:
                axes.set(xlabel="x", ylabel="y", title="a title")
            found[-1].set(xlim=(-3, 7), ylim=(2, 5))
        return figure

    readable(draw)
    figure = draw()
    assert {axes.get_xlim() for axes in figure.axes} == {(-3, 7)}
    assert {axes.get_ylim() for axes in figure.axes} == {(2, 5)}
    # The third has none below it: it shows its own labels.
    assert [axes.xaxis.label.get_visible() for axes in figure.axes] == [0, 0, 1, 1, 1]
    assert [axes.yaxis.label.get_visible() for axes in figure.axes] == [1, 0, 0, 1, 0]
    shared, apart = (
        boxes(NARROW, 3, height=1.0, sharex=share)[0].get_figheight() for share in (True, False)
    )
    assert shared < apart - 1


def test_words_are_broken_or_cut_to_their_room():
    words = "one network of equal parameters"
    assert cut_to_lines(words, 9.0) == words
    assert cut_to_lines(words, 1.35) == "one network of\nequal parameters"
    cut = cut_to_lines("x" * 1_000, 1.0, 3)
    assert cut.count("\n") == 2 and cut.endswith("…")
    for room, most in itertools.product((0.4, 0.7, 1.1, 1.9), (1, 2, 3)):
        found = cut_to_lines(words, room, most, 12, "bold")
        assert text_width(found, 12, "bold") <= room and 1 + found.count("\n") <= most
        letters = found.removesuffix("…").replace("\n", "").replace(" ", "")
        assert words.replace(" ", "").startswith(letters)
    assert cut_to_lines("$a^b$ and more", 0.1) == "$a^b$ and more"


def test_ticks_are_round_numbers_within_the_ends():
    assert ticks((-0.3, 1.2), 4) == {0.0: "0", 0.5: "0.5", 1.0: "1"}
    assert ticks((-4.6, 4.6), 5) == {-4: "−4", -2: "−2", 0: "0", 2: "2", 4: "4"}
    assert list(ticks((1, 3), 9, whole=True).values()) == ["1", "2", "3"]
    assert list(ticks((0.1, 0.3), 2)) == [0.1, 0.2, 0.3]
    assert number(-1.5) == "−1.5"
    assert decimal(-0.25, 2, "+") == "−0.25" and decimal(1234.5, 1, "+") == "+1,234.5"
    assert decimal(-0.004, 2, "+") == decimal(0.004, 2, "+") == "0.00"


@pytest.mark.parametrize("look", LIGHT)
def test_curves_are_named_where_they_end(look):
    with rendering(look), house_style():
        figure, (axes,) = panels(1, height=2.0, right=ends_room(["rising"]))
        axes.plot([0, 5], [0, 3], color="C1", label="rising")
        axes.plot([0, 5], [2, 1], color="C2")
        axes.plot([0, 5], [2, 2], "o", label="points")
        axes.set(ylim=(0, 4))
        name_curves(figure, axes)
    (name,) = figure.texts
    assert (name.get_text(), name.get_color()) == ("rising", "C1")
    box, (_, y) = axes.get_position(), name.get_position()
    assert y / figure.get_figheight() == pytest.approx(box.y0 + box.height * 3 / 4)


def test_labels_move_apart_no_further_than_they_must():
    assert middles_apart([1.0, 5.0], [1, 1], (0, 9)) == [1.0, 5.0]
    np.testing.assert_allclose(middles_apart([4.0, 3.9], [1, 1], (0, 9)), [4.45, 3.45])
    np.testing.assert_allclose(middles_apart([0.0, 0.1, 8.9], [1, 2, 1], (0, 9)), [0.5, 2.0, 8.5])
    rng = np.random.default_rng(0)
    for _ in range(50):
        places, sizes = rng.uniform(0, 10, 7), rng.uniform(0.3, 1.2, 7)
        found = np.array(middles_apart(places.tolist(), sizes.tolist(), (0.0, 10.0)))
        order = np.argsort(places)
        low, high = (found - sizes / 2)[order], (found + sizes / 2)[order]
        assert (low[1:] >= high[:-1] - 1e-9).all()
        assert low[0] >= -1e-9 and high[-1] <= 10 + 1e-9


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: panels(0, height=1), ValueError, "count must be a positive integer"),
        (lambda: panels(101, height=1), ValueError, "count must be .* up to 100, got 101"),
        (lambda: panels(2, height=0), ValueError, "height must be a finite number above"),
        (lambda: panels(2, height=1, left=-1), ValueError, "left must be 0 or more"),
        (lambda: panels(2, height=1, top=50), ValueError, "top must be below 50 inches"),
        (
            lambda: panels(9, height=1, columns=9),
            ValueError,
            "columns must leave each panel 0.4 inches .* got 9 columns, which leave -0.",
        ),
        (lambda: panels(2, height=1, columns=(2,)), ValueError, "columns must be"),
        (lambda: panels(2, height=1, sharex=1), TypeError, "sharex must be True or False"),
        (lambda: axis_ends("ylim", (3, 3)), ValueError, r"ylim must rise, got \(3, 3\)"),
        (lambda: axis_ends("ylim", 3), TypeError, "ylim must be a sequence of 2 finite numbers"),
    ],
)
def test_bad_input(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
