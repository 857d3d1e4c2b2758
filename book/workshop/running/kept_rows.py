"""The rows of a table that is not finished, in a file that a kill leaves readable."""

import fcntl
import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from ensedu.common import checks
from workshop.running.experiment import case_key
from workshop.running.worker import Outcome


class KeptRows:
    """A file of JSON lines: one that says of which run, then the rows in the order they came.

    Parameters
    ----------
    path
        The file, which may be there already. While it is open no other process may open it.
    header
        What must be the same in all runs that add to it, but for the keys in `free`.
    fresh
        Whether to drop what is there.
    say
        Is called with words for the user.

    Raises
    ------
    ValueError
        If the file is of another run, or holds what no run has written.
    RuntimeError
        If another process has it open.
    """

    def __init__(
        self,
        path: Path,
        header: dict[str, Any],
        *,
        free: Collection[str],
        fresh: bool,
        say: Callable[[str], None],
    ) -> None:
        self.path = path
        self.rows: dict[str, Outcome] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a+b")
        try:
            self._lock()
            if fresh:
                self._file.truncate(0)
            self._read(header, free, say)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "KeptRows":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, case: dict[str, Any], outcome: Outcome) -> None:
        """Add a row, which is on the disk when this returns."""
        self.rows[case_key(case)] = outcome
        self._write({"case": case, "results": outcome.results, "seconds": outcome.seconds})

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(f"{self.path} is in use by another run; let it finish") from None

    def _read(
        self, header: dict[str, Any], free: Collection[str], say: Callable[[str], None]
    ) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole = content.rpartition(b"\n")[0] + b"\n" if b"\n" in content else b""
        if whole != content:
            say(f"{self.path}: the last line was cut off in writing, and is dropped")
            self._file.truncate(len(whole))
        lines = whole.splitlines()
        if not lines:
            self._write(header)
            return
        written = self._line(1, lines[0])
        others = [
            f"{name} was {checks.shown(written.get(name))}, is {checks.shown(header.get(name))}"
            for name in header | written
            if written.get(name) != header.get(name) and name not in free
        ]
        if others:
            raise ValueError(
                f"{self.path} holds rows of another run: {', '.join(others)}; delete it, or "
                "compute it fresh (--fresh), or keep older rows (--older) if only code differs "
                "that gives the same rows"
            )
        for i, line in enumerate(lines[1:], start=2):
            row = self._line(i, line)
            if row.keys() != {"case", "results", "seconds"} or case_key(row["case"]) in self.rows:
                raise ValueError(self._damaged(i, line))
            self.rows[case_key(row["case"])] = Outcome(row["results"], "", row["seconds"])

    def _line(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ValueError(self._damaged(number, line))
        return found

    def _damaged(self, number: int, line: bytes) -> str:
        words = checks.shown(line.decode(errors="replace"))
        return (
            f"{self.path} is damaged: line {number} is {words}, which no run has written; "
            "delete it, or compute it fresh (--fresh)"
        )

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
