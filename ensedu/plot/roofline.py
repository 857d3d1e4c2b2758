"""What a machine can do at most, and how near a measured pass comes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from ensedu.common import checks
from ensedu.plot import figure_checks, label_layout, text_layout
from ensedu.plot.label_layout import EDGE
from ensedu.plot.style import INK, MARKERS, MUTED, Figure, color, house_style, label, look
from ensedu.plot.text_layout import SMALL

ABOVE = 0.5  # inches above the roof, or the highest pass
WORDS = 5  # points from the flat part up to its words
MARK = 5.5  # points from the middle of a marker to where nothing of it is
SAMPLE = 0.24  # inches from the middle of a marker in the key to the next name


def roofline(
    flops_per_second: float | int,
    bytes_per_second: float | int,
    points: Mapping[str, Sequence[tuple[str, float, float]]],
) -> Figure:
    """Draw a machine's roofline (Williams et al. 2009), and measured passes under it.

    Parameters
    ----------
    flops_per_second, bytes_per_second
        The two rates that bound every pass: the flat and the sloping part of the roof.
    points
        Names, such as methods, to passes: (what it is, operations for each byte, operations a
        second). A line joins the passes of a name.

    Raises
    ------
    TypeError, ValueError
        For rates, intensities or speeds that are not above 0, passes of another form, and a name
        without passes.
    """
    limits = {"low": 1 / figure_checks.MOST, "high": figure_checks.MOST}
    peak = checks.real("flops_per_second", flops_per_second, **limits)
    bandwidth = checks.real("bytes_per_second", bytes_per_second, **limits)
    named = figure_checks.mapping("points", points, "(words, intensity, operations a second) each")
    drawn = {name: _checked_passes(f"points[{name!r}]", values) for name, values in named.items()}
    every = np.concatenate([values for _, values in drawn.values()])
    with house_style():
        axes = _roofline_axes(list(drawn), peak / 1e9, bandwidth / 1e9, every / (1, 1e9))
        roof = _draw_roof(axes, peak / 1e9, bandwidth / 1e9)
        for name, (_, values) in drawn.items():
            axes.plot(
                values[:, 0], values[:, 1] / 1e9, color=color(name), lw=1.2, ls=":",
                marker=MARKERS.get(name, "."), ms=8, label=label(name),
            )  # fmt: skip
        _name_passes(axes, drawn, roof)
        axes.grid(axis="both")
    return label_layout.figure_of(axes)


def _roofline_axes(
    names: Sequence[str],
    peak: float | int,
    bandwidth: float | int,
    every: Float[np.ndarray, "passes 2"],
) -> Axes:
    """Return axes that hold the roof with its words and all passes, below the key to names."""
    wide, high = look().width, 2.9 if look().narrow else 3.2
    low, most = min(every[:, 1].min(), peak) / 2, max(every[:, 1].max(), peak)
    words = text_layout.text_height(_bandwidth_words(bandwidth), SMALL) + 0.1
    # Below the flat part there is room for words, and above what is highest.
    while (high - ABOVE) * np.log(peak / low) < words * np.log(most / low):
        low /= 1.2
    top = most * (most / low) ** (ABOVE / (high - ABOVE))
    ticks = label_layout.log_ticks(low, top, top / low)
    labels = [text_layout.number_in_words(y) for y in ticks]
    left = EDGE + max(text_layout.text_width(words, SMALL) for words in labels) + 0.12
    right = wide - 2 * EDGE

    over = text_layout.wrapped("billions of operations a second (GFLOP/s)", wide - 2 * EDGE)
    under = text_layout.wrapped("operations for each byte moved (FLOP/byte)", wide - 2 * EDGE)
    rows = _key_rows(names)
    bottom = text_layout.text_height(under) + 0.34
    whole = (
        EDGE + sum(map(_key_height, rows)) + text_layout.text_height(over) + 0.17 + high + bottom
    )
    figure = Figure(figsize=(wide, whole))
    _write_roofline_key(figure, rows)
    figure.text(
        EDGE / wide, (bottom + high + 0.1) / whole, over, va="bottom", color=INK, linespacing=1.1
    )
    axes = figure.add_axes((left / wide, bottom / whole, (right - left) / wide, high / whole))
    label_layout.name_x(axes, under)
    axes.set(xscale="log", yscale="log", ylim=(low, top))
    axes.set_yticks(ticks, labels)
    axes.yaxis.set_minor_formatter(NullFormatter())

    ridge = peak / bandwidth
    first, last = min(every[:, 0].min(), ridge) / 2.5, max(every[:, 0].max(), ridge) * 2.5
    axes.set_xlim(first, last)
    while _slope_words_place(axes, peak, bandwidth)[0] < 0.04:
        first /= 1.2
        axes.set_xlim(first, last)
    ticks = label_layout.log_ticks(first, last, last / first)
    shown = label_layout.which_have_labels(axes, ticks)
    axes.set_xticks(
        ticks,
        [
            text_layout.number_in_words(x) if one else ""
            for x, one in zip(ticks, shown, strict=True)
        ],
    )
    axes.xaxis.set_minor_formatter(NullFormatter())
    return axes


def _bandwidth_words(bandwidth: float | int) -> str:
    return f"{_rate_words(bandwidth)} GB/s:{chr(10) if look().narrow else ' '}moving"


def _rate_words(value: float | int) -> str:
    return text_layout.number_in_words(float(f"{value:.3g}"))


def _slope_words_place(
    axes: Axes, peak: float | int, bandwidth: float | int
) -> tuple[float, float, float, float]:
    """Return where the words of the sloping part stand: left of it, and below the flat part.

    In inches of the panel: from left to right, and from bottom to top.
    """
    words, dpi = _bandwidth_words(bandwidth), axes.figure.dpi
    corner = axes.transAxes.transform((0, 0))
    x, y = (axes.transData.transform((peak / bandwidth, peak)) - corner) / dpi
    far, low = (axes.transData.transform((peak / bandwidth / 10, peak / 10)) - corner) / dpi
    bottom = y - 0.04 - text_layout.text_height(words, SMALL)
    right = x - (x - far) * (y - bottom) / (y - low) - 0.06
    return right - text_layout.text_width(words, SMALL), right, bottom, y - 0.04


def _draw_roof(
    axes: Axes, peak: float | int, bandwidth: float | int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw the roof and what bounds each of its parts; return the boxes of the words, in points."""
    first, last = axes.get_xlim()
    x = np.array([first, peak / bandwidth, last])
    axes.plot(x, np.minimum(peak, bandwidth * x), color=MUTED, lw=1.8, label="roof")
    style: dict[str, Any] = {"color": MUTED, "fontsize": SMALL, "linespacing": 1.1}
    words = f"{_rate_words(peak)} GFLOP/s: computing"
    axes.annotate(
        words, (1, peak), (-2, WORDS), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", va="bottom", **style,
    )  # fmt: skip
    left, right, bottom, top = _slope_words_place(axes, peak, bandwidth)
    axes.annotate(
        _bandwidth_words(bandwidth), (0, 0), (72 * right, 72 * bottom), xycoords="axes fraction",
        textcoords="offset points", ha="right", va="bottom", **style,
    )  # fmt: skip
    corner, _ = label_layout.panel_box(axes)
    end = label_layout.in_points(axes, (last, peak))
    edge, flat = end[0] - 2, end[1] + WORDS
    size = 72 * np.array(
        [text_layout.text_width(words, SMALL), text_layout.text_height(words, SMALL)]
    )
    return [
        (np.array([edge - size[0], flat]) - 2, np.array([edge, flat + size[1]]) + 2),
        (corner + 72 * np.array([left, bottom]) - 2, corner + 72 * np.array([right, top]) + 2),
    ]


