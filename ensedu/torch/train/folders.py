"""Folders that hold a checkpoint whole or not at all, and that tell when one is damaged."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ensedu.torch.train.parts import holds_only, part_of, remove, remove_killed
from ensedu.torch.train.saved_checks import check_table

FORMAT = 1
VALUES, TABLE = "values.safetensors", "checkpoint.json"
OWN = {VALUES, TABLE}
NAME = re.compile(r"step-([0-9]{8}|[1-9][0-9]{8,})")


class Content(NamedTuple):
    """What a folder holds, all of it read and found whole."""

    path: Path
    table: dict[str, Any]
    values: dict[str, Tensor]


def write(path: Path, table: dict[str, Any], values: dict[str, Tensor], keep: int) -> Path:
    """Write a folder under another name and rename it when all is on the disk; drop old ones.

    Only what holds these two files and nothing else is ever removed. Raises ``TypeError`` for
    values of a dtype without a name in the format, ``FileExistsError`` if there is such a folder
    that is not damaged, or something else of that name, ``OSError`` if it cannot be written.
    """
    try:  # clones, because what shares memory cannot be written
        data = save({name: value.contiguous().clone() for name, value in values.items()})
    except (ValueError, KeyError) as error:
        raise TypeError(
            f"net and optimizer must keep tensors of dtypes that safetensors knows, got {error}"
        ) from None
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_killed(path.parent, OWN)
    if os.path.lexists(path):
        _remove_damaged(path)
    file = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    table = {"format": FORMAT, "values": file} | table
    text = json.dumps(table | {"sha256": _digest(table)}, indent=1, sort_keys=True) + "\n"
    part = part_of(path)
    part.mkdir()
    for name, content in ((VALUES, data), (TABLE, text.encode())):
        with (part / name).open("wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
    _sync_names(part)
    part.rename(path)
    _sync_names(path.parent)
    _remove_old(path, keep)
    return path


def read(path: Path) -> Content:
    """Return what stands in a folder.

    Raises ``OSError``, which names the file that is missing or damaged, and ``ValueError`` for
    another format, and for what `write` would not have written.
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
        version, size, _ = table["format"], table["values"]["size"], table["values"]["sha256"]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OSError(f"{file} is damaged: {type(error).__name__}: {error}") from None
    if not whole:
        raise OSError(f"{file} is damaged: its SHA-256 is not the one in it")
    if type(version) is not int or version != FORMAT:
        raise ValueError(f"{file} is of format {version!r}, accepted is {FORMAT}")
    if values.stat().st_size != size:
        raise OSError(f"{values} is damaged: it has {values.stat().st_size} bytes of {size}")
    check_table(file, table)
    return table


def folders_by_step(folder: Path) -> list[Path]:
    """Return all folders of steps, damaged or not, the one with most steps last."""
    found = (path for path in folder.glob("step-*") if NAME.fullmatch(path.name))
    return sorted((path for path in found if path.is_dir()), key=step_of)


def step_of(path: Path) -> int:
    """Return the number of steps that a folder is named after."""
    return int(path.name.removeprefix("step-"))


def remove_after(folder: Path, step: int) -> None:
    """Remove what `write` left in a folder of more steps than these."""
    for path in folders_by_step(folder):
        if step_of(path) > step and holds_only(path, OWN):
            remove(path)


def _remove_damaged(path: Path) -> None:
    """Make room for a folder where a damaged one is."""
    if not path.is_dir():
        raise FileExistsError(f"folder must have no file of a checkpoint's name, got {path}")
    try:
        read(path)
    except OSError:
        if not holds_only(path, OWN):
            raise FileExistsError(
                f"folder must have nothing else of a checkpoint's name, got {path}"
            ) from None
        remove(path)
    else:
        raise FileExistsError(f"folder must have no checkpoint of that step, got {path}")


def _remove_old(path: Path, keep: int) -> None:
    """Remove what has fewer steps than so many complete folders, but for the one just written."""
    complete, damaged = [], []
    for other in folders_by_step(path.parent):
        try:
            read_table(other)
        except OSError:
            damaged.append(other)
        except ValueError:  # of another format, or by another hand: not counted, not removed
            continue
        else:
            complete.append(other)
    oldest = step_of(complete[-keep:][0])
    for other in complete + damaged:
        if step_of(other) < oldest and other != path and holds_only(other, OWN):
            remove(other)


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
