"""Count your own PyTorch model from the shell: ``python -m ensedu count MODULE:FACTORY``.

The model is turned into each ensemble, and what it holds is counted, array by array. Nothing is
trained, and wherever it can be the model is built without values, so that a large one takes
seconds. PyTorch is loaded when a model is counted, and not for ``--help``.
"""

import argparse
import contextlib
import copy
import importlib
import inspect
import json
import os
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ensedu import counting
from ensedu.common import checks
from ensedu.common.optional import optional
from ensedu.common.text_table import Cell, Column, Row, Table
from ensedu.methods import METHODS, ROLE_LABELS, ROLES, size_option

__all__ = ["main", "tables"]

#: What stands at the end of ``--help``; each line with a command runs.
EXAMPLES = """\
examples:
  python -m ensedu count ensedu.torch.models:lenet5 --input 1,28,28
  python -m ensedu count ensedu.torch.models:lenet5 --method rank1 --ensemble-size 8
  python -m ensedu count ensedu.torch.models:lenet5 --method last_layer --head 11
  python -m ensedu count ensedu.torch.models:resnet50 --method all --json

your own model, in a file nets.py of this folder:
  from torch import nn

  def small():
      return nn.Sequential(nn.Linear(50, 50), nn.ReLU(), nn.Linear(50, 10))

and then:
  python -m ensedu count nets:small --input 50
"""

ABOUT = """\
Count the numbers that your own PyTorch model would hold as an ensemble, by what
they are for.

A method with members gets M of them; one without, such as mean_field, gets M
samples. What is counted are the arrays of the ensemble that
ensedu.torch.ensemble makes of the model, so a layer that it leaves as it is,
such as a normalization, counts once. Bytes are those of these numbers as they
are stored, without gradients or the optimizer's. Buffers are not counted.

With --input the model runs forward once, in eval mode, and its FLOPs are
counted: the multiplications and the additions of matrix products, convolutions
and attention, of all members and samples (last_layer runs its one body for each
member). Left out is what is done number by number: activations, normalization,
biases, scaling by r and s, drawing weights.
"""

FACTORY = (
    "a module that can be imported from this folder, a colon, and a function or class that takes "
    "no arguments and returns a torch.nn.Module, or such a module itself"
)


class _Problem(Exception):
    """What ends the program: a message and, where it is the user's code, where it arose."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the program's own; return the exit status 0.

    Raises ``SystemExit`` of status 2, and says why on standard error, for anything that cannot be
    counted.
    """
    parser, count = _parsers()
    options = parser.parse_args(arguments)
    try:
        report = _report(options)
    except _Problem as problem:
        count.exit(2, f"{problem.trace}{count.prog}: error: {problem}\n")
    print(json.dumps(report, indent=2, ensure_ascii=False) if options.json else tables(report))
    return 0


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
        raise TypeError(f"report must be a dict, got {checks.given(report)}")
    rows = [row for row in report["methods"] if "refused" not in row]
    # A role that no row has is no column; nor is what is frozen, where nothing is.
    roles = [key for key in (*ROLES, "frozen") if any(row[key] for row in rows)]
    number = report["ensemble_size"]
    size = f"{number} member{'s' * (number > 1)}"
    if any(not METHODS[row["method"]].members and row["method"] != "single" for row in rows):
        size += f", or {number} sample{'s' * (number > 1)} where a method has no members"
    titles = ROLE_LABELS | {key: key for key in ("frozen", "total", "bytes")}
    titles |= {"ratio": "× single"}
    table = _table(rows, {key: titles[key] for key in (*roles, "total", "ratio", "bytes")})
    parts = [f"{report['model']} with {size}\n{table}"]
    if report["input"] is not None:
        batch = report["batch"]
        shape = " × ".join(map(str, report["input"]))
        table = _table(rows, {"flops": "FLOPs", "flops_ratio": "× single"})
        parts.append(f"a forward pass of {batch} example{'s' * (batch > 1)} of {shape}\n{table}")
    refused: dict[str, list[str]] = {}
    for row in report["methods"]:
        if "refused" in row:
            refused.setdefault(row["refused"], []).append(row["label"])
    for why, labels in refused.items():
        words = f"without {', '.join(labels)}: {why}"
        parts.append(textwrap.fill(words, 79, subsequent_indent="  ", break_on_hyphens=False))
    return "\n\n".join(parts)


def _table(rows: list[dict[str, Any]], titles: dict[str, str]) -> str:
    """One row a method, one column a key."""
    columns = []
    for title in titles.values():
        # "standard deviations" in two lines: else the table is too wide for a small window.
        above, _, last = title.rpartition(" ") if title in ROLE_LABELS.values() else ("", "", title)
        columns.append(Column(last, group=above))
    lines = [Row(row["label"], tuple(Cell(_shown(row[key])) for key in titles)) for row in rows]
    return repr(Table(tuple(columns), tuple(lines)))


