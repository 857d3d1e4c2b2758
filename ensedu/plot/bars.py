"""Parameter counts as stacked bars, one bar a method, one segment a role."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Patch, Rectangle

from ensedu.counting import Count
from ensedu.methods import ROLES
from ensedu.plot import inputs
from ensedu.plot.style import (
    MUTED,
    ROLE_LABELS,
    SHORT_ROLES,
    WIDTH,
    Figure,
    color,
    house_style,
    label,
    role_style,
)


def parameter_bars(counts: Mapping[str, Count]) -> Figure:
    """Draw each Count as a horizontal bar, split into its roles, with its total at the end.

    Under each bar stand its parts in words, so that a segment too thin to see is still read.

    Parameters
    ----------
    counts
        Names to Counts, drawn from top to bottom. A method's name gives its color and label; any
        other name is its own label.

    Raises
    ------
    TypeError, ValueError
        If `counts` is no mapping of strings to Counts, or is empty.
    """
    named = inputs.counts("counts", counts)
    longest = max(count.total for count in named.values()) or 1
    with house_style():
        figure = Figure(figsize=(WIDTH, 0.82 * len(named) + 0.55))
        height = figure.get_figheight()
        axes = figure.add_axes((0.01, 0.45 / height, 0.98, 1 - 0.5 / height))
        # A total of many digits needs more room than a sixth of the page.
        room = max(1.16, 1 / (1 - 0.016 * (len(f"{longest:,}") + 2)))
        axes.set(xlim=(-0.004 * longest, room * longest), ylim=(len(named) - 0.42, -0.5))
        axes.axis("off")
        for y, (name, count) in enumerate(named.items()):
            axes.text(0, y - 0.25, label(name), color=color(name), weight="bold")
            stack(axes, count, name, (0.0, y - 0.17), 0.3)
            axes.text(
                count.total + 0.012 * longest, y - 0.02, f"{count.total:,}", va="center",
                weight="bold",
            )  # fmt: skip
            axes.text(0, y + 0.34, _words(count), color=MUTED, fontsize=11, va="center")
        role_legend(figure, named)
    return figure


def in_words(counts: Mapping[str, Count]) -> str:
    """Say what `parameter_bars` shows, for a figure's alt text: totals and their parts.

    Raises as `parameter_bars` does.
    """
    named = inputs.counts("counts", counts)
    return "; ".join(
        f"{label(name)} {count.total:,}: {_words(count)}" for name, count in named.items()
    )


def stack(
    axes: Axes, count: Count, name: str, corner: tuple[float, float], height: float,
    scale: float = 1.0,
) -> None:  # fmt: skip
    """Draw one bar from its upper left corner; `scale` is the length of one number."""
    left, top = corner
    for role in ROLES:
        length = getattr(count, role) * scale
        if length:
            axes.add_patch(
                Rectangle((left, top), length, height, lw=1.0, gid=role, **role_style(role, name))
            )
        left += length


def role_legend(figure: Figure, counts: Mapping[str, Count]) -> None:
    """Name the roles in use along the lower edge, each with the colors that it has above."""
    handles: list[Any] = []
    labels = []
    for role in ROLES:
        names = [name for name, count in counts.items() if getattr(count, role)]
        if names:
            looks = [names[0]] if role == "shared" else names
            handles.append(tuple(Patch(**role_style(role, name)) for name in looks))
            labels.append(ROLE_LABELS[role])
    if handles:
        figure.legend(
            handles, labels, loc="lower left", ncols=len(handles), frameon=False, fontsize=11,
            handler_map={tuple: HandlerTuple(ndivide=None, pad=0.2)}, borderpad=0,
            handlelength=1.6, handletextpad=0.5, columnspacing=1.3, bbox_to_anchor=(0.012, 0.01),
            borderaxespad=0,
        )  # fmt: skip


def _words(count: Count) -> str:
    return " + ".join(
        f"{getattr(count, role):,} {words}"
        for role, words in SHORT_ROLES.items()
        if getattr(count, role)
    )
