"""Priors over weights: frozen dataclasses that both backends share.

Each knows its log density and that one's slope; ``xp`` is the module that computes them, ``numpy``
or ``torch``. From a normal posterior the KL to a `Normal` has a closed form, and is exact. To
`Cauchy` and `ScaleMixture` it has none: there the entropy is exact and the rest is drawn, so that
a single value scatters, and can be negative, but gradients are right on average.
"""

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ensedu.common import checks

__all__ = ["DROPOUT_STD", "Cauchy", "Normal", "Prior", "ScaleMixture", "check_prior"]

#: The standard deviation of Gaussian dropout at rate p = 0.001, √(p / (1 - p)).
DROPOUT_STD = (0.001 / 0.999) ** 0.5


class Prior:
    """Base of the priors: independent on every entry, around ``loc``."""

    #: Whether KL(N(mean, σ²) ‖ prior) has a closed form.
    has_closed_kl: ClassVar[bool] = False
    loc: float

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name == "pi":
                checked = checks.real("pi", value, low=0.0, high=1.0)
            elif field.name == "loc":
                checked = checks.real("loc", value)
            else:
                checked = checks.real(field.name, value, low=0.0)
            # frozen: plain assignment is refused, and the checked value may be another type
            object.__setattr__(self, field.name, checked)

    def log_density(self, w: Any, xp: Any) -> Any:
        """Return log p of each entry of an array `w`, in nats; ``xp`` is numpy or torch."""
        raise NotImplementedError

    def slope(self, w: Any, xp: Any) -> Any:
        """Return the derivative of `log_density` at each entry of an array `w`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Normal(Prior):
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

    has_closed_kl: ClassVar[bool] = True
    loc: float = 0.0
    scale: float = 1.0

    def log_density(self, w: Any, xp: Any) -> Any:
        return _log_normal_density(w - self.loc, self.scale)

    def slope(self, w: Any, xp: Any) -> Any:
        return (self.loc - w) / self.scale**2


@dataclass(frozen=True)
class Cauchy(Prior):
    """An independent Cauchy prior on every entry: the distance from `loc` is half-Cauchy.

    Tails fall as 1/w², so that an entry far from `loc` costs the logarithm of its distance, not its
    square (Dusenberry et al. 2020, sec. 4.1).

    Parameters
    ----------
    loc
        Median, a finite number; there is no mean.
    scale
        Half of all mass lies within this distance from `loc`; a finite number above 0.

    Raises
    ------
    TypeError, ValueError
        For anything else, NaN and infinity included.
    """

    loc: float = 0.0
    scale: float = 1.0

    def log_density(self, w: Any, xp: Any) -> Any:
        distance = (w - self.loc) / self.scale
        return -xp.log1p(distance**2) - math.log(math.pi) - math.log(self.scale)

    def slope(self, w: Any, xp: Any) -> Any:
        away = w - self.loc
        return -2 * away / (self.scale**2 + away**2)

    def kl_from_cauchy(self, loc: Any, scale: Any, xp: Any) -> Any:
        """KL(Cauchy(loc, scale) ‖ this prior) in nats, in closed form (Chyzak and Nielsen 2019).

        For posteriors that are Cauchy themselves, as those of the published rank-1 code are; `loc`
        and `scale` are arrays of the module ``xp``, scales above 0.
        """
        distance = (scale + self.scale) ** 2 + (loc - self.loc) ** 2
        return xp.log(distance / (4 * scale * self.scale))


@dataclass(frozen=True)
class ScaleMixture(Prior):
    """A mixture of two normals of one mean, ``π N(loc, scale1²) + (1 - π) N(loc, scale2²)``.

    Blundell et al. 2015, eq. 7, with their π in {¼, ½, ¾}, -ln scale1 in {0, 1, 2} and -ln scale2
    in {6, 7, 8}: a narrow part that pulls most weights to `loc`, and a wide one for the others.

    Parameters
    ----------
    pi
        Probability of the first part, above 0 and below 1.
    scale1, scale2
        Standard deviations (not variances), finite numbers above 0.
    loc
        Mean of both, a finite number.

    Raises
    ------
    TypeError, ValueError
        For anything else, NaN and infinity included.
    """

    pi: float = 0.5
    scale1: float = 1.0
    scale2: float = math.exp(-6)
    loc: float = 0.0

    def log_density(self, w: Any, xp: Any) -> Any:
        return xp.logaddexp(*self._log_parts(w))

    def slope(self, w: Any, xp: Any) -> Any:
        first, second = self._log_parts(w)
        share = xp.exp(first - xp.logaddexp(first, second))
        return (self.loc - w) * (share / self.scale1**2 + (1 - share) / self.scale2**2)

    def _log_parts(self, w: Any) -> tuple[Any, Any]:
        away = w - self.loc
        return (
            _log_normal_density(away, self.scale1) + math.log(self.pi),
            _log_normal_density(away, self.scale2) + math.log(1 - self.pi),
        )


def check_prior(prior: Any) -> Prior:
    """Return `prior` if it is one of this module."""
    if not isinstance(prior, Prior):
        raise TypeError(
            "prior must be an ensedu.priors.Normal, Cauchy or ScaleMixture, "
            f"got {checks.describe(prior)}"
        )
    return prior


def _log_normal_density(away: Any, scale: float) -> Any:
    """The log density of N(0, scale²)."""
    return -0.5 * (away / scale) ** 2 - 0.5 * math.log(2 * math.pi) - math.log(scale)
