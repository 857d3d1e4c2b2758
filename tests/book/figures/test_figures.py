"""A law for every figure of every notebook: it can be read, stays where it is, and is the house's.

Whether dark pages show the colors of the house follows from those of light ones, which are
exchanged; a figure with a color map is drawn for dark pages as well.
"""

import re
from functools import partial

import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from ensedu.book.page.frames import ranges
from ensedu.book.page.said import too_much
from ensedu.methods import METHODS
from ensedu.plot.colored_cells import INKS
from ensedu.plot.renderings import color_mapped
from ensedu.plot.style import DARK, INK, LABELS, MUTED, PALETTE, Look, heat_colors, rendering
from tests.book.conftest import NOTEBOOKS, ROOT
from tests.book.figures.shown import figures
from tests.plot.looks import LIGHT, drawn, readable_figure, repeats, texts

SHOWING = [page for page in NOTEBOOKS if "explore(" in (ROOT / f"{page}.ipynb").read_text("utf-8")]
#: Colors of a light page, and those of entries, which no page changes.
HOUSE = {*DARK, *INKS}
ENDS = {to_hex(heat_colors()(0.5 + 0.42 * sign)) for sign in (1, -1)}
CALLED = {label: key for key, label in LABELS.items()}


def colors_of(figure):
    """Return each color of a text or a line, and what has it."""
    found = [(to_hex(text.get_color()), text.get_text()) for text in texts(figure)]
    lines = [line for line in figure.findobj(Line2D) if line.get_visible()]
    return found + [(to_hex(line.get_color()), line.get_label()) for line in lines]


@pytest.mark.parametrize("showing", SHOWING)
def test_figures_of_a_page(showing):
    for name, shown in figures(showing).items():
        for look in LIGHT:
            stays = []
            for state in shown.states():
                draw = partial(shown.draw, **state)
                figure = drawn(draw, look)
                readable_figure(figure, look)
                for color, what in colors_of(figure):
                    assert color in HOUSE | ENDS, (name, look, color, what)
                    method = CALLED.get(" ".join(what.split()))
                    known = method is None or color in (PALETTE[method], INK, MUTED)
                    assert known, (name, look, what, color)
                stays.append(ranges(figure))
            assert shown.rescale or all(one == stays[0] for one in stays), (name, look)
        if color_mapped(figure):
            dark = drawn(draw, Look(True, dark=True))
            light, other = ([a.get_cmap() for a in color_mapped(f)] for f in (figure, dark))
            with rendering(Look(True, dark=True)):
                pairs = zip(light, other, strict=True)
                assert all(one != two or one.name == "gray" for one, two in pairs), name
    repeats(draw)


@pytest.mark.parametrize("showing", SHOWING)
def test_sentences_of_a_page(showing):
    for name, shown in figures(showing).items():
        for state in shown.states():
            said = shown.said(state)
            assert said.endswith("."), (name, said)
            assert not re.search(r"\b(nan|None|inf)\b|[{}]", said), (name, said)
            assert not shown.choices or not too_much(said), (name, said)


def test_a_figure_of_another_color_is_told():
    (shown,) = figures("book/reading-guide").values()
    figure = drawn(shown.draw, LIGHT[0])
    assert {color for color, _ in colors_of(figure)} >= {PALETTE[key] for key in METHODS}
    figure.axes[0].texts[0].set_color("#123456")
    assert "#123456" in {color for color, _ in colors_of(figure)} - HOUSE
