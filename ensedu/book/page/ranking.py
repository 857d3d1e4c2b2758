"""Results that a reader sorts: contestants in rows, and beside each number what is known of it.

The table is text in a notebook, sorted by the column that its author names. On a page of the book
a reader sorts it by any column, best or worst first, and chooses among several tables; each order
and its sentence are worked out here, so that page and notebook cannot differ.
"""

import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from ensedu.book.page import slider_checks
from ensedu.book.page.choices import radios
from ensedu.book.page.explore import Explorer, check_linked
from ensedu.book.page.frames import embedded
from ensedu.book.page.said import said
from ensedu.book.page.scripts import Bundle
from ensedu.common import checks
from ensedu.common.text_table import BOOK, Cell, Column, Row, Table
from ensedu.methods import METHODS

__all__ = ["BUNDLE", "Measure", "Ranking", "Score", "ranking"]

BUNDLE = Bundle("ensedu_ranking", ("common/widget", "common/address", "ranking"), dict)

BETTER = {"lower": "↓", "higher": "↑"}
MARKS, UNCLEAR = {"better": "▲", "worse": "▼"}, "unclear"
ENDS = ("best", "worst")
MISSING, MINUS = "–", "\N{MINUS SIGN}"
MOST_DIGITS = 15
INSIDE = re.compile(r"(?<=[a-z])(?=[A-Z])")  # where a name such as BatchEnsemble may break
Ends = tuple[float | int, float | int]
LINE = 80  # letters of a line of text
FAR = 4  # median ends of intervals: a bar that goes further is cut, or no other would be seen
# Round numbers for a scale of bars, and how far one must stand from 0, and from the ends of their
# room, in shares of it.
STEPS = [float(f"{digit}e{power}") for power in range(-9, 10) for digit in (1, 2, 5)]
APART, WHOLE = 0.28, 0.1
# Em that a bar behind the names, and a mark behind each number, take beyond what cells spare.
BAR, MARK = 3.6, 0.4


@dataclass(frozen=True)
class Measure:
    """A column of a ranking.

    Attributes
    ----------
    title
        What it is called, and how rows name it.
    better
        Which numbers are better, "lower" or "higher".
    digits
        How many digits stand behind the point.
    unit
        What the numbers are in, such as "nats".

    Raises
    ------
    TypeError, ValueError
        For words that are no strings, an empty title, another `better`, and digits that are no
        integers from 0 to 15.
    """

    title: str
    better: str
    digits: int = 2
    unit: str = ""

    def __post_init__(self) -> None:
        if not checks.text("title", self.title).strip():
            raise ValueError(f"title must be words, got {self.title!r}")
        checks.one_of("better", self.better, BETTER)
        if checks.natural_int("digits", self.digits) > MOST_DIGITS:
            raise ValueError(f"digits must be at most {MOST_DIGITS}, got {self.digits!r}")
        checks.text("unit", self.unit)

    def written(self, number: float | int) -> str:
        """Return a number as the table shows it."""
        return f"{number:z,.{self.digits}f}".replace("-", "−")

    @property
    def head(self) -> str:
        """The title, which way is better, and the unit."""
        unit = f", {self.unit}" if self.unit else ""
        return f"{self.title} {BETTER[self.better]}{unit}"

    def best_first(self, number: float | int) -> float | int:
        """Return what grows from the best number to the worst."""
        return number if self.better == "lower" else -number


@dataclass(frozen=True)
class Score:
    """A number of a ranking beside that of the reference.

    Attributes
    ----------
    mean
        The number itself.
    interval
        The ends of a 95% interval of the difference from the reference, None if there is none.
    verdict
        "better" or "worse" than the reference; empty if that is unclear, or not asked.

    Raises
    ------
    TypeError, ValueError
        For a mean that is no finite number, an interval that is not (low, high) in this order, and
        another verdict.
    """

    mean: float | int
    interval: Sequence[float | int] | None = None
    verdict: str = ""

    def __post_init__(self) -> None:
        checks.real("mean", self.mean)
        checks.one_of("verdict", self.verdict, ("", *MARKS))
        if self.interval is not None:
            check_interval("interval", self.interval)


