"""What an ensemble of a model is: member i is that model with weights of its own."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.torch.base import check_dense, check_generator
from ensedu.torch.trees import CONSTANTS, check_own_batches, map_tensors, stack_nested
from ensedu.torch.whole.modules import FixedDropout, Noise, Run, restart_masks
from ensedu.torch.whole.passes import Passes


class ModelEnsemble(Passes):
    """A model with weights for each member: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it.

    ``net(x)[i]`` is the model run with the weights of member i, for all members at once by
    ``torch.func.vmap``. Where vmap has no rule for what a model does, members run in turn, by the
    same weights; a warning names the operation. Samples are an axis S, alone or in front of M.
    Threads may run it at once.
    """

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
