"""How members run: at once under ``torch.func.vmap``, in turn, or as a compiler follows.

In a pass, a `Run`, each module of the model has a stand-in, which runs the same code on the values
of members. So nothing of the net itself moves before a pass is over, and threads do not meet.
"""

import inspect
import re
import types
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._functorch.vmap import lazy_load_decompositions, vmap_increment_nesting
from torch.func import functional_call, vmap
from torch.nn.modules.batchnorm import _BatchNorm

from ensedu.torch.trees import CONSTANTS, map_tensors, named_tensors, stack_nested
from ensedu.torch.whole.modules import (
    EACH_EXAMPLE,
    Formed,
    Noise,
    Run,
    Traced,
    functorch,
    list_weights,
)
from ensedu.torch.whole.roles import PRODUCTS, Plan

# What every module has, which is no state of a model.
OF_MODULES = frozenset(vars(nn.Module())) - {"training", "_is_full_backward_hook"}
# Functions that run before and behind a module's forward pass, and its backward pass.
HOOKS = tuple(key for key in OF_MODULES if re.match("_(forward|backward).*hooks", key))
CONTAINERS = (list, tuple, set, dict, OrderedDict)


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


class Passes(nn.Module):
    """What runs the code of a model with the values of members."""

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


@torch.compiler.disable
def _uncompiled(pass_: Any, run: Run, args: Any, kwargs: Any, keeps: bool) -> Any:
    """Run members in turn, which no compiler follows, outside of its graph."""
    return pass_(run, args, kwargs, keeps=keeps)


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
