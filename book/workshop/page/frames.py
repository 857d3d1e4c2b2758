"""Figures for a page: drawn in four looks while the book is built, shown as plain images."""

import gzip
import hashlib
import io
import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.figure
import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from workshop.page.figure_numbers import Series, numbers
from workshop.plot import style
from workshop.plot.panels import KEPT, POINTED, PRESSED
from workshop.plot.style import DARK, INK, LOOKS, Look, house_style, rendering

SITE = "ensedu-site:"  # stands before an address of the site until a page knows where it lies
FRAMES = f"{SITE}_static/frames/"
PHONE = "(max-width: 600px)"  # from here down a page shows narrow figures
# Pixels: the column of text of a phone, 360 wide, and of the narrowest page with wide figures.
COLUMN = {True: 312, False: 553}
LEAST, LEAST_SCRIPT = 11, 8
SCRIPT = 0.7  # of its letters, in a formula
ELEMENTS = re.compile(r"(?<=>)\n")
MOST_KB = 500  # gzipped, of all that a figure fetches when a reader begins to move it
SCRIPTS = re.compile(r"\$[^$]*[_^][^$]*\$")
HEAD = re.compile(r"\A.*?(?=<svg )", flags=re.DOTALL)
UNSEEN = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", flags=re.DOTALL)
INDENT = re.compile(r"\n\s+")
PATH = re.compile(r'(?<= d=")[^"]*(?=")')
PART = re.compile(r"([MLQCz])([^MLQCz]*)")
FINE = 100  # of a point, a hundred of which are more than a screen shows of an inch
COLOR = re.compile(r'(?<=: )#[0-9a-f]{6}(?=[;"])')  # a color in a style
Draw = Callable[[], matplotlib.figure.Figure]
Read = Callable[[matplotlib.figure.Figure], Any]


@dataclass(frozen=True)
class Rendering:
    """One SVG, its size in pixels, a hundred an inch, and what was read off a light figure."""

    svg: str
    width: int
    height: int
    read: Any = None

    @property
    def size(self) -> list[int]:
        """Width and height."""
        return [self.width, self.height]


