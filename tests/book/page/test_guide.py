"""A guide: the first rule that fits decides, and what a guide cannot be."""

import itertools

import pytest
from bs4 import BeautifulSoup

from ensedu.book.page.guide import Question, Rule, guide
from ensedu.common.text_table import BOOK
from tests.book.page.verdicts import QUESTIONS, RULES, advice


def parsed(found):
    return BeautifulSoup(found.html(), "html.parser").div


def by_hand(trained, memory, data, latency, outliers, time):
    """The rules of the tests as anyone would write them."""
    if trained == "yes":
        return 0 if latency == "yes" else 1
    if memory == "many":
        if outliers != "no" and time == "long":
            return 2
        return 3 if data == "hundreds" and latency == "yes" else 5
    return 3 if data == "hundreds" and latency == "yes" else 4


def answers():
    """All combinations of answers."""
    for each in itertools.product(*(question.options for question in QUESTIONS)):
        yield dict(zip((question.key for question in QUESTIONS), each, strict=True))


def test_the_first_rule_that_fits_decides():
    found, fired = advice(), set()
    for each in answers():
        rule = found.rule(**each)
        assert rule is RULES[by_hand(**each)]
        fired.add(RULES.index(rule))
    assert fired == set(range(len(RULES)))


def test_a_question_without_an_answer_has_that_of_the_start():
    assert advice().rule().method == "batch_ensemble"
    assert advice(start={"memory": "many"}).rule().method == "deep_ensemble"
    assert advice(start={"memory": "many"}).rule(memory="two").method == "batch_ensemble"


def test_text():
    lines = repr(advice()).splitlines()
    assert lines[:3] == [
        "Guide(trained=no, memory=one, data=hundreds, latency=no, outliers=no, time=once)",
        "Which method is for you, and why.",
        "Have you a trained network? no; yes, and it stays.",
    ]
    assert lines[-5:-3] == [
        "2. If trained: yes, and it stays → Scale its temperature. One number mends most of it. "
        "(temperature.html)",
        "3. If outliers: a bit or yes; memory: four or more; time: four times → Deep ensemble. "
        "Members differ most far away. (shootout.html#fig-far)",
    ]
    assert lines[-1].startswith("6. Otherwise → Deep ensemble. It is best wherever it fits.")


def test_without_a_script_all_rules_stand_open():
    root = parsed(advice(start={"trained": "yes", "latency": "yes"}))
    assert root.details.has_attr("open")
    assert root.select_one(".ensedu-choices").has_attr("hidden")
    assert root.select_one("[role=status]").get_text() == "MC dropout: rule 1 of 6 decides."
    assert (
        root.select_one(".ensedu-setting")
        .get_text()
        .startswith(
            "Have you a trained network? yes, and it stays. What fits into memory? one network."
        )
    )
    items = root.select("ol > li")
    assert [item.select_one(".ensedu-method").get_text() for item in items] == [
        rule.label for rule in RULES
    ]
    assert [item.get("aria-current") for item in items] == ["true", *[None] * 5]
    shown = root.select_one(".ensedu-advice")
    assert shown.get_text() == items[0].get_text()
    assert shown["data-method"] == items[0]["data-method"] == "mc_dropout"
    assert items[1].get("data-method") is None


def test_each_reason_has_its_link():
    links = parsed(advice()).ol("a")
    assert [(link.get_text(), link["href"]) for link in links[:3]] == [
        ("gives draws at once", "shootout.html#fig-digits"),
        ("It costs only passes.", "#fig-cost"),
        ("most", "temperature.html"),
    ]
    assert links[0].parent.get_text() == "A trained network with dropout gives draws at once."
    assert len(links) == sum(len(rule.because) for rule in RULES)


def test_words_are_no_tags():
    words = '<b> & "x"'
    root = parsed(
        guide(
            [Question("a", words, {"b": words, "c": "c"})],
            [Rule(words, [(words, "#a")], {"a": "b"}), Rule("rank1", [("Why.", "#a")])],
            caption=words,
        )
    )
    assert not root("b")
    assert root.legend.get_text() == root.a.get_text() == root["data-caption"] == words


def test_html_only_while_the_book_is_built(monkeypatch):
    monkeypatch.delenv(BOOK, raising=False)
    plain = {"text/plain": repr(advice())}
    assert advice()._repr_mimebundle_() == plain
    monkeypatch.setenv(BOOK, "anywhere")
    assert advice()._repr_mimebundle_() == plain | {"text/html": advice().html()}


