"""Inputs of a network from a table of pandas, by scikit-learn."""

from typing import Any

from ensedu.common import checks
from ensedu.common.optional import optional

#: A column with more different words than this holds names of rows, and no categories.
MOST_CATEGORIES = 50


def encoder(frame: Any, *, unknown: str = "error") -> Any:
    """Return a scikit-learn ``ColumnTransformer`` for the columns of a frame, not yet fitted.

    Numbers are standardized, with the median for gaps; words become one-hot columns, with the most
    frequent word for gaps. What it transforms to is an array in float64, (N, m). `clean` makes
    such columns, and names those of new rows that are missing or too many.

    Parameters
    ----------
    frame
        The columns to encode: a ``DataFrame``, without what is to be predicted.
    unknown
        What a word does that no row to fit on has: ``"error"``, or ``"ignore"``, by which it
        becomes zeros, an input that no network has been trained on.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    TypeError, ValueError
        For no frame with rows, a column with more than 50 different words, or another `unknown`.

    Examples
    --------
    >>> import pandas
    >>> trees = pandas.DataFrame({"age": [3.0, None, 5.0], "wood": ["oak", "ash", None]})
    >>> encoder(trees).fit_transform(trees).round(2).tolist()
    [[-1.22, 0.0, 1.0], [0.0, 1.0, 0.0], [1.22, 1.0, 0.0]]
    """
    pandas = optional("pandas", "data")
    checks.one_of("unknown", unknown, ("error", "ignore"))
    if not isinstance(frame, pandas.DataFrame):
        raise TypeError(f"frame must be a pandas.DataFrame, got {checks.given(frame)}")
    if not frame.size:
        raise ValueError(f"frame must have rows and columns, got shape {frame.shape}")
    numbers = [name for name in frame if pandas.api.types.is_numeric_dtype(frame[name])]
    words = [name for name in frame if name not in numbers]
    for name in words:
        if (many := frame[name].nunique()) > MOST_CATEGORIES:
            raise ValueError(
                f"frame must hold at most {MOST_CATEGORIES} different words in a column, got "
                f"{many:,} in {name!r}; leave it out with frame.drop(columns={name!r})"
            )
    make_pipeline = optional("sklearn.pipeline", "data").make_pipeline
    SimpleImputer = optional("sklearn.impute", "data").SimpleImputer
    prepared = optional("sklearn.preprocessing", "data")
    one_hot = prepared.OneHotEncoder(handle_unknown=unknown, sparse_output=False)
    of_numbers = make_pipeline(SimpleImputer(strategy="median"), prepared.StandardScaler())
    of_words = make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot)
    return optional("sklearn.compose", "data").ColumnTransformer(
        [("numbers", of_numbers, numbers), ("words", of_words, words)],
        verbose_feature_names_out=False,
    )
