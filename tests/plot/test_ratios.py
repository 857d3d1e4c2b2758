"""Ratios stand where they were measured, on an axis that frames of a slider share."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.errors import check_error
from tests.plot.looks import LIGHT, box, drawn, limits, readable

LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])
OURS = {"ours": "batch_ensemble"}


def measured(colors=OURS, xlim=None, **rows):
    rows = {"ours": (1.01, 1.05, 1.2), "rank1": (2.0, 2.0, 2.0)} | rows
    return plot.ratios(rows, xlabel="time", reference="best", colors=colors, xlim=xlim)


PACKAGES = {
    "ensedu": (1.5, 1.52, 1.6),
    "ensedu, saving memory": (1.8, 1.9, 1.95),
    "torch-uncertainty": (4, 4.1, 4.3),
    "loop over members": (3.8, 3.9, 4.3),
    "torch.func.vmap": (12, 13, 14),
}


def packages(**rows):
    return plot.ratios(PACKAGES | rows, xlabel="time over nn.Linear", reference="nn.Linear")


FIGURES = {
    "two rows": lambda: measured(),
    "far apart": lambda: measured(**{"a package of a long name": (40, 200, 1000)}),
    "faster": lambda: measured(**{"slow": (0.2, 0.25, 0.5)}),
    "packages": lambda: packages(),
    "all methods": lambda: plot.ratios(
        {name: (0.9, 1.0, 1.1) for name in METHODS}, xlabel="time", reference="a single network"
    ),
    "long names": lambda: packages(
        **{"a package of a name that nobody reads up to its end": (1, 2, 3), "x" * 90: (2, 3, 5)}
    ),
    "long labels": lambda: plot.ratios(
        {"a": (1, 1, 1)},
        xlabel="time over that of a network with as many members as devices, by the clock",
        reference="a reference of many words that stands at the left end",
    ),
    "at the right end": lambda: plot.ratios(
        {"a": (1e-4, 2e-4, 4e-4)}, xlabel="time", reference="a reference of many words"
    ),
    "large": lambda: plot.ratios({"a": (1e5, 2e8, 4e40)}, xlabel="time", reference="one"),
    "close": lambda: plot.ratios({"a": (1.001, 1.002, 1.003)}, xlabel="time", reference="one"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_ratios_are_readable(name):
    readable(FIGURES[name])


@LOOKS
def test_ratios_stand_where_they_were_measured(look):
    (axes,) = drawn(measured, look).axes
    lines = [list(line.get_xdata()) for line in axes.lines]
    assert lines == [[1.01, 1.2], [1.05], [2.0, 2.0], [2.0]]
    words = [text.get_text() for text in axes.texts]
    assert words == ["best", "1.05", "ours", "2.00", style.LABELS["rank1"]]
    assert axes.lines[1].get_color() == style.PALETTE["batch_ensemble"]
    assert axes.lines[1].get_marker() == style.MARKERS["batch_ensemble"]
    weights = {text.get_text(): text.get_weight() for text in axes.texts}
    assert (weights["ours"], weights[style.LABELS["rank1"]]) == ("bold", "normal")
    low, high = axes.get_xlim()
    assert low < 1 < 2 < high
    # From top to bottom, as they were given.
    assert axes.lines[1].get_ydata()[0] < axes.lines[3].get_ydata()[0]
    assert axes.yaxis_inverted()


@LOOKS
def test_a_line_stands_at_1(look):
    (axes,) = drawn(measured, look).axes
    lines = [c for c in axes.collections if isinstance(c, LineCollection) and c.get_lw()[0] > 1]
    assert len(lines) == 2  # one a row
    assert {x for line in lines for x, _ in np.concatenate(line.get_segments())} == {1.0}


@LOOKS
def test_each_row_has_its_value_at_its_height_and_its_name_beside_or_above(look):
    figure = drawn(packages, look)
    (axes,) = figure.axes
    texts = {text.get_text().replace("\n", " "): box(text) for text in axes.texts}
    values = ["1.52", "1.90", "4.10", "3.90", "13"]
    before = figure.bbox.y1
    for name, value, line in zip(PACKAGES, values, axes.lines[::2], strict=True):
        y = axes.transData.transform(line.get_xydata())[0, 1]
        assert texts[value].x0 > axes.bbox.x1
        assert texts[value].y0 < y < texts[value].y1
        if look.narrow:
            assert y < texts[name].y0 < texts[name].y1 < before
        else:
            assert texts[name].x1 < axes.bbox.x0
            assert texts[name].y0 < y < texts[name].y1
        before = y


def test_no_line_crosses_a_name():
    figure = drawn(packages, LIGHT[1])
    (axes,) = figure.axes
    names = [box(text) for text in axes.texts if text.get_text() in PACKAGES]
    assert len(names) == len(PACKAGES)
    lines = [c for c in axes.collections if isinstance(c, LineCollection)]
    assert len(lines) == 2 * len(PACKAGES)
    for collection in lines:
        for segment in collection.get_segments():
            (x, y0), (_, y1) = sorted(axes.transData.transform(segment), key=lambda p: p[1])
            for name in names:
                # A line is taller than its letters.
                assert not (name.x0 < x < name.x1 and y0 < name.y1 - 6 and y1 > name.y0 + 6)


@LOOKS
def test_frames_of_a_slider_have_the_same_axis(look):
    def frame(factor):
        rows = {name: np.multiply(three, factor) for name, three in PACKAGES.items()}
        return plot.ratios(rows, xlabel="time", reference="one", xlim=(0.5, 300))

    frames = [drawn(lambda factor=factor: frame(factor), look) for factor in (0.5, 1, 20)]
    for figure in frames:
        assert limits(figure) == limits(frames[0])
        (axes,), (first,) = figure.axes, frames[0].axes
        assert axes.get_xlim() == (0.5, 300)
        np.testing.assert_array_equal(axes.get_position(), first.get_position())
        labels = [text.get_text() for text in axes.get_xticklabels()]
        assert labels == ["1×", "10×", "100×"] if look.narrow else len(labels) > 2
    # Another row makes the figure higher, and the axis no shorter.
    more = drawn(lambda: plot.ratios(
        {"one": (1, 1, 1)}, xlabel="time", reference="one", xlim=(0.5, 300)
    ), look)  # fmt: skip
    for end in ("x0", "x1"):
        assert getattr(more.axes[0].get_position(), end) == getattr(
            frames[0].axes[0].get_position(), end
        )


FORMULA = r"$\frac$"  # that lacks its arguments
BAD = [
    (lambda: measured(ours=(2, 1, 3)), ValueError, ("values['ours']", "rise", "[2, 1, 3]")),
    (lambda: measured(ours=(0.0, 1, 3)), ValueError, ("values['ours']", "above 0")),
    (lambda: measured(ours=(1, 2)), ValueError, ("values['ours']", "3 finite", "(2,)")),
    (lambda: plot.ratios({}, xlabel="x", reference="y"), ValueError, ("values", "one entry")),
    (lambda: plot.ratios({"a": (1, 1, 1)}, xlabel=1, reference="y"), TypeError, ("xlabel", "1")),
    (lambda: plot.ratios({"a": (1, 1, 1)}, xlabel="x", reference=2), TypeError, ("reference", "2")),
    (lambda: measured("not a mapping"), TypeError, ("colors", "mapping", "'not a mapping'")),
    (lambda: measured(5), TypeError, ("colors", "mapping", "5")),
    (lambda: measured(0), TypeError, ("colors", "mapping", "0")),
    (lambda: measured({"ours": 5}), TypeError, ("colors['ours']", "'rank1'", "5")),
    (lambda: measured({"ours": "red"}), ValueError, ("colors['ours']", "'rank1'", "'red'")),
    (
        lambda: plot.ratios(
            {"a": (1, 1, 1)}, xlabel="x", reference="y", colors={"b": "rank1"}
        ),
        ValueError,
        ("colors", "['b']"),
    ),
    (lambda: measured(**{FORMULA: (1, 1, 1)}), ValueError, ("values", "formula", "frac")),
    (lambda: measured(ours=(1, 1, 1e308)), ValueError, ("values['ours'][2]", "1e+308")),
    (lambda: measured(xlim=7), TypeError, ("xlim", "7")),
    (lambda: measured(xlim=(5, 1)), ValueError, ("xlim", "rise", "(5, 1)")),
    (lambda: measured(xlim=(0, 5)), ValueError, ("xlim", "above 0", "0 to 5")),
    (lambda: measured(xlim=(0.5, 1.9)), ValueError, ("xlim", "from 1 to 2", "0.5 to 1.9")),
    (lambda: measured(xlim=(1.005, 5)), ValueError, ("xlim", "from 1 to 2", "1.005 to 5")),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
