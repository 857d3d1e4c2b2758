"""The report of a comparison inside a page: a frame around the one file that `compare` writes."""

from collections.abc import Mapping
from html import escape
from typing import Any

from ensedu.common import book
from ensedu.contest.report import page


class Reported:
    """A report; in a kernel its answer as text, in the book the page itself."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def __repr__(self) -> str:
        return str(self.data["answer"]).partition(". ")[0] + "."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self)}
        if book.folder():
            title = escape(f"The report on {self.data['table']['name']}")
            bundle["text/html"] = (
                f'<iframe class="ensedu-report" title="{title}" srcdoc="{escape(page(self.data))}">'
                "</iframe>"
            )
        return bundle


def reported(data: Mapping[str, Any]) -> Reported:
    """Show the report of a `Comparison`'s data."""
    return Reported(data)
