"""Rankings: each order and its sentence, text and HTML alike, and what a ranking cannot be."""

import itertools

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from ensedu import plot
from ensedu.book.page.explore import explore
from ensedu.book.page.ranking import Measure, Score, bar_html, bar_place, ranking, scale_html
from ensedu.common.text_table import BOOK
from tests.book.page.verdicts import one_table, results

NLL = Measure("NLL", "lower", 3, "nats")
NAMES = "first", "second", "third", "fourth", "fifth"


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser").div


def small(rows, columns=(NLL,), **options):
    return ranking(rows, list(columns), **{"start": columns[0].title, "name": "fig-a"} | options)


def names(root):
    """The rows of each table in their order, without what stands beside a name."""
    return [
        [row.th.get_text().removesuffix(" reference") for row in body("tr")]
        for body in root("tbody")
    ]


def test_text():
    assert repr(one_table()).splitlines() == [
        "One",
        "                     parameters ↓    accuracy ↑, %    NLL ↓, nats "
        "                       ECE ↓    AUROC ↑",
        "deep ensemble              22,056           97.4 ▲        0.071 ▲ "
        "   0.011 ▲  [−0.011, −0.003]     0.95 ▲",
        "rank-1 BNN                  7,490           96.2          0.105   "
        "   0.015     [−0.008, 0.002]        –",
        "single network              5,514           96.3          0.114   "
        "   0.018                         0.92",
        "BatchEnsemble               6,502           96.7          0.098 ▲ "
        "   0.018     [−0.005, 0.005]     0.92",
        "MC dropout                  5,514           96.1          0.131 ▼ "
        "   0.019     [−0.004, 0.006]     0.93",
        "one of equal size          22,060           96.6          0.110   "
        "   0.024 ▼    [0.002, 0.010]     0.92",
        "Sorted by ECE, best first: deep ensemble 0.011 first, one of equal size 0.024",
        "last. Compared with single network: 1 better, 1 worse, 3 unclear.",
    ]


def test_several_tables_have_their_names_and_their_own_columns():
    text = repr(results())
    assert "\nDigits, sorted by NLL, best first: deep ensemble 0.071 first" in text
    assert "\nHouses, sorted by NLL, best first: deep ensemble −0.500, single network" in text
    tables = results().data()["tables"]
    assert [table["by"] for table in tables] == [
        ["parameters", "accuracy", "NLL", "ECE", "AUROC"],
        ["parameters", "NLL", "RMSE"],
    ]


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=5),
    st.sampled_from(["lower", "higher"]),
    st.sampled_from(["best", "worst"]),
)
def test_orders(numbers, better, end):
    if all(number is None for number in numbers):
        numbers = [*numbers[1:], 1]
    rows = {name: {"a": number} for name, number in zip(NAMES, numbers, strict=False)}
    found = small(rows, [Measure("a", better)])
    order = found.data()["tables"][0]["orders"][0][end]
    assert sorted(order) == list(range(len(numbers)))
    there = [numbers[i] for i in order if numbers[i] is not None]
    assert [numbers[i] for i in order[len(there) :]] == [None] * (len(numbers) - len(there))
    rises = (better == "lower") == (end == "best")
    assert found.data()["tables"][0]["directions"][0][end] == (
        "ascending" if rises else "descending"
    )
    for i, j in itertools.pairwise(order[: len(there)]):
        step = numbers[j] - numbers[i]
        assert step >= 0 if rises else step <= 0
        assert step or i < j, "equal numbers keep the order in which they were given"


def test_sentences():
    said = one_table().data()["tables"][0]["said"]
    assert said[0] == {
        "best": "Sorted by parameters, best first: MC dropout and single network 5,514 first, "
        "one of equal size 22,060 last.",
        "worst": "Sorted by parameters, worst first: one of equal size 22,060 first, "
        "MC dropout and single network 5,514 last.",
    }
    assert said[4]["worst"] == (
        "Sorted by AUROC, worst first: single network, BatchEnsemble and one of equal size 0.92 "
        "first, deep ensemble 0.95 last. Compared with single network: 1 better, 3 unclear."
    )
    alone = small({"a": {"NLL": 0.5}, "b": {"NLL": None}})
    assert alone.data()["tables"][0]["said"][0]["best"] == "Sorted by NLL, best first: a 0.500."


