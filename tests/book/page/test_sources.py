"""Below a figure stand its numbers, its tables, what computes those, and its drawing code."""

import ast
from functools import partial

from book._ext.sources import OTHERS, computed, lines_of_names, text_of
from workshop import measured, plot
from workshop.experiments import LOCATIONS
from workshop.figures.cost import choosing
from workshop.figures.learning import shootout as best
from workshop.page.sources import Code, checked_tables, code_of_draw, menu, text

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


def lines_of_module(name):
    return lines_of_names(ast.parse(text_of(name)).body)


def test_names_are_found_on_their_lines():
    found = lines_of_names(ast.parse(TEXT).body)
    assert found == {"VALUE": 1, "OTHER": 2, "one": 6, "Three": 12, "Three.four": 14}


def test_the_code_of_a_drawing_is_that_of_its_function():
    method = Code("workshop.figures.learning.shootout", "Dots.draw")
    assert code_of_draw(best.Dots({}, {}).draw) == method
    assert code_of_draw(partial(partial(best.Dots({}, {}).draw, 1), 2)) == method
    function = Code("workshop.figures.cost.choosing", "draw_ends")
    assert code_of_draw(choosing.draw_ends) == function
    assert code_of_draw(plot.key) == Code("workshop.plot.key", "key")
    line = lines_of_module(function.module)["draw_ends"]
    assert text_of(function.module).splitlines()[line - 1].startswith("def draw_ends(")


def test_what_a_notebook_draws_itself_has_its_code_there():
    assert code_of_draw(lambda: best.Dots({}, {}).draw("a")) is None
    assert code_of_draw(print) is None


def test_each_table_has_a_command_and_each_experiment_its_code():
    assert set(measured.names()) <= LOCATIONS.keys() | OTHERS.keys()
    for place in set(LOCATIONS.values()):
        module, _, name = place.partition(".")
        assert name in lines_of_module(f"workshop.experiments.{module}")


def test_a_menu_lists_numbers_tables_and_code():
    html = menu("<b>N</b>", ("bayes", "zoo"), Code("ensedu.a.b", "C.d"))
    assert html == (
        '<ul class="ensedu-sources"><li><b>N</b></li><li data-tables>bayes zoo</li>'
        '<li><a href="ensedu-site:code/ensedu/a/b.html#C.d">Drawing code</a></li></ul>'
    )
    assert menu("", (), None) == ""


def test_the_build_says_what_computes_tables():
    table = '<a href="ensedu-site:_static/results/{0}.json">{0}</a>'.format
    where = "ensedu-site:code/workshop/experiments"
    assert computed(["bayes", "zoo"]) == (
        f'<li>Table {table("bayes")}, computed by <a href="{where}/bayes.html#EXPERIMENT">'
        "this experiment</a>: <code>make results NAME=bayes</code></li>"
        f"<li>Table {table('zoo')}, computed by a script: <code>make zoo</code></li>"
    )
    both = computed(["contest/gpa2", "contest/telco"])
    assert f"<li>Tables {table('contest/gpa2')}, {table('contest/telco')}, computed by" in both
    assert both.count("<li>") == 1 and f"{where}/contest.html#TABLES" in both
    assert "<code>make results NAME=…</code>" in both


def test_in_words_it_says_the_same():
    both = text(("bayes", "zoo"), Code("ensedu.a.b", "C.d"))
    assert both == "drawing code: ensedu.a.b.C.d · tables: bayes, zoo"
    assert text((), None) == ""


def test_tables_are_named_once():
    assert checked_tables(["zoo", "bayes", "zoo"]) == ("zoo", "bayes")
    assert checked_tables("contest/gpa2") == ("contest/gpa2",)
    assert checked_tables(()) == ()
