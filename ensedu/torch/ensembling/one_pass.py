"""One pass of all members: who runs, what is drawn, and the arrays that they have.

All run at once on an axis that a model's code does not see, by the parts of ``torch.func.vmap``,
which itself searches inputs and outputs at each call, and lets nobody out. Another Torch may have
these parts elsewhere: only this file calls them.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch._functorch.vmap import lazy_load_decompositions, vmap_increment_nesting

from ensedu.torch.base import depends_on_input
from ensedu.torch.dropout import checked_mask
from ensedu.torch.trees import map_tensors, named_tensors
from ensedu.torch.variational import softplus

functorch: Any = torch._C._functorch
Noise = dict[str, dict[str, Tensor]]


@dataclass(eq=False)
class OnePass:
    """A forward pass of all members: its noise, and who runs."""

    #: Layers of the method, and arrays outside of layers, by their path.
    method_arrays: dict[str, Any]
    #: The axes in front of the batch.
    leading: tuple[int, ...]
    #: Noise that a caller gave, by path; ``None`` to draw, from the generator.
    given: Noise | None = None
    generator: torch.Generator | None = None
    #: Whether each member draws masks of dropout of its own, and moves running statistics.
    independent: bool = True
    #: Whether inputs are (M, B, …), a batch for each member.
    own_batches: bool = False
    #: Whether the net is in its own mode, and its state moves with the pass.
    updates_state: bool = True
    #: The member that runs; the level of ``vmap`` at which all do; whether a compiler follows.
    member: int | None = field(default=None, init=False)
    vmap_level: int | None = field(default=None, init=False)
    is_traced: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        #: How many members run, those of each sample.
        self.num_runs = prod(self.leading)
        self.randomness = "different" if self.independent else "same"
        self.noise: Noise = self.given or {}
        #: How often each part was called.
        self.calls: Counter[str] = Counter()
        self._arrays: dict[str, dict[str, Tensor | None]] = {}

    @contextmanager
    def all_at_once(self) -> Iterator[None]:
        """Let what runs in here run for all members."""
        lazy_load_decompositions()
        # Of an operation without a rule Torch warns, and loops over the members.
        functorch._set_vmap_fallback_warning_enabled(False)
        # A checkpoint would compute something again when vmap is over; but not a reader's own,
        # around the whole pass.
        inside = torch._C._autograd._top_saved_tensors_default_hooks(False) is None
        refuse = torch.autograd.graph.disable_saved_tensors_hooks if inside else nullcontext
        axis = vmap_increment_nesting(self.num_runs, self.randomness)
        try:
            with refuse("checkpoints inside"), axis as self.vmap_level:
                yield
        finally:
            self.vmap_level = None
            functorch._set_vmap_fallback_warning_enabled(True)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave this axis, as the rule of an ``autograd.Function`` would in 0.3 ms."""
        inside = None if self.vmap_level is None else functorch.pop_dynamic_layer_stack()
        try:
            yield
        finally:
            if inside is not None:
                functorch.push_dynamic_layer_stack(inside)

    def is_at_once(self) -> bool:
        """Whether all members run, and inside of no other transform of ``torch.func``."""
        level = self.vmap_level
        return level is not None and functorch.peek_interpreter_stack().level() == level

    def of_member(self, stacked: Tensor) -> Tensor:
        """Return what the member that runs has of (members, …), which may be one for each sample.

        Where a compiler follows, that of all.
        """
        rows = stacked.shape[0]
        if self.member is not None:
            return stacked[self.member % rows]
        if rows != self.num_runs:
            stacked = stacked.repeat(self.num_runs // rows, *[1] * (stacked.ndim - 1))
        return stacked if self.is_traced else functorch._add_batch_dim(stacked, 0, self.vmap_level)

    def of_all(self, x: Tensor) -> tuple[Tensor, bool]:
        """Return what all members have of x, (members, …), or x itself where they do not differ."""
        if not functorch.is_batchedtensor(x) or functorch.maybe_get_level(x) != self.vmap_level:
            return x, False
        axis, x = functorch.maybe_get_bdim(x), functorch.get_unwrapped(x)
        return (x.movedim(axis, 0) if axis else x), True

    def tree_of_all(self, tree: Any, name: str, differ: bool = False) -> tuple[Any, bool]:
        """Return `of_all` of each tensor: where members `differ` in one, (members, …) of each."""
        differ = differ or any(self.of_all(x)[1] for _, x in named_tensors(tree))

        def of_each(_: str, x: Tensor) -> Tensor:
            x, differs = self.of_all(x)
            return x if differs or not differ else x.expand(self.num_runs, *x.shape)

        return map_tensors(of_each, tree, name), differ

    def inputs_of_member(self, inputs: Any) -> Any:
        """Return what the member that runs is given, copied, for a model that works in place."""

        def own(_: str, x: Tensor) -> Tensor:
            return (self.of_member(x) if self.own_batches else x).clone()

        return map_tensors(own, inputs, "input", strict=False)

    def noise_of(self, path: str, shape: tuple[int, ...] | None = None) -> dict[str, Tensor] | None:
        """Return the noise of a layer for an input, of its weights without: given, or drawn once.

        Raises ``ValueError`` where no noise makes one weight of a layer.
        """
        layer = self.method_arrays[path]
        if not hasattr(layer, "noise"):
            return None
        drawn_once = self.given is not None or not depends_on_input(layer)
        if shape is None and (getattr(layer, "per_example", False) or not drawn_once):
            raise ValueError(
                f"{path or 'the model'} draws for each example, and no member has one weight; "
                "accepted is per_example=False, or estimator='weights'"
            )
        if drawn_once:
            if path not in self.noise:
                self._check_may_draw(path)
                self.noise[path] = self.draw(path)
            return self.noise[path]
        number = self._calls_before(path)
        key = f"{path} {number}" if number else path
        if key not in self.noise:
            self.noise[key] = layer.noise(self.generator, shape)
        return self.noise[key]

    def draw(self, path: str) -> dict[str, Tensor]:
        """Draw what makes one function of each member's layer, for any input."""
        layer = self.method_arrays[path]
        if getattr(layer, "per_example", False):
            raise ValueError(
                f"noise of {path or 'the model'} depends on its input for per_example=True; "
                "accepted are the inputs too, net.noise(generator, x)"
            )
        if depends_on_input(layer):  # noise of the weights makes one function of such a layer, too
            draws = [layer.noise(self.generator) for _ in range(self.num_runs)]
            return {key: torch.stack([draw[key] for draw in draws]) for key in draws[0]}
        pixels = [1] * (-2 - layer.batch_axis)
        return layer.noise(self.generator, (*self.leading, 1, layer.in_features, *pixels))

    def mask_of(self, path: str, p: float, shape: tuple[int, ...], device: Any) -> Tensor:
        """Return the mask of this call of a dropout, for the member that runs."""
        name = f"mask{self._calls_before(path) or ''}"
        if self.is_traced:  # there each has its own noise, or draws
            drawn = self.given is None
            return (
                torch.rand(1, *shape[1:], device=device) >= p if drawn else self.noise[path][name]
            )
        with self.outside():
            masks, every = self.noise.setdefault(path, {}), (self.num_runs, *shape)
            if name not in masks:
                self._check_may_draw(path)
                sizes = (self.num_runs, 1, *shape[1:])
                masks[name] = torch.rand(sizes, generator=self.generator, device=device) >= p
            with named_errors(path):
                mask = checked_mask({"mask": masks[name]}, every, len(shape) - 1)
        return self.of_member(mask)

    def _calls_before(self, path: str) -> int:
        """Return how often a part was called before in this pass."""
        self.calls[path] += 1
        return self.calls[path] - 1

    def _check_may_draw(self, path: str) -> None:
        if self.given is not None:
            raise ValueError(
                f"noise has nothing for {path or 'the model'}, accepted is what net.noise() "
                "returns for such inputs"
            )

    def arrays(self, path: str) -> dict[str, Tensor | None]:
        """Return the weight and bias of all members, (members, …)."""
        if path not in self._arrays:
            layer = self.method_arrays[path]
            with self.outside():
                noise: Any = self.noise_of(path)
                with named_errors(path):
                    weight = layer.stored_weights(noise)
                bias = getattr(layer, "bias", None)
                if getattr(layer, "bias_mean", None) is not None:
                    bias = layer.bias_mean + softplus(layer.bias_rho) * noise["bias"]
                if bias is not None:
                    bias = bias.expand(*self.leading, bias.shape[-1]).reshape(self.num_runs, -1)
                weight = weight.flatten(0, len(self.leading) - 1)
                self._arrays[path] = {"weight": weight, "bias": bias}
        return self._arrays[path]

    def read(self, path: str, key: str) -> Tensor | None:
        """Return what a layer has for its weight or bias, where the model itself reads it."""
        stacked = self.arrays(path)[key]
        return None if stacked is None else self.of_member(stacked)


class LazyParameters(dict[str, Any]):
    """Parameters of a layer that are formed only where the model itself reads them."""

    def __init__(self, keys: Any, read: Callable[[str], Tensor | None]) -> None:
        super().__init__(dict.fromkeys(keys))
        self._read = read

    def __getitem__(self, key: str) -> Tensor | None:
        return self._read(key)

    def items(self) -> Any:
        return [(key, self._read(key)) for key in self]


@contextmanager
def named_errors(path: str) -> Iterator[None]:
    """Let an error begin with the part that it is about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path or 'the model'}: {error}") from None
