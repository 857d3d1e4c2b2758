"""A guide from a reader's answers to a method: the first rule that fits decides.

Questions, options and rules are data. They are read by `Guide.rule` here and by a few lines of
JavaScript on a page of the book, where a reader answers; a notebook shows the rules as text.
"""

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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

__all__ = ["BUNDLE", "Guide", "Question", "Rule", "guide"]

BUNDLE = Bundle("ensedu_guide", ("common/widget", "common/address", "guide"), dict)

MOST_QUESTIONS = 6
MOST_ANSWERS = 10_000  # combinations, all of which are tried
LINKED = re.compile(r"\[([^\[\]]+)\]")
# Within the book, or a web page; nothing that a browser would run.
ADDRESS = re.compile(r"https?://\S+|[\w./-]*#[\w:.=&%-]+|[\w./-]+\.html")


@dataclass(frozen=True)
class Question:
    """What a guide asks.

    Attributes
    ----------
    key
        How rules and addresses name it: small letters, digits and hyphens.
    text
        The question.
    options
        Two or more answers, keys of the same letters to words.

    Raises
    ------
    TypeError, ValueError
        For a key of other letters, words that are empty or no strings, and fewer than two options.
    """

    key: str
    text: str
    options: Mapping[str, str]

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


@dataclass(frozen=True)
class Rule:
    """What a guide recommends, where answers are these.

    Attributes
    ----------
    method
        A method's key, or what to do in words of your own.
    because
        The reasons: pairs of a sentence and the address of the figure that shows it, such as
        ``("On digits [four members] are better.", "shootout.html#fig-digits")``. The words in
        brackets become the link, or the whole sentence if none are.
    when
        Keys of questions to the answer that it is for, or to several of them. A rule for nothing
        in particular fits always.

    Raises
    ------
    TypeError, ValueError
        For words that are empty or no strings, no reasons, reasons that are no pairs, an address
        that is none, and conditions that are no answers.
    """

    method: str
    because: Sequence[tuple[str, str]]
    when: Mapping[str, str | Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _words("method", self.method)
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
                    f"because[{i}][1] must be an address such as 'shootout.html#fig-digits', "
                    f"got {checks.shown(pair[1])}"
                )
        if not isinstance(self.when, Mapping):
            raise TypeError(
                f"when must be a mapping of questions to answers, got {checks.given(self.when)}"
            )
        for key, value in self.when.items():
            checks.text("when: a key", key)
            for answer in self.answers(key):
                checks.text(f"when[{key!r}]", answer)
            if not self.answers(key):
                raise ValueError(f"when[{key!r}] must have an answer, got {checks.given(value)}")

    def answers(self, key: str) -> list[Any]:
        """Return the answers to a question that it is for."""
        value = self.when[key]
        return list(value) if isinstance(value, (list, tuple)) else [value]

    def fits(self, answers: Mapping[str, str]) -> bool:
        """Whether it is for these answers."""
        return all(answers[key] in self.answers(key) for key in self.when)

    @property
    def label(self) -> str:
        """The method's name in words, at the beginning of a sentence."""
        words = METHODS[self.method].label if self.method in METHODS else self.method
        return words[0].upper() + words[1:]


def guide(
    questions: Sequence[Question],
    rules: Sequence[Rule],
    *,
    name: str = "guide",
    caption: str = "",
    start: Mapping[str, str] | None = None,
) -> "Guide":
    """Return a guide that a page's reader answers when a notebook cell ends with it.

    Parameters
    ----------
    questions
        One to six.
    rules
        What is recommended when; the first that fits decides. The last one fits always.
    name
        What other places of the book call it. The address ``#guide:data=small&memory=one`` gives
        its answers.
    caption
        What it is for.
    start
        The first answer to some of the questions; by default their first option.

    Raises
    ------
    TypeError, ValueError
        For questions or rules of another kind, more than six questions or than 10,000
        combinations of answers, a key that two questions have, a rule or start with an unknown
        question or option, a last rule that does not fit always, and a rule that can never fire,
        since others before it take all that it is for.

    Examples
    --------
    >>> found = guide(
    ...     [Question("memory", "What fits into memory?", {"one": "one network", "four": "four"})],
    ...     [
    ...         Rule("batch_ensemble", [("It is small.", "a.html#fig-a")], {"memory": "one"}),
    ...         Rule("deep_ensemble", [("It is [best].", "a.html#fig-b")]),
    ...     ],
    ... )
    >>> found
    Guide(memory=one)
    What fits into memory? one network; four.
    1. If memory: one network → BatchEnsemble. It is small. (a.html#fig-a)
    2. Otherwise → Deep ensemble. It is best. (a.html#fig-b)
    >>> found.rule(memory="four").label
    'Deep ensemble'
    """
    if not slider_checks.figure_name(name):
        raise ValueError(f"name must be small letters, digits and hyphens, got {name!r}")
    checks.text("caption", caption)
    asked = _questions(questions)
    _check_rules(asked, rules)
    first = {key: next(iter(question.options)) for key, question in asked.items()}
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(f"start must be a mapping of keys to answers, got {checks.given(start)}")
    for key, value in (start or {}).items():
        _known("start", asked, key, value)
        first[key] = value
    return Guide(tuple(asked.values()), tuple(rules), name, caption, first)


