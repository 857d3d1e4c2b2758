"""The playground as a widget of Jupyter."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import anywidget
import numpy as np
import traitlets

from workshop.page import scripts
from workshop.page.frames import stored
from workshop.page.playground import layer_picture, layer_scripts, layer_state, layers
from workshop.page.playground.shown_layer import ShownLayer

__all__ = ["Playground"]


def _style_sheet(path: str) -> str:
    return (scripts.HERE / path).read_text(encoding="utf-8")


class Playground(ShownLayer, anywidget.AnyWidget):
    """What `workshop.page.playground.playground` returns in Jupyter: the numbers as traits.

    What you read is read-only: set a trait as a whole, ``w.arrays = …``. ``w.observe(f, "arrays")``
    calls a function when a stored number changes, on the screen or here.

    Attributes
    ----------
    options
        ``method``, the sizes, ``numbers`` and ``draw``, by the names of the arguments of
        `playground`. You may set some of them, ``w.options = {"draw": 1}``; the others stay.
    arrays
        The stored arrays by name, with the shapes of `ensedu.numpy` and σ in the place of ρ, and
        ``x``, (m,). You may set some of them; the others stay.
    layer
        A layer of `ensedu.numpy` that holds these numbers.
    noise
        The ε that is shown, by name, as the layer takes it for x of shape (M, 1, m); ``None`` if
        nothing is drawn.
    outputs
        y of each member or draw, (M, n); (1, n) of one network.
    """

    _esm = layer_scripts.BUNDLE.module()
    _css = _style_sheet("live/live.css") + _style_sheet("playground/playground.css")

    options = traitlets.Any()
    arrays = traitlets.Any()
    _state = traitlets.Dict().tag(sync=True)

    def __init__(self, state: dict[str, Any]) -> None:
        self._now = state  # checked; traits that say the same were set here
        self._numbers: Mapping[str, Any] = MappingProxyType(layers.arrays(state))
        super().__init__(_state=state, options=layer_state.options(state), arrays=self._numbers)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        found = super()._repr_mimebundle_(**kwargs)
        assert found is not None
        png, about = stored(layer_picture.figure(self._now), layer_picture.alt(self._now))
        return found[0] | png, found[1] | about

    def _same_if_equal(self, arrays: dict[str, Any]) -> Mapping[str, Any]:
        """Return arrays to show; the same object if none changed: then no observer is called."""
        old = self._numbers
        if old.keys() == arrays.keys() and all(np.array_equal(old[k], arrays[k]) for k in old):
            return old
        return MappingProxyType(arrays)

    def _become(self, state: dict[str, Any], arrays: Mapping[str, Any] | None = None) -> None:
        """Take a whole, checked state; the page gets it in one message.

        Its `arrays`, if they are the trait already, change no more.
        """
        self._now = state
        self._numbers = self._same_if_equal(layers.arrays(state)) if arrays is None else arrays
        with self.hold_trait_notifications():
            self._state = state
            self.options = layer_state.options(state)
            self.arrays = self._numbers

    @traitlets.observe("_state")
    def _state_set(self, change: Any) -> None:
        """A reader changed the layer."""
        if change.new == self._now:
            return
        try:
            state = layer_state.rechecked(change.new)
        except (TypeError, ValueError):
            self._state = self._now  # the page goes back to it
            raise
        self._become(state)

    @traitlets.validate("options")
    def _check_options(self, proposal: Any) -> Mapping[str, Any]:
        return layer_state.options(layer_state.changed(self._now, proposal.value))

    @traitlets.observe("options")
    def _options_set(self, change: Any) -> None:
        if change.new != layer_state.options(self._now):
            self._become(layer_state.changed(self._now, change.new))

    @traitlets.validate("arrays")
    def _check_arrays(self, proposal: Any) -> Mapping[str, Any]:
        if proposal.value is self._numbers:
            return self._numbers
        return self._same_if_equal(layers.arrays(layer_state.set_arrays(self._now, proposal.value)))

    @traitlets.observe("arrays")
    def _arrays_set(self, change: Any) -> None:
        if change.new is not self._numbers:
            self._become(layer_state.set_arrays(self._now, change.new), change.new)
