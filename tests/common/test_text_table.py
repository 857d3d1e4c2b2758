"""A table, of a count too, holds the same as text and as HTML, which a page alone gets."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import counting
from ensedu.common import book_build
from ensedu.common.text_table import Cell, Column, Row, TextTable
from ensedu.counting import Count
from tests.book.page.test_parts import parsed, totals
from workshop.page import explore
from workshop.page.method_table import method_table


def test_a_count_prints_as_a_table():
    assert str(counting.mlp([1, 50, 50, 1], "rank1", 4)).splitlines() == [
        "            shared  own  standard deviations  biases  total",
        "1 → 50          50  204                  204     200    658",
        "50 → 50      2,500  400                  400     200  3,500",
        "50 → 1          50  204                  204       4    462",
        "-----------------------------------------------------------",
        "all layers   2,600  808                  808     404  4,620",
    ]
    assert str(Count(7, frozen=3)).splitlines() == [
        "shared  own  standard deviations  biases  total  frozen",
        "     7    0                    0       0      7       3",
    ]
    assert repr(Count(6, biases=3)) == "Count(shared=6, per_member=0, stds=0, biases=3, frozen=0)"


def test_a_group_with_a_long_name_keeps_its_columns_together():
    rows = {"a": {("seventeen letters", "x"): 1, ("seventeen letters", "y"): 23, "z": 4}}
    assert repr(method_table(rows)).splitlines() == [
        "   seventeen letters",
        "               x   y  z",
        "a              1  23  4",
    ]


WORDS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=9)
CELLS = st.builds(Cell, WORDS, st.one_of(st.just(""), WORDS))


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4), WORDS)
def test_text_and_html_hold_the_same(cells, caption):
    cells[0][1] = replace(cells[0][1], decisive=True)
    rows = [Row(f"row {i} < &", tuple(own)) for i, own in enumerate(cells)]
    found = TextTable((Column("a&b", "g<"), Column("c")), tuple(rows), caption)
    lines = repr(found).splitlines()
    assert not [line for line in lines if line != line.rstrip()]
    rows = parsed(found).tbody.find_all("tr")
    for line, row in zip(lines[-len(cells) :], rows, strict=True):
        words = " ".join(line.removesuffix(" ←").split())
        assert words == " ".join(" ".join(part.get_text() for part in row.children).split())


def test_words_are_no_tags():
    words = '<b> & "x"'
    row = Row(words, (Cell(words, words),))
    page = parsed(TextTable((Column(words, words),), (row,), words, words))
    assert not page.find_all("b")
    assert page.get_text().count(words) == 7  # caption, corner, group, title, name, cell, aside
    assert page.td["data-label"] == f"{words}, {words}"


COUNT = counting.mlp([2, 3, 5], "rank1", 7)


@pytest.mark.parametrize(
    ("shown", "table"), [(totals("single"), totals("single")), (COUNT, COUNT._as_table())]
)
def test_html_only_while_the_book_is_built(shown, table, monkeypatch):
    monkeypatch.delenv(book_build.VARIABLE, raising=False)
    plain = shown._repr_mimebundle_()
    assert plain == {"text/plain": str(shown)}
    monkeypatch.setenv(book_build.VARIABLE, "anywhere")
    assert shown._repr_mimebundle_() == plain | {"text/html": table.html()}
    assert not hasattr(shown, "_repr_html_")
    assert book_build.VARIABLE == explore.book_build.VARIABLE


def test_a_table_by_its_roles_without_a_color_of_its_own():
    page = parsed(totals("single", "rank1"))
    roles = {
        "table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell",
    }  # fmt: skip
    for tag, role in roles.items():
        assert {element["role"] for element in page.find_all(tag)} == {role}
    for th in page.find_all("th"):
        assert (th["scope"], th["role"]) in {("col", "columnheader"), ("row", "rowheader")}
    assert {*page.find(style=True)["style"]} <= {*"-:;. 0123456789", *"ensedutablineaside"}
    assert page.table["class"] == ["ensedu-table"]
    assert len(page.find_all(style=True)) == 1
