"""The parts of a model, and what stands in for each in a pass: its code, on other values.

So nothing of the net itself moves before a pass is over, and threads do not meet.
"""

import re
import types
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from ensedu.torch.trees import CONSTANTS
from ensedu.torch.whole.modules import what_it_does
from ensedu.torch.whole.roles import Plan

# What every module has, which is no state of a model.
OF_MODULES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in OF_MODULES if re.match("_(forward|backward).*hooks", key))
# What the module in whose place another stands hands on to it.
OF_PLACE = (*HOOKS, "_is_full_backward_hook")
CONTAINERS = (list, tuple, set, dict, OrderedDict)


@dataclass(eq=False)
class Part:
    """What a module of the model is: in its own code, `plain`, and in the net, `there`.

    A layer of the method stands there in the place of a plain one. What a stand-in `does` instead
    of its class is a function of `ensedu.torch.whole.modules`. Parameters have their whole names,
    and where a plan has their arrays, children their paths; `bound` are attributes that hold parts
    of the model, or change inside.
    """

    plain: nn.Module
    there: Any
    is_layer: bool
    does: Any
    parameters: dict[str, tuple[str, tuple[str, str] | None]]
    buffers: dict[str, str]
    children: dict[str, str | None]
    bound: list[str]


class Parts(dict[str, Part]):
    """All parts of a model by their path."""

    def __init__(
        self, plain: nn.Module, stored: nn.Module, plan: Plan, dropouts: Collection[str]
    ) -> None:
        self._paths = {id(module): path for path, module in plain.named_modules()}
        for path, module in plain.named_modules():
            start, is_layer = f"{path}." if path else "", path in plan.layers
            names = {key: start + key for key in module._parameters}
            self[path] = Part(
                module, stored.get_submodule(path), is_layer,
                what_it_does(module, is_layer, path in dropouts),
                {key: (name, plan.sources.get(name)) for key, name in names.items()},
                {key: start + key for key in module._buffers},
                {key: self._paths.get(id(child)) for key, child in module._modules.items()},
                [key for key, value in vars(module).items() if _is_bound(key, value)],
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
                there = vars(self[path].there)
                attributes.update([(key, there[key]) for key in OF_PLACE])
        for path, part in self.items():
            attributes = vars(copies[path])
            attributes["_modules"] = {
                key: child if child is None else copies[child]
                for key, child in part.children.items()
            }
            for key in part.bound:
                if (path, key) not in carried:
                    value = self._rebound(vars(part.plain)[key], copies)
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


def _is_bound(key: str, value: Any) -> bool:
    """Whether a stand-in needs an attribute, or hooks, of its own: parts of the model are in it."""
    if key in OF_MODULES and (key not in HOOKS or not value):
        return False
    if isinstance(value, CONTAINERS):
        parts = [*(value.values() if isinstance(value, dict) else value)]
        changes = not parts and not isinstance(value, tuple)
        return changes or not all(isinstance(part, CONSTANTS) for part in parts)
    return isinstance(value, (nn.Module, types.MethodType, partial))
