"""The letters of every figure: Roboto, whatever fonts the machine has (scripts/fonts.py)."""

from pathlib import Path
from typing import Any

from matplotlib.font_manager import fontManager

_FAMILY = "Ensedu Roboto"

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

for _file in sorted(Path(__file__).parent.glob("*.ttf")):
    fontManager.addfont(_file)
