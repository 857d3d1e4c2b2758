"""Copies of a model, and what stands in for each of its modules in a pass."""

import copy
import re
import types
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import is_
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.ensembling.module_rules import (
    dropout_rule,
    refresh_flat_weights,
    rule_for,
    traced_rule_for,
)
from ensedu.torch.ensembling.one_pass import LazyParameters, OnePass
from ensedu.torch.ensembling.parameter_plan import MULTIPLIERS, Plan
from ensedu.torch.trees import PLAIN_TYPES, map_tensors, named_tensors

# What every module has, which is no state of a model.
MODULE_ATTRIBUTES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in MODULE_ATTRIBUTES if re.match("_(forward|backward).*hooks", key))
# What the module in whose place another stands hands on to it.
HANDED_ON = (*HOOKS, "_is_full_backward_hook")
CONTAINERS = (list, tuple, set, dict, OrderedDict)


def copy_model(model: nn.Module) -> nn.Module:
    """Return a copy of all, also of a model on whose modules a pass has left a graph."""
    return copy.deepcopy(model, deepcopy_memo(model))


def meta_copy(model: nn.Module) -> nn.Module:
    """Return a copy whose parameters and buffers have shapes alone; what is tied stays tied."""
    memo = deepcopy_memo(model)
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def deepcopy_memo(model: nn.Module) -> dict[int, Any]:
    """Return a memo for ``deepcopy`` of the tensors that a pass left on modules."""
    memo: dict[int, Any] = {}
    for part in model.modules():
        for attribute in vars(part).values():
            values = attribute.values() if isinstance(attribute, dict) else attribute
            for value in values if isinstance(attribute, (dict, list, tuple)) else [attribute]:
                if isinstance(value, Tensor) and not value.is_leaf:
                    memo[id(value)] = value.detach().clone()
    return memo


