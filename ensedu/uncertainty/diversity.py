"""How much members differ: a mixture of copies is no better than one. Each needs two members."""

from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.uncertainty import score_checks

__all__ = ["chance_disagreement", "disagreement", "error_correlation"]


def disagreement(predictions: Integer[Any, "M B"] | Float[Any, "M B k"]) -> float:
    """The fraction of examples on which two members predict different classes, mean over pairs.

    The predictions are classes, integers (M, B), or probabilities (M, B, k), of which the likeliest
    class counts (of a tie, the first).

    Examples
    --------
    >>> import numpy as np
    >>> disagreement(np.array([[0, 1, 2, 2], [0, 1, 1, 2], [0, 0, 2, 2]]))
    0.3333333333333333
    """
    predictions = score_checks.array(predictions)
    if getattr(getattr(predictions, "dtype", None), "kind", "") == "f":
        classes = score_checks.members("predictions", predictions).argmax(axis=2)
    else:
        classes = score_checks.integers("predictions", predictions, ("M", "B"))
    score_checks.several("predictions", classes)
    return _plain_mean([(one != other).mean() for one, other in combinations(classes, 2)])


def chance_disagreement(probabilities: Float[Any, "M B k"], labels: Integer[Any, " B"]) -> float:
    """The disagreement of members that are as accurate, but err independently of each other.

    Members of accuracies a and b then differ on ``a (1 - b) + b (1 - a) + (1 - a) (1 - b) (k - 2) /
    (k - 1)`` of examples, if both err at random and uniformly over the other k - 1 classes; the
    mean over pairs. Members that make the same errors have a `disagreement` far below it.

    Examples
    --------
    Two members, each right in one of two examples, two classes:

    >>> import numpy as np
    >>> probabilities = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    >>> chance_disagreement(probabilities, np.array([0, 1]))
    0.5
    """
    probabilities = score_checks.members("probabilities", probabilities)
    labels = score_checks.labels(labels, probabilities, "probabilities")
    score_checks.several("probabilities", probabilities)
    classes = probabilities.shape[2]
    if classes < 2:
        raise ValueError(
            f"probabilities must be of at least two classes, got shape {probabilities.shape}"
        )
    same_error = (classes - 2) / (classes - 1)
    accuracies = (probabilities.argmax(axis=2) == labels).mean(axis=1)
    return _plain_mean(
        [
            a * (1 - b) + b * (1 - a) + (1 - a) * (1 - b) * same_error
            for a, b in combinations(accuracies, 2)
        ]
    )


def error_correlation(predictions: Float[Any, "M B k"], targets: Float[Any, "B *k"]) -> float:
    """Pearson's correlation of two members' errors ``f_i - y``, mean over pairs.

    Over all examples and outputs together. At 1 the average of members is no better than they are.
    A member with the same error everywhere is a ``ValueError``: it has no correlation.

    Examples
    --------
    >>> import numpy as np
    >>> members = np.array([[[1.0], [0.0], [-1.0]], [[1.0], [-2.0], [1.0]]])
    >>> abs(error_correlation(members, np.zeros(3))) < 1e-15
    True
    """
    predictions = score_checks.predictions("predictions", predictions)
    targets = score_checks.targets(targets, predictions, "predictions")
    score_checks.several("predictions", predictions)
    errors = (predictions - targets).reshape(len(predictions), -1)
    # What is left of a constant error is the rounding of the subtraction.
    rounding = 1e-12 * max(np.abs(predictions).max(), np.abs(targets).max())
    for i, error in enumerate(errors):
        if np.ptp(error) <= rounding:
            raise ValueError(
                f"predictions must have errors that vary, to correlate, got the error "
                f"{error[0]:g} everywhere for member {i}"
            )
    correlations = np.corrcoef(errors)
    return _plain_mean(correlations[np.triu_indices(len(errors), 1)])


def _plain_mean(values: list[float] | Float[Array, " pairs"]) -> float:
    return float(np.mean(values))
