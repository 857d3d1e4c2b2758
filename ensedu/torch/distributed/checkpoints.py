"""Checkpoints that any number of processes can load, with ``torch.distributed.checkpoint``.

A folder a step, such as ``step-00000050``. Each process writes what it has; shared tensors, which
all have, are written once. The entries are

- ``model.0.weight`` for a shared tensor, ``model.0.r.3`` for member 3's part of any other;
- ``optimizer.0.weight.exp_avg``, ``optimizer.0.r.exp_avg.3`` and, one number for all members,
  ``optimizer.0.r.step``;
- ``step``, the number of steps done.

No state of a random generator is among them, because `ShardedEnsemble` draws from (seed, step).

``.metadata``, the table of contents, is written under another name and renamed when all processes
have written all else, so a folder that has it is complete. It is a pickle: load only checkpoints
that you trust. Processes on several machines need a folder that all of them see.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from ensedu import checks
from ensedu.torch.distributed.shards import ShardedEnsemble

COMPLETE = ".metadata"


def save(
    folder: str | PathLike[str],
    ensemble: ShardedEnsemble,
    optimizer: torch.optim.Optimizer,
    step: int,
    *,
    keep: int = 2,
) -> Path:
    """Write a checkpoint of the state after `step` steps, and drop old ones.

    All processes call it together.

    Parameters
    ----------
    folder
        Where checkpoints stand; it is made if needed.
    ensemble, optimizer
        What to keep. The settings of the optimizer, such as its learning rate, are not kept.
    step
        Number of steps done, a positive integer.
    keep
        How many complete checkpoints to leave, a positive integer.

    Returns
    -------
    pathlib.Path
        The folder of this checkpoint.

    Raises
    ------
    TypeError, ValueError
        For a bad `step` or `keep`, and for an optimizer whose state is neither tensors of its
        parameters' shapes nor single numbers in tensors.
    FileExistsError
        If `folder` has a complete checkpoint of this step.
    OSError
        If the checkpoint cannot be written.
    """
    checks.positive_int("keep", keep)
    # At step 0 Torch would count a step to find out which state the optimizer will have.
    path = Path(folder) / f"step-{checks.positive_int('step', step):08}"
    if (path / COMPLETE).exists():
        raise FileExistsError(f"folder must have no checkpoint of step {step}, got {path}")
    entries = _State.of(ensemble, optimizer).entries
    with _plain_errors("written", path):
        dcp.save(entries | {"step": torch.tensor(step)}, checkpoint_id=path)
    if dist.get_rank() == 0:
        _drop_old(Path(folder), keep)
    return path


def newest(folder: str | PathLike[str]) -> Path | None:
    """Return the complete checkpoint with most steps in `folder`, or ``None``."""
    complete = _complete(Path(folder))
    return complete[-1] if complete else None


def resume(
    folder: str | PathLike[str], ensemble: ShardedEnsemble, optimizer: torch.optim.Optimizer
) -> int:
    """Load the newest complete checkpoint in `folder`; return its number of steps, 0 for none.

    All processes call it together. Errors are those of `load`.
    """
    # A shared file system may show a new folder to one process first: the view of process 0 counts.
    seen = [newest(folder)]
    dist.broadcast_object_list(seen, 0)
    return load(seen[0], ensemble, optimizer) if seen[0] else 0


def load(
    path: str | PathLike[str], ensemble: ShardedEnsemble, optimizer: torch.optim.Optimizer
) -> int:
    """Load one checkpoint, which any number of processes may have written.

    All processes call it together. `ensemble` and the state of `optimizer` change in place, and
    gradients are dropped.

    Parameters
    ----------
    path
        Folder of the checkpoint, as `save` or `newest` returns it.
    ensemble, optimizer
        Of the same layers, number of members, dtype and kind as those that were saved.

    Returns
    -------
    int
        The number of steps done.

    Raises
    ------
    FileNotFoundError
        If there is no complete checkpoint at `path`.
    TypeError, ValueError
        If it belongs to another network, number of members or kind of optimizer, and for an
        optimizer that `save` would refuse.
    OSError
        If its files are not whole.
    """
    if not (Path(path) / COMPLETE).exists():
        raise FileNotFoundError(f"path must be a complete checkpoint, got {path}")
    optimizer.zero_grad()  # Torch makes the state to load into only where no gradient is
    state = _State.of(ensemble, optimizer)
    _check_fit(path, dcp.FileSystemReader(path).read_metadata().state_dict_metadata, state.whole)
    step = torch.tensor(0)
    with _plain_errors("read", path):
        dcp.load(state.entries | {"step": step}, checkpoint_id=path)
    set_model_state_dict(ensemble.net, state.model)
    set_optimizer_state_dict(ensemble.net, optimizer, state.optimizer)
    return int(step)


class _State(NamedTuple):
    """A process's part of what a checkpoint holds."""

    #: As Torch gives and takes them; loading fills their tensors in place.
    model: dict[str, Any]
    optimizer: dict[str, Any]
    #: Views of those tensors, a name for each member.
    entries: dict[str, Tensor]
    #: What the entries of all processes are, told in words.
    whole: dict[str, str]

    @classmethod
    def of(cls, ensemble: ShardedEnsemble, optimizer: torch.optim.Optimizer) -> "_State":
        state = cls(
            get_model_state_dict(ensemble.net),
            get_optimizer_state_dict(ensemble.net, optimizer),
            {},
            {"step": _told((), torch.int64)},
        )
        for name, values in state.model.items():
            state._add(ensemble, f"model.{name}", values, name in ensemble.split)
            for key, value in state.optimizer["state"].get(name, {}).items():
                shape = getattr(value, "shape", None)
                if shape not in ((), values.shape):
                    raise TypeError(
                        f"optimizer must keep tensors of its parameters' shapes or single numbers "
                        f"in tensors, got {key!r} of shape {shape} for {name} {values.shape}"
                    )
                split = name in ensemble.split and shape != ()
                state._add(ensemble, f"optimizer.{name}.{key}", value, split)
        return state

    def _add(self, ensemble: ShardedEnsemble, name: str, values: Tensor, split: bool) -> None:
        if not split:
            self.entries[name] = values
            self.whole[name] = _told(values.shape, values.dtype)
            return
        for member, value in zip(ensemble.members, values, strict=True):
            self.entries[f"{name}.{member}"] = value
        for member in range(ensemble.ensemble_size):
            self.whole[f"{name}.{member}"] = _told(values.shape[1:], values.dtype)


