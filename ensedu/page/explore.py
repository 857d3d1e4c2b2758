"""Sliders over any figure function: live in a kernel, over frames drawn at build time on a page."""

import hashlib
import inspect
import io
import itertools
import json
import os
import string
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.figure
import numpy as np

from ensedu import checks
from ensedu.plot.style import house_style, png

if TYPE_CHECKING:
    import ipywidgets

__all__ = ["Explorer", "explore"]

BOOK = "ENSEDU_BOOK"
FRAMES = "ensedu-frames:"  # stands before a frame's file name until a page knows where they lie
MOST_SLIDERS = 3
MOST_FRAMES = 150


def explore(
    draw: Callable[..., matplotlib.figure.Figure],
    *,
    alt: str | Callable[..., str],
    caption: str = "",
    start: Mapping[str, Any] | None = None,
    **sliders: Sequence[Any] | np.ndarray,
) -> "Explorer":
    """Return an object that shows `draw` with sliders when a notebook cell ends with it.

    Parameters
    ----------
    draw
        A function of the sliders' names that returns a Matplotlib figure, the same one each time
        for the same values: a figure that was drawn once is kept.
    alt
        The figure in words: a function of the same names that returns a string, or a template
        such as ``"{ensemble_size} members of width {width}"``.
    caption
        What the figure means.
    start
        The value where each slider starts; by default its first.
    **sliders
        One to three sliders: a name and the values that it takes, such as ``width=[5, 50, 500]``.
        Underscores of the name become spaces. At most 150 frames: a page holds them all.

    Raises
    ------
    TypeError, ValueError
        For no slider or more than three, values that are missing, repeated or arrays, too many
        frames, a start that is not among the values, a template with another field or one that
        does not fit its values, a function that does not take the sliders' names, and what `draw`
        or `alt` return of a wrong type.

    Examples
    --------
    >>> from ensedu import plot
    >>> def draw(width, hidden_layers):
    ...     return plot.network([1, *[width] * hidden_layers, 1])
    >>> explore(draw, alt="a network of {hidden_layers} hidden layers of width {width}",
    ...         width=[3, 50], hidden_layers=[1, 2, 4])
    Explorer(width=3 of [3, 50], hidden_layers=1 of [1, 2, 4])
    """
    if not callable(draw) or isinstance(draw, type):
        raise TypeError(f"draw must be a function that returns a figure, got {checks.given(draw)}")
    if not isinstance(caption, str):
        raise TypeError(f"caption must be a string, got {checks.given(caption)}")
    if not 1 <= len(sliders) <= MOST_SLIDERS:
        raise ValueError(
            f"sliders must be 1 to {MOST_SLIDERS} keyword arguments such as width=[5, 50], "
            f"got {list(sliders) or 'none'}"
        )
    choices = {name: _values(name, values) for name, values in sliders.items()}
    frames = prod(map(len, choices.values()))
    if frames > MOST_FRAMES:
        sizes = " x ".join(f"{len(values)} of {name}" for name, values in choices.items())
        raise ValueError(f"sliders have {sizes} = {frames} frames, accepted are {MOST_FRAMES}")
    _check_names("draw", draw, choices)
    _check_alt(alt, choices)
    return Explorer(draw, alt, caption, _start(start, choices), choices)


