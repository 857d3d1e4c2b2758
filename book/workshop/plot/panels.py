"""Axes at explicit places, in inches: side by side on a wide page, stacked on a narrow one."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import cbook
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from workshop.plot import text_layout
from workshop.plot.style import MUTED, Figure, house_style, look
from workshop.plot.text_layout import SMALL

Number = float | int
Ends = tuple[Number, Number]
Columns = int | tuple[int, int] | None

#: Inches: one line of such letters, between panels that share an axis, around a whole figure.
LINE, GAP, EDGE = 0.2, 0.34, 0.04
#: Points of what is written above a panel; inches below one, for the labels of its x.
TITLE, BELOW = 12, 0.58
#: Inches of a key: the sample of an entry, the space behind it, and behind its words.
SAMPLE, SPACE, AFTER = 0.27, 0.07, 0.2
#: Inches to the right of axes, where labels of ticks need no more.
RIGHT = 0.15
#: Inches from axes to names behind their right end.
START = 0.24
#: What bands are called that say something to a reader who points at them, and that which stays in
#: sight while a reader scrolls past a tall figure; and what chooses a value when it is pressed.
POINTED, KEPT, PRESSED = "pointed", "kept", "pressed"
#: And what a line from a curve to its name is called.
LEADER = "leader"


def panels(
    count: int,
    *,
    height: Number | tuple[Number, Number],
    columns: Columns = None,
    sharex: bool = False,
    sharey: bool = False,
    left: Number = 0.78,
    right: Number = RIGHT,
    above: Number = 0.36,
    below: Number = 0.62,
    top: Number = 0.0,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with empty axes: side by side on a wide page, stacked on a narrow one.

    Call it, and draw into the axes, inside ``with house_style():``. There is room around each panel
    for a title, labels and their ticks. Panels that share an axis stand closer, and only the outer
    ones show its labels.

    Parameters
    ----------
    count
        How many panels there are.
    height
        Inches that a panel is high, without what stands around it; two numbers are for a wide page
        and for a narrow one.
    columns
        How many stand side by side on a wide page and on a narrow one, such as ``(4, 2)``. One
        number is for a wide page, and a narrow one has one column. By default up to three.
    sharex, sharey
        Whether all have one x-axis, one y-axis.
    left, right, above, below
        Inches around a panel: for the labels of y, for the end of the last tick of x, for a title,
        and for the labels of x.
    top
        Inches above all panels.
    """
    across, width, between = widths(count, columns, left, right, sharey)
    rows = math.ceil(count / across)
    if isinstance(height, tuple):
        height = height[look().narrow]
    under = max(GAP / 2, above) if sharex else below + above
    whole = top + above + rows * height + (rows - 1) * under + below
    with house_style():
        figure = Figure(figsize=(look().width, whole))
        found: list[Axes] = []
        for i in range(count):
            row, column = divmod(i, across)
            corner = (left + column * (width + between), top + above + row * (height + under))
            axes = place(figure, *corner, width, height)
            if found and sharex:
                axes.sharex(found[0])
            if found and sharey:
                axes.sharey(found[0])
            found.append(axes)
        for i, axes in enumerate(found):
            if sharex and i + across < count:
                axes.tick_params(labelbottom=False)
                axes.xaxis.label.set_visible(False)
            if sharey and i % across:
                axes.tick_params(labelleft=False)
                axes.yaxis.label.set_visible(False)
    return figure, found


def widths(
    count: int, columns: Columns, left: Number, right: Number, sharey: bool
) -> tuple[int, float, float]:
    """Return how many panels stand side by side, and inches: of one, and between two."""
    if columns is None:
        wide, narrow = (2 if count == 4 else min(3, count)), 1
    else:
        wide, narrow = columns if isinstance(columns, tuple) else (columns, 1)
    across = min(count, narrow if look().narrow else wide)
    between = max(GAP, right) if sharey else right + left
    width = (look().width - left - right - between * (across - 1)) / across
    return across, width, between


def place(figure: Figure, left: Number, top: Number, width: Number, height: Number) -> Axes:
    """Return new axes, whose upper left corner is so many inches from that of the figure."""
    all_x, all_y = figure.get_size_inches()
    return figure.add_axes(
        (left / all_x, 1 - (top + height) / all_y, width / all_x, height / all_y)
    )


def write(figure: Figure, x: Number, y: Number, words: str, **style: Any) -> None:
    """Write words into a figure, at inches from its upper left corner."""
    at: dict[str, Any] = {"transform": figure.dpi_scale_trans, "fontsize": SMALL}
    figure.text(x, figure.get_figheight() - y, words, **at | style)


