"""Claims: what a chapter's prose says in numbers, and what shows that it is so.

A module in `tests/book/claims` makes the claims of one chapter, a line each::

    CLAIMS = Claims("learning/example", unclaimed={"published as 4.2": "a published figure"})
    says = CLAIMS.says

    says("1.70 times as deep", lambda: depth("B") / depth("A"), pond("B", times=2))
    says("the shore is flat", lambda: slope() < 0.01)

A claim computes the numbers that its words show, in their order, or whether the words are true;
each change of a table that follows must make it fail. Here stands how a page is read, and how a
table is changed; `test_claims.py` runs all claims.
"""

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any
from unittest import mock

import numpy as np

from workshop import measured

MOST_WORDS = 8
#: What a sentence must not say unclaimed: a digit, or one of the contest's words.
DUE = re.compile(r"\d|\b(?:better|worse|unclear|practically equal)\b", flags=re.IGNORECASE)

# A digit that is no number of the prose goes by another name until all sentences are found.
HIDDEN = {ord(str(i)): chr(0xE000 + i) for i in range(10)}
SHOWN = {ord(hidden): chr(digit) for digit, hidden in HIDDEN.items()}


@dataclass(frozen=True)
class Change:
    """A change of a table that a claim must notice: the table, the way to its value, and to what.

    A step of the way is a key, an index, or a mapping, which stands for all rows that have these
    values. The value becomes another one, or each number in it is multiplied.
    """

    table: str
    way: tuple[str | int | Mapping[str, Any], ...]
    times: float | None
    to: Any

    def __init__(
        self, table: str, *way: str | int | Mapping[str, Any], times: float | None = None, to=None
    ):
        if (times is None) == (to is None) or not way or isinstance(way[-1], Mapping):
            raise ValueError(
                "a change needs a way that ends with a key or an index, and times or to"
            )
        for name, value in (("table", table), ("way", way), ("times", times), ("to", to)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        became = f"times {self.times}" if self.to is None else f"to {self.to!r}"
        return f"{self.table}: {' > '.join(map(str, self.way))} {became}"

    def places(self, table: dict[str, Any]) -> list[Any]:
        """Return all that holds a value to change."""
        places: list[Any] = [table]
        for step in self.way[:-1]:
            places = [found for place in places for found in follow(place, step)]
        assert places, f"{self}: no row has these values"
        return places

    def before(self) -> Any:
        """Return the value to change, as the table has it, or the mean of several."""
        found = [place[self.way[-1]] for place in self.places(measured.load(self.table))]
        return found[0] if len(found) == 1 else np.mean(found, axis=0)

    def apply(self, table: dict[str, Any]) -> None:
        """Change a table, which must be another one then."""
        last = self.way[-1]
        for place in self.places(table):
            new = multiplied(place[last], self.times) if self.to is None else self.to
            assert new != place[last], f"{self}: changes nothing"
            place[last] = new


def follow(place: Any, step: str | int | Mapping[str, Any]) -> list[Any]:
    """Return where a step leads: one place, or all rows that have these values."""
    if not isinstance(step, Mapping):
        return [place[step]]
    return [row for row in place if all(row.get(key) == value for key, value in step.items())]


def multiplied(value: Any, factor: float) -> Any:
    """Return a number, or numbers in lists, times a factor."""
    if isinstance(value, list):
        return [multiplied(one, factor) for one in value]
    return value * factor


@dataclass(frozen=True)
class Claim:
    """A few words of a page, what computes their numbers or truth, and what would break it."""

    fragment: str
    value: Callable[[], Any]
    changes: tuple[Change, ...]

    def holds(self) -> None:
        """Assert that the words are true, or show what is computed."""
        found, said = self.value(), self.fragment
        if isinstance(found, bool | np.bool_):
            assert found, f"{said!r} is not so"
        else:
            values = np.atleast_1d(np.asarray(found, float)).tolist()
            assert shows(numbers(said), values), f"{said!r} says something else than {values}"


@dataclass
class Claims:
    """The claims of a chapter, such as ``"learning/shootout"``.

    `unclaimed` are fragments of sentences that need no claim, each with the reason.
    """

    chapter: str
    unclaimed: Mapping[str, str] = field(default_factory=dict)
    all: list[Claim] = field(default_factory=list)

    def says(self, said: str | Sequence[str], value: Callable[[], Any], *changes: Change) -> None:
        """Claim that the page says this, in one place or in several, for the same reason.

        `value` returns the numbers in the words, in their order (of a percentage the share; numbers
        that are spelled out can be left out), or True. Each of the changes alone makes it fail.
        """
        first, *others = [said] if isinstance(said, str) else said
        self.all += [Claim(first, value, changes), *(Claim(one, value, ()) for one in others)]

    def reads(
        self, said: str, *way: str | int | Mapping[str, Any],
        of: Callable[[Any], Any] = lambda found: found, times: float = 2, to: Any = None,
    ) -> None:  # fmt: skip
        """Claim what a table holds at the end of a way, or `of` that; a change must be noticed."""
        change = Change(*way, times=times if to is None else None, to=to)
        self.says(said, lambda: of(change.before()), change)


@dataclass(frozen=True)
class Number:
    """A number as a page shows it: its digits, and whether it is spelled or a percentage."""

    shown: str
    spelled: bool = False
    percent: bool = False

    def shows(self, value: float) -> bool:
        """Say whether a value is shown like this."""
        decimals = len(self.shown.partition(".")[2])
        return f"{100 * value if self.percent else value:.{decimals}f}" == self.shown


WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen"
).split()
IN_TEXT = re.compile(
    rf"((?:(?<!\d)[-−])?\d[\d,]*(?:\.\d+)?)|\b({'|'.join(WORDS)}|twice|half)\b",
    flags=re.IGNORECASE,
)
SPELLED = {word: str(i) for i, word in enumerate(WORDS)} | {"twice": "2", "half": "0.5"}


