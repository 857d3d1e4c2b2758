"""Differences with their intervals: where they stand, which are resolved, and what is at 0."""

import functools

import pytest

from ensedu.plot import effects
from ensedu.plot.style import INK, MARKERS, PAGE, PALETTE
from tests.plot.looks import LIGHT, drawn, readable, texts

NLL = {
    "a larger network": (-0.03, -0.011, 0.02),
    "deep_ensemble": (-0.09, -0.063, -0.03),
    "rank1": (0.01, 0.017, 0.05),
}
SCORES = {"NLL": NLL, "accuracy": {"deep_ensemble": (0.1, 0.43, 0.7)}}
LONG = "one network of as many parameters as four others have together, trained as long as they"


def words(figure):
    return [text.get_text() for text in texts(figure)]


def rows(axes):
    """Return the interval and the marker of each row, from top to bottom."""
    lines = [line for line in axes.lines if len(set(line.get_ydata())) == 1]
    lines.sort(key=lambda line: float(line.get_ydata()[0]))
    return list(zip(lines[::2], lines[1::2], strict=True))


@pytest.mark.parametrize("look", LIGHT)
def test_each_row_shows_its_interval_and_its_mean(look):
    draw = functools.partial(effects, SCORES, colors={"a larger network": "single"})
    figure = drawn(draw, look)
    for axes, table in zip(figure.axes, SCORES.values(), strict=True):
        found = rows(axes)
        assert len(found) == len(table)
        for (interval, mean), (name, (low, middle, high)) in zip(found, table.items(), strict=True):
            assert tuple(interval.get_xdata()) == (low, high)
            assert tuple(mean.get_xdata()) == (middle,)
            method = "single" if name == "a larger network" else name
            assert {interval.get_color(), mean.get_color()} == {PALETTE[method]}
            assert mean.get_marker() == MARKERS[method]
            hollow = low < 0 < high
            assert mean.get_markerfacecolor() == (PAGE if hollow else PALETTE[method])
    assert {"NLL", "accuracy", "\N{MINUS SIGN}0.011", "+0.43", "unclear"} <= set(words(figure))


@pytest.mark.parametrize("look", LIGHT)
def test_what_is_resolved_can_be_said(look):
    figure = drawn(lambda: effects({"NLL": NLL}, resolved={"NLL": ["rank1"]}), look)
    faces = [mean.get_markerfacecolor() for _, mean in rows(figure.axes[0])]
    assert faces == [PAGE, PAGE, PALETTE["rank1"]]
    figure = drawn(lambda: effects({"NLL": NLL}, resolved={}), look)
    assert {mean.get_markerfacecolor() for _, mean in rows(figure.axes[0])} == {PAGE}


@pytest.mark.parametrize("look", LIGHT)
def test_names_stand_at_the_height_of_their_rows(look):
    figure = drawn(lambda: effects({"NLL": NLL}), look)
    (axes,) = figure.axes
    found = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    labels = ["a larger network", "deep ensemble", "rank-1 BNN"]
    for (_, mean), label in zip(rows(axes), labels, strict=True):
        at = axes.transData.transform((0, mean.get_ydata()[0]))[1]
        box = found[label]
        assert abs(box.y0 + box.height / 2 - at) < 0.4 * figure.dpi
        if look.narrow:
            assert box.y0 > at


@pytest.mark.parametrize("look", LIGHT)
def test_a_level_stands_under_its_title(look):
    figure = drawn(lambda: effects(SCORES, levels={"accuracy": "one network: 97.2"}), look)
    found = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    assert found["accuracy"].y0 >= found["one network: 97.2"].y1 - 2


def test_an_axis_holds_zero_and_its_intervals_or_what_is_given():
    figure = effects({"NLL": {"a": (1.0, 2.0, 3.0)}, "b": {"a": (-5.0, -4.0, -3.0)}})
    for axes, (low, high) in zip(figure.axes, ((0, 3), (-5, 0)), strict=True):
        left, right = axes.get_xlim()
        assert left < low and right > high
    figure = effects(SCORES, xlim={"NLL": (-1, 2)})
    assert figure.axes[0].get_xlim() == (-1, 2)


def test_it_is_readable_in_every_look():
    readable(lambda: effects(SCORES))
    four = {title: NLL | {LONG: (0.0, 0.0, 0.0)} for title in ("NLL", LONG, "c", "d")}
    readable(lambda: effects(four, levels={"c": LONG}))


def test_names_that_are_no_methods_are_ink():
    assert rows(effects({"a": {"b": (0, 1, 2)}}).axes[0])[0][0].get_color() == INK


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (lambda: effects({}), ValueError, "columns must be a mapping of names to mappings"),
        (lambda: effects({"a": {"b": (1, 2)}}), ValueError, r"columns\['a'\]\['b'\]"),
        (lambda: effects({"a": {"b": (1, 3, 2)}}), ValueError, "must rise"),
        (lambda: effects(SCORES, resolved={"c": []}), ValueError, "resolved: a title"),
        (lambda: effects(SCORES, resolved={"NLL": "rank1"}), TypeError, "collection of names"),
        (lambda: effects(SCORES, resolved={"NLL": ["c"]}), ValueError, r"resolved\['NLL'\]"),
        (lambda: effects(SCORES, levels={"c": "d"}), ValueError, "levels: a title"),
        (lambda: effects(SCORES, levels={"NLL": 3}), TypeError, r"levels\['NLL'\]"),
        (lambda: effects(SCORES, xlim={"c": (0, 1)}), ValueError, "xlim: a title"),
        (lambda: effects(SCORES, xlim={"NLL": (1, 1)}), ValueError, "must rise"),
        (lambda: effects(SCORES, colors={"c": "rank1"}), ValueError, "colors must name"),
    ],
)
def test_bad_input(draw, error, words):
    with pytest.raises(error, match=words):
        draw()
