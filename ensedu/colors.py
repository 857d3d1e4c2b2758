"""The colors of the book: one a method, gray for what all members share; standard library only."""

from typing import NamedTuple

__all__ = ["DARK", "DOUBT", "GRID", "INK", "MUTED", "PAGE", "PALETTE", "SHARED", "STYLES"]


class Style(NamedTuple):
    """How figures show a method: its color on a light and a dark page, as Matplotlib has them.

    Lines are a word, or lengths that are drawn and left out.
    """

    light: str
    dark: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]


# Based on the palette of Okabe and Ito, darkened until each color has a contrast of 3:1 on a white
# page. The tests measure both pages, and the distance between any two colors for readers with
# protanopia and deuteranopia.
STYLES = {
    "single": Style("#4d4d4d", "#d8d8d8", "o", "-"),
    "deep_ensemble": Style("#2f7fd0", "#6eadf3", "s", "--"),
    "batch_ensemble": Style("#d95f02", "#ff9439", "^", "-."),
    "rank1": Style("#1b9e77", "#2fc79a", "D", ":"),
    "mean_field": Style("#c95fa5", "#e68bc4", "v", (0, (5, 1, 1, 1, 1, 1))),
    "mc_dropout": Style("#3b2a80", "#9180fa", "X", (0, (8, 2))),
    "last_layer": Style("#734600", "#b88c47", "P", (0, (2, 4))),
}
PALETTE = {method: style.light for method, style in STYLES.items()}
INK = "#222222"
MUTED = "#666666"
SHARED = "#707070"
GRID = "#b8b8b8"
PAGE = "#ffffff"
#: What is not known, by whichever method: no method has this color.
DOUBT = "#d93644"
#: What a color becomes on a dark page. Figures are drawn in the colors of a light one.
DARK = {style.light: style.dark for style in STYLES.values()} | {
    INK: "#ececec",
    MUTED: "#b0b0b0",
    SHARED: "#858585",
    GRID: "#4c4c4c",
    PAGE: "#121212",
    DOUBT: "#f22f24",
}