def numbers(text: str) -> list[Number]:
    """Return the numbers that a text shows."""
    text, found = cleaned(text).replace("{,}", ","), []
    for one in IN_TEXT.finditer(text):
        percent = bool(re.match(r" ?(%|percent)", text[one.end() :]))
        shown = (one[1] or SPELLED[one[2].lower()]).replace(",", "").replace("−", "-")
        found.append(Number(shown, not one[1], percent))
    return found


def shows(there: list[Number], values: Sequence[float]) -> bool:
    """Say whether numbers show values, in this order; those that are spelled may show nothing."""
    if not values:
        return all(number.spelled for number in there)
    if not there:
        return False
    first, *rest = there
    taken = first.shows(values[0]) and shows(rest, values[1:])
    return taken or (first.spelled and shows(rest, values))


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page as plain text, and whether it must be claimed."""

    text: str
    due: bool


# Markup, and what takes its place.
NUMBER = re.compile(r"[\d.,−–+% -]+")
CITED = re.compile(r"\{cite[^}]*\}`[^`]*`")
ROLE = re.compile(r"\{[a-z:-]+\}`([^`<]*?)(?: *<[^`>]*>)?`")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)]*)\)")
MARKUP = (
    (re.compile(r"<[^>\s][^>]*>"), ""),
    (re.compile(r"\*+"), ""),
    (re.compile(r"\\(?=[^\w\s])"), ""),
    (re.compile(r"\s+"), " "),
    (re.compile(r" (?=[.,;:!?)])"), ""),
)
#: Names that hold digits: MNIST-5000, rank-1, x1.
NAME = re.compile(r"(?<![\w.-])[^\W\d_]\w*(?:-\w+)*")


def hide(text: str) -> str:
    """Return a text whose digits are no numbers."""
    return text.translate(HIDDEN)


def cleaned(text: str) -> str:
    """Return a text without markup; the digits of formulas, code, names and sliders are hidden."""
    text = CITED.sub("", text)
    text = ROLE.sub(r"\1", text)
    text = re.sub(r"(`+)(.+?)\1", lambda code: hide(code[2]), text)
    text = re.sub(
        r"(?<!\\)\$([^$]+)\$",
        lambda formula: formula[1] if NUMBER.fullmatch(formula[1]) else hide(formula[1]),
        text,
    )
    text = LINK.sub(lambda link: hide(link[1]) if link[2].startswith("set:") else link[1], text)
    for markup, other in MARKUP:
        text = markup.sub(other, text)
    return NAME.sub(lambda name: hide(name[0]), text).strip()


def plain(text: str) -> str:
    """Return a text without markup."""
    return cleaned(text).translate(SHOWN)


END = re.compile(r"""(?<=[.?!])(?<!\b(?:al|eq)\.)(?<!\be\.g\.)["')”]*\s+(?=[^a-z\s])""")
FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})\s*(?:\{([^}]*)\})?(.*)")
#: Directives whose body is text of the page; of others, and of plain code, nothing is read.
TEXT = re.compile(
    r"opening|dropdown|exercise|solution|admonition|note|tip|hint|warning|important|seealso|margin"
    r"|sidebar|grid.*|card|tab-.*|prf:.*|figure|table|div"
)
GOALS = "You will be able to"  # the title of the opening box
ITEM = re.compile(r"(\d+\.|[-*+])\s+")


def sentences(cells: Iterable[Mapping[str, Any]]) -> list[Sentence]:
    """Return the sentences of a notebook's cells of text, in their order.

    Headings, the goals of the opening box, and all from the exercises on need no claim. Code,
    displayed formulas, citations and names of targets are left out.
    """
    found, exercises = [], False
    for cell in cells:
        if cell["cell_type"] != "markdown":
            continue
        for block, free in blocks(cell["source"].splitlines()):
            exercises |= block.strip() == "## Exercises"
            for sentence in END.split(cleaned(block)):
                due = DUE.search(sentence) and not (free or exercises)
                if text := sentence.translate(SHOWN).strip():
                    found.append(Sentence(text, bool(due)))
    return found


