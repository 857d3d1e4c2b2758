"""Estimators for scikit-learn: any method of this book, calibrated on rows that it has not seen.

`EnsembleRegressor` and `EnsembleClassifier` take arrays, and data frames as people keep them;
``fit`` reads, standardizes, stops early and calibrates, and keeps together what belongs together.
They come with ``pip install "ensedu[sklearn]"``.
"""

from ensedu.common.checks import optional

optional("sklearn.base", "sklearn")
optional("torch", "sklearn")

from ensedu.sklearn.classifier import EnsembleClassifier  # noqa: E402
from ensedu.sklearn.regressor import EnsembleRegressor  # noqa: E402

__all__ = ["EnsembleClassifier", "EnsembleRegressor"]
