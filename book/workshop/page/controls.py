"""The controls of an explorer, what they may be given, and the sentence that answers them."""

import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from math import ceil
from typing import Any, Literal

import numpy as np

from ensedu.common import checks

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


def checked_options(name: str, values: Any) -> list[Any]:
    """Return a slider's values as a list of plain Python values."""
    accepted = "a sequence of values, at least one"
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {accepted}, got {checks.describe(values)}")
    if (isinstance(values, np.ndarray) and values.ndim == 0) or not len(values):
        raise ValueError(f"{name} must be {accepted}, got {checks.describe(values)}")
    result = [_plain(f"{name}[{i}]", value) for i, value in enumerate(values)]
    try:
        distinct = len(set(result)) == len(result)
    except TypeError:
        raise TypeError(
            f"{name} must be {accepted}, hashable ones, got {checks.describe(values)}"
        ) from None
    if not distinct:
        raise ValueError(f"{name} must be {accepted}, all different, got {checks.describe(values)}")
    return result


def _plain(name: str, value: Any) -> Any:
    """Return one value of a slider; a number of NumPy or Torch as a plain one."""
    if isinstance(value, type) or not hasattr(value, "ndim"):
        return value
    if value.ndim:
        raise TypeError(f"{name} must be one value, got an array of shape {tuple(value.shape)}")
    try:
        return value.item()
    except RuntimeError:  # a tensor without data
        raise TypeError(f"{name} must be one value, got {checks.describe(value)}") from None


def states_of(choices: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return each choice of one value a slider, the last slider moving first."""
    return [
        dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())
    ]


def first_values(start: Any, choices: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the first value of each slider, or the one that `start` names."""
    first = {name: values[0] for name, values in choices.items()}
    if start is None:
        return first
    if not isinstance(start, Mapping):
        raise TypeError(
            f"start must be a dict of slider names to values, got {checks.describe(start)}"
        )
    for name, value in start.items():
        if name not in choices:
            raise ValueError(f"start names the slider {name!r}, accepted are {list(choices)}")
        value = _plain(f"start[{name!r}]", value)
        if value not in choices[name]:
            raise ValueError(
                f"start[{name!r}] is {checks.short_repr(value)}, accepted are {choices[name]}"
            )
        first[name] = choices[name][choices[name].index(value)]
    return first


def figure_name(name: str) -> str:
    """Return what a figure is called in addresses, or nothing."""
    if not re.fullmatch(r"[a-z0-9-]*", checks.text("name", name)):
        raise ValueError(f"name must be small letters, digits and hyphens, got {name!r}")
    return name


def check_names(name: str, function: Callable[..., Any], choices: Mapping[str, Any]) -> None:
    """Check that a function takes the sliders' names."""
    try:
        inspect.signature(function).bind(**choices)
    except TypeError as error:
        raise TypeError(f"{name} must take the sliders {list(choices)}: {error}") from None


def check_alt(alt: Any, choices: Mapping[str, list[Any]]) -> None:
    """Check that `alt` is words, or a function of the sliders that returns them."""
    if callable(alt) and not isinstance(alt, type):
        check_names("alt", alt, choices)
    elif not isinstance(alt, str):
        raise TypeError(
            f"alt must be a string or a function that returns one, got {checks.describe(alt)}"
        )
    elif not alt.strip():
        raise ValueError(f"alt must say the figure in words, got {alt!r}")
