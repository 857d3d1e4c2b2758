"""Run a whole model for all members at once, or a whole model a member."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from ensedu.torch.tree import batch_size, tree_map, tree_stack


class Batch:
    """The number of examples of the pass in progress; every folded layer of a model knows it."""

    def __init__(self, ensemble_size: int) -> None:
        self.ensemble_size = ensemble_size
        self.examples: int | None = None


class FoldedEnsemble(nn.Module):
    """A model whose swapped layers tell the members apart: (B, …) -> (M, B, …).

    Inside, the batch is repeated to (M B, …), member after member, so that every other layer of
    the model works as it did. `ensedu.torch.ensemble` builds it.
    """

    def __init__(self, model: nn.Module, batch: Batch) -> None:
        super().__init__()
        self.ensemble_size = batch.ensemble_size
        self.model = model
        self._batch = batch

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        M, B = self.ensemble_size, batch_size(args, kwargs)

        def repeat(_: str, x: Tensor) -> Tensor:
            return x.repeat(M, *[1] * (x.ndim - 1))

        def unfold(name: str, y: Tensor) -> Tensor:
            if y.ndim == 0 or len(y) != M * B:
                raise ValueError(
                    f"{name} of the model has shape {tuple(y.shape)}, accepted is ({M * B}, ...): "
                    f"one entry for each of {M} members and {B} examples"
                )
            return y.unflatten(0, (M, B))

        self._batch.examples = B
        try:
            outputs = self.model(*tree_map(repeat, args, ""), **tree_map(repeat, kwargs, ""))
        finally:
            self._batch.examples = None
        return tree_map(unfold, outputs, "the output")

    def extra_repr(self) -> str:
        return f"ensemble_size={self.ensemble_size}"


# What a model may read from a layer before it calls it.
SIZES = (
    "in_features", "out_features", "in_channels", "out_channels", "kernel_size", "stride",
    "padding", "dilation", "groups", "padding_mode",
)  # fmt: skip


class Folded(nn.Module):
    """A layer with a member axis inside a model without one: (M B, …) in, (M B, …) out."""

    def __init__(self, layer: nn.Module, batch: Batch, name: str) -> None:
        super().__init__()
        self.layer = layer
        self._batch, self._name = batch, name

    def forward(self, x: Tensor) -> Tensor:
        M, linear = self._batch.ensemble_size, self.layer.batch_axis == -2
        self._check(x, 2 if linear else 4)
        x = x.unflatten(0, (M, len(x) // M))
        if not linear:
            return self.layer(x).flatten(0, 1)
        # A linear layer may find axes between the batch and the features.
        return self.layer(x.flatten(1, -2)).unflatten(1, x.shape[1:-1]).flatten(0, 1)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in ("weight", "bias"):
                raise AttributeError(
                    f"the model reads {self._name}.{name}, of which each member has its own; "
                    "accepted is to call the layer, or to list it in shared"
                ) from None
            if name in SIZES:
                return getattr(self.layer, name)
            raise

    def _check(self, x: Tensor, axes: int) -> None:
        examples = self._batch.examples
        least = self._batch.ensemble_size * (1 if examples is None else examples)
        fits = x.ndim >= axes if axes == 2 else x.ndim == axes
        if not fits or (len(x) % least if least else len(x)):
            raise ValueError(
                f"{self._name or 'the model'}: got an input of shape {tuple(x.shape)} inside the "
                f"ensemble, accepted are {axes} axes{' or more' if axes == 2 else ''} of which the "
                f"first is a multiple of {least} (members x examples); inside a model the batch "
                "must stay the first axis"
            )


class MemberCopies(nn.Module):
    """M whole models side by side: (B, …) -> (M, B, …). `ensedu.torch.ensemble` builds it."""

    def __init__(self, members: Sequence[nn.Module], shared: Sequence[str]) -> None:
        super().__init__()
        self.ensemble_size = len(members)
        self.members = nn.ModuleList(members)
        self._shared = tuple(f"{name}." for name in shared)

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
        return f"ensemble_size={self.ensemble_size}"
