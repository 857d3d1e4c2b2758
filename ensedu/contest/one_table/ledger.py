"""A folder that keeps what is done of a comparison, so that the same call goes on from there."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ensedu.contest.one_table.folds import FoldResult
from ensedu.contest.one_table.plans import ComparisonPlan

__all__ = ["Ledger", "from_dict"]

FILE = "rows.jsonl"


def from_dict(kind: Any, data: Any) -> Any:
    """Return a dataclass from what `dataclasses.asdict`, or JSON, made of it."""
    if isinstance(kind, type) and is_dataclass(kind):
        hints, names = get_type_hints(kind), [each.name for each in fields(kind)]
        return kind(**{name: from_dict(hints[name], data[name]) for name in names if name in data})
    if get_origin(kind) is tuple:
        return tuple(from_dict(get_args(kind)[0], each) for each in data)
    if get_origin(kind) is UnionType and data is not None:
        return from_dict(get_args(kind)[0], data)
    return data


class Ledger:
    """A plan and results that are there, a line each of a file, on the disk before the next begins.

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
        #: By contestant and fold.
        self.results: dict[tuple[str, int], FoldResult] = {}
        if folder is None or not (path := folder / FILE).exists():
            return
        whole = path.read_bytes()
        os.truncate(path, whole.rfind(b"\n") + 1)  # a line that was cut off is dropped
        lines = [json.loads(line) for line in whole.split(b"\n")[:-1]]
        if not lines:
            return
        self.plan = from_dict(ComparisonPlan, lines[0].pop("plan"))
        if other := [key for key in asked if lines[0].get(key) != asked[key]]:
            raise ValueError(
                f"output must be another folder: {path} keeps another comparison, of "
                f"{', '.join(other)} that differ"
            )
        results = [from_dict(FoldResult, line) for line in lines[1:]]
        self.results = {(each.contestant, each.fold): each for each in results}

    def begin(self, plan: ComparisonPlan) -> None:
        """Keep a plan."""
        self._append(self.asked | {"plan": asdict(plan)})

    def add(self, result: FoldResult) -> None:
        """Keep a result."""
        self._append(asdict(result))
        self.results[result.contestant, result.fold] = result

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, whole: who opens it finds the old one or the new one."""
        if self.folder is not None:
            part = self.folder / f"{name}.part"
            part.write_text(text, encoding="utf-8")
            part.replace(self.folder / name)

    def _append(self, line: Mapping[str, Any]) -> None:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / FILE).open("ab") as opened:
                opened.write(json.dumps(line).encode() + b"\n")
                opened.flush()
                os.fsync(opened.fileno())
