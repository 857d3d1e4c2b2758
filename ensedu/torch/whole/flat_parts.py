"""What tells members apart inside a model that has no axis for them: (M B, …) in, (M B, …) out."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.base import WeightLayer, check_dense, check_tensor
from ensedu.torch.dropout import MCDropout, checked_mask
from ensedu.torch.whole.one_member import FixedDropout, layer_of_member
from ensedu.torch.whole.passes import Passes


class FlatPart(nn.Module):
    """Something with a member axis inside a model without one: (M B, …) in, (M B, …) out."""

    #: Whether there is noise to draw.
    draws: bool

    def __init__(self, passes: Passes, name: str) -> None:
        super().__init__()
        self.name = name
        self._passes = passes

    def draw(
        self, generator: torch.Generator | None, shape: tuple[int, ...] | None
    ) -> dict[str, Tensor]:
        """Draw noise for an unflattened input of this shape, or for any if it is ``None``."""
        raise NotImplementedError

    def of_member(self, place: tuple[int, ...], noise: dict[str, Tensor] | None) -> nn.Module:
        """Return what stands here in one member alone."""
        raise NotImplementedError

    def _unfold(self, x: Tensor, leading: tuple[int, ...], fits: bool, axes: str) -> Tensor:
        rows, running = prod(leading), self._passes.running
        least = rows * (1 if running is None else running.examples)
        if not fits or (x.shape[0] % least if least else x.shape[0]):
            raise ValueError(
                f"{self.name or 'the model'}: got an input of shape {tuple(x.shape)} inside the "
                f"ensemble, accepted are {axes} of which the first is a multiple of {least} "
                "(members or samples x examples); inside a model the batch must stay the first axis"
            )
        return x.unflatten(0, (*leading, x.shape[0] // rows)) if leading else x

    def _given_noise(self, shape: tuple[int, ...]) -> dict[str, Tensor] | None:
        """Return what is given for an unflattened input of this shape; ``None`` to draw anew."""
        running = self._pass_with_noise() if self.draws else None
        if running is None:
            return None
        own = running.noise.setdefault(self.name, {})
        if not own and running.source is not None:
            own |= self.draw(running.source.generator, shape)
        return own or self._raise_for_missing_noise()

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        """Say of which part an error about its noise speaks."""
        try:
            yield
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.name or 'the model'}: {error}") from None

    def _pass_with_noise(self) -> Any:
        """Return the pass that this part is in, if it was given its noise."""
        running = self._passes.running
        if running is None and any(last.given for last in self._passes.last()):
            raise RuntimeError(
                f"{self.name or 'the model'} is called outside of a pass, after one that was given "
                "its noise, as torch.utils.checkpoint does for the gradient; accepted is a pass "
                "that draws its own, or no checkpoint around what draws"
            )
        return None if running is None or running.noise is None else running

    def _raise_for_missing_noise(self) -> Any:
        raise ValueError(
            f"noise has nothing for {self.name or 'the model'}, accepted is what net.noise() "
            "returns for such inputs"
        )

    def _error_without_input(self, why: str) -> ValueError:
        return ValueError(
            f"noise of {self.name or 'the model'} depends on its input {why}; accepted are the "
            "inputs too, net.noise(generator, x)"
        )


def flatten_members(x: Tensor, axes: int) -> Tensor:
    """Flatten the members into the batch: (S, M, B, …) with 2 `axes`, (M, B, …) with 1."""
    x = x.flatten(0, axes)
    # Of a view of a view, torch.export cannot prove the strides for every batch.
    exporting = torch.compiler.is_exporting()
    return x.clone(memory_format=torch.contiguous_format) if exporting else x


class FlatLayer(FlatPart):
    """A layer of a method where the model had a plain one, `shell`.

    `pad` gives the input the padding that `shell`, of a class of its own, gives it.
    """

    def __init__(
        self, layer: WeightLayer, passes: Passes, name: str, shell: nn.Module, pad: Any = None
    ) -> None:
        super().__init__(passes, name)
        self.layer = layer
        self.pad = pad
        # In a tuple it is no module of this one: its weights are none of the ensemble's.
        self._shell = (shell,)

    @property
    def draws(self) -> bool:
        """Whether the layer has distributions."""
        return hasattr(self.layer, "noise")

    def draw(
        self, generator: torch.Generator | None, shape: tuple[int, ...] | None
    ) -> dict[str, Tensor]:
        if shape is not None:
            return self.layer.noise(generator, shape)
        if getattr(self.layer, "per_example", False):
            raise self._error_without_input("for per_example=True")
        if getattr(self.layer, "estimator", "weights") == "weights":
            pixels = [1] * (-2 - self.layer.batch_axis)
            shape = (*self._passes.leading, 1, self.layer.inputs, *pixels)
            return self.layer.noise(generator, shape)
        # Noise of the weights makes one function of a layer that draws outputs, too.
        drawn = [self.layer.noise(generator) for _ in range(prod(self._passes.leading))]
        return {key: torch.stack([one[key] for one in drawn]) for key in drawn[0]}

    def of_member(self, place: tuple[int, ...], noise: dict[str, Tensor] | None) -> nn.Module:
        if self.draws and noise is None:
            self._raise_for_missing_noise()
        with self._naming_errors():
            return layer_of_member(self.layer, self._shell[0], place, noise)

    def forward(self, input: Tensor) -> Tensor:  # the name that nn.Linear has for it
        x = input
        check_tensor(f"{self.name or 'the model'}: input x", x)
        x = x if self.pad is None else self.pad(x)
        linear = self.layer.batch_axis == -2
        fits = x.ndim >= 2 if linear else x.ndim == 4
        leading = self._passes.leading
        # Behind a body that ran once, all members get the same.
        given = () if self._body_ran_once() else leading
        x = self._unfold(x, given, fits, "2 axes or more" if linear else "4 axes")
        # A linear layer may find axes between the batch and the features.
        between = x.shape[len(given) : -1]
        x = x.flatten(len(given), -2) if linear else x
        noise = self._given_noise(tuple(x.shape))
        if noise is None:
            y = self.layer(x)
        else:
            with self._naming_errors():
                y = self.layer(x, noise)
        axes = len(leading)
        return flatten_members(y.unflatten(axes, between) if linear else y, axes)

    def _body_ran_once(self) -> bool:
        running = self._passes.running
        if running is not None:
            return running.once
        known = {last.once for last in self._passes.last()}
        if len(known) > 1:
            raise RuntimeError(
                f"{self.name or 'the model'} is called outside of a pass, after some that ran the "
                "body once and others that did not, as torch.utils.checkpoint does for the "
                "gradient; accepted is no checkpoint around it"
            )
        return known == {True}

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("weight", "bias"):
                raise AttributeError(
                    f"the model reads {self.name}.{name}, of which each member has its own; "
                    "accepted is to call the layer, or to list it in shared"
                ) from None
            # Sizes and the like, which a model may read before it calls the layer.
            for shell in vars(self).get("_shell", ()):
                if name in vars(shell):
                    return vars(shell)[name]
            raise


class FlatDropout(FlatPart):
    """Dropout with one mask a sample inside a model: (S B, …) in, (S B, …) out.

    `drops` of the axes behind the batch drop on their own, the others together: 1 for the channels
    of ``nn.Dropout2d``, all by default.
    """

    draws = True

    def __init__(self, p: float, passes: Passes, name: str, drops: int | None) -> None:
        super().__init__(passes, name)
        self.p, self.drops = p, drops

    def draw(
        self, generator: torch.Generator | None, shape: tuple[int, ...] | None
    ) -> dict[str, Tensor]:
        if shape is None:
            raise self._error_without_input("as every mask of dropout does")
        return MCDropout(self.p, feature_axes=len(shape) - 2).noise(generator, shape)

    def of_member(self, place: tuple[int, ...], noise: dict[str, Tensor] | None) -> nn.Module:
        for key, mask in (noise or {}).items():
            name = f"{self.name or 'the model'}: noise[{key!r}]"
            check_dense(name, mask)
            if tuple(mask.shape[:1]) != self._passes.leading:
                raise ValueError(
                    f"{name} has shape {tuple(mask.shape)}, accepted is a mask for each of "
                    f"{self._passes.leading[0]} samples, as net.noise() returns it"
                )
        # A dropout that no pass calls has no mask.
        return FixedDropout([mask[place] for mask in (noise or {}).values()], self.p)

    def _mask_of_call(self, shape: tuple[int, ...], device: torch.device) -> dict[str, Tensor]:
        """Return the mask of this call: a model may call one dropout for inputs of many shapes."""
        running = self._pass_with_noise()
        if running is None:
            return MCDropout(self.p, feature_axes=len(shape) - 2).noise(None, shape, device=device)
        call = running.calls[self.name]
        running.calls[self.name] += 1
        key, own = f"mask{call or ''}", running.noise.setdefault(self.name, {})
        if key not in own and running.source is not None:
            own[key] = self.draw(running.source.generator, shape)["mask"]
        return {"mask": own[key]} if key in own else self._raise_for_missing_noise()

    def forward(self, input: Tensor) -> Tensor:  # the name that nn.Dropout has for it
        x = self._unfold(input, self._passes.leading, input.ndim >= 2, "2 axes or more")
        # What drops together has one entry.
        own = x.ndim - 2 if self.drops is None else self.drops
        shape = torch.Size((*x.shape[: 2 + own], *[1] * (x.ndim - 2 - own)))
        with self._naming_errors():
            mask = checked_mask(self._mask_of_call(shape, x.device), shape, x.ndim - 2)
        return flatten_members(x * (mask.to(x) / (1 - self.p)), 1)

    def extra_repr(self) -> str:
        return f"p={self.p}"
