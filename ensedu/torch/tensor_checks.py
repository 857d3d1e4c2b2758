"""Checks of tensors, devices and generators, and how messages call what is none of them."""

from typing import Any

import torch
from torch import Tensor

from ensedu.common import checks


def not_dense(x: Tensor) -> str:
    """Say what a tensor is that holds no plain array of numbers, "" if it does."""
    if x.is_nested:
        return "a nested tensor"
    if x.is_quantized:
        return f"a quantized tensor of {x.dtype}"
    return "" if x.layout is torch.strided else f"a tensor of layout {x.layout}"


def shape_in(noise: Any, key: str) -> tuple[int, ...]:
    """Return the shape of what stands in `noise` under a key, () for what has none."""
    value = noise.get(key) if isinstance(noise, dict) else None
    if getattr(value, "is_nested", False):  # Torch raises where one asks
        return ()
    return tuple(getattr(value, "shape", ()))


def check_dense(name: str, value: Any) -> None:
    """Check that `value` is a tensor that holds a plain array of numbers."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if what := not_dense(value):
        raise TypeError(f"{name} is {what}, accepted is a dense one, of {torch.strided}")


def check_tensor(name: str, value: Any, like: Tensor | None = None) -> None:
    """Check that `value` is a floating-point tensor of the dtype of `like`.

    Under autocast the products cast their own operands, so any floating dtype passes.
    """
    check_dense(name, value)
    if like is not None and value.device != like.device:
        raise ValueError(f"{name} is on device {value.device}, accepted is {like.device}")
    if like is not None and value.dtype == like.dtype:
        return
    if not value.is_floating_point():
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is a floating-point dtype")
    if like is not None and not torch.is_autocast_enabled(value.device.type):
        raise TypeError(f"{name} has dtype {value.dtype}, accepted is {like.dtype}")


def check_device(device: Any) -> torch.device | None:
    """Return `device` as Torch knows it, if there is one here; ``None`` for the default one."""
    if device is None:
        return None
    try:
        known = torch.device(device)
        if not torch.compiler.is_compiling():
            torch.empty(0, device=known)
    # Torch has an error of its own for each kind of device, and an AssertionError for CUDA.
    except (TypeError, ValueError, RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise ValueError(
            f"device is {checks.describe(device)}, which Torch refuses: {reason}; accepted here "
            f"are {', '.join(_devices())}"
        ) from None
    return known


def _devices() -> list[str]:
    kind, count = torch.accelerator.current_accelerator(), torch.accelerator.device_count()
    return ["cpu", *(f"{kind}:{i}" for i in range(count)), "meta"]


def check_generator(generator: Any) -> None:
    """Check that `generator` is a ``torch.Generator`` or ``None`` (Torch's global one)."""
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(
            f"generator must be a torch.Generator or None, got {type(generator).__name__}"
        )


def class_path(value: Any) -> str:
    """Say of which class something is, so that one finds it; Torch's own as everybody writes it."""
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__.startswith("torch.nn.modules"):
        return f"nn.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"
