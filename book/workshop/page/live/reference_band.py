"""A band to compare networks with, such as a sampler's posterior: of one model, and of its points.

It is drawn behind the networks as long as points and model are those that it belongs to.
``forecast.js`` decides so, too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ensedu.common import checks
from workshop.page import slider_checks

#: What of a state, and of a side of it, says which posterior it has: the model, and its data.
MODEL = (
    "task", "method", "head", "width", "hidden_layers", "activation", "parametrization",
    "prior_scale", "noise", "points",
)  # fmt: skip
PARTS = ("x", "mean", "std")


def checked_band(given: Any, state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a band as the page has it, with the part of the state that it belongs to.

    Raises
    ------
    TypeError, ValueError
        For anything but None and a dict of ``x``, ``mean`` and ``std``, (B,) each, and a ``label``;
        for x that do not increase evenly, std below 0, and beside points to classify.
    """
    if given is None:
        return None
    accepted = "None or a dict of x, mean, std and label"
    if not isinstance(given, Mapping):
        raise TypeError(f"behind must be {accepted}, got {checks.describe(given)}")
    if set(given) != {*PARTS, "label"}:
        keys = ", ".join(map(str, given)) or "none"
        raise ValueError(f"behind must be {accepted}, got the keys {keys}")
    if state["task"] != "regression":
        raise ValueError("behind must be None beside points to classify, got a dict")
    label = checks.text("behind['label']", given["label"])
    x, mean, std = (_array(f"behind[{part!r}]", given[part]) for part in PARTS)
    if not len(x) == len(mean) == len(std) >= 2:
        raise ValueError(
            "behind must have x, mean and std of one length, at least 2, "
            f"got {len(x)}, {len(mean)} and {len(std)}"
        )
    step = (x[-1] - x[0]) / (len(x) - 1)
    if step <= 0 or not np.allclose(np.diff(x), step):
        raise ValueError("behind['x'] must increase in even steps")
    if std.min() < 0:
        raise ValueError(f"behind['std'] must be 0 or more, got {std.min():g}")
    arrays = {
        name: np.round(array, 4).tolist() for name, array in zip(PARTS, (x, mean, std), strict=True)
    }
    return {"label": label, **arrays, "of": {key: state[key] for key in MODEL}}


def belongs(band: Mapping[str, Any], state: Mapping[str, Any], side: Mapping[str, Any]) -> bool:
    """Return whether a band is that of this model of these points."""
    now = {**state, **side}
    return all(now[key] == value for key, value in band["of"].items())


def _array(name: str, value: Any) -> np.ndarray:
    array = slider_checks.as_array(name, value, "an array (B,) of finite numbers")
    if array.dtype.kind not in "fiu":
        raise TypeError(
            f"{name} must be an array (B,) of numbers, got {checks.describe_array(value)}"
        )
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError(f"{name} must be an array (B,) of finite numbers, got {array.shape}")
    return array.astype(float)