def blocks(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs, items and headings, each with whether it needs no claim anyway."""
    paragraph: list[str] = []
    opened: list[tuple[str, str]] = []  # the fences that are open, and what each is
    formula, goal, options = "", False, False  # how an open formula ends

    def told() -> Iterator[tuple[str, bool]]:
        if paragraph:
            yield " ".join(paragraph), goal
            paragraph.clear()

    for line in map(str.strip, lines):
        if formula:
            formula = "" if line.endswith(formula) else formula
            continue
        fence = FENCE.fullmatch(line)
        silent = opened and not TEXT.fullmatch(opened[-1][1])
        if fence and opened and fence[1] == opened[-1][0] and not (fence[2] or fence[3]):
            yield from told()
            opened.pop()
            goal = False
        elif silent:
            continue
        elif fence:
            yield from told()
            if not (fence[2] or "").startswith("solution-"):
                goals = fence[3].strip() == GOALS
                opened.append((fence[1], "opening" if goals else fence[2] or "code"))
            options = True
        elif options and re.match(r":[\w-]+:", line):
            continue
        else:
            options = False
            if line.startswith(("$$", r"\begin{")):
                yield from told()
                formula = "$$" if line.startswith("$$") else line.replace("begin", "end", 1)
                formula = "" if line[2:].endswith(formula) else formula
            elif line.startswith("#"):
                yield from told()
                yield line, True
            elif not line or re.fullmatch(r"\(\S+\)=|\|[-:| ]+\|", line):
                yield from told()
                goal = False
            elif item := ITEM.match(line):
                yield from told()
                goal = bool(opened) and opened[-1][1] == "opening"
                paragraph.append(line[item.end() :])
            elif line.startswith("|"):
                yield from told()
                yield line, False
            else:
                paragraph.append(line)
    yield from told()


def place(fragment: str, page: list[Sentence]) -> Sentence:
    """Return the one sentence of a page that holds a fragment, once."""
    wanted = plain(fragment)
    assert len(wanted.split()) <= MOST_WORDS, f"{fragment!r} has more than {MOST_WORDS} words"
    pattern = re.compile(rf"(?<![\w.,]){re.escape(wanted)}(?!\w|[.,]\d)")
    holding = [sentence for sentence in page for _ in pattern.finditer(sentence.text)]
    if len(holding) > 1:
        stands = "\n".join(f"- {sentence.text}" for sentence in holding)
        raise AssertionError(f"{fragment!r} stands in {len(holding)} places:\n{stands}")
    if not holding:
        near = max(page, key=lambda sentence: likeness(wanted, sentence.text)).text
        raise AssertionError(f"the page does not say {fragment!r}. Nearest to it is:\n{near}")
    return holding[0]


def likeness(fragment: str, sentence: str) -> float:
    """Return how near a sentence comes to a fragment, 1 if it holds it."""
    words, size = sentence.split(), len(fragment.split())
    starts = range(max(1, len(words) - size + 1))
    parts = (" ".join(words[i : i + size]) for i in starts)
    return max(SequenceMatcher(None, part, fragment, autojunk=False).ratio() for part in parts)


def unsaid(claims: Claims, page: list[Sentence]) -> list[str]:
    """Return the sentences that must be claimed, and are neither claimed nor listed."""
    said = {place(claim.fragment, page) for claim in claims.all}
    said |= {place(fragment, page) for fragment in claims.unclaimed}
    return [sentence.text for sentence in page if sentence.due and sentence not in said]


def needless(claims: Claims, page: list[Sentence]) -> list[str]:
    """Return what is listed as unclaimed without a reason, or need not be listed."""
    said = {place(claim.fragment, page) for claim in claims.all}
    return [
        fragment
        for fragment, why in claims.unclaimed.items()
        if not why or not (one := place(fragment, page)).due or one in said
    ]


@contextmanager
def changed(change: Change) -> Iterator[None]:
    """Let `measured` read the tables as they are after a change."""
    assert change.table in measured.names(), f"{change}: there is no such table"
    table = measured.load(change.table)
    change.apply(table)
    text, read = json.dumps(table), measured._text
    try:
        with mock.patch.object(
            measured, "_text", lambda name: text if name == change.table else read(name)
        ):
            forget(change.table)
            yield
    finally:
        forget(change.table)


#: The modules that read tables of these names alone, and keep for long what they take long to find.
CONTEST, ITS_TABLES = "workshop.experiments.contest", "contest/"


def forget(table: str) -> None:
    """Empty the caches of all modules that read measurements, and may have read this table."""
    ours = tuple(name for name in sys.modules if name.startswith(("workshop.", "tests.book.")))
    for name, cache in caches(ours):
        if table.startswith(ITS_TABLES) or not name.startswith(CONTEST):
            cache.cache_clear()


@functools.lru_cache(maxsize=1)
def caches(modules: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return the caches in those modules that read measurements, each with its module's name."""
    found = []
    for name in modules:
        kept = [*vars(sys.modules[name]).values()]
        if any(one is measured or one is measured.load for one in kept):
            found += [(name, one) for one in kept if hasattr(one, "cache_clear")]
    return found