@dataclass(eq=False)
class ModuleSpec:
    """What a module of the model is: in its own code, `plain`, and in the net, `stored`.

    There a layer of the method has the place of a plain one. A `rule`, if it has one, is what a
    stand-in does instead of its class (`module_rules`). Parameters have their full names, and
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


@dataclass(eq=False)
class Change:
    """A buffer, or an attribute with tensors, that a pass has left on the module of a path."""

    path: str
    key: str
    value: Any
    is_buffer: bool
    #: Whether members differ in it.
    differs: bool = True


class ModelSpecs(dict[str, ModuleSpec]):
    """Those of all modules, by their path, and what passes leave on them.

    `plain` is the model, with shapes alone, and `stored` the same modules with the arrays of
    members where a plan has them; `dropouts` are paths of what stays active, and `owns_buffers`
    says whether floating-point buffers are a member's.
    """

    def __init__(
        self, plain: nn.Module, stored: nn.Module, plan: Plan, dropouts: tuple[str, ...],
        owns_buffers: bool,
    ) -> None:  # fmt: skip
        self._given = plain, stored, plan, dropouts, owns_buffers
        self.plain, self.dropouts, self.owns_buffers = plain, dropouts, owns_buffers
        # By path and name, attributes with tensors that the model has left, and whether members
        # differ in them.
        self.carried: dict[tuple[str, str], bool] = {}
        sources, layers = plan.sources, {weight.path for weight in plan if weight.is_layer}
        self.converted: dict[str, Any] = {
            weight.path: stored.get_submodule(weight.path) for weight in plan
        }
        self._paths = {id(module): path for path, module in plain.named_modules()}
        for path, module in plain.named_modules():
            start, is_replaced = f"{path}." if path else "", path in layers
            names = {key: start + key for key in module._parameters}
            self[path] = ModuleSpec(
                module, stored.get_submodule(path), is_replaced,
                rule_for(module, is_replaced, path in dropouts),
                {key: (name, sources.get(name)) for key, name in names.items()},
                {key: start + key for key in module._buffers},
                {key: self._paths.get(id(child)) for key, child in module._modules.items()},
                [key for key, value in vars(module).items() if _is_copied(key, value)],
            )  # fmt: skip
        self.traced = TracedStandIns(self)
        drawn = [path for path, layer in self.converted.items() if hasattr(layer, "noise")]
        # Of all that needs noise.
        self.paths_that_draw = [*drawn, *dropouts]

    def __reduce__(self) -> Any:
        return type(self), self._given, {"carried": self.carried}

    def in_pass(self, one_pass: OnePass, clones: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return parameters and buffers that all members share, and the own ones of who runs.

        If all run at once, without those of layers, which then form what the model reads.
        """
        shared: dict[str, Any] = {}
        own: dict[str, Any] = {}
        known: dict[int, Tensor] = {}  # a buffer of two names is one
        for spec in self.values():
            lazy = spec.is_replaced and one_pass.vmap_level is not None
            autocasts = one_pass.member is None and isinstance(spec.plain, MULTIPLIERS)
            for key, (name, source) in () if lazy else spec.parameters.items():
                value = one_pass.read(*source) if source else spec.stored._parameters.get(key)
                if value is not None:
                    (own if source else shared)[name] = _as_autocast(value) if autocasts else value
            for key, name in spec.buffers.items():
                if (buffer := spec.stored._buffers[key]) is None:
                    continue
                # What moves is a row of each member or sample, and begins with what it was before.
                moves = buffer.is_floating_point() and clones and one_pass.independent
                owned = buffer.is_floating_point() and self.owns_buffers
                if id(buffer) not in known:
                    value = buffer if owned or not moves else buffer[None]
                    value = one_pass.of_member(value) if owned or moves else value
                    known[id(buffer)] = value.clone() if clones else value
                (own if owned or moves else shared)[name] = known[id(buffer)]
        return shared, own

    def member_copy(self, one_pass: OnePass, place: int) -> nn.Module:
        """Return a copy of the model with the values of one member."""
        one_pass.member = place
        shared, own = self.in_pass(one_pass, clones=True)
        values, member = shared | own, copy.deepcopy(self.plain)
        for path, module in member.named_modules():
            spec, stored = self[path], self[path].stored
            for key, (name, source) in spec.parameters.items():
                if source:
                    layer, kind = self.converted[source[0]], source[1]
                    like = getattr(layer, kind if hasattr(layer, kind) else f"{kind}_mean")
                    value = values[name].detach().clone()
                    setattr(module, key, nn.Parameter(value, like.requires_grad))
                elif name in values:
                    setattr(module, key, copy.deepcopy(values[name]))
            for key, name in spec.buffers.items():
                if name in values:
                    module._buffers[key] = values[name].detach()
            if not spec.is_replaced:  # which has settings of its own
                plain_values = {k: v for k, v in vars(stored).items() if isinstance(v, PLAIN_TYPES)}
                vars(module).update(plain_values)
            module.training = stored.training
        for (path, key), differs in self.carried.items():
            left = _carried(one_pass, vars(self[path].stored)[key], differs)
            vars(member.get_submodule(path))[key] = map_tensors(
                lambda _, x: x.detach().clone(), left, key
            )
        return member

    @torch.no_grad()
    def keep(self, one_pass: OnePass, changes: list[Change], plain_changes: list[Any]) -> None:
        """Keep in the net what a pass has changed, of all members, if the pass updates it.

        Attributes with tensors are then `carried`; floating-point buffers are a member's where
        the model `owns_buffers`.
        """
        if not one_pass.updates_state:
            return
        for path, key, value in plain_changes:
            vars(self[path].stored)[key] = value
        for change in changes:
            path, key, value, differs = change.path, change.key, change.value, change.differs
            if not change.is_buffer:
                vars(self[path].stored)[key] = value
                self.carried[path, key] = differs
                continue
            buffers = self[path].stored._buffers
            stored, floats = buffers[key], value.is_floating_point()
            if differs and not floats and not bool((value == value[0]).all()):
                raise ValueError(
                    f"the model writes another {key} for each member, a buffer of {value.dtype} "
                    "that is one for all; accepted is one of floating point, or a deep ensemble"
                )
            if not differs:
                value = value[None]
            elif floats and self.owns_buffers:
                value = value.unflatten(0, (-1, one_pass.leading[-1]))
            if stored is None or value.shape[1:] != stored.shape:
                buffers[key] = value.mean(0) if floats else value[0]
            elif floats and differs:  # by the mean over samples, which leaves alone what is equal
                stored += (value - stored).mean(0)
            else:
                stored.copy_(value[0])

    def copies(self, as_built: bool = False) -> dict[str, Any]:
        """Return a copy of each module, as ``nn.DataParallel`` makes it; they hold each other.

        `as_built` without what passes have left on them.
        """
        copies: dict[str, Any] = {}
        for path, spec in self.items():
            source = spec.plain if as_built or spec.is_replaced else spec.stored
            copies[path] = object.__new__(type(source))
            attributes = vars(source).copy()
            object.__setattr__(copies[path], "__dict__", attributes)
            if source is spec.plain:
                stored = vars(spec.stored)
                attributes.update([(key, stored[key]) for key in HANDED_ON])
        for path, spec in self.items():
            attributes = vars(copies[path])
            attributes["_modules"] = {
                key: child if child is None else copies[child]
                for key, child in spec.children.items()
            }
            for key in spec.copied:
                if (path, key) not in self.carried:
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


