"""Where frames come from: a function that draws a figure, and the words that say it."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.figure

from workshop.page.controls import setting
from workshop.page.frames import check_letters, ranges
from workshop.plot.style import look, png


class FrameSource:
    """Draws a figure for the values of sliders, keeps it as a PNG, and compares all that it drew.

    Axes and color ranges must be those of the first figure, unless they are `rescaled`.
    """

    def __init__(
        self, draw: Callable[..., matplotlib.figure.Figure], alt: str | Callable[..., str],
        rescaled: bool,
    ) -> None:  # fmt: skip
        self._draw, self._alt, self._rescaled = draw, alt, rescaled
        self._pngs: dict[tuple[Any, ...], bytes] = {}
        self._ranges: dict[Any, tuple[Mapping[str, Any], dict[str, Any]]] = {}

    def say(self, values: Mapping[str, Any]) -> str:
        """Return the figure for these values in words."""
        words = self._alt if isinstance(self._alt, str) else self._alt(**values)
        if not isinstance(words, str) or not words.strip():
            raise TypeError(f"alt must return a string that is not empty, got {words!r}")
        return words

    def png(self, values: Mapping[str, Any]) -> bytes:
        """Return the figure for these values as a PNG."""
        key = tuple(values.values())
        if key not in self._pngs:
            self._pngs[key] = png(self.figure(values))
        return self._pngs[key]

    def readable(self, values: Mapping[str, Any]) -> matplotlib.figure.Figure:
        """Return the figure for these values, whose letters can be read on a page."""
        figure = self.figure(values)
        check_letters(figure, look())
        return figure

    def figure(self, values: Mapping[str, Any]) -> matplotlib.figure.Figure:
        """Return the figure for these values, as it was drawn."""
        figure = self._draw(**values)
        if not isinstance(figure, matplotlib.figure.Figure):
            raise TypeError(
                f"draw must return a matplotlib Figure, got {figure!r} ({type(figure).__name__})"
            )
        if "matplotlib.pyplot" in sys.modules:  # or a notebook shows pyplot's figures as well
            sys.modules["matplotlib.pyplot"].close(figure)
        if not self._rescaled:
            self._compare(values, ranges(figure))
        return figure

    def _compare(self, values: Mapping[str, Any], found: dict[str, Any]) -> None:
        """Raise unless what this frame shows has the axes and colors of the first one."""
        before, first = self._ranges.setdefault(look(), (values, found))
        for what in first.keys() & found.keys():
            if first[what] != found[what]:
                raise ValueError(
                    "draw must keep axes and color ranges over all frames, or rescale must say "
                    f"why not: the {what} has {first[what]} at {setting(before)}, "
                    f"{found[what]} at {setting(values)}"
                )
