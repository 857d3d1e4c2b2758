"""A pass of all members through one model: at once under ``vmap``, or in turn.

A `Run` knows the noise of a pass, and which member runs, or that all do. A `Skeleton` is a copy of
the model that takes its values from there.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch._functorch.vmap import lazy_load_decompositions, vmap_increment_nesting
from torch.func import functional_call, vmap
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.torch.base import MemberLayer
from ensedu.torch.dropout import checked_mask
from ensedu.torch.variational import softplus
from ensedu.torch.whole.nested_tensors import map_tensors, named_tensors, stack_nested
from ensedu.torch.whole.roles import PRODUCTS, Plan

# The parts of torch.func.vmap: it searches inputs and outputs at each call, and lets nobody out.
functorch: Any = torch._C._functorch
# What every module has, which is no state of a model.
OF_MODULES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in OF_MODULES if re.match("_(forward|backward).*hooks", key))
CONSTANTS = (bool, int, float, str, type(None))
# How many axes behind the batch a dropout drops on their own; None for all.
DROPOUT_AXES = {nn.Dropout: None, nn.Dropout1d: 1, nn.Dropout2d: 1, nn.Dropout3d: 1}
# How many axes their batches have.
BATCHED = {nn.Dropout1d: 3, nn.Dropout2d: 4, nn.Dropout3d: 5}
# Of these vmap's rules take longer, and more memory, than one call with all members' examples.
EACH_EXAMPLE = (nn.GroupNorm, nn.LayerNorm)

Noise = dict[str, dict[str, Tensor]]
Inputs = Callable[[], tuple[Any, Any]]


class Run:
    """One pass: its noise, and who runs.

    Parameters
    ----------
    layers
        The arrays of members, by their path.
    leading
        The axes in front of the batch.
    noise
        What is given, by path; ``None`` to draw.
    generator
        What to draw from.
    apart
        Whether members draw masks of dropout, and move running statistics, each for itself.
    """

    def __init__(
        self,
        layers: dict[str, Any],
        leading: tuple[int, ...],
        noise: Noise | None = None,
        generator: torch.Generator | None = None,
        apart: bool = True,
    ) -> None:
        self.apart, self.randomness = apart, "different" if apart else "same"
        self.layers, self.leading, self.rows = layers, leading, prod(leading)
        self.given, self.noise = noise is not None, noise or {}
        self.generator = generator
        #: The member that runs; the level of ``vmap`` at which all do.
        self.member: int | None = None
        self.level: int | None = None
        #: How often each part was called.
        self.calls: Counter[str] = Counter()
        self._formed: dict[str, dict[str, Tensor | None]] = {}

    def own(self, values: Tensor) -> Tensor:
        """Return what the member that runs has of (members, …)."""
        if self.member is not None:
            return values[self.member]
        return functorch._add_batch_dim(values, 0, self.level)

    def of_all(self, x: Tensor) -> tuple[Tensor, bool]:
        """Return what all members have of x, (members, …), or x itself where they do not differ."""
        if not functorch.is_batchedtensor(x) or functorch.maybe_get_level(x) != self.level:
            return x, False
        axis, x = functorch.maybe_get_bdim(x), functorch.get_unwrapped(x)
        return (x.movedim(axis, 0) if axis else x), True

    def kept(self, differs: bool, _: str, x: Tensor) -> Tensor:
        """Return what the member that runs has of a tensor that an earlier pass has left."""
        return self.own(x) if differs else x

    def spread(self, differ: bool, _: str, x: Tensor) -> Tensor:
        """Return what all members have of x, (members, …) where they `differ` in something."""
        x, own = self.of_all(x)
        return x if own or not differ else x.expand(self.rows, *x.shape)

    def is_at_once(self) -> bool:
        """Whether all members run, and inside of no other transform of ``torch.func``."""
        if self.level is None or torch.compiler.is_compiling():
            return False
        return functorch.peek_interpreter_stack().level() == self.level

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave ``vmap``, as the rule of an ``autograd.Function`` does, which takes 0.3 ms."""
        if self.level is None:
            yield
            return
        inside = functorch.pop_dynamic_layer_stack()
        try:
            yield
        finally:
            functorch.push_dynamic_layer_stack(inside)

    def for_all(self, function: Callable[[Tensor, bool], Tensor], x: Tensor) -> Tensor:
        """Return ``function(x of all members, whether they differ)`` to each member."""
        with self.outside():
            y = function(*self.of_all(x))
        return self.own(y)

    def call_of(self, path: str) -> int:
        """Return how often a part was called before in this pass."""
        self.calls[path] += 1
        return self.calls[path] - 1

    def noise_of(self, path: str, shape: tuple[int, ...] | None = None) -> dict[str, Tensor] | None:
        """Return the noise of a layer for an input: what is given, or one draw a pass."""
        layer = self.layers[path]
        if not hasattr(layer, "noise"):
            return None
        if not depends_on_input(layer) or self.given:
            if path not in self.noise:
                self._missing(path)
                self.noise[path] = draw(layer, self, path)
            return self.noise[path]
        if shape is None:
            raise ValueError(
                f"{path or 'the model'} draws for each example, and no member has one weight; "
                "accepted is per_example=False, or estimator='weights'"
            )
        key = f"{path} {self.call_of(path)}"
        if key not in self.noise:
            self.noise[key] = layer.noise(self.generator, shape)
        return self.noise[key]

    def mask_of(self, path: str, p: float, shape: tuple[int, ...], device: Any) -> Tensor:
        """Return the mask of this call of a dropout, for all members."""
        number = self.call_of(path)
        name, every = f"mask{number or ''}", (self.rows, *shape)
        own = self.noise.setdefault(path, {})
        if name not in own:
            self._missing(path)
            sizes = (self.rows, 1, *shape[1:])
            own[name] = torch.rand(sizes, generator=self.generator, device=device) >= p
        with named_errors(path):
            return checked_mask({"mask": own[name]}, every, len(shape) - 1)

    def _missing(self, path: str) -> None:
        if self.given:
            raise ValueError(
                f"noise has nothing for {path or 'the model'}, accepted is what net.noise() "
                "returns for such inputs"
            )

    def arrays(self, path: str) -> dict[str, Tensor | None]:
        """Return the weight and bias of all members, (members, …)."""
        if path not in self._formed:
            layer = self.layers[path]
            with self.outside():
                noise: Any = self.noise_of(path)
                with named_errors(path):
                    weight = layer.stored_weights(noise)
                bias = getattr(layer, "bias", None)
                if getattr(layer, "bias_mean", None) is not None:
                    bias = layer.bias_mean + softplus(layer.bias_rho) * noise["bias"]
                if bias is not None:
                    bias = bias.expand(*self.leading, bias.shape[-1]).reshape(self.rows, -1)
                weight = weight.flatten(0, len(self.leading) - 1)
                self._formed[path] = {"weight": weight, "bias": bias}
        return self._formed[path]


