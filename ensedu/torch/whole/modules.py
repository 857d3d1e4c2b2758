"""What some modules of a model do in a pass, in place of their own forward pass.

A `Run` knows the noise of a pass, and which member runs, or that all do.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.torch.base import MemberLayer, OfThread
from ensedu.torch.dropout import checked_mask
from ensedu.torch.variational import softplus

# The parts of torch.func.vmap: it searches inputs and outputs at each call, and lets nobody out.
functorch: Any = torch._C._functorch
# How many axes behind the batch a dropout drops on their own; None for all.
DROPOUT_AXES = {nn.Dropout: None, nn.Dropout1d: 1, nn.Dropout2d: 1, nn.Dropout3d: 1}
# How many axes their batches have.
BATCHED = {nn.Dropout1d: 3, nn.Dropout2d: 4, nn.Dropout3d: 5}
# Of these vmap's rules take longer, and more memory, than one call with all members' examples.
EACH_EXAMPLE = (nn.GroupNorm, nn.LayerNorm)

Noise = dict[str, dict[str, Tensor]]


class Run:
    """One pass: its noise, who runs, and what some modules do instead of their forward pass.

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
        return self.level is not None and functorch.peek_interpreter_stack().level() == self.level

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
                self.noise[path] = self.draw(path)
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

    def draw(self, path: str) -> dict[str, Tensor]:
        """Draw what makes one function of each member's layer, for any input."""
        layer = self.layers[path]
        if getattr(layer, "per_example", False):
            raise ValueError(
                f"noise of {path or 'the model'} depends on its input for per_example=True; "
                "accepted are the inputs too, net.noise(generator, x)"
            )
        if depends_on_input(layer):  # noise of the weights makes one function of such a layer, too
            drawn = [layer.noise(self.generator) for _ in range(self.rows)]
            return {key: torch.stack([one[key] for one in drawn]) for key in drawn[0]}
        pixels = [1] * (-2 - layer.batch_axis)
        return layer.noise(self.generator, (*self.leading, 1, layer.inputs, *pixels))

    def _mask_of(self, path: str, p: float, shape: tuple[int, ...], device: Any) -> Tensor:
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

    def read(self, path: str, key: str) -> Tensor | None:
        """Return what a layer has for its weight or bias, where the model itself reads it."""
        values = self.arrays(path)[key]
        return None if values is None else self.own(values)

    def product(self, path: str, module: Any, input: Tensor) -> Tensor:
        """A layer: that of the method for all members, or the plain one with a member's arrays."""
        if self.is_at_once() and isinstance(input, Tensor):
            layer = self.layers[path]
            if input.ndim > 0 if layer.batch_axis == -2 else input.ndim in (3, 4):
                return self.for_all(partial(self._layer_of_all, path, layer), input)
        return type(module).forward(module, input)

    def _layer_of_all(self, path: str, layer: Any, x: Tensor, differ: bool) -> Tensor:
        """Apply a layer to what all members give to theirs, with any axes between."""
        leading = self.leading
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
        noise = self.noise_of(path, tuple(x.shape))
        # Its hooks are those of the module whose place it takes, which calls them.
        with named_errors(path):
            y = layer.forward(x) if noise is None else layer.forward(x, noise)
        y = y.flatten(0, 1) if len(leading) > 1 else y
        return y if len(between) == 1 else y.reshape(len(y), *between, *y.shape[2:])

    def dropout(self, path: str, module: Any, input: Tensor) -> Tensor:
        """Dropout with one mask a sample for the whole batch."""
        if self.level is None and self.member is None:
            raise RuntimeError(
                f"{path or 'the model'} is called outside of a pass, as torch.utils.checkpoint "
                "does for the gradient, where its masks are gone; accepted is no checkpoint there"
            )
        with self.outside():
            masks = self._mask_of(path, module.p, _mask_shape(module, input), input.device)
        return input * (self.own(masks).to(input) / (1 - module.p))

    def each_example(self, module: Any, input: Tensor) -> Tensor:
        """What looks at one example alone takes all members' as one batch."""
        if not self.is_at_once() or not self.of_all(input)[1]:
            return type(module).forward(module, input)

        def of_all(x: Tensor, differ: bool) -> Tensor:
            return type(module).forward(module, x.flatten(0, 1)).unflatten(0, x.shape[:2])

        return self.for_all(of_all, input)

    def normalize(self, module: Any, input: Tensor) -> Tensor:
        """BatchNorm, of which vmap has a slow rule: a call a member."""
        kept = module._buffers
        if not self.is_at_once():
            return type(module).forward(module, input)
        owned = {key: self.of_all(value) for key, value in kept.items() if value is not None}
        if not any(differs for _, differs in owned.values()):
            if module.training:
                return type(module).forward(module, input)
            return self.each_example(module, input)

        def of_all(x: Tensor, differ: bool) -> Tensor:
            x_of = x.unbind() if differ else [x] * self.rows
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

        return self.for_all(of_all, input)