class Explorer:
    """What `explore` returns: it knows its values, its frames, and how it is shown.

    With the environment variable ``ENSEDU_BOOK`` set to a folder, as the book's build sets it, it
    draws every frame into that folder and shows as HTML that needs no kernel; otherwise it shows
    as widgets, with the current frame for a reader that shows no widgets.
    """

    def __init__(
        self,
        draw: Callable[..., matplotlib.figure.Figure],
        alt: str | Callable[..., str],
        caption: str,
        values: dict[str, Any],
        choices: dict[str, list[Any]],
    ) -> None:
        self._draw, self._alt = draw, alt
        self._frames: dict[tuple[Any, ...], bytes] = {}
        self.caption, self.values, self.choices = caption, values, choices
        # Drawn at once: an error while a notebook shows the object would not stop the notebook.
        self._frame(values)
        self.alt()

    def __repr__(self) -> str:
        sliders = (f"{name}={self.values[name]!r} of {self.choices[name]}" for name in self.choices)
        return f"Explorer({', '.join(sliders)})"

    def alt(self) -> str:
        """Return the current frame in words."""
        return self._say(self.values)

    def _say(self, values: Mapping[str, Any]) -> str:
        if isinstance(self._alt, str):
            return self._alt.format(**values)
        words = self._alt(**values)
        if not isinstance(words, str) or not words.strip():
            raise TypeError(f"alt must return a string that is not empty, got {words!r}")
        return words

    def widget(self) -> "ipywidgets.VBox":
        """Return the sliders, the frame, the frame in words and the caption as one widget."""
        try:
            import ipywidgets  # only here: pages and scripts do without it
        except ImportError as error:
            raise ImportError(
                'sliders need ipywidgets, which comes with pip install ".[book]"'
            ) from error

        sliders = {
            name: ipywidgets.SelectionSlider(
                options=[(str(value), value) for value in values],
                value=self.values[name],
                description=_words(name),
                style={"description_width": "initial"},
            )
            for name, values in self.choices.items()
        }
        image = ipywidgets.Image(format="png", layout={"max_width": "100%", "width": "740px"})
        words = ipywidgets.HTML()

        def update(_: Any = None) -> None:
            self.values = {name: slider.value for name, slider in sliders.items()}
            image.value = self._frame(self.values)
            words.value = f"<p>{escape(self.alt())}</p><p><em>{escape(self.caption)}</em></p>"

        update()
        for slider in sliders.values():
            slider.observe(update, names="value")
        return ipywidgets.VBox([*sliders.values(), image, words])

    def _frame(self, values: Mapping[str, Any]) -> bytes:
        """Return the PNG of the figure for these values."""
        key = tuple(values.values())
        if key not in self._frames:
            figure = self._figure(values)
            self._frames[key] = png(figure)
            if "matplotlib.pyplot" in sys.modules:  # or a notebook shows pyplot's figures as well
                sys.modules["matplotlib.pyplot"].close(figure)
        return self._frames[key]

    def _figure(self, values: Mapping[str, Any]) -> matplotlib.figure.Figure:
        figure = self._draw(**values)
        if not isinstance(figure, matplotlib.figure.Figure):
            raise TypeError(
                f"draw must return a matplotlib Figure, got {figure!r} ({type(figure).__name__})"
            )
        return figure

    def _html(self, folder: Path) -> str:
        """Draw all frames into `folder`; return the first one, the sliders, and all addresses."""
        states = _states(self.choices)
        frames, sizes = [], []
        for state in states:
            figure = self._figure(state)
            frames.append({"src": FRAMES + store(figure, folder), "alt": self._say(state)})
            sizes.append(figure.get_size_inches() * 100)
        first = frames[states.index(self.values)]
        width, height = np.max(sizes, axis=0)  # the figure keeps the room of its largest frame
        data = json.dumps({"values": list(map(_strings, self.choices.values())), "frames": frames})
        sliders = "".join(
            _slider(name, values, values.index(self.values[name]))
            for name, values in self.choices.items()
        )
        names = " and ".join(map(_words, self.choices))
        return (
            '<figure class="ensedu-explorer">'
            f'<div class="ensedu-sliders" role="group" aria-label="{escape(names)}" hidden>'
            f"{sliders}</div>"
            f'<div class="ensedu-frame" style="aspect-ratio: {width:.0f} / {height:.0f}">'
            f'<img src="{first["src"]}" alt="{escape(first["alt"])}" '
            f'width="{width:.0f}" height="{_shown_height(sizes, states.index(self.values)):.0f}">'
            "</div>"
            f"<figcaption><p>{escape(self.caption)}</p>"
            '<p class="ensedu-hint"><a class="ensedu-link" hidden>Link to this setting</a> '
            "<span>For other values, run this notebook live: <code>make lab</code>.</span></p>"
            "</figcaption>"
            # "<" could end the script; as \u003c it is the same string.
            f'<script type="application/json">{data.replace("<", chr(92) + "u003c")}</script>'
            "</figure>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        folder = os.environ.get(BOOK)
        if folder:
            return {"text/plain": repr(self), "text/html": self._html(Path(folder))}
        widget = self.widget()._repr_mimebundle_()
        return widget | {"text/plain": repr(self), "image/png": self._frame(self.values)}


def store(figure: matplotlib.figure.Figure, folder: Path) -> str:
    """Write a figure as SVG, under a name that its content decides; return the name."""
    buffer = io.BytesIO()
    with house_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    content = buffer.getvalue()
    name = f"{hashlib.sha256(content).hexdigest()[:20]}.svg"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / name).exists():
        (folder / name).write_bytes(content)
    return name


