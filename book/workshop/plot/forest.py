"""What a contest says of each contestant: who helps, by how much, and what is unknown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy import ndarray as Array

from ensedu.uncertainty.meta_analysis import DELTA
from workshop.plot.panels import (
    EDGE,
    LINE,
    TITLE,
    Ends,
    Number,
    cut_to_lines,
    decimal,
    inches,
    keep_in_sight,
    key_rows,
    place,
    say_where_pointed,
    set_row_axis,
    write,
    write_key,
)
from workshop.plot.style import (
    INK,
    MARKERS,
    MUTED,
    PAGE,
    PALETTE,
    SHARED,
    Figure,
    house_style,
    label,
    look,
)
from workshop.plot.text_layout import SMALL

#: Inches: of a row, from its top to its marks, and between those that are better and the others.
ROW, MARKS, PART = 0.27, 0.1, 0.2
#: Inches: how wide names and words may be, for the ends of tick labels, and below for the ticks.
NAMES, WORDS, OUT, TICKS = 2.0, 1.5, 0.2, 0.32
#: Inches around axes, for a number beside an arrowhead: on a wide page, and on a narrow one.
AIRS = 0.34, 0.25
#: The band of what is practically equal: no line of it is as strong as that at 0.
BAND: dict[str, Any] = {"fc": (MUTED, 0.25), "ec": (MUTED, 0.75), "lw": 0.6}
#: Where names stand on the lines of a narrow page's axes, these keep off their letters.
OFF_LINES = [withStroke(linewidth=3, foreground=PAGE)]
#: Rows from which on the numbers of the axis stand above them as well.
LONG = 8
#: Points from an end of the axis to such a number.
BESIDE = 5
#: Inches between two words on one line.
APART = 0.15
#: Inches from the upper end of the axis to the first row.
ABOVE = 0.05
#: What stands at 0, and which way is better.
NAME_OF_ZERO = "one network"
WAYS = "\N{LEFTWARDS ARROW} better", "worse \N{RIGHTWARDS ARROW}"
#: What a mark and its line mean, and what an arrowhead does.
MEANS, OUTSIDE = "middle of the dots, and its interval", "further out"
#: Words of what is not known, whose marker is hollow. The first stands in the key, not at its rows.
UNKNOWN = ("unclear", "")


@dataclass(frozen=True, eq=False)
class PooledEffect:
    """How a contestant differs from a reference over several sources of data."""

    #: (low, middle, high) of the median over sources.
    interval: tuple[Number, Number, Number]
    #: (k,), the difference of each source, or of the one that is shown.
    sources: Sequence[Number] | Float[Array, " k"]
    #: What all this says, such as "better". The marker of what is "unclear", or says nothing, is
    #: hollow.
    word: str
    #: A key of `ensedu.methods.METHODS`, for its color and marker; by default gray, and a dot.
    method: str | None = None


def forest(
    effects: Mapping[str, PooledEffect],
    *,
    xlabel: str,
    xlim: Ends,
    words: Sequence[str] = (),
    places: int = 1,
) -> Figure:
    """Draw a row a contestant: a middle, its interval, and on that each source as a faint dot.

    Who is better stands first, apart from the others, and both begin with the best. A row's only
    dot is dark and lies upon its marks. What leaves the axis is an arrowhead at its end, with a
    number beside it if it is several dots. On a wide page names stand to the left of their rows
    and words to the right; on a narrow one both stand above their rows. On a page with sliders a
    row says its numbers where a reader points at it, and of many rows the axis stays in sight on a
    phone.

    Parameters
    ----------
    effects
        Names, or keys of methods, to `PooledEffect`, in any order.
    xlabel
        What a difference of 1 is, in words.
    xlim
        Ends of the axis, around 0, the band of what is practically equal, and all middles.
    words
        Words of other figures with the same axis, which all begin and end where this one does.
    places
        Fewer rows take the room of so many: figures that take each other's place are then equally
        high, and none has an empty row.
    """
    best = sorted(effects, key=lambda name: (not _leads(effects[name]), effects[name].interval[1]))
    rows = {name: effects[name] for name in best}
    with house_style():
        return _draw(rows, xlabel, xlim, words, max(len(rows), places))


def _leads(row: PooledEffect) -> bool:
    return row.word.startswith("better")


def _draw(
    rows: Mapping[str, PooledEffect], xlabel: str, ends: Ends, others: Sequence[str], places: int
) -> Figure:
    narrow = look().narrow
    air = AIRS[narrow]
    room = look().width - 2 * EDGE
    bold: dict[str, Any] = {"weight": "bold", "size": TITLE}
    said_beside = {name: "" if row.word in UNKNOWN else row.word for name, row in rows.items()}
    known: dict[str, dict[str, Any]] = {
        name: {} if row.word in UNKNOWN else {"weight": "bold"} for name, row in rows.items()
    }  # fmt: skip
    if narrow:
        left = right = EDGE + air
        words = {name: cut_to_lines(said_beside[name], WORDS, 1, **known[name]) for name in rows}
        names = {
            name: cut_to_lines(
                label(name), room - 2 * air - inches(words[name], **known[name]), 1, **bold
            )
            for name in rows
        }  # fmt: skip
        above = LINE + 0.04
    else:
        names = {name: cut_to_lines(label(name), NAMES, 2, **bold) for name in rows}
        words = {name: cut_to_lines(said_beside[name], WORDS, 2, **known[name]) for name in rows}
        left = EDGE + air + max(inches(name, TITLE, "bold") for name in names.values())
        said = (word for word in others if word not in UNKNOWN)
        every = [*words.values(), *(cut_to_lines(word, WORDS, 2, weight="bold") for word in said)]
        right = EDGE + air + max(inches(word, weight="bold") for word in every)
        above = 0.0
    width = look().width - left - right
    lines = max(text.count("\n") for text in (*names.values(), *words.values()))
    leading = sum(map(_leads, rows.values())) % len(rows)
    high = (ROW + above + LINE * lines) * places + PART
    step = (high - PART * (leading > 0)) / len(rows)
    below_ways = not _stands_between(width, ends)
    key = _key(
        alone=all(len(row.sources) == 1 for row in rows.values()),
        unclear=UNKNOWN[0] in {*others, *(row.word for row in rows.values())},
    )
    ways = LINE * key_rows(key) + EDGE + 0.08
    top = ways + LINE * (1 + below_ways) + (LINE + 0.08) * (places >= LONG) + 0.04
    under = cut_to_lines(xlabel, room, 3)
    high += ABOVE
    below = top + high + LINE + TICKS + LINE * (1 + under.count("\n")) + 0.08
    figure = Figure(figsize=(look().width, below))
    axes = place(figure, left, top, width, high + LINE)
    axes.set_ylim(high + LINE, 0)
    axes.axvspan(-DELTA, DELTA, LINE / (high + LINE), zorder=0, **BAND)
    for k, (name, row) in enumerate(rows.items()):
        y = ABOVE + k * step + above + PART * (0 < leading <= k)
        if 0 < k == leading:
            axes.axhline(y - above - PART / 2, color=MUTED, lw=0.6, label="_part")
        _draw_row(axes, row, y + MARKS, ends, name)
        say_where_pointed(figure, top + y - above, step, _numbers(row, name))
        own = PALETTE.get(row.method or name, MUTED)
        style: dict[str, Any] = {"va": "baseline" if narrow else "center", "linespacing": 1.0}
        said = style | known[name] | {"color": INK if known[name] else SHARED}
        if narrow:
            at = top + y - 0.06
            style["path_effects"] = said["path_effects"] = OFF_LINES
            write(figure, left, at, names[name], color=own, weight="bold", **style)
            if words[name]:
                write(figure, left + width, at, words[name], ha="right", **said)
        else:
            at = top + y + MARKS
            write(
                figure, left - air, at, names[name], ha="right", color=own, weight="bold",
                **style | {"fontsize": TITLE},
            )  # fmt: skip
            if words[name]:
                write(figure, left + width + air, at, words[name], **said)
    set_row_axis(axes, ends, width, OUT)
    if places >= LONG:
        axes.tick_params(axis="x", labeltop=True)
        keep_in_sight(figure, ways, top - ways)
    write_key(figure, key)
    _write_directions(figure, ways, left, width, ends, below_ways)
    equal = cut_to_lines("practically equal", width, 1)
    half = inches(equal) / 2
    middle = left + min(max(_along(0, width, ends), half), width - half)
    write(
        figure, middle, top + high + LINE / 2, equal, ha="center", va="center", color=MUTED,
        bbox={"facecolor": PAGE, "lw": 0, "pad": 0.8},
    )  # fmt: skip
    write(
        figure, EDGE + room / 2, top + high + LINE + TICKS, under, ha="center", va="top",
        color=MUTED,
    )  # fmt: skip
    return figure


def _draw_row(axes: Axes, row: PooledEffect, y: float, ends: Ends, name: str) -> None:
    """Draw the interval of a row, and its sources behind it, or its only one upon it."""
    method = row.method or name
    own, called = PALETTE.get(method, MUTED), label(name)
    low, middle, high = row.interval
    inside = [value for value in row.sources if ends[0] < value < ends[1]]
    axes.plot(
        inside, [y] * len(inside), ls="", marker="o", label=f"{called}, sources", clip_on=False,
        **{"color": own} | _dot(len(row.sources) == 1),
    )  # fmt: skip
    axes.plot(
        [low, high], [y, y], color=own, lw=2.2, solid_capstyle="butt", label=f"{called}, interval"
    )
    axes.plot(
        [middle], [y], marker=MARKERS.get(method, "o"), ms=9.5, color=own, mew=1.3,
        mfc=PAGE if row.word in UNKNOWN else own, label=f"{called}, middle",
    )  # fmt: skip
    for end, marker, outwards, count, leaves in (
        (ends[0], "<", -1, sum(value <= ends[0] for value in row.sources), low <= ends[0]),
        (ends[1], ">", 1, sum(value >= ends[1] for value in row.sources), high >= ends[1]),
    ):
        if count or leaves:
            axes.plot(
                [end], [y], marker=marker, ms=7.5, color=own, mec=PAGE, mew=1, clip_on=False,
                label=f"{called}, {count} beyond",
            )  # fmt: skip
        if count > 1:
            axes.annotate(
                f"{count}", (end, y), (BESIDE * outwards, 0), textcoords="offset points",
                ha="left" if outwards > 0 else "right", va="center", color=own, fontsize=SMALL,
            )  # fmt: skip


def _numbers(row: PooledEffect, name: str) -> str:
    """Return the numbers of a row in lines, as a reader points at it."""
    low, middle, high, first = (decimal(value, 3) for value in (*row.interval, row.sources[0]))
    lower = sum(value < 0 for value in row.sources)
    return "\n".join(
        (
            f"{label(name)}: {row.word}" if row.word else label(name),
            f"middle {middle} ({low} to {high})",
            f"this data set: {first}" if len(row.sources) == 1
            else f"lower on {lower} of {len(row.sources)} sources",
        )
    )  # fmt: skip


def _along(value: Number, width: Number, ends: Ends) -> float:
    """Return how many inches right of the axis's beginning a value stands, inside of it."""
    low, high = ends
    return width * (min(max(value, low), high) - low) / (high - low)


