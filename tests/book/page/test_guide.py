"""A guide: each combination of answers has its ranking, and what a guide cannot be."""

import itertools
import json

import pytest
from bs4 import BeautifulSoup

from ensedu.book.page.guide import Candidate, Entry, Question, Ranked, guide
from ensedu.book.page.ranking import Measure, Score
from ensedu.common.text_table import BOOK
from tests.book.page.verdicts import ENTRIES, NOTES, QUESTIONS, advice, ranked


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser").div


def answers():
    """All combinations of answers."""
    for each in itertools.product(*(question.options for question in QUESTIONS)):
        yield dict(zip((question.key for question in QUESTIONS), each, strict=True))


def test_each_combination_has_its_ranking():
    found, seen = advice(), set()
    for each in answers():
        assert found.ranking(**each) == ranked(**each)
        seen.add(found.ranking(**each).first.label)
    assert seen == {entry.label for entry in ENTRIES.values()} and len(found.rankings) == 2 * 3 * 5


def test_a_question_without_an_answer_has_that_of_the_start():
    assert advice().ranking().first == ENTRIES["scaled"]
    found = advice(start={"memory": "many"})
    assert found.ranking().first == ENTRIES["deep"]
    assert found.ranking(memory="one").first == ENTRIES["scaled"]


def test_what_the_script_looks_up_is_each_piece_and_each_ranking_once():
    found = advice()
    root = parsed(found)
    data = json.loads(root.script.string)
    kinds = [root.template.find(kind)(True, recursive=False) for kind in ("ul", "thead", "tbody")]
    entries, heads, rows = ([str(one) for one in kind] for kind in kinds)
    assert [len(each) for each in (entries, heads)] == [len(ENTRIES), 2]
    for pieces in (entries, heads, rows, [*map(json.dumps, data["rankings"])]):
        assert len(pieces) == len(set(pieces))
    for place, each in zip(data["places"], answers(), strict=True):
        entry, head, *lists = data["rankings"][place]
        wanted = ranked(**each)
        assert text_of(entries[entry]).startswith(wanted.first.label)
        assert ("NLL" in heads[head]) == bool(wanted.rows)
        for own, states in zip(lists, (("recommended", "fits"), (), ("out",)), strict=True):
            listed = [row for row in wanted.rows if row.state in states]
            shown = [BeautifulSoup(rows[i], "html.parser").tr for i in own]
            others = [row for row in shown if "ensedu-rowgroup" not in row["class"]]
            assert [(row.th.span.get_text(), row["class"]) for row in others] == [
                (row.label, [f"ensedu-{row.state}"]) for row in listed
            ]


def test_what_is_said_of_several_neighbors_stands_once_above_them():
    said = {"one": "unclear", "two": "unclear", "three": "worse", "four": "no room", "five": "late"}
    rows = [
        candidate("first", said="chosen", state="recommended"),
        *(candidate(name, said=words) for name, words in [*said.items()][:3]),
        *(candidate(name, said=words, state="out") for name, words in [*said.items()][3:]),
    ]
    root = parsed(guide([ASK], lambda a: Ranked(LAST.first, rows, MEASURE)))
    listed, rest, folded = (
        [tr.th.span or tr.th for tr in body("tr")] for body in root("tbody")[:3]
    )
    assert not rest and root.select_one(".ensedu-rest").has_attr("hidden")
    assert [th.get_text() for th in listed] == [
        "first", "unclear", "one", "two", "worse", "three",
    ]  # fmt: skip
    assert [th.get_text() for th in folded] == ["no room", "four", "late", "five"]
    assert root.select_one(".ensedu-ruled summary").get_text() == (
        "2 ruled out: no room (1), late (1)"
    )
    alone = parsed(guide([ASK], lambda a: Ranked(LAST.first, rows[:2], MEASURE)))
    assert alone.select_one(".ensedu-ruled").has_attr("hidden")


def test_of_more_than_seven_that_fit_six_stand_in_the_list():
    rows = [
        candidate("first", said="chosen", state="recommended"),
        *(candidate(str(i), said="unclear" if i < 6 else "worse") for i in range(7)),
    ]
    for number, shown, rest in ((8, 6, ["5", "worse", "6"]), (7, 7, [])):
        few = rows[:number]
        root = parsed(guide([ASK], lambda a, few=few: Ranked(LAST.first, few, MEASURE)))
        listed, more, _ = root("tbody")[:3]
        assert len(listed.select("tr:not(.ensedu-rowgroup)")) == shown
        # What is said of the rows above is not said again.
        assert [(tr.th.span or tr.th).get_text() for tr in more("tr")] == rest
        fold = root.select_one(".ensedu-rest")
        assert fold.has_attr("hidden") != bool(rest)
        assert fold.summary.get_text() == f"{number - shown} more"


