"""Figures that a page computes: their form in HTML, and the scripts that move them.

A `workshop.plot.moving.Computed` is given to `explore` like any figure. A page shows its first
setting as a picture. A script lays the curves of other settings over a picture of the axes alone;
or that of a `Guess`, which a reader draws before the chapter shows what is true.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np

from workshop.page.controls import controls, live_sentence, setting
from workshop.page.frames import Frames, embedded
from workshop.page.scripts import Bundle
from workshop.plot.moving import Computed, bare, moves, moving_parts
from workshop.plot.panels import ends_room, name_curves, place
from workshop.plot.style import (
    DOUBT,
    INK,
    MUTED,
    PALETTE,
    Figure,
    Look,
    house_style,
    look,
    rendering,
)

SCRIPT, STYLE = "computed.js", Path(__file__).with_name("computed.css")
BUNDLE = Bundle(
    "enseduComputed",
    (
        "common/elements", "common/figures",
        "computed/formulas", "computed/plot", "computed/figure", "computed/guess",
    ),
    dict,
)  # fmt: skip
Draw = Callable[[], matplotlib.figure.Figure]
#: Inches: of the picture, wide and narrow, and around its axes, whose right has room for names.
SIZES = (4.6, 2.9), (3.5, 2.5)
LEFT, ABOVE, BELOW = 0.55, 0.36, 0.59
DRAWN: dict[str, Any] = {"color": INK, "lw": 2.5, "marker": "o", "ms": 5, "label": "you"}
#: What stands behind the truth, and behind what is shown with it.
TRUE, BESIDE = "true", "error"
BUTTON = "sd-btn sd-btn-outline-primary"
WORDS = {
    "far": "You are furthest off at {x}: you drew {drawn}, and it is {truth}.",
    "near": "Well drawn: you are nowhere further off than at {x}, by {off}.",
}


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
        "data": figure.data,
        "parts": sides(draw),
    }
    now = figure.say(**values)
    hints = {"drag-edge": "Drag a blue line, or slide."} if figure.edges else {}
    if figure.drag:
        keys = "With keys, <kbd>Page Down</kbd> takes the next one, and arrows move it."
        hints["drag"] = f"Drag a point. <span>{keys}</span>"
    hint = "".join(
        f'<p class="ensedu-hint ensedu-{name}">{words}</p>' for name, words in hints.items()
    )
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


@dataclass(frozen=True)
class Guess:
    """A curve that a reader draws.

    Attributes
    ----------
    asked
        What the notebook asks, where nobody can draw.
    question, key, answer
        What is asked here, how the truth is known, and why it is so, as HTML.
    title, xlabel
        What the axes say.
    each
        How one x is called, such as ``"{} members"``.
    x, log
        Where a value is drawn, and whether this axis is logarithmic.
    top, ticks
        Where the y-axis ends, and its ticks.
    truth
        Returns what is true at each x.
    beside
        Returns the error that is shown with it, if any.
    unit
        What stands behind a value, which then is said without decimals.
    method
        Whose color it has.
    """

    asked: str
    question: str
    key: str
    answer: str
    title: str
    xlabel: str
    each: str
    x: Sequence[int]
    log: bool
    top: float
    ticks: Sequence[float | int]
    truth: Callable[[], Sequence[float]]
    beside: Callable[[], Sequence[float]] = tuple
    unit: str = ""
    method: str = "deep_ensemble"


def draw_guess(guess: Guess) -> Figure:
    """Draw the axes, the truth, and in the place of what a reader draws the truth as well."""
    truth, beside = guess.truth(), guess.beside()
    with house_style():
        wide, high = SIZES[look().narrow]
        figure, right = Figure(figsize=(wide, high)), ends_room([TRUE, BESIDE])
        axes = place(figure, LEFT, ABOVE, wide - LEFT - right, high - ABOVE - BELOW)
        own = DOUBT if guess.method == "doubt" else PALETTE[guess.method]
        if beside:
            axes.plot(
                guess.x, beside, color=MUTED, lw=2, ls="--", gid=moves("x", "beside"), label=BESIDE
            )
        axes.plot(
            guess.x, truth, color=own, lw=3, gid=moves("x", "truth"), clip_on=False, label=TRUE
        )
        axes.plot(guess.x, truth, gid=moves("x", "drawn"), clip_on=False, **DRAWN)
        first, last = guess.x[0], guess.x[-1]
        room = (last / first) ** 0.06 if guess.log else 0.06 * (last - first)
        ends = (first / room, last * room) if guess.log else (first - room, last + room)
        axes.set(xscale="log" if guess.log else "linear", xlim=ends, ylim=(0, guess.top))
        axes.minorticks_off()
        axes.set_xticks(guess.x, [f"{x:,}" for x in guess.x])
        axes.set_yticks(guess.ticks, [f"{tick:g}" for tick in guess.ticks])
        axes.tick_params(labelsize=12)
        axes.set_title(guess.title)
        axes.set_xlabel(guess.xlabel)
        axes.grid(axis="y")
        name_curves(figure, axes)
    return figure


def choices(options: Sequence[str], right: int) -> str:
    """Return possible answers of a question, hidden until a script can show which is right."""
    buttons = "".join(
        f'<label{" data-right" * (i == right)}><input type="radio" name="ensedu-choice" '
        f'autocomplete="off"><span>{words}</span></label>'
        for i, words in enumerate(options)
    )
    return (
        '<div class="ensedu-choose" role="radiogroup" aria-label="Your guess" hidden>'
        f'<span class="ensedu-toggle">{buttons}</span></div>'
    )


def guess_html(guess: Guess, page: str, folder: Path) -> str:
    """Return what takes the place of a page's question, once a script can show it."""
    axes = Frames([lambda: bare(draw_guess(guess))], folder)
    names = [guess.each.format(f"{x:,}") for x in guess.x]
    truth = list(guess.truth())
    state = {
        "page": page, "names": names, "x": guess.x, "truth": truth, "beside": guess.beside(),
        "digits": 0 if guess.unit else 2, "unit": guess.unit,
        "top": guess.top, "near": 0.05 * float(np.ptp([0, guess.top])), "words": WORDS,
        "parts": sides(lambda: draw_guess(guess)),
    }  # fmt: skip
    return (
        f'<div class="ensedu-guess"><template><p><strong>Predict.</strong> {guess.question}</p>'
        f'<div class="ensedu-frame ensedu-axes">{axes.pictures("")}</div>'
        '<p class="ensedu-hint ensedu-before">The first point is given. Draw the rest with a '
        "finger or the mouse, or with the arrow keys.</p>"
        f'<p class="ensedu-hint ensedu-after">{guess.key}</p>'
        '<p class="ensedu-live" role="status"></p>'
        f'<p class="ensedu-after">{guess.answer}</p>'
        f'<button type="button" class="ensedu-show {BUTTON}" disabled>Show what is true</button> '
        f'<button type="button" class="ensedu-again {BUTTON}" hidden>Draw again</button></template>'
        f'<script type="application/json">{embedded(plain(state))}</script></div>'
    )
