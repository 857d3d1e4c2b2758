"""A pass of all members through one model: at once by ``torch.func.vmap``, or in turn.

A `Skeleton` is a copy of the model without values. A `Run` fills it with those of one member, or
with those of all members under ``vmap``, lets it run, and takes back what it has changed.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._C import _functorch as functorch
from torch._functorch.vmap import lazy_load_decompositions, vmap_increment_nesting
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.torch.base import MemberLayer, WeightLayer
from ensedu.torch.dropout import MCDropout, checked_mask
from ensedu.torch.variational import Distributions, softplus
from ensedu.torch.whole.nested_tensors import map_tensors, named_tensors, stack_nested
from ensedu.torch.whole.roles import PRODUCTS, Plan

# What every module has, which is no state of a model.
OF_MODULES = frozenset(vars(nn.Module())) - {"training"}
CONSTANTS = (bool, int, float, str, type(None))
# How many axes behind the batch a dropout drops on their own; None for all.
DROPOUT_AXES = {nn.Dropout: None, nn.Dropout1d: 1, nn.Dropout2d: 1, nn.Dropout3d: 1}

# Of these vmap's rules take longer, and more memory, than one call with all examples.
EACH_EXAMPLE = (nn.GroupNorm, nn.LayerNorm)

Noise = dict[str, dict[str, Tensor]]


class Run:
    """One pass: its noise, and who runs.

    Parameters
    ----------
    leading
        The axes in front of the batch.
    noise
        By path, what is given; ``None`` to draw.
    generator
        What to draw from.
    """

    def __init__(
        self,
        leading: tuple[int, ...],
        noise: Noise | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.leading, self.rows = leading, prod(leading)
        #: The arrays of members by their path.
        self.layers: dict[str, Any] = {}
        self.given = noise is not None
        self.noise: Noise = {} if noise is None else noise
        self.generator = generator
        #: Which member runs, and the level of ``vmap`` at which all do.
        self.member: int | None = None
        self.level: int | None = None
        self.calls: Counter[str] = Counter()
        self.formed: dict[str, dict[str, Tensor | None]] = {}

    def noise_of(self, path: str, shape: tuple[int, ...] | None = None) -> dict[str, Tensor] | None:
        """Return the noise of a layer: what is given, or one draw for the whole pass."""
        layer = self.layers[path]
        if not isinstance(layer, Distributions):
            return None
        if path in self.noise:
            return self.noise[path]
        if self.given:
            raise missing_noise(path)
        if not depends_on_input(layer):
            self.noise[path] = draw(layer, self.leading, self.generator, path)
            return self.noise[path]
        if shape is None:
            raise ValueError(
                f"{path or 'the model'} draws for each example, and so has no one weight for a "
                "member; accepted is per_example=False, or estimator='weights'"
            )
        key = self.call_of(path)
        if key not in self.noise:
            self.noise[key] = layer.noise(self.generator, shape)
        return self.noise[key]

    def call_of(self, path: str) -> str:
        """Return the key of this call of a part: it may have many in a pass."""
        number = self.calls[path]
        self.calls[path] += 1
        return f"{path} {number}"

    def arrays(self, path: str) -> dict[str, Tensor | None]:
        """Return the weights and biases of all members, (members, …)."""
        if path not in self.formed:
            with self.outside():
                noise = self.noise_of(path)
                self.formed[path] = arrays_of(self.layers[path], self.leading, noise)
        return self.formed[path]

    def own(self, values: Tensor) -> Tensor:
        """Return the part of the member that runs of what all have, (members, …)."""
        if self.member is not None:
            return values[self.member]
        return functorch._add_batch_dim(values, 0, self.level)

    def with_members(self, y: Tensor) -> Tensor:
        """Return what all members have of y, (members, …)."""
        return functorch._remove_batch_dim(y, self.level, self.rows, 0)

    def is_at_once(self) -> bool:
        """Whether all members run, and no other transform of ``torch.func`` is inside."""
        if self.level is None or torch.compiler.is_compiling():
            return False
        return functorch.peek_interpreter_stack().level() == self.level

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave ``vmap`` for a few lines, as the rule of an ``autograd.Function`` does.

        Such a function is Torch's public way, and takes some 0.3 ms a call.
        """
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
        x, differ = self.of_all(x)
        inside = functorch.pop_dynamic_layer_stack()
        try:
            y = function(x, differ)
        finally:
            functorch.push_dynamic_layer_stack(inside)
        return functorch._add_batch_dim(y, 0, self.level)

    def of_all(self, x: Tensor) -> tuple[Tensor, bool]:
        """Return what all members have of x, (members, …), or x itself if that is the same."""
        if not functorch.is_batchedtensor(x) or functorch.maybe_get_level(x) != self.level:
            return x, False
        axis, x = functorch.maybe_get_bdim(x), functorch.get_unwrapped(x)
        return (x.movedim(axis, 0) if axis else x), True


