"""Your own PyTorch model, or table, from the shell, by ``python -m ensedu``.

``count MODULE:FACTORY`` turns the model into each ensemble, and counts what it holds, array by
array; ``xray`` draws it. Wherever it can be the model is built without values, so that a large one
takes seconds. ``compare FILE`` trains: it says which method predicts a table best. PyTorch is
loaded when it is needed, and not for ``--help``.
"""

import argparse
import contextlib
import functools
import inspect
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ensedu.command.model_counts import count_model, refusals, tables
from ensedu.command.options import parsers
from ensedu.command.readers_model import CommandError, build_model, import_named, with_option_name
from ensedu.common.checks import optional
from ensedu.xray.picture import SIZES, XRay, xray

__all__ = ["main", "tables"]

#: The arguments of `ensedu.contest.compare` that are options here, and the columns they name.
COMPARE_OPTIONS = (
    "target", "task", "minutes", "group", "time", "positive", "seed", "with_rows",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the program's own; return the exit status 0.

    Raises ``SystemExit`` of status 2, and says why on standard error, for anything that cannot be
    done.
    """
    parser, commands = parsers()
    options = parser.parse_args(arguments)
    try:
        print(RUN[options.command](options))
    except CommandError as problem:
        used = commands[options.command]
        used.exit(2, f"{problem.trace}{used.prog}: error: {problem}\n")
    return 0


def _count(options: argparse.Namespace) -> str:
    report = count_model(options)
    return json.dumps(report, indent=2, ensure_ascii=False) if options.json else tables(report)


def draw_model(options: argparse.Namespace) -> str:
    """Write the page, and return where it is and what it shows, in one line."""
    names = {name: getattr(options, name) for name in ("head", "shared", "modulated")}
    try:
        if SIZES.fullmatch(options.model):
            picture = xray(options.model, options.ensemble_size, **names)
        else:
            picture = _xray_of_model(options, names)
        path = picture.save(options.output)
    except (TypeError, ValueError) as error:
        words = with_option_name(error)
        raise CommandError(words.replace("ensemble_size", "--ensemble-size", 1)) from None
    except OSError as error:
        raise CommandError(f"--output: {error}") from None
    return "\n".join([f"{path}: {picture!r}", *refusals(picture.refused)])


def _xray_of_model(options: argparse.Namespace, names: dict[str, Any]) -> XRay:
    # Standard output is for what was drawn, whatever the user's code prints.
    with contextlib.redirect_stdout(sys.stderr):
        found = import_named(options.model)
        import torch

        model = found  # a module has values of its own, which the page shows
        if not isinstance(found, torch.nn.Module):
            try:
                model = build_model(found, options.model, "meta")
            except CommandError:
                raise
            except (Exception, SystemExit):  # its code needs values
                model = build_model(found, options.model, "cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values, and of the model's code
            last = options.model.rpartition(":")[2].rpartition(".")[2]  # "net" of "nets:Space.net"
            name = "" if inspect.isfunction(found) else last
            return xray(model, options.ensemble_size, name=name, **names)


def compare_table(options: argparse.Namespace) -> str:
    """Compare, and return the answer and where the report is."""
    folder = Path(options.output or f"{Path(options.file).stem}-compared")
    try:
        tables = optional("ensedu.contest.one_table.tables", "sklearn")
        sentences = optional("ensedu.contest.one_table.words", "sklearn").sentences
        found = optional("ensedu.contest", "sklearn").compare(
            tables.read_file(options.file), name=Path(options.file).name, output=folder,
            say=functools.partial(print, flush=True),
            **{name: getattr(options, name) for name in COMPARE_OPTIONS},
        )  # fmt: skip
        kept = ""
        if options.save is not None:
            Path(options.save).mkdir(parents=True, exist_ok=True)
            path = Path(options.save) / "estimator.joblib"
            optional("joblib", "sklearn").dump(found.best, path)
            asks = "predict_set" if found.findings.table.classes else "predict_interval"
            kept = (
                f"\n{found.best!r} is kept, as the last fold trained it:\n"
                f"joblib.load({str(path)!r}).{asks}(new_rows)"
            )
    except KeyboardInterrupt:
        raise CommandError(
            f"stopped; what was done is kept in {folder}, and the same command goes on from there"
            if folder.exists()
            else "stopped before it trained; the same command begins again"
        ) from None
    except (ImportError, TypeError, ValueError, RuntimeError) as error:
        words = str(error)
        named = words.partition(" ")[0] in (*COMPARE_OPTIONS, "output")
        raise CommandError(f"--{words}" if named else words) from None
    except OSError as error:
        raise CommandError(f"--output: {error}; what was done until then is kept") from None
    return "\n".join([*sentences(found.findings), str(folder / "report.html")]) + kept


RUN = {"count": _count, "xray": draw_model, "compare": compare_table}
