"""Checks of what losses are given, targets and labels, shared by both backends."""

from typing import Any

from ensedu.common import checks

__all__ = ["check_label_range", "check_labels", "check_targets", "nll_exponent"]


def check_targets(outputs: tuple[int, ...], value: tuple[int, ...], heads: int) -> None:
    """Check the shape of numbers to predict against that of the outputs.

    They are (B, k), (B,) for k = 1, or (M, B, k) where each member has examples of its own. The
    outputs have so many numbers for each target as there are `heads`, the names of which are shown.
    """
    columns = (*value, 1) if len(value) == 1 else tuple(value)
    fits = len(outputs) >= max(2, len(columns)) and len(columns) >= 2
    wanted = (*columns[:-1], heads * columns[-1]) if columns else ()
    if not fits or tuple(outputs[-len(columns) :]) != wanted:
        k = "k" if heads == 1 else f"{heads}k"
        raise ValueError(
            f"outputs have shape {tuple(outputs)} and targets {tuple(value)}, accepted are "
            f"(M, B, {k}) or (B, {k}) with (B, k), or (B,) for k = 1, and (M, B, {k}) with "
            "(M, B, k)"
        )


def check_labels(outputs: tuple[int, ...], value: tuple[int, ...]) -> None:
    """Check the shape of labels, (B,) or (M, B), against that of the outputs."""
    axes = len(value)
    if not 1 <= axes < len(outputs) or tuple(outputs[-axes - 1 : -1]) != tuple(value):
        raise ValueError(
            f"outputs have shape {tuple(outputs)} and targets {tuple(value)}, accepted are "
            "(M, B, k) or (B, k) with (B,), and (M, B, k) with (M, B)"
        )


def check_label_range(low: int, high: int, classes: int) -> None:
    """Check that labels from `low` to `high` are of so many `classes`."""
    if not 0 <= low <= high < classes:
        raise ValueError(
            f"targets hold labels from {low} to {high}, accepted are 0 to {classes - 1}"
        )


def nll_exponent(beta: Any, reduction: Any) -> float:
    """Return the exponent of a β-NLL, which has no mixture, as a ``float``."""
    number = checks.real("beta", beta)
    if not 0 <= number <= 1:
        raise ValueError(f"beta must be from 0 to 1, got {beta!r}")
    if number and isinstance(reduction, str) and reduction == "mixture":
        raise ValueError(f"beta must be 0 for the reduction 'mixture', of densities, got {beta!r}")
    return number
