"""Sliders over any figure function: live in a running kernel, a still figure on the book's page."""

import base64
import os
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import matplotlib.figure
import numpy as np

from ensedu.plot.style import png

if TYPE_CHECKING:
    import ipywidgets

__all__ = ["Explorer", "explore"]

BOOK = "ENSEDU_BOOK"
MOST_SLIDERS = 3


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
        Underscores of the name become spaces.

    Raises
    ------
    TypeError, ValueError
        For no slider or more than three, values that are missing or repeated, a start that is not
        among them, a template with another field, and what `draw` or `alt` return of a wrong type.

    Examples
    --------
    >>> from ensedu import plot
    >>> def draw(width, ensemble_size):
    ...     return plot.network([1, width, 1], "deep_ensemble", ensemble_size)
    >>> explore(draw, alt="{ensemble_size} networks of width {width}",
    ...         width=[3, 50], ensemble_size=[1, 2, 4])
    Explorer(width=3 of [3, 50], ensemble_size=1 of [1, 2, 4])
    """
    if not callable(draw):
        raise TypeError(f"draw must be a function that returns a figure, got {draw!r}")
    if not isinstance(caption, str):
        raise TypeError(f"caption must be a string, got {caption!r}")
    if not 1 <= len(sliders) <= MOST_SLIDERS:
        raise ValueError(
            f"sliders must be 1 to {MOST_SLIDERS} keyword arguments such as width=[5, 50], "
            f"got {list(sliders) or 'none'}"
        )
    choices = {name: _values(name, values) for name, values in sliders.items()}
    _check_alt(alt, choices)
    return Explorer(draw, alt, caption, _start(start, choices), choices)


class Explorer:
    """What `explore` returns: it knows its values, its frames, and how it is shown.

    With the environment variable ``ENSEDU_BOOK`` set to 1, as the book's build sets it, it shows
    as HTML that needs no kernel; otherwise as widgets, with the current frame for a reader that
    shows no widgets.
    """

    def __init__(
        self,
        draw: Callable[..., matplotlib.figure.Figure],
        alt: str | Callable[..., str],
        caption: str,
        values: dict[str, Any],
        choices: dict[str, list[Any]],
    ) -> None:
        self._draw, self._alt, self._frames = draw, alt, {}
        self.caption, self.values, self.choices = caption, values, choices
        # Drawn at once: an error while a notebook shows the object would not stop the notebook.
        self._frame(values)
        self.alt()

    def __repr__(self) -> str:
        sliders = (f"{name}={self.values[name]!r} of {self.choices[name]}" for name in self.choices)
        return f"Explorer({', '.join(sliders)})"

    def alt(self) -> str:
        """Return the current frame in words."""
        if isinstance(self._alt, str):
            return self._alt.format(**self.values)
        words = self._alt(**self.values)
        if not isinstance(words, str) or not words.strip():
            raise TypeError(f"alt must return a string that is not empty, got {words!r}")
        return words

    def widget(self) -> "ipywidgets.VBox":
        """Return the sliders, the frame, the frame in words and the caption as one widget."""
        import ipywidgets  # only here: pages and scripts do without it

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
            figure = self._draw(**values)
            if not isinstance(figure, matplotlib.figure.Figure):
                raise TypeError(
                    f"draw must return a matplotlib Figure, got {figure!r} "
                    f"({type(figure).__name__})"
                )
            self._frames[key] = png(figure)
            if "matplotlib.pyplot" in sys.modules:  # or a notebook shows pyplot's figures as well
                sys.modules["matplotlib.pyplot"].close(figure)
        return self._frames[key]

    def _html(self) -> str:
        source = base64.b64encode(self._frame(self.values)).decode()
        names = ", ".join(map(_words, self.choices))
        return (
            '<figure class="ensedu-explorer">'
            f'<img src="data:image/png;base64,{source}" alt="{escape(self.alt())}" '
            'style="width: 100%; height: auto">'
            f"<figcaption><p>{escape(self.caption)}</p>"
            f"<p><small>Run this notebook to move the sliders: {escape(names)}.</small></p>"
            "</figcaption></figure>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if os.environ.get(BOOK) == "1":
            return {"text/plain": repr(self), "text/html": self._html()}
        widget = self.widget()._repr_mimebundle_()
        return widget | {"text/plain": repr(self), "image/png": self._frame(self.values)}


def _words(name: str) -> str:
    return name.replace("_", " ")


def _values(name: str, values: Any) -> list[Any]:
    """Return a slider's values as a list of plain Python values."""
    accepted = "a sequence of values, at least one"
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be {accepted}, got {values!r} ({type(values).__name__})")
    result = [value.item() if hasattr(value, "item") else value for value in values]
    if not result:
        raise ValueError(f"{name} must be {accepted}, got {values!r}")
    try:
        distinct = len(set(result)) == len(result)
    except TypeError:
        raise TypeError(f"{name} must be {accepted}, hashable ones, got {values!r}") from None
    if not distinct:
        raise ValueError(f"{name} must be {accepted}, all different, got {values!r}")
    return result


def _start(start: Any, choices: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return the first value of each slider, or the one that `start` names."""
    first = {name: values[0] for name, values in choices.items()}
    if start is None:
        return first
    if not isinstance(start, Mapping):
        raise TypeError(f"start must be a dict of slider names to values, got {start!r}")
    for name, value in start.items():
        if name not in choices:
            raise ValueError(f"start names the slider {name!r}, accepted are {list(choices)}")
        if value not in choices[name]:
            raise ValueError(f"start[{name!r}] is {value!r}, accepted are {choices[name]}")
        first[name] = choices[name][choices[name].index(value)]
    return first


def _check_alt(alt: Any, choices: Mapping[str, list[Any]]) -> None:
    """Check that `alt` is a function, or a template whose fields are the sliders' names."""
    if callable(alt):
        return
    if not isinstance(alt, str):
        raise TypeError(f"alt must be a string or a function that returns one, got {alt!r}")
    if not alt.strip():
        raise ValueError(f"alt must say the figure in words, got {alt!r}")
    try:
        fields = [field for _, field, _, _ in string.Formatter().parse(alt) if field is not None]
    except ValueError as error:
        raise ValueError(f"alt is no valid template ({error}), got {alt!r}") from None
    for field in fields:
        if field not in choices:
            raise ValueError(f"alt has the field {field!r}, accepted are {list(choices)}")
