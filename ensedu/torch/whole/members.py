"""An ensemble of any model: member i is that model with weights of its own."""

import copy
import inspect
import warnings
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import check_dense, check_generator
from ensedu.torch.whole.inputs import check_own_batches
from ensedu.torch.whole.nested_tensors import map_tensors
from ensedu.torch.whole.one_member import (
    FixedDropout,
    checked_index,
    restart_masks,
)
from ensedu.torch.whole.roles import Plan
from ensedu.torch.whole.running import Noise, Run, Skeleton, constants_of, draw


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
        self._free, self._traced = [self._skeleton()], self._skeleton("traced")

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_layers": {}, "_free": [], "_traced": None}

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
        layers = self._layers
        parts: Noise = {}
        if (args or kwargs) and self._paths_that_draw():
            run = Run(layers, self.leading, generator=generator)
            self._run(run, args, kwargs, keeps=False)
            for key, own in run.noise.items():
                path, _, call = key.partition(" ")
                if call in ("", "0"):  # a layer uses its noise each time
                    parts[path] = own
        for path in self._paths_that_draw():
            if path not in parts and path in layers:
                if not (args or kwargs) or not getattr(layers[path], "per_example", False):
                    parts[path] = draw(
                        layers[path], Run(layers, self.leading, None, generator), path
                    )
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
        member, there = copy.deepcopy(self._plain[0]), dict(self.model.named_modules())
        for path, module in list(member.named_modules()):
            self._take_values(module, there[path], path, run, row, place[-1])
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
            rows = [mask[place] for mask in masks.values()]
            dropout: Any = member.get_submodule(path)
            fixed = FixedDropout(rows, dropout.p)
            if not path:
                return fixed
            member.set_submodule(path, fixed)
        if self._dropouts:
            member.register_forward_pre_hook(restart_masks)
        return member

    def _take_values(
        self, module: nn.Module, there: nn.Module, path: str, run: Run, row: int, member: int
    ) -> None:
        """Give a plain module the values that one member has in `there`."""
        for key in list(module._parameters):
            name = f"{path}.{key}".lstrip(".")
            if name in self._plan.sources:
                where, kind = self._plan.sources[name]
                value, trains = _member_array(run, where, kind)
                setattr(module, key, nn.Parameter(value[row].detach().clone(), trains))
            elif module._parameters[key] is not None:
                setattr(module, key, copy.deepcopy(there._parameters[key]))
        for key, value in getattr(there, "_buffers", {}).items():
            if value is not None and key in module._buffers:
                owned = self._owns_buffers and value.is_floating_point()
                module._buffers[key] = (value[member] if owned else value).detach().clone()
        for key in constants_of(module, there):
            vars(module)[key] = vars(there)[key]
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
        if torch.compiler.is_compiling() and self.in_turn:
            return _uncompiled(self._run, run, args, kwargs, keeps)
        if torch.compiler.is_compiling():
            outputs = self._traced.trace(run, args, kwargs, self.own_batches)
            return self._with_leading_axes(outputs)
        try:
            skeleton = self._free.pop()
        except IndexError:  # other threads have all that there are
            skeleton = self._skeleton()

        def inputs() -> tuple[Any, Any]:
            return self._inputs_of(run, args), self._inputs_of(run, kwargs)

        fresh = partial(self._skeleton, "in turn")
        if self.in_turn:
            outputs = skeleton.run_in_turn(run, inputs, fresh, keeps=keeps)
        else:
            outputs, skeleton = self._at_once(skeleton, run, inputs, keeps)
        self._free.append(skeleton)  # one that failed has tensors of that pass
        return self._with_leading_axes(outputs)

    def _at_once(self, skeleton: Skeleton, run: Run, inputs: Any, keeps: bool) -> Any:
        try:
            return skeleton.run(run, inputs, keeps=keeps), skeleton
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            why = str(error)
        skeleton, fresh = self._skeleton(), partial(self._skeleton, "in turn")
        outputs = skeleton.run_in_turn(run, inputs, fresh, keeps=keeps)
        self.in_turn = True
        warnings.warn(
            f"members run in turn, which takes longer, where torch.func.vmap refuses: {why}. "
            "net.in_turn = True says that it may",
            stacklevel=6,
        )
        return outputs, skeleton

    def _inputs_of(self, run: Run, tree: Any) -> Any:
        def given(_: str, x: Tensor) -> Tensor:
            if not self.own_batches:
                return x.clone()  # a model that works in place would change the reader's
            return run.own(x.repeat(self._samples or 1, *[1] * (x.ndim - 1)))

        return map_tensors(given, tree, "input", strict=False)

    def _with_leading_axes(self, outputs: Any) -> Any:
        if len(self.leading) == 1:
            return outputs
        return map_tensors(lambda _, y: y.unflatten(0, self.leading), outputs, "the output")

    def _skeleton(self, way: str = "at once") -> Skeleton:
        return Skeleton(
            copy.deepcopy(self._plain[0]), self.model, self._layers, self._plan, self._dropouts,
            self._owns_buffers, self._carried, way,
        )  # fmt: skip

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
