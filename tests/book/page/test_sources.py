"""Below a figure stand its drawing code, its table, and what computes that."""

from functools import partial

import pytest

from ensedu import plot
from ensedu.book import measured
from ensedu.book.experiments import LOCATIONS
from ensedu.book.figures import best, choosing
from ensedu.book.page.sources import (
    OTHERS,
    Code,
    Sources,
    checked_tables,
    code_of_draw,
    lines_of_names,
    source,
)

TEXT = """VALUE = 3
OTHER: int = 5


@cached
def one():
    inner = 2

    def two(): ...


class Three:
    @property
    def four(self): ...
"""


def test_names_are_found_on_their_lines():
    found = lines_of_names(TEXT)
    assert found == {"VALUE": 1, "OTHER": 2, "one": 6, "Three": 12, "Three.four": 14}


def test_the_code_of_a_drawing_is_that_of_its_function():
    method = Code("ensedu.book.figures.best", "Dots.draw")
    assert code_of_draw(best.Dots({}, {}).draw) == method
    assert code_of_draw(partial(partial(best.Dots({}, {}).draw, 1), 2)) == method
    function = Code("ensedu.book.figures.choosing", "draw_ends")
    assert code_of_draw(choosing.draw_ends) == function
    assert code_of_draw(plot.network) == Code("ensedu.plot.network", "network")
    line = lines_of_names(source(function.module))["draw_ends"]
    assert source(function.module).splitlines()[line - 1].startswith("def draw_ends(")


def test_what_a_notebook_draws_itself_has_its_code_there():
    assert code_of_draw(lambda: best.Dots({}, {}).draw("a")) is None
    assert code_of_draw(print) is None


def test_each_table_has_a_command_and_each_experiment_its_code():
    assert set(measured.names()) <= LOCATIONS.keys() | OTHERS.keys()
    for name in measured.names():
        [line] = Sources(None, (name,)).text().splitlines()
        if name in OTHERS:
            assert line == f"table {name}: {OTHERS[name]}"
            continue
        assert line == f"experiment {name}: make results NAME={name}"
        place, _, own = LOCATIONS[name].partition(".")
        assert own in lines_of_names(source(f"ensedu.book.experiments.{place}"))


def test_a_page_links_code_table_and_experiment():
    html = Sources(Code("ensedu.a.b", "C.d"), ("bayes",)).html("<b>N</b>")
    assert html == (
        '<div class="ensedu-sources"><p><b>N</b> · '
        '<a href="ensedu-site:code/ensedu/a/b.html#C.d">drawing code</a></p>'
        "<details><summary>1 table</summary><ul><li>"
        '<a href="ensedu-experiment:bayes">experiment bayes</a> '
        '(<a href="ensedu-site:_static/results/bayes.json">its table</a>): '
        "<code>make results NAME=bayes</code></li></ul></details></div>"
    )
    assert Sources(None, ("zoo",)).html() == (
        '<div class="ensedu-sources"><details><summary>1 table</summary><ul><li>'
        '<a href="ensedu-site:_static/results/zoo.json">'
        "table zoo</a>: <code>make zoo</code></li></ul></details></div>"
    )
    assert Sources(None, ()).html() == Sources(None, ()).text() == ""


def test_many_tables_have_no_commands():
    three = Sources(None, ("bayes", "nuts", "zoo"))
    assert "<summary>3 tables</summary>" in three.html() and "make" not in three.html()
    assert three.html().count("<li>") == 3
    assert three.text() == "3 tables: bayes, nuts, zoo"
    assert "make" in Sources(None, ("bayes", "nuts")).html()


def test_many_tables_have_words_and_one_experiment():
    called = {"contest/gpa2": "grades", "contest/telco": "customers", "contest/hpc": "<jobs>"}
    named = Sources(None, checked_tables(called), called)
    assert named.html().count("<li>") == 3
    assert '<a href="ensedu-experiment:contest/gpa2">one experiment</a>:' in named.html()
    link = '<li><a href="ensedu-site:_static/results/contest/hpc.json">&lt;jobs&gt;</a></li>'
    assert link in named.html()
    assert named.text() == "3 tables: grades, customers, <jobs>"


@pytest.mark.bad_input
def test_tables_must_exist():
    assert checked_tables(["zoo", "bayes", "zoo"]) == ("zoo", "bayes")
    assert checked_tables({"zoo": "animals"}) == ("zoo",)
    assert checked_tables(()) == ()
    for given, error in (("bays", ValueError), (["zoo", "x"], ValueError), (3, TypeError)):
        with pytest.raises(error) as raised:
            checked_tables(given)
        assert "table must be" in str(raised.value)
    with pytest.raises(ValueError, match="'bayes'"):
        checked_tables("bays")