class Frames:
    """The frames of one figure, drawn into a folder.

    The one that is shown first is a file a look. Several stand together in a script a look, in
    which what they share stands once: it is fetched when a reader begins to move the figure.
    """

    def __init__(
        self, draws: Sequence[Draw], folder: Path, first: int = 0, read: Read = lambda figure: None
    ) -> None:
        self.drawn = [renderings(partial(readable, draw), read) for draw in draws]
        content = "".join(drawn[look].svg for drawn in self.drawn for look in LOOKS)
        self.key = hashlib.sha256(content.encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        self.first = first
        for look, drawn in self.drawn[first].items():
            (folder / self.file(look)).write_text(drawn.svg, encoding="utf-8")
        if len(self.drawn) > 1:
            for look in LOOKS:
                text = packed([drawn[look].svg for drawn in self.drawn], f"{self.key}-{look.name}")
                (folder / f"{self.key}-{look.name}.js").write_text(text, encoding="utf-8")

    def file(self, look: Look) -> str:
        """Return the name of the first frame's file, which their content decides."""
        return f"{self.key}-{self.first}-{look.name}.svg"

    def read(self, *, narrow: bool) -> list[Any]:
        """Return what was read off each frame."""
        return [drawn[Look(narrow)].read for drawn in self.drawn]

    def check_weight(self) -> None:
        """Raise ``ValueError`` if a reader who moves the figure fetches too much."""
        for look in LOOKS:
            frames = [drawn[look].svg for drawn in self.drawn]
            weight = len(gzip.compress(packed(frames, self.key).encode(), mtime=0)) / 1000
            if weight > MOST_KB:
                raise ValueError(
                    f"draw must give frames of {MOST_KB} kB or less together, in the {look.name} "
                    f"look they have {weight:.0f}"
                )

    def sizes(self) -> list[list[int]]:
        """Return width and height of each frame in pixels: wide, then narrow."""
        return [[*drawn[Look(False)].size, *drawn[Look(True)].size] for drawn in self.drawn]

    def room(self) -> str:
        """Return a style: width / height of the tallest frame, wide and narrow."""
        tallest = {
            name: max((drawn[look] for drawn in self.drawn), key=lambda one: one.height / one.width)
            for name, look in {"wide": Look(False), "narrow": Look(True)}.items()
        }
        return "; ".join(f"--ensedu-{name}: {r.width} / {r.height}" for name, r in tallest.items())

    def pictures(self, alt: str) -> str:
        """Return the first frame as HTML: a picture a theme, each for wide pages and for phones.

        An image that is not displayed is not fetched, as it is lazy. Those of the class
        "dark-light" the theme leaves as they are.
        """
        return "".join(
            f'<picture class="ensedu-{"dark" if dark else "light"}">'
            f'<source media="{PHONE}" srcset="{self._source(Look(True, dark))}" '
            f"{self._sized(Look(True, dark))}>"
            f'<img src="{self._source(Look(False, dark))}" alt="{escape(alt)}" '
            f'{self._sized(Look(False, dark))} class="dark-light" loading="lazy"></picture>'
            for dark in (False, True)
        )

    def _source(self, look: Look) -> str:
        return FRAMES + self.file(look)

    def _sized(self, look: Look) -> str:
        width, height = self.drawn[self.first][look].size
        return f'width="{width}" height="{height}"'


def renderings(draw: Draw, read: Read = lambda figure: None) -> dict[Look, Rendering]:
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


def _draw_in_look(draw: Draw, read: Read, look: Look) -> tuple[matplotlib.figure.Figure, Rendering]:
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
    for letter, written in PART.findall(path):
        if letter == "z":
            found.append("z")
            here = start
            continue
        values = [round(FINE * float(number)) for number in written.split()]
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


def packed(frames: Sequence[str], name: str) -> str:
    """Return a script with all frames: each element that they have, and of each frame which."""
    elements: dict[str, int] = {}
    found = [
        [elements.setdefault(element, len(elements)) for element in ELEMENTS.split(frame)]
        for frame in frames
    ]
    data = json.dumps([list(elements), found], ensure_ascii=False, separators=(",", ":"))
    return f"(globalThis.enseduFrames ??= {{}})[{json.dumps(name)}] = {data};\n"


def embedded(data: Any) -> str:
    """Return data as JSON for a script of a page."""
    # "<" could end the script; as \u003c it is the same string.
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")


class BesidePicture(NamedTuple):
    """What a page has of a frame beside its picture."""

    #: What its rows say where a reader points at them, and what a reader may press.
    pointed: list[tuple[str, list[float]]]
    pressed: list[tuple[Any, ...]]
    #: What stays in sight.
    kept: list[float]
    numbers: list[Series]


def read_beside_picture(figure: matplotlib.figure.Figure) -> BesidePicture:
    """Return what a page has of a frame beside its picture."""
    return BesidePicture(pointed(figure), pressed(figure), kept_in_sight(figure), numbers(figure))


def pointed(figure: matplotlib.figure.Figure) -> list[tuple[str, list[float]]]:
    """Return what bands of a figure say to a reader who points at them, and where they are.

    They begin and end at shares of its height, from above.
    """
    bands = _bands(figure, POINTED)
    return [(str(band.get_label()), [round(end, 4) for end in _ends(band)]) for band in bands]


def pressed(figure: matplotlib.figure.Figure) -> list[tuple[Any, ...]]:
    """Return what places of a figure choose: the value, and their ends as shares of its size.

    From the left and from above: left, right, top, bottom.
    """
    return [
        (
            one.get_label(),
            *(round(x, 4) for x in one.get_bbox().intervalx),
            *(round(y, 4) for y in _ends(one)),
        )
        for one in _bands(figure, PRESSED)
    ]


def kept_in_sight(figure: matplotlib.figure.Figure) -> list[float]:
    """Return where the band of a figure is that stays in sight; nothing if it has none.

    It begins and ends at shares of its width, from above.
    """
    wide, high = figure.get_size_inches()
    bands = _bands(figure, KEPT)
    return [round(end * high / wide, 4) for band in bands[:1] for end in _ends(band)]


def _bands(figure: matplotlib.figure.Figure, called: str) -> list[Rectangle]:
    found = (artist for artist in figure.artists if artist.get_gid() == called)
    return [artist for artist in found if isinstance(artist, Rectangle)]


def _ends(band: Rectangle) -> tuple[float, float]:
    return 1 - band.get_bbox().y1, 1 - band.get_bbox().y0


def readable(draw: Draw) -> matplotlib.figure.Figure:
    """Return a figure whose letters can be read on a page."""
    figure = draw()
    check_letters(figure, style.look())
    return figure


def check_letters(figure: matplotlib.figure.Figure, look: Look) -> None:
    """Raise ``ValueError`` for a text that is too small to be read on a page of this look."""
    scale = COLUMN[look.narrow] / (72 * figure.get_figwidth())
    # Of axes that are off, only what was written into them is seen.
    of_axes = (axes.findobj(Text) if axes.axison else axes.texts for axes in figure.axes)
    of_figure = [*figure.texts, *(text for key in figure.legends for text in key.get_texts())]
    for text in itertools.chain(of_figure, *of_axes):
        words, size = text.get_text(), text.get_size() * scale
        if not words.strip() or not text.get_visible():
            continue
        least, shown = (LEAST_SCRIPT, SCRIPT * size) if SCRIPTS.search(words) else (LEAST, size)
        if shown < least:
            raise ValueError(
                f"draw must give letters of {least} pixels or more on the {look.name} page, "
                f"got {shown:.1f} in {words!r}"
            )


def ranges(figure: matplotlib.figure.Figure) -> dict[str, Any]:
    """Return what a reader compares between frames: axes with their ticks, and color ranges.

    The rows and columns of a matrix are none.
    """
    found: dict[str, Any] = {}
    shown = [axes for axes in figure.axes if axes.axison and axes.get_visible()]
    for number, axes in enumerate(shown):
        if axes.images:
            continue
        for axis in (axes.xaxis, axes.yaxis):
            low, high = axis.get_view_interval()
            ticks = np.asarray(axis.get_ticklocs(), dtype=float)
            inside = ticks[(ticks >= min(low, high)) & (ticks <= max(low, high))]
            name = f"{axis.axis_name}-axis {number + 1}"
            found[name] = (axis.get_scale(), float(low), float(high), *inside.tolist())
    colors = {tuple(artist.get_clim()) for artist in color_mapped(figure)}
    if colors:
        found["color ranges"] = sorted(colors)
    return found