def _key(*, alone: bool, unclear: bool) -> dict[str, dict[str, Any]]:
    """Return what the marks of all rows mean; dots are alone if no row has several."""
    hollow: dict[str, Any] = {"color": MUTED, "ls": "", "marker": "o", "ms": 8, "mfc": PAGE}
    return {
        MEANS: {"color": MUTED, "lw": 2.2, "marker": "o", "ms": 8},
        "this data set" if alone else "each source": {
            **{"color": MUTED, "ls": "", "marker": "o"}, **_dot(alone),
        },
        OUTSIDE: {"color": MUTED, "ls": "", "marker": "<", "ms": 7, "mew": 0},
    } | ({UNKNOWN[0]: hollow} if unclear else {})  # fmt: skip


def _write_directions(
    figure: Figure, top: Number, left: Number, width: Number, ends: Ends, below: bool
) -> None:
    """Write which way is better, and what stands at 0: between both, or below them."""
    low, high = left, left + width
    for x, ha, text in zip((low, high), ("left", "right"), WAYS, strict=True):
        write(figure, x, top + LINE / 2, text, va="center", ha=ha, color=INK)
    half, zero = inches(NAME_OF_ZERO, weight="bold") / 2, left + _along(0, width, ends)
    if below:
        low, high = EDGE, look().width - EDGE
    else:
        first, last = (inches(text) + APART / 2 for text in WAYS)
        low, high = low + first, high - last
    middle = min(max(zero, low + half), high - half)
    write(
        figure, middle, top + (0.5 + below) * LINE, NAME_OF_ZERO, va="center", ha="center",
        weight="bold", color=PALETTE["single"],
    )  # fmt: skip


def _stands_between(width: Number, ends: Ends) -> bool:
    """Say whether what stands at 0 has room there, between the words for both ways."""
    first, last = (inches(words) + APART / 2 for words in WAYS)
    half, zero = inches(NAME_OF_ZERO, weight="bold") / 2, _along(0, width, ends)
    return first + half <= zero <= width - last - half


def _dot(alone: bool) -> dict[str, Any]:
    """Return how a source's dot looks: faint, and behind the interval, if a row has others."""
    if alone:
        return {"color": INK, "ms": 6, "mec": PAGE, "mew": 0.7, "zorder": 3}
    return {"ms": 5, "alpha": 0.65, "mew": 0, "zorder": 1.5}
