"""Measurements are found by name, and a row by its keys."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ensedu.book import measured

ROWS = [
    {"method": "rank1", "m": 5, "B": 7, "ratio": 1.5},
    {"method": "rank1", "m": 5, "B": 11, "ratio": 1.25},
    {"method": "single", "m": 3, "B": 7, "ratio": 1.0},
]


@pytest.mark.parametrize("name", measured.names())
def test_a_measurement_is_its_file(name):
    path = Path(measured.__file__).parent / "results" / f"{name}.json"
    assert measured.load(name) == json.loads(path.read_text(encoding="utf-8"))
    assert {"name", "capability", "cores", "versions"} <= measured.load(name)["machine"].keys()


def test_the_chapters_measurements_exist():
    assert {"scaling", "speed-cpu"} <= set(measured.names())


def test_one_row_is_found_by_its_keys():
    assert measured.row(ROWS, m=5, B=11) is ROWS[1]
    assert measured.row(iter(ROWS), method="single") is ROWS[2]


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: measured.load("speed"), ValueError, r"'scaling', .*'speed-cpu'.*, got 'speed'"),
        (lambda: measured.load("../speed-cpu"), ValueError, "name must be one of .*'scaling'"),
        (lambda: measured.load(3), TypeError, r"name must be one of .*, got 3 \(int\)"),
        (
            lambda: measured.row(ROWS, m=5, B=8),
            ValueError,
            "keys must fit a row, got m=5, B=8; m is one of 5, 3; B is one of 7, 11$",
        ),
        (
            lambda: measured.row(ROWS, n=5),
            ValueError,
            "keys must fit a row, got n=5; n is one of None$",
        ),
        (
            lambda: measured.row(ROWS, m=5),
            ValueError,
            "keys must fit one row, got m=5, which fits 2$",
        ),
    ],
)
def test_what_does_not_exist_is_an_error(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_it_needs_the_standard_library_only():
    others = "{'numpy', 'torch', 'jaxtyping'}"
    code = f"import sys, ensedu.book.measured; print({others} & sys.modules.keys())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
