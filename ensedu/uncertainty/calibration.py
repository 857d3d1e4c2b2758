"""Whether classes called 80 % likely are right in 80 % of cases, and one number to mend it."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Integer
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.optional import optional
from ensedu.uncertainty import score_checks

__all__ = ["Reliability", "ece", "reliability", "scaled", "temperature"]

#: More bins than this tell nothing more, and would fill the memory.
MOST_BINS = 10_000
#: Temperatures are searched within this factor of the largest difference of two logits.
RANGE = 1e12


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
    probabilities: Float[Array, "B k"], labels: Integer[Array, " B"], *, bins: int = 15
) -> Reliability:
    """Sort predictions into equal bins by their confidence, and say how many of each are right.

    The confidence is the probability of the predicted, likeliest class (of a tie, the first). Bin
    j holds ``j / bins ≤ confidence < (j + 1) / bins``, the last bin 1 as well. torchmetrics does
    the same, but gives a confidence of exactly 1 a bin of its own.

    Parameters
    ----------
    probabilities
        (B, k), such as `averaged` returns.
    labels
        (B,), from 0 to k - 1.
    bins
        Up to 10,000.

    Raises
    ------
    TypeError, ValueError
        For other arrays, probabilities that are negative or do not sum to 1, a label out of range,
        or another number of bins.

    Examples
    --------
    >>> import numpy as np
    >>> table = reliability(np.array([[0.75, 0.25], [0.125, 0.875]]), np.array([0, 0]), bins=2)
    >>> table.count, table.confidence, table.accuracy
    (array([0, 2]), array([0.    , 0.8125]), array([0. , 0.5]))
    """
    probabilities = score_checks.probabilities("probabilities", probabilities, ("B", "k"))
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
    probabilities: Float[Array, "B k"], labels: Integer[Array, " B"], *, bins: int = 15
) -> float:
    """The expected calibration error: ``Σ_j count_j / B · |accuracy_j - confidence_j|``.

    Of the bins of `reliability` (Guo et al. 2017, eq. 3). It depends on the bins, and few examples
    a bin make it too large; it is no proper score, as the NLL is.

    Parameters
    ----------
    probabilities
        (B, k), such as `averaged` returns.
    labels
        (B,), from 0 to k - 1.
    bins
        Up to 10,000.

    Raises
    ------
    TypeError, ValueError
        As `reliability` does.

    Examples
    --------
    >>> import numpy as np
    >>> ece(np.array([[0.75, 0.25], [0.125, 0.875]]), np.array([0, 0]), bins=2)
    0.3125
    """
    table = reliability(probabilities, labels, bins=bins)
    gap = np.abs(table.accuracy - table.confidence)
    return float((table.count * gap).sum() / table.count.sum())


def temperature(logits: Float[Array, "B k"], labels: Integer[Array, " B"]) -> float:
    """Return the T > 0 for which ``softmax(logits / T)`` has the least NLL (Guo et al. 2017).

    The NLL is convex in 1/T, so the T at which its slope is 0 is the only one. Fit it on examples
    that the network was not trained on. An ensemble is scaled after averaging: pass the logarithm
    of the averaged probabilities (from `softmax`, which does not round them to 0 as float32 does);
    scaling each member first and averaging then makes the ensemble under-confident (Rahaman and
    Thiery 2021). Needs SciPy.

    Parameters
    ----------
    logits
        (B, k).
    labels
        (B,), from 0 to k - 1.

    Raises
    ------
    TypeError
        For other arrays.
    ValueError
        For other arrays, a label out of range, and where no T is best: if every label has the
        greatest logit, the NLL falls as T falls to 0; if the labels' logits are on average no
        greater than the others, it falls as T grows.
    ImportError
        If SciPy is not installed.

    Examples
    --------
    Right in three of four cases, with a difference of 2: then ``2 / T = log 3``.

    >>> import numpy as np
    >>> logits = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> round(temperature(logits, np.array([0, 0, 0, 1])), 6), round(float(2 / np.log(3)), 6)
    (1.820478, 1.820478)
    """
    logits = score_checks.floats("logits", logits, ("B", "k"))
    labels = score_checks.labels(labels, logits, "logits")
    below = logits - logits.max(axis=1, keepdims=True)  # from 0 down
    widest = -below.min()
    unit = below / (widest or 1.0)
    of_labels = unit[np.arange(len(labels)), labels]

    def slope(log_sharpness: float) -> float:
        """The slope of the mean NLL of ``softmax(sharpness · unit)`` in the sharpness."""
        powers = np.exp(math.exp(log_sharpness) * unit)
        expected = (powers * unit).sum(axis=1) / powers.sum(axis=1)
        return float((expected - of_labels).mean())

    end = math.log(RANGE)
    if slope(-end) >= 0:
        raise ValueError(
            "logits must be greater on average for the labels than for other classes, or the NLL "
            "falls as T grows without end; got logits that tell nothing of the labels"
        )
    if slope(end) <= 0:
        raise ValueError(
            "labels must not all have the greatest logit, or the NLL falls as T falls to 0; got "
            f"logits that are right on each of {len(labels)} examples"
        )
    root = optional("scipy.optimize", "scores").brentq(slope, -end, end, xtol=1e-13)
    return float(widest / math.exp(root))


def scaled(logits: Float[Array, "*M B k"], temperature: float) -> Float[Array, "*M B k"]:
    """Return the probabilities ``softmax(logits / T)``.

    Parameters
    ----------
    logits
        (M, B, k), or (B, k).
    temperature
        T > 0, such as `temperature` returns; above 1 probabilities become more even.

    Raises
    ------
    TypeError, ValueError
        For another array, or a T that is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> scaled(np.array([[0.0, np.log(9.0)]]), 2.0).round(6)
    array([[0.25, 0.75]])
    """
    logits = score_checks.floats("logits", logits, ("M", "B", "k"), ("B", "k"))
    temperature = checks.real("temperature", temperature, low=0.0)
    below = logits - logits.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):  # -inf has the probability 0, as it should
        powers = np.exp(below / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)
