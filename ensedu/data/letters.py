"""Printed letters: images that a network trained on digits has never met."""

import string
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common.checks import optional

#: Fonts whose files come with matplotlib, upright and bold.
FONTS = (
    "DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSansMono",
    "DejaVuSansMono-Bold", "STIXGeneral", "STIXGeneralBol", "cmr10", "cmb10",
)  # fmt: skip
#: As in MNIST: a letter fits a square of so many pixels, in an image of so many.
INNER, SIDE = 20, 28


def letters() -> tuple[Float[Array, "520 784"], list[str]]:
    """Return the letters a to z and A to Z in ten fonts, 28 × 28 pixels, and which they are.

    They are set as MNIST's digits are: the longer side of a letter is 20 pixels, and its center of
    mass is in the middle. Pixels go from 0 to 1, 1 is ink; images are ``x.reshape(-1, 28, 28)``.
    The fonts are those of matplotlib, which draws them. Some letters are a digit's twins: O, o, l,
    I, Z, S and the like; l and I of one font are the same image. Needs matplotlib and Pillow.

    Raises
    ------
    ImportError
        If one of them is not installed.
    """
    image = optional("PIL.Image", "data")  # which matplotlib needs, too
    folder = Path(optional("matplotlib", "data").get_data_path(), "fonts", "ttf")
    face = optional("matplotlib.ft2font", "data").FT2Font
    names = list(string.ascii_letters)
    fonts = [face(folder / f"{font}.ttf") for font in FONTS]
    found = [
        _centered_on_page(_drawn_letter(font, name), image) for font in fonts for name in names
    ]
    return np.stack(found).reshape(-1, SIDE**2), names * len(FONTS)


def _drawn_letter(font: Any, name: str) -> Float[Array, "H W"]:
    """Draw one letter some hundred pixels tall, without margins."""
    font.set_size(100, 72)
    font.set_text(name)
    font.draw_glyphs_to_bitmap()
    ink = np.asarray(font.get_image(), dtype=float) / 255
    rows, columns = (np.flatnonzero(ink.any(axis=axis)) for axis in (1, 0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def _centered_on_page(ink: Float[Array, "H W"], image: Any) -> Float[Array, "28 28"]:
    """Average a letter down, and put its center of mass into the middle, to a pixel."""
    height, width = (max(1, round(INNER * size / max(ink.shape))) for size in ink.shape)
    box = image.Resampling.BOX
    small = np.asarray(image.fromarray(ink.astype(np.float32)).resize((width, height), box), float)
    small = np.clip(small, 0, 1)  # the rounding of an average of ones may lie above 1
    page = np.zeros((SIDE, SIDE))
    top, left = _first_pixel(small.sum(axis=1)), _first_pixel(small.sum(axis=0))
    page[top : top + height, left : left + width] = small
    return page


def _first_pixel(ink: Float[Array, " size"]) -> int:
    """Return where a row of ink begins, so that its center of mass is in the middle of the page."""
    center = ink @ np.arange(len(ink)) / ink.sum()
    return round(np.clip((SIDE - 1) / 2 - center, 0, SIDE - len(ink)))
