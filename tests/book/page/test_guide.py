"""A guide: each combination of answers has its ranking, and what a guide cannot be."""

import itertools
import json

import pytest
from bs4 import BeautifulSoup

from ensedu.book.page.guide import Entry, Question, guide
from ensedu.common.text_table import BOOK
from tests.book.page.verdicts import ENTRIES, QUESTIONS, advice, ranked


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser").div


def answers():
    """All combinations of answers."""
    for each in itertools.product(*(question.options for question in QUESTIONS)):
        yield dict(zip((question.key for question in QUESTIONS), each, strict=True))


def test_each_combination_has_its_ranking():
    found, seen = advice(), set()
    for each in answers():
        assert list(found.ranking(**each)) == ranked(**each)
        seen |= set(found.ranking(**each))
    assert seen == set(ENTRIES.values()) and len(found.rankings) == 2 * 3 * 5


def test_a_question_without_an_answer_has_that_of_the_start():
    assert advice().ranking() == (ENTRIES["scaled"],)
    found = advice(start={"memory": "many"})
    assert found.ranking()[0] == ENTRIES["deep"]
    assert found.ranking(memory="one")[0] == ENTRIES["scaled"]


def test_what_the_script_looks_up_is_each_entry_and_each_ranking_once():
    found = advice()
    data = json.loads(parsed(found).script.string)
    entries = [str(item) for item in parsed(found).template("li", recursive=False)]
    assert len(entries) == len(set(entries)) == len(ENTRIES)
    assert len({tuple(each) for each in data["rankings"]}) == len(data["rankings"]) == 5
    for place, each in zip(data["places"], answers(), strict=True):
        shown = [
            BeautifulSoup(entries[i], "html.parser").p.get_text() for i in data["rankings"][place]
        ]
        assert shown == [entry.label for entry in ranked(**each)]


def test_text():
    assert repr(advice(start={"memory": "many"})).splitlines() == [
        "Guide(trained=no, memory=many, rows=2)",
        "Which method is for you, and why.",
        "Have you a trained network? no; yes, and it stays.",
        "What fits into memory? one network; two networks; four or more.",
        "How many rows? two; three; five; seven; eleven.",
        "1. Deep ensemble. It is best wherever it fits. (shootout.html#fig-contest)",
        "2. BatchEnsemble. It is nearly as small as one. (shootout.html#fig-size) "
        "It costs passes. (#fig-cost)",
        "3. Scale its temperature. One number mends most of it. (temperature.html)",
    ]


def test_without_a_script_the_first_answers_and_their_ranking_stand_open():
    root = parsed(advice(start={"memory": "many"}))
    assert root.select_one(".ensedu-others").has_attr("open")
    assert not root.select_one(".ensedu-others").has_attr("hidden")
    assert root.select_one(".ensedu-live-only").has_attr("hidden")
    assert root.select_one("[role=status]").get_text() == "Answer: Deep ensemble."
    assert root.select_one(".ensedu-setting").get_text() == (
        "Have you a trained network? no. What fits into memory? four or more. How many rows? two."
    )
    shown = root.select(".ensedu-advice > li") + root.select(".ensedu-others > ol > li")
    labels = [item.select_one(".ensedu-method").get_text() for item in shown]
    assert labels == ["Deep ensemble", "BatchEnsemble", "Scale its temperature"]
    assert [item.get("data-method") for item in shown] == ["deep_ensemble", "batch_ensemble", None]


def test_where_nothing_else_fits_no_empty_fold_is_seen():
    assert parsed(advice()).select_one(".ensedu-others").has_attr("hidden")


def test_questions_of_less_weight_stand_folded():
    root = parsed(advice())
    folded = root.select(".ensedu-more fieldset")
    assert [each["data-key"] for each in folded] == ["rows"]
    assert [each["data-key"] for each in root("fieldset")] == ["trained", "memory", "rows"]
    alone = guide(QUESTIONS[:2], lambda **given: ranked(**given, rows="2"))
    assert not parsed(alone).select(".ensedu-more")


def test_each_piece_of_evidence_has_its_link():
    every = "".join(entry.html for entry in ENTRIES.values())
    links = BeautifulSoup(every, "html.parser")("a")
    assert [(link.get_text(), link["href"]) for link in links] == [
        ("most", "temperature.html"),
        ("It is nearly as small as one.", "shootout.html#fig-size"),
        ("passes", "#fig-cost"),
        ("best", "shootout.html#fig-contest"),
    ]
    assert links[0].parent.get_text() == "One number mends most of it."


def test_words_are_no_tags():
    words = '<b> & "x"'
    root = parsed(
        guide(
            [Question("a", words, {"b": words, "c": "c"})],
            lambda a: [Entry(words, [(words, "#a")])] * 2,
            caption=words, others=words,
        )
    )  # fmt: skip
    assert not root("b")
    assert root.legend.get_text() == root.a.get_text() == root["data-caption"] == words
    assert root.summary.get_text() == root.select_one(".ensedu-method").get_text() == words


def test_html_only_while_the_book_is_built(monkeypatch):
    monkeypatch.delenv(BOOK, raising=False)
    plain = {"text/plain": repr(advice())}
    assert advice()._repr_mimebundle_() == plain
    monkeypatch.setenv(BOOK, "anywhere")
    assert advice()._repr_mimebundle_() == plain | {"text/html": advice().html()}


ASK = Question("a", "A?", {"x": "X", "y": "Y"})
MORE = Question("b", "B?", ASK.options, more=True)
WHY = [("Why.", "#fig-a")]
LAST = Entry("rank1", WHY)


def rank(**answers):
    return [LAST]


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
    (lambda: guide([ASK], lambda b: [LAST]), TypeError, r"rank must take the answers \['a'\]"),
    (
        lambda: guide([ASK], lambda a: [LAST] if a == "x" else []), TypeError,
        r"rank must return one or more of Entry, got .* for {'a': 'y'}",
    ),
    (lambda: guide([ASK], lambda a: [3]), TypeError, "rank must return one or more of Entry"),
    (lambda: guide([ASK], lambda a: LAST), TypeError, "rank must return one or more of Entry"),
    (lambda: guide([ASK], rank, name=""), ValueError, "name must be small letters"),
    (lambda: guide([ASK], rank, caption=3), TypeError, "caption must be a string"),
    (lambda: guide([ASK], rank, others=" "), ValueError, "others must be words"),
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
    (lambda: Entry("one", []), ValueError, "because must be pairs of a sentence and an address"),
    (lambda: Entry("one", "Why."), TypeError, "because must be pairs"),
    (lambda: Entry("one", ["Why."]), TypeError, r"because\[0\] must be one of pairs"),
    (lambda: Entry("one", [("[a] [b]", "#a")]), ValueError, r"because\[0\]\[0\] must have one l"),
    (
        lambda: Entry("one", [("Why.", "javascript:alert(1)")]), ValueError,
        r"because\[0\]\[1\] must be an address such as",
    ),
    (lambda: Entry("one", [("Why.", "fig digits")]), ValueError, "must be an address such as"),
    (lambda: Entry("one", WHY, "ours"), ValueError, "method must be one of"),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert type(caught.value) is error
