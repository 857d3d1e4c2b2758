"""Compute the tables of long runs that the book reads.

    python -m workshop.experiments                all of them
    python -m workshop.experiments starts         one
    python -m workshop.experiments --here         all that need no package but the book's
    python -m workshop.experiments --there        all others
    python -m workshop.experiments --list         names, questions, rows and budgets

A run that was stopped, or killed, goes on where it was: rows are kept in _build/results until the
table is whole, and is written.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import workshop as book
from ensedu.common import checks
from workshop.experiments import EXPERIMENTS, NEEDS, QUESTIONS, missing_package
from workshop.running.runner import compute_table

BOOK = Path(book.__file__).parent


def main(arguments: Sequence[str] | None = None) -> int:
    """Compute tables; return the exit status."""
    parser = argparse.ArgumentParser("workshop.experiments", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("names", metavar="NAME", nargs="*", help=f"of {', '.join(EXPERIMENTS)}; all by default")
    add("--workers", type=int, help="processes of one thread each; as many as cores by default")
    add("--fresh", action="store_true", help="drop the rows that a stopped run has left")
    add("--older", action="store_true", help="keep them, though the code has changed since")
    add("--out", metavar="FOLDER", type=Path, help="write tables, and keep rows, here")
    add("--here", action="store_true", help="leave out those that need another environment")
    add("--there", action="store_true", help="those alone")
    add(
        "--list",
        action="store_true",
        help="print names, questions, rows and budgets, and run nothing",
    )
    options = parser.parse_args(arguments)
    names = list(dict.fromkeys(options.names)) or list(EXPERIMENTS)
    if options.here or options.there:
        names = [name for name in names if (name in NEEDS) == options.there]
    try:
        for name in names:
            checks.one_of("NAME", name, EXPERIMENTS)
        if options.workers is not None:
            checks.positive_int("--workers", options.workers)
        if not options.list:
            folder, kept = folders(options.out)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if options.list:
        for name in names:
            one = EXPERIMENTS[name]
            print(f"{name}: {QUESTIONS[name]} {len(one.cases)} rows; {one.budget}")
        return 0
    failed = False
    for name in names:
        try:
            if package := missing_package(name):
                raise ImportError(
                    f"{package} is needed, and is not installed here; `make results NAME={name}` "
                    "computes the table where it is, in .venv-others"
                )
            path = compute_table(
                EXPERIMENTS[name],
                folder,
                kept=kept,
                workers=options.workers,
                fresh=options.fresh,
                older=options.older,
            )
        except KeyboardInterrupt:
            return 130
        except (ValueError, RuntimeError, ImportError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"wrote {path}")
    return int(failed)


def folders(out: Path | None) -> tuple[Path, Path]:
    """Return where tables are written, and where rows are kept until then.

    Raises ``OSError`` if there is no `out` and this package is no checkout that can be written.
    """
    if out is not None:
        return out, out
    results, root = BOOK / "results", BOOK.parents[1]
    if not (root / "pyproject.toml").exists() or not os.access(results, os.W_OK):
        raise PermissionError(
            f"--out must name a folder, since {results} is none of a source checkout that can be "
            "written"
        )
    return results, root / "_build" / "results"


if __name__ == "__main__":
    sys.exit(main())
