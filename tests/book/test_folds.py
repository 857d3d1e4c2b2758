"""The line that a cell folds to."""

import pytest
from docutils import nodes
from sphinx.errors import ExtensionError

from book._ext.folds import first_line, what_it_shows
from ensedu.page.table import table


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
    shown = table({"a": {"b": 1}}).html()
    assert (
        what_it_shows(nodes.container("", cell("x"), nodes.raw("", shown, format="html")))
        == "table"
    )
    assert what_it_shows(nodes.container("", cell("x"), nodes.figure())) == "figure"
