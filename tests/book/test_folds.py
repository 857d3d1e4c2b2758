"""The line that a cell folds to."""

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError

from book._ext.folds import FoldCells, first_line, fold, what_it_shows
from ensedu.book.page.method_table import method_table


def cell(source):
    return nodes.container("", nodes.container("", nodes.literal_block(source, source)))


@pytest.mark.parametrize(
    ("tag", "source", "line"),
    [
        ("check", "# Checked: 1 = 1.\nassert 1 == 1", "Checked: 1 = 1."),
        ("yours", "# Yours: the loop.\nreturn ...", "Try it in Jupyter: the loop."),
    ],
)
def test_first_line_is_shown(tag, source, line):
    assert first_line(cell(source), tag) == line


@pytest.mark.parametrize("tag", ["check", "yours"])
def test_a_cell_without_its_line_stops_the_build(tag):
    with pytest.raises(ExtensionError, match=f"with the tag '{tag}' must begin with '# .*got 'x'"):
        first_line(cell("x"), tag)


def test_the_code_of_tables_and_figures_steps_back():
    assert what_it_shows(cell("x")) == ""
    shown = method_table({"a": {"b": 1}}).html()
    assert (
        what_it_shows(nodes.container("", cell("x"), nodes.raw("", shown, format="html")))
        == "table"
    )
    assert what_it_shows(nodes.container("", cell("x"), nodes.figure())) == "figure"


def test_the_line_of_a_fold_is_text():
    assert "&lt;b&gt;" in fold("check", "a <b>", [])[0].astext()


def test_a_figure_stands_before_its_folded_code():
    document = new_document("page")
    code = nodes.container("", nodes.literal_block("x", "x"))
    box = nodes.container("", code, nodes.figure(), nb_element="cell_code", cell_metadata={})
    box["hide_mode"] = "input"
    document += box
    FoldCells(document).apply()
    figure, head, shown, end = box.children
    assert isinstance(figure, nodes.figure) and shown is code
    assert "ensedu-code" in head.astext() and end.astext() == "</details>"
    assert "hide_mode" not in box
