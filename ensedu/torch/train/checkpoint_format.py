"""The format of checkpoints: how one is written, which there are, and whether one is whole."""

import hashlib
import json
import os
import re
import secrets
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from ensedu.common import checks

#: Under which key the JSON stands, in format 2, and what a file so begins with, after its length.
FORMAT_KEY, MARK = "ensedu 2", b'{"__metadata__":{"ensedu 2":'
#: In the place of the SHA-256 while it is computed.
EMPTY_HASH = b"0" * 64
FILE_NAME = re.compile(r"step-([0-9]{8}|[1-9][0-9]{8,})\.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    """What `load`, `resume` and `newest` say of a checkpoint."""

    #: Number of steps done, 0 where there is no checkpoint.
    step: int
    #: What the caller of `save` added, as JSON gives it back.
    extra: dict[str, Any]
    #: The file of this checkpoint; where there is none, the folder in which it was looked for.
    path: Path


#: What stands in a file: the facts, what an optimizer must be, its settings, tensors by name.
Content = tuple[Checkpoint, dict[str, Any], list[dict[str, Any]], dict[str, Tensor]]


def remove_after(folder: Path, step: int) -> None:
    """Remove the checkpoints of more steps than these."""
    for file in files_in(folder):
        if step_of(file) > step and is_ours(file):
            file.unlink()


def as_path(name: str, value: Any) -> Path:
    """Return a path that a caller gave."""
    if not isinstance(value, (str, PathLike)):
        raise TypeError(f"{name} must be a path, got {checks.describe(value)}")
    return Path(value)


def step_of(file: Path) -> int:
    """Return how many steps were done, by the name of a file."""
    return int(file.stem.removeprefix("step-"))


def files_in(folder: Path) -> list[Path]:
    """Return all files of checkpoints, damaged or not, the one with most steps last."""
    files = (file for file in folder.glob("step-*.safetensors") if FILE_NAME.fullmatch(file.name))
    return sorted((file for file in files if file.is_file()), key=step_of)


def is_ours(file: Path) -> bool:
    """Whether a file, and no link to one, begins as a checkpoint, or is empty."""
    with suppress(OSError):  # another process may remove it
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as opened:
                head = opened.read(8 + len(MARK))
            return not head or head[8:] == MARK
    return False


def is_whole(file: Path) -> bool:
    """Whether a file is a checkpoint that is not damaged."""
    with suppress(OSError):
        return bool(read(file))
    return False


def newest_content(folder: Any, missing_ok: bool) -> Content:
    """Return what stands in the newest file that is not damaged, of step 0 without any."""
    folder, errors = as_path("folder", folder), []
    checks.boolean("missing_ok", missing_ok)
    for file in reversed(files_in(folder)):
        try:
            content = read(file)
            if content[0].step != step_of(file):
                raise OSError(f"{file} is of step {content[0].step}")
            return content
        except OSError as error:
            errors.append(str(error))
            warnings.warn(f"checkpoint {file} cannot be read: {error}", stacklevel=3)
    if errors:
        raise OSError(f"no checkpoint in {folder} can be read: {'; '.join(errors)}")
    words = f"folder must hold checkpoints, got {folder}, which"
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{words} is no folder; a file is one checkpoint, to load")
    if old := sorted(folder.glob("step-*/checkpoint.json")):
        raise ValueError(f"{words} holds those of ensedu 1.0, such as {old[0].parent}")
    if not missing_ok:
        what = "holds none" if folder.exists() else "does not exist"
        raise FileNotFoundError(f"{words} {what}; missing_ok=True starts anew")
    return Checkpoint(0, {}, folder), {}, [], {}


def read(file: Path) -> Content:
    """Return what stands in a file; raise ``OSError`` for one that is damaged, or no checkpoint."""
    try:
        data = file.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        table = json.loads(header["__metadata__"][FORMAT_KEY])
        blank = data.replace(table["sha256"].encode(), EMPTY_HASH, 1)
        if hashlib.sha256(blank).hexdigest() != table["sha256"]:
            raise ValueError("its SHA-256 is not the one in it")
        told = Checkpoint(table["step"], table["extra"], file)
        return told, table["about"], table["settings"], safetensors.torch.load(data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
    except MemoryError:  # which is no damage
        raise
    except Exception as error:  # of bytes that may be anything
        words = f"{type(error).__name__}: {error}"
        raise OSError(f"{file} is damaged, or no checkpoint: {words}") from None


def write(path: Path, data: bytes) -> None:
    """Write a file under another name, which becomes its own when all is on the disk."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob("step-*.safetensors." + "[0-9a-f]" * 16):
            with suppress(OSError):  # another process may do the same
                if is_ours(left) and time.time() - left.stat().st_mtime > 3600:
                    left.unlink()
        try:
            with part.open("xb") as opened:
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
            if is_ours(path) and not is_whole(path):
                path.unlink(missing_ok=True)
            try:
                os.link(part, path)  # which takes the place of none that has come meanwhile
            except OSError:
                if os.path.lexists(path):
                    words = f"folder must have no other file of that name, got {path}"
                    raise FileExistsError(words) from None
                os.replace(part, path)  # on a disk without links
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None  # as of a full disk
