"""Priors over weights: frozen dataclasses that both backends share."""

from dataclasses import dataclass
from typing import Any

from ensedu import checks

__all__ = ["DROPOUT_STD", "Normal", "check_prior"]

#: The standard deviation of Gaussian dropout at rate p = 0.001, √(p / (1 - p)).
DROPOUT_STD = (0.001 / 0.999) ** 0.5


@dataclass(frozen=True)
class Normal:
    """An independent normal prior ``N(loc, scale²)`` on every entry.

    Parameters
    ----------
    loc
        Mean, a finite number.
    scale
        Standard deviation (not variance), a finite number above 0.

    Raises
    ------
    TypeError, ValueError
        For anything else, NaN and infinity included.
    """

    loc: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        # frozen: plain assignment is refused, and the checked value may be another type
        object.__setattr__(self, "loc", checks.real("loc", self.loc))
        object.__setattr__(self, "scale", checks.real("scale", self.scale, low=0.0))


def check_prior(prior: Any) -> Normal:
    """Return `prior` if the closed form of the KL is known for it."""
    if not isinstance(prior, Normal):
        raise TypeError(f"prior must be an ensedu.priors.Normal, got {checks.given(prior)}")
    return prior