@contextmanager
def named_errors(path: str) -> Iterator[None]:
    """Let an error begin with the part that it is about."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path or 'the model'}: {error}") from None


def depends_on_input(layer: Any) -> bool:
    """Whether what a layer draws has the shape of its input or of its output."""
    estimator = getattr(layer, "estimator", "weights")
    return getattr(layer, "per_example", False) or estimator != "weights"


def draw(layer: Any, run: Run, path: str) -> dict[str, Tensor]:
    """Draw what makes one function of each member's layer, for any input."""
    if getattr(layer, "per_example", False):
        raise ValueError(
            f"noise of {path or 'the model'} depends on its input for per_example=True; accepted "
            "are the inputs too, net.noise(generator, x)"
        )
    if depends_on_input(layer):  # noise of the weights makes one function of such a layer, too
        drawn = [layer.noise(run.generator) for _ in range(run.rows)]
        return {key: torch.stack([one[key] for one in drawn]) for key in drawn[0]}
    pixels = [1] * (-2 - layer.batch_axis)
    return layer.noise(run.generator, (*run.leading, 1, layer.inputs, *pixels))


class Formed(dict[str, Any]):
    """Parameters of a layer that are formed only where the model itself reads them."""

    def __init__(self, keys: Any, read: Callable[[str], Tensor | None]) -> None:
        super().__init__(dict.fromkeys(keys))
        self._read = read

    def __getitem__(self, key: str) -> Tensor | None:
        return self._read(key)

    def items(self) -> Any:
        """As a dict's."""
        return [(key, self._read(key)) for key in self]

    def values(self) -> Any:
        """As a dict's."""
        return [self._read(key) for key in self]


