"""The newest checkpoint in a folder, and what a folder without one is instead."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ensedu.torch.train.folders import TABLE, folders_by_step

Found = TypeVar("Found")


def newest_by(look: Callable[[Path], Found], folder: Path, missing_ok: bool) -> Found | None:
    """Return what `look` says of the folder with most steps that is not damaged.

    Each that is damaged is named in a warning, and all in an ``OSError``. Without any it is
    ``None`` with `missing_ok`, and else a ``FileNotFoundError`` that says what is there instead.
    """
    check_place(folder)
    errors = []
    for path in reversed(folders_by_step(folder)):
        try:
            return look(path)
        except OSError as error:
            errors.append(str(error))
            warnings.warn(f"checkpoint {path} cannot be read: {error}", stacklevel=2)
    if errors:
        raise OSError(f"no checkpoint in {folder} can be read: {'; '.join(errors)}")
    if missing_ok:
        return None
    raise FileNotFoundError(
        f"folder must hold checkpoints, got {folder}, which {_what_is_there(folder)}; "
        "missing_ok=True starts anew"
    )


def check_place(folder: Path) -> None:
    """Check that checkpoints may stand in a folder, if there is one."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"folder must hold checkpoints, got {folder}, which is no folder")
    if (folder / TABLE).exists():
        raise ValueError(
            f"folder must hold checkpoints, got {folder}, which is a checkpoint itself: load it, "
            f"or give its folder, {folder.parent}"
        )


def check_checkpoint(path: Path) -> None:
    """Check that a folder is no folder of checkpoints."""
    if not (path / TABLE).exists() and (found := folders_by_step(path)):
        raise ValueError(
            f"path must be a checkpoint, got {path}, which holds checkpoints: resume it, or load "
            f"{found[-1]}"
        )


def _what_is_there(folder: Path) -> str:
    """Say what a folder without checkpoints is, and where some are."""
    if not folder.exists():
        return "does not exist"
    those = [path for path in folder.glob("*") if (path / TABLE).exists() or folders_by_step(path)]
    return f"holds none itself, but look at {min(those)}" if those else "holds none"