@dataclass(frozen=True)
class Contestant:
    """A row: what it is called, the method whose color it has, and its numbers by title."""

    name: str
    method: str
    scores: Mapping[str, Score]
    reference: bool


def ranking(
    rows: Mapping[str, Mapping[str, Any]],
    columns: Sequence[Measure],
    *,
    start: str,
    name: str,
    caption: str = "",
    reference: str = "",
    colors: Mapping[str, str] | None = None,
    choose: str = "",
    linked: Explorer | None = None,
) -> "Ranking":
    """Return a table that a page's reader sorts when a notebook cell ends with it.

    Parameters
    ----------
    rows
        Names of contestants to what stands in their row: titles of columns to a number, a `Score`,
        or None for what is missing. A method's key becomes its name, with its color beside it.
        With `choose`, names of tables to such rows.
    columns
        The columns in their order, each a `Measure`. A table shows those that it has numbers of.
    start
        The title of the column that it is sorted by at first, best first.
    name
        What other places of the book call it, such as ``"fig-digits"``. The address
        ``#fig-digits:by=NLL&first=worst`` is a setting of its page.
    caption
        What it means.
    reference
        The row that differences are taken from. Scores with an interval or a verdict need it.
    colors
        Some of the names to the method whose color they get; a method's own name has it without.
    choose
        What a reader chooses a table by, such as ``"data set"``.
    linked
        An explorer, with a name, of the same page, with a slider of the name `choose` and some of
        the same values: both move together. With all of them, both have one choice on the page.

    Raises
    ------
    TypeError, ValueError
        For no tables, rows or columns, values of another kind or not finite, a title, row or
        method that does not exist, a table without the reference or without any number, a
        verdict that its interval contradicts, and a linked explorer without this choice.

    Examples
    --------
    >>> ranking(
    ...     {
    ...         "single": {"numbers": 2701, "NLL": 0.114},
    ...         "deep_ensemble": {"numbers": 10804, "NLL": Score(0.071, (-0.05, -0.03), "better")},
    ...     },
    ...     [Measure("numbers", "lower", 0), Measure("NLL", "lower", 3, "nats")],
    ...     start="NLL", name="fig-small", reference="single",
    ... )
                      numbers ↓                  NLL ↓, nats
    deep ensemble        10,804    0.071 ▲  [−0.050, −0.030]
    single network        2,701    0.114
    Sorted by NLL, best first: deep ensemble 0.071, single network 0.114. Compared
    with single network: 1 better.
    """
    if not slider_checks.figure_name(name):
        raise ValueError(f"name must be small letters, digits and hyphens, got {name!r}")
    checks.text("caption", caption)
    checks.text("choose", choose)
    checks.text("reference", reference)
    measures = _measures(columns)
    checks.one_of("start", start, measures)
    tables = _mapping("rows", rows) if choose else {"": rows}
    deep = [row for table in tables.values() for row in _mapping("rows", table).values()]
    if choose and not all(isinstance(row, Mapping) for row in deep):
        raise TypeError(
            f"rows must be names of tables to rows, since choose is {checks.shown(choose)}, "
            f"got {checks.given(rows)}"
        )
    known = {row for table in tables.values() for row in _mapping("rows", table)}
    if colors is not None and not isinstance(colors, Mapping):
        raise TypeError(f"colors must be a mapping of rows to methods, got {checks.given(colors)}")
    own = {row: row for row in known if row in METHODS}
    for row, method in (colors or {}).items():
        if row not in known:
            raise ValueError(
                f"colors names the row {checks.shown(row)}, accepted are {sorted(known)}"
            )
        own[row] = checks.one_of(f"colors[{row!r}]", method, METHODS)
    parts = tuple(
        _part(option, table, measures, start, reference, own) for option, table in tables.items()
    )
    first, group = next(iter(tables)), ""
    if linked is not None:
        check_linked(linked, {choose: list(tables)})
        group, begun = linked.group, linked.values[choose]
        first = begun if begun in tables else first
    return Ranking(parts, start, name, caption, _label(reference), choose, first, group)


