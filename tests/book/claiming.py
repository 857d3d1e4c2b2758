"""Claims: what a chapter's prose says in numbers, and what shows that it is so.

A module in `tests/book/claims` makes the claims of one chapter, a line each::

    CLAIMS = Claims("learning/example", unclaimed={"a published figure": ["published as 4.2"]})
    says = CLAIMS.says

    says("1.70 times as deep", lambda: depth("B") / depth("A"))
    says("the shore is flat", lambda: slope() < 0.01)

A claim computes the numbers that its words show, in their order, or whether the words are true; if
it reads tables, it must notice when what it reads there is altered. Here stands how a page is read,
and how a table is altered; `test_claims.py` runs all claims.
"""

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from hashlib import md5
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


def every(table: str, *way: str | int | Mapping[str, Any]) -> list[Any]:
    """Return all that a table holds at the end of a way.

    A step of the way is a key, an index, or a mapping, which stands for all rows that have these
    values.
    """
    found: list[Any] = [measured.load(table)]
    for step in way:
        if isinstance(step, Mapping):
            rows = [row for rows in found for row in rows]
            found = [row for row in rows if all(row.get(k) == v for k, v in step.items())]
        else:
            found = [one[step] for one in found]
    assert found, f"{table} has no row with {way}"
    return found


def entry(table: str, *way: str | int | Mapping[str, Any]) -> Any:
    """Return what a table holds at the end of a way, or the mean of several."""
    found = every(table, *way)
    return found[0] if len(found) == 1 else np.mean(found, axis=0)


def reader(table: str, *way: str, by: str, **fixed: Any) -> Callable[..., Any]:
    """Return what reads an entry by values of some keys, in this order, and the rest of its way."""
    keys = by.split()

    def read(*asked: Any) -> Any:
        row = dict(zip(keys, asked, strict=False)) | fixed
        return entry(table, *way, row, *asked[len(keys) :])

    return read


@dataclass(frozen=True)
class Claim:
    """A few words of a page, or several for the same reason, and what computes what they say."""

    fragments: tuple[str, ...]
    value: Callable[[], Any]
    whatever: str = ""

    def otherwise(self) -> str:
        """Return what is computed, if it is not what the words say."""
        found = self.value()
        if isinstance(found, bool | np.bool_):
            return "" if found else f"{self.fragments} is not so"
        values = np.atleast_1d(np.asarray(found, float)).tolist()
        wrong = [said for said in self.fragments if not shows(numbers(said), values)]
        return f"{wrong} says something else than {values}" if wrong else ""


@dataclass
class Claims:
    """The claims of a chapter, such as ``"learning/shootout"``.

    `unclaimed` are fragments of sentences that need no claim, by the reason.
    """

    chapter: str
    unclaimed: Mapping[str, list[str]] = field(default_factory=dict)
    all: list[Claim] = field(default_factory=list)

    def says(self, said: str | Sequence[str], value: Callable[[], Any], whatever: str = "") -> None:
        """Claim that the page says this, in one place or in several, for the same reason.

        `value` returns the numbers in the words, in their order (of a percentage the share; numbers
        that are spelled out can be left out), or True. `whatever` is why it holds whatever stands
        in the tables that it reads.
        """
        self.all.append(Claim((said,) if isinstance(said, str) else (*said,), value, whatever))

    def reads(
        self, said: str | Sequence[str], *way: str | int | Mapping[str, Any],
        of: Callable[[Any], Any] = lambda found: found,
    ) -> None:  # fmt: skip
        """Claim what a table holds at the end of a way, or `of` that."""
        self.says(said, lambda: of(entry(*way)))

    def places(self, page: list["Sentence"]) -> set["Sentence"]:
        """Return the sentences that are claimed."""
        return {place(fragment, page) for claim in self.all for fragment in claim.fragments}


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
    rf"((?:(?<!\d)[-−])?\d[\d,]*(?:\.\d+)?)|\b({'|'.join(WORDS)}|twice|half)\b", flags=re.IGNORECASE
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

    Headings, the goals of the opening box, questions, what is stated and proved in a proposition's
    box, and all from the exercises on need no claim. Code, displayed formulas, citations and names
    of targets are left out.
    """
    found, exercises = [], False
    for cell in cells:
        if cell["cell_type"] != "markdown":
            continue
        for block, free in blocks(cell["source"].splitlines()):
            exercises |= block.strip() == "## Exercises"
            for sentence in END.split(cleaned(block)):
                due = DUE.search(sentence) and not (free or exercises or sentence.endswith("?"))
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
            proved = any(kind.startswith("prf:") for _, kind in opened)
            yield " ".join(paragraph), goal or proved
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
    said = claims.places(page)
    said |= {place(fragment, page) for why in claims.unclaimed.values() for fragment in why}
    return [sentence.text for sentence in page if sentence.due and sentence not in said]


def needless(claims: Claims, page: list[Sentence]) -> list[str]:
    """Return what is listed as unclaimed without a reason, or need not be listed."""
    said = claims.places(page)
    return [
        fragment
        for why, fragments in claims.unclaimed.items()
        for fragment in fragments
        if not why or not (one := place(fragment, page)).due or one in said
    ]


class Row(dict):
    """A mapping of a table that remembers which of its keys were read."""

    def __init__(self, found: Mapping[str, Any]):
        super().__init__(found)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def __iter__(self) -> Iterator[str]:
        return iter([*super().__iter__()])  # a copy asks for each key, too

    def items(self):
        self.read.update(self)
        return super().items()

    def values(self):
        self.read.update(self)
        return super().values()


def cells(value: Any, column: str = "", words: str = "") -> Iterator[tuple[str, Row, str, str]]:
    """Yield all that a table says: its column, where it stands, and the words of its row."""
    if isinstance(value, list):
        for one in value:
            yield from cells(one, column, words)
    elif isinstance(value, Row):
        inside = {key: dict.get(value, key) for key in value}
        if column:  # a table's own words and its task stand for all of its rows
            own = (one for key, one in inside.items() if isinstance(one, str) and key != "task")
            words += "".join(own)
        for key, one in inside.items():
            if not isinstance(one, Row):
                yield f"{column}/{key}", value, key, words
            if holds_rows(one):
                yield from cells(one, f"{column}/{key}", words)


def holds_rows(value: Any) -> bool:
    return any(map(holds_rows, value)) if isinstance(value, list) else isinstance(value, Row)


def altered(value: Any, kind: str, place: str, how: int) -> Any:
    """Return something else, by chance, one for a kind or for a place.

    A number is more or less by up to 128, or (`how` 1) times a factor, or (2) one below 0, in
    lists that end earlier; a list of rows always does.
    """
    if holds_rows(value):
        return value[:-1]
    chance = md5((kind or place).encode()).digest()[0]
    if isinstance(value, list):
        found = [altered(one, kind, f"{place} {i}", how) for i, one in enumerate(value)]
        return found[:-1] if how == 2 else found
    if isinstance(value, bool | str):
        others = [one for one in (True, False, *VERDICTS) if one != value]
        return others[chance % len(others)]
    if how == 0:
        return (value or 0) + chance - 127.5
    return (value or 1) * (0.1, 0.5, 2, 10)[chance % 4] * (3 - 2 * how)


VERDICTS, ALTERATIONS = ("", "better", "worse"), 18
#: The modules that read tables of these names alone, and keep for long what they take long to find.
CONTEST, ITS_TABLES = "workshop.experiments.contest", "contest/"


def family(table: str) -> str:
    """Return a table's name, or what those of the contest have in common."""
    return ITS_TABLES if table.startswith(ITS_TABLES) else table