def _name_passes(
    axes: Axes, drawn: Mapping[str, tuple[list[str], np.ndarray]],
    taken: list[tuple[np.ndarray, np.ndarray]],
) -> None:  # fmt: skip
    """Write beside each pass what it is, where that covers the least."""
    panel = label_layout.panel_box(axes)
    curves = [label_layout.in_points(axes, line.get_xydata()) for line in axes.lines]
    lines = label_layout.segments_of_curves(curves)
    taken = taken + [(at - MARK, at + MARK) for curve in curves[1:] for at in curve]
    for (name, (words, values)), curve in zip(drawn.items(), curves[1:], strict=True):
        for word, (x, y), at in zip(words, values, curve, strict=True):
            size = np.array(
                [text_layout.text_width(word, SMALL), text_layout.text_height(word, SMALL)]
            )
            half = 36 * size + 1
            offset = label_layout.free_offset(at, half, panel, taken, lines, clear=MARK, far=60)
            axes.annotate(
                word, (x, y / 1e9), tuple(offset), textcoords="offset points", ha="center",
                va="center", color=color(name), fontsize=SMALL,
            )  # fmt: skip
            taken.append((at + offset - half, at + offset + half))


def _key_rows(names: Sequence[str]) -> list[list[tuple[float, str, str]]]:
    """Return each row of the key: where a name begins, the name, and its words."""
    rows: list[list[tuple[float, str, str]]] = [[]]
    x, room = EDGE, look().width - 2 * EDGE - SAMPLE
    for name in names:
        words = text_layout.wrapped(label(name), room, SMALL, "bold")
        size = SAMPLE + text_layout.text_width(words, SMALL, "bold")
        if rows[-1] and x + size > look().width - EDGE:
            rows.append([])
            x = EDGE
        rows[-1].append((x, name, words))
        x += size + 0.25
    return rows


def _key_height(row: Sequence[tuple[float, str, str]]) -> float:
    return 0.04 + max(text_layout.text_height(words, SMALL) for _, _, words in row)


def _write_roofline_key(figure: Figure, rows: Sequence[Sequence[tuple[float, str, str]]]) -> None:
    """Write above all the names, each behind its marker."""
    wide, high = figure.get_size_inches()
    y = high - EDGE
    for row in rows:
        for x, name, words in row:
            own = color(name)
            marker = Line2D(
                [x + 0.08], [y - text_layout.text_height("", SMALL) / 2], ls="", ms=8, color=own,
                marker=MARKERS.get(name, "."), transform=figure.dpi_scale_trans,
            )  # fmt: skip
            figure.add_artist(marker)
            figure.text(
                (x + SAMPLE) / wide, y / high, words, color=own, weight="bold", fontsize=SMALL,
                va="top", linespacing=1.1,
            )  # fmt: skip
        y -= _key_height(row)


def _checked_passes(name: str, values: Any) -> tuple[list[str], np.ndarray]:
    """Return the words of passes, and where they stand."""
    accepted = "at least one (words, intensity, operations a second)"
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(values)}")
    if not values:
        raise ValueError(f"{name} must be {accepted}, got none")
    words, places = [], []
    for i, value in enumerate(values):
        if not isinstance(value, (tuple, list)) or len(value) != 3:
            raise TypeError(
                f"{name}[{i}] must be (words, intensity, operations a second), "
                f"got {checks.given(value)}"
            )
        limits = {"low": 1 / figure_checks.MOST, "high": figure_checks.MOST}
        words.append(figure_checks.text(f"{name}[{i}][0]", value[0]))
        places.append([checks.real(f"{name}[{i}][{j}]", value[j], **limits) for j in (1, 2)])
    return words, np.array(places)
