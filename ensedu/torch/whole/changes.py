"""What a pass leaves on the modules of a model: buffers, tensors, counts and switches."""

from contextlib import suppress
from dataclasses import dataclass
from operator import is_
from typing import Any

import torch
from torch import Tensor

from ensedu.torch.trees import CONSTANTS, named_tensors
from ensedu.torch.whole.parts import OF_MODULES, Parts
from ensedu.torch.whole.run import Run


@dataclass(eq=False)
class Change:
    """A buffer, or an attribute with tensors, that a pass has left on a module.

    Where it stands in the net, its name and value; the path of its module if it is an attribute,
    and whether members differ in it.
    """

    there: dict[str, Any]
    key: str
    value: Any
    path: str | None = None
    differs: bool = True


def held(parts: Parts, stand_ins: dict[str, Any]) -> dict[str, tuple[dict[str, Any], Any]]:
    """Return what stand-ins hold before a pass, and which tensors stand in their containers."""
    return {
        path: (own.copy(), {key: _ids(own[key]) for key in parts[path].bound})
        for path, own in ((path, vars(stand_in)) for path, stand_in in stand_ins.items())
    }


def changes_of(
    parts: Parts,
    stand_ins: dict[str, Any],
    before: dict[str, tuple[dict[str, Any], Any]],
    unmoved: dict[str, Tensor],
) -> tuple[list[Change], list[tuple[dict[str, Any], str, Any]]]:
    """Return buffers but those `unmoved`, and tensors that a pass has left on modules.

    Then what the model counts and switches: where it stands in the net, its name and value.
    """
    changes: list[Change] = []
    constants: list[Any] = []
    for path, stand_in in stand_ins.items():
        part, (was, ids), now = parts[path], before[path], vars(stand_in)
        for key, name in part.buffers.items():
            if (value := stand_in._buffers[key]) is not unmoved.get(name):
                changes.append(Change(part.there._buffers, key, value))
        # Most modules leave nothing, and this sees it soonest.
        if not ids and len(now) == len(was) and all(map(is_, now.values(), was.values())):
            continue
        for key, value in now.items():
            if value is was.get(key, was) and key not in ids:
                continue
            if key in OF_MODULES or key == "_flat_weights":
                continue
            if isinstance(value, CONSTANTS):
                constants.append((vars(part.there), key, value))
            elif (tensors := _ids(value)) and tensors != ids.get(key):
                changes.append(Change(vars(part.there), key, value, path))
    return changes, constants


@torch.no_grad()
def keep(
    run: Run, changes: list[Change], constants: list[Any], carried: dict[tuple[str, str], bool],
    owns_buffers: bool,
) -> None:  # fmt: skip
    """Keep in the net what a pass has changed, of all members, if the run keeps it.

    Attributes with tensors are then `carried`; floating-point buffers are a member's where it
    `owns_buffers`.
    """
    if not run.keeps:
        return
    for there, key, value in constants:
        there[key] = value
    for change in changes:
        there, key, value, differs = change.there, change.key, change.value, change.differs
        if change.path is not None:
            there[key] = value
            carried[change.path, key] = differs
            continue
        stored, floats = there[key], value.is_floating_point()
        if differs and not floats and not bool((value == value[0]).all()):
            raise ValueError(
                f"the model writes another {key} for each member, a buffer of {value.dtype} "
                "that is one for all; accepted is one of floating point, or a deep ensemble"
            )
        if not differs:
            value = value[None]
        elif floats and owns_buffers:
            value = value.unflatten(0, (-1, run.leading[-1]))
        if stored is None or value.shape[1:] != stored.shape:
            there[key] = value.mean(0) if floats else value[0]
        elif floats and differs:  # by the mean over samples, which leaves alone what is equal
            stored += (value - stored).mean(0)
        else:
            stored.copy_(value[0])


def _ids(value: Any) -> tuple[int, ...]:
    """Tell apart the tensors that an attribute holds."""
    if isinstance(value, (Tensor, list, tuple, dict)):
        with suppress(TypeError):  # of what could hide some
            return tuple(id(x) for _, x in named_tensors(value))
    return ()
