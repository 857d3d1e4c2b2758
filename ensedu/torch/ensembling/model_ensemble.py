"""What each ensemble of a model is but a deep one: the model, run with weights of each member."""

import inspect
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.base import Ensemble
from ensedu.torch.dropout import drop
from ensedu.torch.ensembling.copies import meta_copy
from ensedu.torch.ensembling.one_pass import Noise, OnePass
from ensedu.torch.ensembling.parameter_plan import Plan
from ensedu.torch.ensembling.runner import Runner
from ensedu.torch.inputs import check_own_batches
from ensedu.torch.tensor_checks import check_dense, check_generator


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
        ensemble_size: int | None,
        samples: int | None,
        *,
        dropouts: tuple[str, ...] = (),
        has_body: bool = False,
    ) -> None:
        super().__init__(ensemble_size, samples)
        #: The model's modules, with the arrays of members where it had parameters.
        self.model = stored
        # A body without members runs once, with one mask of its dropout.
        self._has_body = has_body
        # A model may have an input of this name itself.
        self._takes_noise = "noise" not in inspect.signature(model.forward).parameters
        owns_buffers = ensemble_size is not None and not has_body
        self._runner = Runner(meta_copy(model), stored, plan, dropouts, owns_buffers)
        self.training = model.training

    @property
    def in_turn(self) -> bool:
        """Whether members run one after the other. It turns ``True`` where they must."""
        return self._runner.in_turn

    @in_turn.setter
    def in_turn(self, value: bool) -> None:
        self._runner.in_turn = value

    @property
    def draws(self) -> bool:
        return bool(self._runner.paths_that_draw)

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
        has_inputs = bool(args or kwargs)
        parts: Noise = {}
        if has_inputs and self.draws:
            self._runner.outputs(one_pass, args, kwargs)
            for key, own in one_pass.noise.items():
                path, _, call = key.partition(" ")
                if call in ("", "0"):  # a layer uses its noise each time
                    parts[path] = own
        for path in self._runner.paths_that_draw:
            if path in parts:
                continue
            if (layer := one_pass.converted.get(path)) is None and not has_inputs:
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
        member = self._runner.member_copy(self._new_pass(own), row)
        for path in self._runner.dropouts:
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
        if self._runner.dropouts:
            member.register_forward_pre_hook(restart_masks)
        return member

    def forward(self, *args: Any, noise: Any = None, **kwargs: Any) -> Any:
        if noise is not None and not self._takes_noise:
            noise, kwargs = None, {**kwargs, "noise": noise}
        if self.own_batches:
            check_own_batches(self.ensemble_size or 1, args, kwargs)
        one_pass = self._new_pass(self._noise_by_part(noise), own_batches=self.own_batches)
        return self._runner.outputs(one_pass, args, kwargs)

    def _new_pass(self, noise: Noise | None = None, **options: Any) -> OnePass:
        independent = options.get("own_batches", False) or not self._has_body
        sizes = self._samples, self._ensemble_size
        return OnePass(self._runner.converted, *sizes, noise, independent=independent, **options)

    def _noise_by_part(self, noise: dict[str, Tensor] | None) -> Noise | None:
        if noise is None:
            return None
        if not isinstance(noise, dict):
            raise TypeError(
                f"noise must be a dict, as net.noise() returns it, got {type(noise).__name__}"
            )
        known = self._runner.paths_that_draw
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


class _Calls(threading.local):
    """How many masks a pass of this thread has taken; a copy starts anew."""

    number = 0

    def __reduce__(self) -> tuple[type["_Calls"], tuple[()]]:
        return type(self), ()


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
        return drop(input, mask, self.p)


def restart_masks(model: nn.Module, _: Any) -> None:
    """Let a pass of a member begin with the first masks."""
    for part in model.modules():
        if isinstance(part, FixedDropout):
            part._calls.number = 0