def test_methods_come_in_their_order_and_have_their_colors():
    root = parsed(results())
    assert names(root)[0] == [
        "deep ensemble", "BatchEnsemble", "rank-1 BNN", "one of equal size", "single network",
        "MC dropout",
    ]  # fmt: skip
    colors = [row.get("data-method") for row in root.tbody("tr")]
    assert colors == [
        "deep_ensemble", "batch_ensemble", "rank1", "single", "single", "mc_dropout",
    ]  # fmt: skip
    tied = {name: {"a": 1} for name in ("rank1", "single", "batch_ensemble")}
    assert names(parsed(small(tied, [Measure("a", "lower")]))) == [
        ["single network", "BatchEnsemble", "rank-1 BNN"]
    ]


def test_a_verdict_is_a_mark_and_a_word():
    cells = {
        row.th.get_text(): row("td")[2].get_text(" ", strip=True)
        for row in parsed(results()).tbody("tr")
    }
    assert cells == {
        "deep ensemble": "0.071 ▲ better [−0.053, −0.031]",
        "BatchEnsemble": "0.098 ▲ better [−0.027, −0.005]",
        "rank-1 BNN": "0.105 unclear [−0.021, 0.003]",
        "one of equal size": "0.110 unclear [−0.015, 0.007]",
        "single network reference": "0.114",
        "MC dropout": "0.131 ▼ worse [0.003, 0.031]",
    }
    marks = parsed(results()).select(".ensedu-mark")
    assert {mark["aria-hidden"] for mark in marks} == {"true"}
    key = parsed(results()).select_one(".ensedu-key").get_text()
    assert "▲ better, ▼ worse than single network, no mark: unclear" in key
    assert "95% interval of the difference from single network" in key
    plain = parsed(small({"a": {"NLL": 1}}))
    assert not plain.select(".ensedu-mark, .ensedu-between")
    words = plain.select_one(".ensedu-key").get_text()
    assert words.startswith("↓\N{NO-BREAK SPACE}lower is better.")


def test_where_nothing_is_judged_nothing_is_unclear():
    """Intervals alone describe."""
    found = small({"a": {"NLL": Score(0.5, (-0.2, 0.1))}, "b": {"NLL": 0.4}}, reference="b")
    said = "Sorted by NLL, best first: b 0.400, a 0.500."
    assert found.data()["tables"][0]["said"][0]["best"] == said
    assert "unclear" not in found.html() and "A bar: the 95% interval" in found.html()


def test_without_a_script_it_is_a_table_and_nothing_waits():
    root = parsed(results())
    assert not root("button")
    assert all(part.has_attr("hidden") for part in root.select(".ensedu-live-only"))
    assert not root.select("section[hidden], table[hidden]")
    assert [caption.get_text() for caption in root("caption")] == ["digits", "houses"]
    (status,) = root.select("[role=status]")
    assert status.get_text() == results().data()["tables"][0]["said"][2]["best"]
    for table in root("table"):
        (sort,) = table.select("[aria-sort]")
        assert sort["aria-sort"] == "ascending"
        assert sort.get_text() == "NLL nats ↓ lower is better"
    assert parsed(one_table()).table["aria-label"] == "One"


def test_words_are_no_tags():
    words = '<b> & "x"'
    root = parsed(
        ranking(
            {words: {words: {words: 1, "b": Score(1, (2, 3), "worse")}, "c": {"b": 1}}},
            [Measure(words, "lower", unit=words), Measure("b", "lower")],
            start=words, name="fig-a", caption=words, choose=words, reference="c",
        )
    )  # fmt: skip
    assert not root("b")
    assert root["data-caption"] == words
    assert root.input["value"] == root.legend.get_text() == root.caption.get_text() == words


def test_html_only_while_the_book_is_built(monkeypatch):
    monkeypatch.delenv(BOOK, raising=False)
    plain = {"text/plain": repr(results())}
    assert results()._repr_mimebundle_() == plain
    monkeypatch.setenv(BOOK, "anywhere")
    assert results()._repr_mimebundle_() == plain | {"text/html": results().html()}


def test_numbers_are_written_once_and_the_same():
    assert NLL.written(-0.0004) == "0.000"
    assert NLL.written(-1234.5) == "−1,234.500"
    assert Measure("a", "higher", 0).written(np.float64(2.6)) == "3"


def call(rows=None, columns=None, **options):
    options = {"start": "NLL", "name": "fig-a"} | options
    rows = {"a": {"NLL": 1}, "b": {"NLL": 2}} if rows is None else rows
    return ranking(rows, [NLL] if columns is None else columns, **options)


