"""What a machine can do at most, and how near a measured pass comes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensedu import checks
from ensedu.plot import inputs
from ensedu.plot.style import INK, MARKERS, MUTED, WIDTH, Figure, color, house_style, label


def roofline(
    flops_per_second: float,
    bytes_per_second: float,
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
    limits = {"low": 1 / inputs.MOST, "high": inputs.MOST}
    peak = checks.real("flops_per_second", flops_per_second, **limits)
    bandwidth = checks.real("bytes_per_second", bytes_per_second, **limits)
    named = inputs.mapping("points", points, "(words, intensity, operations a second) each")
    passes = {name: _passes(f"points[{name!r}]", values) for name, values in named.items()}
    every = np.concatenate([places for _, places in passes.values()])
    ridge = peak / bandwidth
    left, right = min(every[:, 0].min(), ridge) / 5, max(every[:, 0].max(), ridge) * 2.2
    with house_style():
        figure = Figure(figsize=(WIDTH, 4.4))
        axes = figure.add_axes((0.105, 0.145, 0.87, 0.745))
        axes.set(xscale="log", yscale="log", xlim=(left, right))
        roof = np.array([left, ridge, right])
        axes.plot(roof, np.minimum(peak, bandwidth * roof) / 1e9, color=MUTED, lw=1.8)
        axes.annotate(
            f"{peak / 1e9:.0f} GFLOP/s: computing", (ridge, peak / 1e9), (0, 18),
            textcoords="offset points", ha="left", color=MUTED, fontsize=11,
        )  # fmt: skip
        middle = np.sqrt(left * ridge)
        axes.annotate(
            f"{bandwidth / 1e9:.0f} GB/s: moving", (middle, bandwidth * middle / 1e9), (-8, 4),
            textcoords="offset points", ha="right", color=MUTED, fontsize=11,
        )  # fmt: skip
        for turn, (name, (words, places)) in enumerate(passes.items()):
            own = color(name)
            axes.plot(
                places[:, 0], places[:, 1] / 1e9, color=own, lw=1.2, ls=":",
                marker=MARKERS.get(name, "."), ms=8,
            )  # fmt: skip
            for word, (x, y) in zip(words, places, strict=True):
                axes.annotate(
                    word, (x, y / 1e9), (0, 9 if turn else -18), textcoords="offset points",
                    ha="center", color=own, fontsize=11,
                )  # fmt: skip
            axes.plot([], [], color=own, marker=MARKERS.get(name, "."), label=label(name))
        axes.legend(loc="lower right", frameon=False, labelcolor="linecolor")
        axes.set_ylim(top=3 * peak / 1e9)
        axes.set_xlabel("operations for each byte moved (FLOP/byte)")
        figure.text(
            0.012, 0.95, "billions of operations a second (GFLOP/s)", va="center", color=INK
        )
        axes.grid(axis="both")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    return figure


def _passes(name: str, values: Any) -> tuple[list[str], np.ndarray]:
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
        limits = {"low": 1 / inputs.MOST, "high": inputs.MOST}
        words.append(inputs.text(f"{name}[{i}][0]", value[0]))
        places.append([checks.real(f"{name}[{i}][{j}]", value[j], **limits) for j in (1, 2)])
    return words, np.array(places)
