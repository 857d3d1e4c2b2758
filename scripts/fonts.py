"""Make the letters of the figures, `book/workshop/plot/fonts/*.ttf`, from Roboto.

Usage: python scripts/fonts.py [FOLDER]

Of each font what figures write stays. Its lines are as high as those of Matplotlib's own font,
for which all figures are laid out; its name is of its own, so that no other Roboto replaces it.
"""

import sys
from pathlib import Path

import font_roboto
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

FOLDER = Path(__file__).parent.parent / "book/workshop/plot/fonts"
FAMILY = "Ensedu Roboto"
# Latin, Greek, raised and lowered letters, punctuation, mathematics.
KEPT = [*range(0x20, 0x180), *range(0x384, 0x3D0), *range(0x1D2C, 0x1D6B), *range(0x2010, 0x2300)]
ASCENT, DESCENT = 0.76, 0.24  # of the size, above and below the line
FAMILY_ID, FULL_NAME, POSTSCRIPT, TYPOGRAPHIC_FAMILY = 1, 4, 6, 16


def make(style: str, folder: Path) -> None:
    """Write the font of one style, as "Bold"."""
    font = TTFont(font_roboto.font_files["Roboto" + style.replace("Regular", "")])
    subsetter = Subsetter(Options(layout_features=["kern"], hinting=False, name_IDs=["*"]))
    subsetter.populate(unicodes=KEPT)
    subsetter.subset(font)
    size = font["head"].unitsPerEm
    font["OS/2"].sTypoAscender = round(ASCENT * size)
    font["OS/2"].sTypoDescender = -round(DESCENT * size)
    font["OS/2"].sTypoLineGap = 0
    names = {
        FAMILY_ID: FAMILY,
        FULL_NAME: f"{FAMILY} {style}",
        POSTSCRIPT: f"{FAMILY}-{style}".replace(" ", ""),
        TYPOGRAPHIC_FAMILY: FAMILY,
    }
    for name in font["name"].names:
        if name.nameID in names:
            name.string = names[name.nameID]
    font.recalcTimestamp = False
    font.save(folder / f"Roboto-{style}.ttf")


if __name__ == "__main__":
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for style in ("Regular", "Bold", "Italic", "BoldItalic"):
        make(style, to)
