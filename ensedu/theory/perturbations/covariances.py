"""Covariances: of r sᵀ, of what it makes of a matrix, and of samples."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import arrays
from ensedu.common.arrays import check_float64

__all__ = [
    "check_covariances",
    "check_weight",
    "checked_relative",
    "separable",
    "spread",
    "spread_of",
    "symmetric_root",
]

#: Of the largest eigenvalue: an eigenvalue of a covariance that is further below 0 is an error.
SLACK = 1e-9

Covariance = Float[Array, "m n m n"]


def separable(r_cov: Float[Array, "m m"], s_cov: Float[Array, "n n"] | None = None) -> Covariance:
    """The covariance of r sᵀ, ``E[r_a r_a'] E[s_j s_j'] - 1``.

    r and s are independent of each other, of mean 1, and of any law with these covariances.

    Parameters
    ----------
    r_cov, s_cov
        Covariances, symmetric and without negative eigenvalues. Without `s_cov` s stands still, and
        the result is (m, 1, m, 1), which fits any n.

    Raises
    ------
    TypeError, ValueError
        For arrays of other shapes or dtypes, numbers that are not finite, and what is no
        covariance.
    """
    check_covariances(r_cov, s_cov)
    s_cov = np.zeros((1, 1)) if s_cov is None else s_cov
    return (np.multiply.outer(1 + r_cov, 1 + s_cov) - 1).transpose(0, 2, 1, 3)


def spread_of(
    weight: Float[Array, "m n"], relative: Float[Array, "m n_ m n_"]
) -> Float[Array, "mn mn"]:
    """The covariance of ``V = W ∘ (1 + Z)``, ``W_aj Σ_aj,a'j' W_a'j'``, for vectors of entries.

    Raises ``TypeError`` or ``ValueError`` as `multiplicative` does for these arguments.
    """
    relative = checked_relative(weight, relative)
    scaled = relative * np.multiply.outer(weight, weight)
    return scaled.reshape(weight.size, weight.size)


def spread(samples: Float[Array, "S *axes"]) -> Float[Array, "mn mn"]:
    """The covariance of samples, each made a vector, with the divisor S - 1.

    Raises ``TypeError`` or ``ValueError`` for anything but finite float64 of two samples or more.
    """
    check_float64("samples", samples)
    if samples.ndim < 2 or len(samples) < 2 or samples.size == 0:
        raise ValueError(f"samples has shape {samples.shape}, accepted is (S, m, n), S at least 2")
    arrays.check_finite("samples", samples)
    return np.atleast_2d(np.cov(samples.reshape(len(samples), -1), rowvar=False))


def check_weight(weight: Any) -> None:
    """Check that W is a matrix (m, n) of finite float64."""
    check_float64("weight", weight)
    if weight.ndim != 2 or weight.size == 0:
        raise ValueError(f"weight has shape {weight.shape}, accepted is (m, n) with no size 0")
    arrays.check_finite("weight", weight)


def checked_relative(weight: Any, relative: Any) -> Covariance:
    """Return a checked Σ with all its axes."""
    check_weight(weight)
    check_float64("relative", relative)
    m, n = weight.shape
    if relative.shape not in ((m, n, m, n), (m, 1, m, 1)):
        raise ValueError(
            f"relative has shape {relative.shape}, accepted is {(m, n, m, n)} or {(m, 1, m, 1)}, "
            f"for a weight {(m, n)}"
        )
    own = relative.shape[0] * relative.shape[1]
    symmetric_root("relative", relative.reshape(own, own))
    return np.broadcast_to(relative, (m, n, m, n))


def check_covariances(r_cov: Any, s_cov: Any, shape: tuple[int, int] | None = None) -> None:
    """Check the covariances of r and s, of a weight of this shape."""
    like = "" if shape is None else "weight"
    for name, value, size in zip(
        ("r_cov", "s_cov"), (r_cov, s_cov), shape or ("m", "n"), strict=True
    ):
        if name == "r_cov" or value is not None:
            check_float64(name, value)
            arrays.check_array(name, value, "f", "floats", (size, size), like=like)
            symmetric_root(name, value)


def symmetric_root(name: str, covariance: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """Return the symmetric root of what must be a covariance."""
    if covariance.shape[0] != covariance.shape[1]:
        raise ValueError(f"{name} has shape {covariance.shape}, accepted is a square")
    arrays.check_finite(name, covariance)
    most = float(np.abs(covariance).max())
    apart = float(np.abs(covariance - covariance.T).max())
    if apart > SLACK * most:
        raise ValueError(f"{name} must be symmetric, got entries that differ by {apart:.2g}")
    values, vectors = np.linalg.eigh(covariance)
    if values[0] < -SLACK * most * len(covariance):
        raise ValueError(
            f"{name} must be a covariance, without negative eigenvalues, got {values[0]:.2g}"
        )
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
