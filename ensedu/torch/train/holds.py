"""Flags of modules, which all threads have in common: who needs which value, and until when.

Threads that need the same value share it, and the last one gives the former value back. A thread
that needs another one gets an error.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import nn

from ensedu.torch.base import class_path

ACCEPTED = (
    "accepted is a copy for each thread, copy.deepcopy(net), or one mode for all threads, such as "
    "net.eval() before they predict"
)

STATES = {
    ("training", False): "in eval mode",
    ("training", True): "in training mode",
    ("own_batches", False): "with one batch for all members",
    ("own_batches", True): "with a batch for each member",
}

_lock = threading.RLock()  # a model's own train() may do anything
_holds: list["_Hold"] = []
_guards: dict[tuple[nn.Module, str], Any] = {}
# The frame of every module that is called has this code.
_CALL = nn.Module._call_impl.__code__


class _Hold:
    """What one thread needs of some modules, and what they had before."""

    def __init__(self, parts: Iterable[nn.Module], flag: str, wanted: bool) -> None:
        self.thread, self.flag, self.wanted = threading.get_ident(), flag, wanted
        self.before = {part: getattr(part, flag) for part in parts}

    def others(self) -> list["_Hold"]:
        """Return the other holds of the same flag of any of these modules."""
        return [
            one
            for one in _holds
            if one is not self and one.flag == self.flag and one.before.keys() & self.before.keys()
        ]

    def join(self) -> None:
        """Take over from other threads what modules had before."""
        for one in self.others():
            if one.thread == self.thread:
                continue
            if one.wanted != self.wanted:
                raise RuntimeError(
                    f"net is used {STATES[self.flag, one.wanted]} by another thread, so it cannot "
                    f"be used {STATES[self.flag, self.wanted]}; {ACCEPTED}"
                )
            self.before |= {part: had for part, had in one.before.items() if part in self.before}

    def guard(self) -> None:
        """Refuse calls of what is switched by other threads; raise if one is in progress."""
        parts = [part for part, had in self.before.items() if had != self.wanted]
        for part in parts:
            # A scripted module has no hooks; those of a thread that joined need no others.
            if (part, self.flag) not in _guards and not isinstance(part, torch.jit.ScriptModule):
                handle = part.register_forward_pre_hook(_refuse_other_threads)
                _guards[part, self.flag] = handle
        for thread, called in _modules_called():
            if called in parts and not _is_held(called, thread):
                raise RuntimeError(
                    f"net is in a pass of another thread, at a {class_path(called)}, so it cannot "
                    f"be switched to another mode; {ACCEPTED}"
                )

    def end(self) -> None:
        """Give each module what it had before, unless another hold needs what it has."""
        needed = {part for one in self.others() if one.wanted == self.wanted for part in one.before}
        for part, had in self.before.items():
            if part not in needed:
                setattr(part, self.flag, had)
                if (part, self.flag) in _guards:
                    _guards.pop((part, self.flag)).remove()
        _holds.remove(self)


@contextmanager
def held(
    parts: Iterable[nn.Module],
    flag: str,
    wanted: bool,
    switch: Callable[[], object],
    *,
    guarded: bool = False,
) -> Iterator[None]:
    """Let `switch` set a flag of modules, and give each its former value back at the end.

    Raises ``RuntimeError`` where another thread needs another value of the same flag. What is
    `guarded` is also kept from passes of other threads that hold nothing: one in progress is an
    error here, and one that begins is an error there.
    """
    with _lock:
        hold = _Hold(parts, flag, wanted)
        hold.join()
        _holds.append(hold)
        try:
            # A thread that is alone has nobody to look out for.
            if guarded and threading.active_count() > 1:
                hold.guard()
            switch()
        except BaseException:
            hold.end()
            raise
    try:
        yield
    finally:
        with _lock:
            hold.end()


def _modules_called() -> Iterator[tuple[int, nn.Module]]:
    """Yield the modules that threads are in, with the thread."""
    for thread, innermost in sys._current_frames().items():
        frame: FrameType | None = innermost
        while frame is not None:
            if frame.f_code is _CALL:
                yield thread, frame.f_locals["self"]
            frame = frame.f_back


def _refuse_other_threads(module: nn.Module, _: Any) -> None:
    if not torch.compiler.is_compiling() and not _is_held(module, threading.get_ident()):
        raise RuntimeError(
            f"a {class_path(module)} is called by a thread while another one has switched it to "
            f"another mode, to predict; {ACCEPTED}"
        )


def _is_held(module: nn.Module, thread: int) -> bool:
    """Whether a thread holds a module, or none does."""
    threads = {one.thread for one in list(_holds) if module in one.before}
    return not threads or thread in threads
