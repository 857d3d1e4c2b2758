"""What a pass changes on the modules of a model, and how the net itself takes it over.

A pass moves its stand-ins alone, and the net only when it is over: threads do not meet.
"""

from contextlib import suppress
from dataclasses import dataclass
from operator import is_
from typing import Any

import torch
from torch import Tensor

from ensedu.torch.ensembling.module_specs import MODULE_ATTRIBUTES, ModuleSpecs
from ensedu.torch.ensembling.one_pass import OnePass
from ensedu.torch.trees import PLAIN_TYPES, named_tensors

# What each stand-in holds, and by which tensors its containers are known again.
Snapshot = dict[str, tuple[dict[str, Any], Any]]


@dataclass(eq=False)
class Change:
    """A buffer, or an attribute with tensors, that a pass has left on a module.

    Where it stands in the net, its name and value; the path of its module if it is an attribute,
    and whether members differ in it.
    """

    target: dict[str, Any]
    key: str
    value: Any
    path: str | None = None
    differs: bool = True


def snapshot(specs: ModuleSpecs, stand_ins: dict[str, Any]) -> Snapshot:
    """Return what stand-ins hold before a pass, and which tensors stand in their containers."""
    return {
        path: (own.copy(), {key: _tensor_ids(own[key]) for key in specs[path].copied})
        for path, own in ((path, vars(stand_in)) for path, stand_in in stand_ins.items())
    }


def find_changes(
    specs: ModuleSpecs, stand_ins: dict[str, Any], before: Snapshot, unmoved: dict[str, Tensor]
) -> tuple[list[Change], list[tuple[dict[str, Any], str, Any]]]:
    """Return buffers but those `unmoved`, and tensors that a pass has left on modules.

    Then what the model counts and switches: where it stands in the net, its name and value.
    """
    changes: list[Change] = []
    plain_changes: list[Any] = []
    for path, stand_in in stand_ins.items():
        spec, (was, ids), now = specs[path], before[path], vars(stand_in)
        for key, name in spec.buffers.items():
            if (value := stand_in._buffers[key]) is not unmoved.get(name):
                changes.append(Change(spec.stored._buffers, key, value))
        # Most modules leave nothing, and this sees it soonest.
        if not ids and len(now) == len(was) and all(map(is_, now.values(), was.values())):
            continue
        for key, value in now.items():
            if value is was.get(key, was) and key not in ids:
                continue
            if key in MODULE_ATTRIBUTES or key == "_flat_weights":
                continue
            if isinstance(value, PLAIN_TYPES):
                plain_changes.append((vars(spec.stored), key, value))
            elif (tensors := _tensor_ids(value)) and tensors != ids.get(key):
                changes.append(Change(vars(spec.stored), key, value, path))
    return changes, plain_changes


@torch.no_grad()
def apply_changes(
    one_pass: OnePass, changes: list[Change], plain_changes: list[Any],
    carried: dict[tuple[str, str], bool], owns_buffers: bool,
) -> None:  # fmt: skip
    """Keep in the net what a pass has changed, of all members, if the pass updates it.

    Attributes with tensors are then `carried`; floating-point buffers are a member's where it
    `owns_buffers`.
    """
    if not one_pass.updates_state:
        return
    for target, key, value in plain_changes:
        target[key] = value
    for change in changes:
        target, key, value, differs = change.target, change.key, change.value, change.differs
        if change.path is not None:
            target[key] = value
            carried[change.path, key] = differs
            continue
        stored, floats = target[key], value.is_floating_point()
        if differs and not floats and not bool((value == value[0]).all()):
            raise ValueError(
                f"the model writes another {key} for each member, a buffer of {value.dtype} "
                "that is one for all; accepted is one of floating point, or a deep ensemble"
            )
        if not differs:
            value = value[None]
        elif floats and owns_buffers:
            value = value.unflatten(0, (-1, one_pass.leading[-1]))
        if stored is None or value.shape[1:] != stored.shape:
            target[key] = value.mean(0) if floats else value[0]
        elif floats and differs:  # by the mean over samples, which leaves alone what is equal
            stored += (value - stored).mean(0)
        else:
            stored.copy_(value[0])


def _tensor_ids(value: Any) -> tuple[int, ...]:
    """Tell apart the tensors that an attribute holds."""
    if isinstance(value, (Tensor, list, tuple, dict)):
        with suppress(TypeError):  # of what could hide some
            return tuple(id(x) for _, x in named_tensors(value))
    return ()
