"""A guide from a reader's answers to a ranking, which is looked up, not computed, on the page.

The ranking of each combination of answers is computed once, in Python. A page of the book embeds
each entry and each ranking once, and a few lines of JavaScript show the one that a reader asks for.
"""

import inspect
import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from typing import Any

from ensedu.book.page import slider_checks
from ensedu.book.page.choices import radios
from ensedu.book.page.frames import embedded
from ensedu.book.page.scripts import Bundle
from ensedu.common import checks
from ensedu.common.text_table import BOOK
from ensedu.methods import METHODS

__all__ = ["BUNDLE", "Entry", "Guide", "Question", "guide"]

BUNDLE = Bundle("ensedu_guide", ("common/widget", "common/address", "guide"), dict)

MOST_QUESTIONS = 8
MOST_ANSWERS = 1_000  # combinations, each of which is ranked
LINKED = re.compile(r"\[([^\[\]]+)\]")
# Within the book, or a web page; nothing that a browser would run.
ADDRESS = re.compile(r"https?://\S+|[\w./-]*#[\w:.=&%-]+|[\w./-]+\.html")


@dataclass(frozen=True)
class Question:
    """What a guide asks.

    Attributes
    ----------
    key
        How addresses name it: small letters, digits and hyphens.
    text
        The question.
    options
        Two or more answers, keys of the same letters to words.
    more
        Whether it stands folded, below the others.

    Raises
    ------
    TypeError, ValueError
        For a key of other letters, words that are empty or no strings, and fewer than two options.
    """

    key: str
    text: str
    options: Mapping[str, str]
    more: bool = False

    def __post_init__(self) -> None:
        _key("key", self.key)
        _words("text", self.text)
        accepted = "a mapping of two or more keys to words"
        if not isinstance(self.options, Mapping):
            raise TypeError(f"options must be {accepted}, got {checks.given(self.options)}")
        if len(self.options) < 2:
            raise ValueError(f"options must be {accepted}, got {checks.given(self.options)}")
        for key, words in self.options.items():
            _key("options: a key", key)
            _words(f"options[{key!r}]", words)
        checks.boolean("more", self.more)


@dataclass(frozen=True)
class Entry:
    """One line of a ranking.

    Attributes
    ----------
    label
        What it is called, as at the beginning of a sentence.
    because
        Its evidence: pairs of a sentence and the address of the figure that shows it, such as
        ``("On digits [four members] are better.", "shootout.html#fig-contest")``. The words in
        brackets become the link, or the whole sentence if none are.
    method
        A method's key, for its color.

    Raises
    ------
    TypeError, ValueError
        For words that are empty or no strings, no evidence, evidence that is no pairs, an address
        that is none, and an unknown method.
    """

    label: str
    because: Sequence[tuple[str, str]]
    method: str | None = None

    def __post_init__(self) -> None:
        _words("label", self.label)
        accepted = "pairs of a sentence and an address, at least one"
        if not isinstance(self.because, (list, tuple)):
            raise TypeError(f"because must be {accepted}, got {checks.given(self.because)}")
        if not self.because:
            raise ValueError(f"because must be {accepted}, got {checks.given(self.because)}")
        for i, pair in enumerate(self.because):
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise TypeError(f"because[{i}] must be one of {accepted}, got {checks.given(pair)}")
            if len(LINKED.findall(_words(f"because[{i}][0]", pair[0]))) > 1:
                raise ValueError(
                    f"because[{i}][0] must have one link in brackets at most, got "
                    f"{checks.shown(pair[0])}"
                )
            if not ADDRESS.fullmatch(checks.text(f"because[{i}][1]", pair[1])):
                raise ValueError(
                    f"because[{i}][1] must be an address such as 'shootout.html#fig-contest', "
                    f"got {checks.shown(pair[1])}"
                )
        # Equal entries are one on a page, so they have a hash.
        object.__setattr__(self, "because", tuple(map(tuple, self.because)))
        if self.method is not None:
            checks.one_of("method", self.method, METHODS)

    def __str__(self) -> str:
        reasons = (f"{''.join(_linked(words))} ({href})" for words, href in self.because)
        return f"{self.label}. {' '.join(reasons)}"

    @property
    def html(self) -> str:
        """The entry as an item of a list."""
        reasons = []
        for words, href in self.because:
            before, linked, after = map(escape, _linked(words))
            reasons.append(f'<li>{before}<a href="{escape(href)}">{linked}</a>{after}</li>')
        own = f' data-method="{self.method}"' if self.method else ""
        return (
            f'<li{own}><p class="ensedu-method">{escape(self.label)}</p>'
            f"<ul>{' '.join(reasons)}</ul></li>"
        )


