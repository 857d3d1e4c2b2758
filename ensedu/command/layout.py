"""The tables that are printed: one of numbers by role, and one of costs."""

import textwrap
from typing import Any

from ensedu.common import checks
from ensedu.common.text_table import Cell, Column, Row, TextTable
from ensedu.methods import METHODS, ROLE_LABELS, ROLES

__all__ = ["refusals", "tables"]


def tables(report: dict[str, Any]) -> str:
    """Return as text what ``--json`` prints: a table of numbers by role, and one of costs.

    Parameters
    ----------
    report
        What ``json.loads`` makes of it. Of each method: its key and label, its numbers by role,
        their ``total`` and its ``ratio`` to the single network, those ``frozen``, ``bytes``, and
        with an input ``flops`` and ``flops_ratio``; or ``refused``, the reason why there are none.

    Raises
    ------
    TypeError
        For anything but a dict.
    """
    if not isinstance(report, dict):
        raise TypeError(f"report must be a dict, got {checks.describe(report)}")
    rows = [row for row in report["methods"] if "refused" not in row]
    # A role that no row has is no column; nor is what is frozen, where nothing is.
    roles = [key for key in (*ROLES, "frozen") if any(row[key] for row in rows)]
    number = report["ensemble_size"]
    size = f"{number:,} member{'s' * (number > 1)}"
    if any(not METHODS[row["method"]].has_members and row["method"] != "single" for row in rows):
        size += f", or {number:,} sample{'s' * (number > 1)} where a method has no members"
    titles = ROLE_LABELS | {key: key for key in ("frozen", "total", "bytes")}
    titles |= {"ratio": "× single"}
    table = _text_table(rows, {key: titles[key] for key in (*roles, "total", "ratio", "bytes")})
    parts = [f"{report['model']} with {size}\n{table}"]
    if report["input"] is not None:
        batch = report["batch"]
        shape = " × ".join(map(str, report["input"]))
        table = _text_table(rows, {"flops": "FLOPs", "flops_ratio": "× single"})
        parts.append(f"a forward pass of {batch} example{'s' * (batch > 1)} of {shape}\n{table}")
    refused = {row["method"]: row["refused"] for row in report["methods"] if "refused" in row}
    return "\n\n".join([*parts, *refusals(refused)])


def refusals(refused: dict[str, str]) -> list[str]:
    """Return in words which methods leave a model out, each reason once; given by method."""
    labels: dict[str, list[str]] = {}
    for key, why in refused.items():
        labels.setdefault(why, []).append(METHODS[key].label)
    lines = (f"without {', '.join(those)}: {why}" for why, those in labels.items())
    return [
        textwrap.fill(line, 79, subsequent_indent="  ", break_on_hyphens=False) for line in lines
    ]


def _text_table(rows: list[dict[str, Any]], titles: dict[str, str]) -> str:
    """One row a method, one column a key."""
    columns = []
    for title in titles.values():
        # "standard deviations" in two lines: else the table is too wide for a small window.
        above, _, last = title.rpartition(" ") if title in ROLE_LABELS.values() else ("", "", title)
        columns.append(Column(last, group=above))
    lines = [
        Row(row["label"], tuple(Cell(_number_text(row[key])) for key in titles)) for row in rows
    ]
    return repr(TextTable(tuple(columns), tuple(lines)))


def _number_text(value: int | float | None) -> str:
    if value is None:  # a ratio to nothing
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