class TableRead(Exception):
    """A claim has asked for a table, where there is none."""


def by_table(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Return claims by the table that they read first, or "" for none."""

    def refuse(name: str) -> None:
        raise TableRead(family(name))

    found: dict[str, list[Claim]] = {}
    with tables_from(refuse, ITS_TABLES):
        for claim in claims:
            table = ""
            try:
                claim.value()
            except TableRead as first:
                table = str(first)
            found.setdefault(table, []).append(claim)
    return found


def deaf(claims: list[Claim], table: str) -> list[Claim]:
    """Return the claims that stay true whatever is altered of what they read in a table.

    A column is altered at a time: its numbers each, by the words of their rows, or a quarter. Of
    several tables one is then missing.
    """
    load, tables = measured.load, dict[str, Any]()

    def kept(name: str) -> Any:
        if family(name) != table:
            return load(name)
        if name not in tables:
            tables[name] = json.loads(json.dumps(load(name)), object_hook=Row)
        return tables[name]

    with tables_from(kept, table):
        assert not (wrong := [said for claim in claims if (said := claim.otherwise())]), wrong
    columns: dict[str, list[tuple[Row, str, str, Any]]] = {}
    for column, row, key, words in cells([*tables.values()]):
        if key in row.read:
            columns.setdefault(column, []).append((row, key, words, dict.get(row, key)))
    # What was measured first, for it matters most.
    measured_first = sorted(columns.values(), key=lambda own: not is_float(own[0][3]))
    fewer = [name for name in measured.names() if name != max(tables)]
    claims = [claim for claim in claims if not claim.whatever]
    for seed in range(ALTERATIONS):
        for column in measured_first:
            for i, (row, key, words, value) in enumerate(column):
                kind = ("", f"{seed} {words}", f"{seed} {4 * i // len(column)}")[seed % 3]
                row[key] = altered(value, kind, f"{seed} {i}", seed // 3 % 3)
            with tables_from(kept, table):
                claims = [claim for claim in claims if not notices(claim)]
            for row, key, _, value in column:
                row[key] = value
            if not claims:
                return []
        with mock.patch.object(measured, "names", lambda: fewer), tables_from(kept, table):
            claims = [claim for claim in claims if not notices(claim)]
    return claims


def is_float(value: Any) -> bool:
    return is_float(value[0]) if isinstance(value, list) and value else isinstance(value, float)


def notices(claim: Claim) -> bool:
    """Say whether a claim computes something else than it says; an error is no answer."""
    try:
        return bool(claim.otherwise())
    except Exception:
        return False


@contextmanager
def tables_from(load: Callable[[str], Any], table: str) -> Iterator[None]:
    """Let all who read this table, or others, get them from here."""
    try:
        with mock.patch.object(measured, "load", load):
            forget(table)
            yield
    finally:
        forget(table)


def forget(table: str) -> None:
    """Empty the caches of the book's modules that read measurements, and may have read this table.

    What claims keep, they find without a table: else they would be deaf.
    """
    ours = tuple(name for name in sys.modules if name.startswith("workshop."))
    for name, cache in caches(ours):
        if table.startswith(ITS_TABLES) or not name.startswith(CONTEST):
            cache.cache_clear()


@functools.lru_cache(maxsize=1)
def caches(modules: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return the caches in those modules that read measurements, each with its module's name."""
    found = []
    for name in modules:
        kept = [*vars(sys.modules[name]).values()]
        if any(one is measured for one in kept):
            found += [(name, one) for one in kept if hasattr(one, "cache_clear")]
    return found
