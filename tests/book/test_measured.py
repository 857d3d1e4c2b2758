"""Measurements are found by name, and a row by its keys; tables of pages are those of the files."""

import pytest

from scripts.tables import on_page, speed, starts, whole
from tests.errors import check_error
from tests.zoo import results
from workshop import measured

ROWS = [
    {"method": "rank1", "m": 5, "B": 7, "ratio": 1.5},
    {"method": "rank1", "m": 5, "B": 11, "ratio": 1.25},
    {"method": "single", "m": 3, "B": 7, "ratio": 1.0},
]


def test_a_measurement_says_where_it_was_made():
    assert {"scaling", "contest/digits"} <= {*measured.names()}
    for name in measured.names():
        assert {"name", "capability", "cores", "versions"} <= measured.load(name)["machine"].keys()


def test_one_row_is_found_by_its_keys():
    assert measured.row(ROWS, m=5, B=11) is ROWS[1]
    assert measured.row(iter(ROWS), method="single") is ROWS[2]


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "kind", "words"), [
    (lambda: measured.load("../scaling"), ValueError, "name must be one of|'scaling'"),
    (lambda: measured.load(3), TypeError, "name must be one of|got 3 (int)"),
    (lambda: measured.row(ROWS, m=5), ValueError, "must fit one row, got m=5, which fits 2"),
    (lambda: measured.row(ROWS, n=5), ValueError, "fit a row, got n=5; n is one of None"),
    (lambda: measured.row(ROWS, m=5, B=8), ValueError,
     "fit a row, got m=5, B=8; m is one of 5, 3; B is one of 7, 11"),
])  # fmt: skip
def test_what_does_not_exist_is_an_error(call, kind, words):
    check_error(call, kind, words.split("|"))


@pytest.mark.parametrize(
    ("table", "written", "name", "by_hand"),
    [
        ("zoo", results.table, "zoo", (
            "| deep ensemble | BatchEnsemble, rank-1 BNN, mean-field BNN | MC dropout |",
            '| LeViT (timm): `shared=["*.attention_biases"]` | ✓ | ✓ˢ | ¹ | ✓ |',
        )),
        ("speed", speed, "speed-cpu", (
            "| BatchEnsemble, width 256, 32 examples | 1.20 | 1.12 | 1.54 | – | – |",
            "| mean-field BNN, width 256, 32 examples | 6.20 | – | 13.66 | 5.70 | 8.06 |",
        )),
        ("whole", whole, "whole-models", ()),
        ("starts", starts, "starts", ()),
    ],
)  # fmt: skip
def test_the_tables_of_pages_are_what_was_measured(table, written, name, by_hand):
    words = on_page(table)
    assert words == written(measured.load(name))
    assert all(line in words for line in by_hand)


def test_what_a_page_says_below_its_table_of_memory():
    found = measured.load("whole-models")["contestants"]
    peaks = {name: one["peak_bytes"] for name, one in found.items()}
    assert peaks["batch_ensemble"] > peaks["deep_ensemble"] > 3 * peaks["one network"]
    assert peaks["batch_ensemble, a part each"] < peaks["4 networks in turn"]
