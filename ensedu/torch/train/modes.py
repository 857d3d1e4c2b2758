"""In which mode modules run, also where several threads need one: each flag back as it was."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from ensedu.torch.base import Ensemble

FLAG_WORDS = {
    ("training", False): "in eval mode", ("training", True): "in training mode",
    ("own_batches", False): "with one batch for all members",
    ("own_batches", True): "with a batch for each member",
}  # fmt: skip


@dataclass(eq=False)
class _FlagClaim:
    """What one thread needs a flag of some modules to be, and what it was before."""

    thread: int
    flag: str
    wanted: bool
    before: dict[nn.Module, bool]


_claims: list[_FlagClaim] = []
_lock = threading.Lock()


@contextmanager
def predicting(net: nn.Module) -> Iterator[None]:
    """Let a net predict: in eval mode, one batch for all members, without gradients."""
    with batches_of_members(net, False), in_mode(net, training=False), torch.no_grad():
        yield


@contextmanager
def batches_of_members(net: nn.Module, wanted: bool) -> Iterator[None]:
    """Let converted models take a batch for each member, or one for all; layers take both."""
    parts = [part for part in net.modules() if isinstance(part, Ensemble)]
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
    claimed = _FlagClaim(threading.get_ident(), flag, wanted, {p: getattr(p, flag) for p in parts})

    def others() -> list[_FlagClaim]:
        same = (claim for claim in _claims if claim.flag == flag and claim.thread != claimed.thread)
        return [claim for claim in same if claim.before.keys() & claimed.before.keys()]

    with _lock:
        for other in others():
            if other.wanted != wanted:
                raise RuntimeError(
                    f"net is used {FLAG_WORDS[flag, other.wanted]} by another thread, so it cannot "
                    f"be used {FLAG_WORDS[flag, wanted]}; accepted is a copy for each thread, "
                    "copy.deepcopy(net)"
                )
            claimed.before |= {p: had for p, had in other.before.items() if p in claimed.before}
        _claims.append(claimed)
    try:
        yield
    finally:
        with _lock:
            _claims.remove(claimed)
            needed = {part for other in others() for part in other.before}
            for part, had in claimed.before.items():
                if part not in needed:
                    setattr(part, flag, had)
