"""Processes that start as copies of this one: none imports Torch again."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def copied_process() -> Iterator[None]:
    """Silence the warning of threads that wait here, which a copy does not have and not miss."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