@dataclass(frozen=True)
class Part:
    """One table of a ranking: its columns, and its rows in the order in which they were given."""

    option: str
    measures: tuple[Measure, ...]
    rows: tuple[Contestant, ...]
    start: Measure

    def order(self, measure: Measure, end: str) -> list[int]:
        """Return the rows from one end, "best" or "worst", those without a number last."""
        there = [i for i, row in enumerate(self.rows) if measure.title in row.scores]
        sign = 1 if end == "best" else -1
        there.sort(key=lambda i: sign * measure.best_first(self._mean(i, measure)))
        return [*there, *(i for i in range(len(self.rows)) if i not in there)]

    def said(self, measure: Measure, end: str, reference: str) -> str:
        """Return in words what stands first and last, and how many are better, worse, unclear."""
        order = [i for i in self.order(measure, end) if measure.title in self.rows[i].scores]
        groups = [
            f"{_listed([self.rows[i].name for i in tied])} {measure.written(mean)}"
            for mean, tied in groupby(order, lambda i: self._mean(i, measure))
        ]
        if len(groups) > 2:
            groups = [f"{groups[0]} first", f"{groups[-1]} last"]
        head = f"{self.option[0].upper()}{self.option[1:]}, sorted" if self.option else "Sorted"
        words = f"{head} by {measure.title}, {end} first: {', '.join(groups)}."
        if not (self.judged and self.compared(measure)):
            return words
        others = [self.rows[i].scores[measure.title] for i in order if not self.rows[i].reference]
        verdicts = [score.verdict or UNCLEAR for score in others]
        kinds = [each for each in (*MARKS, UNCLEAR) if each in verdicts]
        told = ", ".join(f"{verdicts.count(each)} {each}" for each in kinds)
        return f"{words} Compared with {reference}: {told}."

    @property
    def judged(self) -> bool:
        """Whether any difference has a verdict: where none has, none is unclear either."""
        return any(score.verdict for row in self.rows for score in row.scores.values())

    def compared(self, measure: Measure) -> bool:
        """Whether a column has differences from the reference."""
        return any(
            _compared(row.scores[measure.title]) for row in self.rows if measure.title in row.scores
        )

    def cell(self, row: Contestant, measure: Measure) -> tuple[str, str, str]:
        """Return a number, its mark and its interval as text."""
        score = row.scores.get(measure.title)
        if score is None:
            return MISSING, "", ""
        mark = MARKS.get(score.verdict, "")
        if score.interval is None:
            return measure.written(score.mean), mark, ""
        return (
            measure.written(score.mean),
            mark,
            f"[{', '.join(map(measure.written, score.interval))}]",
        )

    def bars(self, measure: Measure) -> tuple[dict[str, Ends], Ends]:
        """Return the intervals that have a bar, and the room that these share."""
        found = {
            row.name: (min(interval), max(interval))
            for row in self.rows
            if measure.title in row.scores and (interval := row.scores[measure.title].interval)
        }
        return found, bar_room(list(found.values())) if found else (0.0, 0.0)

    def _mean(self, place: int, measure: Measure) -> float | int:
        return self.rows[place].scores[measure.title].mean

    def text(self) -> Table:
        """Return it as aligned text, sorted by its first column of choice, with its intervals."""
        rows = [self.rows[i] for i in self.order(self.start, ENDS[0])]
        marked = {measure.title for measure in self.measures if self.compared(measure)}

        def cell(row: Contestant, measure: Measure) -> Cell:
            number, mark, between = self.cell(row, measure)
            text = f"{number} {mark or ' '}" if measure.title in marked else number
            return Cell(text, between if measure is self.start else "")

        return Table(
            tuple(Column(measure.head) for measure in self.measures),
            tuple(Row(row.name, tuple(cell(row, each) for each in self.measures)) for row in rows),
            self.option,
        )

    def widths(self) -> tuple[float, float, float]:
        """Return how wide it is in em: with intervals, with bars, and a line of its blocks."""
        columns = tuple(Column(measure.title) for measure in self.measures)

        def table(*, intervals: bool) -> float:
            rows = []
            for row in self.rows:
                cells = []
                for measure in self.measures:
                    number, _, between = self.cell(row, measure)
                    parts = between.split() if intervals else []
                    cells.append(Cell(max(number, *parts, "", key=len)))
                rows.append(Row(row.name, tuple(cells), row.method))
            return Table(columns, tuple(rows)).table_width() + MARK * len(columns)

        room = BAR if any(self.bars(measure)[0] for measure in self.measures) else 0.0
        return table(intervals=True), table(intervals=False) + room, self.text().block_line_width()


