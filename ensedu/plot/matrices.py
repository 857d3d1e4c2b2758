"""Weight matrices as heat maps, one panel a member."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ensedu import checks
from ensedu.plot import cells, inputs
from ensedu.plot.style import HEAT, WIDTH, Figure, house_style

MOST_MEMBERS = 16
MOST_WRITTEN = 8  # rows or columns of a matrix whose entries still fit into its cells
MOST_BESIDE = 5  # columns of which two matrices fit side by side with their entries


def weight_matrices(
    weights: Float[np.ndarray, "M m n"],
    *,
    titles: Sequence[str] | None = None,
    annotate: bool | None = None,
    value_range: float | int | None = None,
) -> Figure:
    """Draw each member's matrix as a heat map: a row an input, a column an output.

    Parameters
    ----------
    weights
        (M, m, n), at most 16 members, as a layer's ``weight_matrices()`` gives them.
    titles
        One title a member; by default "member 1", "member 2", … (and none for one member).
    annotate
        Whether to write each entry into its cell; by default up to 8 rows and 8 columns,
        5 if there are several members.
    value_range
        The scale runs from ``-value_range`` to ``value_range``, the same in all panels; by default
        the greatest absolute entry. Pass it to keep the scale while a slider moves.

    Raises
    ------
    TypeError, ValueError
        For an array of another shape, more than 16 members, or a bad option.
    """
    inputs.array("weights", weights, ("M", "m", "n"))
    M, m, n = weights.shape
    if M > MOST_MEMBERS:
        raise ValueError(f"weights has {M} members, accepted are 1 to {MOST_MEMBERS}")
    names = _titles(titles, M)
    if annotate is None:
        annotate = m <= MOST_WRITTEN and n <= (MOST_BESIDE if M > 1 else MOST_WRITTEN)
    elif not isinstance(annotate, bool):
        raise TypeError(f"annotate must be True, False or None, got {checks.given(annotate)}")
    if value_range is None:
        value_range = float(np.abs(weights).max()) or 1.0
    else:
        value_range = inputs.value_range(value_range)

    # Two panels side by side stay readable on a phone, three if they carry no numbers.
    columns = min(M, 2 if M <= 4 else 3)
    if annotate:
        columns = min(M, 2 if n <= MOST_BESIDE else 1)
    rows = ceil(M / columns)
    width = min((WIDTH - 1.7) / columns - 0.35, 4.2)
    height = float(np.clip(width * m / n, 0.5, 4.2))
    with house_style():
        layout = ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.05)
        figure = Figure(figsize=(WIDTH, rows * (height + 0.72) + 0.5), layout=layout)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for i, (axes, matrix) in enumerate(zip(panels, weights, strict=False)):
            image = axes.imshow(
                matrix, cmap=HEAT, vmin=-value_range, vmax=value_range, aspect="auto"
            )
            axes.set_title(names[i], pad=5)
            axes.spines[:].set_visible(False)
            _ticks(axes, m, n)
            axes.set_xlabel("output" if i >= M - columns else "")
            axes.set_ylabel("input" if i % columns == 0 else "")
            if annotate:
                size = 12 if n <= 4 else 9
                cells.write(axes, matrix, (-0.5, -0.5), (1.0, 1.0), value_range, size)
        for axes in panels[M:]:
            axes.set_visible(False)
        bar = figure.colorbar(image, ax=list(panels), fraction=0.05, pad=0.03, label="weight")
        bar.outline.set_visible(False)
        # The layout is settled here, once, so that every later drawing of the figure is the same.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _titles(titles: Sequence[str] | None, M: int) -> list[str]:
    if titles is None:
        return [f"member {i + 1}" for i in range(M)] if M > 1 else [""]
    if isinstance(titles, str) or not isinstance(titles, Sequence):
        raise TypeError(f"titles must be a sequence of {M} strings, got {checks.given(titles)}")
    if len(titles) != M:
        raise ValueError(f"titles must be a sequence of {M} strings, got {len(titles)}")
    return [inputs.text(f"titles[{i}]", title) for i, title in enumerate(titles)]


def _ticks(axes: Axes, m: int, n: int) -> None:
    """Number inputs and outputs from 1: all of them, or the first and the last of many."""
    for axis, size in ((axes.xaxis, n), (axes.yaxis, m)):
        shown = range(size) if size <= MOST_WRITTEN else (0, size - 1)
        axis.set_ticks(list(shown), [str(k + 1) for k in shown])
        axis.set_tick_params(length=0)
