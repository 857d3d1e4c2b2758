"""The line that a cell folds to."""

import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx.errors import ExtensionError

from book._ext.folds import FoldCells, first_line, fold, shows
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
    assert not shows(cell("x"))
    shown = method_table({"a": {"b": 1}}).html()
    assert shows(nodes.container("", cell("x"), nodes.raw("", shown, format="html")))
    assert shows(nodes.container("", cell("x"), nodes.figure()))


def test_the_line_of_a_fold_is_text():
    assert "&lt;b&gt;" in fold("check", "a <b>", [])[0].astext()


def folded(html):
    """What is shown for a cell with a figure of this HTML."""
    document = new_document("page")
    code = nodes.container("", nodes.literal_block("x", "x"))
    figure = nodes.figure("", nodes.raw("", html, format="html"))
    box = nodes.container("", code, figure, nb_element="cell_code", cell_metadata={})
    box["hide_mode"] = "input"
    document += box
    FoldCells(document).apply()
    assert "hide_mode" not in box
    return [child.astext() for child in box.children]


def test_a_figure_stands_before_one_fold_of_its_sources_and_its_code():
    menu = '<ul class="ensedu-sources"><li>a</li>\n<li>b</li></ul>'
    figure, head, listed, code, end = folded(f"<div>F{menu}</div>")
    assert (figure, listed, code, end) == ("<div>F</div>", menu, "x", "</details>")
    assert "<details " in head and "<summary>Data and code</summary>" in head


def test_a_figure_without_sources_has_its_code_alone():
    figure, head, code, _ = folded("<div>F</div>")
    assert (figure, code) == ("<div>F</div>", "x") and "<summary>Code</summary>" in head
