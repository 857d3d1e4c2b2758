"""The roof bounds what is under it, and its words cross nothing."""

from functools import cache

import numpy as np
import pytest

from ensedu import costs, plot
from ensedu.book import measured
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.errors import check_error
from tests.plot.looks import LIGHT, box, drawn, readable_figure, repeats, texts

LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])


def roof(flops=100e9, moved=20e9, **points):
    points = {"deep_ensemble": [("1", 0.5, 8e9), ("256", 85.0, 90e9)]} | points
    return plot.roofline(flops, moved, points)


def of_the_book(width=2048):
    """The passes that were measured on a processor."""
    found = measured.load("speed-cpu")
    one_pass = {(entry["m"], entry["B"]): entry["forward"] for entry in found["headline"]}
    formulas = {"deep_ensemble": costs.deep_ensemble, "batch_ensemble": costs.batch_ensemble}
    points = {
        method: [
            (str(batch), cost.intensity, cost.flops / one_pass[width, batch][method]["seconds"][1])
            for batch in (1, 8, 32, 256)
            for cost in [formula(width, width, ensemble_size=4, batch_size=batch)]
        ]
        for method, formula in formulas.items()
    }
    rates = found["roofline"]
    return plot.roofline(rates["flops_per_second"], rates["bytes_per_second"], points)


FIGURES = {
    "two passes": lambda: roof(),
    "of the book": lambda: of_the_book(),
    "all methods": lambda: roof(**{
        name: [(f"{batch}", batch / 2, 2e9 * (1 + i) * batch) for batch in (1, 8)]
        for i, name in enumerate(METHODS)
    }),
    "a slow machine": lambda: roof(1e6, 1e6, rank1=[("a batch of 3", 10, 2e5), ("x", 17, 3e5)]),
    "a fast machine": lambda: roof(1e15, 1e9, rank1=[("1", 0.01, 1e7), ("2", 1e7, 9e14)]),
    "all far right": lambda: plot.roofline(1e9, 1e9, {"rank1": [("1", 1e6, 1e8)]}),
    "all at one place": lambda: plot.roofline(1e9, 1e9, {
        name: [("7", 1.0, 1e9)] for name in list(METHODS)[:4]
    }),
    "a long name": lambda: roof(**{"a method of a name that nobody reads to its end": [
        ("1", 1000, 1e9), ("2", 1e4, 2e9), ("3", 1e4, 2.05e9)
    ]}),
}  # fmt: skip


@cache
def shown(name, look):
    """One of these figures, which tests only read."""
    return drawn(FIGURES[name], look)


@LOOKS
@pytest.mark.parametrize("name", FIGURES)
def test_rooflines_are_readable(name, look):
    readable_figure(shown(name, look), look)


@LOOKS
def test_roofline_bounds_what_is_under_it(look):
    figure = shown("two passes", look)
    (axes,) = figure.axes
    edge, passes = axes.lines[0], axes.lines[1]
    x, y = edge.get_data()
    np.testing.assert_allclose(y, np.minimum(100, 20 * x))
    assert x[1] == 100e9 / 20e9  # the ridge
    np.testing.assert_allclose(passes.get_data(), [[0.5, 85], [8, 90]])
    words = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert words == ["100 GFLOP/s: computing", "20 GB/s: moving", "1", "256"]
    names = {text.get_text(): text.get_color() for text in figure.texts}
    assert names["deep ensemble"] == style.PALETTE["deep_ensemble"]
    low, high = axes.get_xlim()
    assert low < 0.5 and 85 < high
    low, high = axes.get_ylim()
    assert low < 8 and 100 < high


@LOOKS
@pytest.mark.parametrize("name", FIGURES)
def test_words_of_the_roof_cross_neither_it_nor_the_axes(name, look):
    figure = shown(name, look)
    (axes,) = figure.axes
    edge = axes.transData.transform(axes.lines[0].get_xydata())
    for text in axes.texts[:2]:
        place = box(text)
        corners = [axes.bbox.contains(*corner) for corner in place.corners()]
        assert all(corners), text.get_text()
        # Above the roof over all its width.
        for x in (place.x0, place.x1):
            assert np.interp(x, edge[:, 0], edge[:, 1]) < place.y0 + 2
    flat, slope = map(box, axes.texts[:2])
    ridge, peak = edge[1]
    assert flat.y0 > peak
    assert slope.x1 < ridge and slope.y1 < peak + 2


@LOOKS
def test_words_of_passes_are_near_them_and_off_all_lines(look):
    figure = shown("of the book", look)
    (axes,) = figure.axes
    passes = np.concatenate([
        axes.transData.transform(line.get_xydata()) for line in axes.lines[1:]
    ])  # fmt: skip
    point = figure.dpi / 72
    places = [box(text) for text in axes.texts[2:]]
    assert len(places) == len(passes) == 8
    for place, at in zip(places, passes, strict=True):
        middle = (place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2
        assert np.hypot(*(at - middle)) < 32 * point
        markers = np.abs(passes - middle)
        half = np.array([place.width / 2 + 3 * point, place.height / 2])
        # No marker is covered; a line is taller than its letters.
        assert not (markers < half).all(axis=1).any()


def test_keys_name_each_line_once():
    figure = drawn(FIGURES["all methods"], LIGHT[1])
    shown = [text.get_text() for text in texts(figure)]
    for name in METHODS:
        assert shown.count(plot.LABELS[name]) == 1
    markers = [artist for artist in figure.artists if artist.get_marker() != ""]
    assert [m.get_marker() for m in markers] == [
        style.MARKERS[name] for name in ["deep_ensemble", *(k for k in METHODS if
                                                            k != "deep_ensemble")]
    ]  # fmt: skip


def test_same_input_same_bytes():
    repeats(roof)


FORMULA = r"$\frac$"  # that lacks its arguments
BAD = [
    (lambda: roof(0.0), ValueError, ("flops_per_second", "0.0")),
    (lambda: roof(moved=-1.0), ValueError, ("bytes_per_second", "-1.0")),
    (lambda: roof(rank1=[("1", -1.0, 2.0)]), ValueError, ("points['rank1'][0][1]", "-1.0")),
    (lambda: roof(rank1=[(1, 1.0, 2.0)]), TypeError, ("points['rank1'][0][0]", "1")),
    (lambda: roof(1e308), ValueError, ("flops_per_second", "1e+308", "below 1e+100")),
    (lambda: roof(rank1=[]), ValueError, ("points['rank1']", "at least one", "none")),
    (lambda: roof(rank1=3), TypeError, ("points['rank1']", "3", "at least one")),
    (lambda: roof(rank1=[("a", 1.0)]), TypeError, ("points['rank1'][0]", "('a', 1.0)")),
    (lambda: roof(rank1=[(FORMULA, 1.0, 2.0)]), ValueError, ("points['rank1'][0][0]", "formula")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