@dataclass(frozen=True, repr=False)
class Ranking:
    """What `ranking` returns: one table or several, each sorted by any of its columns."""

    parts: tuple[Part, ...]
    start: str
    name: str
    caption: str = ""
    reference: str = ""
    choose: str = ""
    first: str = ""
    group: str = ""

    def __repr__(self) -> str:
        lines = [self.caption] if self.caption else []
        for part in self.parts:
            said = part.said(part.start, ENDS[0], self.reference)
            lines += [repr(part.text()), *textwrap.wrap(said, LINE)]
        return "\n".join(lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        page = {"text/html": self.html()} if os.environ.get(BOOK) else {}
        return {"text/plain": repr(self)} | page

    def data(self) -> dict[str, Any]:
        """Return what the page's script needs: of each table every order, and its sentence."""
        options = [part.option for part in self.parts]
        titles = {measure.title for part in self.parts for measure in part.measures}
        return {
            "name": self.name,
            "takes": {"show": options, "by": sorted(titles), "first": list(ENDS)},
            "start": {"show": self.first, "by": self.start, "first": ENDS[0]},
            "tables": [
                {
                    "option": part.option,
                    "start": part.start.title,
                    "by": [measure.title for measure in part.measures],
                    "bars": [bool(part.bars(measure)[0]) for measure in part.measures],
                    "shown": part.order(part.start, ENDS[0]),
                    "directions": [
                        dict(zip(ENDS, _directions(m), strict=True)) for m in part.measures
                    ],
                    "orders": [{end: part.order(m, end) for end in ENDS} for m in part.measures],
                    "said": [
                        {end: part.said(m, end, self.reference) for end in ENDS}
                        for m in part.measures
                    ],
                }
                for part in self.parts
            ],
        }

    def html(self) -> str:
        """Return the tables for a page, below each other until a script lets a reader choose."""
        first = next(part for part in self.parts if part.option == self.first)
        named = {"name": self.name, "caption": self.caption, "group": self.group}
        named |= {"choose": self.choose} if self.group else {}
        about = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
        options = {part.option: part.option for part in self.parts}
        chosen = radios(self.choose, self.name, "show", options, first.option)
        choice = f'<div class="ensedu-choices ensedu-live-only" hidden>{chosen}</div>'
        sentences = [
            part.said(measure, end, self.reference)
            for part in self.parts
            for measure in part.measures
            for end in ENDS
        ]
        return "\n".join(
            [
                f'<div class="ensedu-ranking"{about}>',
                *([choice] if self.choose else []),
                *(line for part in self.parts for line in self._section(part)),
                said(first.said(first.start, ENDS[0], self.reference), sentences),
                f'<p class="ensedu-key">{self._key()}</p>',
                f'<script type="application/json">{embedded(self.data())}</script></div>',
            ]
        )

    def _key(self) -> str:
        """Say what arrows, which only a page without scripts shows, marks and brackets mean."""
        measures = [measure for part in self.parts for measure in part.measures]
        words = []
        scores = [s for part in self.parts for row in part.rows for s in row.scores.values()]
        if any(score.verdict for score in scores):
            words.append(
                ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
                + f" than {self.reference}, no mark: {UNCLEAR}"
            )
        if any(score.interval for score in scores):
            words.append(f"a bar: the 95% interval of the difference from {self.reference}")
        rest = "; ".join(words) + "." * bool(words)
        rest = rest[:1].upper() + rest[1:]
        return f'<span class="ensedu-arrows">{_arrows(measures)} </span>{escape(rest)}'

    def _section(self, part: Part) -> Iterator[str]:
        side_by_side, barred, line = part.widths()
        label = f' aria-label="{escape(self.caption)}"' if self.caption and not part.option else ""
        rows = [part.rows[i] for i in part.order(part.start, ENDS[0])]
        yield (
            f'<section><div class="ensedu-ranked" style="--ensedu-table: {barred:.1f}">'
            '<div class="ensedu-press ensedu-live-only" hidden>Press a title to sort, once more to '
            f"turn the order. {_arrows(part.measures)}</div>"
            f'<div class="ensedu-table-box" style="--ensedu-table: {side_by_side:.1f}; '
            f"--ensedu-line: {line:.1f}; --ensedu-aside: 0; "
            f'--ensedu-columns: {len(part.measures)}">'
            # Where the style sheet takes its display away, a table is one by its roles alone.
            f'<table class="ensedu-table" role="table"{label}>'
        )
        if part.option:
            yield f"<caption>{escape(part.option)}</caption>"
        yield f'<thead role="rowgroup"><tr role="row"><td role="cell">{self._scales(part)}</td>'
        for measure in part.measures:
            yield self._title(part, measure)
        yield '</tr></thead><tbody role="rowgroup">'
        for row in rows:
            own = f' data-method="{escape(row.method)}"' if row.method else ""
            note = ' <span class="ensedu-note">reference</span>' if row.reference else ""
            words = INSIDE.sub("<wbr>", escape(row.name))
            lane = self._lane(part, row)
            name = f'<th role="rowheader" scope="row">{words}{note}{lane}</th>'
            yield f'<tr role="row"{own}>{name}'
            for measure in part.measures:
                yield self._cell(part, row, measure)
            yield "</tr>"
        yield "</tbody></table></div></div></section>"

    def _scales(self, part: Part) -> str:
        """Return what stands above bars: what they are of, and their scale; or nothing."""
        rooms = {measure.title: part.bars(measure) for measure in part.measures}
        return _lane_html(
            {
                i: f'<span class="ensedu-of">{escape(title)} difference</span>{scale_html(room)}'
                for i, (title, (found, room)) in enumerate(rooms.items())
                if found
            }
        )

    def _lane(self, part: Part, row: Contestant) -> str:
        """Return the bars of a row, one a column that has some, of which a script shows one."""
        bars = {}
        for i, measure in enumerate(part.measures):
            found, room = part.bars(measure)
            if row.name in found:
                resolved = bool(row.scores[measure.title].verdict)
                bars[i] = bar_html(found[row.name], room, resolved=resolved)
        return _lane_html(bars)

    def _title(self, part: Part, measure: Measure) -> str:
        sort = f' aria-sort="{_directions(measure)[0]}"' if measure is part.start else ""
        return (
            f'<th role="columnheader" scope="col"{sort}{_classes(part, measure)}>'
            f"<span>{escape(measure.title)}</span> {_unit_and_way(measure)}</th>"
        )

    def _cell(self, part: Part, row: Contestant, measure: Measure) -> str:
        number, mark, between = part.cell(row, measure)
        score = row.scores.get(measure.title)
        marked = ""
        if part.compared(measure):
            words = UNCLEAR if part.judged and score and _compared(score) else ""
            words = score.verdict or words if score else ""
            marked = f'<span class="ensedu-mark" aria-hidden="true">{mark}</span>' if mark else ""
            marked += f'<span class="ensedu-hear"> {words} </span>' if words else ""
        interval = f'<span class="ensedu-between">{between}</span>' if between else ""
        return (
            f'<td role="cell" data-label="{escape(measure.head)}"{_classes(part, measure)}>'
            f'<span class="ensedu-score"><span>{number}{marked}</span>{interval}</span></td>'
        )


def _lane_html(parts: Mapping[int, str]) -> str:
    """Return what stands at the end of a row's name, by the column that it is of."""
    inside = "".join(f'<span data-column="{i}">{part}</span>' for i, part in parts.items())
    return f'<span class="ensedu-lane" aria-hidden="true">{inside}</span>' if inside else ""


def _unit_and_way(measure: Measure) -> str:
    """Return a column's unit, and which way is better: an arrow to the eye, words to the ear."""
    unit = f'<span class="ensedu-note">{escape(measure.unit)}</span> ' if measure.unit else ""
    return (
        f'{unit}<span class="ensedu-way" aria-hidden="true">{BETTER[measure.better]}</span>'
        f'<span class="ensedu-hear"> {measure.better} is better</span>'
    )


def _arrows(measures: Sequence[Measure]) -> str:
    """Say what the arrows of some titles mean."""
    found = [better for better in BETTER if any(m.better == better for m in measures)]
    said = "; ".join(f"{BETTER[better]}\N{NO-BREAK SPACE}{better} is better" for better in found)
    return f"{said}."


def direction(measure: Measure) -> str:
    """Return the unit of a column, and which way is better, as a small note."""
    unit = f"{escape(measure.unit)}, " if measure.unit else ""
    return f'<span class="ensedu-note">{unit}{measure.better} is better</span>'


def check_interval(name: str, value: Any) -> None:
    """Raise unless a value is (low, high) in this order."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{name} must be (low, high), got {checks.given(value)}")
    low, high = (checks.real(f"{name}[{i}]", end) for i, end in enumerate(value))
    if low > high:
        raise ValueError(f"{name} must be (low, high) in this order, got {value!r}")


def bar_room(intervals: Sequence[Ends], far: float | int = FAR) -> Ends:
    """Return the ends of the room that the bars of some intervals share, 0 between them.

    No bar goes further than `far` times the median end.
    """
    ends = sorted(max(-low, high) for low, high in intervals)
    most = far * ends[len(ends) // 2] or 1.0
    low = max(-most, min(0.0, *(low for low, _ in intervals)))
    high = min(most, max(0.0, *(high for _, high in intervals)))
    return low, high


def bar_place(interval: Ends, room: Ends) -> dict[str, float]:
    """Return where an interval begins and ends, and where 0 is, in shares of a bar's room."""
    low, high = room

    def share(value: float | int) -> float:
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5

    return {"zero": share(0.0), "from": share(interval[0]), "to": share(interval[1])}


def bar_html(interval: Ends, room: Ends, *, resolved: bool) -> str:
    """Return a bar: thick where a verdict stands on it, an arrowhead where it leaves its room."""
    place = bar_place(interval, room)
    style = "; ".join(f"--{key}: {100 * value:.1f}%" for key, value in place.items())
    kinds = {
        "ensedu-resolved": resolved,
        "ensedu-cut-low": interval[0] < room[0],
        "ensedu-cut-high": interval[1] > room[1],
    }
    names = " ".join(["ensedu-bar", *(name for name, holds in kinds.items() if holds)])
    return f'<span class="{names}" style="{style}"></span>'


def scale_html(room: Ends, apart: float = APART) -> str:
    """Return what stands above bars: 0, and the same round number on both of its sides.

    They stand no nearer to each other than `apart`, in shares of the room.
    """
    low, high = room
    air = WHOLE * (high - low)
    first, last = low + air, high - air
    step = max((one for one in STEPS if one <= max(-first, last)), default=0.0)
    sides = (-step, step) if step >= apart * (high - low) > 0 else ()
    marks = "".join(
        f'<span style="--at: {100 * bar_place((value, value), room)["from"]:.1f}%">'
        f"{f'{value:g}'.replace('-', MINUS)}</span>"
        for value in (0.0, *(side for side in sides if first <= side <= last))
    )
    return f'<span class="ensedu-scale" aria-hidden="true">{marks}</span>'


def _measures(columns: Any) -> dict[str, Measure]:
    """Return the columns by their titles."""
    accepted = "a sequence of Measure, at least one, each of another title"
    if not isinstance(columns, (list, tuple)) or not all(isinstance(c, Measure) for c in columns):
        raise TypeError(f"columns must be {accepted}, got {checks.given(columns)}")
    measures = {measure.title: measure for measure in columns}
    if not columns or len(measures) < len(columns):
        raise ValueError(f"columns must be {accepted}, got {checks.given(columns)}")
    return measures


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return a mapping from at least one name."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} must be a mapping from names, got {checks.given(value)}")
    if not value:
        raise ValueError(f"{name} must have at least one name, got {checks.given(value)}")
    return value


