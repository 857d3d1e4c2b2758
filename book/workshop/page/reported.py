"""The report of a comparison inside a page: a frame around the one file that `compare` writes."""

import os
from collections.abc import Mapping
from html import escape
from typing import Any

from ensedu.contest.report import page
from workshop.page.frames import BOOK


class Reported:
    """A report; in a kernel its answer as text, in the book the page itself."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def __repr__(self) -> str:
        return str(self.data["answer"]).partition(". ")[0] + "."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self)}
        if os.environ.get(BOOK):
            title = escape(f"The report on {self.data['table']['name']}")
            bundle["text/html"] = (
                f'<iframe class="ensedu-report" title="{title}" srcdoc="{escape(page(self.data))}">'
                "</iframe>"
            )
        return bundle


def reported(data: Mapping[str, Any]) -> Reported:
    """Show the report of a `Comparison`'s data."""
    return Reported(data)
