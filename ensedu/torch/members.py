"""An ensemble of any model: member i is that model with weights of its own.

In a pass, a `Run`, each module of the model has a stand-in, which runs the same code on the values
of members. So nothing of the net itself moves before a pass is over, and threads do not meet.
"""

import copy
import inspect
import re
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._functorch.vmap import lazy_load_decompositions, vmap_increment_nesting
from torch.func import functional_call, vmap
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.common import checks
from ensedu.torch.base import OfThread, check_dense, check_generator
from ensedu.torch.nested import (
    CONSTANTS,
    check_own_batches,
    map_tensors,
    named_tensors,
    stack_nested,
)
from ensedu.torch.roles import PRODUCTS, Plan
from ensedu.torch.running import (
    EACH_EXAMPLE,
    Formed,
    Noise,
    Run,
    Traced,
    functorch,
    list_weights,
)

# What every module has, which is no state of a model.
OF_MODULES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in OF_MODULES if re.match("_(forward|backward).*hooks", key))
CONTAINERS = (list, tuple, set, dict, OrderedDict)


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


@dataclass(eq=False)
class Part:
    """What a module of the model is: in its own code, `plain`, and in the net, `there`.

    A layer of the method stands there in the place of a plain one. What a stand-in `does` is named
    by a method of `Run`; `bound` are attributes that hold parts of the model, or change inside.
    """

    path: str
    plain: nn.Module
    there: Any
    is_layer: bool
    does: str
    parameters: dict[str, tuple[str, tuple[str, str] | None]]
    buffers: dict[str, str]
    bound: list[str]
    children: list[tuple[str, Any]] = field(default_factory=list)


