"""Sliders over any figure function: live in a kernel, over frames drawn at build time on a page."""

import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import matplotlib.figure
import numpy as np

from ensedu.common import book_build, checks
from workshop.page import controls, explorer_page
from workshop.page.controls import as_read, kind, setting, words
from workshop.page.frames import ranges
from workshop.page.scripts import Bundle
from workshop.plot.moving import Computed
from workshop.plot.style import look, png

if TYPE_CHECKING:
    import ipywidgets

__all__ = ["BUNDLE", "DrawnFigure", "Explorer", "explore"]

BUNDLE = Bundle("enseduExplore", ("common/elements", "common/figures", "xray", "explore"), dict)
MOST_SLIDERS = 3
MOST_FRAMES = 150
MOST_LISTED = 40  # values of a slider
WIDGETS = {"buttons": "ToggleButtons", "list": "Dropdown", "slider": "SelectionSlider"}


@runtime_checkable
class DrawnFigure(Protocol):
    """What knows how it is drawn and said, and maybe its sliders, ``choices``."""

    @property
    def draw(self) -> Callable[..., matplotlib.figure.Figure]: ...

    @property
    def say(self) -> Callable[..., str]: ...


def explore(
    draw: Callable[..., matplotlib.figure.Figure] | DrawnFigure,
    *,
    alt: str | Callable[..., str] = "",
    caption: str = "",
    name: str = "",
    start: Mapping[str, Any] | None = None,
    linked: "Explorer | None" = None,
    rescale: str = "",
    stays: bool = False,
    table: str | Sequence[str] = (),
    **sliders: Sequence[Any] | np.ndarray,
) -> "Explorer":
    """Return an object that shows `draw` with sliders when a notebook cell ends with it.

    Parameters
    ----------
    draw
        A function of the sliders' names that returns a Matplotlib figure, the same one each time
        for the same values: a figure that was drawn once is kept. While the book is built, it is
        called in each `workshop.plot.Look`, wide and narrow. Or an object whose methods are
        ``draw`` and ``say``, which is its `alt`, and whose ``choices`` and ``start`` are its
        sliders and their first values, if any.
    alt
        The figure in one or two sentences: what is seen and what it means, or a function of the
        same names that returns them.
    caption
        What the figure means, whatever the sliders say.
    name
        What other places of the book call the figure, such as ``"fig-counts"``.
    start
        The value where each slider starts; by default its first.
    linked
        Another explorer, with a name, of the same page: sliders that both have move together.
    rescale
        Why axes or color ranges change with the sliders. Without a reason they must not.
    stays
        Whether a small copy stays in sight while the rest of its section is read.
    table
        The measured table that the rows come from, one of `workshop.measured.names()`, or
        several. The fold below the figure links it and its experiment, and says the command that
        computes it, between the figure's numbers as CSV and its drawing code.
    **sliders
        None for a figure that stands still, or up to three sliders: a name and the values that it
        takes, such as ``width=[5, 50, 500]``. Underscores of the name become spaces. Up to seven
        numbers, and names such as ``data=["digits", "concrete", "diamonds"]``, are buttons where
        they fit one line; more numbers are slid, longer names a list. At most 150 frames: a page
        holds them all. A `Computed` may have any number of values: a page computes its frames.

    Raises
    ------
    TypeError, ValueError
        For more than three sliders, values that are missing, repeated or arrays, too many frames,
        a start that is not among the values, a function that does not take the sliders' names, what
        `draw` or `alt` return of a wrong type, and axes or color ranges that change without a
        reason.

    Examples
    --------
    >>> from workshop import plot
    >>> def draw(width):
    ...     figure, (axes,) = plot.panels(1, height=2)
    ...     axes.plot([1, 2], [0, width])
    ...     axes.set_ylim(0, 50)
    ...     return figure
    >>> explore(draw, alt=lambda width: f"a line up to {width}", width=[3, 50])
    Explorer(width=3 of [3, 50])
    """
    formula = draw if isinstance(draw, Computed) else None
    if isinstance(draw, DrawnFigure) and not callable(draw):
        alt, sliders = alt or draw.say, getattr(draw, "choices", {}) | sliders
        start = start or getattr(draw, "start", None)
        draw = draw.draw
    if not callable(draw) or isinstance(draw, type):
        raise TypeError(
            f"draw must be a function that returns a figure, got {checks.describe(draw)}"
        )
    for title, text in {"caption": caption, "name": name, "rescale": rescale}.items():
        if not isinstance(text, str):
            raise TypeError(f"{title} must be a string, got {checks.describe(text)}")
    checks.boolean("stays", stays)
    controls.figure_name(name)
    if len(sliders) > MOST_SLIDERS:
        raise ValueError(
            f"sliders must be up to {MOST_SLIDERS} keyword arguments such as width=[5, 50], "
            f"got {list(sliders)}"
        )
    choices = {title: controls.checked_options(title, values) for title, values in sliders.items()}
    frames = prod(map(len, choices.values()))
    if frames > MOST_FRAMES and formula is None:
        sizes = " x ".join(f"{len(values)} of {title}" for title, values in choices.items())
        raise ValueError(f"sliders have {sizes} = {frames} frames, accepted are {MOST_FRAMES}")
    controls.check_names("draw", draw, choices)
    controls.check_alt(alt, choices)
    values = controls.first_values(start, choices)
    if linked is not None:
        _check_linked(linked, choices)
    return Explorer(
        draw, alt, values, choices, caption=caption, name=name, rescale=rescale, linked=linked,
        stays=stays, tables=explorer_page.checked_tables(table), formula=formula,
    )  # fmt: skip


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
        values: dict[str, Any],
        choices: dict[str, list[Any]],
        *,
        caption: str,
        name: str,
        rescale: str,
        stays: bool,
        linked: "Explorer | None",
        tables: tuple[str, ...],
        formula: Computed | None = None,
    ) -> None:
        self.source = FrameSource(draw, alt, bool(rescale))
        self._widget: ExplorerWidget | None = None
        self._pages: dict[str, str] = {}
        # The explorers whose sliders move together.
        self._group = [self] if linked is None else linked._group
        if linked is not None:
            self._group.append(self)
        self.values, self.choices = values, choices
        self.caption, self.name, self.rescale, self.stays = caption, name, rescale, stays
        self.sources, self.formula = (tables, explorer_page.code_of_draw(draw)), formula
        # Drawn at once: an error while a notebook shows the object would not stop the notebook.
        self.alt()
        if folder := book_build.folder():
            self._page(folder)
        else:
            self.source.png(values)

    def __repr__(self) -> str:
        sliders = (
            f"{name}={self.values[name]!r} of {_listed(options)}"
            for name, options in self.choices.items()
        )
        return f"Explorer({', '.join(sliders)})"

    @property
    def group(self) -> str:
        """The name of the first explorer whose sliders move with those of this one."""
        return self._group[0].name

    def alt(self) -> str:
        """Return the current frame in words."""
        return self.source.say(self.values)

    def lead(self) -> None:
        """Move the sliders of all explorers that are linked to these values."""
        for other in self._group:
            if other._widget is not None:
                other._widget.follow(self.values)

    def widget(self) -> "ipywidgets.VBox":
        """Return sliders, the frame in words, the frame, caption and sources as one widget."""
        self._widget = ExplorerWidget(self)
        return self._widget.box

    def _page(self, folder: str) -> str:
        """Return the form for a page, whose frames are drawn once."""
        if folder not in self._pages:
            self._pages[folder] = explorer_page.page(self, Path(folder))
        return self._pages[folder]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if folder := book_build.folder():
            return {"text/plain": repr(self), "text/html": self._page(folder)}
        bundle = {"text/plain": repr(self), "image/png": self.source.png(self.values)}
        return self.widget()._repr_mimebundle_() | bundle if self.choices else bundle


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