def test_what_the_recommended_one_costs_stands_in_figures_below_their_titles():
    first = parsed(advice(start={"memory": "two"})).select_one(".ensedu-advice")
    assert [(one.dt.get_text(), one.dd.get_text()) for one in first.select("dl > div")] == [
        ("networks", "1.1")
    ]
    assert first.select_one(".ensedu-unit a")["href"] == "#fig-one"
    assert not parsed(guide([ASK], rank)).dl


@pytest.mark.parametrize(
    ("cost", "heard", "title"),
    [("1", "1 pass", "pass"), ("4", "4 passes", "passes"), ("1.0 ×", "1.0 × passes", "passes")],
)
def test_one_pass_is_no_passes(cost, heard, title):
    one = Entry("Any", [("It is.", "#fig-one")], costs=[cost])
    assert one.text(["passes"]).endswith(f"It costs: {heard}.")
    assert BeautifulSoup(one.html(["passes"]), "html.parser").dt.get_text() == title


def text_of(html):
    return BeautifulSoup(html, "html.parser").get_text()


def test_text():
    assert repr(advice(start={"memory": "two"})).splitlines() == [
        "Guide(trained=no, memory=two, rows=2)",
        "Which method is for you, and why.",
        "Have you a trained network? no; yes, and it stays.",
        "What fits into memory? one network; two networks; four or more.",
        "How many rows? two; three; five; seven; eleven.",
        "BatchEnsemble. It is nearly as small as one. (shootout.html#fig-size) "
        "It takes passes. (#fig-cost) It costs, of one (#fig-one): 1.1 networks.",
        "                         verdict                  NLL ↓, nats    networks",
        "BatchEnsemble            recommended    −0.13   [−0.30, 0.04]         1.1",
        "Scale its temperature    unclear         0.00   [−0.02, 0.02]           1",
        "Deep ensemble            needs room     −0.31  [−0.50, −0.12]           4",
    ]


def test_without_a_script_the_first_answers_and_their_list_stand_open():
    root = parsed(advice(start={"memory": "two"}))
    assert not root.select_one(".ensedu-candidates").has_attr("hidden")
    assert root.select_one(".ensedu-live-only").has_attr("hidden")
    assert root.select_one("[role=status]").get_text() == "Answer: BatchEnsemble."
    assert root.select_one(".ensedu-setting").get_text() == (
        "Have you a trained network? no. What fits into memory? two networks. How many rows? two."
    )
    (shown,) = root.select(".ensedu-advice > li")
    assert shown["data-method"] == "batch_ensemble"
    rows = root.select(".ensedu-candidates tbody tr:not(.ensedu-rowgroup)")
    assert [row.th.span.get_text() for row in rows] == [
        "BatchEnsemble", "Scale its temperature", "Deep ensemble",
    ]  # fmt: skip
    assert [row["class"] for row in rows] == [
        ["ensedu-recommended"], ["ensedu-fits"], ["ensedu-out"],
    ]  # fmt: skip
    assert [row.get("data-method") for row in rows] == ["batch_ensemble", None, "deep_ensemble"]
    assert [len(row.select(".ensedu-over")) for row in rows] == [0, 0, 1]
    assert not root.select(".ensedu-resolved")  # thick is a bar of all sources
    assert [row.th.a and row.th.a["href"] for row in rows] == [
        "batch.html#what", None, "deep.html",
    ]  # fmt: skip
    assert [row.select_one("[data-label]")["data-label"] for row in rows] == ["networks"] * 3
    # Bars are explained in the head of their table.
    key = root.select_one(".ensedu-key")
    lines = [line.get_text() for line in key("span")]
    assert lines == ["Bars are intervals.", "All of them."]
    assert key.a["href"] == NOTES[0][1] and key.find_parent("thead") is not None


