"""How totals grow, one curve a method, named at its end."""

import itertools
from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ensedu import checks
from ensedu.plot import inputs
from ensedu.plot.style import LINES, MARKERS, WIDTH, Figure, color, house_style, label

Box = tuple[np.ndarray, np.ndarray]  # lower left and upper right corner, in pixels


def growth_curves(
    x: inputs.Numbers,
    totals: Mapping[str, inputs.Numbers],
    *,
    xlabel: str,
    ylabel: str,
    log: bool = False,
    log_x: bool = False,
    relative_to: str | None = None,
    marks: Mapping[str, float | int] | None = None,
) -> Figure:
    """Draw one curve a method over `x`, with its name at its right end.

    Parameters
    ----------
    x
        K increasing numbers, for example widths or numbers of layers.
    totals
        Names to K totals. A method's name gives its color, marker, line and label.
    xlabel, ylabel
        What the axes say.
    log, log_x
        Whether the y-axis, the x-axis is logarithmic; totals, x must then be above 0. On a
        logarithmic x-axis there is a tick at each x.
    relative_to
        One of the names: each curve is divided by that one.
    marks
        Some of the names to the x from which that curve lies below another, say a break-even
        point: a ring on the curve, with "from 3" beside it.

    Raises
    ------
    TypeError, ValueError
        For lengths that differ, values that do not increase or are not finite, a name unknown, a
        mark outside x.
    """
    xs = inputs.series("x", x)
    if (np.diff(xs) <= 0).any():
        raise ValueError(f"x must increase, got {checks.given(list(x))}")
    named = inputs.mapping("totals", totals, f"{len(xs)} totals each")
    curves = {
        name: inputs.series(f"totals[{name!r}]", values, len(xs)) for name, values in named.items()
    }
    inputs.text("xlabel", xlabel)
    inputs.text("ylabel", ylabel)
    checks.boolean("log", log)
    if checks.boolean("log_x", log_x) and xs[0] <= 0:
        raise ValueError(f"x must be above 0 for log_x=True, got {xs[0]:g}")
    if relative_to is not None:
        base = curves[checks.one_of("relative_to", relative_to, tuple(curves))]
        if (base <= 0).any():
            raise ValueError(f"totals[{relative_to!r}] must be above 0 to divide by it")
        curves = {name: values / base for name, values in curves.items()}
    if log and any((values <= 0).any() for values in curves.values()):
        raise ValueError("totals must be above 0 for log=True")
    points = _points(marks, xs, curves, log, log_x)

    with house_style():
        figure = Figure(figsize=(WIDTH, 4.2))
        # The y-axis is named above its top end, where it can be read without turning the head.
        axes = figure.add_axes((0.115, 0.15, 0.655, 0.74))
        for name, values in curves.items():
            axes.plot(
                xs, values, color=color(name), ls=LINES.get(name, "-"),
                marker=MARKERS.get(name, "."), label=label(name), clip_on=False,
            )  # fmt: skip
        axes.set_xlabel(xlabel)
        figure.text(0.012, 0.95, ylabel, va="center")
        axes.grid(axis="y")
        if log:
            axes.set_yscale("log")
            every = np.concatenate(list(curves.values()))
            if every.max() < 300 * every.min():  # too few powers of ten for an axis
                axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        else:
            axes.set_ylim(bottom=0)
        if log_x:
            axes.set_xscale("log")
            axes.set_xticks(xs, [f"{value:g}" for value in xs])
            axes.xaxis.set_minor_locator(NullLocator())
        elif np.diff(xs).min() >= 0.06 * (xs[-1] - xs[0]):
            axes.set_xticks(xs)
        elif (xs == np.round(xs)).all():
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        times = "×" if relative_to is not None else ""
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _number(y) + times))
        axes.yaxis.set_minor_formatter("")
        _name_ends(figure, axes, {name: values[-1] for name, values in curves.items()}, xs[-1])
        _mark(figure, axes, points)
    return figure


def _name_ends(figure: Figure, axes: Axes, ends: Mapping[str, float], x: float) -> None:
    """Write each name at the end of its curve, moved up or down where two would touch."""
    texts = {
        name: axes.annotate(
            label(name), xy=(x, ends[name]), xytext=(1, 1), textcoords="axes fraction",
            color=color(name), weight="bold", va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color(name), "lw": 0.8, "shrinkA": 1,
                        "shrinkB": 6, "relpos": (0, 0.5)},
        )
        for name in ends
    }  # fmt: skip
    # Tick labels and names take what room they need, the curves the rest.
    dpi = figure.dpi
    figure.draw_without_rendering()
    width = max(Text.get_window_extent(text).width for text in texts.values())
    ticks = axes.yaxis.get_tightbbox()
    left = 0.022 + ticks.width / dpi / WIDTH
    right = 0.945 - width / dpi / WIDTH
    axes.set_position((left, 0.15, max(0.3, right - left), 0.74))
    figure.draw_without_rendering()
    names = sorted(ends, key=ends.__getitem__)
    y = np.array([axes.transData.transform((x, ends[name]))[1] for name in names])
    box = axes.get_window_extent()
    line = dpi * 0.235
    for i in range(1, len(y)):  # each at least one line above the one below it
        y[i] = max(y[i], y[i - 1] + line)
    y -= max(0.0, y[-1] - box.y1)  # none above the top
    for i in range(len(y) - 2, -1, -1):
        y[i] = min(y[i], y[i + 1] - line)
    for name, height in zip(names, (y - box.y0) / box.height, strict=True):
        texts[name].set_position((1.0 + 0.3 * dpi / box.width, height))