@dataclass(frozen=True, repr=False)
class Guide:
    """What `guide` returns: questions, rules in their order, and the answers that come first."""

    questions: tuple[Question, ...]
    rules: tuple[Rule, ...]
    name: str
    caption: str
    start: Mapping[str, str]

    def rule(self, **answers: str) -> Rule:
        """Return the rule that decides; a question without an answer has that of the start."""
        asked = {question.key: question for question in self.questions}
        for key, value in answers.items():
            _known("answers", asked, key, value)
        return self.rules[_decides(self.rules, {**self.start, **answers})]

    def __repr__(self) -> str:
        start = ", ".join(f"{key}={value}" for key, value in self.start.items())
        lines = [f"Guide({start})", *([self.caption] if self.caption else [])]
        for question in self.questions:
            lines.append(f"{question.text} {'; '.join(question.options.values())}.")
        for number, rule in enumerate(self.rules, start=1):
            reasons = (f"{''.join(_linked(words))} ({href})" for words, href in rule.because)
            lines.append(f"{number}. {self._when(rule)} → {rule.label}. {' '.join(reasons)}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = {"text/html": self.html()} if os.environ.get(BOOK) else {}
        return {"text/plain": repr(self)} | page

    def data(self) -> dict[str, Any]:
        """Return what the page's script needs."""
        return {
            "name": self.name,
            "takes": {question.key: list(question.options) for question in self.questions},
            "start": dict(self.start),
            "rules": [{key: rule.answers(key) for key in rule.when} for rule in self.rules],
        }

    def html(self) -> str:
        """Return it for a page: with all rules in the open until a script lets a reader answer."""
        named = {"name": self.name, "caption": self.caption}
        about = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
        asked = "".join(
            radios(each.text, self.name, each.key, each.options, self.start[each.key])
            for each in self.questions
        )
        place = _decides(self.rules, self.start)
        rule = self.rules[place]
        return "\n".join(
            [
                f'<div class="ensedu-guide"{about}>',
                f'<div class="ensedu-choices ensedu-live-only" hidden>{asked}</div>',
                f'<p class="ensedu-setting">{escape(self._answered())}</p>',
                f'<p class="ensedu-live" role="status">{escape(rule.label)}: rule {place + 1} of '
                f"{len(self.rules)} decides.</p>",
                f'<div class="ensedu-advice"{_method_attribute(rule)}>{self._advice(rule)}</div>',
                '<details class="ensedu-rules" open><summary>All rules</summary>',
                '<p class="ensedu-key">The first rule that fits your answers decides.</p><ol>',
                *(self._advice_item(each, each is rule) for each in self.rules),
                "</ol></details>",
                f'<script type="application/json">{embedded(self.data())}</script></div>',
            ]
        )

    def _answered(self) -> str:
        """Say the first answers in words."""
        words = (f"{each.text} {each.options[self.start[each.key]]}." for each in self.questions)
        return " ".join(words)

    def _when(self, rule: Rule) -> str:
        """Say what a rule is for."""
        asked = {question.key: question.options for question in self.questions}
        fits = {key: [asked[key][each] for each in rule.answers(key)] for key in rule.when}
        parts = (f"{key.replace('-', ' ')}: {' or '.join(words)}" for key, words in fits.items())
        return f"If {'; '.join(parts)}" if fits else "Otherwise"

    def _advice(self, rule: Rule) -> str:
        """Return a method and its reasons, as a rule and the answer to a reader show them."""
        reasons = "".join(f"<li>{reason}</li>" for reason in _reasons(rule))
        when = f'<p class="ensedu-when">{escape(self._when(rule))}</p>'
        return f'{when}<p class="ensedu-method">{escape(rule.label)}</p><ul>{reasons}</ul>'

    def _advice_item(self, rule: Rule, decides: bool) -> str:
        current = ' aria-current="true"' if decides else ""
        return f"<li{_method_attribute(rule)}{current}>{self._advice(rule)}</li>"


def _method_attribute(rule: Rule) -> str:
    return f' data-method="{rule.method}"' if rule.method in METHODS else ""


def _linked(words: str) -> tuple[str, str, str]:
    """Return a sentence before its link, the link, and what follows."""
    before, *linked = LINKED.split(words)
    return (before, linked[0], linked[1]) if linked else ("", before, "")


def _reasons(rule: Rule) -> Iterator[str]:
    """Yield each reason as HTML, with its link."""
    for words, href in rule.because:
        before, linked, after = map(escape, _linked(words))
        yield f'{before}<a href="{escape(href)}">{linked}</a>{after}'


def _decides(rules: Sequence[Rule], answers: Mapping[str, str]) -> int:
    """Return the place of the first rule that fits; the last one always does."""
    return next(place for place, rule in enumerate(rules) if rule.fits(answers))


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


def _check_rules(asked: Mapping[str, Question], rules: Any) -> None:
    """Raise unless each rule asks what is known, the last fits always, and each can fire."""
    if not isinstance(rules, (list, tuple)) or not all(isinstance(each, Rule) for each in rules):
        raise TypeError(f"rules must be a sequence of Rule, got {checks.given(rules)}")
    for place, rule in enumerate(rules):
        for key in rule.when:
            for answer in rule.answers(key):
                _known(f"rules[{place}].when", asked, key, answer)
    if not rules or rules[-1].when:
        raise ValueError(
            "rules must end with one that fits always, with an empty `when`, got "
            f"{checks.shown(rules[-1].when) if rules else 'no rules'}"
        )
    options = [question.options for question in asked.values()]
    every = (dict(zip(asked, answers, strict=True)) for answers in itertools.product(*options))
    fire = {_decides(rules, answers) for answers in every}
    for place, rule in enumerate(rules):
        if place not in fire:
            raise ValueError(
                f"rules[{place}] for {rule.method!r} can never fire: the rules before it take all "
                "answers that it is for"
            )
