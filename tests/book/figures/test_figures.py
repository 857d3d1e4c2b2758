"""A law for every figure of every notebook: it can be read, stays where it is, and is the house's.

Whether dark pages show the colors of the house follows from those of light ones, which are
exchanged; a figure with a color map is drawn for dark pages as well.
"""

import re
from functools import partial

import numpy as np
import pytest

from ensedu.methods import METHODS
from tests.book.conftest import NOTEBOOKS, ROOT
from tests.book.looking import NARROW, WIDE, colors_of, drawn, figures, of_the_house, readable
from workshop.page.frames import ranges
from workshop.page.said import too_much
from workshop.plot.renderings import color_mapped
from workshop.plot.style import PALETTE, Look

SHOWING = [page for page in NOTEBOOKS if "explore(" in (ROOT / f"{page}.ipynb").read_text("utf-8")]


def values(figure):
    """Return what lines and dots show along each axis that has numbers or names."""
    return [
        along
        for axes in figure.axes
        if axes.axison
        for line in axes.lines
        for along, axis in zip(line.get_xydata().T, (axes.xaxis, axes.yaxis), strict=True)
        if len(axis.get_ticklocs())
    ]


@pytest.mark.parametrize("showing", SHOWING)
def test_figures_of_a_page(showing):
    for name, shown in figures(showing).items():
        first, *last = (partial(shown.draw, **state) for state in shown.states())
        wide, narrow = drawn(first, WIDE), drawn(first, NARROW)
        others = [drawn(draw, NARROW) for draw in last]
        readable(wide, WIDE)
        for figure in (narrow, *others):
            readable(figure, NARROW)
        for figure in (wide, narrow, *others):
            of_the_house(figure)
        for one, other in zip(values(wide), values(narrow), strict=True):
            np.testing.assert_allclose(one, other, err_msg=name)
        assert shown.rescale or all(ranges(other) == ranges(narrow) for other in others), name
        if color_mapped(narrow):
            dark = Look(True, dark=True)
            maps = ([a.get_cmap() for a in color_mapped(f)] for f in (narrow, drawn(first, dark)))
            pairs = zip(*maps, strict=True)
            assert all(one != two or one.name == "gray" for one, two in pairs), name


@pytest.mark.parametrize("showing", SHOWING)
def test_sentences_of_a_page(showing):
    for name, shown in figures(showing).items():
        for state in shown.every():
            said = shown.said(state)
            assert said.endswith("."), (name, said)
            assert not re.search(r"\b(nan|None|inf)\b|[{}]", said), (name, said)
            assert not shown.choices or not too_much(said), (name, said)


def test_a_figure_of_another_color_is_told():
    (shown,) = figures("book/reading-guide").values()
    figure = drawn(shown.draw, WIDE)
    assert {color for color, *_ in colors_of(figure)} >= {PALETTE[key] for key in METHODS}
    figure.axes[0].texts[0].set_color("#123456")
    with pytest.raises(AssertionError, match="#123456"):
        of_the_house(figure)
