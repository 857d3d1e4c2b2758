"""Temperature scaling: one number, fitted on held-out examples, mends how sure a network is."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.checks import optional
from ensedu.uncertainty import score_checks

__all__ = ["TemperatureScaling"]

#: Temperatures are searched within this factor of the largest difference of two logits.
RANGE = 1e12


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
