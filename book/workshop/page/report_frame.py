"""The report of a comparison inside a page: a frame around the one file that `compare` writes."""

from collections.abc import Mapping
from html import escape
from typing import Any

from ensedu.common import book_build
from ensedu.contest.one_table.findings import Findings
from ensedu.contest.one_table.folds import from_dict
from ensedu.contest.one_table.report import page
from ensedu.contest.one_table.words import sentences


class ReportFrame:
    """A report; in a kernel its answer as text, in the book the page itself."""

    def __init__(self, found: Findings) -> None:
        self.found = found

    def __repr__(self) -> str:
        return sentences(self.found)[0]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self)}
        if book_build.folder():
            title, shown = f"The report on {self.found.table.name}", escape(page(self.found))
            bundle["text/html"] = (
                f'<iframe class="ensedu-report" title="{escape(title)}" srcdoc="{shown}"></iframe>'
            )
        return bundle


def report_frame(data: Mapping[str, Any]) -> ReportFrame:
    """Show the report that ``report.json`` is of."""
    return ReportFrame(from_dict(Findings, data))
