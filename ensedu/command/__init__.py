"""Your own PyTorch model, or table, from the shell, by ``python -m ensedu``.

``count MODULE:FACTORY`` turns the model into each ensemble, and counts what it holds, array by
array; ``xray`` draws it. Wherever it can be the model is built without values, so that a large one
takes seconds. ``compare FILE`` trains: it says which method predicts a table best. PyTorch is
loaded when it is needed, and not for ``--help``.
"""

import argparse
import json
from collections.abc import Sequence

from ensedu.command.compare_table import compare_table
from ensedu.command.errors import CommandError
from ensedu.command.layout import tables
from ensedu.command.model_counts import count_model
from ensedu.command.options import parsers
from ensedu.command.xray_file import draw_model

__all__ = ["main", "tables"]


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


RUN = {"count": _count, "xray": draw_model, "compare": compare_table}
