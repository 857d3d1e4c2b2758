"""What the parts of a model know of the forward pass that they are in, each thread of its own."""

import threading
from collections import Counter
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from ensedu.torch.base import OfThread


class Source:
    """Draws noise: from a generator, or from Torch's global one for ``None``."""

    def __init__(self, generator: torch.Generator | None) -> None:
        self.generator = generator


class Pass:
    """One forward pass of B `examples`, in the one thread that runs it."""

    def __init__(
        self,
        examples: int,
        noise: dict[str, dict[str, Tensor]] | None = None,
        source: Source | None = None,
        *,
        once: bool = False,
    ) -> None:
        self.examples = examples
        #: Whether the body of a last-layer ensemble runs once, and not for each member.
        self.once = once
        #: By the part's name; parts draw their own where it is ``None``.
        self.noise = noise
        #: Draws what is missing in `noise`, while noise is drawn.
        self.source = source
        #: How often each part was called.
        self.calls: Counter[str] = Counter()


class Last(NamedTuple):
    """What one must know of a pass that is over, where a part of it is computed once more."""

    given: bool
    once: bool


class _Own(OfThread):
    def __init__(self) -> None:
        self.running: Pass | None = None


class Passes:
    """What all parts of a model share: how many members there are, and each thread's pass."""

    def __init__(self, ensemble_size: int | None = None, samples: int | None = None) -> None:
        self.ensemble_size, self.samples = ensemble_size, samples
        self._own = _Own()
        self._last: WeakKeyDictionary[threading.Thread, Last] = WeakKeyDictionary()

    def __reduce__(self) -> tuple[type["Passes"], tuple[int | None, int | None]]:
        return Passes, (self.ensemble_size, self.samples)  # a copy is in no pass

    @property
    def leading(self) -> tuple[int, ...]:
        """The axes in front of the batch: (M,), (S,) or (S, M)."""
        return tuple(size for size in (self.samples, self.ensemble_size) if size is not None)

    @property
    def running(self) -> Pass | None:
        """The pass that this thread is in."""
        return self._own.running

    def begin(self, one: Pass) -> Pass | None:
        """Let this thread be in a pass; return the one that it is in already."""
        before, self._own.running = self._own.running, one
        if not torch.compiler.is_compiling():
            self._last[threading.current_thread()] = Last(one.noise is not None, one.once)
        return before

    def end(self, before: Pass | None) -> None:
        """Let this thread be in the pass that `begin` returned."""
        self._own.running = before

    def last(self) -> list[Last]:
        """Return what the last pass of this thread was.

        A thread without one, as Torch has for the gradients of a GPU, works for any of the others.
        """
        own = self._last.get(threading.current_thread())
        return list(self._last.values()) if own is None else [own]