class ExplorerWidget:
    """The sliders of an explorer, and in `box` all that is shown."""

    def __init__(self, explorer: Explorer) -> None:
        import ipywidgets  # pages and scripts do without it

        self._choices = explorer.choices
        self._sliders = {
            name: getattr(ipywidgets, WIDGETS[kind(options)])(
                options=[(as_read(option), option) for option in options],
                value=explorer.values[name],
                description=words(name),
                style={"description_width": "initial"},
            )
            for name, options in explorer.choices.items()
        }
        image = ipywidgets.Image(format="png", layout={"max_width": "100%", "width": "740px"})
        below = explorer_page.text(*explorer.sources)
        under = f"<br><small>{escape(below)}</small>" if below else ""
        said = ipywidgets.HTML()
        caption = ipywidgets.HTML(f"<em>{escape(explorer.caption)}</em>{under}")

        def update(change: Any = None) -> None:
            explorer.values = {name: slider.value for name, slider in self._sliders.items()}
            image.value = explorer.source.png(explorer.values)
            said.value = f"<p>{escape(explorer.alt())}</p>"
            explorer.lead()

        update()
        for slider in self._sliders.values():
            slider.observe(update, names="value")
        self.box = ipywidgets.VBox([*self._sliders.values(), said, image, caption])

    def follow(self, values: Mapping[str, Any]) -> None:
        """Move the sliders to these values, where they have them."""
        for name in values.keys() & self._sliders.keys():
            if values[name] in self._choices[name]:
                self._sliders[name].value = values[name]


def _listed(options: list[Any]) -> str:
    if len(options) <= MOST_LISTED:
        return f"{options}"
    return f"[{options[0]!r}, {options[1]!r}, …, {options[-1]!r}]"


def _check_linked(linked: Any, choices: Mapping[str, Any]) -> None:
    """Check that another explorer has a name, and one of these sliders."""
    if not isinstance(linked, Explorer):
        raise TypeError(f"linked must be an Explorer, got {checks.describe(linked)}")
    if not linked.name:
        raise ValueError("linked must be an explorer with a name, got one without")
    if not choices.keys() & linked.choices.keys():
        raise ValueError(
            f"linked must have one of the sliders {list(choices)}, got {list(linked.choices)}"
        )
