"""The controls of an explorer, buttons, a slider or a list, and the sentence that answers them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil
from typing import Any, Literal

NUMBER = re.compile(r"[-−+]?[\d.,]+(e[-+]?\d+)?%?")
# Letters that stand beside each other on a wide page, and the room around each name, in letters.
LINE, AROUND = 60, 4
MOST_BUTTONS = 7  # of numbers: more are slid
# Pixels of a phone that is 360 wide: the room in its bar, a letter, a button's edges, the least
# button, and what lies between two.
ROOM, LETTER, EDGES, LEAST, BETWEEN = 292, 9.5, 8, 36, 4
SHORTEST_NAME, LONGEST_NAME = 72, 120  # pixels of what stands before its buttons, and wraps there
MOST_TICKS = 20  # below a slider: more are a line
# What a reader calls otherwise than Python does, as the trainer says it.
NAMES_IN_WORDS = {"ensemble_size": "members", "beside": "compared with", "kl_weight": "KL weight"}
#: And what stands behind a number: prices are multiples of one network's.
UNITS = {"memory": " ×", "training": " ×"}


def kind(options: Sequence[Any]) -> Literal["buttons", "list", "slider"]:
    """Return by what one of some values is chosen; two are always a toggle."""
    said = [str(option) for option in options]
    if len(said) == 2:
        return "buttons"
    fit = sum(len(name) + AROUND for name in said) <= LINE
    if all(map(NUMBER.fullmatch, said)):
        return "buttons" if fit and len(said) <= MOST_BUTTONS else "slider"
    return "buttons" if fit else "list"


def words(name: str) -> str:
    """Return a slider's name as a reader sees it."""
    return NAMES_IN_WORDS.get(name, name.replace("_", " "))


def as_read(option: Any) -> str:
    """Return a value as a reader sees it: -1.0 as −1, 1000 as 1,000; not so in an address."""
    text = str(option)
    if not NUMBER.fullmatch(text):
        return text
    number = text.removesuffix(".0")
    return f"{int(number):,}" if number.isdecimal() else number.replace("-", "−")


def setting(values: Mapping[str, Any]) -> str:
    """Say which value each slider has."""
    return ", ".join(
        f"{words(name)} {as_read(value)}{UNITS.get(name, '')}" for name, value in values.items()
    )


def controls(choices: Mapping[str, Sequence[Any]], values: Mapping[str, Any], key: str) -> str:
    """Return the controls as HTML, hidden until a script moves them; `key` is the page's own."""
    names = " and ".join(map(words, choices))
    rows = "".join(
        BUILDERS[kind(options)](
            name, [str(option) for option in options], list(options).index(values[name]), key
        )
        for name, options in choices.items()
    )
    return (
        f'<div class="ensedu-sliders" role="group" aria-label="{escape(names)}" hidden>{rows}</div>'
    )


def live_sentence(sentence: str, others: Iterable[str]) -> str:
    """Return it as HTML, with room for the longest of those that may stand in its place."""
    return (
        f'<div class="ensedu-said" data-longest="{escape(max(others, key=len))}">'
        f'<p class="ensedu-live" role="status">{escape(sentence)}</p></div>'
    )


def _slider(name: str, options: list[str], position: int, key: str) -> str:
    unit, marks = UNITS.get(name, ""), f"{key}-{escape(name)}"
    value, low, high = (escape(as_read(options[at]) + unit) for at in (position, 0, -1))
    data = f'data-name="{escape(name)}"' + f' data-unit="{unit}"' * bool(unit)
    marked = range(len(options) if len(options) <= MOST_TICKS else 0)
    ticks = "".join(f'<option value="{i}"></option>' for i in marked)
    return (
        f'<label class="ensedu-control" {data}>'
        f"<span>{escape(words(name))}</span>"
        f'<span class="ensedu-slid"><input type="range" min="0" max="{len(options) - 1}" '
        f'step="1" value="{position}" '
        f'aria-valuetext="{value}" list="{marks}" autocomplete="off">'
        f'<span class="ensedu-ends" aria-hidden="true"><span>{low}</span>'
        f"<span>{high}</span></span></span>"
        f'<output aria-hidden="true">{value}</output>'
        f'<datalist id="{marks}">{ticks}</datalist></label>'
    )


def _buttons(name: str, options: list[str], position: int, key: str) -> str:
    columns = _columns(words(name), list(map(as_read, options)))
    rows = f' style="--ensedu-columns: {columns}"' if columns else ""
    buttons = "".join(
        f'<label><input type="radio" name="{key}-{escape(name)}" value="{i}" autocomplete="off"'
        f"{' checked' if i == position else ''}><span>{escape(as_read(option))}</span></label>"
        for i, option in enumerate(options)
    )
    return (
        f'<div class="ensedu-control" data-name="{escape(name)}" role="radiogroup"{rows} '
        f'aria-label="{escape(words(name))}"><span>{escape(words(name))}</span>'
        f'<span class="ensedu-toggle">{buttons}</span></div>'
    )


def _columns(name: str, options: list[str]) -> int:
    """Return in how many columns a phone shows buttons below their name; 0: in a line beside it."""
    wide = [EDGES + LETTER * len(option) for option in options]
    line = sum(max(LEAST, button) + BETWEEN for button in wide)
    if min(LONGEST_NAME, max(SHORTEST_NAME, LETTER * len(name))) + line <= ROOM:
        return 0
    # Long names take up to three lines; rows are as full as each other.
    lines = [max(len(option) / 3, *map(len, option.split())) for option in options]
    widest = max(LEAST, EDGES + LETTER * max(lines)) + BETWEEN
    rows = ceil(len(options) / max(1, int((ROOM + BETWEEN) / widest)))
    return ceil(len(options) / rows)


def _list(name: str, options: list[str], position: int, key: str) -> str:
    entries = "".join(
        f"<option{' selected' if i == position else ''}>{escape(option)}</option>"
        for i, option in enumerate(options)
    )
    return (
        f'<label class="ensedu-control" data-name="{escape(name)}">'
        f"<span>{escape(words(name))}</span>"
        f'<select autocomplete="off">{entries}</select></label>'
    )


BUILDERS = {"buttons": _buttons, "list": _list, "slider": _slider}