class ModelEnsemble(nn.Module):
    """A model with weights for each member: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it.

    ``net(x)[i]`` is the model run with the weights of member i, for all members at once by
    ``torch.func.vmap``. Where vmap has no rule for what a model does, members run in turn, by the
    same weights; a warning names the operation. Samples are an axis S, alone or in front of M.
    Threads may run it at once.
    """

    def __init__(
        self,
        model: nn.Module,
        stored: nn.Module,
        plan: Plan,
        sizes: tuple[int | None, int | None],
        *,
        dropouts: tuple[str, ...] = (),
        has_body: bool = False,
    ) -> None:
        super().__init__()
        #: The model's modules, with the arrays of members where it had parameters.
        self.model = stored
        self._samples, self._ensemble_size = sizes
        # In a tuple it is no module of this one: it is where the model's code comes from.
        self._plain = (model,)
        self._plan, self._dropouts = plan, dropouts
        self._owns_buffers = self._ensemble_size is not None and not has_body
        # A body without members runs once, with one mask of its dropout.
        self._has_body = has_body
        # A model may have an input of this name itself.
        self._takes_noise = "noise" not in inspect.signature(model.forward).parameters
        # By path and name, attributes with tensors that the model has left, and whether members
        # differ in them.
        self._carried: dict[tuple[str, str], bool] = {}
        self.training = model.training
        #: Whether members run one after the other. It turns ``True`` where they must.
        self.in_turn = False
        #: Whether an input is (M, B, …), a batch for each member, instead of one for all.
        self.own_batches = False
        self._make_ready()

    def _make_ready(self) -> None:
        paths = dict.fromkeys(path for path, _ in self._plan.sources.values())
        self._layers = {path: self.model.get_submodule(path) for path in paths}
        self._parts = {
            path: self._part(path, plain) for path, plain in self._plain[0].named_modules()
        }
        paths_of = {id(part.plain): path for path, part in self._parts.items()}
        for part in self._parts.values():
            part.children = [
                (key, child if child is None else paths_of[id(child)])
                for key, child in part.plain._modules.items()
            ]
        self._traced = Traced()
        self._traced_parts = self._stand_ins(None, {}, keeps=True)

    def _part(self, path: str, plain: nn.Module) -> "Part":
        start, kind = f"{path}." if path else "", type(plain)
        there = self.model.get_submodule(path)
        is_layer = path in self._plan.layers
        norm = isinstance(plain, _BatchNorm) and kind.forward is _BatchNorm.forward
        does = "product" if is_layer else "normalize" if norm else ""
        does = does or ("each_example" if kind in EACH_EXAMPLE else "")
        does = "" if "forward" in vars(plain) else does
        return Part(
            path, plain, there, is_layer, "dropout" if path in self._dropouts else does,
            {key: (start + key, self._plan.sources.get(start + key)) for key in plain._parameters},
            {key: start + key for key in plain._buffers},
            [key for key, value in vars(plain).items() if _is_bound(key, value)],
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        made = ("_layers", "_parts", "_traced", "_traced_parts")
        return {key: value for key, value in vars(self).items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._make_ready()

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch: (M,), (S,) or (S, M)."""
        return tuple(n for n in (self._samples, self._ensemble_size) if n is not None)

    @property
    def ensemble_size(self) -> int | None:
        """Number of members M, ``None`` for a method without."""
        return self._ensemble_size

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
        return self._samples

    @samples.setter
    def samples(self, value: int | None) -> None:
        if not self._paths_that_draw():
            raise ValueError(f"samples must be left out where nothing is drawn, got {value!r}")
        if value is not None or self.ensemble_size is None:
            checks.positive_int("samples", value)
        self._samples = value

    @property
    def draws(self) -> bool:
        """Whether two passes in eval mode differ."""
        return bool(self._paths_that_draw())

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
        run = Run(self._layers, self.leading, generator=generator)
        parts: Noise = {}
        if (args or kwargs) and self._paths_that_draw():
            self._run(run, args, kwargs, keeps=False)
            for key, own in run.noise.items():
                path, _, call = key.partition(" ")
                if call in ("", "0"):  # a layer uses its noise each time
                    parts[path] = own
        for path in self._paths_that_draw():
            if path not in parts and path in self._layers:
                if not (args or kwargs) or not getattr(self._layers[path], "per_example", False):
                    parts[path] = run.draw(path)
            elif path not in parts and not (args or kwargs):
                raise ValueError(
                    f"noise of {path or 'the model'} depends on its input as every mask of "
                    "dropout does; accepted are the inputs too, net.noise(generator, x)"
                )
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
        place = checked_index(index, self.leading)
        own = self._noise_by_part(noise)
        if self._paths_that_draw() and own is None:
            raise ValueError(
                "noise must be given for a method that draws, got None; accepted is what "
                "net.noise() returns"
            )
        row = 0
        for one, size in zip(place, self.leading, strict=True):
            row = row * size + one
        run = Run(self._layers, self.leading, own)
        member = copy.deepcopy(self._plain[0])
        for path, module in list(member.named_modules()):
            self._give_values(module, path, run, row, place[-1])
        for path in self._dropouts:
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
        if self._dropouts:
            member.register_forward_pre_hook(restart_masks)
        return member

    def _give_values(self, module: nn.Module, path: str, run: Run, row: int, member: int) -> None:
        """Give a plain module the values that one member has in the net."""
        there = self._parts[path].there
        for key in list(module._parameters):
            name = f"{path}.{key}".lstrip(".")
            if name in self._plan.sources:
                value, trains = _member_array(run, *self._plan.sources[name])
                setattr(module, key, nn.Parameter(value[row].detach().clone(), trains))
            elif module._parameters[key] is not None:
                setattr(module, key, copy.deepcopy(there._parameters[key]))
        for key, value in there._buffers.items():
            if value is not None and key in module._buffers:
                owned = self._owns_buffers and value.is_floating_point()
                module._buffers[key] = (value[member] if owned else value).detach().clone()
        if not self._parts[path].is_layer:  # which has settings of its own
            constants = {k: v for k, v in vars(there).items() if isinstance(v, CONSTANTS)}
            vars(module).update(constants)
        module.training = there.training
        for (where, key), differs in self._carried.items():
            if where == path:

                def own(_: str, x: Tensor, differs: bool = differs) -> Tensor:
                    return (x[row] if differs else x).detach().clone()

                vars(module)[key] = map_tensors(own, vars(there)[key], key)

    def forward(self, *args: Any, noise: Any = None, **kwargs: Any) -> Any:
        if noise is not None and not self._takes_noise:
            noise, kwargs = None, {**kwargs, "noise": noise}
        if self.own_batches:
            check_own_batches(self.ensemble_size or 1, args, kwargs)
        apart = self.own_batches or not self._has_body
        run = Run(self._layers, self.leading, self._noise_by_part(noise), apart=apart)
        return self._run(run, args, kwargs, keeps=True)

    def _run(self, run: Run, args: Any, kwargs: Any, *, keeps: bool) -> Any:
        """Run all members; the model's state moves in the net, too, but without `keeps`."""
        if torch.compiler.is_compiling() and self.in_turn:
            return _uncompiled(self._run, run, args, kwargs, keeps)
        if torch.compiler.is_compiling():
            outputs = self._trace(run, args, kwargs)
        else:

            def inputs() -> tuple[Any, Any]:
                return self._inputs_of(run, args), self._inputs_of(run, kwargs)

            way = self._in_turn if self.in_turn else self._at_once
            outputs = way(run, inputs, keeps)
        if len(self.leading) == 1:
            return outputs
        return map_tensors(lambda _, y: y.unflatten(0, self.leading), outputs, "the output")

    def _inputs_of(self, run: Run, tree: Any) -> Any:
        def given(_: str, x: Tensor) -> Tensor:
            if not self.own_batches:
                return x.clone()  # a model that works in place would change the reader's
            return run.own(x.repeat(self._samples or 1, *[1] * (x.ndim - 1)))

        return map_tensors(given, tree, "input", strict=False)

    def _at_once(self, run: Run, inputs: Callable[[], Any], keeps: bool) -> Any:
        try:
            return self._under_vmap(run, inputs, keeps)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = str(error)
        outputs = self._in_turn(run, inputs, keeps)
        self.in_turn = True
        warnings.warn(
            f"members run in turn, which takes longer, where torch.func.vmap refuses: {why}. "
            "net.in_turn = True says that it may",
            stacklevel=6,
        )
        return outputs

    def _under_vmap(self, run: Run, inputs: Callable[[], Any], keeps: bool) -> Any:
        # In training mode a pass that fails half-way must not have moved anything.
        clones = not keeps or any(part.there.training for part in self._parts.values())
        shared, own = self._values(run, clones=clones, reads=True)
        lazy_load_decompositions()
        # Of an operation without a rule Torch warns, and loops over the members.
        functorch._set_vmap_fallback_warning_enabled(False)
        try:
            with _no_checkpoints(), vmap_increment_nesting(run.rows, run.randomness) as run.level:
                values = {**shared, **{key: run.own(value) for key, value in own.items()}}
                parts = self._stand_ins(run, values, keeps)
                before = self._before(parts)
                args, kwargs = inputs()
                outputs = parts[""](*args, **kwargs)
                state, constants = self._state(parts, before, {} if clones else values)
                differ = [any(run.of_all(x)[1] for _, x in named_tensors(x)) for *_, x in state]
                moved = [
                    map_tensors(partial(run.spread, d), x, key)
                    for (_, _, key, x), d in zip(state, differ, strict=True)
                ]
                outputs = map_tensors(
                    lambda _, y: functorch._remove_batch_dim(y, run.level, run.rows, 0),
                    outputs, "the output",
                )  # fmt: skip
        finally:
            run.level = None
            functorch._set_vmap_fallback_warning_enabled(True)
        for one in parts.values():
            vars(one).pop("forward", None)  # else they hold themselves, and what was formed
        if keeps:
            self._keep(run, state, moved, differ, constants)
        return outputs

    def _in_turn(self, run: Run, inputs: Callable[[], Any], keeps: bool) -> Any:
        """Run one member after the other.

        What a checkpoint computes again for the gradient finds the values of its member.
        """
        outputs, states = [], []
        run.level = None
        shared, own = self._values(run, clones=True)
        buffers = {name for name, _ in self._plain[0].named_buffers(remove_duplicate=False)}
        for member in range(run.rows):
            run.member = member
            run.calls.clear()
            values = {key: x.clone() if key in buffers else x for key, x in shared.items()}
            values |= {key: run.own(value) for key, value in own.items()}
            parts = self._stand_ins(run, values, keeps)
            before = self._before(parts)
            args, kwargs = inputs()
            outputs.append(parts[""](*args, **kwargs))
            state, constants = self._state(parts, before, {})
            states.append(state)
        run.member = None
        moved = [
            stack_nested([x for *_, x in rows], rows[0][2]) for rows in zip(*states, strict=True)
        ]
        if keeps:
            self._keep(run, state, moved, [True] * len(moved), constants)
        return stack_nested(outputs, "the output")

    def _trace(self, run: Run, args: Any, kwargs: Any) -> Any:
        """Run as a compiler can follow: all arrays formed, and no state but buffers."""
        self._traced.run = run
        model = self._traced_parts[""]
        for path, part in self._traced_parts.items():
            part.training = self._parts[path].there.training
        clones = any(part.training for part in self._traced_parts.values())
        shared, own = self._values(run, clones=clones)
        found: list[Any] = []

        def member(own: Any, noise: Noise, args: Any, kwargs: Any) -> list[Tensor]:
            run.noise = noise
            run.calls.clear()
            found.append(functional_call(model, {**shared, **own}, args, kwargs, tie_weights=False))
            return [y for _, y in named_tensors(found[-1], "the output")]

        axis = 0 if self.own_batches else None
        masks = {path: noise for path, noise in run.noise.items() if path not in self._layers}
        axes = (0, 0, axis, axis)
        ys = iter(vmap(member, axes, randomness=run.randomness)(own, masks, args, kwargs))
        if clones:
            state, moved, differ = [], [], []
            for part in self._parts.values():
                for key, name in part.buffers.items():
                    if name in own or name in shared:
                        state.append((None, part.there._buffers, key, None))
                        moved.append(own[name] if name in own else shared[name])
                        differ.append(name in own)
            self._keep(run, state, moved, differ, [])
        return map_tensors(lambda _, y: next(ys), found[-1], "the output")

    def _values(
        self, run: Run, *, clones: bool, reads: bool = False
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return what is the same for all members, and (members, …) of what is not, by name.

        Of layers that form what the model `reads`, nothing.
        """
        shared: dict[str, Tensor] = {}
        own: dict[str, Tensor] = {}
        known: dict[int, Tensor] = {}  # a buffer of two names is one
        for part in self._parts.values():
            for key, (name, source) in () if reads and part.is_layer else part.parameters.items():
                values = run.arrays(source[0])[source[1]] if source else None
                value = values if source else part.there._parameters.get(key)
                if value is None:
                    continue
                kind = value.device.type
                if (
                    isinstance(part.plain, PRODUCTS)
                    and torch.amp.is_autocast_available(kind)
                    and torch.is_autocast_enabled(kind)
                ):
                    # Under vmap a product adds its bias by itself, which autocast does not shorten.
                    value = value.to(torch.get_autocast_dtype(kind))
                (own if source else shared)[name] = value
            for key, name in part.buffers.items():
                if (value := part.there._buffers[key]) is None:
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

    def _stand_ins(self, run: Run | None, values: dict[str, Tensor], keeps: bool) -> dict[str, Any]:
        """Return a copy of each module, as ``nn.DataParallel`` makes it: same code, other values.

        Without a `run` they are those of a compiler.
        """
        found: dict[str, Any] = {}
        at_once = run is not None and run.level is not None
        for path, part in self._parts.items():
            source = part.plain if part.is_layer or run is None else part.there
            one = found[path] = object.__new__(type(source))
            own = vars(source).copy()
            object.__setattr__(one, "__dict__", own)
            if source is part.plain:
                own |= {key: vars(part.there)[key] for key in (*HOOKS, "_is_full_backward_hook")}
            own["training"] = part.there.training and keeps
            if run is None:
                own["_parameters"], own["_buffers"] = {**source._parameters}, {**source._buffers}
                continue
            own["_parameters"] = (
                Formed(part.parameters, partial(run.read, path))
                if at_once and part.is_layer
                else {key: values.get(name) for key, (name, _) in part.parameters.items()}
            )
            own["_buffers"] = {key: values.get(name) for key, name in part.buffers.items()}
            if at_once and (own["_backward_hooks"] or own["_backward_pre_hooks"]):
                raise RuntimeError("hooks of a backward pass, which would see none")
            if part.does and (at_once or part.does == "dropout"):
                does = getattr(run, part.does)
                named = (path, one) if part.does in ("dropout", "product") else (one,)
                own["forward"] = partial(does, *named)
        twins = {id(part.plain): found[path] for path, part in self._parts.items()}
        for path, part in self._parts.items():
            own = vars(found[path])
            own["_modules"] = {
                key: child if child is None else found[child] for key, child in part.children
            }
            for key in part.bound:
                if (path, key) not in self._carried:
                    value = _rebound(vars(part.plain)[key], twins)
                    if key in HOOKS:  # later ones stand in the net alone
                        value = {number: value.get(number, f) for number, f in own[key].items()}
                    own[key] = value
            if run is None and part.does == "dropout":
                own["forward"] = partial(self._traced.dropout, path, found[path])
            elif run is None and "forward" not in own:
                own |= self._traced.forward_of(found[path])
            if isinstance(found[path], nn.RNNBase) and run:
                list_weights(found[path])
        for (path, key), differs in self._carried.items() if run else ():
            vars(found[path])[key] = map_tensors(
                partial(run.kept, differs), vars(found[path])[key], key
            )
        return found

    def _before(self, parts: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what stand-ins hold before a pass, and which tensors stand in their containers."""
        return {
            path: vars(one)
            | {f"ids {key}": _ids(vars(one)[key]) for key in self._parts[path].bound}
            for path, one in parts.items()
        }

    def _state(
        self,
        parts: dict[str, Any],
        before: dict[str, dict[str, Any]],
        unmoved: dict[str, Tensor],
    ) -> tuple[list[tuple[str | None, dict[str, Any], str, Any]], list[Any]]:
        """Return buffers after a pass but those `unmoved`, and tensors that it left on modules.

        Of each the path of its module for an attribute, where it stands, its name, and its value.
        Then what the model counts and switches.
        """
        state: list[Any] = []
        constants: list[Any] = []
        for path, one in parts.items():
            part, was = self._parts[path], before[path]
            for key, name in part.buffers.items():
                if (value := one._buffers[key]) is not unmoved.get(name):
                    state.append((None, part.there._buffers, key, value))
            for key, value in vars(one).items():
                if value is was.get(key, was) and key not in part.bound:
                    continue
                if key in OF_MODULES or key == "_flat_weights":
                    continue
                if isinstance(value, CONSTANTS):
                    constants.append((vars(part.there), key, value))
                elif (ids := _ids(value)) and ids != was.get(f"ids {key}"):
                    state.append((path, vars(part.there), key, value))
        return state, constants

    @torch.no_grad()
    def _keep(
        self, run: Run, state: Any, moved: list[Any], differ: list[bool], constants: list[Any]
    ) -> None:
        """Keep in the net what a pass has changed; `moved` holds that of all members."""
        for there, key, value in constants:
            there[key] = value
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

    def _paths_that_draw(self) -> list[str]:
        return [*(p for p, one in self._layers.items() if hasattr(one, "noise")), *self._dropouts]

    def _noise_by_part(self, noise: dict[str, Tensor] | None) -> Noise | None:
        if noise is None:
            return None
        if not isinstance(noise, dict):
            raise TypeError(
                f"noise must be a dict, as net.noise() returns it, got {type(noise).__name__}"
            )
        known = self._paths_that_draw()
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

    def extra_repr(self) -> str:
        return f"leading={self.leading}"


@torch.compiler.disable
def _uncompiled(pass_: Any, run: Run, args: Any, kwargs: Any, keeps: bool) -> Any:
    """Run members in turn, which no compiler follows, outside of its graph."""
    return pass_(run, args, kwargs, keeps=keeps)


def _member_array(run: Run, path: str, kind: str) -> tuple[Tensor, bool]:
    """Return a weight or bias of all members, and whether it is trained."""
    layer = run.layers[path]
    noise = run.noise.get(path)
    if getattr(layer, "per_example", False):
        raise ValueError("a member is one function only where per_example=False, got True")
    if noise is not None and "output" in noise:
        raise ValueError(
            'noise["output"] makes another function for each example; accepted is noise of the '
            "weights, net.noise(generator)"
        )
    value: Any = run.arrays(path)[kind]
    trained = getattr(layer, kind, None)
    trained = getattr(layer, f"{kind}_mean") if trained is None else trained
    return value, trained.requires_grad


def _is_bound(key: str, value: Any) -> bool:
    """Whether a stand-in needs an attribute, or hooks, of its own: parts of the model are in it."""
    if key in OF_MODULES and (key not in HOOKS or not value):
        return False
    if isinstance(value, CONTAINERS):
        parts = [*(value.values() if isinstance(value, dict) else value)]
        changes = not parts and not isinstance(value, tuple)
        return changes or not all(isinstance(part, CONSTANTS) for part in parts)
    return isinstance(value, (nn.Module, types.MethodType, partial))


def _rebound(value: Any, twins: dict[int, Any]) -> Any:
    """Return `value` with the modules of another tree in it, for its own; containers are copied."""
    if id(value) in twins:
        return twins[id(value)]
    if isinstance(value, types.MethodType):
        return types.MethodType(value.__func__, _rebound(value.__self__, twins))
    if isinstance(value, partial):
        args, kwargs = _rebound(value.args, twins), _rebound(value.keywords, twins)
        return partial(_rebound(value.func, twins), *args, **kwargs)
    if type(value) not in CONTAINERS:
        return value
    if isinstance(value, dict):
        return type(value)((key, _rebound(part, twins)) for key, part in value.items())
    return type(value)(_rebound(part, twins) for part in value)


def _ids(value: Any) -> tuple[int, ...]:
    """Tell apart the tensors that an attribute holds."""
    if isinstance(value, Tensor):
        return (id(value),)
    if not isinstance(value, (list, tuple, dict)):
        return ()
    if all(
        isinstance(x, CONSTANTS) for x in (value.values() if isinstance(value, dict) else value)
    ):
        return ()
    try:
        return tuple(id(x) for _, x in named_tensors(value))
    except TypeError:
        return ()


@contextmanager
def _no_checkpoints() -> Iterator[None]:
    """Refuse checkpoints: when they compute something again, vmap is over."""
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        yield  # the reader's own, around the whole pass
        return
    with torch.autograd.graph.disable_saved_tensors_hooks("checkpoints inside"):
        yield


def checked_index(index: Any, leading: tuple[int, ...]) -> tuple[int, ...]:
    """Check the index of a member, an integer or one for each leading axis."""
    given = index if isinstance(index, tuple) else (index,)
    if len(given) != len(leading):
        raise ValueError(
            f"index must be {'an integer' if len(leading) == 1 else '(sample, member)'} for "
            f"leading axes {leading}, got {index!r}"
        )
    for one, size in zip(given, leading, strict=True):
        if checks.natural_int("index", one) >= size:
            raise ValueError(f"index must be below the leading axes {leading}, got {index!r}")
    return tuple(int(one) for one in given)


def copied(model: nn.Module) -> nn.Module:
    """Return a copy, also of a model on whose modules a pass has left tensors with a graph."""
    return copy.deepcopy(model, detached_tensors(model))


def without_values(model: nn.Module) -> nn.Module:
    """Return a copy whose parameters and buffers have shapes alone; what is tied stays tied."""
    memo = detached_tensors(model)
    for parameter in model.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, parameter.requires_grad)
    for buffer in model.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(model, memo)


def detached_tensors(model: nn.Module) -> dict[int, Any]:
    """Return a memo for ``deepcopy`` of the tensors that a pass left on modules."""
    memo: dict[int, Any] = {}
    for part in model.modules():
        for kept in vars(part).values():
            values = kept.values() if isinstance(kept, dict) else kept
            for value in values if isinstance(kept, (dict, list, tuple)) else [kept]:
                if isinstance(value, Tensor) and not value.is_leaf:
                    memo[id(value)] = value.detach().clone()
    return memo


class MemberCopies(nn.Module):
    """M whole models side by side: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it.

    Inputs are what the model takes, with or without a batch axis; a tensor is copied for each
    member.
    """

    def __init__(self, members: Sequence[nn.Module], shared: Sequence[str]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.training = self.members.training = members[0].training
        #: Whether an input is (M, B, …), a batch for each member, instead of one for all.
        self.own_batches = False
        self._shared = tuple(f"{name}." for name in shared)

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch: (M,)."""
        return (len(self.members),)

    @property
    def ensemble_size(self) -> int:
        """Number of members M."""
        return len(self.members)

    @ensemble_size.setter
    def ensemble_size(self, value: Any) -> None:
        raise AttributeError(
            f"ensemble_size cannot be set, got {value!r}; accepted is another ensemble of the model"
        )

    def role_inside(self, path: str, role: str) -> str:
        """For `ensedu.counting`: the role of a parameter in here that would have `role` outside."""
        own = path.removeprefix("members.").partition(".")[2] + "."
        return "per_member" if role == "shared" and not own.startswith(self._shared) else role

    def member(self, index: int | tuple[int, ...], noise: None = None) -> nn.Module:
        """Return a copy of one member; raises as `ModelEnsemble.member` does."""
        if noise:
            raise ValueError(f"noise must be left out where nothing is drawn, got {noise!r}")
        member = self.members[checked_index(index, self.leading)[0]]
        return copied(member)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.own_batches:
            check_own_batches(len(self.members), args, kwargs)

        def inputs_of(tree: Any, i: int) -> Any:
            # A member that works in place would change the next one's input.
            return map_tensors(
                lambda _, x: (x[i] if self.own_batches else x).clone(), tree, "input", strict=False
            )

        outputs = [
            member(*inputs_of(args, i), **inputs_of(kwargs, i))
            for i, member in enumerate(self.members)
        ]
        return stack_nested(outputs, "the output")

    def extra_repr(self) -> str:
        return f"leading={self.leading}"
