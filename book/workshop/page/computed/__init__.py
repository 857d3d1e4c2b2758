"""Figures that a page computes: their form in HTML, and the scripts that move them.

A `workshop.plot.moving.Computed` is given to `explore` like any figure. A page shows its first
setting as a picture. A script lays the curves of other settings over a picture of the axes alone.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np

from workshop.page.controls import controls, live_sentence, setting
from workshop.page.frames import Frames, embedded
from workshop.page.scripts import Bundle
from workshop.plot.moving import Computed, bare, moving_parts
from workshop.plot.style import Look, rendering

__all__ = ["BUNDLE", "SCRIPT", "STYLE", "html", "plain", "sides"]

SCRIPT, STYLE = "computed.js", Path(__file__).with_name("computed.css")
BUNDLE = Bundle(
    "enseduComputed",
    ("common/figures", "computed/formulas", "computed/plot", "computed/figure", "computed/guess"),
    dict,
)
Draw = Callable[[], matplotlib.figure.Figure]


def plain(value: Any) -> Any:
    """Return arrays, and what holds some, as lists for a script."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return [plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def sides(draw: Draw) -> dict[str, Any]:
    """Return what moves in a figure, and where, on a wide page and on a narrow one."""
    found = {}
    for narrow in (False, True):
        with rendering(Look(narrow)):
            found["narrow" if narrow else "wide"] = moving_parts(draw)
    return found


def html(
    figure: Computed, values: Mapping[str, Any], choices: Mapping[str, Sequence[Any]],
    whole: Frames, draw: Draw, folder: Path, axis: str = "",
) -> str:  # fmt: skip
    """Return the figure at `values`, which `draw` draws, with controls and what moves it.

    Of one whose axis stays in sight the controls, and what they answer, do.
    """
    axes = Frames([lambda: bare(draw())], folder)
    rows = itertools.product(*({options[0], options[-1]} for options in choices.values()))
    sentences = [figure.say(**dict(zip(choices, row, strict=True))) for row in rows]
    state = {
        "formula": figure.formula,
        "values": [[str(value) for value in options] for options in choices.values()],
        "words": figure.words,
        "drag": figure.drag,
        "edges": figure.edges,
        "fold": figure.fold,
        "data": figure.data,
        "parts": sides(draw),
    }
    now = figure.say(**values)
    hints = ["Drag a blue line, or slide."] if figure.edges else []
    if figure.drag:
        keys = "With keys, <kbd>Page Down</kbd> takes the next one, and arrows move it."
        hints.append(f"Drag a point. <span>{keys}</span>")
    hint = "".join(f'<p class="ensedu-hint ensedu-drag">{words}</p>' for words in hints)
    room = f' style="{axes.room()}"' if axis else ""
    held = f"{controls(choices, values, whole.key)}{live_sentence(now, sentences)}"
    held = f'<div class="ensedu-held">{held}</div>' if axis else held
    return (
        f'<div class="ensedu-computed">{held}<template>{hint}'
        f'<div class="ensedu-frame ensedu-axes"{room}>{axes.pictures("")}{axis}'
        "</div></template>"
        f'<div class="ensedu-frame ensedu-whole">{whole.pictures(now)}</div>'
        f'<p class="ensedu-setting">Set to {setting(values)}.</p>'
        f'<script type="application/json">{embedded(plain(state))}</script></div>'
    )