def _part(
    option: str,
    table: Mapping[str, Any],
    measures: Mapping[str, Measure],
    start: str,
    reference: str,
    methods: Mapping[str, str],
) -> Part:
    """Return one table, its columns those that it has numbers of."""
    name = f"rows[{option!r}]" if option else "rows"
    rows = {
        key: _scores(f"{name}[{key!r}]", row, measures)
        for key, row in _mapping(name, table).items()
    }
    found = {title for scores in rows.values() for title in scores}
    if not found:
        raise ValueError(f"{name} must have a number, got {checks.given(table)}")
    if reference and reference not in rows:
        raise ValueError(f"reference is {checks.shown(reference)}, {name} has {list(rows)}")
    for key, scores in rows.items():
        for title, score in scores.items():
            if _compared(score) and key == reference:
                raise ValueError(
                    f"{name}[{key!r}][{title!r}] is of the reference, accepted are numbers, "
                    f"got {score}"
                )
            if _compared(score) and not reference:
                raise ValueError(
                    f"reference must name the row from which {name}[{key!r}] differs, got ''"
                )
    if all(method in METHODS for method in rows):
        rows = {method: rows[method] for method in METHODS if method in rows}
    shown = tuple(measure for title, measure in measures.items() if title in found)
    return Part(
        option,
        shown,
        tuple(
            Contestant(_label(key), methods.get(key, ""), scores, key == reference)
            for key, scores in rows.items()
        ),
        measures[start] if start in found else shown[0],
    )


