"""Draws of a perturbed matrix, full and rank-1."""

from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.arrays import check_rng
from ensedu.theory.perturbations.covariances import (
    check_covariances,
    check_weight,
    checked_relative,
    symmetric_root,
)

__all__ = ["multiplicative", "rank1"]


def multiplicative(
    weight: Float[Array, "m n"], relative: Float[Array, "m n_ m n_"], *, rng: Generator, draws: int
) -> Float[Array, "S m n"]:
    """Draw ``W ∘ (1 + Z)`` with Z from N(0, Σ): as many normal numbers as W has entries each.

    Parameters
    ----------
    weight
        W.
    relative
        Σ, the covariance of Z, as `separable` returns it; (m, 1, m, 1) moves rows as a whole.
    rng
        The source of the numbers.
    draws
        S, a positive integer.

    Raises
    ------
    TypeError, ValueError
        For another argument, and a Σ that is not symmetric or has a negative eigenvalue.
    """
    relative = checked_relative(weight, relative)
    size = weight.size
    root = symmetric_root("relative", relative.reshape(size, size))
    draws, rng = checks.positive_int("draws", draws), check_rng("rng", rng)
    moved = rng.standard_normal((draws, size)) @ root  # Z
    return weight * (1 + moved.reshape(draws, *weight.shape))


def rank1(
    weight: Float[Array, "m n"],
    r_cov: Float[Array, "m m"],
    s_cov: Float[Array, "n n"] | None = None,
    *,
    rng: Generator,
    draws: int,
) -> Float[Array, "S m n"]:
    """Draw ``W ∘ r sᵀ`` with normal r and s of mean 1: m + n numbers, or m where s stands still.

    Parameters
    ----------
    weight
        W.
    r_cov, s_cov
        As for `separable`.
    rng
        The source of the numbers.
    draws
        S, a positive integer.

    Raises
    ------
    TypeError, ValueError
        As `separable` and `multiplicative` do.
    """
    check_weight(weight)
    check_covariances(r_cov, s_cov, weight.shape)
    draws, rng = checks.positive_int("draws", draws), check_rng("rng", rng)
    r = 1 + rng.standard_normal((draws, len(r_cov))) @ symmetric_root("r_cov", r_cov)
    scaled = weight * r[:, :, None]
    if s_cov is None:
        return scaled
    s = 1 + rng.standard_normal((draws, len(s_cov))) @ symmetric_root("s_cov", s_cov)
    return scaled * s[:, None, :]
