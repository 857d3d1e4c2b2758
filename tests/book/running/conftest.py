"""The toy experiment is imported by other processes, too, where `tests` may be another package."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def toy_log(tmp_path, monkeypatch):
    """The file in which the toy notes each row that it starts."""
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"