def _scores(name: str, row: Any, measures: Mapping[str, Measure]) -> dict[str, Score]:
    """Return the numbers of a row that are there, each checked against its column."""
    scores = {}
    for title, value in _mapping(name, row).items():
        where = f"{name}[{title!r}]"
        if title not in measures:
            raise ValueError(
                f"{name} has the column {checks.shown(title)}, accepted are {list(measures)}"
            )
        if value is None:
            continue
        score = value if isinstance(value, Score) else Score(checks.real(where, value))
        if score.interval and score.verdict:
            # From the end of the interval that is nearer to the better side.
            near = min(map(measures[title].best_first, score.interval))
            far = max(map(measures[title].best_first, score.interval))
            if near > 0 if score.verdict == "better" else far < 0:
                raise ValueError(
                    f"{where} is {score.verdict!r}, but {measures[title].better} is better and "
                    f"its interval is {score.interval}"
                )
        scores[title] = score
    return scores


def _compared(score: Score) -> bool:
    return score.interval is not None or bool(score.verdict)


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _directions(measure: Measure) -> tuple[str, str]:
    """Return how numbers go from the best on, and from the worst on."""
    words = ("ascending", "descending")
    return words if measure.better == "lower" else words[::-1]


def _classes(part: Part, measure: Measure) -> str:
    return ' class="ensedu-sorted"' if measure is part.start else ""


def _label(name: str) -> str:
    """Return a method's name in words; any other name as it is."""
    return METHODS[name].label if name in METHODS else name
