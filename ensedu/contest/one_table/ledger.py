"""A folder that keeps what is done of a comparison, so that the same call goes on from there."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ensedu.contest.one_table.plans import ComparisonPlan

__all__ = ["Ledger", "typed"]

NAME = "rows.jsonl"


def typed(kind: Any, data: Any) -> Any:
    """Return what `dataclasses.asdict` made of a class, and JSON kept, as that class again."""
    if isinstance(kind, type) and is_dataclass(kind):
        hints, own = get_type_hints(kind), [one.name for one in fields(kind) if one.name in data]
        return kind(**{name: typed(hints[name], data[name]) for name in own})
    if get_origin(kind) is tuple:
        return tuple(typed(get_args(kind)[0], one) for one in data)
    if get_origin(kind) is UnionType and data is not None:
        return typed(get_args(kind)[0], data)
    return data


class Ledger:
    """A plan and rows that are done: one a line of a file, each on the disk before the next begins.

    Parameters
    ----------
    folder
        Where; None keeps nothing.
    asked
        Of which comparison; ``ValueError`` for a folder that keeps another one.
    """

    def __init__(self, folder: Path | None, asked: Mapping[str, Any]) -> None:
        self.folder, self.asked = folder, dict(asked)
        self.plan: ComparisonPlan | None = None
        self.rows: dict[tuple[str, int], dict[str, Any]] = {}
        if folder is None or not (path := folder / NAME).exists():
            return
        whole = path.read_bytes()
        os.truncate(path, whole.rfind(b"\n") + 1)  # a line that was cut off is dropped
        lines = [json.loads(line) for line in whole.split(b"\n")[:-1]]
        if not lines:
            return
        self.plan = typed(ComparisonPlan, lines[0].pop("plan"))
        if other := [key for key in asked if lines[0].get(key) != asked[key]]:
            raise ValueError(
                f"output must be another folder: {path} keeps another comparison, of "
                f"{', '.join(other)} that differ"
            )
        self.rows = {(row["contestant"], row["fold"]): row for row in lines[1:]}

    def begin(self, plan: ComparisonPlan) -> None:
        """Keep a plan."""
        self._append(self.asked | {"plan": asdict(plan)})

    def add(self, row: dict[str, Any]) -> None:
        """Keep a row that is done."""
        self._append(row)
        self.rows[row["contestant"], row["fold"]] = row

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, whole: who opens it finds the old one or the new one."""
        if self.folder is not None:
            part = self.folder / f"{name}.part"
            part.write_text(text, encoding="utf-8")
            part.replace(self.folder / name)

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / NAME).open("ab") as opened:
                opened.write(json.dumps(line).encode() + b"\n")
                opened.flush()
                os.fsync(opened.fileno())
