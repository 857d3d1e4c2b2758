"""How members train under a kernel that stays as it is."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.array_checks import check_float64


def flow(
    kernel: Float[Array, "M M B B"],
    start: Float[Array, "M B"],
    targets: Float[Array, " B"],
    times: Sequence[float],
) -> Float[Array, "T M B"]:
    """Return the members' outputs on the training inputs at each of these times.

    ``f(t) = y + exp(-Θ t / B) (f(0) - y)``: under a kernel that stays as it is, every member's
    distance from the targets shrinks as ``d(f - y)/dt = -Θ (f - y) / B``, by its loss
    ``½ mean_x (f_i - y)²``. A step of gradient descent takes a time of its learning
    rate.

    Parameters
    ----------
    kernel
        Θ of each pair of members and of training inputs, as `Kernel.total` gives it: symmetric.
    start
        f(0), as ``net(x)``.
    targets
        y, (B,), the same for all members.
    times
        A list of numbers from 0 up.
    """
    for name, array in (("kernel", kernel), ("start", start), ("targets", targets)):
        check_float64(name, array)
    M, B = start.shape if start.ndim == 2 else (0, 0)
    if kernel.shape != (M, M, B, B) or targets.shape != (B,):
        raise ValueError(
            f"kernel has shape {kernel.shape}, start {start.shape} and targets {targets.shape}, "
            "accepted are (M, M, B, B), (M, B) and (B,)"
        )
    matrix = kernel.transpose(0, 2, 1, 3).reshape(M * B, M * B)
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * np.abs(matrix).max()):
        raise ValueError("kernel must be symmetric: that of x with itself, not with other inputs")
    if isinstance(times, (str, bytes)) or not isinstance(times, Sequence):
        raise TypeError(f"times must be a sequence of numbers, got {checks.describe(times)}")
    moments = np.array([checks.not_negative(f"times[{i}]", t) for i, t in enumerate(times)])
    rates, directions = np.linalg.eigh((matrix + matrix.T) / 2)
    begin = directions.T @ (start - targets).ravel()
    shrunk = np.exp(-np.outer(moments, rates) / B) * begin  # (T, M B)
    return targets + (shrunk @ directions.T).reshape(-1, M, B)


def modes(ensemble_size: int, ratio: float | int, gamma: float | int = 1.0) -> tuple[float, float]:
    """Return how fast members move together and apart, where Θ^com_ij = χ Θ^com_ii for all j ≠ i.

    Relative to one network of that kernel: the mean of the members at ``γ (1 + (M - 1) χ) / M``,
    every difference of two at ``γ (1 - χ) / M``. At χ = 0 both are γ / M: no member sees another.
    At χ = 1 differences stay as they are.

    Parameters
    ----------
    ensemble_size
        M, a positive integer.
    ratio
        χ, from -1 / (M - 1), below which there is no such kernel, to 1.
    gamma
        γ(M): 1 for the mean of the members' losses, M for their sum.

    Examples
    --------
    >>> modes(4, 0.0, gamma=4.0)
    (1.0, 1.0)
    >>> modes(4, 1.0)
    (1.0, 0.0)
    """
    M = checks.positive_int("ensemble_size", ensemble_size)
    share, factor = checks.real("ratio", ratio), checks.real("gamma", gamma, low=0.0)
    if not (-1 / (M - 1) if M > 1 else -1) <= share <= 1:
        raise ValueError(f"ratio must be from -1 / (M - 1) to 1, got {ratio!r} for M = {M}")
    return factor * (1 + (M - 1) * share) / M, factor * (1 - share) / M
