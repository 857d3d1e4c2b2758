"""The letters of every figure, how wide a text will be in them, and numbers in few letters."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import cbook
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

_FAMILY = "Ensedu Roboto"

#: Roboto, whatever fonts the machine has (scripts/fonts.py).
FONTS = Path(__file__).with_name("fonts")
#: Settings of Matplotlib. Signs that the font lacks, as an arrow, are Matplotlib's own.
LETTERS: dict[str, Any] = {
    "font.family": (_FAMILY, "DejaVu Sans"),
    "mathtext.fontset": "custom",
    "mathtext.rm": _FAMILY,
    "mathtext.it": f"{_FAMILY}:italic",
    "mathtext.bf": f"{_FAMILY}:bold",
    "mathtext.cal": f"{_FAMILY}:italic",
    "mathtext.fallback": "stixsans",
    "text.hinting": "none",  # as wide in pixels as in an SVG
}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Points: the letters of ticks, entries, numbers and names beside axes.
SMALL = 11

for _file in sorted(FONTS.glob("*.ttf")):
    fontManager.addfont(_file)


@lru_cache(maxsize=4096)
def text_width(words: str, size: float | int, weight: str) -> float:
    """Return how many inches wide a text is in the font of the house style."""
    with mpl.rc_context(LETTERS):
        font = FontProperties(weight=weight, size=size)
        points = (
            text_to_path.get_text_width_height_descent(line, font, bool(cbook.is_math_text(line)))
            for line in words.split("\n")
        )
        return float(max(width for width, _, _ in points)) / 72


def letters_that_fit(words: str, room: float | int, size: float | int, weight: str) -> int:
    """Return how many letters of a text, at least one, are no wider than the room in inches."""
    low, high = 1, max(1, min(len(words), int(72 * room) + 1))  # no letter is narrower than a point
    while low < high:
        middle = (low + high + 1) // 2
        if text_width(words[:middle].rstrip(), size, weight) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def number_in_words(value: float | int) -> str:
    """Return a number in few letters: 12,346, 0.5, 3 million, 2·10²⁰."""
    size = abs(value)
    if 1e6 <= size < 1e15:
        power, word = next(
            (power, word)
            for power, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
            if size >= power
        )
        words = f"{value / power:,.6g} {word}"
    elif size == 0 or 1e-4 <= size < 1e6:
        words = f"{value:,.10g}"
    else:
        factor, exponent = f"{value:e}".split("e")
        words = f"{float(factor):.3g}·10{int(exponent)}".removeprefix("1·")
        words = words.replace(f"10{int(exponent)}", "10" + f"{int(exponent)}".translate(RAISED))
    return words.replace("-", "\N{MINUS SIGN}")
