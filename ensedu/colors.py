"""The colors of the book: one a method, gray for what all members share; standard library only."""

from ensedu.methods import METHODS

__all__ = ["DARK", "DOUBT", "GRID", "INK", "MUTED", "PAGE", "PALETTE", "SHARED"]

# Based on the palette of Okabe and Ito, darkened until each color has a contrast of 3:1 on a white
# page; `DARK` has those for a dark page. The tests measure both, and the distance between any two
# colors for readers with protanopia and deuteranopia.
PALETTE = dict(
    zip(
        METHODS,
        ("#4d4d4d", "#2f7fd0", "#d95f02", "#1b9e77", "#c95fa5", "#3b2a80", "#734600"),
        strict=True,
    )
)
INK = "#222222"
MUTED = "#666666"
SHARED = "#707070"
GRID = "#b8b8b8"
PAGE = "#ffffff"
#: What is not known, by whichever method: no method has this color.
DOUBT = "#d93644"
#: What a color becomes on a dark page. Figures are drawn in the colors of a light one.
DARK = dict(
    zip(
        PALETTE.values(),
        ("#d8d8d8", "#6eadf3", "#ff9439", "#2fc79a", "#e68bc4", "#9180fa", "#b88c47"),
        strict=True,
    )
) | {
    INK: "#ececec",
    MUTED: "#b0b0b0",
    SHARED: "#858585",
    GRID: "#4c4c4c",
    PAGE: "#121212",
    DOUBT: "#f22f24",
}