def guide(
    questions: Sequence[Question],
    rank: Callable[..., Sequence[Entry]],
    *,
    name: str = "guide",
    caption: str = "",
    others: str = "What else fits, the best average first",
    start: Mapping[str, str] | None = None,
) -> "Guide":
    """Return a guide that a page's reader answers when a notebook cell ends with it.

    Parameters
    ----------
    questions
        One to eight; the first ones are those that are not folded.
    rank
        Called as ``rank(data="small", memory="one")`` with each combination of answers; returns
        one or more entries, the recommended one first.
    name
        What other places of the book call it. The address ``#guide:data=small&memory=one`` gives
        its answers.
    caption
        What it is for.
    others
        What the entries after the first are.
    start
        The first answer to some of the questions; by default their first option.

    Raises
    ------
    TypeError, ValueError
        For questions of another kind, more than eight or with more than 1,000 combinations of
        answers, a key that two questions have, an open question after a folded one, a `rank` that
        is no function of the answers or returns anything but entries, and a start with an unknown
        question or option.

    Examples
    --------
    >>> small = Entry("BatchEnsemble", [("It is small.", "a.html#fig-a")], "batch_ensemble")
    >>> best = Entry("Deep ensemble", [("It is [best].", "a.html#fig-b")], "deep_ensemble")
    >>> found = guide(
    ...     [Question("memory", "What fits into memory?", {"one": "one network", "four": "four"})],
    ...     lambda memory: [small] if memory == "one" else [best, small],
    ... )
    >>> found
    Guide(memory=one)
    What fits into memory? one network; four.
    1. BatchEnsemble. It is small. (a.html#fig-a)
    >>> [entry.label for entry in found.ranking(memory="four")]
    ['Deep ensemble', 'BatchEnsemble']
    """
    if not slider_checks.figure_name(name):
        raise ValueError(f"name must be small letters, digits and hyphens, got {name!r}")
    checks.text("caption", caption)
    _words("others", others)
    asked = _questions(questions)
    first = {key: next(iter(question.options)) for key, question in asked.items()}
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(f"start must be a mapping of keys to answers, got {checks.given(start)}")
    for key, value in (start or {}).items():
        _known("start", asked, key, value)
        first[key] = value
    if not callable(rank) or isinstance(rank, type):
        raise TypeError(f"rank must be a function of the answers, got {checks.given(rank)}")
    try:
        inspect.signature(rank).bind(**first)
    except TypeError as error:
        raise TypeError(f"rank must take the answers {list(first)}: {error}") from None
    every = itertools.product(*(question.options for question in asked.values()))
    rankings = tuple(_ranked(rank, dict(zip(asked, each, strict=True))) for each in every)
    return Guide(tuple(asked.values()), rankings, name, caption, others, first)


