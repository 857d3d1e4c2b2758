"""No test knows of a book that is being built, unless it says so."""

import pytest


@pytest.fixture(autouse=True)
def no_book(monkeypatch):
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)