def _shown(value: int | float | None) -> str:
    if value is None:  # a ratio to nothing
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _parsers() -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Return the parser, and that of ``count``."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m ensedu",
        description="What is inside an ensemble, counted from the shell.",
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    count = commands.add_parser(
        "count",
        help="count the numbers of your own model as an ensemble, by each method",
        description=ABOUT,
        epilog=EXAMPLES,
        formatter_class=raw,
    )
    add = count.add_argument
    add("model", metavar="MODULE:FACTORY", help=FACTORY)
    add(
        "--method", nargs="+", action="extend", choices=(*METHODS, "all"), metavar="METHOD",
        help=f"one or several of {', '.join(METHODS)}; or all, the default, which leaves out those "
        "that the model has nothing for. The single network always comes first",
    )  # fmt: skip
    add(
        "--ensemble-size", type=_positive, default=4, metavar="M",
        help="number of members, or of samples (default: 4)",
    )  # fmt: skip
    add(
        "--shared", nargs="+", action="extend", default=[], metavar="NAME",
        help="modules and parameters that stay one copy for all members, by name or by pattern, "
        "'*.attn'",
    )  # fmt: skip
    add("--head", metavar="NAME", help="the layer that each member has, for last_layer")
    add(
        "--input", type=_sizes, metavar="SIZES",
        help="shape of one example, such as 3,224,224 or 50: count FLOPs, too",
    )  # fmt: skip
    add(
        "--batch", type=_positive, default=1, metavar="B",
        help="examples of that forward pass (default: 1)",
    )  # fmt: skip
    add(
        "--integers", action="store_true",
        help="examples hold integers, such as the numbers of words",
    )  # fmt: skip
    add("--json", action="store_true", help="print JSON instead of tables")
    return parser, count


