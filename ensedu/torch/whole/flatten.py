"""Run a whole model for all members at once, as one batch of (M B, …).

The members are flattened into the batch, (M, B, …) to (M B, …), and unflattened where a layer must
tell them apart.
"""

import copy
import inspect
import warnings
from collections import Counter
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import check_generator
from ensedu.torch.whole.batch_sizes import batch_size_of_each_member, shared_batch_size
from ensedu.torch.whole.compare import (
    NO_NUMBER,
    REPEAT_BODY,
    MixUp,
    Originals,
    compare,
    is_comparable,
    is_compared,
    is_traced,
    kind_of_pass,
    unfused,
)
from ensedu.torch.whole.flat_parts import FlatLayer, FlatPart
from ensedu.torch.whole.nested_tensors import check_inputs, first_that_is_not_dense, map_tensors
from ensedu.torch.whole.one_member import (
    FixedDropout,
    checked_index,
    copy_in_eval_mode,
    detached_tensors,
    restart_masks,
)
from ensedu.torch.whole.passes import Pass, Passes, Source

# Modules of Torch that in eval mode may read the weights of the layers inside, and call none.
FUSED = (nn.TransformerEncoder, nn.TransformerEncoderLayer)


class FlatEnsemble(nn.Module):
    """A model in which some layers tell the members apart: (B, …) -> (M, B, …).

    Inside, the batch is repeated to (M B, …), member after member, so that every other layer of
    the model works as it did. `ensedu.torch.ensemble` builds it. Samples are an axis S, alone or
    in front of M. Of each kind of forward pass the numbers 1, 2, 4, 8, … are compared with passes
    of the members alone, see `check_members`, where nothing traces or transforms them. Threads may
    run it at once, each with a pass of its own.
    """

    def __init__(self, model: nn.Module, passes: Passes, *, has_body: bool = False) -> None:
        super().__init__()
        self.model = model
        #: Whether a pass runs the body of a last-layer ensemble once, and only its head for each
        #: member; ``None`` until a comparison tells. Set it to ``False`` to repeat the body.
        self.runs_body_once: bool | None = None if has_body else False
        self._passes = passes
        # A model may have an input of this name itself.
        self._takes_noise = "noise" not in inspect.signature(model.forward).parameters
        self._fused = any(isinstance(part, FUSED) for part in model.modules())
        self._hooks = _hook_numbers(model)
        self.training = model.training
        #: The modules of the model that was converted.
        self.originals = Originals()
        #: Whether passes are compared with the members alone; set it to ``False`` to skip that.
        self.comparing = True
        #: How many passes of each kind there were.
        self.passes_by_kind: Counter[Any] = Counter()
        #: Whether an input is (M, B, …), a batch for each member, instead of one for all.
        self.own_batches = False

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch: (M,), (S,) or (S, M)."""
        return self._passes.leading

    @property
    def ensemble_size(self) -> int | None:
        """Number of members M, ``None`` for a method without."""
        return self._passes.ensemble_size

    @ensemble_size.setter
    def ensemble_size(self, value: Any) -> None:
        more = "another ensemble of the model"
        if self.samples is not None:
            more += ", or another number of samples"
        raise AttributeError(f"ensemble_size cannot be set, got {value!r}; accepted is {more}")

    @property
    def samples(self) -> int | None:
        """Number of samples S; it can be set, to any number for a method that draws.

        ``None`` where members are not sampled: the output is then (M, B, …).
        """
        return self._passes.samples

    @samples.setter
    def samples(self, value: int | None) -> None:
        if not self._parts_that_draw():
            raise ValueError(f"samples must be left out where nothing is drawn, got {value!r}")
        if value is not None or self.ensemble_size is None:
            checks.positive_int("samples", value)
        self._passes.samples = value

    def noise(
        self, generator: torch.Generator | None = None, *args: Any, **kwargs: Any
    ) -> dict[str, Tensor]:
        """Draw the noise of all layers, to be given as ``net(x, noise=noise)``.

        With the inputs of a forward pass, ``net.noise(generator, x)``, it is what a pass in eval
        mode would draw; without, one function for any input. A layer that the model calls several
        times uses its noise each time. A model whose own forward pass has an input ``noise`` takes
        that one.

        Raises ``ValueError`` where a layer's noise depends on its input (``per_example=True``,
        dropout) and there is none.
        """
        check_generator(generator)
        self.check_inputs(args, kwargs)
        if (args or kwargs) and self._parts_that_draw():
            parts: dict[str, dict[str, Tensor]] = {}
            self.eval_copy()._run(args, kwargs, parts, Source(generator))
            for (
                part
            ) in self._parts_that_draw():  # of what this pass did not call, what fits any input
                if isinstance(part, FlatLayer) and part.name not in parts:
                    parts[part.name] = part.draw(generator, None)
        else:
            parts = {part.name: part.draw(generator, None) for part in self._parts_that_draw()}
        return {
            f"{name}.{key}".lstrip("."): value
            for name, own in parts.items()
            for key, value in own.items()
        }

    def member(
        self, index: int | tuple[int, ...], noise: dict[str, Tensor] | None = None
    ) -> nn.Module:
        """Return one member as a plain module, (B, …) -> (B, …), a copy that shares no memory.

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
        place = checked_index(index, self.leading)
        own = self._noise_by_part(noise)
        if self._parts_that_draw() and own is None:
            raise ValueError(
                "noise must be given for a method that draws, got None; accepted is what "
                "net.noise() returns"
            )
        replaced: dict[int, Any] = {
            id(part): part.of_member(place, (own or {}).get(part.name))
            for part in self.modules()
            if isinstance(part, FlatPart)
        }
        member = copy.deepcopy(self.model, replaced | detached_tensors(self.model))
        if any(isinstance(part, FixedDropout) for part in member.modules()):
            member.register_forward_pre_hook(restart_masks)
        return member

    def eval_copy(self, *, shares: bool = True) -> "FlatEnsemble":
        """Return a copy in eval mode, which `shares` the parameters of this one.

        Hooks that are not the model's own would see passes that nobody has asked for: it has none.
        """
        eval_copy = copy_in_eval_mode(self, shares)
        for part in eval_copy.modules():
            for hooks in (part._forward_hooks, part._forward_pre_hooks):
                for key in hooks.keys() - self._hooks:
                    del hooks[key]
        eval_copy.comparing = False
        return eval_copy

    def _parts_that_draw(self) -> list["FlatPart"]:
        return [part for part in self.modules() if isinstance(part, FlatPart) and part.draws]

    def check_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Check that inputs are dense tensors, or hold such."""
        if is_traced():
            return
        check_inputs(self.model.forward, args, kwargs)
        if what := first_that_is_not_dense(self.model.forward, args, kwargs):
            raise TypeError(f"{what}, accepted is a dense tensor, of {torch.strided}")

    def forward(self, *args: Any, noise: Any = None, **kwargs: Any) -> Any:
        if noise is not None and not self._takes_noise:
            noise, kwargs = None, {**kwargs, "noise": noise}
        self.check_inputs(args, kwargs)
        kind, number, why_not = self._compare(args, kwargs)
        output = self.run(args, kwargs, noise)
        if number:
            self.passes_by_kind[kind] = number
        if number == 1 and why_not:
            warnings.warn(
                f"{type(self).__name__} was not compared with its members: {why_not}. "
                "comparing = False says that it need not be",
                stacklevel=2,
            )
        return output

    def _compare(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, int, str]:
        """Compare the passes 1, 2, 4, 8, … of a kind, and say why one could not be, or "".

        With the kind, and the number of the pass if it counts.
        """
        if not self.comparing or is_traced():
            return None, 0, ""
        if self.own_batches:  # the first member's batch, given to all
            batch_size_of_each_member(self.ensemble_size or 1, args, kwargs)
            args, kwargs = (
                map_tensors(lambda _, x: x[0], tree, "input") for tree in (args, kwargs)
            )
        kind = kind_of_pass(args, kwargs)
        number = self.passes_by_kind[kind] + 1
        if not is_compared(number):
            return kind, number, ""
        # This takes a look at each parameter: only where it matters.
        if not is_comparable(self, args, kwargs):
            return kind, 0, ""
        try:
            why_not = compare(self, args, kwargs, first=number == 1)
        except MixUp:
            raise
        except Exception as error:  # the pass itself says it better, or works, as in training mode
            why_not = f"{type(error).__name__}: {error}"
        # Where nothing is told, another batch may tell.
        return kind, 0 if why_not == NO_NUMBER else number, why_not

    def run(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], noise: dict[str, Tensor] | None
    ) -> Any:
        """Return the output of a forward pass with this noise, uncompared."""
        return self._run(args, kwargs, self._noise_by_part(noise))

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        noise: dict[str, dict[str, Tensor]] | None,
        source: Source | None = None,
    ) -> Any:
        rows = prod(self.leading)
        if self.own_batches:
            B = batch_size_of_each_member(self.ensemble_size or 1, args, kwargs)
        else:
            B = shared_batch_size(args, kwargs)

        once = bool(self.runs_body_once) and not self.own_batches

        def repeat(_: str, x: Tensor) -> Tensor:
            if self.own_batches:
                return x.flatten(0, 1).repeat(self.samples or 1, *[1] * (x.ndim - 2))
            batched = x.ndim > 0 and x.shape[0] == B and not once
            return x.repeat(rows, *[1] * (x.ndim - 1)) if batched else x.clone()

        def unfold(name: str, y: Tensor) -> Tensor:
            if y.ndim and y.shape[0] == rows * B:
                return y.unflatten(0, (*self.leading, B))
            if y.ndim and y.shape[0] == B and once:  # it has not passed the head
                return y.repeat(*self.leading, *[1] * y.ndim)
            raise ValueError(
                f"{name} of the model has shape {tuple(y.shape)}, accepted is "
                f"({rows * B}, ...): one entry for each of {rows} members and {B} examples"
            )

        args, kwargs = map_tensors(repeat, args, "input"), map_tensors(repeat, kwargs, "input")
        before = self._passes.begin(Pass(B, noise, source, once=once))
        try:
            with unfused(self._fused):
                outputs = self.model(*args, **kwargs)
            return map_tensors(unfold, outputs, "the output")
        except Exception as error:
            if once:
                error.add_note(f"The body ran once for all members; {REPEAT_BODY}.")
            raise
        finally:
            self._passes.end(before)

    def _noise_by_part(
        self, noise: dict[str, Tensor] | None
    ) -> dict[str, dict[str, Tensor]] | None:
        if noise is None:
            return None
        if not isinstance(noise, dict):
            raise TypeError(
                f"noise must be a dict, as net.noise() returns it, got {type(noise).__name__}"
            )
        known = [part.name for part in self._parts_that_draw()]
        parts: dict[str, dict[str, Tensor]] = {}
        for key, value in noise.items():
            name, _, own = str(key).rpartition(".")
            if name not in known:
                raise ValueError(
                    f"noise has the key {key!r}, accepted are those of layers that draw, "
                    f"{', '.join(known[:20]) or 'none'}, as net.noise() returns them"
                )
            parts.setdefault(name, {})[own] = value
        return parts

    def extra_repr(self) -> str:
        return f"leading={self.leading}"


def _hook_numbers(model: nn.Module) -> set[int]:
    """Return the numbers of all that looks on at the forward passes of a model."""
    parts = list(model.modules())
    return {key for part in parts for key in (*part._forward_hooks, *part._forward_pre_hooks)}
