"""Priors over weights: frozen dataclasses that both backends share."""

from dataclasses import dataclass

from ensedu import _checks

__all__ = ["Normal"]


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
        object.__setattr__(self, "loc", _checks.real("loc", self.loc))
        object.__setattr__(self, "scale", _checks.real("scale", self.scale, low=0.0))