def _points(
    marks: Mapping[str, float | int] | None, xs: np.ndarray, curves: Mapping[str, np.ndarray],
    log: bool, log_x: bool,
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """Return where each mark lies on its curve, which is straight between two totals as drawn."""
    points = {}
    for name, x in inputs.optional_mapping("marks", marks, "numbers").items():
        ys = curves[checks.one_of("marks: a name", name, tuple(curves))]
        x = checks.real(f"marks[{name!r}]", x)
        if not xs[0] <= x <= xs[-1]:
            raise ValueError(
                f"marks[{name!r}] must be from {xs[0]:g} to {xs[-1]:g}, as x is, got {x:g}"
            )
        at, places = (np.log(x), np.log(xs)) if log_x else (x, xs)
        y = np.exp(np.interp(at, places, np.log(ys))) if log else np.interp(at, places, ys)
        points[name] = (x, float(y))
    return points


def _mark(figure: Figure, axes: Axes, points: Mapping[str, tuple[float, float]]) -> None:
    """Draw a ring at each point, and its x where label and leader cover the least."""
    figure.draw_without_rendering()
    px = figure.dpi / 72  # pixels a point
    panel = axes.get_window_extent()
    lines = [axes.transData.transform(line.get_xydata()) for line in axes.lines]
    ink = np.concatenate([_between(a, b) for line in lines for a, b in itertools.pairwise(line)])
    rings = {name: axes.transData.transform(point) for name, point in points.items()}
    taken = [(ring - 9 * px, ring + 9 * px) for ring in rings.values()]
    for name, ring in rings.items():
        x, y = points[name]
        axes.plot(
            [x], [y], ls="", marker="o", ms=13, mfc="none", mec=color(name), mew=2, clip_on=False,
            gid=f"mark {name}",
        )  # fmt: skip
        text = axes.annotate(
            f"from {x:,.0f}" if x == round(x) else f"from {x:,g}", xy=(x, y), xytext=(0, 0),
            textcoords="offset pixels", color=color(name), weight="bold", ha="center",
            va="center", annotation_clip=False, fontsize=11,
            arrowprops={"arrowstyle": "-", "color": color(name), "lw": 0.8, "shrinkA": 1,
                        "shrinkB": 7.5},
        )  # fmt: skip
        half = np.array(Text.get_window_extent(text).size) / 2 + 4 * px
        others = [box for box in taken if not _within(ring[None], *box)]
        near = ink[np.abs(ink - ring).max(axis=1) < 250 * px]
        best, least = np.zeros(2), np.inf
        for offset in _places(half, px):
            low, high = ring + offset - half, ring + offset + half
            cost = np.linalg.norm(offset) / (100 * px)
            cost += 1000 * ((low < panel.min).any() or (high > panel.max).any())
            cost += 100 * sum(_overlap((low, high), other) for other in taken)
            cost += 2 * _within(near, low, high)
            if cost >= least:
                continue
            way = offset / np.linalg.norm(offset)
            leader = _between(ring + 9 * px * way, ring + offset)[::2]
            cost += 20 * sum(_within(leader, *other) > 0 for other in others)
            cost += 5 * (np.abs(leader[:, None] - near).max(axis=2).min() < 2 * px)
            if cost < least:
                best, least = offset, cost
        text.xyann = (best[0], best[1])
        taken.append((ring + best - half, ring + best + half))
        ink = np.concatenate([ink, _between(ring, ring + best)])


def _between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return points on the way from a to b."""
    return a + np.linspace(0, 1, 40)[:, None] * (b - a)


def _within(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> int:
    """Count the points inside a box."""
    return int(((points > low) & (points < high)).all(axis=1).sum())


def _overlap(one: Box, other: Box) -> bool:
    return bool((one[0] < other[1]).all() and (one[1] > other[0]).all())


def _places(half: np.ndarray, px: float) -> Iterator[np.ndarray]:
    """Offsets at which a label of this half size may stand, from near to far."""
    for far in range(0, 121, 8):
        for angle in np.radians(np.arange(90, 450, 15)):
            way = np.array([np.cos(angle), np.sin(angle)])
            yield way * (half + (8 + far) * px)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"
