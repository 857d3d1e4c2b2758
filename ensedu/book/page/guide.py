"""A guide from a reader's answers to a ranking, which is looked up, not computed, on the page.

The ranking of each combination of answers is computed once, in Python. A page of the book embeds
each entry and each ranking once, and a few lines of JavaScript show the one that a reader asks for.
"""

import inspect
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import prod
from typing import Any

from ensedu.book.page import slider_checks
from ensedu.book.page.choices import radios
from ensedu.book.page.frames import embedded
from ensedu.book.page.ranking import (
    Ends,
    Measure,
    Score,
    bar_html,
    bar_place,
    bar_room,
    check_interval,
    direction,
    scale_html,
)
from ensedu.book.page.scripts import Bundle
from ensedu.common import checks, text_table
from ensedu.common.text_table import BOOK, Cell, Column, Table
from ensedu.methods import METHODS

__all__ = ["BUNDLE", "Candidate", "Entry", "Guide", "Question", "Ranked", "guide"]

BUNDLE = Bundle("ensedu_guide", ("common/widget", "common/address", "guide"), dict)

MOST_QUESTIONS = 8
MOST_ANSWERS = 1_000  # combinations, each of which is ranked
PLURAL = re.compile(r"(?<=ss)es$|(?<=[^s])s$")  # what one of a thing lacks
LINKED = re.compile(r"\[([^\[\]]+)\]")
STATES = ("recommended", "fits", "out", "unknown")
VERDICT = "verdict"
APART = 0.15  # how far the numbers above bars stand apart, in shares of their room
MORE_NOTES = "More about these numbers"
MOST_SHOWN, SHOWN = 7, 6  # of more that fit so many stand in the list, and all others folded
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
    """What is recommended.

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
    costs
        What it costs, in the order of the guide's `costs`; none where that is not known.
    unit
        What its costs are compared with, as a pair such as those of its evidence; None for nothing.

    Raises
    ------
    TypeError, ValueError
        For words that are empty or no strings, no evidence, evidence or a unit that is no pair, an
        address that is none, and an unknown method.
    """

    label: str
    because: Sequence[tuple[str, str]]
    method: str | None = None
    costs: Sequence[str] = ()
    unit: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        _words("label", self.label)
        if self.unit is not None:
            _pair("unit", self.unit)
        if not _pairs("because", self.because):
            raise ValueError("because must have at least one pair, got none")
        if self.method is not None:
            checks.one_of("method", self.method, METHODS)
        for i, cost in enumerate(_sequence("costs", self.costs)):
            _words(f"costs[{i}]", cost)

    def text(self, titles: Sequence[str]) -> str:
        """The entry as text, its costs before their titles."""
        costs = [f"{cost} {title}" for title, cost in self._paid(titles)]
        of = f", {_said(*self.unit)}" if self.unit else ""
        known = [f"It costs{of}: {', '.join(costs)}."] if costs else []
        return " ".join([f"{self.label}.", *(_said(*pair) for pair in self.because), *known])

    def html(self, titles: Sequence[str]) -> str:
        """The entry as an item of a list, its costs below their titles."""
        reasons = "".join(f"<li>{_link(*pair)}</li>" for pair in self.because)
        costs = "".join(
            f"<div><dt>{escape(title)}</dt><dd>{escape(cost)}</dd></div>"
            for title, cost in self._paid(titles)
        )
        of = f'<p class="ensedu-unit">{_link(*self.unit)}</p>' if self.unit else ""
        listed = f'<div class="ensedu-paid">{of}<dl class="ensedu-costs">{costs}</dl></div>'
        own = f' data-method="{self.method}"' if self.method else ""
        return (
            f'<li{own}><p class="ensedu-method">{escape(self.label)}</p>'
            f'<p class="ensedu-now"></p><ul>{reasons}</ul>'
            f"{listed if costs else ''}</li>"
        )

    def _paid(self, titles: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield its costs with their titles, which are singular where it costs 1."""
        for title, cost in zip(titles, self.costs, strict=False):
            yield PLURAL.sub("", title) if cost == "1" else title, cost


@dataclass(frozen=True)
class Candidate:
    """A row of the list below what is recommended.

    Attributes
    ----------
    label
        What it is called.
    score
        How it differs from a reference, with its interval; its verdict is beside that reference.
    said
        How it stands beside the recommended one, why the answers rule it out, or that nothing is
        known for them.
    state
        "recommended", "fits", "out" or "unknown".
    costs
        What it costs, in the order of the guide's `costs`.
    over
        The places of those costs that rule it out.
    own
        The ends of the interval on the reader's own kind of data alone, None if there is none.
    method
        A method's key, for its color.
    href
        The address of what explains it, which its name leads to; empty if nothing does.

    Raises
    ------
    TypeError, ValueError
        For words that are empty or no strings, a score without an interval, an unknown state or
        method, places that no cost has, and an address that is none.
    """

    label: str
    score: Score
    said: str
    state: str = "fits"
    costs: Sequence[str] = ()
    over: Sequence[int] = ()
    own: Sequence[float | int] | None = None
    method: str | None = None
    href: str = ""

    def __post_init__(self) -> None:
        _words("label", self.label)
        _words("said", self.said)
        if checks.text("href", self.href):
            _address("href", self.href)
        if not isinstance(self.score, Score) or self.score.interval is None:
            raise TypeError(
                f"score must be a Score with an interval, got {checks.given(self.score)}"
            )
        checks.one_of("state", self.state, STATES)
        for i, cost in enumerate(_sequence("costs", self.costs)):
            _words(f"costs[{i}]", cost)
        for i, place in enumerate(_sequence("over", self.over)):
            if checks.natural_int(f"over[{i}]", place) >= len(self.costs):
                raise ValueError(f"over[{i}] must be the place of a cost, got {place!r}")
        if self.own is not None:
            check_interval("own", self.own)
        if self.method is not None:
            checks.one_of("method", self.method, METHODS)


@dataclass(frozen=True)
class Ranked:
    """What some answers lead to.

    Attributes
    ----------
    first
        What is recommended.
    rows
        All candidates, first those that fit, then those that are ruled out, which stand folded;
        none where there is no list. Of more than seven that fit six are shown, and the others
        stand folded, too. Neighbors of which the same is said stand below these words.
    measure
        What their differences are of; needed with rows.

    Raises
    ------
    TypeError, ValueError
        For values of another kind, and rows without a measure.
    """

    first: Entry
    rows: Sequence[Candidate] = ()
    measure: Measure | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.first, Entry):
            raise TypeError(f"first must be an Entry, got {checks.given(self.first)}")
        if not all(isinstance(row, Candidate) for row in _sequence("rows", self.rows)):
            raise TypeError(f"rows must be Candidates, got {checks.given(self.rows)}")
        if (self.rows or self.measure is not None) and not isinstance(self.measure, Measure):
            raise TypeError(f"measure must be a Measure, got {checks.given(self.measure)}")


def guide(
    questions: Sequence[Question],
    rank: Callable[..., Ranked],
    *,
    name: str = "guide",
    caption: str = "",
    costs: Sequence[str] = (),
    notes: Sequence[tuple[str, str]] = (),
    start: Mapping[str, str] | None = None,
) -> "Guide":
    """Return a guide that a page's reader answers when a notebook cell ends with it.

    Parameters
    ----------
    questions
        One to eight; the first ones are those that are not folded.
    rank
        Called as ``rank(data="small", memory="one")`` with each combination of answers.
    name
        What other places of the book call it. The address ``#guide:data=small&memory=one`` gives
        its answers.
    caption
        What it is for.
    costs
        What the candidates' costs are called.
    notes
        How the list of candidates is read, and its evidence: pairs as those of an `Entry`. The
        first stands in the head of the list, its lines below each other, all others folded below
        it.
    start
        The first answer to some of the questions; by default their first option.

    Raises
    ------
    TypeError, ValueError
        For questions of another kind, more than eight or with more than 1,000 combinations of
        answers, a key that two questions have, an open question after a folded one, a `rank` that
        is no function of the answers or returns anything but a `Ranked`, an entry or candidates
        with other costs, and a start with an unknown question or option.

    Examples
    --------
    >>> from ensedu.book.page.ranking import Measure, Score
    >>> small = Entry("BatchEnsemble", [("It is small.", "a.html#fig-a")], "batch_ensemble")
    >>> best = Entry("Deep ensemble", [("It is [best].", "a.html#fig-b")], "deep_ensemble")
    >>> one, four = Score(-0.2, (-0.3, -0.1), "better"), Score(-0.4, (-0.5, -0.3), "better")
    >>> def rank(memory):
    ...     fits = memory == "four"
    ...     rows = [
    ...         Candidate("deep ensemble", four, "4 networks", "recommended" if fits else "out"),
    ...         Candidate("BatchEnsemble", one, "worse", "fits" if fits else "recommended"),
    ...     ]
    ...     return Ranked(best if fits else small, rows, Measure("NLL", "lower", 1))
    >>> found = guide(
    ...     [Question("memory", "What fits into memory?", {"one": "one network", "four": "four"})],
    ...     rank,
    ... )
    >>> found.ranking(memory="four").first.label
    'Deep ensemble'
    """
    if not slider_checks.figure_name(name):
        raise ValueError(f"name must be small letters, digits and hyphens, got {name!r}")
    checks.text("caption", caption)
    for i, title in enumerate(_sequence("costs", costs)):
        _words(f"costs[{i}]", title)
    _pairs("notes", notes)
    asked = _questions(questions)
    first = {key: next(iter(question.options)) for key, question in asked.items()}
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(f"start must be a mapping of keys to answers, got {checks.given(start)}")
    for question, value in (start or {}).items():
        _known("start", asked, question, value)
        first[question] = value
    if not callable(rank) or isinstance(rank, type):
        raise TypeError(f"rank must be a function of the answers, got {checks.given(rank)}")
    try:
        inspect.signature(rank).bind(**first)
    except TypeError as error:
        raise TypeError(f"rank must take the answers {list(first)}: {error}") from None
    every = itertools.product(*(question.options for question in asked.values()))
    rankings = tuple(_ranked(rank, dict(zip(asked, each, strict=True)), costs) for each in every)
    return Guide(
        tuple(asked.values()),
        rankings,
        name,
        caption,
        tuple(costs),
        tuple((words, href) for words, href in notes),
        first,
    )


@dataclass(frozen=True, repr=False)
class Guide:
    """What `guide` returns.

    Attributes
    ----------
    questions
        What is asked.
    rankings
        One for each combination of answers; those to the last question change first.
    name, caption, costs, notes, start
        As `guide` takes them; ``start`` answers all questions.
    """

    questions: tuple[Question, ...]
    rankings: tuple[Ranked, ...]
    name: str
    caption: str
    costs: tuple[str, ...]
    notes: tuple[tuple[str, str], ...]
    start: Mapping[str, str]

    def ranking(self, **answers: str) -> Ranked:
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
        found = self.ranking()
        lines.append(found.first.text(self.costs))
        if found.rows:
            lines += [repr(self._text(found)), *(_said(*pair) for pair in self.notes[1:])]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = {"text/html": self.html()} if os.environ.get(BOOK) else {}
        return {"text/plain": repr(self)} | page

    def data(self) -> dict[str, Any]:
        """Return what the page's script needs: which ranking each combination of answers has.

        A ranking is the place of what is recommended, that of the list's head, those of its rows,
        of those that are too many, and of those that are ruled out, each among its `pieces`;
        `places` has one for each combination, in their order.
        """
        return self._looked_up()[0]

    def pieces(self) -> tuple[list[str], list[str], list[str]]:
        """Return the HTML of all that is recommended, of all heads and rows of lists, each once."""
        return self._looked_up()[1]

    def _looked_up(self) -> tuple[dict[str, Any], tuple[list[str], list[str], list[str]]]:
        entries: dict[str, int] = {}
        heads: dict[str, int] = {}
        rows: dict[str, int] = {}
        distinct: dict[tuple[Any, ...], int] = {}

        def place(known: dict[Any, int], one: Any) -> int:
            return known.setdefault(one, len(known))

        places = [
            place(
                distinct,
                (
                    place(entries, found.first.html(self.costs)),
                    place(heads, self._head(found)),
                    *(
                        tuple(place(rows, row) for row in self._rows(found, part))
                        for part in range(len(_parts(found)))
                    ),
                ),
            )
            for found in self.rankings
        ]
        data = {
            "name": self.name,
            "takes": {question.key: list(question.options) for question in self.questions},
            "start": dict(self.start),
            "rankings": list(distinct),
            "places": places,
        }
        return data, (list(entries), list(heads), list(rows))

    def html(self) -> str:
        """Return it for a page: the first answers and their ranking, until a script lives."""
        named = {"name": self.name, "caption": self.caption}
        about = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
        found = self.ranking()
        data, (entries, heads, rows) = self._looked_up()
        _, rest, out = _parts(found)
        notes = [_link(*pair) for pair in self.notes]
        folded = (
            f'<details class="ensedu-notes"><summary>{MORE_NOTES}</summary>'
            f"<ul>{''.join(f'<li>{note}</li>' for note in notes[1:])}</ul></details>"
        )
        return "\n".join(
            [
                f'<div class="ensedu-guide"{about}>',
                f'<div class="ensedu-live-only" hidden>{self._asked(more=False)}</div>',
                f'<p class="ensedu-setting">{escape(self._answered())}</p>',
                '<div class="ensedu-answer"><p class="ensedu-live" role="status">'
                '<span class="ensedu-hear">Answer: </span>'
                f'<span>{escape(found.first.label)}.</span><span class="ensedu-hear"></span></p>'
                '<button type="button" class="ensedu-live-only" aria-label="Go to the answer" '
                "hidden></button></div>",
                f'<ul class="ensedu-advice">{found.first.html(self.costs)}</ul>',
                self._folded(),
                f'<div class="ensedu-candidates"{"" if found.rows else " hidden"}>',
                self._table(found, "Candidates that fit", 0),
                f'<details class="ensedu-rest"{"" if rest else " hidden"}>'
                f"<summary>{len(rest)} more</summary>",
                self._table(found, "More candidates that fit", 1),
                "</details>",
                f'<details class="ensedu-ruled"{"" if out else " hidden"}>'
                f"<summary>{escape(_ruled(out))}</summary>",
                self._table(found, "Candidates that are ruled out", 2),
                "</details>",
                *([folded] if notes[1:] else []),
                f"</div><template><ul>{''.join(entries)}</ul><table><thead>{''.join(heads)}</thead>"
                f"<tbody>{''.join(rows)}</tbody></table></template>",
                f'<script type="application/json">{embedded(data)}</script></div>',
            ]
        )

    def _head(self, found: Ranked) -> str:
        """Return the head of a list, empty where there is none."""
        if found.measure is None:
            return '<tr role="row"></tr>'
        measured = (
            f"{escape(found.measure.title)} {direction(found.measure)}"
            '<span class="ensedu-difference"><span></span><span class="ensedu-bars">'
            f"{scale_html(_room(found), APART)}</span></span>"
        )
        titles = [measured, *map(escape, self.costs)]
        cells = "".join(f'<th role="columnheader" scope="col">{title}</th>' for title in titles)
        key = "".join(f'<p class="ensedu-key">{_lines(_link(*one))}</p>' for one in self.notes[:1])
        return f'<tr role="row"><td role="cell">{key}</td>{cells}</tr>'

    def _table(self, found: Ranked, called: str, part: int) -> str:
        return (
            f'<table class="ensedu-table" role="table" aria-label="{called}">'
            f'<thead role="rowgroup">{self._head(found)}</thead>'
            f'<tbody role="rowgroup">{"".join(self._rows(found, part))}</tbody></table>'
        )

    def _rows(self, found: Ranked, part: int) -> Iterator[str]:
        """Yield rows of a part, their bars on one scale, those of a kind below what is said."""
        if not found.rows:
            return
        assert found.measure is not None
        room = _room(found)
        parts = _parts(found)
        said = parts[0][-1].said if part == 1 and parts[1] else ""  # which goes on
        for row in parts[part]:
            if row.said != said and row.state != "recommended":
                yield (
                    f'<tr role="row" class="ensedu-rowgroup"><th role="rowheader" scope="rowgroup" '
                    f'colspan="{2 + len(self.costs)}">{escape(row.said)}</th></tr>'
                )
            said = row.said
            yield _row(row, found.measure, room, self.costs)

    def _text(self, found: Ranked) -> Table:
        """Return a list as aligned text."""
        assert found.measure is not None
        columns = [
            Column(VERDICT, words=True),
            Column(found.measure.head),
            *map(Column, self.costs),
        ]
        return Table(
            tuple(columns),
            tuple(
                text_table.Row(
                    row.label,
                    (
                        Cell(row.said),
                        Cell(_signed(row.score.mean, found.measure), _between(row, found.measure)),
                        *map(Cell, row.costs),
                    ),
                )
                for row in found.rows
            ),
        )

    def _asked(self, *, more: bool) -> str:
        """Return the questions of a kind as groups of buttons, empty if there is none."""
        groups = (
            radios(each.text, self.name, each.key, each.options, self.start[each.key])
            for each in self.questions
            if each.more == more
        )
        inside = "".join(groups)
        return f'<div class="ensedu-choices">{inside}</div>' if inside else ""

    def _folded(self) -> str:
        """Return the fold below the answer, which opens without moving it."""
        asked = self._asked(more=True)
        if not asked:
            return ""
        return (
            '<details class="ensedu-more ensedu-live-only" hidden><summary>More questions'
            f"</summary>{asked}</details>"
        )

    def _answered(self) -> str:
        """Say the first answers in words."""
        words = (f"{each.text} {each.options[self.start[each.key]]}." for each in self.questions)
        return " ".join(words)


def _parts(found: Ranked) -> tuple[Sequence[Candidate], ...]:
    """Return the rows that are listed, those that are too many, and those that are ruled out."""
    fit = [row for row in found.rows if row.state != "out"]
    shown = SHOWN if len(fit) > MOST_SHOWN else len(fit)
    return fit[:shown], fit[shown:], [row for row in found.rows if row.state == "out"]


def _ruled(out: Sequence[Candidate]) -> str:
    """Return what the fold of those who are ruled out is called: how many, and for what."""
    why = Counter(row.said for row in out)
    return f"{len(out)} ruled out: {', '.join(f'{said} ({k})' for said, k in why.items())}"


def _room(found: Ranked) -> Ends:
    """Return the room that the bars of all rows share."""
    ends = [(min(ends), max(ends)) for row in found.rows if (ends := row.score.interval)]
    return bar_room(ends)


def _row(row: Candidate, measure: Measure, room: Ends, titles: Sequence[str]) -> str:
    assert row.score.interval is not None
    low, high = row.score.interval
    bars = bar_html((low, high), room, resolved=False)
    verdict = f" {row.score.verdict}" if row.score.verdict else ""
    heard = f"{verdict} {_between(row, measure)}"
    if row.own:
        bars += bar_html((row.own[0], row.own[1]), room, resolved=False)
        heard += f", own kind alone [{', '.join(map(measure.written, row.own))}]"
    costs = "".join(
        f'<td role="cell" data-label="{escape(title)}"{" class=ensedu-over" * (i in row.over)}>'
        f"{escape(cost)}</td>"
        for i, (title, cost) in enumerate(zip(titles, row.costs, strict=True))
    )
    marked = '<span class="ensedu-hear"> recommended</span>' * (row.state == "recommended")
    own = f' data-method="{row.method}"' if row.method else ""
    zero = bar_place((0.0, 0.0), room)["zero"]
    name = f'<a href="{escape(row.href)}">{escape(row.label)}</a>' if row.href else ""
    return (
        f'<tr role="row" class="ensedu-{row.state}"{own}>'
        f'<th role="rowheader" scope="row"><span>{name or escape(row.label)}</span>{marked}</th>'
        f'<td role="cell"><span class="ensedu-difference">'
        f"<span>{_signed(row.score.mean, measure)}</span>"
        f'<span class="ensedu-hear">{heard}</span><span class="ensedu-bars" '
        f'style="--at: {zero:.3f}">{bars}</span></span>'
        f"</td>{costs}</tr>"
    )


def _signed(number: float, measure: Measure) -> str:
    return "+" * (round(number, measure.digits) > 0) + measure.written(number)


def _between(row: Candidate, measure: Measure) -> str:
    return f"[{', '.join(map(measure.written, row.score.interval or ()))}]"


def _said(words: str, href: str) -> str:
    return f"{''.join(_linked(words))} ({href})".replace("\n", " ")


def _lines(html: str) -> str:
    return "\n".join(f"<span>{line}</span>" for line in html.split("\n"))


def _link(words: str, href: str) -> str:
    before, linked, after = map(escape, _linked(words))
    return f'{before}<a href="{escape(href)}">{linked}</a>{after}'


def _linked(words: str) -> tuple[str, str, str]:
    """Return a sentence before its link, the link, and what follows."""
    before, *linked = LINKED.split(words)
    return (before, linked[0], linked[1]) if linked else ("", before, "")


def _words(name: str, value: Any) -> str:
    if not checks.text(name, value).strip():
        raise ValueError(f"{name} must be words, got {value!r}")
    return value


def _sequence(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a list or a tuple, got {checks.given(value)}")
    return value


def _pairs(name: str, value: Any) -> Sequence[Any]:
    """Return pairs of a sentence and the address that it links to."""
    accepted = "pairs of a sentence and an address"
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(value)}")
    for i, pair in enumerate(value):
        _pair(f"{name}[{i}]", pair)
    return value


def _pair(name: str, value: Any) -> None:
    """Raise unless this is a sentence and the address that it links to."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        accepted = "a pair of a sentence and an address"
        raise TypeError(f"{name} must be {accepted}, got {checks.given(value)}")
    if len(LINKED.findall(_words(f"{name}[0]", value[0]))) > 1:
        raise ValueError(
            f"{name}[0] must have one link in brackets at most, got {checks.shown(value[0])}"
        )
    _address(f"{name}[1]", checks.text(f"{name}[1]", value[1]))


def _address(name: str, value: str) -> None:
    """Raise unless this is an address."""
    if not ADDRESS.fullmatch(value):
        raise ValueError(
            f"{name} must be an address such as 'shootout.html#fig-contest', "
            f"got {checks.shown(value)}"
        )


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


def _ranked(rank: Callable[..., Any], answers: Mapping[str, str], costs: Sequence[str]) -> Ranked:
    found = rank(**answers)
    if not isinstance(found, Ranked):
        raise TypeError(f"rank must return a Ranked, got {checks.given(found)} for {dict(answers)}")
    if found.first.costs and len(found.first.costs) != len(costs):
        raise ValueError(
            f"rank must return an entry with the costs {list(costs)} or none, got "
            f"{found.first.costs!r} for {dict(answers)}"
        )
    for row in found.rows:
        if len(row.costs) != len(costs):
            raise ValueError(
                f"rank must return candidates with the costs {list(costs)}, got {row.costs!r} "
                f"for {dict(answers)}"
            )
    return found
