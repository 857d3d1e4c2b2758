"""What stands in for each module of a model in a pass: its code, on other values."""

import re
import types
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import nn

from ensedu.torch.ensembling.batching_rules import rule_for
from ensedu.torch.ensembling.parameter_plan import Plan
from ensedu.torch.trees import PLAIN_TYPES

# What every module has, which is no state of a model.
MODULE_ATTRIBUTES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in MODULE_ATTRIBUTES if re.match("_(forward|backward).*hooks", key))
# What the module in whose place another stands hands on to it.
HANDED_ON = (*HOOKS, "_is_full_backward_hook")
CONTAINERS = (list, tuple, set, dict, OrderedDict)


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
    is_replaced: bool
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
            start, is_replaced = f"{path}." if path else "", path in plan.layers
            names = {key: start + key for key in module._parameters}
            self[path] = ModuleSpec(
                module, stored.get_submodule(path), is_replaced,
                rule_for(module, is_replaced, path in dropouts),
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
        return changes or not all(isinstance(part, PLAIN_TYPES) for part in parts)
    return isinstance(value, (nn.Module, types.MethodType, partial))
