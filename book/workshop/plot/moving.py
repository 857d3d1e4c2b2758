"""Figures whose curves a page computes: what moves in them, and how a script draws it again.

A curve that moves has a gid, ``moves("x", "mean")``: the names of the numbers that it shows. So the
same drawing code gives the picture, and tells a script all but those numbers.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import TextPath

from workshop.plot.curves import growth_curves
from workshop.plot.panels import LEADER
from workshop.plot.style import DARK, house_style
from workshop.plot.text_layout import SMALL

PREFIX = "moves:"
POINTS = 72  # an inch
NEGATIVE = re.compile(r"(?<!\w)-(?=\d)")
LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


class Computed:
    """A figure of a formula, which a script knows, too.

    Attributes
    ----------
    formula
        The function in ``page/computed/formulas.js`` that returns what `numbers` returns.
    words
        Sentences with fields, such as ``"σ is {noise:g}"``, of settings and numbers. With several,
        the number ``said`` is the place of the one that holds.
    drag
        The numbers x and y of points that a reader can move, if any.
    edges
        By setting, the numbers of a band whose beginning a reader can move to set it, where it is
        drawn.
    data, choices
        What the formula takes beside the settings, and the settings.
    """

    formula: ClassVar[str]
    words: ClassVar[Sequence[str]]
    drag: ClassVar[Sequence[str]] = ()
    edges: ClassVar[Mapping[str, Sequence[str]]] = {}
    data: Mapping[str, Any]
    choices: Mapping[str, Sequence[Any]]

    def numbers(self, **settings: Any) -> dict[str, Any]:
        """Return what is drawn and said, numbers and arrays by name."""
        raise NotImplementedError

    def draw(self, **settings: Any) -> Figure:
        """Draw it; what moves has its gid."""
        raise NotImplementedError

    def say(self, *values: Any, **settings: Any) -> str:
        """Say one thing about it."""
        settings |= dict(zip(self.choices, values, strict=False))
        found = settings | self.numbers(**settings)
        words = self.words[found.get("said", 0)].format(**found)
        return NEGATIVE.sub("\N{MINUS SIGN}", words)


def steps(low: float | int, high: float | int, step: float | int) -> list[float | int]:
    """Return the values of a slider, whole ones as integers."""
    values = (round(low + step * i, 6) for i in range(round((high - low) / step) + 1))
    return [int(value) if value == int(value) else value for value in values]


def moves(*names: str) -> str:
    """Return the gid of a line of x and y, or of a band or bars of x, low and high."""
    return PREFIX + " ".join(names)


def moving_curves(
    numbers: Mapping[str, Any], along: str, curves: Mapping[str, str], **options: Any
) -> Figure:
    """Draw `growth_curves` of methods that all move: which of the `numbers`, along which."""
    figure = growth_curves(
        numbers[along], {method: numbers[name] for method, name in curves.items()}, **options
    )
    for line, name in zip(figure.axes[0].lines, curves.values(), strict=False):
        line.set_gid(moves(along, name))
    return figure


def bare(figure: Figure) -> Figure:
    """Hide what moves, with its names, and return the figure."""
    for _, artist in _moving(figure):
        artist.set_visible(False)
    named = {_joined(artist.get_label()) for _, artist in _moving(figure)}
    for text in _names(figure):
        if _joined(text.get_text()) in named:
            text.set_visible(False)
    for artist in figure.artists:
        if artist.get_gid() == LEADER and _joined(artist.get_label()) in named:
            artist.set_visible(False)
    return figure


def moving_parts(draw: Callable[[], Figure]) -> dict[str, Any]:
    """Return the size of a figure in points, its panels, and what moves in each."""
    figure = draw()
    with house_style():
        figure.draw_without_rendering()
    wide, high = figure.get_size_inches() * POINTS
    panels = []
    for axes in figure.axes:
        marks = [_mark(artist) for own, artist in _moving(figure) if own is axes]
        box = axes.get_position()
        places = [box.x0 * wide, (1 - box.y1) * high, box.width * wide, box.height * high]
        ends = {axis.axis_name: [*axis.get_view_interval()] for axis in (axes.xaxis, axes.yaxis)}
        logs = {"log": [axes.get_xscale() == "log", axes.get_yscale() == "log"]}
        if marks:
            panels.append({"box": np.round(places, 2).tolist(), "marks": marks} | ends | logs)
    return {"size": [wide, high], "panels": panels}


def _joined(words: object) -> str:
    return " ".join(str(words).split())


def _moving(figure: Figure) -> Iterable[tuple[Axes, Artist]]:
    for axes in figure.axes:
        for artist in axes.get_children():
            if str(artist.get_gid() or "").startswith(PREFIX):
                yield axes, artist


def _mark(artist: Any) -> dict[str, Any]:
    """Return how a script draws it: its numbers, and its looks."""
    mark: dict[str, Any] = {"of": str(artist.get_gid()).removeprefix(PREFIX).split()}
    mark |= {"clip": artist.get_clip_on(), "order": artist.get_zorder()}
    if isinstance(artist, FillBetweenPolyCollection):
        *own, alpha = np.asarray(artist.get_facecolor())[0].tolist()
        return mark | {"kind": "band", "alpha": alpha, "colors": _colors(own)}
    if isinstance(artist, LineCollection):
        own, width = np.asarray(artist.get_colors())[0], artist.get_linewidth()[0]
        return mark | {"kind": "bars", "width": width, "colors": _colors(own[:3])}
    mark |= {"kind": "line", "colors": _colors(artist.get_color()), "alpha": artist.get_alpha()}
    if artist.get_linestyle() != "None":
        dashes = artist._dash_pattern[1] or ()
        mark |= {"width": artist.get_linewidth(), "dashes": [round(dash, 2) for dash in dashes]}
    if artist.get_marker() not in (None, "None"):
        style = MarkerStyle(artist.get_marker())
        size = artist.get_markersize()
        shape = style.get_path().transformed(style.get_transform())
        corners = np.array(shape.to_polygons(closed_only=False)[0]) * [size, -size]
        is_dot = artist.get_marker() == "o"
        mark["marker"] = {
            "size": size + artist.get_markeredgewidth() * is_dot,
            "corners": [] if is_dot else corners.round(2).tolist(),
        }
    name = _joined(artist.get_label())
    if name in [_joined(text.get_text()) for text in _names(artist.figure)]:
        mark["name"] = _outline(name)
    return mark


def _names(figure: Figure) -> list[Text]:
    """List the names at the ends of curves."""
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return [text for text in texts if text.get_gid() == LEADER]


def _colors(own: Any) -> list[str]:
    """Return a color on a light page and on a dark one."""
    light = to_hex(own)
    return [light, DARK.get(light, light)]


def _outline(words: str) -> str:
    """Return bold words as a path of SVG, from the left end of their middle line."""
    with house_style():
        drawn = TextPath((0, 0), words, SMALL, prop=FontProperties(weight="bold"))
    parts = []
    for corners, code in drawn.iter_segments():
        places = corners * np.tile([1, -1], len(corners) // 2) if code in LETTERS else ()
        parts.append(LETTERS.get(code, "Z") + " ".join(f"{place:.2f}" for place in places))
    return "".join(parts)