def test_the_own_kind_has_a_bar_below_on_the_same_scale():
    row = parsed(advice(start={"trained": "yes"})).select_one("tr[data-method=deep_ensemble]")
    bars = [bar["style"] for bar in row.select(".ensedu-bar")]
    # From -0.5 to 0.04, 0 at 0.5 / 0.54.
    assert bars == [
        "--zero: 92.6%; --from: 0.0%; --to: 70.4%",
        "--zero: 92.6%; --from: 55.6%; --to: 100.0%",
    ]
    assert " better [−0.50, −0.12], own kind alone [−0.20, 0.10]" in row.get_text()


def test_where_no_list_is_its_place_is_hidden():
    root = parsed(advice(start={"rows": "7"}))
    assert root.select_one(".ensedu-candidates").has_attr("hidden")
    assert "verdict" not in repr(advice(start={"rows": "7"}))


def test_questions_of_less_weight_stand_folded():
    root = parsed(advice())
    folded = root.select(".ensedu-more fieldset")
    assert [each["data-key"] for each in folded] == ["rows"]
    assert [each["data-key"] for each in root("fieldset")] == ["trained", "memory", "rows"]
    alone = guide(QUESTIONS[:2], lambda **given: ranked(**given, rows="7"), costs=["networks"])
    assert not parsed(alone).select(".ensedu-more")


def test_each_piece_of_evidence_has_its_link():
    every = "".join(entry.html([]) for entry in ENTRIES.values())
    links = BeautifulSoup(every, "html.parser")("a")
    assert [(link.get_text(), link["href"]) for link in links] == [
        ("most", "temperature.html"),
        ("It is nearly as small as one.", "shootout.html#fig-size"),
        ("passes", "#fig-cost"),
        ("best", "shootout.html#fig-contest"),
    ]
    assert links[0].parent.get_text() == "One number mends most of it."


DIFFERENT = Score(-1.0, (-2.0, 0.5))


def test_words_are_no_tags():
    words = '<b> & "x"'
    root = parsed(
        guide(
            [Question("a", words, {"b": words, "c": "c"})],
            lambda a: Ranked(
                Entry(words, [(words, "#a")]),
                [Candidate(words, DIFFERENT, words, costs=[words])],
                Measure(words, "lower", unit=words),
            ),
            caption=words, costs=[words], notes=[(words, "#b")],
        )
    )  # fmt: skip
    assert not root("b")
    assert root.legend.get_text() == root.a.get_text() == root["data-caption"] == words
    assert root.select_one(".ensedu-key").get_text() == words
    assert root.select_one(".ensedu-method").get_text() == words
    root.select_one(".ensedu-scale").decompose()  # its numbers are those of the bars
    assert [th.get_text() for th in root.table("th")] == [
        f"{words} {words}, lower is better", words, words, words,
    ]  # fmt: skip
    assert root.table.select_one("[data-label]")["data-label"] == words


def test_html_only_while_the_book_is_built(monkeypatch):
    monkeypatch.delenv(BOOK, raising=False)
    plain = {"text/plain": repr(advice())}
    assert advice()._repr_mimebundle_() == plain
    monkeypatch.setenv(BOOK, "anywhere")
    assert advice()._repr_mimebundle_() == plain | {"text/html": advice().html()}


ASK = Question("a", "A?", {"x": "X", "y": "Y"})
MORE = Question("b", "B?", ASK.options, more=True)
WHY = [("Why.", "#fig-a")]
LAST = Ranked(Entry("rank1", WHY))


def rank(**answers):
    return LAST


def candidate(label="one", score=DIFFERENT, said="unclear", **options):
    return Candidate(label, score, said, **options)