def say_where_pointed(figure: Figure, top: Number, height: Number, words: str) -> None:
    """Let a band of a figure say words on a page, where a reader points at it; it is not drawn.

    It is as wide as the figure, and begins so many inches below its upper edge.
    """
    _add_band(figure, top, height, gid=POINTED, label=words)


def keep_in_sight(figure: Figure, top: Number, height: Number) -> None:
    """Let a page keep a band of a tall figure, such as its axis, above what a reader looks at."""
    _add_band(figure, top, height, gid=KEPT)


def _add_band(figure: Figure, top: Number, height: Number, **style: Any) -> None:
    high = figure.get_figheight()
    band = Rectangle((0, 1 - (top + height) / high), 1, height / high, visible=False)
    band.set(transform=figure.transFigure, **style)
    figure.add_artist(band)


def press(figure: Figure, choice: str, corner: Ends, wide: Number, high: Number) -> None:
    """Let a place of a figure, in inches from above, choose a value on a page: ``"image=6"``."""
    (x, y), (width, height) = corner, figure.get_size_inches()
    place = Rectangle(
        (x / width, 1 - (y + high) / height), wide / width, high / height, visible=False
    )
    place.set(transform=figure.transFigure, gid=PRESSED, label=choice)
    figure.add_artist(place)


def inches(words: str, size: Number = SMALL, weight: str = "normal") -> float:
    """Return how wide words are, the longest line of several."""
    return text_layout.text_width(words, size, weight)


def cut_to_lines(
    words: str, width: Number, most: int = 2, size: Number = SMALL, weight: str = "normal"
) -> str:
    """Return words in at most so many lines of this width in inches, cut where they are longer."""
    if inches(words, size, weight) <= width or cbook.is_math_text(words):
        return words
    lines: list[str] = []
    rest = words
    while rest:
        letters = text_layout.letters_that_fit(rest, width, size, weight)
        if letters < len(rest) and len(lines) + 1 == most:
            room = width - inches("…", size, weight)
            letters = text_layout.letters_that_fit(rest, room, size, weight)
            lines.append(rest[:letters].rstrip() + "…")
            break
        space = rest.rfind(" ", 1, letters + 1)
        end = letters if letters == len(rest) or space < 0 else space
        lines.append(rest[:end].strip())
        rest = rest[end:].strip()
    return "\n".join(lines)


def ticks(ends: Ends, most: int, whole: bool = False) -> dict[float, str]:
    """Return up to `most` round numbers between two ends, all `whole` if so, and their labels."""
    low, high = ends
    locator = MaxNLocator(max(1, most), steps=[1, 2, 2.5, 5, 10], integer=whole)
    found = locator.tick_values(low, high)
    slack = 1e-9 * (high - low)
    values = [min(max(v, low), high) for v in found if low - slack <= v <= high + slack]
    return {v: number(0.0 if abs(v) < slack else v) for v in map(float, values)}


def ticks_along(ends: Ends, width: Number, out: Number = math.inf) -> dict[float, str]:
    """Return as many ticks of an x-axis of so many inches as have room for their labels.

    No label stands out of the axis by more than `out` inches.
    """
    for most in range(max(1, min(8, int(width / 0.38))), 0, -1):
        labels = ticks(ends, most)
        edges = _label_edges(labels, ends, width)
        if all(left - right >= 0.2 for (_, right), (left, _) in itertools.pairwise(edges)):
            return {
                value: words
                for (value, words), (left, right) in zip(labels.items(), edges, strict=True)
                if -left <= out and right - width <= out
            }
    return {}


def _label_edges(
    labels: Mapping[Number, str], ends: Ends, width: Number
) -> list[tuple[float, float]]:
    """Return where each label of an x-axis begins and ends, in inches."""
    places = [_inches_along(value, ends, 0.0, width) for value in labels]
    halves = [inches(words) / 2 for words in labels.values()]
    return [(place - half, place + half) for place, half in zip(places, halves, strict=True)]


def set_axis(axis: Axis, ends: Ends, labels: Mapping[Number, str]) -> None:
    """Give an axis, and those that share it, its ends, and ticks as `ticks` returns them."""
    axis.set_ticks(list(labels), list(labels.values()))
    axis.axes.set(**{f"{axis.axis_name}lim": ends})  # type: ignore[attr-defined]


def set_row_axis(axes: Axes, ends: Ends, width: Number, out: Number) -> None:
    """Give axes whose rows are named elsewhere ticks of x alone, and a line at 0."""
    set_axis(axes.xaxis, ends, ticks_along(ends, width, out=out))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.axvline(0, color=MUTED, lw=1.2, zorder=1)


def ends_around_zero(values: Iterable[Number]) -> tuple[float, float]:
    """Return ends of an axis that hold all values, and 0, with a margin."""
    every = [0.0, *map(float, values)]
    low, high = min(every), max(every)
    margin = 0.06 * (high - low) or 1.0
    return low - margin, high + margin


