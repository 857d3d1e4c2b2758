"""What each ensemble of a model is but a deep one: the model, run with weights of each member.

Members run at once, in turn, or as a compiler follows.
"""

import inspect
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ensedu.torch.base import Ensemble
from ensedu.torch.ensembling.model_copies import copy_model, meta_copy
from ensedu.torch.ensembling.model_specs import Change, ModelSpecs
from ensedu.torch.ensembling.module_rules import FixedDropout, restart_masks
from ensedu.torch.ensembling.one_pass import Noise, OnePass
from ensedu.torch.ensembling.parameter_plan import Plan
from ensedu.torch.ensembling.stand_ins import StandIns
from ensedu.torch.inputs import check_own_batches
from ensedu.torch.tensor_checks import check_dense, check_generator
from ensedu.torch.trees import map_tensors, named_tensors, stack_trees

#: What vmap calls "different inplace randomness on an unbatched tensor".
DROPS_IN_PLACE = (
    "dropout in place of what is the same for all members, such as that of attention in training "
    "mode; dropout=0.0 there, or inplace=False in yours, lets them run at once"
)


class ModelEnsemble(Ensemble):
    """A model with weights for each member: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it.

    ``net(x)[i]`` is the model run with the weights of member i. Samples are an axis S, alone or in
    front of M. Threads may run it at once.
    """

    def __init__(
        self,
        model: nn.Module,
        stored: nn.Module,
        plan: Plan,
        *,
        ensemble_size: int | None = None,
        samples: int | None = None,
        has_body: bool = False,
        dropouts: tuple[str, ...] = (),
    ) -> None:
        super().__init__(ensemble_size, samples)
        #: The model's modules, with the arrays of members where it had parameters.
        self.model = stored
        # A body without members runs once, with one mask of its dropout.
        self._has_body = has_body
        # A model may have an input of this name itself.
        self._takes_noise = "noise" not in inspect.signature(model.forward).parameters
        owns_buffers = ensemble_size is not None and not has_body
        self._specs = ModelSpecs(meta_copy(model), stored, plan, dropouts, owns_buffers)
        #: Whether members run one after the other. It turns ``True`` where they must.
        self.in_turn = False
        self.training = model.training

    @property
    def draws(self) -> bool:
        return bool(self._specs.paths_that_draw)

    def noise(
        self, generator: torch.Generator | None = None, *args: Any, **kwargs: Any
    ) -> dict[str, Tensor]:
        """Draw the noise of all layers, to be given as ``net(x, noise=noise)``.

        With the inputs of a forward pass, ``net.noise(generator, x)``, it is what a pass in eval
        mode would draw; without, one function for any input. A model whose own forward pass has an
        input ``noise`` takes that one.

        Raises ``ValueError`` where a layer's noise depends on its input (``per_example=True``,
        dropout) and there is none.
        """
        check_generator(generator)
        one_pass = self._new_pass(generator=generator, updates_state=False)
        has_inputs, drawn = bool(args or kwargs), dict.fromkeys(self._specs.paths_that_draw)
        if has_inputs and drawn:
            self._run(one_pass, (args, kwargs))
        # Of its first call: a layer uses its noise each time.
        parts = {path: own for path, own in one_pass.noise.items() if path in drawn}
        for path in [path for path in drawn if path not in parts]:
            if (layer := one_pass.method_arrays.get(path)) is None and not has_inputs:
                raise ValueError(
                    f"noise of {path or 'the model'} depends on its input as every mask of "
                    "dropout does; accepted are the inputs too, net.noise(generator, x)"
                )
            if layer is not None and not (has_inputs and getattr(layer, "per_example", False)):
                parts[path] = one_pass.draw(path)
        return {
            f"{path}.{key}".lstrip("."): value
            for path, own in parts.items()
            for key, value in own.items()
        }

    def member(
        self, index: int | tuple[int, ...], noise: dict[str, Tensor] | None = None
    ) -> nn.Module:
        """Return one member as a plain module, a copy of the model that shares no memory.

        In eval mode it computes what this ensemble does in entry `index` of its output.

        Parameters
        ----------
        index
            The member's number from 0, the sample's for a method without members, and both,
            (sample, member), where there are both axes.
        noise
            For a method that draws, what `noise` returns: it decides which function a member is.

        Raises
        ------
        TypeError, ValueError
            For another index, for noise that is missing, superfluous or of another shape, and for
            noise that is another for each example (``per_example=True``).
        """
        place, row = self._place(index), 0
        for number, size in zip(place, self.leading, strict=True):
            row = row * size + number
        own = self._noise_by_part(noise)
        if self.draws and own is None:
            raise ValueError(
                "noise must be given for a method that draws, got None; accepted is what "
                "net.noise() returns"
            )
        one_pass = self._new_pass(own)
        one_pass.member = row
        member = copy_model(StandIns(self._specs, one_pass, clones=True).released())
        for path in self._specs.dropouts:
            masks = (own or {}).get(path, {})
            for key, mask in masks.items():
                name = f"{path or 'the model'}: noise[{key!r}]"
                check_dense(name, mask)
                if tuple(mask.shape[:1]) != self.leading:
                    raise ValueError(
                        f"{name} has shape {tuple(mask.shape)}, accepted is a mask for each of "
                        f"{self.samples} samples, as net.noise() returns it"
                    )
            dropout: Any = member.get_submodule(path)
            fixed = FixedDropout([mask[place] for mask in masks.values()], dropout.p)
            if not path:
                return fixed
            member.set_submodule(path, fixed)
        if self._specs.dropouts:
            member.register_forward_pre_hook(restart_masks)
        return member

    def forward(self, *args: Any, noise: Any = None, **kwargs: Any) -> Any:
        if noise is not None and not self._takes_noise:
            noise, kwargs = None, {**kwargs, "noise": noise}
        if self.own_batches:
            check_own_batches(self.ensemble_size or 1, args, kwargs)
        one_pass = self._new_pass(self._noise_by_part(noise), own_batches=self.own_batches)
        return self._run(one_pass, (args, kwargs))

    def _run(self, one_pass: OnePass, inputs: Any) -> Any:
        """Run all members, and return their outputs; the model's state moves in the net, too."""
        compiling = torch.compiler.is_compiling()
        if compiling and self.in_turn:
            # Beside the graph. A decorator would load the compiler with the package.
            return torch.compiler.disable(self._run)(one_pass, inputs)
        at_once = self._run_traced if compiling else self._run_at_once
        outputs = (self._run_in_turn if self.in_turn else at_once)(one_pass, inputs)
        if len(one_pass.leading) == 1:
            return outputs
        return map_tensors(lambda _, y: y.unflatten(0, one_pass.leading), outputs, "the output")

    def _run_at_once(self, one_pass: OnePass, inputs: Any) -> Any:
        """Run all members under ``vmap``; in turn from now on, with a warning, where it refuses.

        What it refuses it says by a ``RuntimeError``, as a model's own code may: if that is why, it
        is raised again in turn.
        """
        # In training mode a pass that fails half-way must not have moved anything.
        trains = any(module.training for module in self.model.modules())
        clones = trains or not one_pass.updates_state
        try:
            with one_pass.all_at_once():
                stand_ins = StandIns(self._specs, one_pass, clones)
                args, kwargs = one_pass.inputs_of_member(inputs)
                outputs = stand_ins[""](*args, **kwargs)
                changes, plain_changes = stand_ins.changes()
                for change in changes:
                    change.value, change.differs = one_pass.tree_of_all(change.value, change.key)
                outputs, _ = one_pass.tree_of_all(outputs, "the output", differ=True)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = DROPS_IN_PLACE if "inplace randomness" in str(error) else str(error)
        else:
            self._specs.keep(one_pass, changes, plain_changes)
            return outputs
        outputs = self._run_in_turn(one_pass, inputs)
        self.in_turn = True
        warnings.warn(
            f"members run in turn, which takes longer, where torch.func.vmap refuses: {why}. "
            "net.in_turn = True says that it may",
            stacklevel=6,
        )
        return outputs

    def _run_in_turn(self, one_pass: OnePass, inputs: Any) -> Any:
        """Run one member after the other, outside of a compiler's graph.

        What a checkpoint computes again for the gradient finds the values of its member.
        """
        outputs, of_members = [], []
        for member in range(one_pass.num_runs):
            one_pass.member = member
            one_pass.calls.clear()
            stand_ins = StandIns(self._specs, one_pass, clones=True)
            args, kwargs = one_pass.inputs_of_member(inputs)
            outputs.append(stand_ins[""](*args, **kwargs))
            changes, plain_changes = stand_ins.changes()
            of_members.append(changes)
        one_pass.member = None
        for first, *others in zip(*of_members, strict=True):
            first.value = stack_trees([change.value for change in (first, *others)], first.key)
        self._specs.keep(one_pass, of_members[0], plain_changes)
        return stack_trees(outputs, "the output")

    def _run_traced(self, one_pass: OnePass, inputs: Any) -> Any:
        """Run as a compiler can follow, which knows no way out of ``vmap``.

        All arrays are formed before, and nothing of the model's state moves but buffers.
        """
        specs, traced, seen = self._specs, self._specs.traced, []
        specs.traced_pass, one_pass.is_traced = one_pass, True
        for path, module in traced.items():
            module.training = specs[path].stored.training
        trains = any(module.training for module in traced.values())
        shared, own = specs.in_pass(one_pass, clones=trains)

        def member(own: Any, noise: Noise, args: Any, kwargs: Any) -> list[Tensor]:
            one_pass.noise = noise
            one_pass.calls.clear()
            model, values = traced[""], {**shared, **own}
            seen.append(functional_call(model, values, args, kwargs, tie_weights=False))
            return [y for _, y in named_tensors(seen[-1], "the output")]

        axis = 0 if one_pass.own_batches else None
        masks = {k: noise for k, noise in one_pass.noise.items() if k not in specs.method_arrays}
        of_all = vmap(member, (0, 0, axis, axis), randomness=one_pass.randomness)
        ys = iter(of_all(own, masks, *inputs))
        if trains:
            values = {**shared, **own}
            changes = [
                Change(path, key, values[name], True, name in own)
                for path, spec in specs.items()
                for key, name in spec.buffers.items()
                if name in values
            ]
            specs.keep(one_pass, changes, [])
        return map_tensors(lambda _, y: next(ys), seen[-1], "the output")

    def _new_pass(self, noise: Noise | None = None, **options: Any) -> OnePass:
        independent = options.get("own_batches", False) or not self._has_body
        arrays, leading = self._specs.method_arrays, self.leading
        return OnePass(arrays, leading, noise, independent=independent, **options)

    def _noise_by_part(self, noise: dict[str, Tensor] | None) -> Noise | None:
        if noise is None:
            return None
        if not isinstance(noise, dict):
            raise TypeError(
                f"noise must be a dict, as net.noise() returns it, got {type(noise).__name__}"
            )
        known = self._specs.paths_that_draw
        parts: Noise = {}
        for key, value in noise.items():
            path, _, own = str(key).rpartition(".")
            if path not in known:
                raise ValueError(
                    f"noise has the key {key!r}, accepted are those of layers that draw, "
                    f"{', '.join(known[:20]) or 'none'}, as net.noise() returns them"
                )
            parts.setdefault(path, {})[own] = value
        return parts