def missing_noise(path: str) -> ValueError:
    """Say that noise was given, but not for this part."""
    return ValueError(
        f"noise has nothing for {path or 'the model'}, accepted is what net.noise() returns for "
        "such inputs"
    )


def depends_on_input(layer: WeightLayer) -> bool:
    """Whether what a layer draws has the shape of its input or of its output."""
    return (
        getattr(layer, "per_example", False) or getattr(layer, "estimator", "weights") != "weights"
    )


def draw(
    layer: Any, leading: tuple[int, ...], generator: torch.Generator | None, path: str
) -> dict[str, Tensor]:
    """Draw what makes one function of each member's layer, for any input."""
    if getattr(layer, "per_example", False):
        raise ValueError(
            f"noise of {path or 'the model'} depends on its input for per_example=True; accepted "
            "are the inputs too, net.noise(generator, x)"
        )
    if not depends_on_input(layer):
        pixels = [1] * (-2 - layer.batch_axis)
        return layer.noise(generator, (*leading, 1, layer.inputs, *pixels))
    # Noise of the weights makes one function of a layer that draws outputs, too.
    drawn = [layer.noise(generator) for _ in range(prod(leading))]
    return {key: torch.stack([one[key] for one in drawn]) for key in drawn[0]}


def arrays_of(
    layer: Any, leading: tuple[int, ...], noise: dict[str, Tensor] | None
) -> dict[str, Tensor | None]:
    """Return each member's weight and bias, (members, …)."""
    weight = layer.stored_weights(noise)
    bias: Tensor | None = getattr(layer, "bias", None)
    if getattr(layer, "bias_mean", None) is not None:
        bias = layer.bias_mean + softplus(layer.bias_rho) * noise["bias"]
    if bias is not None:
        bias = bias.expand(*leading, bias.shape[-1]).flatten(0, len(leading) - 1)
    return {"weight": weight.flatten(0, len(leading) - 1), "bias": bias}


