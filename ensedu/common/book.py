"""Whether the book is built: what shows itself has HTML for a page then, else text alone."""

import os

#: The environment variable by which a kernel knows that, and the folder that pages are built in.
BOOK = "ENSEDU_BOOK"


def is_built() -> bool:
    """Whether this process makes a page of the book."""
    return bool(os.environ.get(BOOK))
