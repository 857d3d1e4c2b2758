"""A choice of one among a few, side by side, as HTML: what a ranking and a guide are set by."""

from collections.abc import Mapping
from html import escape


def radios(legend: str, name: str, key: str, options: Mapping[str, str], chosen: str) -> str:
    """Return a group of radio buttons, values to words; `name` is the page's own."""
    buttons = "".join(
        f'<label><input type="radio" name="{escape(f"{name}-{key}")}" value="{escape(value)}" '
        f'autocomplete="off"{" checked" if value == chosen else ""}>'
        f"<span>{escape(words)}</span></label>"
        for value, words in options.items()
    )
    return (
        f'<fieldset class="ensedu-choice" data-key="{escape(key)}"><legend>{escape(legend)}'
        f'</legend><div class="ensedu-toggle">{buttons}</div></fieldset>'
    )
