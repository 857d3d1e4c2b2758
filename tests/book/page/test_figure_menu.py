"""Below a figure stand its numbers, as they were drawn, its tables, and its drawing code."""

import ast
import csv
import io
from functools import partial

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from book._ext.source_pages import OTHERS, computed, lines_of_names, text_of
from workshop import measured, plot
from workshop.experiments import QUESTIONS, location
from workshop.figures.learning import shootout as best
from workshop.page import figure_numbers
from workshop.page.explorer_page import Code, code_of_draw, menu
from workshop.page.figure_numbers import MOST_CELLS, MOST_KB, numbers, table


def test_the_code_of_a_drawing_is_that_of_its_function():
    method = Code("workshop.figures.learning.shootout", "Dots.draw")
    assert code_of_draw(best.Dots({}, {}).draw) == method
    assert code_of_draw(partial(partial(best.Dots({}, {}).draw, 1), 2)) == method
    assert code_of_draw(plot.figure_key) == Code("workshop.plot.figure_key", "figure_key")
    assert code_of_draw(lambda: best.Dots({}, {}).draw("a")) is None
    assert code_of_draw(print) is None


def test_each_table_has_a_command_and_each_experiment_its_code():
    assert set(measured.names()) <= {*QUESTIONS, *OTHERS}
    for place in {".".join(location(name)) for name in QUESTIONS}:
        module, _, name = place.partition(".")
        assert name in lines_of_names(ast.parse(text_of(f"workshop.experiments.{module}")).body)


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
        f"<li>Table {table('zoo')}, computed by a script: <code>make test-others</code></li>"
    )
    both = computed(["contest/gpa2", "contest/telco"])
    assert f"<li>Tables {table('contest/gpa2')}, {table('contest/telco')}, computed by" in both
    assert both.count("<li>") == 1 and f"{where}/contest.html#TABLES" in both
    assert "<code>make results NAME=…</code>" in both


def axes_of(**settings):
    axes = Figure().subplots()
    axes.set(**settings)
    return axes


def only(axes):
    """The name and the points of the one series."""
    [one] = numbers(axes.figure)
    return one.name, {column: values.tolist() for column, values in one.points.items()}


