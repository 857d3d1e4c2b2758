"""The axis of members that a model's code does not see, by the parts of ``torch.func.vmap``.

That itself searches inputs and outputs at each call, and lets nobody out. Another Torch may have
these parts elsewhere: only this file calls them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch._functorch.vmap import lazy_load_decompositions, vmap_increment_nesting

functorch: Any = torch._C._functorch


@contextmanager
def all_at_once(members: int, randomness: str) -> Iterator[int]:
    """Let what runs in here run for all members, and yield the level of their axis."""
    lazy_load_decompositions()
    # Of an operation without a rule Torch warns, and loops over the members.
    functorch._set_vmap_fallback_warning_enabled(False)
    try:
        with _no_checkpoints(), vmap_increment_nesting(members, randomness) as level:
            yield level
    finally:
        functorch._set_vmap_fallback_warning_enabled(True)


class Outside:
    """Leaves the innermost level, as the rule of an ``autograd.Function`` would, in 0.3 ms."""

    def __enter__(self) -> None:
        self._inside = functorch.pop_dynamic_layer_stack()

    def __exit__(self, *_: object) -> None:
        functorch.push_dynamic_layer_stack(self._inside)


def is_innermost(level: int) -> bool:
    """Whether a level is inside of no other transform of ``torch.func``."""
    return functorch.peek_interpreter_stack().level() == level


def hide_members(x: Tensor, level: int | None) -> Tensor:
    """Return what code inside sees of (members, …)."""
    return functorch._add_batch_dim(x, 0, level)


def show_members(x: Tensor, level: int | None) -> tuple[Tensor, bool]:
    """Return (members, …) of what code inside sees, or x itself where members do not differ."""
    if not functorch.is_batchedtensor(x) or functorch.maybe_get_level(x) != level:
        return x, False
    axis, x = functorch.maybe_get_bdim(x), functorch.get_unwrapped(x)
    return (x.movedim(axis, 0) if axis else x), True


def show_output(y: Tensor, level: int, members: int) -> Tensor:
    """Return (members, …) of what leaves a level, repeated where members do not differ."""
    return functorch._remove_batch_dim(y, level, members, 0)


@contextmanager
def _no_checkpoints() -> Iterator[None]:
    """Refuse checkpoints: when they compute something again, vmap is over."""
    if torch._C._autograd._top_saved_tensors_default_hooks(False) is not None:
        yield  # the reader's own, around the whole pass
        return
    with torch.autograd.graph.disable_saved_tensors_hooks("checkpoints inside"):
        yield