def _slider(name: str, values: list[Any], position: int) -> str:
    value = escape(str(values[position]))
    return (
        f"<label><span>{escape(_words(name))}</span>"
        f'<input type="range" min="0" max="{len(values) - 1}" step="1" value="{position}" '
        f'aria-valuetext="{value}" data-name="{escape(name)}" autocomplete="off">'
        f'<output aria-hidden="true">{value}</output></label>'
    )


def _shown_height(sizes: list[np.ndarray], index: int) -> float:
    """The height of one frame when all are as wide as the widest."""
    return float(sizes[index][1] * np.max(sizes, axis=0)[0] / sizes[index][0])


def _strings(values: list[Any]) -> list[str]:
    return [str(value) for value in values]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _values(name: str, values: Any) -> list[Any]:
    """Return a slider's values as a list of plain Python values."""
    accepted = "a sequence of values, at least one"
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(values)}")
    if (isinstance(values, np.ndarray) and values.ndim == 0) or not len(values):
        raise ValueError(f"{name} must be {accepted}, got {checks.given(values)}")
    result = [_plain(f"{name}[{i}]", value) for i, value in enumerate(values)]
    try:
        distinct = len(set(result)) == len(result)
    except TypeError:
        raise TypeError(
            f"{name} must be {accepted}, hashable ones, got {checks.given(values)}"
        ) from None
    if not distinct:
        raise ValueError(f"{name} must be {accepted}, all different, got {checks.given(values)}")
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
        raise TypeError(f"{name} must be one value, got {checks.given(value)}") from None


def _states(choices: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return each choice of one value a slider, the last slider moving first."""
    return [
        dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())
    ]


def _start(start: Any, choices: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the first value of each slider, or the one that `start` names."""
    first = {name: values[0] for name, values in choices.items()}
    if start is None:
        return first
    if not isinstance(start, Mapping):
        raise TypeError(
            f"start must be a dict of slider names to values, got {checks.given(start)}"
        )
    for name, value in start.items():
        if name not in choices:
            raise ValueError(f"start names the slider {name!r}, accepted are {list(choices)}")
        value = _plain(f"start[{name!r}]", value)
        if value not in choices[name]:
            raise ValueError(
                f"start[{name!r}] is {checks.shown(value)}, accepted are {choices[name]}"
            )
        first[name] = choices[name][choices[name].index(value)]
    return first


def _check_names(name: str, function: Callable[..., Any], choices: Mapping[str, Any]) -> None:
    """Check that a function takes the sliders' names."""
    try:
        inspect.signature(function).bind(**choices)
    except TypeError as error:
        raise TypeError(f"{name} must take the sliders {list(choices)}: {error}") from None


def _check_alt(alt: Any, choices: Mapping[str, list[Any]]) -> None:
    """Check that `alt` is a function, or a template that the sliders' names and values fill."""
    if callable(alt) and not isinstance(alt, type):
        _check_names("alt", alt, choices)
        return
    if not isinstance(alt, str):
        raise TypeError(
            f"alt must be a string or a function that returns one, got {checks.given(alt)}"
        )
    if not alt.strip():
        raise ValueError(f"alt must say the figure in words, got {alt!r}")
    try:
        fields = list(_fields(alt))
    except ValueError as error:
        raise ValueError(f"alt is no valid template ({error}), got {alt!r}") from None
    for field in fields:
        if field not in choices:
            raise ValueError(f"alt has the field {field!r}, accepted are {list(choices)}")
    for state in _states(choices):
        try:
            alt.format(**state)
        except (TypeError, ValueError) as error:
            raise ValueError(f"alt does not fit {state} ({error}), got {alt!r}") from None


def _fields(template: str) -> Iterator[str]:
    """Yield the fields of a template, those that stand inside the format of another included."""
    for _, field, form, _ in string.Formatter().parse(template):
        if field is not None:
            yield field
            yield from _fields(form or "")
