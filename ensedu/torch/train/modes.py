"""How a net is while it trains or predicts, and as it was when that ends."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ensedu.torch.base import gpus_of

__all__ = ["batches_of_members", "in_mode", "seeded"]

WORDS = {
    ("training", False): "in eval mode", ("training", True): "in training mode",
    ("own_batches", False): "with one batch for all members",
    ("own_batches", True): "with a batch for each member",
}  # fmt: skip


@dataclass(eq=False)
class _Use:
    """What one thread needs a flag of some modules to be, and what it was before."""

    thread: int
    flag: str
    wanted: bool
    before: dict[nn.Module, bool]


_uses: list[_Use] = []
_lock = threading.Lock()


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
def batches_of_members(net: nn.Module, wanted: bool) -> Iterator[None]:
    """Let converted models take a batch for each member, or one for all; layers take both."""
    parts: list[Any] = [part for part in net.modules() if hasattr(part, "own_batches")]
    with _flag(parts, "own_batches", wanted):
        for part in parts:
            part.own_batches = wanted
        yield


@contextmanager
def in_mode(net: nn.Module, *, training: bool) -> Iterator[None]:
    """Put each module of a net in training or eval mode, and back into its own."""
    with _flag(net.modules(), "training", training):
        net.train(training)
        yield


@contextmanager
def _flag(parts: Iterable[nn.Module], flag: str, wanted: bool) -> Iterator[None]:
    """Give modules back the flag that they had, once no other thread needs what it is now.

    Raises ``RuntimeError`` where another thread needs another value: modules have one for all.
    """
    own = _Use(threading.get_ident(), flag, wanted, {p: getattr(p, flag) for p in parts})

    def others() -> list[_Use]:
        same = (use for use in _uses if use.flag == flag and use.thread != own.thread)
        return [use for use in same if use.before.keys() & own.before.keys()]

    with _lock:
        for other in others():
            if other.wanted != wanted:
                raise RuntimeError(
                    f"net is used {WORDS[flag, other.wanted]} by another thread, so it cannot be "
                    f"used {WORDS[flag, wanted]}; accepted is a copy for each thread, "
                    "copy.deepcopy(net)"
                )
            own.before |= {p: had for p, had in other.before.items() if p in own.before}
        _uses.append(own)
    try:
        yield
    finally:
        with _lock:
            _uses.remove(own)
            needed = {part for other in others() for part in other.before}
            for part, had in own.before.items():
                if part not in needed:
                    setattr(part, flag, had)
