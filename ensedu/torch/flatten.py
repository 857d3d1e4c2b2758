"""Run a whole model for all members at once, or a whole model a member.

The first way flattens the members into the batch, (M, B, …) to (M B, …), and unflattens it where a
layer must tell members apart.
"""

import inspect
from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.torch.base import WeightLayer
from ensedu.torch.dropout import MCDropout
from ensedu.torch.tree import batch_size, tree_map, tree_stack


class Pass:
    """What every flattened layer of a model knows of the forward pass in progress."""

    def __init__(self, leading: tuple[int, ...]) -> None:
        #: The axes in front of the batch: (M,), (S,) or (S, M).
        self.leading = leading
        self.examples: int | None = None
        self.noise: dict[str, dict[str, Tensor]] = {}


class FlatEnsemble(nn.Module):
    """A model in which some layers tell the members apart: (B, …) -> (M, B, …).

    Inside, the batch is repeated to (M B, …), member after member, so that every other layer of
    the model works as it did. `ensedu.torch.ensemble` builds it. Samples are an axis S, alone or
    in front of M.
    """

    def __init__(self, model: nn.Module, shared_pass: Pass) -> None:
        super().__init__()
        self.model = model
        self._pass = shared_pass
        # A model may have an input of this name itself.
        self._takes_noise = "noise" not in inspect.signature(model.forward).parameters

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch: (M,), (S,) or (S, M)."""
        return self._pass.leading

    def noise(self, generator: torch.Generator | None = None) -> dict[str, Tensor]:
        """Draw the noise of all layers, to be given as ``net(x, noise=noise)``.

        A layer that the model calls several times uses it each time. A model whose own forward
        pass has an input ``noise`` takes that one.

        Raises ``ValueError`` for a layer whose noise depends on its input, which a model may give
        any shape: ``per_example=True``, ``estimator="local"``, dropout.
        """
        drawn: dict[str, Tensor] = {}
        for part in self._drawing():
            own = part.draw(generator)
            drawn |= {f"{part.name}.{key}".lstrip("."): value for key, value in own.items()}
        return drawn

    def _drawing(self) -> list["FlatLayer | FlatDropout"]:
        return [part for part in self.modules() if getattr(part, "draws", False)]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        noise = kwargs.pop("noise", None) if self._takes_noise else None
        rows, B = prod(self.leading), batch_size(args, kwargs)

        def repeat(_: str, x: Tensor) -> Tensor:
            return x.repeat(rows, *[1] * (x.ndim - 1))

        def unfold(name: str, y: Tensor) -> Tensor:
            if y.ndim == 0 or y.shape[0] != rows * B:
                raise ValueError(
                    f"{name} of the model has shape {tuple(y.shape)}, accepted is "
                    f"({rows * B}, ...): one entry for each of {rows} members and {B} examples"
                )
            return y.unflatten(0, (*self.leading, B))

        self._pass.examples, self._pass.noise = B, self._by_layer(noise)
        try:
            outputs = self.model(*tree_map(repeat, args, ""), **tree_map(repeat, kwargs, ""))
        finally:
            self._pass.examples, self._pass.noise = None, {}
        return tree_map(unfold, outputs, "the output")

    def _by_layer(self, noise: dict[str, Tensor] | None) -> dict[str, dict[str, Tensor]]:
        if noise is None:
            return {}
        words = "noise must be as net.noise() returns it, {}, got {}"
        if not isinstance(noise, dict):
            raise TypeError(words.format(sorted(self.noise()), type(noise).__name__))
        parts: dict[str, dict[str, Tensor]] = {}
        for key, value in noise.items():
            name, _, own = str(key).rpartition(".")
            parts.setdefault(name, {})[own] = value
        if parts.keys() != {part.name for part in self._drawing()}:
            raise ValueError(words.format(sorted(self.noise()), sorted(noise)))
        return parts

    def extra_repr(self) -> str:
        return f"leading={self.leading}"


# What a model may read from a layer before it calls it.
SIZES = (
    "in_features", "out_features", "in_channels", "out_channels", "kernel_size", "stride",
    "padding", "dilation", "groups", "padding_mode",
)  # fmt: skip


class FlatLayer(nn.Module):
    """A layer with a member axis inside a model without one: (M B, …) in, (M B, …) out."""

    def __init__(self, layer: WeightLayer, shared_pass: Pass, name: str) -> None:
        super().__init__()
        self.layer = layer
        self.name = name
        self._pass = shared_pass

    @property
    def draws(self) -> bool:
        """Whether there is noise to draw."""
        return hasattr(self.layer, "noise")

    def draw(self, generator: torch.Generator | None) -> dict[str, Tensor]:
        """Draw noise that fits any input."""
        for setting, plain in (("per_example", False), ("estimator", "weights")):
            value = getattr(self.layer, setting, plain)
            if value != plain:
                raise ValueError(
                    f"noise of {self.name or 'the model'} depends on its input for "
                    f"{setting}={value!r}, accepted is {plain!r}"
                )
        axes = -self.layer.batch_axis
        return self.layer.noise(generator, (*self._pass.leading, *[1] * axes))

    def forward(self, x: Tensor) -> Tensor:
        leading, linear = self._pass.leading, self.layer.batch_axis == -2
        self._check(x, 2 if linear else 4)
        x = x.unflatten(0, (*leading, x.shape[0] // prod(leading)))
        noise = [self._pass.noise[self.name]] if self.name in self._pass.noise else []
        axes = len(leading)
        if not linear:
            return self.layer(x, *noise).flatten(0, axes)
        # A linear layer may find axes between the batch and the features.
        between = x.shape[axes:-1]
        return self.layer(x.flatten(axes, -2), *noise).unflatten(axes, between).flatten(0, axes)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("weight", "bias"):
                raise AttributeError(
                    f"the model reads {self.name}.{name}, of which each member has its own; "
                    "accepted is to call the layer, or to list it in shared"
                ) from None
            if name in SIZES:
                return getattr(self.layer, name)
            raise

    def _check(self, x: Tensor, axes: int) -> None:
        examples, rows = self._pass.examples, prod(self._pass.leading)
        least = rows * (1 if examples is None else examples)
        fits = x.ndim >= axes if axes == 2 else x.ndim == axes
        if not fits or (x.shape[0] % least if least else x.shape[0]):
            raise ValueError(
                f"{self.name or 'the model'}: got an input of shape {tuple(x.shape)} inside the "
                f"ensemble, accepted are {axes} axes{' or more' if axes == 2 else ''} of which the "
                f"first is a multiple of {least} (members x examples); inside a model the batch "
                "must stay the first axis"
            )


class FlatDropout(nn.Module):
    """Dropout with one mask a sample inside a model: (S B, …) in, (S B, …) out.

    `drops` of the axes behind the batch drop on their own, the others together: 1 for the channels
    of ``nn.Dropout2d``, all by default.
    """

    draws = True

    def __init__(self, p: float, shared_pass: Pass, name: str, drops: int | None) -> None:
        super().__init__()
        self.p, self.drops, self.name = p, drops, name
        self._pass = shared_pass
        # A fused nn.TransformerEncoderLayer would never call it; one with a hook inside is none.
        self.register_forward_pre_hook(_no_hook)

    def draw(self, generator: torch.Generator | None) -> dict[str, Tensor]:
        """Refuse: the shape of a mask is the input's."""
        raise ValueError(
            f"noise of {self.name or 'the model'} depends on its input, as every mask of dropout "
            "does; accepted is a forward pass that draws it"
        )

    def forward(self, x: Tensor) -> Tensor:
        (samples,), examples = self._pass.leading, self._pass.examples
        least = samples * (1 if examples is None else examples)
        if x.ndim < 2 or (x.shape[0] % least if least else x.shape[0]):
            raise ValueError(
                f"{self.name or 'the model'}: got an input of shape {tuple(x.shape)} inside the "
                "ensemble, accepted are 2 axes or more of which the first is a multiple of "
                f"{least} (samples x examples); inside a model the batch must stay the first axis"
            )
        x = x.unflatten(0, (samples, x.shape[0] // samples))
        if self.drops is None:
            return MCDropout(self.p, feature_axes=x.ndim - 2)(x).flatten(0, 1)
        mask = MCDropout(self.p).noise(None, (*x.shape[:3],), device=x.device)["mask"]
        factors = mask.to(x.dtype) / (1 - self.p)  # (S, 1, C)
        return (x * factors[(..., *[None] * (x.ndim - 3))]).flatten(0, 1)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def _no_hook(*_: Any) -> None:
    pass


class MemberCopies(nn.Module):
    """M whole models side by side: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it."""

    def __init__(self, members: Sequence[nn.Module], shared: Sequence[str]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self._shared = tuple(f"{name}." for name in shared)

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch: (M,)."""
        return (len(self.members),)

    def role_inside(self, path: str, role: str) -> str:
        """For `ensedu.counting`: the role of a parameter in here that would have `role` outside."""
        own = path.removeprefix("members.").partition(".")[2] + "."
        return "per_member" if role == "shared" and not own.startswith(self._shared) else role

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        batch_size(args, kwargs)

        def copy(_: str, x: Tensor) -> Tensor:
            return x.clone()  # a member that works in place would change the next one's input

        outputs = [
            member(*tree_map(copy, args, ""), **tree_map(copy, kwargs, ""))
            for member in self.members
        ]
        return tree_stack(outputs, "the output")

    def extra_repr(self) -> str:
        return f"leading={self.leading}"
