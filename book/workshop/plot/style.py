"""The house style: one color, marker and line per method; gray for what all members share."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import matplotlib.figure
import matplotlib.style
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.ticker import LogFormatterSciNotation

from ensedu.colors import DARK as DARK
from ensedu.colors import DOUBT as DOUBT
from ensedu.colors import GRID as GRID
from ensedu.colors import INK as INK
from ensedu.colors import MUTED as MUTED
from ensedu.colors import PAGE as PAGE
from ensedu.colors import PALETTE as PALETTE
from ensedu.colors import SHARED as SHARED
from ensedu.colors import STYLES
from ensedu.common import checks
from ensedu.methods import METHODS
from workshop.plot.text_layout import LETTERS, number_in_words

if plain := [key for key in METHODS if key not in STYLES]:
    raise ValueError(f"STYLES of ensedu/colors.py must have each method, got none for {plain}")

LABELS = {key: method.label for key, method in METHODS.items()}
MARKERS = {key: style.marker for key, style in STYLES.items()}
LINES: dict[str, Any] = {key: style.line for key, style in STYLES.items()}

# Blue below 0, red above, without the ends in which the two look alike; 0 is nearly the page.
HEAT = ListedColormap(mpl.colormaps["RdBu_r"](np.linspace(0.08, 0.92, 257)), name="heat")
DARK_HEAT = LinearSegmentedColormap.from_list(
    "dark heat", ["#6db8ff", "#1d62ab", "#1f1f1f", "#b5332c", "#ff7a6b"], N=257
)


@dataclass(frozen=True)
class Look:
    """One of the four ways in which the book draws each figure."""

    #: Whether it is for a phone: panels stand below each other, names beside what they name.
    narrow: bool = False
    #: Whether it is for a dark page.
    dark: bool = False

    @property
    def width(self) -> float:
        """Inches that a figure is wide: the text column of a page, at 11 points a letter."""
        return 4.0 if self.narrow else 7.2

    @property
    def name(self) -> str:
        """The end of a file's name: "wide-light", "narrow-dark"."""
        return f"{'narrow' if self.narrow else 'wide'}-{'dark' if self.dark else 'light'}"


LOOKS = tuple(Look(narrow, dark) for narrow in (False, True) for dark in (False, True))
_LOOK = ContextVar("look", default=LOOKS[0])


def look() -> Look:
    """Return how figures are drawn now."""
    return _LOOK.get()


@contextmanager
def rendering(look: Look) -> Iterator[None]:
    """Draw every figure inside a ``with`` block in this look."""
    token = _LOOK.set(look)
    try:
        yield
    finally:
        _LOOK.reset(token)


def heat_colors() -> Colormap:
    """Return the colors from negative to positive, on the page of this look."""
    return DARK_HEAT if look().dark else HEAT


def tint(own: str) -> Colormap:
    """Return the colors from the page of this look to this color."""
    ends = [DARK[PAGE], DARK.get(own, own)] if look().dark else [PAGE, own]
    return LinearSegmentedColormap.from_list("tint", ends)


#: A gap, or another part of a panel: faint, so that curves stand out, with edges that are seen.
AREA: dict[str, Any] = {"fc": (MUTED, 0.1), "ec": (MUTED, 0.75), "lw": 0.8}
RC: dict[str, Any] = LETTERS | {
    "figure.dpi": 200,  # twice the pixels of the column, for dense screens
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "savefig.dpi": "figure",
    # Shown in a phone's column, a narrow figure has a twelfth more pixels than points.
    "font.size": 12,
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 2.0,
    "lines.markersize": 6,
    "hatch.linewidth": 1.0,
    "svg.hashsalt": "ensedu",  # the same ids, so the same bytes, each time
    "axes.prop_cycle": cycler(color=list(PALETTE.values())),
}


@contextmanager
def house_style() -> Iterator[None]:
    """Set the house style inside a ``with`` block, and nothing outside it.

    A figure that is made inside without a size is as wide as the text of a page.
    """
    with mpl.style.context(["default", RC | {"figure.figsize": (look().width, 4.0)}]):
        yield


class PlainPowers(LogFormatterSciNotation):
    """Ticks where Matplotlib has them, as 0.01 and 1e−6: raised digits are too small on a phone."""

    def __call__(self, x: Any, pos: Any = None) -> str:
        """Return the label of a tick, if it has one."""
        if not super().__call__(x, pos):
            return ""
        if 0.001 <= x < 10_000:
            return number_in_words(float(x))
        factor, exponent = f"{x:.2e}".split("e")
        return f"{float(factor):g}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")


class Figure(mpl.figure.Figure):
    """A Matplotlib figure that a notebook shows once, as a PNG of its full size.

    It never enters pyplot's list of open figures, so a cell shows it only as its value, and the
    picture has the same size and the same bytes whatever the user's settings are.
    """

    def draw(self, renderer: Any) -> None:
        """Draw it, with numbers on logarithmic axes whose exponents are as large as the rest."""
        for axes in self.axes:
            for axis in (axes.xaxis, axes.yaxis):
                if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                    axis.set_major_formatter(PlainPowers())
                if type(axis.get_minor_formatter()) is LogFormatterSciNotation:
                    axis.set_minor_formatter(PlainPowers())
        super().draw(renderer)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        width, height = (round(inches * 100) for inches in self.get_size_inches())
        data = {"image/png": png(self), "text/plain": repr(self)}
        return data, {"image/png": {"width": width, "height": height}}


def png(figure: mpl.figure.Figure) -> bytes:
    """Return a figure as a PNG: the same figure gives the same bytes.

    Raises ``TypeError`` for anything but a Matplotlib figure.
    """
    if not isinstance(figure, mpl.figure.Figure):
        raise TypeError(f"figure must be a Matplotlib figure, got {checks.describe(figure)}")
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure and an empty axes over all of it whose units are inches, y downwards.

    Its limits stay: ``add_artist`` is faster than ``add_patch``, which would look for others.
    """
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    axes.axis("off")
    return figure, axes


def color(name: str) -> str:
    """Return the color of a method; ink for any other name."""
    return PALETTE.get(name, INK)


def label(name: str) -> str:
    """Return a method's name in words; any other name as it is."""
    return LABELS.get(name, name)
