"""Folders that are being written or removed, under names that say which process is at work."""

import os
import re
import secrets
import shutil
from collections.abc import Collection
from pathlib import Path

#: ``step-00000050.part-1234-0a1b2c3d``, by process 1234.
PART = re.compile(r"step-\d{8,}\.part-(\d+)-[0-9a-f]{8}")


def part_of(path: Path) -> Path:
    """Return a name, for this process, that nothing beside a folder of a step has."""
    return path.with_name(f"{path.name}.part-{os.getpid()}-{secrets.token_hex(4)}")


def remove(path: Path) -> None:
    """Remove a folder of a step."""
    # Nobody may find half of it under a name that says it is whole.
    gone = part_of(path)
    path.rename(gone)
    shutil.rmtree(gone)


def remove_killed(folder: Path, names: Collection[str]) -> None:
    """Remove what a process was killed over, if it holds no more than files of these names."""
    for path in folder.glob("step-*"):
        match = PART.fullmatch(path.name)
        if match and holds_only(path, names) and not _is_at_work(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)  # another process may do the same


def holds_only(path: Path, names: Collection[str]) -> bool:
    """Whether a path is a folder, and no link to one, with no more than files of these names."""
    return (
        path.is_dir()
        and not path.is_symlink()
        and all(file.name in names for file in path.iterdir())
    )


def _is_at_work(number: int) -> bool:
    """Whether a process of that number, and not this one, runs on this machine."""
    if os.name != "posix" or number == os.getpid():
        return False
    try:
        os.kill(number, 0)  # which only asks
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
