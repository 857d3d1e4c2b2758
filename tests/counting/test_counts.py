"""A count adds up, and prints as a table, on a page too."""

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import ROLE_LABELS


def test_prints_as_a_table():
    assert str(counting.mlp([1, 50, 50, 1], "rank1", 4)).splitlines() == [
        "            shared  own  standard deviations  biases  total",
        "1 → 50          50  204                  204     200    658",
        "50 → 50      2,500  400                  400     200  3,500",
        "50 → 1          50  204                  204       4    462",
        "-----------------------------------------------------------",
        "all layers   2,600  808                  808     404  4,620",
    ]
    assert str(counting.linear(2, 3)).splitlines() == [
        "shared  own  standard deviations  biases  total",
        "     6    0                    0       3      9",
    ]
    assert repr(counting.linear(2, 3)) == (
        "Count(shared=6, per_member=0, scales=0, biases=3, frozen=0)"
    )


def test_shows_as_html_while_the_book_is_built(monkeypatch):
    count = counting.mlp([1, 50, 50, 1], "rank1", 4)
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)
    assert count._repr_mimebundle_() == {"text/plain": str(count)}
    monkeypatch.setenv("ENSEDU_BOOK", "frames")
    shown = count._repr_mimebundle_()
    assert shown["text/plain"] == str(count)
    page = BeautifulSoup(shown["text/html"], "html.parser")
    assert page.table["class"] == ["ensedu-table"]
    head = ["", *ROLE_LABELS.values(), "total"]
    assert [cell.get_text() for cell in page.thead.tr.children] == head
    rows = page.tbody.find_all("tr")
    assert [[cell.get_text() for cell in row.children] for row in rows] == [
        ["1 → 50", "50", "204", "204", "200", "658"],
        ["50 → 50", "2,500", "400", "400", "200", "3,500"],
        ["50 → 1", "50", "204", "204", "4", "462"],
        ["all layers", "2,600", "808", "808", "404", "4,620"],
    ]


def test_a_frozen_count_and_a_name_on_a_page(monkeypatch):
    monkeypatch.setenv("ENSEDU_BOOK", "frames")
    count = Count(7, frozen=3, name="<a> & b")
    page = BeautifulSoup(count._repr_mimebundle_()["text/html"], "html.parser")
    assert page.thead.find_all("th")[-1].get_text() == "frozen"
    assert page.tbody.th.get_text() == "<a> & b"
    assert page.tbody.find_all("td")[-1].get_text() == "3"
    nameless = BeautifulSoup(Count(7)._repr_mimebundle_()["text/html"], "html.parser")
    assert nameless.tbody.th is None


@given(*[st.lists(st.integers(0, 99), min_size=5, max_size=5)] * 2)
def test_addition(a, b):
    both = Count(*a) + Count(*b)
    assert both == Count(*(x + y for x, y in zip(a, b, strict=True)))
    assert both.total == both.weights + both.biases == sum(a[:4]) + sum(b[:4])


@pytest.mark.bad_input
def test_fields_are_plain_integers():
    count = Count(np.int8(100), biases=np.int8(100))
    assert count.total == 200
    assert type(count.shared) is int
