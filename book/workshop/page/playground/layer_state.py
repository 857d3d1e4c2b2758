"""The state of a playground, checked: one dictionary in Python, in the browser, in a link."""

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ensedu.common import checks
from ensedu.methods import METHODS
from workshop.page import slider_checks
from workshop.page.fields import Choice, Field, WholeNumber
from workshop.page.playground import layers

__all__ = [
    "CHALLENGES", "FIELDS", "START", "changed", "checked", "options", "rechecked", "set_arrays",
]  # fmt: skip

# The first method whose members are rescalings of one matrix.
_SHARING = next(key for key in layers.METHODS if METHODS[key].modulated)
#: Where the playground opens: on a layer where sharing saves.
START: dict[str, Any] = {
    "method": _SHARING, "in_features": 4, "out_features": 5, "ensemble_size": 4, "numbers": 0,
    "draw": 0,
}  # fmt: skip
#: What a page may set; `challenges.js` says what each is.
CHALLENGES = ("equal", "ways", "reach", "price")
FIELDS: dict[str, Field] = {
    "method": Choice(layers.METHODS),
    **{name: WholeNumber(1, most) for name, most in layers.MOST.items()},
    **{name: WholeNumber(0, layers.SEEDS - 1) for name in ("numbers", "draw")},
    "challenge": Choice(CHALLENGES, optional=True),
}


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return these options, those of `START`, with a challenge and edits of none.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, a size or a seed out of range.
    """
    return {
        **{name: FIELDS[name].checked(name, given[name]) for name in START},
        "challenge": None,
        "edits": {},
    }


def options(state: Mapping[str, Any]) -> MappingProxyType[str, Any]:
    """Return what a reader knows as the options, read-only."""
    return MappingProxyType({name: state[name] for name in START})


def changed(state: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """Return a state with some other options; its edits stay.

    Raises
    ------
    TypeError, ValueError
        For anything but a dict of options, and as `checked`.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"options must be a dict such as {{'draw': 1}}, got {checks.given(given)}")
    for name in given:
        if name not in START:
            raise ValueError(
                f"options has the key {checks.shown(name)}, accepted are {', '.join(START)}"
            )
    return checked({**options(state), **given}) | {"edits": state["edits"]}


def set_arrays(state: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """Return a state whose layer has these arrays; those that are not named stay.

    Raises
    ------
    TypeError, ValueError
        For anything but a dict of arrays with the names and shapes of `layers.arrays`, and a
        number out of `layers.LIMITS`.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"arrays must be a dict of arrays, got {checks.given(given)}")
    known = layers.arrays(state)
    found = dict(state)
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"arrays has the key {checks.shown(name)}, accepted are {', '.join(known)}"
            )
        array = _checked_array(f"arrays[{name!r}]", value, known[name].shape)
        low, high = layers.limits(name)
        outside = array[~((array >= low) & (array <= high))]
        if outside.size:
            raise ValueError(
                f"arrays[{name!r}] must hold numbers from {low:g} to {high:g}, got {outside[0]:g}"
            )
        found["edits"] = layers.edits(found, name, array)
    return found


def _checked_array(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = slider_checks.as_array(name, value, f"a NumPy array or a list of shape {shape}")
    if array.dtype.kind not in "fiu" or np.ma.isMaskedArray(array):
        raise TypeError(f"{name} must be an array of numbers, got {checks.given_array(value)}")
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, accepted is {shape}")
    return np.array(array, dtype=np.float64, subok=False) + 0.0  # no -0


@functools.cache
def _limits_of_edits() -> dict[str, tuple[float, float]]:
    """From where to where each number that some layer stores may be, by its name in `edits`."""
    return {
        layers.edit_name(name, place): layers.limits(name)
        for (name, _), array in layers.numbers(0).items()
        for place in np.ndindex(array.shape)
    }


def rechecked(state: Any) -> dict[str, Any]:
    """Return a state that comes from a page, checked again.

    Raises
    ------
    TypeError, ValueError
        For anything but a dict, a part that is missing, an edit of what no layer stores, or out of
        `layers.LIMITS`, and as `checked`.
    """
    if not isinstance(state, Mapping):
        raise TypeError(f"a state must be a dict, got {checks.given(state)}")
    for name in (*START, "challenge", "edits"):
        if name not in state:
            raise ValueError(f"a state must have {name}, got {checks.shown(list(state))}")
    found = checked(state)
    found["challenge"] = FIELDS["challenge"].checked("challenge", state["challenge"])
    if not isinstance(state["edits"], Mapping):
        raise TypeError(
            f"edits must be a dict such as {{'x:0': 3.0}}, got {checks.given(state['edits'])}"
        )
    for edit, value in state["edits"].items():
        if edit not in _limits_of_edits():
            raise ValueError(
                f"edits has the key {checks.shown(edit)}, accepted are such as 'x:0' and 'r:1,2'"
            )
        low, high = _limits_of_edits()[edit]
        number = checks.real(f"edits[{edit!r}]", value)
        if not low <= number <= high:
            raise ValueError(f"edits[{edit!r}] must be from {low:g} to {high:g}, got {number:g}")
        found["edits"][edit] = number
    return found
