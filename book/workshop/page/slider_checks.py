"""Checks of what an explorer is given: values of sliders, a start, words."""

import inspect
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ensedu.common import checks


def options(name: str, values: Any) -> list[Any]:
    """Return a slider's values as a list of plain Python values."""
    accepted = "a sequence of values, at least one"
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {accepted}, got {checks.describe(values)}")
    if (isinstance(values, np.ndarray) and values.ndim == 0) or not len(values):
        raise ValueError(f"{name} must be {accepted}, got {checks.describe(values)}")
    result = [plain(f"{name}[{i}]", value) for i, value in enumerate(values)]
    try:
        distinct = len(set(result)) == len(result)
    except TypeError:
        raise TypeError(
            f"{name} must be {accepted}, hashable ones, got {checks.describe(values)}"
        ) from None
    if not distinct:
        raise ValueError(f"{name} must be {accepted}, all different, got {checks.describe(values)}")
    return result


def plain(name: str, value: Any) -> Any:
    """Return one value of a slider; a number of NumPy or Torch as a plain one."""
    if isinstance(value, type) or not hasattr(value, "ndim"):
        return value
    if value.ndim:
        raise TypeError(f"{name} must be one value, got an array of shape {tuple(value.shape)}")
    try:
        return value.item()
    except RuntimeError:  # a tensor without data
        raise TypeError(f"{name} must be one value, got {checks.describe(value)}") from None


def states(choices: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return each choice of one value a slider, the last slider moving first."""
    return [
        dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())
    ]


def first_values(start: Any, choices: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the first value of each slider, or the one that `start` names."""
    first = {name: values[0] for name, values in choices.items()}
    if start is None:
        return first
    if not isinstance(start, Mapping):
        raise TypeError(
            f"start must be a dict of slider names to values, got {checks.describe(start)}"
        )
    for name, value in start.items():
        if name not in choices:
            raise ValueError(f"start names the slider {name!r}, accepted are {list(choices)}")
        value = plain(f"start[{name!r}]", value)
        if value not in choices[name]:
            raise ValueError(
                f"start[{name!r}] is {checks.short_repr(value)}, accepted are {choices[name]}"
            )
        first[name] = choices[name][choices[name].index(value)]
    return first


def as_array(name: str, value: Any, accepted: str) -> np.ndarray:
    """Return an array as it is, and a list or a tuple as one."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be {accepted}, got {checks.describe_array(value)}")
    try:
        return np.array(value)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} must be {accepted}, got {checks.describe(value)}") from None


def figure_name(name: str) -> str:
    """Return what a figure is called in addresses, or nothing."""
    if not re.fullmatch(r"[a-z0-9-]*", checks.text("name", name)):
        raise ValueError(f"name must be small letters, digits and hyphens, got {name!r}")
    return name


def check_names(name: str, function: Callable[..., Any], choices: Mapping[str, Any]) -> None:
    """Check that a function takes the sliders' names."""
    try:
        inspect.signature(function).bind(**choices)
    except TypeError as error:
        raise TypeError(f"{name} must take the sliders {list(choices)}: {error}") from None


def check_alt(alt: Any, choices: Mapping[str, list[Any]]) -> None:
    """Check that `alt` is words, or a function of the sliders that returns them."""
    if callable(alt) and not isinstance(alt, type):
        check_names("alt", alt, choices)
    elif not isinstance(alt, str):
        raise TypeError(
            f"alt must be a string or a function that returns one, got {checks.describe(alt)}"
        )
    elif not alt.strip():
        raise ValueError(f"alt must say the figure in words, got {alt!r}")