#: What draws numbers, and the name and the columns under which they are found again.
DRAWN = {
    "a line": lambda axes, x, y, z: (axes.plot(x, y, label="loss"), ("loss", {"x": x, "y": y})),
    "without a name": lambda axes, x, y, z: (axes.plot(x, y), ("line 1", {"x": x, "y": y})),
    "dots": lambda axes, x, y, z: (axes.plot(x, y, "o"), ("dots 1", {"x": x, "y": y})),
    "upright": lambda axes, x, y, z: (
        axes.vlines(x, y, z, label="95%"), ("95%", {"x": x, "low": y, "high": z})
    ),
    "flat": lambda axes, x, y, z: (
        axes.hlines(x, y, z, label="95%"), ("95%", {"y": x, "low": y, "high": z})
    ),
    "bars": lambda axes, x, y, z: (
        axes.bar(x, y, 0.5, 3, label="b"), ("b", {"x": x, "low": 0 * x + 3, "high": 3 + y})
    ),
    "a band": lambda axes, x, y, z: (
        axes.fill_between(x, y, z, label="band"), ("band", {"x": x, "low": y, "high": z})
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("length", [2, 3, 13])
def test_numbers_come_back(kind, length):
    axes, rng = axes_of(), np.random.default_rng(length)
    _, (name, wanted) = DRAWN[kind](axes, np.arange(length), *rng.uniform(1, 2, (2, length)))
    found, points = only(axes)
    assert (found, [*points]) == (name, [*wanted])
    for column, values in wanted.items():
        np.testing.assert_allclose(points[column], values, rtol=0, atol=1e-12)


def test_a_slanted_line_has_both_its_points_and_a_band_each_of_its_pieces():
    axes = axes_of()
    axes.add_collection(LineCollection([[(1, 2), (3, 5)]], label="slope"))
    assert only(axes) == ("slope", {"x": [1, 3], "y": [2, 5]})
    axes = axes_of()
    where = [True, True, False, True, True, True]
    axes.fill_between(range(6), range(6), range(7, 13), where=where, label="band")
    at = [0, 1, 3, 4, 5]
    assert only(axes)[1] == {"x": at, "low": at, "high": [7 + k for k in at]}


CELLS = [
    lambda axes, values: axes.imshow(values, aspect="auto", extent=(3, 4, 9, 8)),
    lambda axes, values: axes.pcolormesh(values),
]


@pytest.mark.parametrize("draw", CELLS)
@pytest.mark.parametrize(("m", "n", "off"), [(1, 1, True), (3, 5, False), (11, 2, True)])
def test_cells_have_column_and_row_wherever_they_are_drawn(m, n, draw, off):
    values, axes = np.random.default_rng(m).standard_normal((m, n)), axes_of()
    draw(axes, values)
    if off:
        axes.plot([1, 2], [3, 4])
        axes.axis("off")
    points = only(axes)[1]
    assert list(points) == ["x", "y", "value"]
    expected = [[j + 1, i + 1, values[i, j]] for i in range(m) for j in range(n)]
    assert [[*one] for one in zip(*points.values(), strict=True)] == expected


def test_decoration_pictures_and_what_is_not_finite_are_left_out():
    axes = axes_of()
    axes.axvline(3)
    axes.axhspan(1, 2)
    axes.plot([1], [2], label="_arrow")
    axes.plot([1], [2], visible=False)
    axes.plot([0, 1], [0, 1], transform=axes.transAxes)
    axes.figure.add_axes((0, 0, 0.1, 0.1)).axis("off")
    axes.figure.axes[1].plot([1, 2], [3, 4])
    axes.imshow(np.zeros((MOST_CELLS + 1, 1)), aspect="auto")
    axes.imshow(np.zeros((2, 3, 4)))
    axes.add_collection(LineCollection([[(1, 2), (3, 5), (4, 7)]], label="bent"))
    assert numbers(axes.figure) == []
    axes.plot([1, 2, 3], [5, np.nan, 7])
    assert only(axes)[1] == {"x": [1, 3], "y": [5, 7]}


def test_panels_are_called_by_label_title_or_axes():
    figure = Figure()
    for axes, settings in zip(
        figure.subplots(1, 4),
        ({"label": "L", "title": "T"}, {"title": "T\nU"}, {"xlabel": "x", "ylabel": "y"}, {}),
        strict=True,
    ):
        axes.set(**settings)
        axes.plot([1], [2], "o")
    assert [one.panel for one in numbers(figure)] == ["L", "T U", "y by x", "panel 4"]


def test_a_row_has_its_sliders_panel_and_series():
    axes = axes_of(title="loss")
    axes.plot([1, 2], [1 / 3, 5e-9], label="train")
    axes.vlines([2], [-1], [7], label="range")
    series = numbers(axes.figure)
    text, part = table([({"width": 2, "data": "a,b"}, series), ({"width": 3, "data": "c"}, [])], 0)
    assert text.splitlines() == [
        "width,data,panel,series,x,y,low,high",
        '2,"a,b",loss,train,1,0.333333,,',
        '2,"a,b",loss,train,2,5e-09,,',
        '2,"a,b",loss,range,2,,-1,7',
    ]
    assert part == ""


def curve(length):
    axes = axes_of()
    axes.plot(np.arange(length), np.sqrt(np.arange(length)))
    return numbers(axes.figure)


def test_a_large_table_has_one_setting_alone(monkeypatch):
    assert MOST_KB == 500 and table([({}, [])], 0) == ("", "")
    states = [({"hidden_layers": k}, curve(k)) for k in (50, 60, 70)]
    monkeypatch.setattr(figure_numbers, "MOST_KB", 2)
    text, part = table(states, 1)
    assert part == "hidden layers 60 alone"
    assert {row["hidden_layers"] for row in csv.DictReader(io.StringIO(text))} == {"60"}
    assert len(text.splitlines()) == 61
    # One that stands still has all of its numbers.
    text, part = table([({}, curve(7000))], 0)
    assert len(text.splitlines()) == 7001 and part == ""