class Formed(dict[str, Any]):
    """The parameters of a layer whose weights are formed only where the model itself reads them."""

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
    """What stands in a skeleton for layers, dropout and BatchNorm, in the run that it is in."""

    def __init__(self) -> None:
        self.run: Any = None

    def product(self, path: str, module: Any, input: Tensor) -> Tensor:
        """A layer: that of all members at once, or the plain one with a member's arrays."""
        run = self.run
        if run.is_at_once() and isinstance(input, Tensor):
            layer = run.layers[path]
            if input.ndim > 0 if layer.batch_axis == -2 else input.ndim in (3, 4):
                return run.for_all(partial(_layer_of_all, run, path, layer), input)
        return type(module).forward(module, input)

    def each_example(self, module: Any, input: Tensor) -> Tensor:
        """What looks at one example alone takes all members' as one batch."""
        run = self.run
        if not run.is_at_once() or not functorch.is_batchedtensor(input):
            return type(module).forward(module, input)
        return run.for_all(
            lambda x, _: type(module).forward(module, x.flatten(0, 1)).unflatten(0, x.shape[:2]),
            input,
        )

    def dropout(self, path: str, module: Any, input: Tensor) -> Tensor:
        """Dropout with one mask a sample for the whole batch."""
        run, x = self.run, input
        drops = DROPOUT_AXES[type(module)]
        key = run.call_of(path)

        def mask_of(shape: torch.Size, device: torch.device) -> Tensor:
            own = len(shape) - 1 if drops is None else drops
            shape = torch.Size((*shape[: 1 + own], *[1] * (len(shape) - 1 - own)))
            return _mask(run, key, path, module.p, shape, device)

        if run.is_at_once():

            def of_all(x: Tensor, differ: bool) -> Tensor:
                mask = mask_of(x.shape[1:] if differ else x.shape, x.device)
                return x * (mask.to(x) / (1 - module.p))

            return run.for_all(of_all, x)
        mask = mask_of(x.shape, x.device)
        return x * (mask.to(x) / (1 - module.p))

    def plain_dropout(self, module: Any, input: Tensor) -> Tensor:
        """``nn.Dropout``, whose rule under ``vmap`` knows no batch of any size."""
        if not module.training:
            return input
        return input * ((torch.rand_like(input) >= module.p) / (1 - module.p))

    def normalize(self, module: Any, input: Tensor) -> Tensor:
        """BatchNorm, of which vmap has a slow rule: a call a member."""
        run, x = self.run, input
        buffers = module.running_mean, module.running_var
        if not run.is_at_once() or not any(
            functorch.is_batchedtensor(one) for one in (x, *buffers) if one is not None
        ):
            return type(module).forward(module, x)
        module._check_input_dim(x)
        momentum = module.momentum
        if (
            module.training
            and module.track_running_stats
            and module.num_batches_tracked is not None
        ):
            module.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1.0 / float(module.num_batches_tracked)
        trains = module.training or buffers[0] is None
        if module.training and not module.track_running_stats:
            buffers = None, None
        owned = [None if one is None else run.of_all(one) for one in buffers]

        def of_all(x: Tensor, differ: bool) -> Tensor:
            x = x if differ else x.expand(run.rows, *x.shape)
            one_for_all = owned[0] is not None and not owned[0][1]

            def normalized(x: Tensor, *stats: Tensor | None) -> Tensor:
                return F.batch_norm(
                    x, *stats, module.weight, module.bias, trains, momentum or 0.0, module.eps
                )

            if one_for_all and not trains:
                y = normalized(x.flatten(0, 1), *(one[0] for one in owned))
                return y.unflatten(0, x.shape[:2])
            stats = [
                None if one is None else one[0] if one[1] else one[0].repeat(run.rows, 1)
                for one in owned
            ]
            moving = [[None] * run.rows if one is None else one for one in stats]
            rows = [normalized(*own) for own in zip(x.unbind(), *moving, strict=True)]
            if one_for_all:  # it moves by the mean over the members
                for one, moved in zip(owned, stats, strict=True):
                    one[0].copy_(moved.mean(0))
            return torch.stack(rows)

        return run.for_all(of_all, x)


def _layer_of_all(run: Run, path: str, layer: Any, x: Tensor, differ: bool) -> Tensor:
    """Apply an ensemble's layer to what all members give to theirs, with any axes between."""
    leading = run.leading
    sampled = len(leading) > 1 or not isinstance(layer, MemberLayer)
    if differ:
        x = x.unflatten(0, leading) if len(leading) > 1 else x
    elif sampled:
        x = x.expand(*leading, *x.shape)
    axes = len(leading) if differ or sampled else 0
    linear = layer.batch_axis == -2
    between = x.shape[axes:-1] if linear else x.shape[axes:-3]
    if len(between) != 1:
        x = x.flatten(axes, len(between) + axes - 1) if between else x.unsqueeze(axes)
    noise = run.noise_of(path, tuple(x.shape))
    y = layer(x) if noise is None else layer(x, noise)
    if len(leading) > 1:
        y = y.flatten(0, 1)
    if len(between) != 1:
        y = y.unflatten(1, between) if between else y.squeeze(1)
    return y


