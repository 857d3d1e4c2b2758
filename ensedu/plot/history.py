"""How a training went: the NLL of each epoch, the best one, and the KL."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.common.history import EpochRow
from ensedu.plot import figure_checks
from ensedu.plot.panels import (
    BELOW,
    EDGE,
    LINE,
    TITLE,
    Ends,
    Number,
    axis_ends,
    cut_to_lines,
    ends_height,
    ends_room,
    key_rows,
    methods_of,
    name_ends,
    place,
    set_axis,
    tick_room,
    ticks,
    ticks_along,
    write,
    write_key,
)
from ensedu.plot.style import MUTED, PAGE, Figure, color, house_style, label, look

Run = Sequence[EpochRow]
#: Inches: the panel of the NLL, wide and narrow, that of the KL, and what is above each.
HIGH, LOW, ABOVE = (2.5, 2.0), 1.2, 0.4
#: The part of the epochs whose NLL may leave the panel, since it is far above all that follow.
EARLY = 0.1
ROWS = "rows of a training, as fit returns them, or a list of such, one a seed"
TRAIN: dict[str, Any] = {"ls": (0, (2, 1.6)), "lw": 1.4}


@dataclass(frozen=True, eq=False)
class _Runs:
    """The trainings of one name: of each seed and quantity the values by epoch."""

    own: str
    seeds: list[dict[str, Array]]

    def of(self, quantity: str) -> list[Array]:
        return [seed[quantity] for seed in self.seeds if quantity in seed]

    @property
    def main(self) -> str:
        """The NLL that counts: that of validation if there is one."""
        return "validation" if self.of("validation") else "nll"

    @property
    def penalized(self) -> bool:
        """Whether there is a KL."""
        return any((values > 0).any() for values in self.of("kl"))


def history(
    runs: Mapping[str, Run | Sequence[Run]],
    *,
    colors: Mapping[str, str] | None = None,
    xlim: Ends | None = None,
    ylim: Ends | None = None,
    kl_ylim: Ends | None = None,
    ylabel: str = "NLL",
) -> Figure:
    """Draw training curves: NLL by epoch, dotted for training, solid for validation.

    A ring stands at the best epoch of a validated training: the one of the least validation NLL,
    of those whose KL weighed as much as in the end. A second panel shows the KL, if any has one or
    `kl_ylim` is given. Of several seeds each is a thin line, and their mean a thick one, over the
    epochs that all have.

    Parameters
    ----------
    runs
        Names to what `fit` of `ensedu.numpy` or `ensedu.torch` returns, or to a list of that, one
        a seed.
    colors
        Some of the names to the method whose color they get; a method's own name has it without.
    xlim
        Ends of the axis of epochs, by default from 1 to the last.
    ylim, kl_ylim
        Ends of the NLL and of the KL. By default the first epochs may leave the panel of the NLL.
    ylabel
        What the loss is.

    Raises
    ------
    TypeError, ValueError
        For other rows, an unknown method, and ends that do not rise.
    """
    named = figure_checks.mapping("runs", runs, ROWS)
    methods = methods_of(colors, named, "runs")
    found = {
        name: _Runs(color(methods[name]), _checked_seeds(f"runs[{name!r}]", value))
        for name, value in named.items()
    }
    every = [seed for one in found.values() for seed in one.seeds]
    longest = max(len(seed["nll"]) for seed in every)
    across = (1.0, float(max(2, longest))) if xlim is None else axis_ends("xlim", xlim)
    curves = [seed[part] for seed in every for part in ("nll", "validation") if part in seed]
    up = _ends_of_late_epochs(curves, longest) if ylim is None else axis_ends("ylim", ylim)
    kl_up = None
    if kl_ylim is not None:
        kl_up = axis_ends("kl_ylim", kl_ylim)
    elif any(one.penalized for one in found.values()):
        kl_up = _ends_of_curves([seed["kl"] for seed in every])
    figure_checks.text("ylabel", ylabel)
    with house_style():
        return _draw_panels(found, across, up, kl_up, ylabel)


def _draw_panels(
    found: Mapping[str, _Runs], across: Ends, up: Ends,
    kl_up: Ends | None, ylabel: str,
) -> Figure:  # fmt: skip
    entries: dict[str, Any] = {}
    if any(one.main == "validation" for one in found.values()):
        entries = {
            "validation": {"color": MUTED, "lw": 2}, "training": {"color": MUTED, **TRAIN},
            "best epoch": {
                "color": MUTED, "ls": "", "marker": "o", "ms": 7, "mfc": PAGE, "mew": 1.6,
            },
        }  # fmt: skip
    if any(len(one.seeds) > 1 for one in found.values()):
        entries["one seed"] = {"color": MUTED, "lw": 0.9, "alpha": 0.6}
    right = ends_room(map(label, found))
    panels = [(ylabel, "nll", _height_for_names(HIGH[look().narrow], found), up, dict(found))]
    if kl_up is not None:
        with_kl = {name: one for name, one in found.items() if one.penalized}
        panels.append(("KL", "kl", _height_for_names(LOW, with_kl), kl_up, with_kl))
    steps = [ticks(ends, int(height / 0.33)) for _, _, height, ends, _ in panels]
    left = max(map(tick_room, steps))
    top = LINE * key_rows(entries) + (0.06 if entries else 0)
    whole = top + sum(ABOVE + height for _, _, height, _, _ in panels) + BELOW
    figure = Figure(figsize=(look().width, whole))
    width = look().width - left - right
    y = top
    for (title, quantity, height, ends, shown), rises in zip(panels, steps, strict=True):
        axes = place(figure, left, y + ABOVE, width, height)
        set_axis(axes.xaxis, across, ticks_along(across, width, whole=True, out=0.2))
        set_axis(axes.yaxis, ends, rises)
        axes.tick_params(labelbottom=False)
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        words = cut_to_lines(title, look().width - 2 * EDGE, 1, TITLE)
        write(figure, EDGE, y + ABOVE - 0.14, words, va="bottom", fontsize=TITLE)
        axes.set_label(title)
        for name, one in shown.items():
            _draw_curves(axes, label(name), one, quantity, alone=len(shown) == 1)
        marks = []
        for name, one in shown.items():
            mean = _mean_curve(one.of("kl" if quantity == "kl" else one.main))
            marks.append((label(name), float(len(mean)), float(mean[-1]), one.own))
        name_ends(figure, axes, marks)
        y += ABOVE + height
    axes.tick_params(labelbottom=True)
    axes.set_xlabel("epoch")
    write_key(figure, entries)
    return figure


def _height_for_names(least: Number, names: Iterable[str]) -> float:
    return max(least, ends_height(map(label, names)))


def _draw_curves(axes: Axes, called: str, one: _Runs, quantity: str, alone: bool) -> None:
    """Draw the curves of one name, of the NLL those of training and validation."""
    main = quantity if quantity == "kl" else one.main
    values = one.of(main)
    if len(values) > 1:
        for line in values:
            axes.plot(
                _epochs(line), line, color=one.own, lw=0.9, alpha=0.35, label=f"{called}, seed"
            )
    if main == "validation":
        mean = _mean_curve(one.of("nll"))
        alpha = 1.0 if alone else 0.7
        axes.plot(
            _epochs(mean), mean, color=one.own, alpha=alpha, label=f"{called}, training", **TRAIN
        )
    mean = _mean_curve(values)
    axes.plot(_epochs(mean), mean, color=one.own, lw=2, label=called)
    if main == "validation":
        for seed in one.seeds:
            x, y = _best_epoch(seed)
            if not _best_epoch_inside(x, axes.get_xlim()) or not _best_epoch_inside(
                y, axes.get_ylim()
            ):
                continue
            # Whole where the last epoch is the best.
            axes.plot(
                [x], [y], ls="", marker="o", mec=one.own, mfc=PAGE, mew=1.8, zorder=4,
                ms=8 if len(one.seeds) == 1 else 5, clip_on=False, label=f"{called}, best epoch",
            )  # fmt: skip


def _best_epoch_inside(value: Number, ends: Ends) -> bool:
    return bool(ends[0] <= value <= ends[1])


def _epochs(values: Array) -> Array:
    return np.arange(1, len(values) + 1)


def _mean_curve(values: Sequence[Array]) -> Array:
    """Return the mean over seeds, as long as the shortest."""
    shortest = min(map(len, values))
    return np.mean([line[:shortest] for line in values], axis=0)


def _best_epoch(seed: Mapping[str, Array]) -> tuple[float, float]:
    """Return the best epoch, of those that ended with the whole KL, and its NLL."""
    whole = np.flatnonzero(seed["beta"] == seed["beta"][-1])
    best = int(whole[seed["validation"][whole].argmin()])
    return best + 1.0, float(seed["validation"][best])


def _ends_of_late_epochs(curves: Sequence[Array], longest: int) -> tuple[float, float]:
    """Return what holds all curves but for their first epochs."""
    early = int(EARLY * longest)
    return _ends_of_curves([*[line[early:] for line in curves if len(line) > early]], curves)


def _ends_of_curves(
    curves: Sequence[Array], lowest: Sequence[Array] | None = None
) -> tuple[float, float]:
    """Return ends with a margin above and below curves, and above 0 for what is never below."""
    high = max(float(line.max()) for line in curves)
    low = min(float(line.min()) for line in lowest or curves)
    margin = 0.06 * (high - low) or max(1.0, abs(high))
    return max(low - margin, 0.0 if low >= 0 else -np.inf), high + margin


def _checked_seeds(name: str, value: Any) -> list[dict[str, Array]]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or not value:
        raise TypeError(f"{name} must be {ROWS}, got {checks.given(value)}")
    if all(isinstance(one, Mapping) for one in value):
        return [_quantities(name, value)]
    seeds = [_quantities(f"{name}[{i}]", rows) for i, rows in enumerate(value)]
    if len({"validation" in seed for seed in seeds}) > 1:
        raise ValueError(f"{name} must have validation in all seeds or in none, got both")
    return seeds


def _quantities(name: str, rows: Any) -> dict[str, Array]:
    """Return what is drawn of the rows of a training, by epoch."""
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Sequence) or not rows:
        raise TypeError(f"{name} must be {ROWS}, got {checks.given(rows)}")
    found = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"{name}[{i}] must be a row, a mapping, got {checks.given(row)}")
    parts = ["nll", "kl", "beta"] + ["validation"] * ("validation" in rows[0])
    for part in parts:
        for i, row in enumerate(rows):
            if part not in row:
                raise ValueError(f"{name}[{i}] must have {part!r}, got {sorted(map(str, row))}")
        ends = {"low": -figure_checks.MOST, "high": figure_checks.MOST}
        values = [
            checks.real(f"{name}[{i}][{part!r}]", row[part], **ends) for i, row in enumerate(rows)
        ]
        found[part] = np.array(values)
    return found
