"""A layer small enough to touch: change one of its numbers, and all that is made of it moves.

`playground` returns a widget in Jupyter, whose numbers Python reads and sets, and an app that needs
no kernel while the book is built::

    from workshop.page.playground import playground

    w = playground(method="rank1", ensemble_size=2)
    w  # in a cell of its own: drag a number
    w.arrays["r_mean"], w.outputs  # the same that the screen shows
"""

import os
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy import ndarray as Array

from ensedu.common import checks
from workshop.page import slider_checks
from workshop.page.frames import BOOK, Frames, embedded
from workshop.page.playground import layer_picture, layer_state, layers
from workshop.page.playground.shown_layer import ShownLayer

__all__ = ["playground"]


def playground(
    *,
    method: str = "batch_ensemble",
    in_features: int = 4,
    out_features: int = 5,
    ensemble_size: int = 4,
    numbers: int = 0,
    draw: int = 0,
    arrays: dict[str, Any] | None = None,
    name: str = "",
    caption: str = "",
) -> Any:
    """Return a playground that a notebook cell shows when it ends with it.

    Parameters
    ----------
    method
        ``"single"``, ``"deep_ensemble"``, ``"batch_ensemble"``, ``"rank1"`` or ``"mean_field"``.
    in_features
        m, 1 to 4.
    out_features
        n, 1 to 5.
    ensemble_size
        M, 1 to 6: members, or draws of a method that draws and has no members.
    numbers
        Seed, below a million, of the numbers it starts from.
    draw
        Seed, below a million, of what is drawn.
    arrays
        Some numbers of your own by name, with shapes as in `ensedu.numpy` and σ in the place of ρ,
        and the input x, (m,): ``{"r_mean": ..., "r_std": ..., "x": ...}``. They are from -9 to 9,
        a σ from 0.01.
    name, caption
        In the book: what other places call the figure, and what stands below it.

    Returns
    -------
    Playground
        A widget with the traits ``options`` and ``arrays``, and the properties ``layer``,
        ``noise`` and ``outputs``; see `workshop.page.playground.widget.Playground`.

    Raises
    ------
    TypeError, ValueError
        For a bad argument.
    ImportError
        In Jupyter without anywidget.
    """
    state = layer_state.checked({
        "method": method, "in_features": in_features, "out_features": out_features,
        "ensemble_size": ensemble_size, "numbers": numbers, "draw": draw,
    })  # fmt: skip
    if arrays is not None:
        state = layer_state.set_arrays(state, arrays)
    slider_checks.figure_name(name)
    checks.text("caption", caption)
    if os.environ.get(BOOK):
        return Page(state, name=name, caption=caption)
    from workshop.page.playground.widget import Playground

    return Playground(state)


class Page(ShownLayer):
    """The playground on a page of the book: the attributes of the widget, before any edit."""

    def __init__(self, state: dict[str, Any], *, name: str, caption: str) -> None:
        self._now = state
        self._named = {"name": name, "caption": caption}

    @property
    def options(self) -> MappingProxyType[str, Any]:
        """The method, the sizes and the seeds."""
        return layer_state.options(self._now)

    @property
    def arrays(self) -> MappingProxyType[str, Array]:
        """The stored arrays by name, and x."""
        return MappingProxyType(layers.arrays(self._now))

    def html(self, folder: Path) -> str:
        """Draw the still picture into `folder`; return it, and the state for the script."""
        picture = Frames([lambda: layer_picture.figure(self._now)], folder)
        named = "".join(
            f' data-{key}="{escape(text)}"' for key, text in self._named.items() if text
        )
        return (
            f'<div class="ensedu-playground"{named}>'
            f'<div class="ensedu-still">{picture.pictures(layer_picture.alt(self._now))}</div>'
            f'<script type="application/json">{embedded(self._now)}</script></div>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self.html(Path(os.environ[BOOK]))}
