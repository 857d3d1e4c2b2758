"""Temperature scaling: one number, fitted on held-out examples, mends how sure a network is."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.optional import optional
from ensedu.uncertainty import score_checks

__all__ = ["TemperatureScaling"]

#: Temperatures are searched within this factor of the largest difference of two logits.
RANGE = 1e12


@dataclass(frozen=True)
class TemperatureScaling:
    """Probabilities ``softmax(logits / T)`` (Guo et al. 2017); the likeliest class stays the same.

    Fit it on examples that the network was not trained on. An ensemble is scaled after averaging:
    pass the logarithm of the averaged probabilities (from `softmax`, which does not round them to 0
    as float32 does); scaling each member first and averaging then makes the ensemble
    under-confident (Rahaman and Thiery 2021).

    Raises
    ------
    TypeError, ValueError
        For a temperature that is not a number above 0.

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
    def fit(cls, logits: Float[Array, "B k"], labels: Integer[Array, " B"]) -> "TemperatureScaling":
        """Find the T with the least NLL, which is convex in 1/T, so that it is the only one.

        Needs SciPy.

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

    def probabilities(self, logits: Float[Array, "*M B k"]) -> Float[Array, "*M B k"]:
        """Return ``softmax(logits / T)`` of logits (M, B, k), or (B, k).

        Raises ``TypeError`` or ``ValueError`` for another array.
        """
        logits = score_checks.floats("logits", logits, ("M", "B", "k"), ("B", "k"))
        below = logits - logits.max(axis=-1, keepdims=True)
        with np.errstate(over="ignore"):  # -inf has the probability 0, as it should
            powers = np.exp(below / self.temperature)
        return powers / powers.sum(axis=-1, keepdims=True)
