"""A figure as SVG, in the four looks of the book, without what a page does not show."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib.figure

from workshop.plot.style import DARK, INK, Look, house_style, rendering

HEAD = re.compile(r"\A.*?(?=<svg )", flags=re.DOTALL)
UNSEEN = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", flags=re.DOTALL)
INDENT = re.compile(r"\n\s+")
PATH = re.compile(r'(?<= d=")[^"]*(?=")')
PART = re.compile(r"([MLQCz])([^MLQCz]*)")
FINE = 100  # of a point, a hundred of which are more than a screen shows of an inch
COLOR = re.compile(r'(?<=: )#[0-9a-f]{6}(?=[;"])')  # a color in a style


@dataclass(frozen=True)
class Rendering:
    """One SVG, its size in pixels, a hundred an inch, and what was read off a light figure."""

    svg: str
    width: int
    height: int
    read: Any = None


def renderings(
    draw: Callable[[], matplotlib.figure.Figure],
    read: Callable[[matplotlib.figure.Figure], Any] = lambda figure: None,
) -> dict[Look, Rendering]:
    """Draw a figure in each look: wide and narrow, light and dark.

    For a dark page each color of the palette is exchanged for that of `DARK`. A figure with a
    color map is drawn once more: there the map is another.
    """
    drawn = {}
    for narrow in (False, True):
        light, dark = Look(narrow), Look(narrow, dark=True)
        figure, drawn[light] = _draw_in_look(draw, read, light)
        other = _draw_in_look(draw, read, dark)[1] if color_mapped(figure) else drawn[light]
        drawn[dark] = Rendering(in_dark(other.svg), other.width, other.height)
    return drawn


def in_dark(svg: str) -> str:
    """Exchange the colors of a light page for those of a dark one."""
    svg = COLOR.sub(lambda found: DARK.get(found[0], found[0]), svg)
    # What is black has no color in SVG, and takes that of the whole.
    return svg.replace("<svg ", f'<svg fill="{DARK[INK]}" ', 1)


def _draw_in_look(
    draw: Callable[[], matplotlib.figure.Figure],
    read: Callable[[matplotlib.figure.Figure], Any],
    look: Look,
) -> tuple[matplotlib.figure.Figure, Rendering]:
    buffer = io.StringIO()
    with rendering(look):
        figure = draw()
        found = read(figure)
        with house_style():
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    width, height = (round(100 * inches) for inches in figure.get_size_inches())
    return figure, Rendering(compact(buffer.getvalue()), width, height, found)


def color_mapped(figure: matplotlib.figure.Figure) -> list[Any]:
    """List what takes its colors from a color map."""
    return [
        artist
        for axes in figure.axes
        for artist in (*axes.collections, *axes.images)
        if artist.get_array() is not None
    ]


def compact(svg: str) -> str:
    """Return an SVG of Matplotlib without remarks and indents, its paths in hundredths of a point.

    A path goes on from where it is, so that equal steps are equal text, which packs well. Each
    place is rounded before steps are taken between them, so no error adds up.
    """
    svg = UNSEEN.sub("", HEAD.sub("", svg, count=1))
    return PATH.sub(lambda path: _in_steps(path[0]), INDENT.sub("\n", svg))


def _in_steps(path: str) -> str:
    """Return a path whose places are steps from the place before; it begins where it did."""
    found, here, start = [], (0, 0), (0, 0)
    for letter, numbers in PART.findall(path):
        if letter == "z":
            found.append("z")
            here = start
            continue
        values = [round(FINE * float(number)) for number in numbers.split()]
        places = list(zip(values[::2], values[1::2], strict=True))
        if letter == "M":
            [start] = places
            found.append(f"M{_text(start[0])} {_text(start[1])}")
        else:
            steps = " ".join(f"{_text(x - here[0])} {_text(y - here[1])}" for x, y in places)
            found.append(letter.lower() + steps)
        here = places[-1]
    return "\n".join(found)


def _text(hundredths: int) -> str:
    whole = f"{hundredths / FINE:.2f}".rstrip("0").rstrip(".")
    return "0" if whole == "-0" else whole