class Parts:
    """What some modules of a skeleton do instead of their own forward pass."""

    def __init__(self) -> None:
        self.run: Any = None

    def is_at_once(self) -> bool:
        """Whether a pass of all members runs; a part may be computed again for the gradient."""
        return self.run is not None and self.run.is_at_once()

    def product(self, path: str, module: Any, input: Tensor) -> Tensor:
        """A layer: that of the method for all members, or the plain one with a member's arrays."""
        if self.is_at_once() and isinstance(input, Tensor):
            layer = self.run.layers[path]
            if input.ndim > 0 if layer.batch_axis == -2 else input.ndim in (3, 4):
                return self.run.for_all(partial(_layer_of_all, self.run, path, layer), input)
        return type(module).forward(module, input)

    def read(self, path: str, key: str) -> Tensor | None:
        """What such a layer has for its weight or bias, where something reads it."""
        values = self.run.arrays(path)[key]
        return None if values is None else self.run.own(values)

    def recurrent(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        """An RNN, which keeps a list of its parameters."""
        module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]
        return type(module).forward(module, *args, **kwargs)

    def dropout(self, path: str, module: Any, input: Tensor) -> Tensor:
        """Dropout with one mask a sample for the whole batch."""
        run, drops = self.run, DROPOUT_AXES[type(module)]
        if run is None:
            raise RuntimeError(
                f"{path or 'the model'} is called outside of a pass, as torch.utils.checkpoint "
                "does for the gradient, where its masks are gone; accepted is no checkpoint there"
            )
        own = input.ndim - 1 if drops is None else drops
        shape = (*input.shape[: 1 + own], *[1] * (input.ndim - 1 - own))
        if torch.compiler.is_compiling():  # the noise is that of one member
            name = f"mask{run.call_of(path) or ''}"
            drawn = None if run.given else torch.rand(1, *shape[1:], device=input.device)
            mask = run.noise[path][name] if drawn is None else drawn >= module.p
        else:
            with run.outside():
                masks = run.mask_of(path, module.p, shape, input.device)
            mask = run.own(masks)
        return input * (mask.to(input) / (1 - module.p))

    def traced_dropout(self, module: Any, input: Tensor) -> Tensor:
        """Dropout, whose rule under ``vmap`` takes no batch of any size."""
        drops, batched = DROPOUT_AXES[type(module)], BATCHED.get(type(module), input.ndim)
        if not module.training or input.ndim != batched:
            return type(module).forward(module, input)
        # Of some kinds whole channels go.
        channels = input if drops is None else input.flatten(2)[..., 0]
        kept = (torch.rand_like(channels) >= module.p) / (1 - module.p)
        return input * kept[(..., *[None] * (input.ndim - kept.ndim))]

    def traced_linear(self, module: Any, input: Tensor) -> Tensor:
        """``nn.Linear``, which under ``vmap`` asks some inputs for a size that is a symbol."""
        y = input @ module.weight.mT
        return y if module.bias is None else y + module.bias

    def traced_norm(self, module: Any, input: Tensor) -> Tensor:
        """BatchNorm, whose rule under ``vmap`` takes no batch of any size, in eval mode."""
        if module.training or module.running_mean is None:
            return type(module).forward(module, input)
        scale = torch.rsqrt(module.running_var + module.eps)
        scale = scale if module.weight is None else scale * module.weight
        shift = -module.running_mean * scale
        shift = shift if module.bias is None else shift + module.bias
        behind = [1] * (input.ndim - 2)
        return input * scale.reshape(-1, *behind) + shift.reshape(-1, *behind)

    def each_example(self, module: Any, input: Tensor) -> Tensor:
        """What looks at one example alone takes all members' as one batch."""
        if not self.is_at_once() or not self.run.of_all(input)[1]:
            return type(module).forward(module, input)

        def of_all(x: Tensor, differ: bool) -> Tensor:
            return type(module).forward(module, x.flatten(0, 1)).unflatten(0, x.shape[:2])

        return self.run.for_all(of_all, input)

    def normalize(self, module: Any, input: Tensor) -> Tensor:
        """BatchNorm, of which vmap has a slow rule: a call a member."""
        run, kept = self.run, module._buffers
        if not self.is_at_once():
            return type(module).forward(module, input)
        owned = {key: run.of_all(value) for key, value in kept.items() if value is not None}
        if not any(differs for _, differs in owned.values()):
            if module.training:
                return type(module).forward(module, input)
            return self.each_example(module, input)

        def of_all(x: Tensor, differ: bool) -> Tensor:
            x_of = x.unbind() if differ else [x] * run.rows
            # Of what is one for all, the number of batches, each counts from the same.
            stats = {
                key: value.unbind() if d else [value.clone() for _ in x_of[1:]] + [value]
                for key, (value, d) in owned.items()
            }
            rows = []
            for i, one in enumerate(x_of):
                module._buffers = {**kept, **{key: values[i] for key, values in stats.items()}}
                rows.append(type(module).forward(module, one))
            module._buffers = kept
            return torch.stack(rows)

        return run.for_all(of_all, input)


