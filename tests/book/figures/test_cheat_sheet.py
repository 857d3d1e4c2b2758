"""The cheat sheet's symbols, formulas and operations, each beside what says the same elsewhere."""

import re

import pytest
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.book.figures import cheat_sheet
from ensedu.methods import METHODS, size_option

ROWS = {
    method: {"member i": cheat_sheet.made(method), "to train": 1.0, "to predict": 2.5}
    for method in METHODS
}


def test_each_method_is_on_it():
    assert cheat_sheet.NEEDS.keys() == cheat_sheet.MADE.keys() == METHODS.keys()


def test_symbols_stand_in_the_boxes_of_how_they_are_stored():
    assert cheat_sheet.made("rank1") == "W ∘ rᵢ sᵢᵀ"
    assert cheat_sheet.made("last_layer") == "W, last Wᵢ"
    boxes = BeautifulSoup(cheat_sheet.drawn("rank1"), "html.parser").find_all("i")
    assert [(box.get_text(), box.get("class")) for box in boxes] == [
        ("W", ["shared", "square"]), ("∘", None), ("ri", ["random", "high"]),
        ("siT", ["random", "wide"]),
    ]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_the_formula_is_the_count(method):
    """Of a layer with the given letters; a body is counted apart."""
    if METHODS[method].body:
        assert cheat_sheet.formula(method) == f"last layer {cheat_sheet.formula('deep_ensemble')}"
        return
    letters = {"M": 3, "m": 5, "n": 7}
    words = re.sub(r"(?<=[Mmn\d])(?=[Mmn(])", "*", cheat_sheet.formula(method))
    counted = counting.layer(5, 7, method, **size_option(method, 3))
    assert eval(words, letters) == counted.total


def test_operations_are_multiples_of_those_of_one_network():
    def times(method, number, *, backward):
        return cheat_sheet.times(method, [3, 7, 5], number, 11, backward=backward)

    for backward in (True, False):
        assert times("single", 4, backward=backward) == 1
        assert times("deep_ensemble", 4, backward=backward) == 4
        assert 4 < times("batch_ensemble", 4, backward=backward) < 5
    # A step of training draws once, a prediction so often as is asked for.
    for method in ("mean_field", "mc_dropout"):
        assert times(method, 4, backward=True) == times(method, 8, backward=True) < 2
        assert 4 < times(method, 4, backward=False) < times(method, 8, backward=False)


def test_the_sheet_is_a_table_with_its_symbols_drawn():
    sheet = cheat_sheet.sheet(ROWS)
    page = BeautifulSoup(sheet.html(), "html.parser")
    rows = page.select(".ensedu-sheet tbody tr")
    assert [row["data-method"] for row in rows] == [*METHODS]
    for row, method in zip(rows, METHODS, strict=True):
        symbols, train, predict = row.find_all("td")
        assert str(symbols.i.parent) == str(
            BeautifulSoup(cheat_sheet.drawn(method), "html.parser").span
        )
        assert (train.get_text(), predict.get_text()) == ("1.00 ×", "2.50 ×")
    assert "W ∘ rᵢ 1ᵀ" in repr(sheet)


def test_a_sheet_without_its_symbols_is_told():
    rows = {method: row | {"member i": "W"} for method, row in ROWS.items()}
    with pytest.raises(ValueError, match="'Wᵢ' once for 'deep_ensemble'"):
        cheat_sheet.sheet(rows).html()
