"""What the Torch layers share: sizes, checks, where parameters start."""

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ensedu import _checks


class WeightLayer(nn.Module):
    """Base of the layers with `in_features` inputs and `out_features` outputs."""

    #: The role in `ensedu.counting` of each parameter.
    roles: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        in_features: int,
        out_features: int,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        self.in_features = _checks.positive_int("in_features", in_features)
        self.out_features = _checks.positive_int("out_features", out_features)
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise TypeError(f"dtype must be a floating-point torch.dtype or None, got {dtype!r}")
        self._factory = {"device": device, "dtype": dtype}

    def _empty(self, *shape: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape, **self._factory))

    def _uniform_(self, *parameters: nn.Parameter | None) -> None:
        """Fill with U(-1/√m, 1/√m), where ``nn.Linear`` starts its weight and its bias too."""
        bound = self.in_features**-0.5
        for parameter in parameters:
            if parameter is not None:
                nn.init.uniform_(parameter, -bound, bound)

    def _check_input(self, x: Any, members: int | None = None) -> None:
        layer, parameter = type(self).__name__, next(self.parameters())
        check_tensor(f"{layer}: input x", x, parameter)
        _checks.batch(layer, x.shape, self.in_features, members)

    def _check_sample(self, sample: Any, shapes: dict[str, tuple[int, ...]]) -> None:
        """Check that `sample` has just the tensors named in `shapes`, of those shapes."""
        like = next(self.parameters())
        _checks.sample(sample, shapes, lambda name, x: check_tensor(name, x, like))

    def _randn(self, generator: torch.Generator | None, *shape: int) -> Tensor:
        check_generator(generator)
        like = next(self.parameters())
        return torch.randn(shape, generator=generator, device=like.device, dtype=like.dtype)

    def extra_repr(self) -> str:
        size = f", ensemble_size={self.ensemble_size}" if hasattr(self, "ensemble_size") else ""
        bias = "" if getattr(self, "bias", self) is not None else ", bias=False"
        return f"in_features={self.in_features}, out_features={self.out_features}{size}{bias}"


def check_tensor(name: str, value: Any, like: Tensor | None = None) -> None:
    """Check that `value` is a floating-point tensor of the dtype of `like`.

    Under autocast the products cast their own operands, so any floating dtype passes.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if not value.is_floating_point():
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is a floating-point dtype")
    if like is None or torch.is_autocast_enabled(value.device.type):
        return
    if value.dtype != like.dtype:
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is {like.dtype}")


def check_generator(generator: Any) -> None:
    """Check that `generator` is a ``torch.Generator`` or ``None`` (Torch's global one)."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator must be a torch.Generator or None, got {type(generator).__name__}"
        )