MEASURE = Measure("NLL", "lower")
WIDE = [Question(f"q{i}", "Q?", {f"o{j}": "O" for j in range(4)}) for i in range(5)]
BAD = [
    (lambda: guide([], rank), ValueError, "questions must be one to 8 of Question"),
    (lambda: guide([ASK, ASK], rank), ValueError, "each of another key, got"),
    (lambda: guide("a", rank), TypeError, "questions must be one to 8"),
    (lambda: guide(WIDE, rank), ValueError, "questions have 1,024 combinations"),
    (lambda: guide([MORE, ASK], rank), ValueError, "questions must be open first.*'b': True"),
    (lambda: guide([MORE], rank), ValueError, "questions must be open first"),
    (lambda: guide([ASK], LAST), TypeError, "rank must be a function of the answers, got"),
    (lambda: guide([ASK], Entry), TypeError, "rank must be a function of the answers, got"),
    (lambda: guide([ASK], lambda b: LAST), TypeError, r"rank must take the answers \['a'\]"),
    (
        lambda: guide([ASK], lambda a: LAST if a == "x" else 3), TypeError,
        r"rank must return a Ranked, got .* for {'a': 'y'}",
    ),
    (
        lambda: guide([ASK], lambda a: Ranked(LAST.first, [candidate()], MEASURE), costs=["c"]),
        ValueError, r"rank must return candidates with the costs \['c'\], got",
    ),
    (lambda: guide([ASK], rank, name=""), ValueError, "name must be small letters"),
    (lambda: guide([ASK], rank, caption=3), TypeError, "caption must be a string"),
    (lambda: guide([ASK], rank, costs=[" "]), ValueError, r"costs\[0\] must be words"),
    (lambda: guide([ASK], rank, costs="c"), TypeError, "costs must be a list or a tuple"),
    (lambda: guide([ASK], rank, notes="Why."), TypeError, "notes must be pairs"),
    (lambda: Ranked(3), TypeError, "first must be an Entry, got"),
    (lambda: Ranked(LAST.first, [3]), TypeError, "rows must be Candidates, got"),
    (lambda: Ranked(LAST.first, [candidate()]), TypeError, "measure must be a Measure, got"),
    (lambda: candidate(" "), ValueError, "label must be words"),
    (lambda: candidate(said=""), ValueError, "said must be words"),
    (lambda: candidate(score=Score(1.0)), TypeError, "score must be a Score with an interval"),
    (lambda: candidate(state="in"), ValueError, "state must be one of"),
    (lambda: candidate(costs=["c"], over=[1]), ValueError, r"over\[0\] must be the place of a c"),
    (lambda: candidate(costs=[3]), TypeError, r"costs\[0\] must be a string"),
    (lambda: candidate(own=(1.0, 0.0)), ValueError, "low, high"),
    (lambda: candidate(method="ours"), ValueError, "method must be one of"),
    (lambda: candidate(href="data:,x"), ValueError, "href must be an address such as"),
    (lambda: guide([ASK], rank, start=3), TypeError, "start must be a mapping"),
    (lambda: guide([ASK], rank, start={"b": "x"}), ValueError, "start has the question 'b'"),
    (lambda: guide([ASK], rank, start={"a": "z"}), ValueError, r"start\['a'\] must be one of"),
    (lambda: guide([ASK], rank).ranking(b="x"), ValueError, "answers has the question 'b'"),
    (lambda: guide([ASK], rank).ranking(a="z"), ValueError, r"answers\['a'\] must be one of"),
    (lambda: Question("A", "A?", ASK.options), ValueError, "key must be small letters"),
    (lambda: Question("a", " ", ASK.options), ValueError, "text must be words"),
    (lambda: Question("a", "A?", {"x": "X"}), ValueError, "options must be a mapping of two"),
    (lambda: Question("a", "A?", ["x", "y"]), TypeError, "options must be a mapping of two"),
    (lambda: Question("a", "A?", {"x": "X", "y": ""}), ValueError, r"options\['y'\] must be words"),
    (lambda: Question("a", "A?", ASK.options, more=1), TypeError, "more must be True or False"),
    (lambda: Entry("", WHY), ValueError, "label must be words"),
    (lambda: Entry("one", []), ValueError, "because must have at least one pair"),
    (lambda: Entry("one", "Why."), TypeError, "because must be pairs"),
    (lambda: Entry("one", WHY, unit="× one"), TypeError, "unit must be a pair of"),
    (lambda: Entry("one", ["Why."]), TypeError, r"because\[0\] must be a pair"),
    (lambda: Entry("one", [("[a] [b]", "#a")]), ValueError, r"because\[0\]\[0\] must have one l"),
    (
        lambda: Entry("one", [("Why.", "javascript:alert(1)")]), ValueError,
        r"because\[0\]\[1\] must be an address such as",
    ),
    (lambda: Entry("one", [("Why.", "fig digits")]), ValueError, "must be an address such as"),
    (lambda: Entry("one", WHY, "ours"), ValueError, "method must be one of"),
    (lambda: Entry("one", WHY, costs=[" "]), ValueError, r"costs\[0\] must be words"),
    (lambda: guide([ASK], lambda a: Ranked(Entry("one", WHY, costs=["1"]))), ValueError,
     r"rank must return an entry with the costs \[\] or none, got"),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert type(caught.value) is error
