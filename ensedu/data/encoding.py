"""Inputs of a network from a table of pandas, by scikit-learn."""

from typing import Any

from ensedu.common import checks
from ensedu.common.checks import optional

#: A column of more different words keeps the most frequent ones, and the others are one.
MOST_CATEGORIES = 50
#: Of such a column a word of fewer rows is among the others.
FEWEST_ROWS = 5


def encoder(frame: Any, *, unknown: str = "error") -> Any:
    """Return a scikit-learn ``ColumnTransformer`` for the columns of a frame, not yet fitted.

    Numbers are standardized, with the median for gaps; words become one-hot columns, with the most
    frequent word for gaps. Of more than 50 different words in a column, as of brands, 49 at most
    have a column each, and those of fewer than 5 rows and the rest have one together. What it
    transforms to is an array in float64, (N, m). `clean` makes such columns, and names those of new
    rows that are missing or too many.

    Parameters
    ----------
    frame
        The columns to encode: a ``DataFrame``, without what is to be predicted.
    unknown
        What a word does that no row to fit on has: ``"error"``, or ``"ignore"``, by which it
        is one of the rest, and where there are none zeros, an input that no network was trained on.

    Raises
    ------
    ImportError
        If scikit-learn is not installed.
    TypeError, ValueError
        For no frame with rows, or another `unknown`.

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
    many = [name for name in words if frame[name].nunique() > MOST_CATEGORIES]
    make_pipeline = optional("sklearn.pipeline", "data").make_pipeline
    SimpleImputer = optional("sklearn.impute", "data").SimpleImputer
    prepared = optional("sklearn.preprocessing", "data")

    def of_words(**rare: Any) -> Any:
        how = "error" if unknown == "error" else "infrequent_if_exist"
        one_hot = prepared.OneHotEncoder(handle_unknown=how, sparse_output=False, **rare)
        return make_pipeline(
            SimpleImputer(strategy="most_frequent", keep_empty_features=True), one_hot
        )

    of_numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), prepared.StandardScaler()
    )
    rare = {"max_categories": MOST_CATEGORIES, "min_frequency": FEWEST_ROWS}
    return optional("sklearn.compose", "data").ColumnTransformer(
        [
            ("numbers", of_numbers, numbers),
            ("words", of_words(), [name for name in words if name not in many]),
            ("many words", of_words(**rare), many),
        ],
        verbose_feature_names_out=False,
    )