def _positive(text: str) -> int:
    try:
        return checks.positive_int("it", int(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}") from None


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(checks.positive_int("it", int(size)) for size in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be positive integers with commas between, such as 3,224,224, got {text!r}"
        ) from None


def _report(options: argparse.Namespace) -> dict[str, Any]:
    """Count the model by each method, without values if that is possible."""
    try:
        optional("torch", "torch")
    except ImportError as error:
        raise _Problem(str(error)) from error
    # Standard output is for what was counted, whatever the user's code prints.
    with contextlib.redirect_stdout(sys.stderr):
        found = _found(options.model)
        try:
            rows = _rows(options, found, "meta")
        except _Problem:
            raise
        except (Exception, SystemExit):  # its code needs values, or says with them what is wrong
            rows = None
        if rows is None:
            rows = _rows(options, found, "cpu")
    return {
        "model": options.model,
        "ensemble_size": options.ensemble_size,
        "input": None if options.input is None else list(options.input),
        "batch": None if options.input is None else options.batch,
        "methods": rows,
    }


def _found(name: str) -> Any:
    """Import what ``MODULE:FACTORY`` names."""
    module, _, path = name.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        raise _Problem(
            f"MODULE:FACTORY must be names such as ensedu.torch.models:lenet5, got {name!r}"
        )
    # As `python -m` has it, and the script of an installed package has not.
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        if missing is None or not f"{module}.".startswith(f"{missing}."):
            raise _Problem(f"{module} cannot be imported: {_words(error)}", _trace(error)) from None
        hint = f"; write {module[:-3]}:{path}" if module.endswith(".py") else ""
        raise _Problem(
            f"there is no module {module!r} in this folder or among what is installed{hint}"
        ) from None
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise _Problem(f"{module} has no {path!r}") from None
    return found


def _built(found: Any, name: str, device: str) -> Any:
    """Return the model, on the CPU or without values."""
    import torch

    model = found
    if not isinstance(found, torch.nn.Module):
        if not callable(found):
            raise _Problem(f"{name} must be {FACTORY}, got {checks.given(found)}")
        _check_call(found, name)
        with torch.device("meta") if device == "meta" else contextlib.nullcontext():
            try:
                model = found()
            except (Exception, SystemExit) as error:
                if device == "meta":
                    raise
                raise _Problem(f"{name}() raised {_words(error)}", _trace(error)) from None
    if not isinstance(model, torch.nn.Module):
        raise _Problem(f"{name}() must return a torch.nn.Module, got {checks.given(model)}")
    if device == "cpu":
        return model.cpu()
    if any(
        isinstance(part, (torch.nn.Linear, torch.nn.Conv2d))
        and type(part) not in (torch.nn.Linear, torch.nn.Conv2d)
        for part in model.modules()
    ):
        raise ValueError("whether such a layer is a plain product shows in values only")
    return _without_values(model)


def _without_values(model: Any) -> Any:
    """Return a copy whose tensors have shapes alone; what is tied stays tied."""
    import torch

    memo: dict[int, Any] = {}
    for value in (*model.parameters(), *model.buffers()):
        like = torch.empty_like(value, device="meta")
        if isinstance(value, torch.nn.Parameter):
            like = torch.nn.Parameter(like, requires_grad=value.requires_grad)
        memo[id(value)] = like
    # What deepcopy finds in its memo it does not copy.
    return copy.deepcopy(model, memo)


def _check_call(found: Callable[..., Any], name: str) -> None:
    try:
        signature = inspect.signature(found)
    except ValueError:  # some of those written in C tell nothing
        return
    try:
        signature.bind()
    except TypeError as error:
        raise _Problem(
            f"{name} needs arguments, {error}; accepted is a function of your own without, "
            f"def net(): return {name.rpartition(':')[2]}(…)"
        ) from None


def _rows(options: argparse.Namespace, found: Any, device: str) -> list[dict[str, Any]]:
    """Return what each method makes of the model, the single network first."""
    from ensedu.torch.whole.shared_names import names_of_shared

    model = _built(found, options.model, device)
    asked = options.method or ["all"]
    try:
        names_of_shared(model, options.shared)
    except ValueError as error:
        raise _Problem(_said(error)) from None
    if options.head is not None and not {"all", "last_layer"} & set(asked):
        raise _Problem("--head is for --method last_layer, and must be left out for others")
    rows = []
    for key, method in METHODS.items():
        if key != "single" and not {"all", key} & set(asked):
            continue
        row: dict[str, Any] = {"method": key, "label": method.label}
        try:
            net = _ensemble(model, key, options)
            count = counting.count(net)
        except (TypeError, ValueError, RuntimeError) as error:
            if key not in asked and key != "single":
                rows.append(row | {"refused": _said(error)})
                continue
            raise _Problem(f"{key}: {_said(error)}") from None
        rows.append(row)
        row |= {role: getattr(count, role) for role in (*ROLES, "frozen", "total")}
        row["ratio"] = _ratio("total", row, rows[0])
        row["bytes"] = sum(p.numel() * p.element_size() for p in net.parameters())
        if options.input is not None:
            row["flops"] = _flops(net, options, device)
            row["flops_ratio"] = _ratio("flops", row, rows[0])
    return rows


def _ratio(key: str, row: dict[str, Any], single: dict[str, Any]) -> float | None:
    return row[key] / single[key] if single[key] else None


def _ensemble(model: Any, key: str, options: argparse.Namespace) -> Any:
    from ensedu.torch import ensemble

    if key == "single":
        return model
    more: dict[str, Any] = {"head": options.head} if METHODS[key].body else {}
    if METHODS[key].apart:
        more["initialize"] = _as_it_is  # a count asks for no values
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "members 1 and 2 start equal")
        size = size_option(key, options.ensemble_size)
        net = ensemble(model, key, **size, shared=options.shared, **more)
    net.comparing = False  # members are compared where they are used
    return net


def _as_it_is(member: Any) -> None:
    """Leave a member as it was copied."""


def _flops(net: Any, options: argparse.Namespace, device: str) -> int:
    """Count the FLOPs of the products in a forward pass in eval mode."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    like = next((p for p in net.parameters() if p.is_floating_point()), torch.empty(0))
    dtype = torch.int64 if options.integers else like.dtype
    x = torch.zeros(options.batch, *options.input, dtype=dtype, device=device)
    net.eval()
    try:
        with _products(), torch.no_grad(), torch.device(device):
            with FlopCounterMode(display=False) as counter:
                net(x)
    except Exception as error:
        if device == "meta":
            raise
        raise _Problem(
            f"--input: the model's forward pass of a {str(dtype).removeprefix('torch.')} tensor of "
            f"shape {tuple(x.shape)} raised {_words(error)}",
            _trace(error),
        ) from None
    return counter.get_total_flops()


@contextlib.contextmanager
def _products() -> Iterator[None]:
    """Have Torch compute attention and recurrent layers by products, which its counter knows."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of oneDNN's other settings, and of the model's code
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=False):
            yield


def _said(error: BaseException) -> str:
    """Return what an error says, with an argument as the option that it is here."""
    words = str(error)
    return f"--{words}" if words.startswith(("head ", "shared ")) else words


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _trace(error: BaseException) -> str:
    """Return the traceback through the user's own code; "" where none of it is in the way."""
    others = [__file__, importlib.__file__, "<frozen importlib"]
    if "torch" in sys.modules:
        others.append(os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep)
    found = traceback.TracebackException(type(error), error, error.__traceback__)
    found.stack = traceback.StackSummary.from_list(
        [frame for frame in found.stack if not frame.filename.startswith(tuple(others))]
    )
    return "".join(found.format(chain=False)) if found.stack else ""
