"""Folders that hold a checkpoint whole or not at all, and that tell when one is damaged."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

FORMAT = 1
VALUES, TABLE = "values.safetensors", "checkpoint.json"


class Content(NamedTuple):
    """What a folder holds, all of it read and found whole."""

    path: Path
    table: dict[str, Any]
    values: dict[str, Tensor]


def write(path: Path, table: dict[str, Any], values: dict[str, Tensor], keep: int) -> Path:
    """Write a folder under another name and rename it when all is on the disk; drop old ones.

    Raises ``TypeError`` for values of a dtype without a name in the format, ``FileExistsError`` if
    there is such a folder that is not damaged, ``OSError`` if it cannot be written.
    """
    try:  # clones, because what shares memory cannot be written
        data = save({name: value.contiguous().clone() for name, value in values.items()})
    except (ValueError, KeyError) as error:
        raise TypeError(
            f"net and optimizer must keep tensors of dtypes that safetensors knows, got {error}"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob("step-*.part-*"):  # by writes, or removals, that were killed
        shutil.rmtree(left)
    if path.exists():
        try:
            read(path)
        except OSError:
            _remove(path)
        else:
            raise FileExistsError(f"folder must have no checkpoint of that step, got {path}")
    file = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    table = {"format": FORMAT, "values": file} | table
    text = json.dumps(table | {"sha256": _digest(table)}, indent=1, sort_keys=True) + "\n"
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    part.mkdir()
    for name, content in ((VALUES, data), (TABLE, text.encode())):
        with (part / name).open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
    _sync_names(part)
    part.rename(path)
    _sync_names(path.parent)
    oldest = complete_folders(path.parent)[-keep:][0]
    for other in folders_by_step(path.parent):
        if _step_of(other) < _step_of(oldest) and other != path:
            _remove(other)
    return path


def read(path: Path) -> Content:
    """Return what stands in a folder.

    Raises ``OSError``, which names the file that is missing or damaged, and ``ValueError`` for
    another format.
    """
    table, file = read_table(path), path / VALUES
    data = file.read_bytes()
    if hashlib.sha256(data).hexdigest() != table["values"]["sha256"]:
        raise OSError(f"{file} is damaged: its SHA-256 is not the one in {TABLE}")
    try:
        return Content(path, table, load(data))
    except (SafetensorError, ValueError, KeyError) as error:
        raise OSError(f"{file} is damaged: {error}") from None


def read_table(path: Path) -> dict[str, Any]:
    """Return the table of a folder, whose values are there but unread; raises as `read` does."""
    file, values = path / TABLE, path / VALUES
    try:
        table = json.loads(file.read_bytes())
        whole = table.pop("sha256") == _digest(table)
        version, size = table["format"], table["values"]["size"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OSError(f"{file} is damaged: {type(error).__name__}: {error}") from None
    if not whole:
        raise OSError(f"{file} is damaged: its SHA-256 is not the one in it")
    if version != FORMAT:
        raise ValueError(f"{file} is of format {version!r}, accepted is {FORMAT}")
    if values.stat().st_size != size:
        raise OSError(f"{values} is damaged: it has {values.stat().st_size} bytes of {size}")
    return table


def folders_by_step(folder: Path) -> list[Path]:
    """Return all folders of steps, damaged or not, the one with most steps last."""
    names = (path for path in folder.glob("step-*") if re.fullmatch(r"step-\d+", path.name))
    return sorted(names, key=_step_of)


def complete_folders(folder: Path) -> list[Path]:
    """Return those whose files are there, with a good table and as many bytes as it says."""
    found = []
    for path in folders_by_step(folder):
        try:
            read_table(path)
        except OSError:
            continue
        found.append(path)
    return found


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _remove(path: Path) -> None:
    # Nobody may find half of it under a name that says it is whole.
    gone = path.with_name(f"{path.name}.part-{os.getpid()}")
    path.rename(gone)
    shutil.rmtree(gone)


def _digest(table: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _sync_names(folder: Path) -> None:
    """Bring the names in a folder to the disk, where a folder can be opened."""
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