def _mask(
    run: Run, key: str, path: str, p: float, shape: torch.Size, device: torch.device
) -> Tensor:
    """Return the mask of this call, of the member that runs, or of all."""
    number = key.rpartition(" ")[2]
    name = "mask" if number == "0" else f"mask{number}"
    own = run.noise.setdefault(path, {})
    if torch.compiler.is_compiling():  # which is in vmap, of one member
        return own[name] if run.given else torch.rand(1, *shape[1:], device=device) >= p
    every = (run.rows, *shape)
    if name not in own:
        if run.given:
            raise missing_noise(path)
        own[name] = MCDropout(p, feature_axes=len(shape) - 1).noise(
            run.generator, every, device=device
        )["mask"]
    try:
        mask = checked_mask({"mask": own[name]}, every, len(shape) - 1)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{path or 'the model'}: {error}") from None
    return mask if run.member is None else mask[run.member]


class Slot(NamedTuple):
    """A tensor of the model's state: here in the skeleton, there in the net."""

    here: dict[str, Any]
    there: dict[str, Any]
    key: str


class _State:
    """The buffers of a run, and the tensors that the model leaves on its modules.

    A model may move them in place or put others there. In the net they are a member's, or one for
    all, which moves by the mean.
    """

    def __init__(self, skeleton: "Skeleton", run: Run, clones: bool) -> None:
        self._skeleton, self._run = skeleton, run
        self._buffers: list[tuple[Slot, Any, bool]] = []
        # A buffer of two names is one.
        known: dict[int, Tensor] = {}
        for slot in skeleton.buffers:
            stored = slot.there[slot.key]
            owned = stored is not None and skeleton.owns_buffers and stored.is_floating_point()
            if stored is not None and id(stored) not in known:
                repeated = owned and len(stored) != run.rows
                rows = (
                    stored.repeat(run.rows // len(stored), *[1] * (stored.ndim - 1))
                    if repeated
                    else stored
                )
                known[id(stored)] = rows.clone() if clones and not repeated else rows
            value = None if stored is None else known[id(stored)]
            self._buffers.append((slot, value, owned))
        self._filled: list[Any] = []
        self._moved: list[tuple[Slot, Any, str | None]] = []

    def fill(self) -> None:
        """Give the skeleton the state of the member that runs, or of all."""
        run, self._filled = self._run, []
        copies: dict[int, Tensor] = {}
        for slot, value, owned in self._buffers:
            if owned:
                value = run.own(value)
            elif run.member is not None and value is not None:
                value = copies.setdefault(id(value), value.clone())
            slot.here[slot.key] = value
            self._filled.append(value)
        for path, key in self._skeleton.carried:
            here, there = self._skeleton.attributes(path)
            here[key] = map_tensors(lambda _, x: run.own(x), there[key], key)

    def changed(self) -> list[Tensor]:
        """Return the tensors of all state that is another one than before, and of all in turn."""
        self._moved = [
            (slot, slot.here[slot.key], None)
            for (slot, *_), filled in zip(self._buffers, self._filled, strict=True)
            if slot.here[slot.key] is not None
            and (self._run.member is not None or slot.here[slot.key] is not filled)
        ]
        self._moved += self._skeleton.new_attributes()
        return [x for slot, value, _ in self._moved for _, x in named_tensors(value, slot.key)]

    def keep(self, moved: list[Tensor]) -> None:
        """Keep in the net what has changed; `moved` is what `changed` returned, of all members."""
        tensors = iter(moved)
        for slot, value, path in self._moved:
            of_all = map_tensors(lambda _, x: next(tensors), value, slot.key)
            if path is None:
                self._store(slot, of_all, True)
            else:
                slot.there[slot.key] = of_all
                self._skeleton.carried.add((path, slot.key))
        if self._run.member is None:
            reassigned = {id(slot) for slot, _, _ in self._moved}
            for slot, value, owned in self._buffers:
                # Torch's BatchNorm moves its statistics without a new version.
                if value is not slot.there[slot.key] and id(slot) not in reassigned:
                    self._store(slot, value, owned)

    @torch.no_grad()
    def _store(self, slot: Slot, value: Tensor, differs: bool) -> None:
        owned = self._skeleton.owns_buffers and value.is_floating_point()
        if differs and owned:
            value = value.unflatten(0, (-1, self._run.leading[-1])).mean(0)
        elif differs and (value.is_floating_point() or value.is_complex()):
            value = value.mean(0)
        elif differs:
            if not bool((value == value[0]).all()):
                raise ValueError(
                    f"the model writes another {slot.key} for each member, a buffer of "
                    f"{value.dtype} that is one for all; accepted is one of floating point, or a "
                    "deep ensemble"
                )
            value = value[0]
        stored = slot.there[slot.key]
        if stored is not None and stored.shape == value.shape and stored.dtype == value.dtype:
            stored.copy_(value)
        else:
            slot.there[slot.key] = value


class Traced:
    """A copy of the model for compilers, which follow no way out of ``vmap``."""

    def __init__(self, model: nn.Module, dropouts: tuple[str, ...]) -> None:
        self.model, self.parts = model, Parts()
        for path, module in model.named_modules():
            if path in dropouts:
                module.forward = partial(self.parts.dropout, path, module)
            elif type(module) is nn.Dropout:
                module.forward = partial(self.parts.plain_dropout, module)


class Skeleton:
    """A copy of the model which one pass at a time fills with the values of its members.

    Parameters
    ----------
    model
        A copy of the model, whose tensors nobody reads.
    stored
        The same model, with the arrays of members where it had parameters.
    plan
        Which parameters those are.
    dropouts
        Paths of dropout that stays active.
    owns_buffers
        Whether running statistics and the like are a member's.
    carried
        Attributes in which the model has left tensors, by path and name.
    """

    def __init__(
        self,
        model: nn.Module,
        stored: nn.Module,
        layers: dict[str, Any],
        plan: Plan,
        dropouts: tuple[str, ...],
        owns_buffers: bool,
        carried: set[tuple[str, str]],
    ) -> None:
        self.model, self.parts, self.owns_buffers = model, Parts(), owns_buffers
        self.layers = layers
        self.carried = carried
        self._there = dict(stored.named_modules())
        self._here = {path: vars(module) for path, module in model.named_modules()}
        self._rnns = [one for one in model.modules() if isinstance(one, nn.RNNBase)]
        self._constants, self._shared, self._formed = list[Any](), list[Any](), list[Any]()
        self.buffers: list[Slot] = []
        for path, module in model.named_modules():
            there = self._there[path]
            names = [
                key
                for key, value in vars(module).items()
                if isinstance(value, CONSTANTS) and key not in OF_MODULES and key in vars(there)
            ]
            self._constants.append((vars(module), vars(there), names))
            for hooks in ("_forward_hooks", "_forward_pre_hooks"):
                setattr(module, hooks, getattr(there, hooks))
            if path in plan.layers:
                module.forward = partial(self.parts.product, path, module)
                module._parameters = Formed(module._parameters, partial(self._read, path))
                continue
            if path in dropouts:
                module.forward = partial(self.parts.dropout, path, module)
            if isinstance(module, _BatchNorm) and type(module).forward is _BatchNorm.forward:
                module.forward = partial(self.parts.normalize, module)
            if type(module) in EACH_EXAMPLE:
                module.forward = partial(self.parts.each_example, module)
            for key in module._parameters:
                name = f"{path}.{key}".lstrip(".")
                if name in plan.sources:
                    self._formed.append((module._parameters, key, *plan.sources[name]))
                elif module._parameters[key] is not None:
                    product = isinstance(module, PRODUCTS)
                    self._shared.append((module._parameters, key, there._parameters, product))
            self.buffers += [Slot(module._buffers, there._buffers, key) for key in module._buffers]

        self._first = {
            (path, key): (value, _leaves(value))
            for path, here in self._here.items()
            for key, value in here.items()
            if key not in OF_MODULES
        }

    def attributes(self, path: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return those of a module here, and there in the net."""
        return self._here[path], vars(self._there[path])

    def new_attributes(self) -> list[tuple[Slot, Any, str]]:
        """Take back the tensors that the model has left on its modules, with their paths."""
        found: list[tuple[Slot, Any, str]] = []
        for path, here in self._here.items():
            for key in [key for key in here if key not in OF_MODULES]:
                value = here[key]
                if not isinstance(value, (Tensor, list, tuple, dict)) or key in ("_flat_weights",):
                    continue
                first, leaves = self._first.get((path, key), (None, []))
                new = _leaves(value)
                if new and [id(x) for x in new] != [id(x) for x in leaves]:
                    found.append((Slot(here, vars(self._there[path]), key), value, path))
                    here[key] = first
        return found

    def _read(self, path: str, key: str) -> Tensor | None:
        run = self.parts.run
        value = run.arrays(path)[key]
        return None if value is None else run.own(value)

    def run(
        self, run: Run, inputs: Callable[[], tuple[Any, Any]], randomness: str, *, keeps: bool
    ) -> Any:
        """Run all members at once, and return what they return, with members in front of tensors.

        The state of the model moves in the net, too; without `keeps` it does not, in eval mode.
        """
        with self._of(run, keeps):
            for _, _, path, _ in self._formed:
                run.arrays(path)
            trains = any(there["training"] for _, there, _ in self._constants)
            state = _State(self, run, clones=trains or not keeps)

            # As torch.func.vmap does, without its search through inputs and outputs.
            lazy_load_decompositions()
            # Of an operation without a rule Torch warns, and loops over the members.
            functorch._set_vmap_fallback_warning_enabled(False)
            try:
                with vmap_increment_nesting(run.rows, randomness) as run.level:
                    self._fill(run, keeps)
                    state.fill()
                    args, kwargs = inputs()
                    outputs = self.model(*args, **kwargs)
                    outputs = map_tensors(lambda _, y: run.with_members(y), outputs, "the output")
                    moved = [run.with_members(x) for x in state.changed()]
            finally:
                functorch._set_vmap_fallback_warning_enabled(True)
            run.level = None
            if keeps:
                self._keep_constants()
                state.keep(moved)
        return outputs

    def run_in_turn(self, run: Run, inputs: Callable[[], tuple[Any, Any]], *, keeps: bool) -> Any:
        """`run`, one member after the other."""
        outputs: list[Any] = []
        moved: list[list[Tensor]] = []
        with self._of(run, keeps):
            state = _State(self, run, clones=True)
            for member in range(run.rows):
                run.member = member
                run.calls.clear()
                self._fill(run, keeps)
                state.fill()
                args, kwargs = inputs()
                outputs.append(self.model(*args, **kwargs))
                moved.append(state.changed())
            if keeps:
                self._keep_constants()
                state.keep([torch.stack(rows) for rows in zip(*moved, strict=True)])
        return stack_nested(outputs, "the output")

    @contextmanager
    def _of(self, run: Run, keeps: bool) -> Iterator[None]:
        run.layers, self.parts.run = self.layers, run
        try:
            yield
        finally:
            run.level = run.member = self.parts.run = None

    def _fill(self, run: Run, keeps: bool) -> None:
        """Put the arrays of the member that runs, or of all, into the copy."""
        for own, there, names in self._constants:
            for key in names:
                own[key] = there[key]
            if not keeps:
                own["training"] = False
        short = None
        if run.level is not None and torch.is_autocast_enabled("cpu"):
            short = torch.get_autocast_dtype("cpu")
        for here, key, there, product in self._shared:
            value = there[key]
            # Under vmap a product adds its bias by itself, which autocast does not shorten.
            here[key] = value.to(short) if short and product else value
        for here, key, path, kind in self._formed:
            value = run.arrays(path)[kind]
            value = value.to(short) if short and value is not None else value
            here[key] = None if value is None else run.own(value)
        for rnn in self._rnns:
            rnn._flat_weights = [rnn._parameters[name] for name in rnn._flat_weights_names]

    def _keep_constants(self) -> None:
        """Let the model count, and switch, as it does alone."""
        for own, there, names in self._constants:
            for key in names:
                there[key] = own[key]


def _leaves(value: Any) -> list[Tensor]:
    """The tensors in an attribute, where it is one or holds them in lists, tuples and dicts."""
    try:
        return [x for _, x in named_tensors(value)]
    except TypeError:
        return []
