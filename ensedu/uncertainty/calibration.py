"""Whether classes called 80 % likely are right in 80 % of cases."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Integer
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.uncertainty import score_checks

__all__ = ["Reliability", "ece", "reliability"]

#: More bins than this tell nothing more, and would fill the memory.
MOST_BINS = 10_000


@dataclass(frozen=True, eq=False)
class Reliability:
    """The table of a reliability diagram, a row a bin; in an empty bin all numbers are 0."""

    #: The ends of the bins, from 0 to 1.
    edges: Float[Array, " ends"]
    #: How many predictions fall into each.
    count: Int[Array, " bins"]
    #: The mean probability of the predicted class.
    confidence: Float[Array, " bins"]
    #: The fraction of predictions that are right.
    accuracy: Float[Array, " bins"]


def reliability(
    probabilities: Float[Any, "*M B k"], labels: Integer[Any, " B"], *, bins: int = 15
) -> Reliability:
    """Sort predictions into equal bins by their confidence, and say how many of each are right.

    The confidence is the probability of the predicted, likeliest class (of a tie, the first). Bin
    j holds ``j / bins ≤ confidence < (j + 1) / bins``, the last bin 1 as well. torchmetrics does
    the same, but gives a confidence of exactly 1 a bin of its own. There are up to 10,000 bins.

    Examples
    --------
    >>> import numpy as np
    >>> table = reliability(np.array([[0.75, 0.25], [0.125, 0.875]]), np.array([0, 0]), bins=2)
    >>> table.count, table.confidence, table.accuracy
    (array([0, 2]), array([0.    , 0.8125]), array([0. , 0.5]))
    """
    probabilities = score_checks.averaged("probabilities", probabilities)
    labels = score_checks.labels(labels, probabilities, "probabilities")
    bins = checks.positive_int("bins", bins)
    if bins > MOST_BINS:
        raise ValueError(f"bins must be a positive integer up to {MOST_BINS}, got {bins}")
    edges = np.linspace(0, 1, bins + 1)
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    rows = np.minimum(np.searchsorted(edges, confidence, side="right") - 1, bins - 1)
    count = np.bincount(rows, minlength=bins)
    divisor = np.maximum(count, 1)
    return Reliability(
        edges=edges,
        count=count,
        confidence=np.bincount(rows, weights=confidence, minlength=bins) / divisor,
        accuracy=np.bincount(rows, weights=right, minlength=bins) / divisor,
    )


def ece(
    probabilities: Float[Any, "*M B k"], labels: Integer[Any, " B"], *, bins: int = 15
) -> float:
    """The expected calibration error: ``Σ_j count_j / B · |accuracy_j - confidence_j|``.

    Of the bins of `reliability` (Guo et al. 2017, eq. 3). It depends on the bins, and few examples
    a bin make it too large; it is no proper score, as the NLL is.

    Examples
    --------
    >>> import numpy as np
    >>> ece(np.array([[0.75, 0.25], [0.125, 0.875]]), np.array([0, 0]), bins=2)
    0.3125
    """
    table = reliability(probabilities, labels, bins=bins)
    gap = np.abs(table.accuracy - table.confidence)
    return float((table.count * gap).sum() / table.count.sum())
