"""An explorer on a page: frames drawn at build time, and the controls that move them.

Below it stands where it comes from: its numbers, its measured tables, and its drawing code.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from ensedu.common import checks
from workshop.page import computed, figure_numbers
from workshop.page.controls import controls, live_sentence, setting, states_of
from workshop.page.frames import FRAMES, SITE, Frames, embedded, read_beside_picture

TALL = 1.75  # heights of a phone's frame, in its widths, from which on it fills the screen


def page(explorer: Any, folder: Path) -> str:
    """Draw all frames into `folder`; return the first one, the sliders, and what moves them."""
    source, choices, values = explorer.source, explorer.choices, explorer.values
    # A page computes all but the first setting of a formula.
    states = states_of(choices) if explorer.formula is None else [values]
    draws = [partial(source.figure, state) for state in states]
    named = {"name": explorer.name, "caption": explorer.caption, "group": explorer.group}
    data = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
    data += " data-stays" * (explorer.stays and bool(choices))
    frames = Frames(draws, folder, states.index(values), read_beside_picture)
    wide, narrow = frames.read(narrow=False), frames.read(narrow=True)
    numbers = _link_to_numbers(explorer, folder, states, [one.numbers for one in wide])
    below = menu(numbers, *explorer.sources)
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


def _framed(pictures: str, room: str) -> str:
    style = f' style="{room}"' if room else ""
    return f'<div class="ensedu-frame"{style}>{pictures}</div>'


class Code(NamedTuple):
    """A function, a method or an experiment, by its module and its name there."""

    module: str
    name: str

    def link(self, words: str) -> str:
        """Return a link to where the site shows it."""
        page = self.module.replace(".", "/")
        return f'<a href="{SITE}code/{page}.html#{self.name}">{words}</a>'


def menu(numbers: str, tables: Iterable[str], code: Code | None) -> str:
    """Return the list that unfolds below a figure: `numbers`, a link, then tables, then code.

    Of tables it has the names: the build knows which experiments compute them.
    """
    lines = [numbers, code.link("Drawing code") if code else ""]
    items = [f"<li>{line}</li>" for line in lines if line]
    if named := " ".join(tables):
        items.insert(bool(numbers), f"<li data-tables>{named}</li>")
    return f'<ul class="ensedu-sources">{"".join(items)}</ul>' if items else ""


def text(tables: Iterable[str], code: Code | None) -> str:
    """Return in words where a figure without numbers comes from."""
    drawn = f"drawing code: {code.module}.{code.name}" if code else ""
    listed = ", ".join(tables)
    return " · ".join(filter(None, [drawn, listed and f"tables: {listed}"]))


def checked_tables(table: Any) -> tuple[str, ...]:
    """Return the names of measured tables: one, several, or none."""
    named = [table] if isinstance(table, str) else table
    if not isinstance(named, Sequence) or not all(isinstance(name, str) for name in named):
        raise TypeError(f"table must be a name or several, got {checks.describe(table)}")
    return tuple(dict.fromkeys(named))


def code_of_draw(draw: Callable[..., Any]) -> Code | None:
    """Return where a function of this package begins; None for one of a notebook, or of others."""
    while isinstance(draw, partial):
        draw = draw.func
    function = inspect.unwrap(getattr(draw, "__func__", draw))
    module = getattr(function, "__module__", None) or ""
    # Of a function that another one makes, the one that makes it.
    name = getattr(function, "__qualname__", "").partition(".<locals>")[0]
    known = module.startswith(("ensedu.", "workshop.")) and name.replace(".", "_").isidentifier()
    return Code(module, name) if known else None