def tick_room(labels: Mapping[Number, str]) -> float:
    """Return the inches that the labels of a y-axis, and its ticks, need."""
    return 0.14 + max(map(inches, labels.values()), default=0.0)


def number(value: Number) -> str:
    """Return a number in few letters, with a minus that is as wide as a digit."""
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


def decimal(value: Number, decimals: int, sign: str = "") -> str:
    """Return a number with so many decimals; one that rounds to 0 gets no sign."""
    near = round(float(value), decimals) + 0.0
    return f"{near:{sign if near else ''},.{decimals}f}".replace("-", "\N{MINUS SIGN}")


def middles_apart(
    places: Sequence[Number] | np.ndarray, sizes: Sequence[Number] | np.ndarray, ends: Ends
) -> list[float]:
    """Return the middles of labels, each as near to its place as labels that touch nothing can be.

    They stay in their order, and between the two ends, if these leave enough room.
    """
    order = np.argsort(places, kind="stable")
    # Blocks of labels that touch: which, their middle, and their size.
    blocks: list[tuple[list[int], float, float]] = []
    low, high = ends
    for i in order:
        block, middle, size = [int(i)], float(places[i]), float(sizes[i])
        middle = max(min(middle, high - size / 2), low + size / 2)
        while blocks and blocks[-1][1] + blocks[-1][2] / 2 > middle - size / 2:
            before, other, length = blocks.pop()
            middle = (other * len(before) + middle * len(block)) / (len(before) + len(block))
            block, size = before + block, size + length
            middle = max(min(middle, high - size / 2), low + size / 2)
        blocks.append((block, middle, size))
    found = [0.0] * len(places)
    for block, middle, size in blocks:
        bottom = middle - size / 2
        for i in block:
            found[i] = bottom + sizes[i] / 2
            bottom += sizes[i]
    return found


def ends_room(names: Iterable[str]) -> float:
    """Return the inches that `name_ends` needs to the right of axes."""
    return START + max(inches(_name_at_end(name), weight="bold") for name in names) + EDGE


def _name_at_end(name: str) -> str:
    return cut_to_lines(name, 1.2 if look().narrow else 2.0, weight="bold")


def name_ends(figure: Figure, axes: Axes, ends: Sequence[tuple[str, Number, Number, str]]) -> None:
    """Write names to the right of axes, each beside the end of its curve.

    `ends` are (name, x, y, color), in units of the axes.
    """
    wide, high = figure.get_size_inches()
    box = axes.get_position()
    left, bottom, width, height = box.x0 * wide, box.y0 * high, box.width * wide, box.height * high
    xs = [_inches_on(axes.xaxis, x, left, width) for _, x, _, _ in ends]
    ys = [_inches_on(axes.yaxis, y, bottom, height) for _, _, y, _ in ends]
    words = [_name_at_end(name) for name, *_ in ends]
    sizes = [LINE * (1 + text.count("\n")) for text in words]
    found = middles_apart(ys, sizes, (bottom - LINE / 2, bottom + height + LINE / 2))
    to = left + width + START
    for text, (*_, own), x, y, at in zip(words, ends, xs, ys, found, strict=True):
        if abs(at - y) > 0.03 or x < left + width - 0.1:
            leader = Line2D([x, to - 0.04], [y, at], color=own, lw=0.8, alpha=0.7)
            leader.set(gid=LEADER, label=text)
            leader.set_transform(figure.dpi_scale_trans)
            figure.add_artist(leader)
        write(
            figure, to, high - at, text, va="center", color=own, weight="bold", linespacing=1.1,
            gid=LEADER,
        )  # fmt: skip


def name_curves(figure: Figure, axes: Axes) -> None:
    """Write the label of each curve beside its end."""
    ends = []
    for line in axes.lines:
        name, (x, y) = str(line.get_label()), line.get_xydata()[-1]
        if line.get_linestyle() != "None" and not name.startswith("_"):
            ends.append((name, float(x), float(y), str(line.get_color())))
    name_ends(figure, axes, ends)


def names_room(names: Sequence[str]) -> dict[str, Any]:
    """Return the room in `panels` that `name_beside_or_above` needs for these names."""
    if look().narrow:
        return {"top": LINE * key_rows({name: {} for name in names}) + 0.08}
    return {"right": ends_room(names)}


