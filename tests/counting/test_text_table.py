"""A table holds the same as text and as HTML, which a page alone gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import counting
from ensedu.book.page import explore
from ensedu.book.page.method_table import method_table
from ensedu.counting.text_table import BOOK
from tests.book.page.tables import parsed, totals


def test_a_group_with_a_long_name_keeps_its_columns_together():
    rows = {"a": {("seventeen letters", "x"): 1, ("seventeen letters", "y"): 23, "z": 4}}
    assert repr(method_table(rows)).splitlines() == [
        "   seventeen letters",
        "               x   y  z",
        "a              1  23  4",
    ]


values = st.one_of(
    st.integers(-(10**12), 10**12),
    st.floats(-1e9, 1e9),
    st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=9),
    st.none(),
    st.floats(0, 1).map(lambda x: (x, x + 1, x + 2)),
)


@given(
    st.lists(st.lists(values, min_size=2, max_size=2), min_size=1, max_size=4),
    st.text("ab& <", max_size=3),
)
def test_text_and_html_hold_the_same(cells, caption):
    found = method_table(
        {f"row {i} < &": {("g<", "a&b"): row[0], "c": row[1]} for i, row in enumerate(cells)},
        caption=caption,
        decisive=[("row 0 < &", "c")],
    )
    text = repr(found)
    assert text == repr(found)
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    rows = text.splitlines()[-len(cells) :]
    for line, row in zip(rows, parsed(found).tbody.find_all("tr"), strict=True):
        words = " ".join(line.removesuffix(" ←").split())
        assert words == " ".join(" ".join(part.get_text() for part in row.children).split())


def test_words_are_no_tags():
    words = '<b> & "x"'
    page = parsed(
        method_table(
            {words: {(words, words): words, words: (1, 2, 3)}},
            columns={words: "<i>{:.0f}"},
            caption=words,
            corner=words,
        )
    )
    assert not page.find_all(["b", "i"])
    assert page.get_text().count(words) == 7  # caption, corner, group, titles, name, cell
    assert page.td["data-label"] == f"{words}, {words}"


def test_cells_line_up_at_the_right():
    rows = {name: {"n": 10**i, "m": -(10**i)} for i, name in enumerate("abcde")}
    _, *found = repr(method_table(rows)).splitlines()
    assert len({len(line) for line in found}) == 1


@pytest.mark.parametrize("kind", [totals, lambda: None], ids=["table", "count"])
def test_html_only_while_the_book_is_built(kind, monkeypatch):
    shown = kind("single") if kind is totals else counting.mlp([2, 3, 5], "rank1", 7)
    monkeypatch.delenv(BOOK, raising=False)
    plain = shown._repr_mimebundle_()
    assert plain == {"text/plain": str(shown)}
    monkeypatch.setenv(BOOK, "anywhere")
    assert shown._repr_mimebundle_() == plain | {
        "text/html": (shown if kind is totals else shown._as_table()).html()
    }
    assert not hasattr(shown, "_repr_html_")
    assert BOOK == explore.BOOK


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