BETTER = Score(1, (-2, -1), "better")
BAD = [
    (lambda: call([1]), TypeError, "rows must be a mapping from names, got"),
    (lambda: call({}), ValueError, "rows must have at least one name"),
    (lambda: call({"a": {}}), ValueError, r"rows\['a'\] must have at least one name"),
    (lambda: call({"a": {"NLL": None}}), ValueError, "rows must have a number"),
    (lambda: call({"a": {"x": 1}}), ValueError, r"rows\['a'\] has the column 'x', accepted are"),
    (lambda: call({"a": {"NLL": "1"}}), TypeError, r"rows\['a'\]\['NLL'\] must be a finite"),
    (lambda: call({"a": {"NLL": float("nan")}}), ValueError, r"rows\['a'\]\['NLL'\] must be"),
    (
        lambda: call({"a": {"NLL": 1}}, choose="set"), TypeError,
        "rows must be names of tables to rows, since choose is 'set'",
    ),
    (lambda: call(columns=[]), ValueError, "columns must be a sequence of Measure, at least one"),
    (lambda: call(columns=["NLL"]), TypeError, "columns must be a sequence of Measure"),
    (lambda: call(columns=[NLL, NLL]), ValueError, "each of another title"),
    (lambda: call(start="ECE"), ValueError, "start must be one of 'NLL', got 'ECE'"),
    (lambda: call(name=""), ValueError, "name must be small letters, digits and hyphens, got ''"),
    (lambda: call(name="A"), ValueError, "name must be small letters"),
    (lambda: call(caption=3), TypeError, "caption must be a string"),
    (lambda: call(choose=3), TypeError, "choose must be a string"),
    (lambda: call(reference="c"), ValueError, r"reference is 'c', rows has \['a', 'b'\]"),
    (
        lambda: call({"a": {"NLL": BETTER}}), ValueError,
        r"reference must name the row from which rows\['a'\] differs",
    ),
    (
        lambda: call({"a": {"NLL": BETTER}}, reference="a"), ValueError,
        r"rows\['a'\]\['NLL'\] is of the reference",
    ),
    (
        lambda: call({"a": {"NLL": Score(1, (1, 2), "better")}, "b": {"NLL": 2}}, reference="b"),
        ValueError, r"is 'better', but lower is better and its interval is \(1, 2\)",
    ),
    (
        lambda: call(
            {"a": {"NLL": Score(1, (1, 2), "worse")}, "b": {"NLL": 2}},
            [Measure("NLL", "higher")], reference="b",
        ),
        ValueError, r"is 'worse', but higher is better and its interval is \(1, 2\)",
    ),
    (lambda: call(colors=3), TypeError, "colors must be a mapping of rows to methods"),
    (lambda: call(colors={"c": "rank1"}), ValueError, r"colors names the row 'c', accepted are"),
    (lambda: call(colors={"a": "red"}), ValueError, r"colors\['a'\] must be one of"),
    (lambda: Measure("", "lower"), ValueError, "title must be words, got ''"),
    (lambda: Measure("a", "more"), ValueError, "better must be one of 'lower', 'higher'"),
    (lambda: Measure("a", "lower", 16), ValueError, "digits must be at most 15, got 16"),
    (lambda: Measure("a", "lower", 1.5), TypeError, "digits must be"),
    (lambda: Measure("a", "lower", unit=3), TypeError, "unit must be a string"),
    (lambda: Score("1"), TypeError, "mean must be a finite number"),
    (lambda: Score(1, (2, 1)), ValueError, r"interval must be \(low, high\) in this order"),
    (lambda: Score(1, 2), TypeError, r"interval must be \(low, high\), got 2"),
    (lambda: Score(1, (1, "2")), TypeError, r"interval\[1\] must be a finite number"),
    (lambda: Score(1, verdict="best"), ValueError, "verdict must be one of '', 'better', 'worse'"),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert type(caught.value) is error


def test_an_interval_on_no_side_goes_with_any_verdict():
    for verdict in ("", "better", "worse"):
        rows = {"a": {"NLL": Score(1, (-1, 1), verdict)}, "b": {"NLL": 2}}
        assert "a" in repr(call(rows, reference="b"))


def test_bars_share_one_scale_which_ends_where_the_farthest_does():
    rows = {
        "first": Score(1.0, (-3.0, -1.0)), "second": Score(2.0, (-1.0, 2.0)),
        "third": Score(3.0, (1.0, 5.0)), "fourth": 7.0,
    }  # fmt: skip
    table = small({name: {"NLL": row} for name, row in rows.items()}, reference="fourth")
    found, room = table.parts[0].bars(NLL)
    assert found == {"first": (-3, -1), "second": (-1, 2), "third": (1, 5)} and room == (-3, 5)
    for low, high in found.values():
        expected = {"zero": 3 / 8, "from": (low + 3) / 8, "to": (high + 3) / 8}
        assert bar_place((low, high), room) == pytest.approx(expected)
    root = parsed(table)
    assert root.select_one(".ensedu-bar")["style"] == ("--zero: 37.5%; --from: 0.0%; --to: 25.0%")
    assert len(root.select(".ensedu-bar")) == len(root.select(".ensedu-between")) == 3


def test_one_bar_that_goes_far_does_not_flatten_all_others():
    ends = {"first": (-1.0, 1.0), "second": (-2.0, 2.0), "third": (50.0, 99.0)}
    rows = {name: {"NLL": Score(1.0, interval)} for name, interval in ends.items()}
    table = small(rows | {"fourth": {"NLL": 1.0}}, reference="fourth")
    found, room = table.parts[0].bars(NLL)
    first, third = (bar_place(found[name], room) for name in ("first", "third"))
    assert first == pytest.approx({"zero": 0.2, "from": 0.1, "to": 0.3})
    assert third == {"zero": pytest.approx(0.2), "from": 1.0, "to": 1.0}
    # What is cut there ends in an arrowhead.
    bars = {row.th.get_text(): row.select_one(".ensedu-bar") for row in parsed(table).select("tr")
            if row.select_one(".ensedu-bar")}  # fmt: skip
    cut = {name: [kind for kind in bar["class"] if "cut" in kind] for name, bar in bars.items()}
    assert cut == {"first": [], "second": [], "third": ["ensedu-cut-high"]}
    far = BeautifulSoup(bar_html((-9.0, 99.0), room, resolved=True), "html.parser").span
    assert far["class"] == ["ensedu-bar", "ensedu-resolved", "ensedu-cut-low", "ensedu-cut-high"]


@pytest.mark.parametrize(
    ("room", "marks"),
    [
        ((-1.09, 1.9), {"0": 36.5, "1": 69.9}),
        ((-0.3, 2.4), {"0": 11.1, "2": 85.2}),
        ((-0.031, 0.02), {"0": 60.8, "\N{MINUS SIGN}0.02": 21.6}),
        ((0.0, 0.0), {"0": 50.0}),
    ],
)
def test_a_scale_of_bars_has_round_numbers_around_0(room, marks):
    scale = BeautifulSoup(scale_html(room), "html.parser").span
    found = {one.get_text(): one["style"] for one in scale.select("span")}
    assert found == {words: f"--at: {place:.1f}%" for words, place in marks.items()}
    assert scale["aria-hidden"] == "true"


def chosen(**options):
    return explore(lambda data: plot.Figure(), alt="a", **options)


def test_a_linked_ranking_begins_with_the_explorers_table():
    tables = {data: {"first": {"NLL": 1.0}} for data in ("digits", "concrete", "moons")}
    figure = chosen(name="fig-b", data=["concrete", "other"])
    alone, linked = (small(tables, choose="data", linked=one) for one in (None, figure))
    assert [each.data()["start"]["show"] for each in (alone, linked)] == ["digits", "concrete"]
    assert (parsed(linked)["data-group"], parsed(linked)["data-choose"]) == ("fig-b", "data")
    assert not parsed(alone).has_attr("data-group")
    figure = chosen(name="fig-b", data=["other", "concrete"])
    assert small(tables, choose="data", linked=figure).data()["start"]["show"] == "digits"


@pytest.mark.bad_input
def test_a_ranking_cannot_be_linked_to_what_has_not_its_choice():
    tables = {"digits": {"first": {"NLL": 1.0}}}
    with pytest.raises(TypeError, match="linked must be an Explorer, got 7"):
        small(tables, choose="data", linked=7)
    with pytest.raises(ValueError, match="linked must be an explorer with a name"):
        small(tables, choose="data", linked=chosen(data=["digits", "a"]))
    with pytest.raises(ValueError, match=r"one of the sliders \['set'\], got \['data'\]"):
        small(tables, choose="set", linked=chosen(name="fig-b", data=["digits", "a"]))