def _layer_of_all(run: Run, path: str, layer: Any, x: Tensor, differ: bool) -> Tensor:
    """Apply an ensemble's layer to what all members give to theirs, with any axes between."""
    leading = run.leading
    sampled = len(leading) > 1 or not isinstance(layer, MemberLayer)
    if differ and len(leading) > 1:
        x = x.unflatten(0, leading)
    elif sampled and not differ:
        x = x.expand(*leading, *x.shape)
    axes = len(leading) if differ or sampled else 0
    # Between members and features may be one axis of examples, more, or none.
    between = x.shape[axes : layer.batch_axis + 1]
    if len(between) != 1:
        x = x.reshape(*x.shape[:axes], prod(between), *x.shape[layer.batch_axis + 1 :])
    noise = run.noise_of(path, tuple(x.shape))
    # Its hooks are those of the module whose place it takes, which calls them.
    with named_errors(path):
        y = layer.forward(x) if noise is None else layer.forward(x, noise)
    y = y.flatten(0, 1) if len(leading) > 1 else y
    return y if len(between) == 1 else y.reshape(len(y), *between, *y.shape[2:])


class Skeleton:
    """A copy of the model which one pass at a time runs with the values of its members.

    Parameters
    ----------
    model
        A copy of the model, whose own values nobody reads.
    stored
        The model with the arrays of members where it had parameters.
    layers, plan
        Those arrays, and which parameters they stand for.
    dropouts
        Paths of dropout that stays active.
    owns_buffers
        Whether running statistics and the like are a member's.
    carried
        By path and name, attributes with tensors that the model has left, and whether members
        differ in them.
    way
        ``"at once"``; ``"in turn"``, for one member, which keeps its values for the gradient; or
        ``"traced"``, for compilers, which know no way out of ``vmap``.
    """

    def __init__(
        self,
        model: nn.Module,
        stored: nn.Module,
        layers: dict[str, Any],
        plan: Plan,
        dropouts: tuple[str, ...],
        owns_buffers: bool,
        carried: dict[tuple[str, str], bool],
        way: str,
    ) -> None:
        self.model, self.layers, self.parts = model, layers, Parts()
        self._owns_buffers, self._carried = owns_buffers, carried
        # By path, what a module is here and there, in the net.
        self._modules = {
            path: (module, stored.get_submodule(path)) for path, module in model.named_modules()
        }
        self._way, self._lazy = way, plan.layers if way == "at once" else ()
        for path, (module, _) in self._modules.items():
            if other := self._forward_of(path, module, dropouts):
                module.forward = other
            if path in self._lazy:
                keys = module._parameters
                module._parameters = Formed(keys, partial(self.parts.read, path))
        self._parameters: list[Any] = []
        self._buffers: list[Any] = []
        for path, (module, there) in self._modules.items():
            start = f"{path}." if path else ""
            for key in () if path in self._lazy else module._parameters:
                source, product = plan.sources.get(start + key), isinstance(module, PRODUCTS)
                here = module._parameters
                self._parameters.append(
                    (start + key, here, there._parameters, key, source, product)
                )
            for key in module._buffers:
                self._buffers.append((start + key, module._buffers, there._buffers, key))
        self._constants = [
            (vars(module), vars(there), constants_of(module, there))
            for module, there in self._modules.values()
        ]
        self._first = {
            (path, key): (value, _ids(value))
            for path, (module, _) in self._modules.items()
            for key, value in vars(module).items()
        }
        # Later hooks stand in the net, too; the model's own are bound to its modules here.
        self._hooks: list[tuple[dict[str, Any], dict[str, Any], str, dict[int, Any]]] = []
        for module, there in self._modules.values():
            for key in HOOKS:
                if own := vars(module)[key]:
                    self._hooks.append((vars(module), vars(there), key, own))
                else:
                    vars(module)[key] = vars(there)[key]

    def _forward_of(self, path: str, module: nn.Module, dropouts: tuple[str, ...]) -> Any:
        parts, kind = self.parts, type(module)
        norm = isinstance(module, _BatchNorm) and kind.forward is _BatchNorm.forward
        if path in dropouts:
            return partial(parts.dropout, path, module)
        if "forward" in vars(module):  # the model's own
            return None
        if isinstance(module, nn.RNNBase):
            return partial(parts.recurrent, module)
        if self._way == "traced":
            if norm:
                return partial(parts.traced_norm, module)
            if kind is nn.Linear:
                return partial(parts.traced_linear, module)
            return partial(parts.traced_dropout, module) if kind in DROPOUT_AXES else None
        if path in self._lazy:
            return partial(parts.product, path, module)
        if self._way == "at once" and (norm or kind in EACH_EXAMPLE):
            return partial(parts.normalize if norm else parts.each_example, module)
        return None

    def run(self, run: Run, inputs: Inputs, *, keeps: bool) -> Any:
        """Run all members at once, and return what they return, with members in front of tensors.

        The state of the model moves in the net, too; without `keeps` it does not, in eval mode.
        """
        # In training mode a pass that fails half-way must not have moved anything.
        clones = not keeps or any(there["training"] for _, there, _ in self._constants)
        shared, own = self._values(run, clones=clones)
        lazy_load_decompositions()
        # Of an operation without a rule Torch warns, and loops over the members.
        functorch._set_vmap_fallback_warning_enabled(False)
        try:
            with _no_checkpoints(), vmap_increment_nesting(run.rows, run.randomness) as run.level:
                values = {**shared, **{key: run.own(value) for key, value in own.items()}}
                before = dict(values)
                outputs = self._call(run, values, *inputs(), keeps)
                state = self._state(values, {} if clones else before)
                differ = [any(run.of_all(x)[1] for _, x in named_tensors(x)) for *_, x in state]
                moved = [
                    map_tensors(partial(run.spread, d), x, key)
                    for (_, _, key, x), d in zip(state, differ, strict=True)
                ]

                def with_members(_: str, y: Tensor) -> Tensor:
                    return functorch._remove_batch_dim(y, run.level, run.rows, 0)

                outputs = map_tensors(with_members, outputs, "the output")
        finally:
            run.level = None
            functorch._set_vmap_fallback_warning_enabled(True)
        self._keep(run, state, moved, differ, keeps)
        return outputs

    def run_in_turn(
        self, run: Run, inputs: Inputs, fresh: Callable[[], "Skeleton"], *, keeps: bool
    ) -> Any:
        """`run`, one member after the other; each in a `fresh` copy where it needs a gradient.

        What a checkpoint computes again for the gradient finds the values of its member there.
        """
        outputs, states = [], []
        skeletons = [fresh() if torch.is_grad_enabled() else self for _ in range(run.rows)]
        shared, own = skeletons[0]._values(run, clones=True)
        for run.member, one in enumerate(skeletons):
            run.calls.clear()
            values = shared | {key: run.own(value) for key, value in own.items()}
            values |= {key: shared[key].clone() for key, *_ in self._buffers if key in shared}
            outputs.append(one._call(run, values, *inputs(), keeps))
            states.append(one._state(values, {}))
            one.parts.run = None
        run.member = None
        moved = [
            stack_nested([x for *_, x in rows], rows[0][2]) for rows in zip(*states, strict=True)
        ]
        one._keep(run, states[-1], moved, [True] * len(moved), keeps)
        return stack_nested(outputs, "the output")

    def trace(self, run: Run, args: Any, kwargs: Any, own_batches: bool) -> Any:
        """`run` as a compiler can follow: all arrays formed, and no state but buffers."""
        self.parts.run = run
        for module, there in self._modules.values():
            module.training = there.training
        clones = any(module.training for module, _ in self._modules.values())
        shared, own = self._values(run, clones=clones)
        found: list[Any] = []

        def member(own: Any, noise: Noise, args: Any, kwargs: Any) -> list[Tensor]:
            run.noise = noise
            run.calls.clear()
            values = {**shared, **own}
            found.append(functional_call(self.model, values, args, kwargs, tie_weights=False))
            return [y for _, y in named_tensors(found[-1], "the output")]

        axis = 0 if own_batches else None
        axes = (0, 0, axis, axis)
        masks = {path: noise for path, noise in run.noise.items() if path not in self.layers}
        ys = iter(vmap(member, axes, randomness=run.randomness)(own, masks, args, kwargs))
        if clones:
            names = [one for one in self._buffers if one[0] in own or one[0] in shared]
            state = [(None, there, key, None) for _, _, there, key in names]
            moved = [(own if name in own else shared)[name] for name, *_ in names]
            self._keep(run, state, moved, [name in own for name, *_ in names], keeps=True)
        return map_tensors(lambda _, y: next(ys), found[-1], "the output")

    def _values(self, run: Run, *, clones: bool) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return what is the same for all members, and (members, …) of what is not, by name."""
        shared: dict[str, Tensor] = {}
        own: dict[str, Tensor] = {}
        for name, _, there, key, source, product in self._parameters:
            value = run.arrays(source[0])[source[1]] if source else there.get(key)
            if value is not None:
                kind = value.device.type
                short = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
                if product and short:
                    # Under vmap a product adds its bias by itself, which autocast does not shorten.
                    value = value.to(torch.get_autocast_dtype(kind))
                (own if source else shared)[name] = value
        known: dict[int, Tensor] = {}  # a buffer of two names is one
        for name, _, there, key in self._buffers:
            if (value := there[key]) is None:
                continue
            # What moves is a row of each member or sample, and begins with what it was before.
            moves = value.is_floating_point() and clones and run.apart
            owned = value.is_floating_point() and self._owns_buffers
            if id(value) not in known:
                rows = value if owned else value[None] if moves else value
                if (owned or moves) and len(rows) != run.rows:
                    rows = rows.repeat(run.rows // len(rows), *[1] * (rows.ndim - 1))
                known[id(value)] = rows.clone() if clones else rows
            (own if owned or moves else shared)[name] = known[id(value)]
        return shared, own

    def _call(
        self, run: Run, values: dict[str, Tensor], args: Any, kwargs: Any, keeps: bool
    ) -> Any:
        """Run the model with these values."""
        self.parts.run = run
        for here, there, names in self._constants:
            for key in names:
                here[key] = there[key]
            here["training"] &= keeps
            if run.level is not None and (here["_backward_hooks"] or here["_backward_pre_hooks"]):
                raise RuntimeError("hooks of a backward pass, which would see none")
        for here, there, key, own in self._hooks:
            here[key] = {number: own.get(number, hook) for number, hook in there[key].items()}
        for path, key in self._carried:
            module, kept = self._modules[path]
            differs = self._carried[path, key]
            vars(module)[key] = map_tensors(partial(run.kept, differs), vars(kept)[key], key)
        if self._way == "at once":
            return functional_call(self.model, values, args, kwargs, tie_weights=False)
        for name, here, _, key, *_ in (*self._parameters, *self._buffers):
            here[key] = values.get(name)
        return self.model(*args, **kwargs)

    def _state(
        self, values: dict[str, Tensor], unmoved: dict[str, Tensor]
    ) -> list[tuple[str | None, dict[str, Any], str, Any]]:
        """Return buffers after a pass but those `unmoved`, and tensors that it left on modules.

        Of each the path of its module for an attribute, where it stands, its name, and its value.
        """
        state: list[Any] = [
            (None, there, key, values[name] if name in values else here[key])
            for name, here, there, key in self._buffers
            if values.get(name, here[key]) is not unmoved.get(name)
        ]
        for name, here, _, key in self._buffers:
            here[key] = here[key] if name in values else None
        for (path, (module, there)), (_, _, names) in zip(
            self._modules.items(), self._constants, strict=True
        ):
            for key, value in [*vars(module).items()]:
                if key in OF_MODULES:
                    continue
                if isinstance(value, CONSTANTS) and key not in names:  # counted from the class's
                    names.append(key)
                    vars(there)[key] = getattr(type(module), key, None)
                if not isinstance(value, (Tensor, list, tuple, dict)):
                    continue
                first, ids = self._first.get((path, key), (None, []))
                if value is first and isinstance(value, (Tensor, tuple)):
                    continue
                if (new := _ids(value)) and new != ids and key != "_flat_weights":
                    state.append((path, vars(there), key, value))
                    vars(module)[key] = first
        return state

    @torch.no_grad()
    def _keep(
        self, run: Run, state: Any, moved: list[Any], differ: list[bool], keeps: bool
    ) -> None:
        """Keep in the net what a pass has changed; `moved` holds that of all members."""
        self.parts.run = None  # and with it what the pass has formed
        if not keeps:
            return
        for here, there, names in self._constants:
            for key in names:
                there[key] = here[key]
        for (path, there, key, _), value, differs in zip(state, moved, differ, strict=True):
            if path is not None:
                there[key] = value
                self._carried[path, key] = differs
                continue
            stored, floats = there[key], value.is_floating_point()
            if differs and not floats and not bool((value == value[0]).all()):
                raise ValueError(
                    f"the model writes another {key} for each member, a buffer of {value.dtype} "
                    "that is one for all; accepted is one of floating point, or a deep ensemble"
                )
            if not differs:
                value = value[None]
            elif floats and self._owns_buffers:
                value = value.unflatten(0, (-1, run.leading[-1]))
            if stored is None or value.shape[1:] != stored.shape:
                there[key] = value.mean(0) if floats else value[0]
            elif floats and differs:  # by the mean over samples, which leaves alone what is equal
                stored += (value - stored).mean(0)
            else:
                stored.copy_(value[0])


def constants_of(module: nn.Module, there: nn.Module) -> list[str]:
    """Return the names of what a model may count and switch on a module, and its mode."""
    return [
        key
        for key, value in vars(there).items()
        if isinstance(value, CONSTANTS) and key not in OF_MODULES and hasattr(module, key)
    ]


@contextmanager
def _no_checkpoints() -> Iterator[None]:
    """Refuse checkpoints: when they compute something again, vmap is over."""
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        yield  # the reader's own, around the whole pass
        return
    with torch.autograd.graph.disable_saved_tensors_hooks("checkpoints inside"):
        yield


def _ids(value: Any) -> list[int]:
    """Tell apart the tensors of an attribute, where it is one or holds them."""
    try:
        return [id(x) for _, x in named_tensors(value)]
    except TypeError:
        return []