@dataclass(frozen=True, repr=False)
class Guide:
    """What `guide` returns.

    Attributes
    ----------
    questions
        What is asked.
    rankings
        One for each combination of answers; those to the last question change first.
    name, caption, others, start
        As `guide` takes them; ``start`` answers all questions.
    """

    questions: tuple[Question, ...]
    rankings: tuple[tuple[Entry, ...], ...]
    name: str
    caption: str
    others: str
    start: Mapping[str, str]

    def ranking(self, **answers: str) -> tuple[Entry, ...]:
        """Return the ranking; a question without an answer has that of the start.

        Raises
        ------
        TypeError, ValueError
            For an unknown question or option.
        """
        asked = {question.key: question for question in self.questions}
        for key, value in answers.items():
            _known("answers", asked, key, value)
        place = 0
        for key, value in {**self.start, **answers}.items():
            options = list(asked[key].options)
            place = place * len(options) + options.index(value)
        return self.rankings[place]

    def __repr__(self) -> str:
        start = ", ".join(f"{key}={value}" for key, value in self.start.items())
        lines = [f"Guide({start})", *([self.caption] if self.caption else [])]
        for question in self.questions:
            lines.append(f"{question.text} {'; '.join(question.options.values())}.")
        lines += [f"{i}. {entry}" for i, entry in enumerate(self.ranking(), start=1)]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = {"text/html": self.html()} if os.environ.get(BOOK) else {}
        return {"text/plain": repr(self)} | page

    def data(self) -> dict[str, Any]:
        """Return what the page's script needs: which ranking each combination of answers has.

        A ranking is places in `entries`; `places` has one for each combination, in their order.
        """
        entries = list(self.entries())
        distinct = dict.fromkeys(self.rankings)
        number = {ranking: i for i, ranking in enumerate(distinct)}
        return {
            "name": self.name,
            "takes": {question.key: list(question.options) for question in self.questions},
            "start": dict(self.start),
            "rankings": [[entries.index(entry) for entry in ranking] for ranking in distinct],
            "places": [number[ranking] for ranking in self.rankings],
        }

    def entries(self) -> dict[Entry, None]:
        """Return each entry of all rankings once."""
        return dict.fromkeys(entry for ranking in self.rankings for entry in ranking)

    def html(self) -> str:
        """Return it for a page: the first answers and their ranking, until a script lives."""
        named = {"name": self.name, "caption": self.caption}
        about = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
        first, *others = self.ranking()
        return "\n".join(
            [
                f'<div class="ensedu-guide"{about}>',
                f'<div class="ensedu-live-only" hidden>{self._asked()}</div>',
                f'<p class="ensedu-setting">{escape(self._answered())}</p>',
                f'<p class="ensedu-live" role="status">Answer: {escape(first.label)}.</p>',
                f'<ul class="ensedu-advice">{first.html}</ul>',
                f'<details class="ensedu-others" open{"" if others else " hidden"}>'
                f"<summary>{escape(self.others)}</summary>",
                f'<ol start="2">{"".join(entry.html for entry in others)}</ol></details>',
                f"<template>{''.join(entry.html for entry in self.entries())}</template>",
                f'<script type="application/json">{embedded(self.data())}</script></div>',
            ]
        )

    def _asked(self) -> str:
        """Return all questions as groups of buttons, some folded."""
        groups = {False: "", True: ""}
        for each in self.questions:
            groups[each.more] += radios(
                each.text, self.name, each.key, each.options, self.start[each.key]
            )
        boxes = {more: f'<div class="ensedu-choices">{one}</div>' for more, one in groups.items()}
        if not groups[True]:
            return boxes[False]
        return (
            f'{boxes[False]}<details class="ensedu-more"><summary>More questions</summary>'
            f"{boxes[True]}</details>"
        )

    def _answered(self) -> str:
        """Say the first answers in words."""
        words = (f"{each.text} {each.options[self.start[each.key]]}." for each in self.questions)
        return " ".join(words)


def _linked(words: str) -> tuple[str, str, str]:
    """Return a sentence before its link, the link, and what follows."""
    before, *linked = LINKED.split(words)
    return (before, linked[0], linked[1]) if linked else ("", before, "")


def _words(name: str, value: Any) -> str:
    if not checks.text(name, value).strip():
        raise ValueError(f"{name} must be words, got {value!r}")
    return value


def _key(name: str, value: Any) -> str:
    if not re.fullmatch(r"[a-z0-9-]+", checks.text(name, value)):
        raise ValueError(f"{name} must be small letters, digits and hyphens, got {value!r}")
    return value


def _questions(questions: Any) -> dict[str, Question]:
    """Return the questions by their keys."""
    accepted = f"one to {MOST_QUESTIONS} of Question, each of another key"
    if not isinstance(questions, (list, tuple)) or not all(
        isinstance(each, Question) for each in questions
    ):
        raise TypeError(f"questions must be {accepted}, got {checks.given(questions)}")
    asked = {question.key: question for question in questions}
    if not 0 < len(questions) <= MOST_QUESTIONS or len(asked) < len(questions):
        raise ValueError(
            f"questions must be {accepted}, got {list(each.key for each in questions)}"
        )
    folded = [each.more for each in questions]
    if folded[0] or folded != sorted(folded):
        raise ValueError(
            "questions must be open first, then those with `more`, got "
            f"{dict((each.key, each.more) for each in questions)}"
        )
    if (number := prod(len(each.options) for each in questions)) > MOST_ANSWERS:
        raise ValueError(
            f"questions have {number:,} combinations of answers, accepted are {MOST_ANSWERS:,}"
        )
    return asked


def _known(name: str, asked: Mapping[str, Question], key: Any, value: Any) -> None:
    """Raise unless this is an answer to one of the questions."""
    if key not in asked:
        raise ValueError(f"{name} has the question {checks.shown(key)}, accepted are {list(asked)}")
    checks.one_of(f"{name}[{key!r}]", value, asked[key].options)


def _ranked(rank: Callable[..., Any], answers: Mapping[str, str]) -> tuple[Entry, ...]:
    found = rank(**answers)
    if (
        not isinstance(found, (list, tuple))
        or not found
        or not all(isinstance(each, Entry) for each in found)
    ):
        raise TypeError(
            f"rank must return one or more of Entry, got {checks.given(found)} for {dict(answers)}"
        )
    return tuple(found)
