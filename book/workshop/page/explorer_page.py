"""An explorer on a page: frames drawn at build time, the controls that move them, what is below."""

import hashlib
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from workshop.page import computed, figure_menu, figure_numbers, slider_checks
from workshop.page.controls import controls, setting
from workshop.page.frames import FRAMES, Frames, embedded, read_beside_picture
from workshop.page.sentences import live_sentence

TALL = 1.75  # heights of a phone's frame, in its widths, from which on it fills the screen


def page(explorer: Any, folder: Path) -> str:
    """Draw all frames into `folder`; return the first one, the sliders, and what moves them."""
    source, choices, values = explorer.source, explorer.choices, explorer.values
    # A page computes all but the first setting of a formula.
    states = slider_checks.states(choices) if explorer.formula is None else [values]
    draws = [partial(source.readable, state) for state in states]
    named = {"name": explorer.name, "caption": explorer.caption, "group": explorer.group}
    data = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
    data += " data-stays" * (explorer.stays and bool(choices))
    frames = Frames(draws, folder, states.index(values), read_beside_picture)
    wide, narrow = frames.read(narrow=False), frames.read(narrow=True)
    numbers = _link_to_numbers(explorer, folder, states, [one.numbers for one in wide])
    below = figure_menu.menu(numbers, *explorer.sources)
    # Of what is taller than a phone's screen the axis stays in sight, as all controls do.
    tall = any(high > TALL * width for *_, width, high in frames.sizes())
    axis = _axis(frames.pictures(""), [one.kept for one in narrow]) if tall else ""
    if explorer.formula is not None:
        draw = partial(source.figure, values)
        form = computed.html(explorer.formula, values, choices, frames, draw, folder, axis)
        return f'<div class="ensedu-explorer"{data}>{form}{below}</div>'
    if choices:
        frames.check_weight()
    pictures = frames.pictures(explorer.alt())
    if not choices:
        frame = _framed(pictures + axis, frames.room() if axis else "")
        return f'<div class="ensedu-explorer"{data}>{frame}{below}</div>'
    moved = {
        "frames": FRAMES + frames.key,
        "values": [[str(value) for value in options] for options in choices.values()],
        "sizes": frames.sizes(),
        "alts": [source.say(state) for state in states],
    }
    if any(one.pointed for one in wide):
        moved["pointed"] = [
            [
                (words, own, other)
                for (words, own), (_, other) in zip(one.pointed, small.pointed, strict=True)
            ]
            for one, small in zip(wide, narrow, strict=True)
        ]
    if wide[0].pressed:
        moved["pressed"] = [wide[0].pressed, narrow[0].pressed]
    script = embedded(moved)
    why = f'<p class="ensedu-why">{escape(explorer.rescale)}</p>' if explorer.rescale else ""
    return (
        f'<div class="ensedu-explorer"{data}>'
        f"{controls(choices, values, frames.key)}"
        f"{live_sentence(explorer.alt(), moved['alts'])}"
        f"{_framed(pictures + axis, frames.room())}{why}"
        f'<p class="ensedu-setting">Set to {escape(setting(values))}.</p>'
        f'<script type="application/json">{script}</script>{below}</div>'
    )


def _link_to_numbers(
    explorer: Any, folder: Path, states: list[dict[str, Any]],
    numbers: list[list[figure_numbers.Series]],
) -> str:  # fmt: skip
    """Write the numbers of all frames beside them; return a link, nothing without numbers."""
    text, part = figure_numbers.table(
        list(zip(states, numbers, strict=True)), states.index(explorer.values)
    )
    if not text:
        return ""
    # The content names it, as it does the frames.
    file = f"{hashlib.sha256(text.encode()).hexdigest()[:16]}-numbers.csv"
    (folder / file).write_text(text, encoding="utf-8")
    link = f'<a href="{FRAMES}{file}" download="{explorer.name or "figure"}.csv">'
    return f"{link}Numbers (CSV)</a>{escape(part and f', of {part}')}"


def _axis(pictures: str, kept: list[list[float]]) -> str:
    """Return what all narrow frames keep in sight, at the same place: a part of pictures."""
    first, *others = kept
    if not first or any(other != first for other in others):
        return ""
    begin, end = first
    style = f"--ensedu-begin: {begin}; --ensedu-high: {end - begin:.4f}"
    return f'<div class="ensedu-axis" aria-hidden="true" style="{style}">{pictures}</div>'


def _framed(pictures: str, room: str = "") -> str:
    style = f' style="{room}"' if room else ""
    return f'<div class="ensedu-frame"{style}>{pictures}</div>'
