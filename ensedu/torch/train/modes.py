"""How a net is while it trains or predicts, and as it was when that ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ensedu.common import checks
from ensedu.torch.base import gpus_of
from ensedu.torch.train.holds import held


@contextmanager
def seeded(net: nn.Module, seed: int) -> Iterator[dict[str, torch.Generator]]:
    """Seed Torch's generators on the devices of a net, and give them back as they were."""
    devices = gpus_of(net)
    with torch.random.fork_rng(devices):
        generators = {"cpu": torch.default_generator}
        generators |= {f"cuda{i}": torch.cuda.default_generators[i] for i in devices}
        # Not torch.manual_seed, which seeds all devices, and those that nobody has used yet later.
        for generator in generators.values():
            generator.manual_seed(seed)
        yield generators


@contextmanager
def batches_of_members(net: nn.Module, wanted: bool, *, guarded: bool = False) -> Iterator[None]:
    """Let converted models take a batch for each member, or one for all; layers take both."""
    parts: list[Any] = [part for part in net.modules() if hasattr(part, "own_batches")]

    def switch() -> None:
        for part in parts:
            part.own_batches = wanted

    with held(parts, "own_batches", wanted, switch, guarded=guarded):
        yield


@contextmanager
def in_mode(net: nn.Module, *, training: bool, guarded: bool = False) -> Iterator[None]:
    """Put each module of a net in training or eval mode, and back into its own."""
    with held(net.modules(), "training", training, lambda: net.train(training), guarded=guarded):
        yield


@contextmanager
def in_precision(device: torch.device, dtype: torch.dtype | None) -> Iterator[None]:
    """Let Torch compute in a shorter dtype where it can, if there is one."""
    if dtype is None:
        yield
        return
    with torch.autocast(device.type, dtype):
        yield


def autocast_name(dtype: Any) -> str:
    """Return the name of a dtype to compute in, "" for none."""
    if dtype is None:
        return ""
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"autocast must be torch.bfloat16 or None, got {checks.given(dtype)}")
    if dtype != torch.bfloat16:
        why = ", which needs a gradient scaler" if dtype == torch.float16 else ""
        raise ValueError(f"autocast must be torch.bfloat16 or None, got {dtype}{why}")
    return str(dtype)
