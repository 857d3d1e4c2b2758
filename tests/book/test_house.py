"""What a phone gets instead of a wide table."""

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from book._ext.house import COLUMN, LINE, stack_tables

WORDS = "as long as a cell gets before it wraps"


def table(*rows, head=True):
    """Return the tree of a page with one table."""
    options = "\n   :header-rows: 1" if head else ""
    lines = [
        f"   {'*' if not place else ' '} - {cell}" for row in rows for place, cell in enumerate(row)
    ]
    return publish_doctree(f".. list-table::{options}\n\n" + "\n".join(lines))


def stacked(tree):
    """Return the texts of all cells, and whether a phone stacks them."""
    stack_tables(None, tree)
    (found,) = tree.findall(nodes.table)
    cells = [entry.astext() for entry in found.findall(nodes.entry)]
    return cells, "ensedu-stacked" in found["classes"]


def test_of_words_each_cell_begins_with_its_title():
    tree = table(["method", "source", "passes"], ["SWAG", WORDS, "32"], ["IVON", WORDS, ""])
    cells, stacks = stacked(tree)
    assert stacks
    assert cells[3:] == ["SWAG", f"source {WORDS}", "passes 32", "IVON", f"source {WORDS}", ""]
    labels = [
        one.astext() for one in tree.findall(nodes.inline) if "ensedu-title" in one["classes"]
    ]
    assert labels == ["source", "passes", "source"]


def test_what_is_missing_is_left_out():
    tree = table(["method", "source", "passes"], ["SWAG", WORDS, "–"])
    stacked(tree)
    found = [entry["classes"] for entry in tree.findall(nodes.entry)]
    assert found == [[]] * 5 + [["ensedu-missing"]]


def test_of_two_columns_the_second_needs_no_title():
    cells, stacks = stacked(table(["you have", "take"], [WORDS, WORDS]))
    assert stacks and cells[2:] == [WORDS, WORDS]


@pytest.mark.parametrize("more", [0, 1])
def test_what_fits_on_a_line_stays_a_table(more):
    cells, stacks = stacked(table(["m", "n"], ["x" * (LINE - COLUMN + more), "y" * (COLUMN + 5)]))
    assert stacks == bool(more)
    assert cells[0] == "m"


def test_a_table_without_a_head_stays_one():
    assert not stacked(table([WORDS, WORDS], [WORDS, WORDS], head=False))[1]
