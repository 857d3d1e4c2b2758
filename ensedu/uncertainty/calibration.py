"""Whether classes called 80 % likely are right in 80 % of cases, and one number that mends it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Integer
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.uncertainty import score_checks

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
    probabilities, labels = score_checks.labeled_probabilities(probabilities, labels)
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


#: Temperatures are searched within this factor of the largest difference of two logits.
SEARCHED_FACTOR = 1e12


@dataclass(frozen=True)
class TemperatureScaling:
    """Probabilities ``softmax(logits / T)`` (Guo et al. 2017); the likeliest class stays the same.

    Fit it on examples that the network was not trained on::

        scaling = TemperatureScaling.fit(predict(net, x_held_out), y_held_out)
        scaling.probabilities(predict(net, x))

    An ensemble is scaled after averaging, as one network whose logits are the logarithms of the
    averaged probabilities; scaling each member first and averaging then makes it under-confident
    (Rahaman and Thiery 2021).

    Examples
    --------
    Right in three of four cases, with a difference of 2: then ``2 / T = log 3``.

    >>> import numpy as np
    >>> logits = np.array([[2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0]])
    >>> scaling = TemperatureScaling.fit(logits, np.array([0, 0, 0, 1]))
    >>> round(scaling.temperature, 6), round(float(2 / np.log(3)), 6)
    (1.820478, 1.820478)
    >>> scaling.probabilities(logits[:1]).round(6)
    array([[0.75, 0.25]])
    """

    #: T, above 0; above 1 probabilities become more even.
    temperature: float

    def __post_init__(self) -> None:
        checked = checks.real("temperature", self.temperature, low=0.0)
        object.__setattr__(self, "temperature", checked)

    @classmethod
    def fit(cls, logits: Float[Any, "*M B k"], labels: Integer[Any, " B"]) -> "TemperatureScaling":
        """Find the T with the least NLL, which is convex in 1/T, so that it is the only one.

        Needs SciPy. ``ValueError`` also where no T is best: if every label has the greatest logit,
        the NLL falls as T falls to 0; if the labels' logits are on average no greater than the
        others, it falls as T grows.
        """
        logits = _combined(logits)
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

        end = math.log(SEARCHED_FACTOR)
        if slope(-end) >= 0:
            raise ValueError(
                "logits must be greater on average for the labels than for other classes, or the "
                "NLL falls as T grows without end; got logits that tell nothing of the labels"
            )
        if slope(end) <= 0:
            raise ValueError(
                "labels must not all have the greatest logit, or the NLL falls as T falls to 0; "
                f"got logits that are right on each of {len(labels)} examples"
            )
        root = optional("scipy.optimize", "scores").brentq(slope, -end, end, xtol=1e-13)
        return cls(float(widest / math.exp(root)))

    def probabilities(self, logits: Float[Any, "*M B k"]) -> Float[Array, "B k"]:
        """Return ``softmax(logits / T)``, of members after averaging."""
        logits = _combined(logits)
        below = logits - logits.max(axis=-1, keepdims=True)
        with np.errstate(over="ignore"):  # -inf has the probability 0, as it should
            powers = np.exp(below / self.temperature)
        return powers / powers.sum(axis=-1, keepdims=True)


def _combined(logits: Any) -> Float[Array, "B k"]:
    """Return logits (B, k), of members the logarithms of their averaged probabilities."""
    logits = score_checks.floats("logits", logits, ("M", "B", "k"), ("B", "k"))
    if logits.ndim < 3:
        return logits
    logits = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return np.logaddexp.reduce(logits, axis=0) - math.log(len(logits))