@contextmanager
def _plain_errors(done: str, path: str | PathLike[str]) -> Iterator[None]:
    """Turn Torch's own error, which is a ``BaseException``, into one that handlers catch."""
    try:
        yield
    except dcp.CheckpointException as error:
        causes = "; ".join(
            f"process {rank}: {type(cause).__name__}: {cause}"
            for rank, (cause, _) in error.failures.items()
        )
        raise OSError(f"checkpoint {path} cannot be {done}; {causes}") from error


def _told(shape: tuple[int, ...], dtype: torch.dtype) -> str:
    return f"{tuple(shape)} {dtype}"


def _check_fit(path: str | PathLike[str], found: dict[str, Any], accepted: dict[str, str]) -> None:
    """Check that a checkpoint has the entries of an ensemble, no more and no less."""
    words = {
        name: _told(entry.size, entry.properties.dtype)
        if isinstance(entry, TensorStorageMetadata)
        else "an object"
        for name, entry in found.items()
    }
    one, other = _by_parameter(words), _by_parameter(accepted)
    differ = sorted(name for name in one | other if one.get(name) != other.get(name))
    if differ:
        first = differ[0]
        raise ValueError(
            f"path must be a checkpoint of such an ensemble and optimizer, got {path}, where "
            f"{first} is {one.get(first, 'missing')}; accepted is {other.get(first, 'none')} "
            f"(differing are {', '.join(differ[:8])}{', ...' if len(differ) > 8 else ''})"
        )


def _by_parameter(words: dict[str, str]) -> dict[str, str]:
    """Say what stands under each name, with the members counted."""
    counts: dict[str, Counter[str]] = {}
    for name, word in words.items():
        stem, _, last = name.rpartition(".")
        counts.setdefault(stem if last.isdigit() else name, Counter())[word] += 1
    return {
        name: " and ".join(f"{number} of {word}" for word, number in counter.items())
        for name, counter in counts.items()
    }


def _complete(folder: Path) -> list[Path]:
    return [path for path in _all(folder) if (path / COMPLETE).exists()]


def _all(folder: Path) -> list[Path]:
    """The checkpoints in a folder, complete or not, by their steps."""
    names = (path for path in folder.glob("step-*") if re.fullmatch(r"step-\d+", path.name))
    return sorted(names, key=_step)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _drop_old(folder: Path, keep: int) -> None:
    oldest = _complete(folder)[-keep:][0]
    for path in _all(folder):
        if _step(path) < _step(oldest):
            # First what makes it complete: nobody may find half a checkpoint that looks whole.
            (path / COMPLETE).unlink(missing_ok=True)
            shutil.rmtree(path)
