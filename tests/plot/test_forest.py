"""A forest plot: who stands where, what leaves the axis, what is a word, and what is hollow."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ensedu.methods import METHODS
from ensedu.plot import PooledEffect, forest
from ensedu.plot.panels import KEPT, POINTED
from ensedu.plot.renderings import COLOR, renderings
from ensedu.plot.style import DARK, GRID, INK, MARKERS, MUTED, PAGE, PALETTE, SHARED
from tests.errors import check_error
from tests.plot.looks import LIGHT, box, drawn, limits, readable, texts

LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])
ROWS = {
    "rank1": PooledEffect((0.3, 0.6, 0.9), [0.1, 0.6, 1.1], "worse"),
    "a larger network": PooledEffect(
        (-0.2, 0.0, 0.2), np.array([-0.1, 0.05, 0.05, 0.0]), "practically equal", "single"
    ),
    "deep_ensemble": PooledEffect((-2.0, -0.8, -0.4), [-3.0, -0.4, 1.0], "better"),
    "boosting": PooledEffect((-1.9, -0.1, 1.7), [-3.0, -3.0, 0.5, 3.0], "unclear"),
}  # fmt: skip
ORDER = ("deep_ensemble", "boosting", "a larger network", "rank1")
WORDS = [row.word for row in ROWS.values()]
LABELS = ("deep ensemble", "boosting", "a larger network", "rank-1 BNN")
XLABEL = "1 = how much one network's own result varies with its data and its seed"


def draw(rows=ROWS, **change):
    return forest(rows, **{"xlabel": XLABEL} | change)


def words(figure):
    return [text.get_text() for text in texts(figure)]


def lanes(axes):
    """Return of each row, from top to bottom, the lines of its upper lane and of its lower one."""
    found = {}
    for line in axes.lines:
        heights = {float(y) for y in line.get_ydata()}
        if len(heights) == 1:
            found.setdefault(heights.pop(), []).append(line)
    rows = [found[y] for y in sorted(found)]
    return list(zip(rows[::2], rows[1::2], strict=True))


def heads(lines, marker):
    """Return where arrowheads that point this way stand."""
    return [float(x) for line in lines if line.get_marker() == marker for x in line.get_xdata()]


@LOOKS
def test_rows_show_their_interval_best_first(look):
    (axes,) = drawn(draw, look).axes
    found = lanes(axes)
    assert len(found) == len(ROWS)
    for (upper, lower), name in zip(found, ORDER, strict=True):
        row = ROWS[name]
        method = row.method or name
        interval, middle, *_ = upper
        assert tuple(interval.get_xdata()) == (row.interval[0], row.interval[2])
        assert tuple(middle.get_xdata()) == (row.interval[1],)
        own = PALETTE.get(method, SHARED)
        assert {line.get_color() for line in upper + lower} == {own}
        assert middle.get_marker() == MARKERS.get(method, "o")
        assert middle.get_markerfacecolor() == (PAGE if row.word == "unclear" else own)
        assert lower[0].get_alpha() < 1
        inside = [x for x in row.sources if axes.get_xlim()[0] < x < axes.get_xlim()[1]]
        np.testing.assert_array_equal(lower[0].get_xdata(), inside)


@LOOKS
def test_each_row_says_its_numbers_where_it_stands(look):
    figure = drawn(draw, look)
    bands = [artist for artist in figure.artists if artist.get_gid() == POINTED]
    assert [band.get_label().split("\n")[0] for band in bands] == [
        f"{name}: {ROWS[key].word}" for key, name in zip(ORDER, LABELS, strict=True)
    ]
    assert bands[0].get_label().split("\n")[1:] == [
        "middle −0.80 (−2.00 to −0.40)", "lower on 2 of 3 data sets",
    ]  # fmt: skip
    assert not any(band.get_visible() for band in bands)
    (axes,) = figure.axes
    boxes = [band.get_window_extent() for band in bands]
    for box_of_row, (upper, lower) in zip(boxes, lanes(axes), strict=True):
        for line in (*upper, *lower):
            (x, y), *_ = axes.transData.transform([(0, line.get_ydata()[0])])
            assert box_of_row.x0 < x < box_of_row.x1 and box_of_row.y0 < y < box_of_row.y1
    for one, other in pairwise(boxes):
        assert one.y0 == pytest.approx(other.y1)
    alone = {"boosting": replace(ROWS["boosting"], sources=[0.4])}
    (band,) = [part for part in drawn(lambda: draw(alone), look).artists if part.get_gid()]
    assert band.get_label().endswith("\nthis data set: 0.40")


@LOOKS
@pytest.mark.parametrize("called", ["one network", "one network of as many parameters"])
def test_both_ways_have_a_word_and_zero_a_name(look, called):
    figure = drawn(lambda: draw(reference=called), look)
    (axes,) = figure.axes
    found = {text.get_text(): text.get_window_extent() for text in texts(figure)}
    assert found["← better"].x0 == pytest.approx(axes.bbox.x0, abs=3)
    assert found["worse →"].x1 == pytest.approx(axes.bbox.x1, abs=3)
    zero = axes.transData.transform((0, 0))[0]
    name = found[called]
    assert (name.x0 + name.x1) / 2 == pytest.approx(zero, abs=3) and name.y0 > axes.bbox.y1
    # It stands between both ways, or below them where it has no room there.
    below = look.narrow and called != "one network"
    assert (name.y1 < found["← better"].y0) == below
    assert below or found["← better"].x1 < name.x0 < name.x1 < found["worse →"].x0
    assert [tuple(line.get_xdata()) for line in axes.lines].count((0, 0)) == 1
    assert XLABEL in " ".join(words(figure)).replace("\n", " ")


@LOOKS
@pytest.mark.parametrize("k", [7, 8])
def test_a_long_plot_has_its_numbers_above_and_below(look, k):
    rows = {f"rival {i}": ROWS["boosting"] for i in range(k)}
    figure = drawn(lambda: draw(rows), look)
    (axes,) = figure.axes
    shown = [
        {tick.get_text() for tick in ticks if tick.get_visible()}
        for ticks in ([tick.label2 for tick in axes.xaxis.get_major_ticks()],
                      [tick.label1 for tick in axes.xaxis.get_major_ticks()])
    ]  # fmt: skip
    assert "0" in shown[1] and shown[0] == (shown[1] if k == 8 else set())
    name = next(text for text in texts(figure) if text.get_text() == "one network")
    assert name.get_window_extent().y0 > axes.bbox.y1 + 15 * (k == 8)
    # They stay in sight, with what says which way is better, and no row does.
    kept = [band.get_window_extent() for band in figure.artists if band.get_gid() == KEPT]
    assert len(kept) == (k == 8)
    for band in kept:
        ways = next(box(text) for text in texts(figure) if text.get_text() == "← better")
        assert band.y0 == pytest.approx(axes.bbox.y1) and ways.y1 < band.y1
        assert (band.x0, band.x1) == pytest.approx((figure.bbox.x0, figure.bbox.x1))


def test_words_of_other_figures_have_their_room():
    rows = {"deep_ensemble": ROWS["deep_ensemble"]}
    alone, beside, all_of_them = (
        drawn(lambda rows=rows, said=said: draw(rows, xlim=(-1, 1), words=said), LIGHT[0])
        for rows, said in ((rows, ()), (rows, WORDS), (ROWS, ()))
    )
    right = [figure.axes[0].bbox.x1 for figure in (alone, beside, all_of_them)]
    assert right[0] > right[1] == pytest.approx(right[2])


@LOOKS
def test_fewer_rows_may_have_room_for_more(look):
    """Then what stays in sight, and each row, is where it is among more."""
    whole, fewer = (
        drawn(lambda rows=rows: draw(rows, places=4, words=WORDS, xlim=(-4, 4)), look)
        for rows in (ROWS, {name: ROWS[name] for name in ORDER[:3]})
    )
    assert whole.get_size_inches().tolist() == fewer.get_size_inches().tolist()
    tops = [[line.get_ydata()[0] for line, *_ in map(lambda lane: lane[0], lanes(f.axes[0]))]
            for f in (whole, fewer)]  # fmt: skip
    assert tops[0][:3] == tops[1]


def test_a_dot_of_its_own_is_larger_and_not_faint():
    rows = {name: replace(row, sources=row.sources[:1]) for name, row in ROWS.items()}
    several, alone = (drawn(lambda rows=rows: draw(rows), LIGHT[0]) for rows in (ROWS, rows))
    (one, *_), (other, *_) = (lanes(figure.axes[0])[0][1] for figure in (several, alone))
    assert one.get_markersize() < other.get_markersize()
    assert other.get_alpha() is None and other.get_markeredgecolor() == PAGE


@LOOKS
def test_a_band_says_below_it_what_is_practically_equal(look):
    rows = {name: row for name, row in ROWS.items() if row.word != "practically equal"}
    figure = drawn(lambda: draw(rows), look)
    (axes,) = figure.axes
    (band,) = axes.patches
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((-0.25, 0.25))
    (equal,) = (box(text) for text in texts(figure) if text.get_text() == "practically equal")
    zero = axes.transData.transform((0, 0))[0]
    assert (equal.x0 + equal.x1) / 2 == pytest.approx(zero, abs=3)
    assert axes.bbox.y0 < equal.y0 and equal.y1 < band.get_window_extent().y0 + 3


@LOOKS
def test_a_key_above_the_plot_says_what_its_marks_mean(look):
    figure = drawn(draw, look)
    (axes,) = figure.axes
    (upper, lower), *_ = lanes(axes)
    interval, middle, *_ = upper
    better = next(box(text) for text in texts(figure) if text.get_text() == "← better")
    samples = figure.artists
    middles = [(line.get_window_extent().y0 + line.get_window_extent().y1) / 2 for line in samples]
    key = {
        text.get_text(): (box(text), line)
        for line, y in zip(samples, middles, strict=True)
        for text in texts(figure)
        if box(text).y0 < y < box(text).y1
        and 0 < box(text).x0 - line.get_window_extent().x1 < 0.2 * figure.dpi
    }
    assert [*key] == [
        "middle of the dots, and its interval", "each data set", "further out",
    ]  # fmt: skip
    assert all(better.y1 < words.y0 and better.y1 < line.get_window_extent().y0
               for words, line in key.values())  # fmt: skip
    (_, mark), (_, dot), (_, out) = key.values()
    assert out.get_marker() == "<" and out.get_linestyle() == "None"
    assert mark.get_marker() == "o" and mark.get_linewidth() == interval.get_linewidth()
    assert dot.get_linestyle() == "None" and dot.get_markersize() == lower[0].get_markersize()
    assert middle.get_markersize() > dot.get_markersize()


@LOOKS
def test_a_key_calls_a_dot_of_its_own_this_one(look):
    rows = {name: replace(row, sources=[0.5]) for name, row in ROWS.items()}
    assert "this data set" in words(drawn(lambda: draw(rows), look))
    assert "each data set" not in words(drawn(lambda: draw(rows), look))


@LOOKS
def test_names_and_words_stand_at_their_rows(look):
    figure = drawn(draw, look)
    (axes,) = figure.axes
    said = [text for text in texts(figure) if text.get_text() in {r.word for r in ROWS.values()}]
    said.sort(key=lambda text: -text.get_window_extent().y0)
    said = said[: len(ROWS)]  # below all, the band has one, too
    assert [text.get_text() for text in said] == [ROWS[name].word for name in ORDER]
    named = {text.get_text(): text for text in texts(figure)}
    for (upper, _), name, word, key in zip(lanes(axes), LABELS, said, ORDER, strict=True):
        high = axes.transData.transform((0, upper[0].get_ydata()[0]))[1]
        for text in (named[name], word):
            place = box(text)
            if look.narrow:  # above the row, no farther than its own height
                assert high + 8 < place.y0 < high + 0.3 * figure.dpi
            else:
                assert (place.y0 + place.y1) / 2 == pytest.approx(high, abs=2)
        assert named[name].get_window_extent().x1 < word.get_window_extent().x0
        assert named[name].get_color() == PALETTE.get(ROWS[key].method or key, MUTED)
        unclear = word.get_text() == "unclear"
        assert (word.get_color(), word.get_weight()) == (
            (SHARED, "normal") if unclear else (INK, "bold")
        )


@LOOKS
def test_what_leaves_the_axis_is_an_arrowhead_with_its_number(look):
    ends = (-1.5, 3.0)
    figure = drawn(lambda: draw(xlim=ends), look)
    (axes,) = figure.axes
    assert axes.get_xlim() == ends
    each = {name: row for name, row in zip(ORDER, lanes(axes), strict=True)}
    for name, marker, upper, lower in (
        ("boosting", "<", 1, 2), ("boosting", ">", 0, 1), ("deep_ensemble", "<", 1, 1),
        ("deep_ensemble", ">", 0, 0), ("rank1", "<", 0, 0), ("rank1", ">", 0, 0),
    ):  # fmt: skip
        for lines, number in zip(each[name], (upper, lower), strict=True):
            end = ends[0] if marker == "<" else ends[1]
            assert heads(lines, marker) == [end] * (number > 0)
    # Two dots of boosting, and nothing else that is several.
    (number,) = axes.texts
    assert number.get_text() == "2"
    # It stands beside its arrowhead, outside the axis: no dot comes there.
    assert box(number).x1 < axes.bbox.x0 - 3 * figure.dpi / 72
    assert "further out" in words(figure)
    # Nothing leaves these, but the first has the axis of others.
    inside = {name: replace(row, sources=[0.0]) for name, row in ROWS.items()}
    for ends, told in ((-4, 4), True), (None, False):
        figure = drawn(lambda ends=ends: draw(inside, xlim=ends), look)
        rows = lanes(figure.axes[0])
        assert not any(heads(both, m) for row in rows for both in row for m in "<>")
        assert ("further out" in words(figure)) == told


@LOOKS
def test_both_ends_of_an_axis_are_numbers(look):
    figure = drawn(lambda: draw(xlim=(-3, 3)), look)
    shown = [tick.label1.get_text() for tick in figure.axes[0].xaxis.get_major_ticks()]
    assert (shown[0], shown[-1]) == ("−3", "3")


def test_the_axis_holds_all_intervals_and_not_all_dots():
    low, high = draw().axes[0].get_xlim()
    assert -3 < low < -2.0 and 1.7 < high < 3
    one = {"a": PooledEffect((0.01, 0.02, 0.03), [0.01, 0.03], "worse by little")}
    low, high = draw(one).axes[0].get_xlim()
    assert low < -0.25 and high > 0.25


def test_frames_share_a_given_axis():
    fewer = {name: ROWS[name] for name in ORDER[:2]}
    for look in LIGHT:
        one, other = (drawn(lambda rows=rows: draw(rows, xlim=(-4, 4)), look)
                      for rows in (ROWS, fewer))  # fmt: skip
        assert limits(one)[0][0][0] == limits(other)[0][0][0] == (-4, 4)


def test_it_is_readable_in_every_look():
    readable(draw)
    readable(lambda: draw(xlim=(-1.5, 3.0)))
    long = "one network of as many parameters as four others have together, trained as long as they"
    effect = ROWS["rank1"]
    readable(lambda: draw(dict.fromkeys((*METHODS, long), effect)))
    far = PooledEffect((4.0, 5.0, 6.0), [4.0, 6.0], "worse by little")
    readable(lambda: draw({long: far}))
    readable(lambda: draw({long: far}, reference=long, xlabel=long))


def test_every_color_has_one_for_dark_pages():
    found = {color for one in renderings(draw).values() for color in COLOR.findall(one.svg)}
    assert found >= {INK, MUTED, GRID, PAGE, PALETTE["rank1"]}
    assert found <= {*DARK, *DARK.values()}


def effect(**change):
    given = {"interval": (1, 2, 3), "sources": [1, 3], "word": "worse"}
    return lambda: PooledEffect(**given | change)


def ask(**change):
    return lambda: draw(**change)


BAD = [
    (effect(interval=(1, 3, 2)), ValueError, ("interval", "rise", "(1, 3, 2)")),
    (effect(interval=(1, 2)), ValueError, ("interval", "3 finite", "(2,)")),
    (effect(sources=[]), ValueError, ("sources", "at least one", "(0,)")),
    (effect(sources=[1.0, float("nan")]), ValueError, ("sources[1]", "nan")),
    (effect(word=3), TypeError, ("word", "string", "3")),
    (effect(method="red"), ValueError, ("method", "'rank1'", "'red'")),
    (ask(rows={}), ValueError, ("effects", "at least one", "{}")),
    (ask(rows={"a": (1, 2, 3)}), TypeError, ("effects['a']", "PooledEffect", "(1, 2, 3)")),
    (ask(xlabel=3), TypeError, ("xlabel", "3")),
    (ask(reference=None), TypeError, ("reference", "None")),
    (ask(words=["better", 3]), TypeError, ("words[1]", "3")),
    (ask(xlim=(1, -1)), ValueError, ("xlim", "rise", "(1, -1)")),
    (ask(xlim=(-0.8, 1)), ValueError, ("xlim", "-0.8 to 0.6", "-0.8 to 1")),
    (ask(xlim=(-1, 0.6)), ValueError, ("xlim", "-0.8 to 0.6", "-1 to 0.6")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
