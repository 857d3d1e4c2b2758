"""What each method makes of a model: its numbers by role, its bytes, its FLOPs; as tables, too."""

import argparse
import contextlib
import sys
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

from ensedu.command.readers_model import (
    CommandError,
    build_model,
    import_named,
    trace_in_readers_code,
    type_and_message,
    with_option_name,
)
from ensedu.common import checks
from ensedu.common.text_table import Cell, Column, Row, TextTable
from ensedu.methods import METHODS, ROLE_LABELS, ROLES

#: At most so many members, or samples, are built to be counted. With each of them a number grows by
#: the same, so beyond that it lies on the line through the numbers of a few.
MOST_BUILT = 16
TWO_SIZES = (2, 3)


def count_model(options: argparse.Namespace) -> dict[str, Any]:
    """Count the model by each method, without values if that is possible."""
    if options.input is None and (options.batch is not None or options.integers):
        given = "--integers" if options.batch is None else "--batch"
        raise CommandError(f"{given} is for --input, and must be left out without it")
    # Standard output is for what was counted, whatever the user's code prints.
    with contextlib.redirect_stdout(sys.stderr):
        found = import_named(options.model)
        try:
            rows = _rows_by_method(options, found, "meta")
        except CommandError:
            raise
        except (Exception, SystemExit):  # its code needs values, or says with them what is wrong
            rows = None
        if rows is None:
            rows = _rows_by_method(options, found, "cpu")
    return {
        "model": options.model,
        "ensemble_size": options.ensemble_size,
        "input": None if options.input is None else list(options.input),
        "batch": None if options.input is None else options.batch or 1,
        "methods": rows,
    }


def _rows_by_method(options: argparse.Namespace, found: Any, device: str) -> list[dict[str, Any]]:
    """Return what each method makes of the model, the single network first."""
    from ensedu.torch.ensembling.conversions import try_conversion
    from ensedu.torch.ensembling.parameter_plan import select_names

    model = build_model(found, options.model, device)
    asked = options.method or ["all"]
    try:
        for name in ("shared", "modulated"):
            select_names(model, getattr(options, name), name)
    except ValueError as error:
        raise CommandError(with_option_name(error)) from None
    if options.head is not None and not {"all", "last_layer"} & set(asked):
        raise CommandError("--head is for --method last_layer, and must be left out for others")
    rows = []
    sizes = TWO_SIZES if options.ensemble_size > MOST_BUILT else (options.ensemble_size,)
    for key, method in METHODS.items():
        if key != "single" and not {"all", key} & set(asked):
            continue
        row: dict[str, Any] = {"method": key, "label": method.label}
        made = try_conversion(
            key, model, sizes,
            head=options.head, shared=options.shared, modulated=options.modulated,
        )  # fmt: skip
        if made.refused is not None:
            refused = with_option_name(made.refused)
            if key in asked or key == "single":
                raise CommandError(f"{key}: {refused}")
            rows.append(row | {"refused": refused})
            continue
        rows.append(row)
        if options.input is not None:
            for size, net in made.nets.items():
                made.numbers[size]["flops"] = _count_flops(net, options, device)
        row |= made.numbers_at(options.ensemble_size)
        row["ratio"] = _ratio_to_single("total", row, rows[0])
        if options.input is not None:
            row["flops_ratio"] = _ratio_to_single("flops", row, rows[0])
    return rows


def _ratio_to_single(key: str, row: dict[str, Any], single: dict[str, Any]) -> float | None:
    return row[key] / single[key] if single[key] else None


def _count_flops(net: Any, options: argparse.Namespace, device: str) -> int:
    """Count the FLOPs of the products in a forward pass in eval mode."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    like = next((p for p in net.parameters() if p.is_floating_point()), torch.empty(0))
    dtype = torch.int64 if options.integers else like.dtype
    shape = (options.batch or 1, *options.input)
    net.eval()
    try:
        x = torch.zeros(shape, dtype=dtype, device=device)
        with _everything_by_products(), torch.no_grad(), torch.device(device):
            with FlopCounterMode(display=False) as counter:
                net(x)
    except Exception as error:
        if device == "meta":
            raise
        tokens = any(isinstance(one, torch.nn.Embedding) for one in net.modules())
        hint = "; --integers says that examples hold integers, such as the numbers of words"
        hint *= tokens and not options.integers
        raise CommandError(
            f"--input: the model's forward pass of a {str(dtype).removeprefix('torch.')} tensor of "
            f"shape {shape} raised {type_and_message(error)}{hint}",
            "" if hint else trace_in_readers_code(error),
        ) from None
    return counter.get_total_flops()


@contextlib.contextmanager
def _everything_by_products() -> Iterator[None]:
    """Have Torch compute attention and recurrent layers by products, which its counter knows."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oneDNN's other settings, and of the model's code
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            yield


def tables(report: dict[str, Any]) -> str:
    """Return as text what ``--json`` prints: a table of numbers by role, and one of costs.

    Parameters
    ----------
    report
        What ``json.loads`` makes of it. Of each method: its key and label, its numbers by role,
        their ``total`` and its ``ratio`` to the single network, those ``frozen``, ``bytes``, and
        with an input ``flops`` and ``flops_ratio``; or ``refused``, the reason why there are none.
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
