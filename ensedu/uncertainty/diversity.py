"""How much members differ: a mixture of copies is no better than one."""

from itertools import combinations

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.uncertainty import score_checks

__all__ = ["chance_disagreement", "disagreement", "error_correlation"]


def disagreement(predictions: Integer[Array, "M B"] | Float[Array, "M B k"]) -> float:
    """The fraction of examples on which two members predict different classes, mean over pairs.

    Parameters
    ----------
    predictions
        Predicted classes, integers (M, B), or probabilities (M, B, k), of which the likeliest class
        (of a tie, the first) is the prediction; at least two members.

    Raises
    ------
    TypeError, ValueError
        For another array, probabilities that are negative or do not sum to 1, or one member.

    Examples
    --------
    >>> import numpy as np
    >>> disagreement(np.array([[0, 1, 2, 2], [0, 1, 1, 2], [0, 0, 2, 2]]))
    0.3333333333333333
    """
    if getattr(getattr(predictions, "dtype", None), "kind", "") == "f":
        classes = _predicted_classes("predictions", predictions)
    else:
        classes = score_checks.integers("predictions", predictions, ("M", "B"))
    score_checks.several("predictions", predictions)
    return _plain_mean([(one != other).mean() for one, other in combinations(classes, 2)])


def chance_disagreement(
    probabilities: Float[Array, "M B k"], labels: Integer[Array, " B"]
) -> float:
    """The disagreement of members that are as accurate, but err independently of each other.

    Members of accuracies a and b then differ on ``a (1 - b) + b (1 - a) + (1 - a) (1 - b) (k - 2) /
    (k - 1)`` of examples, if both err at random and uniformly over the other k - 1 classes; the
    mean over pairs. Members that make the same errors have a `disagreement` far below it.

    Parameters
    ----------
    probabilities
        (M, B, k), of at least two members and two classes.
    labels
        (B,), from 0 to k - 1.

    Raises
    ------
    TypeError, ValueError
        For other arrays, probabilities that are negative or do not sum to 1, a label out of range,
        one member, or one class.

    Examples
    --------
    Two members, each right in one of two examples, two classes:

    >>> import numpy as np
    >>> probabilities = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]])
    >>> chance_disagreement(probabilities, np.array([0, 1]))
    0.5
    """
    predicted = _predicted_classes("probabilities", probabilities)
    labels = score_checks.labels(labels, probabilities, "probabilities")
    score_checks.several("probabilities", probabilities)
    classes = probabilities.shape[2]
    if classes < 2:
        raise ValueError(
            f"probabilities must be of at least two classes, got shape {probabilities.shape}"
        )
    same_error = (classes - 2) / (classes - 1)
    accuracies = (predicted == labels).mean(axis=1)
    return _plain_mean(
        [
            a * (1 - b) + b * (1 - a) + (1 - a) * (1 - b) * same_error
            for a, b in combinations(accuracies, 2)
        ]
    )


def error_correlation(predictions: Float[Array, "M B k"], targets: Float[Array, "B *k"]) -> float:
    """Pearson's correlation of two members' errors ``f_i - y``, mean over pairs.

    Over all examples and outputs together. At 1 the average of members is no better than they are.

    Parameters
    ----------
    predictions
        f of each member, (M, B, k), of at least two members.
    targets
        y, (B, k), or (B,) for k = 1.

    Raises
    ------
    TypeError, ValueError
        For other arrays, one member, or a member with the same error everywhere, which has no
        correlation with any other.

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


def _predicted_classes(name: str, probabilities: Array) -> Integer[Array, "M B"]:
    return score_checks.probabilities(name, probabilities, ("M", "B", "k")).argmax(axis=2)


def _plain_mean(values: list[float] | Float[Array, " pairs"]) -> float:
    return float(np.mean(values))
