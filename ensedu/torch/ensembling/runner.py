"""How members run: at once under ``torch.func.vmap``, in turn, or as a compiler follows."""

import copy
import warnings
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.ensembling import hidden_axis
from ensedu.torch.ensembling.batching_rules import dropout_rule, refresh_flat_weights
from ensedu.torch.ensembling.module_specs import (
    Change,
    ModuleSpecs,
    apply_changes,
    find_changes,
    snapshot,
)
from ensedu.torch.ensembling.one_pass import LazyParameters, OnePass
from ensedu.torch.ensembling.parameter_plan import MULTIPLIERS, Plan
from ensedu.torch.ensembling.traced import TracedModel
from ensedu.torch.trees import CONSTANTS, map_tensors, stack_nested

#: What vmap calls "different inplace randomness on an unbatched tensor".
DROPS_IN_PLACE = (
    "dropout in place of what is the same for all members, such as that of attention in training "
    "mode; dropout=0.0 there, or inplace=False in yours, lets them run at once"
)


class Runner:
    """What runs the code of a model with the values of members."""

    def __init__(
        self, plain: nn.Module, stored: nn.Module, plan: Plan, dropouts: tuple[str, ...],
        owns_buffers: bool,
    ) -> None:  # fmt: skip
        # Whose code runs, with shapes alone; the same modules with the arrays of members where a
        # plan has them; and paths of dropout that stays active.
        self.plain, self.stored, self.plan, self.dropouts = plain, stored, plan, dropouts
        # Whether each member has floating-point buffers of its own.
        self.owns_buffers = owns_buffers
        self.in_turn = False
        # By path and name, attributes with tensors that the model has left, and whether members
        # differ in them.
        self._carried: dict[tuple[str, str], bool] = {}
        self._make_ready()

    def _make_ready(self) -> None:
        paths = dict.fromkeys(path for path, _ in self.plan.sources.values())
        self.layers = {path: self.stored.get_submodule(path) for path in paths}
        self._specs = ModuleSpecs(self.plain, self.stored, self.plan, self.dropouts)
        self._traced = TracedModel(self._specs)

    def __getstate__(self) -> dict[str, Any]:
        made = ("layers", "_specs", "_traced")
        return {key: value for key, value in vars(self).items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_ready()

    @property
    def paths_that_draw(self) -> list[str]:
        """Paths of all that needs noise."""
        return [*(p for p, layer in self.layers.items() if hasattr(layer, "noise")), *self.dropouts]

    def outputs(self, run: OnePass, args: Any, kwargs: Any) -> Any:
        """Run all members, and return their outputs; the model's state moves in the net, too."""
        compiling = torch.compiler.is_compiling()
        if compiling and self.in_turn:
            # Beside the graph. A decorator would load the compiler with the package.
            return torch.compiler.disable(self.outputs)(run, args, kwargs)
        way = self._in_turn if self.in_turn else self._trace if compiling else self._at_once
        outputs = way(run, (args, kwargs))
        if len(run.leading) == 1:
            return outputs
        return map_tensors(lambda _, y: y.unflatten(0, run.leading), outputs, "the output")

    def member(self, run: OnePass, place: int) -> nn.Module:
        """Return a copy of the model with the values of one member."""
        shared, stacked = self._values(run, clones=False, autocasts=False)
        values = shared | {name: value[place] for name, value in stacked.items()}
        member = copy.deepcopy(self.plain)
        for path, module in member.named_modules():
            spec = self._specs[path]
            for key, (name, source) in spec.parameters.items():
                if source:
                    layer, kind = run.layers[source[0]], source[1]
                    stored = getattr(layer, kind, None)
                    stored = getattr(layer, f"{kind}_mean") if stored is None else stored
                    value = values[name].detach().clone()
                    setattr(module, key, nn.Parameter(value, stored.requires_grad))
                elif name in values:
                    setattr(module, key, copy.deepcopy(values[name]))
            for key, name in spec.buffers.items():
                if name in values:
                    module._buffers[key] = values[name].detach().clone()
            stored = vars(spec.stored)
            if not spec.is_layer:  # which has settings of its own
                constants = {k: v for k, v in stored.items() if isinstance(v, CONSTANTS)}
                vars(module).update(constants)
            module.training = spec.stored.training
        for (path, key), differs in self._carried.items():

            def of_member(_: str, x: Tensor, differs: bool = differs) -> Tensor:
                return (x[place] if differs else x).detach().clone()

            left = vars(self._specs[path].stored)[key]
            vars(member.get_submodule(path))[key] = map_tensors(of_member, left, key)
        return member

    def _at_once(self, run: OnePass, inputs: Any) -> Any:
        try:
            return self._under_vmap(run, inputs)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = DROPS_IN_PLACE if "inplace randomness" in str(error) else str(error)
        outputs = self._in_turn(run, inputs)
        self.in_turn = True
        warnings.warn(
            f"members run in turn, which takes longer, where torch.func.vmap refuses: {why}. "
            "net.in_turn = True says that it may",
            stacklevel=6,
        )
        return outputs

    def _under_vmap(self, run: OnePass, inputs: Any) -> Any:
        # In training mode a pass that fails half-way must not have moved anything.
        clones = not run.keeps_state or any(spec.stored.training for spec in self._specs.values())
        shared, stacked = self._values(run, clones=clones, lazy=True)
        inputs = run.copy_inputs(inputs)
        try:
            with hidden_axis.all_at_once(run.num_members, run.randomness) as run.vmap_level:
                values = shared | {name: run.of_member(value) for name, value in stacked.items()}
                outputs, changes, constants = self._pass(
                    run, values, inputs, {} if clones else values
                )
                for change in changes:
                    change.value, change.differs = run.tree_of_all(change.value, change.key)
                outputs = map_tensors(
                    lambda _, y: hidden_axis.show_output(y, run.vmap_level, run.num_members),
                    outputs, "the output",
                )  # fmt: skip
        finally:
            run.vmap_level = None
        apply_changes(run, changes, constants, self._carried, self.owns_buffers)
        return outputs

    def _in_turn(self, run: OnePass, inputs: Any) -> Any:
        """Run one member after the other, outside of a compiler's graph.

        What a checkpoint computes again for the gradient finds the values of its member.
        """
        outputs, of_members = [], []
        shared, stacked = self._values(run, clones=True)
        buffers = {name for name, _ in self.plain.named_buffers(remove_duplicate=False)}
        for member in range(run.num_members):
            run.member = member
            run.calls.clear()
            values = {name: x.clone() if name in buffers else x for name, x in shared.items()}
            values |= {name: run.of_member(value) for name, value in stacked.items()}
            output, changes, constants = self._pass(run, values, run.copy_inputs(inputs), {})
            outputs.append(output)
            of_members.append(changes)
        run.member = None
        for first, *others in zip(*of_members, strict=True):
            first.value = stack_nested([change.value for change in (first, *others)], first.key)
        apply_changes(run, of_members[0], constants, self._carried, self.owns_buffers)
        return stack_nested(outputs, "the output")

    def _pass(
        self, run: OnePass, values: dict[str, Tensor], inputs: Any, unmoved: dict[str, Tensor]
    ) -> tuple[Any, list[Change], list[Any]]:
        """Run the model's code on `values`; return its outputs, and `find_changes` it."""
        stand_ins = self._stand_ins(run, values)
        before = snapshot(self._specs, stand_ins)
        args, kwargs = run.member_inputs(inputs)
        outputs = stand_ins[""](*args, **kwargs)
        changes, constants = find_changes(self._specs, stand_ins, before, unmoved)
        if run.vmap_level is not None:
            for stand_in in stand_ins.values():  # else they hold themselves, and what was formed
                vars(stand_in).pop("forward", None)
        return outputs, changes, constants

    def _trace(self, run: OnePass, inputs: Any) -> Any:
        """Run as a compiler can follow."""
        clones = self._traced.copy_modes()
        shared, stacked = self._values(run, clones=clones)
        outputs = self._traced.outputs(run, shared, stacked, *inputs)
        if clones:
            values = {**shared, **stacked}
            changes = [
                Change(spec.stored._buffers, key, values[name], differs=name in stacked)
                for spec in self._specs.values()
                for key, name in spec.buffers.items()
                if name in values
            ]
            apply_changes(run, changes, [], self._carried, self.owns_buffers)
        return outputs

    def _values(
        self, run: OnePass, *, clones: bool, lazy: bool = False, autocasts: bool = True
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return what is the same for all members, and (members, …) of what is not, by name.

        If `lazy`, nothing of layers, which form what the model reads.
        """
        shared: dict[str, Tensor] = {}
        stacked: dict[str, Tensor] = {}
        known: dict[int, Tensor] = {}  # a buffer of two names is one
        for spec in self._specs.values():
            autocast = autocasts and isinstance(spec.plain, MULTIPLIERS)
            for key, (name, source) in () if lazy and spec.is_layer else spec.parameters.items():
                if source:
                    value = run.arrays(source[0])[source[1]]
                else:
                    value = spec.stored._parameters.get(key)
                if value is not None:
                    value = _as_autocast(value) if autocast else value
                    (stacked if source else shared)[name] = value
            for key, name in spec.buffers.items():
                if (value := spec.stored._buffers[key]) is None:
                    continue
                # What moves is a row of each member or sample, and begins with what it was before.
                moves = value.is_floating_point() and clones and run.independent
                owned = value.is_floating_point() and self.owns_buffers
                if id(value) not in known:
                    rows = value[None] if moves and not owned else value
                    if (owned or moves) and len(rows) != run.num_members:
                        rows = rows.repeat(run.num_members // len(rows), *[1] * (rows.ndim - 1))
                    known[id(value)] = rows.clone() if clones else rows
                (stacked if owned or moves else shared)[name] = known[id(value)]
        return shared, stacked

    def _stand_ins(self, run: OnePass, values: dict[str, Tensor]) -> dict[str, Any]:
        """Return what runs in place of each module: its code, on other values."""
        specs, at_once = self._specs.items(), run.vmap_level is not None
        sources = {path: spec.plain if spec.is_layer else spec.stored for path, spec in specs}
        stand_ins = self._specs.copies(sources, self._carried)
        for path, spec in specs:
            stand_in, attributes = stand_ins[path], vars(stand_ins[path])
            attributes["training"] = spec.stored.training and run.keeps_state
            if at_once and spec.is_layer:
                attributes["_parameters"] = LazyParameters(spec.parameters, partial(run.read, path))
            else:
                attributes["_parameters"] = {
                    k: values.get(name) for k, (name, _) in spec.parameters.items()
                }
            attributes["_buffers"] = {key: values.get(name) for key, name in spec.buffers.items()}
            if at_once and (attributes["_backward_hooks"] or attributes["_backward_pre_hooks"]):
                raise RuntimeError("hooks of a backward pass, which would see none")
            if spec.rule and (at_once or spec.rule is dropout_rule):
                attributes["forward"] = partial(spec.rule, run, path, stand_in)
            if isinstance(stand_in, nn.RNNBase):
                refresh_flat_weights(stand_in)
        for (path, key), differs in self._carried.items():
            attributes = vars(stand_ins[path])
            seen = run.of_member if differs else (lambda x: x)
            attributes[key] = map_tensors(lambda _, x, seen=seen: seen(x), attributes[key], key)
        return stand_ins


def _as_autocast(value: Tensor) -> Tensor:
    """Under vmap a product adds its bias by itself, which autocast does not shorten."""
    kind = value.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return value.to(torch.get_autocast_dtype(kind))
    return value