def name_beside_or_above(figure: Figure, *every: Axes) -> None:
    """Name curves at their ends; on a phone above all, for long names would take its width."""
    if not look().narrow:
        for axes in every:
            name_curves(figure, axes)
        return
    lines = [line for axes in every for line in axes.lines]
    entries = {
        str(line.get_label()): {
            "color": line.get_color(), "lw": line.get_linewidth(), "marker": line.get_marker(),
            "ls": line._unscaled_dash_pattern,  # type: ignore[attr-defined]
        }
        for line in lines
        if line.get_linestyle() != "None" and not str(line.get_label()).startswith("_")
    }  # fmt: skip
    write_key(figure, entries)


def number_ticks(
    axes: Axes, x: Sequence[Number] | np.ndarray = (), y: Sequence[Number] | np.ndarray = ()
) -> None:
    """Give axes these ticks alone, each with its number."""
    for axis, values in ((axes.xaxis, x), (axes.yaxis, y)):
        if len(values):
            axis.set_ticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()


def beside(axes: Axes, words: str, at: tuple[Any, Any], way: Ends, own: str, **style: Any) -> None:
    """Write words in a color, so many points right of a place, and above it."""
    axes.annotate(words, at, way, textcoords="offset points", color=own, **style)


def mark_cut(axes: Axes) -> None:
    """Mark that an axis of y does not begin at 0: two strokes across its foot."""
    axes.plot(
        [0, 0], [0.03, 0.05], marker=[(-1, -0.6), (1, 0.6)], ms=7, ls="", color=MUTED, mew=1.2,
        transform=axes.transAxes, clip_on=False, label="_cut",
    )  # fmt: skip


def label_ticks(axes: Axes, values: Sequence[Number] | np.ndarray) -> None:
    """Set those ticks of x whose labels have room beside the one before."""
    width = axes.get_position().width * look().width
    words: dict[Number, str] = {}
    end = -1.0
    for value in values:
        text, middle = text_layout.number_in_words(value), _inches_on(axes.xaxis, value, 0, width)
        half = inches(text) / 2
        if middle - half >= end + 0.1:
            words[value], end = text, middle + half
    axes.set_xticks([*words], [*words.values()])


def key_room() -> float:
    """Return the inches of a key above: of one line, or of two on a phone."""
    return 0.5 if look().narrow else 0.25


def _inches_on(axis: Axis, value: Number, start: Number, size: Number) -> float:
    """Return where a value is on an axis of any scale, as `_inches_along` does."""
    low, high, at = axis.get_transform().transform([*axis.get_view_interval(), value])
    return _inches_along(at, (low, high), start, size)


def _inches_along(value: Number, ends: Ends, start: Number, size: Number) -> float:
    """Return where a value is on an axis that begins at `start` and is so long, in inches."""
    low, high = ends
    return start + size * min(1.0, max(0.0, (value - low) / (high - low)))


def key_rows(entries: Mapping[str, Any]) -> int:
    """Return how many rows the entries of a key fill."""
    return max((row for _, row in _key_places(entries).values()), default=-1) + 1


def write_key(figure: Figure, entries: Mapping[str, dict[str, Any]]) -> None:
    """Write what lines and areas mean, in as many rows as they need: above all panels.

    `entries` are words to the style of a line; its ``band`` is the alpha of an area around it.
    """
    high, inch = figure.get_figheight(), figure.dpi_scale_trans
    for words, (x, row) in _key_places(entries).items():
        style = dict(entries[words])
        band = style.pop("band", 0)
        x, y, size = (EDGE + x, high - EDGE - (row + 0.5) * LINE, _sample_inches(entries[words]))
        if band:
            box = Rectangle((x, y - 0.065), size, 0.13, color=style["color"], alpha=band, lw=0)
            box.set_transform(inch)
            figure.add_artist(box)
        # One marker, in the middle.
        xs = [x + size / 2] if style.get("ls") == "" else [x, x + size / 2, x + size]
        sample = Line2D(xs, [y] * len(xs), markevery=[len(xs) // 2], transform=inch, **style)
        figure.add_artist(sample)
        text = _fitted(words)
        write(figure, x + size + SPACE, high - y, text, va="center_baseline", color=MUTED)


def _fitted(words: str) -> str:
    return cut_to_lines(words, look().width - 2 * EDGE - SAMPLE - SPACE, 1)


def _sample_inches(style: Mapping[str, Any]) -> float:
    return SAMPLE / 2 if style.get("marker") and style.get("ls") == "" else SAMPLE


def _key_places(entries: Mapping[str, Any]) -> dict[str, tuple[float, int]]:
    """Return x in inches and the row of each entry."""
    width = look().width - 2 * EDGE
    found, x, row = {}, 0.0, 0
    for words, style in entries.items():
        size = _sample_inches(style) + SPACE + inches(_fitted(words))
        if x and x + size > width:
            x, row = 0.0, row + 1
        found[words] = (x, row)
        x += size + AFTER
    return found
