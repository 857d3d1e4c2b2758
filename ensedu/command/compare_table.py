"""Methods compared on a reader's own table, and the report of it."""

import argparse
import functools
from pathlib import Path

from ensedu.command.errors import CommandError
from ensedu.common.checks import optional

__all__ = ["compare_table"]

#: The arguments of `ensedu.contest.compare` that are options here, and the columns they name.
OPTIONS = ("target", "task", "minutes", "group", "time", "positive", "seed")


def compare_table(options: argparse.Namespace) -> str:
    """Compare, and return the answer and where the report is."""
    folder = Path(options.output or f"{Path(options.file).stem}-compared")
    try:
        tables = optional("ensedu.contest.one_table.tables", "sklearn")
        sentences = optional("ensedu.contest.one_table.words", "sklearn").sentences
        found = optional("ensedu.contest", "sklearn").compare(
            tables.read_file(options.file), name=Path(options.file).name, output=folder,
            say=functools.partial(print, flush=True),
            with_rows=options.with_rows, **{name: getattr(options, name) for name in OPTIONS},
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
        named = words.partition(" ")[0] in (*OPTIONS, "output")
        raise CommandError(f"--{words}" if named else words) from None
    except OSError as error:
        raise CommandError(f"--output: {error}; what was done until then is kept") from None
    return "\n".join([*sentences(found.findings), str(folder / "report.html")]) + kept
