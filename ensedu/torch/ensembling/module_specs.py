"""What stands in for each module of a model in a pass: its code, on other values; what it leaves.

So nothing of the net itself moves before a pass is over, and threads do not meet.
"""

import re
import types
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.ensembling.batching_rules import rule_for
from ensedu.torch.ensembling.one_pass import OnePass
from ensedu.torch.ensembling.parameter_plan import Plan
from ensedu.torch.trees import CONSTANTS, named_tensors

# What every module has, which is no state of a model.
MODULE_ATTRIBUTES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in MODULE_ATTRIBUTES if re.match("_(forward|backward).*hooks", key))
# What the module in whose place another stands hands on to it.
HANDED_ON = (*HOOKS, "_is_full_backward_hook")
CONTAINERS = (list, tuple, set, dict, OrderedDict)
# What each stand-in holds, and by which tensors its containers are known again.
Snapshot = dict[str, tuple[dict[str, Any], Any]]


@dataclass(eq=False)
class ModuleSpec:
    """What a module of the model is: in its own code, `plain`, and in the net, `stored`.

    There a layer of the method has the place of a plain one. A `rule`, if it has one, is what a
    stand-in does instead of its class (`batching_rules`). Parameters have their full names, and
    where a plan has their arrays, children their paths; `copied` are attributes that hold parts of
    the model, or change inside.
    """

    plain: nn.Module
    stored: Any
    is_layer: bool
    rule: Any
    parameters: dict[str, tuple[str, tuple[str, str] | None]]
    buffers: dict[str, str]
    children: dict[str, str | None]
    copied: list[str]


class ModuleSpecs(dict[str, ModuleSpec]):
    """Those of all modules, by their path."""

    def __init__(
        self, plain: nn.Module, stored: nn.Module, plan: Plan, dropouts: Collection[str]
    ) -> None:
        self._paths = {id(module): path for path, module in plain.named_modules()}
        for path, module in plain.named_modules():
            start, is_layer = f"{path}." if path else "", path in plan.layers
            names = {key: start + key for key in module._parameters}
            self[path] = ModuleSpec(
                module, stored.get_submodule(path), is_layer,
                rule_for(module, is_layer, path in dropouts),
                {key: (name, plan.sources.get(name)) for key, name in names.items()},
                {key: start + key for key in module._buffers},
                {key: self._paths.get(id(child)) for key, child in module._modules.items()},
                [key for key, value in vars(module).items() if _is_copied(key, value)],
            )  # fmt: skip

    def copies(
        self, sources: dict[str, Any], carried: Collection[tuple[str, str]] = ()
    ) -> dict[str, Any]:
        """Return a copy of each module, as ``nn.DataParallel`` makes it; they hold each other.

        What is `carried`, by path and name, stays as it stands in the net.
        """
        copies: dict[str, Any] = {}
        for path, source in sources.items():
            copies[path] = object.__new__(type(source))
            attributes = vars(source).copy()
            object.__setattr__(copies[path], "__dict__", attributes)
            if source is self[path].plain:
                stored = vars(self[path].stored)
                attributes.update([(key, stored[key]) for key in HANDED_ON])
        for path, spec in self.items():
            attributes = vars(copies[path])
            attributes["_modules"] = {
                key: child if child is None else copies[child]
                for key, child in spec.children.items()
            }
            for key in spec.copied:
                if (path, key) not in carried:
                    value = self._rebound(vars(spec.plain)[key], copies)
                    if key in HOOKS:  # later ones stand in the net alone
                        value = {k: value.get(k, hook) for k, hook in attributes[key].items()}
                    attributes[key] = value
        return copies

    def _rebound(self, value: Any, copies: dict[str, Any]) -> Any:
        """Return `value` with copies in it for modules of the model; containers are copied."""
        if (path := self._paths.get(id(value))) is not None:
            return copies[path]
        again = partial(self._rebound, copies=copies)
        if isinstance(value, types.MethodType):
            return types.MethodType(value.__func__, again(value.__self__))
        if isinstance(value, partial):
            return partial(again(value.func), *again(value.args), **again(value.keywords))
        if type(value) not in CONTAINERS:
            return value
        if isinstance(value, dict):
            return type(value)((key, again(inner)) for key, inner in value.items())
        return type(value)(map(again, value))


def _is_copied(key: str, value: Any) -> bool:
    """Whether a stand-in needs an attribute, or hooks, of its own: parts of the model are in it."""
    if key in MODULE_ATTRIBUTES and (key not in HOOKS or not value):
        return False
    if isinstance(value, CONTAINERS):
        parts = [*(value.values() if isinstance(value, dict) else value)]
        changes = not parts and not isinstance(value, tuple)
        return changes or not all(isinstance(part, CONSTANTS) for part in parts)
    return isinstance(value, (nn.Module, types.MethodType, partial))


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
    constants: list[Any] = []
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
            if isinstance(value, CONSTANTS):
                constants.append((vars(spec.stored), key, value))
            elif (tensors := _tensor_ids(value)) and tensors != ids.get(key):
                changes.append(Change(vars(spec.stored), key, value, path))
    return changes, constants


@torch.no_grad()
def apply_changes(
    run: OnePass, changes: list[Change], constants: list[Any], carried: dict[tuple[str, str], bool],
    owns_buffers: bool,
) -> None:  # fmt: skip
    """Keep in the net what a pass has changed, of all members, if the run keeps it.

    Attributes with tensors are then `carried`; floating-point buffers are a member's where it
    `owns_buffers`.
    """
    if not run.keeps_state:
        return
    for target, key, value in constants:
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
            value = value.unflatten(0, (-1, run.leading[-1]))
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
