"""Whether the book is built: what shows itself has HTML for a page then, else text alone."""

import os

#: The environment variable by which a kernel knows that, and the folder that pages are built in.
VARIABLE = "ENSEDU_BOOK"


def folder() -> str | None:
    """Return the folder where this process makes a page of the book; None if it makes none."""
    return os.environ.get(VARIABLE) or None