class StandIns(dict[str, Any]):
    """What runs in place of each module, by its path: its code, on the values of who runs.

    A pass moves its stand-ins alone, and the net only when it is over: threads do not meet.
    """

    def __init__(self, specs: ModelSpecs, one_pass: OnePass, clones: bool) -> None:
        super().__init__(specs.copies())
        shared, own = specs.in_pass(one_pass, clones)
        values, at_once = shared | own, one_pass.vmap_level is not None
        self._specs, self._at_once = specs, at_once
        # Buffers that only the model's own code can have put elsewhere.
        self._unmoved = {} if clones else values
        for path, spec in specs.items():
            stand_in, attributes = self[path], vars(self[path])
            attributes["training"] = spec.stored.training and one_pass.updates_state
            attributes["_parameters"] = (
                LazyParameters(spec.parameters, partial(one_pass.read, path))
                if at_once and spec.is_replaced
                else {key: values.get(name) for key, (name, _) in spec.parameters.items()}
            )
            attributes["_buffers"] = {key: values.get(name) for key, name in spec.buffers.items()}
            if at_once and (attributes["_backward_hooks"] or attributes["_backward_pre_hooks"]):
                raise RuntimeError("hooks of a backward pass, which would see none")
            if spec.rule and (at_once or spec.rule is dropout_rule):
                attributes["forward"] = partial(spec.rule, one_pass, path, stand_in)
            if isinstance(stand_in, nn.RNNBase):
                refresh_flat_weights(stand_in)
        for (path, key), differs in specs.carried.items():
            attributes = vars(self[path])
            attributes[key] = _carried(one_pass, attributes[key], differs)
        # What each holds before, and by which tensors its containers are known again.
        self._before = {
            path: (held.copy(), {key: _tensor_ids(held[key]) for key in specs[path].copied})
            for path, held in ((path, vars(stand_in)) for path, stand_in in self.items())
        }

    def changes(self) -> tuple[list[Change], list[tuple[str, str, Any]]]:
        """Return buffers that moved, and tensors that a pass has left on modules.

        Then what the model counts and switches: path, name and value.
        """
        changes: list[Change] = []
        plain_changes: list[Any] = []
        for path, stand_in in self.items():
            spec, (was, ids), now = self._specs[path], self._before[path], vars(stand_in)
            for key, name in spec.buffers.items():
                if (value := stand_in._buffers[key]) is not self._unmoved.get(name):
                    changes.append(Change(path, key, value, True))
            # Most modules leave nothing, and this sees it soonest.
            if ids or len(now) != len(was) or not all(map(is_, now.values(), was.values())):
                for key, value in now.items():
                    if value is was.get(key, was) and key not in ids:
                        continue
                    if key in MODULE_ATTRIBUTES or key == "_flat_weights":
                        continue
                    if isinstance(value, PLAIN_TYPES):
                        plain_changes.append((path, key, value))
                    elif (tensors := _tensor_ids(value)) and tensors != ids.get(key):
                        changes.append(Change(path, key, value, False))
            if self._at_once:  # else it holds itself, and what was formed
                now.pop("forward", None)
        return changes, plain_changes


class TracedStandIns:
    """The same where a compiler follows, which could not make them: made once for all passes."""

    one_pass: Any = None

    def __init__(self, specs: ModelSpecs) -> None:
        self.modules = specs.copies(as_built=True)
        for path, module in self.modules.items():
            attributes, plain = vars(module), specs[path].plain
            attributes["_parameters"] = {**plain._parameters}
            attributes["_buffers"] = {**plain._buffers}
            if rule := traced_rule_for(module, specs[path].rule):
                attributes["forward"] = partial(self._apply, rule, path, module)

    def _apply(self, rule: Any, path: str, module: Any, *args: Any, **kwargs: Any) -> Any:
        return rule(self.one_pass, path, module, *args, **kwargs)


def _is_copied(key: str, value: Any) -> bool:
    """Whether a stand-in needs an attribute, or hooks, of its own: parts of the model are in it."""
    if key in MODULE_ATTRIBUTES and (key not in HOOKS or not value):
        return False
    if isinstance(value, CONTAINERS):
        parts = [*(value.values() if isinstance(value, dict) else value)]
        changes = not parts and not isinstance(value, tuple)
        return changes or not all(isinstance(part, PLAIN_TYPES) for part in parts)
    return isinstance(value, (nn.Module, types.MethodType, partial))


def _carried(one_pass: OnePass, value: Any, differs: bool) -> Any:
    """Return what the member that runs has of an attribute that passes have left."""
    return map_tensors(lambda _, x: one_pass.of_member(x) if differs else x, value, "")


def _tensor_ids(value: Any) -> tuple[int, ...]:
    """Tell apart the tensors that an attribute holds."""
    if isinstance(value, (Tensor, list, tuple, dict)):
        with suppress(TypeError):  # of what could hide some
            return tuple(id(x) for _, x in named_tensors(value))
    return ()


def _as_autocast(value: Tensor) -> Tensor:
    """Under vmap a product adds its bias by itself, which autocast does not shorten."""
    kind = value.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return value.to(torch.get_autocast_dtype(kind))
    return value
