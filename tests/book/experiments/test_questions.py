"""Each table answers a question of its own, and only the contest says which method is better."""

import re

import pytest

from ensedu.book import measured
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.book.experiments.questions import QUESTIONS


def test_each_table_has_its_question_and_each_question_its_table():
    assert {*measured.names()} == {*QUESTIONS}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_one_sentence(name):
    assert re.fullmatch(r"[A-Z][^.?!]+\?", QUESTIONS[name])


def test_none_is_answered_twice():
    words = [" ".join(re.findall(r"\w+", text.lower())) for text in QUESTIONS.values()]
    assert len({*words}) == len(words)


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_contest_alone_says_what_is_better(name):
    comparing = re.search(r"\b(better|best|worse|worst|wins?)\b", QUESTIONS[name])
    assert bool(comparing) == (name.removeprefix("contest/") in TASKS)
