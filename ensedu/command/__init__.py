"""Count your own PyTorch model from the shell: ``python -m ensedu count MODULE:FACTORY``.

The model is turned into each ensemble, and what it holds is counted, array by array. Nothing is
trained, and wherever it can be the model is built without values, so that a large one takes
seconds. PyTorch is loaded when a model is counted, and not for ``--help``.
"""

import json
from collections.abc import Sequence

from ensedu.command.errors import CommandError
from ensedu.command.layout import tables
from ensedu.command.options import parsers
from ensedu.command.report import count_model

__all__ = ["main", "tables"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the program's own; return the exit status 0.

    Raises ``SystemExit`` of status 2, and says why on standard error, for anything that cannot be
    counted.
    """
    parser, count = parsers()
    options = parser.parse_args(arguments)
    try:
        report = count_model(options)
    except CommandError as problem:
        count.exit(2, f"{problem.trace}{count.prog}: error: {problem}\n")
    print(json.dumps(report, indent=2, ensure_ascii=False) if options.json else tables(report))
    return 0