class Traced:
    """What some modules do where a compiler follows, which knows no way out of ``vmap``."""

    run: Any = None

    def forward_of(self, module: nn.Module) -> dict[str, Any]:
        """Return what a module does instead of its class's forward pass, if anything."""
        kind = type(module)
        if isinstance(module, _BatchNorm) and kind.forward is _BatchNorm.forward:
            return {"forward": partial(self.norm, module)}
        if isinstance(module, nn.RNNBase):
            return {"forward": partial(self.recurrent, module)}
        if kind is nn.Linear:
            return {"forward": partial(self.linear, module)}
        return {"forward": partial(self.usual_dropout, module)} if kind in DROPOUT_AXES else {}

    def dropout(self, path: str, module: Any, input: Tensor) -> Tensor:
        """Dropout with one mask for the whole batch of one member, whose noise is given."""
        run, shape = self.run, _mask_shape(module, input)
        name = f"mask{run.call_of(path) or ''}"
        drawn = None if run.given else torch.rand(1, *shape[1:], device=input.device)
        mask = run.noise[path][name] if drawn is None else drawn >= module.p
        return input * (mask.to(input) / (1 - module.p))

    def usual_dropout(self, module: Any, input: Tensor) -> Tensor:
        """Dropout, whose rule under ``vmap`` takes no batch of any size."""
        drops, batched = DROPOUT_AXES[type(module)], BATCHED.get(type(module), input.ndim)
        if not module.training or input.ndim != batched:
            return type(module).forward(module, input)
        # Of some kinds whole channels go.
        channels = input if drops is None else input.flatten(2)[..., 0]
        kept = (torch.rand_like(channels) >= module.p) / (1 - module.p)
        return input * kept[(..., *[None] * (input.ndim - kept.ndim))]

    def linear(self, module: Any, input: Tensor) -> Tensor:
        """``nn.Linear``, which under ``vmap`` asks some inputs for a size that is a symbol."""
        y = input @ module.weight.mT
        return y if module.bias is None else y + module.bias

    def recurrent(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        """An RNN, which keeps a list of its parameters."""
        list_weights(module)
        return type(module).forward(module, *args, **kwargs)

    def norm(self, module: Any, input: Tensor) -> Tensor:
        """BatchNorm, whose rule under ``vmap`` takes no batch of any size, in eval mode."""
        if module.training or module.running_mean is None:
            return type(module).forward(module, input)
        scale = torch.rsqrt(module.running_var + module.eps)
        scale = scale if module.weight is None else scale * module.weight
        shift = -module.running_mean * scale
        shift = shift if module.bias is None else shift + module.bias
        behind = [1] * (input.ndim - 2)
        return input * scale.reshape(-1, *behind) + shift.reshape(-1, *behind)


class _Calls(OfThread):
    """How many masks a pass of this thread has taken."""

    number = 0


class FixedDropout(nn.Module):
    """What one sample of MC dropout has in place of it: given masks, one a call, in turn."""

    def __init__(self, masks: Sequence[Tensor], p: float) -> None:
        super().__init__()
        self.p, self.number, self._calls = p, len(masks), _Calls()
        for i, mask in enumerate(masks):
            self.register_buffer(f"mask{i}", mask.clone(), persistent=False)

    def forward(self, input: Tensor) -> Tensor:  # the name that nn.Dropout has for it
        if not self.number:
            raise ValueError(
                "noise has no mask for a dropout that this member calls; accepted is what "
                "net.noise() returns for such inputs"
            )
        mask = self.get_buffer(f"mask{self._calls.number % self.number}")
        self._calls.number += 1
        return input * (mask.to(input.dtype) / (1 - self.p))


def restart_masks(model: nn.Module, _: Any) -> None:
    """Let a pass of a member begin with the first masks."""
    for part in model.modules():
        if isinstance(part, FixedDropout):
            part._calls.number = 0


def list_weights(module: nn.RNNBase) -> None:
    """Let an RNN's own list of its parameters hold those that it has now."""
    module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]


def _mask_shape(module: Any, input: Tensor) -> tuple[int, ...]:
    """The shape of a mask for each example: of some kinds whole channels go."""
    drops = DROPOUT_AXES[type(module)]
    own = input.ndim - 1 if drops is None else drops
    return (*input.shape[: 1 + own], *[1] * (input.ndim - 1 - own))


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
