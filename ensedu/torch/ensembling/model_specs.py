"""What each module of a model is in an ensemble: its code, its arrays, what passes leave on it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.ensembling.model_copies import HANDED_ON, HOOKS, is_copied, rebound
from ensedu.torch.ensembling.module_rules import rule_for, traced_rule_for
from ensedu.torch.ensembling.one_pass import OnePass
from ensedu.torch.ensembling.parameter_plan import MULTIPLIERS, Plan


@dataclass(eq=False)
class ModuleSpec:
    """What a module of the model is: in its own code, `plain`, and in the net, `stored`.

    There a layer of the method may have its place. A `rule`, if it has one, is what a stand-in does
    instead of its class (`module_rules`). Parameters have their full names, and where a plan has
    their arrays; `copied` are attributes that hold parts of the model, or change inside.
    """

    plain: nn.Module
    stored: Any
    is_method_layer: bool
    rule: Any
    parameters: dict[str, tuple[str, tuple[str, str] | None]]
    buffers: dict[str, str]
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
        self.dropouts, self.owns_buffers = dropouts, owns_buffers
        # By path and name, attributes with tensors that the model has left, and whether members
        # differ in them.
        self.carried: dict[tuple[str, str], bool] = {}
        layers = {weight.path for weight in plan if weight.is_method_layer}
        # By the name of a parameter, the path of its arrays, and what they call it.
        sources = {name: (weight.path, "weight") for weight in plan for name in weight.names}
        sources |= {weight.bias: (weight.path, "bias") for weight in plan if weight.bias}
        self.method_arrays: dict[str, Any] = {
            weight.path: stored.get_submodule(weight.path) for weight in plan
        }
        for path, module in plain.named_modules():
            start, is_method_layer = f"{path}." if path else "", path in layers
            self[path] = ModuleSpec(
                module, stored.get_submodule(path), is_method_layer,
                rule_for(module, is_method_layer, path in dropouts),
                {key: (start + key, sources.get(start + key)) for key in module._parameters},
                {key: start + key for key in module._buffers},
                [key for key, value in vars(module).items() if is_copied(key, value)],
            )  # fmt: skip
        drawn = [path for path, layer in self.method_arrays.items() if layer.draws]
        # Of all that needs noise.
        self.paths_that_draw = [*drawn, *dropouts]
        # What a compiler follows, which could not make it: made once, each pass says who runs.
        self.traced, self.traced_pass = self.copies(as_built=True), None
        for path, traced in self.traced.items():
            attributes, spec = vars(traced), self[path]
            attributes["_parameters"] = {**spec.plain._parameters}
            attributes["_buffers"] = {**spec.plain._buffers}
            if rule := traced_rule_for(traced, spec.rule):
                attributes["forward"] = partial(self._apply_traced, rule, path, traced)

    def __reduce__(self) -> Any:
        return type(self), self._given, {"carried": self.carried}

    def _apply_traced(self, rule: Any, *args: Any, **kwargs: Any) -> Any:
        return rule(self.traced_pass, *args, **kwargs)

    def in_pass(self, one_pass: OnePass, clones: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return parameters and buffers that all members share, and the own ones of who runs.

        If all run at once, without those of layers, which then form what the model reads.
        """
        shared: dict[str, Any] = {}
        own: dict[str, Any] = {}
        known: dict[int, Tensor] = {}  # a buffer of two names is one
        for spec in self.values():
            lazy = spec.is_method_layer and one_pass.vmap_level is not None
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

    def copies(self, as_built: bool = False) -> dict[str, Any]:
        """Return a copy of each module, as ``nn.DataParallel`` makes it; they hold each other.

        `as_built` without what passes have left on them.
        """
        copies: dict[str, Any] = {}
        by_id: dict[int, Any] = {}
        for path, spec in self.items():
            source = spec.plain if as_built or spec.is_method_layer else spec.stored
            copies[path] = by_id[id(spec.plain)] = object.__new__(type(source))
            attributes = vars(source).copy()
            object.__setattr__(copies[path], "__dict__", attributes)
            if source is spec.plain:
                stored = vars(spec.stored)
                attributes.update([(key, stored[key]) for key in HANDED_ON])
        for path, spec in self.items():
            attributes, children = vars(copies[path]), spec.plain._modules
            attributes["_modules"] = {key: by_id.get(id(child)) for key, child in children.items()}
            for key in spec.copied:
                if (path, key) not in self.carried:
                    value = rebound(vars(spec.plain)[key], by_id)
                    if key in HOOKS:  # later ones stand in the net alone
                        value = {k: value.get(k, hook) for k, hook in attributes[key].items()}
                    attributes[key] = value
        return copies

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


def _as_autocast(value: Tensor) -> Tensor:
    """Under vmap a product adds its bias by itself, which autocast does not shorten."""
    kind = value.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return value.to(torch.get_autocast_dtype(kind))
    return value