ASK = Question("a", "A?", {"x": "X", "y": "Y"})
WHY = [("Why.", "#fig-a")]
LAST = Rule("rank1", WHY)
WIDE = [Question(f"q{i}", "Q?", {f"o{j}": "O" for j in range(5)}) for i in range(6)]
BAD = [
    (lambda: guide([], [LAST]), ValueError, "questions must be one to 6 of Question"),
    (lambda: guide([ASK, ASK], [LAST]), ValueError, "each of another key, got"),
    (lambda: guide("a", [LAST]), TypeError, "questions must be one to 6"),
    (lambda: guide(WIDE, [LAST]), ValueError, "questions have 15,625 combinations"),
    (lambda: guide([ASK], [3]), TypeError, "rules must be a sequence of Rule"),
    (lambda: guide([ASK], []), ValueError, "rules must end with one that fits always.*got no rul"),
    (
        lambda: guide([ASK], [LAST, Rule("single", WHY, {"a": "x"})]), ValueError,
        "rules must end with one that fits always, with an empty `when`, got {'a': 'x'}",
    ),
    (
        lambda: guide([ASK], [Rule("single", WHY, {"b": "x"}), LAST]), ValueError,
        r"rules\[0\].when has the question 'b', accepted are \['a'\]",
    ),
    (
        lambda: guide([ASK], [Rule("single", WHY, {"a": ["x", "z"]}), LAST]), ValueError,
        r"rules\[0\].when\['a'\] must be one of 'x', 'y', got 'z'",
    ),
    (
        lambda: guide([ASK], [Rule("single", WHY, {"a": "x"})] * 2 + [LAST]), ValueError,
        r"rules\[1\] for 'single' can never fire: the rules before it",
    ),
    (
        lambda: guide([ASK], [Rule("single", WHY, {"a": each}) for each in "xy"] + [LAST]),
        ValueError, r"rules\[2\] for 'rank1' can never fire",
    ),
    (lambda: guide([ASK], [LAST], name=""), ValueError, "name must be small letters"),
    (lambda: guide([ASK], [LAST], caption=3), TypeError, "caption must be a string"),
    (lambda: guide([ASK], [LAST], start=3), TypeError, "start must be a mapping"),
    (lambda: guide([ASK], [LAST], start={"b": "x"}), ValueError, "start has the question 'b'"),
    (lambda: guide([ASK], [LAST], start={"a": "z"}), ValueError, r"start\['a'\] must be one of"),
    (lambda: guide([ASK], [LAST]).rule(b="x"), ValueError, "answers has the question 'b'"),
    (lambda: guide([ASK], [LAST]).rule(a="z"), ValueError, r"answers\['a'\] must be one of"),
    (lambda: Question("A", "A?", ASK.options), ValueError, "key must be small letters"),
    (lambda: Question("a", " ", ASK.options), ValueError, "text must be words"),
    (lambda: Question("a", "A?", {"x": "X"}), ValueError, "options must be a mapping of two"),
    (lambda: Question("a", "A?", ["x", "y"]), TypeError, "options must be a mapping of two"),
    (lambda: Question("a", "A?", {"x": "X", "y": ""}), ValueError, r"options\['y'\] must be words"),
    (lambda: Rule("", WHY), ValueError, "method must be words"),
    (lambda: Rule("single", []), ValueError, "because must be pairs of a sentence and an address"),
    (lambda: Rule("single", "Why."), TypeError, "because must be pairs"),
    (lambda: Rule("single", ["Why."]), TypeError, r"because\[0\] must be one of pairs"),
    (lambda: Rule("single", [("[a] [b]", "#a")]), ValueError, r"because\[0\]\[0\] must have one l"),
    (
        lambda: Rule("single", [("Why.", "javascript:alert(1)")]), ValueError,
        r"because\[0\]\[1\] must be an address such as",
    ),
    (lambda: Rule("single", [("Why.", "fig digits")]), ValueError, "must be an address such as"),
    (lambda: Rule("single", WHY, ["a"]), TypeError, "when must be a mapping"),
    (lambda: Rule("single", WHY, {"a": []}), ValueError, r"when\['a'\] must have an answer"),
    (lambda: Rule("single", WHY, {"a": 3}), TypeError, r"when\['a'\] must be a string"),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert type(caught.value) is error
