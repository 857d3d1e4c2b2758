"""How members run: at once under ``torch.func.vmap``, in turn, or as a compiler follows."""

import copy
import warnings
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.ensembling import hidden_axis
from ensedu.torch.ensembling.batching_rules import dropout_rule, refresh_flat_weights
from ensedu.torch.ensembling.module_specs import ModuleSpecs
from ensedu.torch.ensembling.one_pass import LazyParameters, OnePass
from ensedu.torch.ensembling.parameter_plan import MULTIPLIERS, Plan
from ensedu.torch.ensembling.pass_changes import Change, apply_changes, find_changes, snapshot
from ensedu.torch.ensembling.traced import TracedModel
from ensedu.torch.trees import PLAIN_TYPES, map_tensors, stack_trees

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
        self.converted = {path: self.stored.get_submodule(path) for path in paths}
        self._specs = ModuleSpecs(self.plain, self.stored, self.plan, self.dropouts)
        self._traced = TracedModel(self._specs)

    def __getstate__(self) -> dict[str, Any]:
        made = ("converted", "_specs", "_traced")
        return {key: value for key, value in vars(self).items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_ready()

    @property
    def paths_that_draw(self) -> list[str]:
        """Paths of all that needs noise."""
        drawn = [path for path, layer in self.converted.items() if hasattr(layer, "noise")]
        return [*drawn, *self.dropouts]

    def outputs(self, one_pass: OnePass, args: Any, kwargs: Any) -> Any:
        """Run all members, and return their outputs; the model's state moves in the net, too."""
        compiling = torch.compiler.is_compiling()
        if compiling and self.in_turn:
            # Beside the graph. A decorator would load the compiler with the package.
            return torch.compiler.disable(self.outputs)(one_pass, args, kwargs)
        way = self._in_turn if self.in_turn else self._trace if compiling else self._at_once
        outputs = way(one_pass, (args, kwargs))
        if len(one_pass.leading) == 1:
            return outputs
        return map_tensors(lambda _, y: y.unflatten(0, one_pass.leading), outputs, "the output")

    def member_copy(self, one_pass: OnePass, place: int) -> nn.Module:
        """Return a copy of the model with the values of one member."""
        shared, stacked = self._values(one_pass, clones=False, autocasts=False)
        values = shared | {name: value[place] for name, value in stacked.items()}
        member = copy.deepcopy(self.plain)
        for path, module in member.named_modules():
            spec = self._specs[path]
            for key, (name, source) in spec.parameters.items():
                if source:
                    layer, kind = one_pass.converted[source[0]], source[1]
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
            if not spec.is_replaced:  # which has settings of its own
                plain_values = {k: v for k, v in stored.items() if isinstance(v, PLAIN_TYPES)}
                vars(module).update(plain_values)
            module.training = spec.stored.training
        for (path, key), differs in self._carried.items():

            def of_member(_: str, x: Tensor, differs: bool = differs) -> Tensor:
                return (x[place] if differs else x).detach().clone()

            left = vars(self._specs[path].stored)[key]
            vars(member.get_submodule(path))[key] = map_tensors(of_member, left, key)
        return member

    def _at_once(self, one_pass: OnePass, inputs: Any) -> Any:
        try:
            return self._under_vmap(one_pass, inputs)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = DROPS_IN_PLACE if "inplace randomness" in str(error) else str(error)
        outputs = self._in_turn(one_pass, inputs)
        self.in_turn = True
        warnings.warn(
            f"members run in turn, which takes longer, where torch.func.vmap refuses: {why}. "
            "net.in_turn = True says that it may",
            stacklevel=6,
        )
        return outputs

    def _under_vmap(self, one_pass: OnePass, inputs: Any) -> Any:
        # In training mode a pass that fails half-way must not have moved anything.
        trains = any(spec.stored.training for spec in self._specs.values())
        clones = trains or not one_pass.updates_state
        shared, stacked = self._values(one_pass, clones=clones, lazy=True)
        inputs = one_pass.copy_inputs(inputs)
        at_once = hidden_axis.all_at_once(one_pass.num_runs, one_pass.randomness)
        try:
            with at_once as one_pass.vmap_level:
                own = {name: one_pass.of_member(value) for name, value in stacked.items()}
                values = shared | own
                outputs, changes, plain_changes = self._pass(
                    one_pass, values, inputs, {} if clones else values
                )
                for change in changes:
                    change.value, change.differs = one_pass.tree_of_all(change.value, change.key)
                outputs = map_tensors(
                    lambda _, y: hidden_axis.show_output(y, one_pass.vmap_level, one_pass.num_runs),
                    outputs, "the output",
                )  # fmt: skip
        finally:
            one_pass.vmap_level = None
        apply_changes(one_pass, changes, plain_changes, self._carried, self.owns_buffers)
        return outputs

    def _in_turn(self, one_pass: OnePass, inputs: Any) -> Any:
        """Run one member after the other, outside of a compiler's graph.

        What a checkpoint computes again for the gradient finds the values of its member.
        """
        outputs, of_members = [], []
        shared, stacked = self._values(one_pass, clones=True)
        buffers = {name for name, _ in self.plain.named_buffers(remove_duplicate=False)}
        for member in range(one_pass.num_runs):
            one_pass.member = member
            one_pass.calls.clear()
            values = {name: x.clone() if name in buffers else x for name, x in shared.items()}
            values |= {name: one_pass.of_member(value) for name, value in stacked.items()}
            copied = one_pass.copy_inputs(inputs)
            output, changes, plain_changes = self._pass(one_pass, values, copied, {})
            outputs.append(output)
            of_members.append(changes)
        one_pass.member = None
        for first, *others in zip(*of_members, strict=True):
            first.value = stack_trees([change.value for change in (first, *others)], first.key)
        apply_changes(one_pass, of_members[0], plain_changes, self._carried, self.owns_buffers)
        return stack_trees(outputs, "the output")

    def _pass(
        self, one_pass: OnePass, values: dict[str, Tensor], inputs: Any, unmoved: dict[str, Tensor]
    ) -> tuple[Any, list[Change], list[Any]]:
        """Run the model's code on `values`; return its outputs, and `find_changes` it."""
        stand_ins = self._stand_ins(one_pass, values)
        before = snapshot(self._specs, stand_ins)
        args, kwargs = one_pass.member_inputs(inputs)
        outputs = stand_ins[""](*args, **kwargs)
        changes, plain_changes = find_changes(self._specs, stand_ins, before, unmoved)
        if one_pass.vmap_level is not None:
            for stand_in in stand_ins.values():  # else they hold themselves, and what was formed
                vars(stand_in).pop("forward", None)
        return outputs, changes, plain_changes

    def _trace(self, one_pass: OnePass, inputs: Any) -> Any:
        """Run as a compiler can follow."""
        clones = self._traced.copy_modes()
        shared, stacked = self._values(one_pass, clones=clones)
        outputs = self._traced.outputs(one_pass, shared, stacked, *inputs)
        if clones:
            values = {**shared, **stacked}
            changes = [
                Change(spec.stored._buffers, key, values[name], differs=name in stacked)
                for spec in self._specs.values()
                for key, name in spec.buffers.items()
                if name in values
            ]
            apply_changes(one_pass, changes, [], self._carried, self.owns_buffers)
        return outputs

    def _values(
        self, one_pass: OnePass, *, clones: bool, lazy: bool = False, autocasts: bool = True
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return what is the same for all members, and (members, …) of what is not, by name.

        If `lazy`, nothing of layers, which form what the model reads.
        """
        shared: dict[str, Tensor] = {}
        stacked: dict[str, Tensor] = {}
        known: dict[int, Tensor] = {}  # a buffer of two names is one
        for spec in self._specs.values():
            autocast = autocasts and isinstance(spec.plain, MULTIPLIERS)
            for key, (name, source) in () if lazy and spec.is_replaced else spec.parameters.items():
                if source:
                    value = one_pass.arrays(source[0])[source[1]]
                else:
                    value = spec.stored._parameters.get(key)
                if value is not None:
                    value = _as_autocast(value) if autocast else value
                    (stacked if source else shared)[name] = value
            for key, name in spec.buffers.items():
                if (value := spec.stored._buffers[key]) is None:
                    continue
                # What moves is a row of each member or sample, and begins with what it was before.
                moves = value.is_floating_point() and clones and one_pass.independent
                owned = value.is_floating_point() and self.owns_buffers
                if id(value) not in known:
                    rows = value[None] if moves and not owned else value
                    if (owned or moves) and len(rows) != one_pass.num_runs:
                        rows = rows.repeat(one_pass.num_runs // len(rows), *[1] * (rows.ndim - 1))
                    known[id(value)] = rows.clone() if clones else rows
                (stacked if owned or moves else shared)[name] = known[id(value)]
        return shared, stacked

    def _stand_ins(self, one_pass: OnePass, values: dict[str, Tensor]) -> dict[str, Any]:
        """Return what runs in place of each module: its code, on other values."""
        specs, at_once = self._specs.items(), one_pass.vmap_level is not None
        sources = {path: spec.plain if spec.is_replaced else spec.stored for path, spec in specs}
        stand_ins = self._specs.copies(sources, self._carried)
        for path, spec in specs:
            stand_in, attributes = stand_ins[path], vars(stand_ins[path])
            attributes["training"] = spec.stored.training and one_pass.updates_state
            if at_once and spec.is_replaced:
                read = partial(one_pass.read, path)
                attributes["_parameters"] = LazyParameters(spec.parameters, read)
            else:
                attributes["_parameters"] = {
                    k: values.get(name) for k, (name, _) in spec.parameters.items()
                }
            attributes["_buffers"] = {key: values.get(name) for key, name in spec.buffers.items()}
            if at_once and (attributes["_backward_hooks"] or attributes["_backward_pre_hooks"]):
                raise RuntimeError("hooks of a backward pass, which would see none")
            if spec.rule and (at_once or spec.rule is dropout_rule):
                attributes["forward"] = partial(spec.rule, one_pass, path, stand_in)
            if isinstance(stand_in, nn.RNNBase):
                refresh_flat_weights(stand_in)
        for (path, key), differs in self._carried.items():
            attributes = vars(stand_ins[path])
            seen = one_pass.of_member if differs else (lambda x: x)
            attributes[key] = map_tensors(lambda _, x, seen=seen: seen(x), attributes[key], key)
        return stand_ins


def _as_autocast(value: Tensor) -> Tensor:
    """Under vmap a product adds its bias by itself, which autocast does not shorten."""
    kind = value.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        return value.to(torch.get_autocast_dtype(kind))
    return value
