"""The trainer as a widget of Jupyter."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from workshop.page.live import trainer_scripts, trainer_state
from workshop.page.live.trainer_picture import TrainerPicture

__all__ = ["Live"]


class Live(anywidget.AnyWidget):
    """What `workshop.page.live.live` returns in Jupyter: the trainer, its state as traits.

    What you read is read-only: set a trait as a whole, ``w.points = …``. ``w.observe(f, "points")``
    calls a function when it changes.

    Attributes
    ----------
    points
        (N, 2), x and y, or (N, 3), two inputs and a class: as drawn on the screen. Other points
        are your own data.
    options
        All other settings, by the names of the arguments of `live`, and ``task`` and ``axes``: how
        columns that a reader pasted were scaled, value = middle + unit · shown. You may set some
        of them, ``w.options = {"lr": 0.1}``; the others stay.
    weights
        Each trained array by name, such as ``"0.weight"``, with the shapes of `ensedu.numpy`; for
        two networks side by side a list of two such dicts. They come once a second while it
        trains, and when it rests; empty until it is on a screen.
    steps
        After how many steps these were the weights; the page counts them.
    """

    _esm = trainer_scripts.BUNDLE.module()
    _css = (Path(__file__).parent / "live.css").read_text(encoding="utf-8")

    points = traitlets.Any()
    options = traitlets.Any()
    weights = traitlets.Any()
    steps = traitlets.Int(0, read_only=True)
    _state = traitlets.Dict().tag(sync=True)
    _small = traitlets.Bool().tag(sync=True)
    _distributions = traitlets.Bool().tag(sync=True)
    _tries = traitlets.List().tag(sync=True)
    _behind = traitlets.Dict(allow_none=True).tag(sync=True)

    def __init__(
        self, state: dict[str, Any], behind: dict[str, Any] | None = None, *,
        small: bool = False, distributions: bool = False,
        tries: Sequence[Mapping[str, Any]] = (), alt: str = "",
    ) -> None:  # fmt: skip
        self._alt = alt
        self._now = state  # checked; traits that say the same were set here
        self._heard = _no_weights(state)  # weights that come from the page, or none
        self._given = False  # whether the weights were set in Python
        points, own = trainer_state.array_of(state), trainer_state.without_points(state)
        super().__init__(
            _state=state, _small=small, _distributions=distributions,
            _behind=behind, _tries=list(tries), points=points, options=own, weights=self._heard,
        )  # fmt: skip
        self.on_msg(self._hear)

    def __repr__(self) -> str:
        return trainer_state.as_text(self._now)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        found = super()._repr_mimebundle_(**kwargs)
        assert found is not None
        png, about = TrainerPicture(
            self._now, self._alt, self._behind, distributions=self._distributions
        ).bundle()
        return found[0] | png, found[1] | about

    def _become(self, state: dict[str, Any]) -> None:
        """Take a whole, checked state; the page gets it in one message."""
        other = trainer_state.shapes(state) != trainer_state.shapes(self._now)
        self._now = state
        with self.hold_trait_notifications():
            self._state = state
            self.options = trainer_state.without_points(state)
            self.points = trainer_state.array_of(state)
            if other:
                self._given = False
                self._heard = _no_weights(state)
                self.weights = self._heard
                self.set_trait("steps", 0)

    @traitlets.observe("_state")
    def _state_set(self, change: Any) -> None:
        """A reader drew points, or set options."""
        if change.new != self._now:
            self._become(trainer_state.rechecked(change.new))

    @traitlets.validate("points")
    def _check_points(self, proposal: Any) -> np.ndarray:
        return trainer_state.checked_points(proposal.value)

    @traitlets.observe("points")
    def _points_set(self, change: Any) -> None:
        if trainer_state.listed(change.new) != self._now["points"]:
            self._become(trainer_state.pointed(self._now, change.new))

    @traitlets.validate("options")
    def _check_options(self, proposal: Any) -> Mapping[str, Any]:
        return trainer_state.without_points(trainer_state.changed(self._now, proposal.value))

    @traitlets.observe("options")
    def _options_set(self, change: Any) -> None:
        if change.new != trainer_state.without_points(self._now):
            self._become(trainer_state.changed(self._now, change.new))

    @traitlets.validate("weights")
    def _check_weights(self, proposal: Any) -> Any:
        if proposal.value is self._heard:
            return proposal.value
        shapes = trainer_state.shapes(self._now)
        several = proposal.value if len(shapes) > 1 else [proposal.value]
        if not isinstance(several, (list, tuple)) or len(several) != len(shapes):
            raise TypeError(
                "weights must be a list of two dicts of arrays, one a network, "
                f"got {type(several).__name__}"
            )
        found = [_checked_arrays(*each) for each in zip(several, shapes, strict=True)]
        return found if len(shapes) > 1 else found[0]

    @traitlets.observe("weights")
    def _weights_set(self, change: Any) -> None:
        if change.new is not self._heard:
            self._given = True
            self._send_weights()

    def _send_weights(self) -> None:
        several = self.weights if isinstance(self.weights, list) else [self.weights]
        buffers = [
            memoryview(np.ascontiguousarray(array, dtype="<f8")).cast("B")
            for side in several
            for array in side.values()
        ]
        self.send({"kind": "weights", "sides": [list(side) for side in several]}, buffers)

    def _hear(self, widget: Any, content: dict[str, Any], buffers: list[Any]) -> None:
        """A view begins, or sends its weights."""
        if content["kind"] == "shown":
            if self._given:
                self._send_weights()
            return
        layers = trainer_state.sizes(self._now)
        wanted = [(layers, s["method"], s["ensemble_size"]) for s in trainer_state.sides(self._now)]
        if [(s["sizes"], s["method"], s["passes"]) for s in content["sides"]] != wanted:
            return  # of a network that is no longer the one that is set
        numbers = iter(buffers)
        found = []
        for side, shapes in zip(content["sides"], trainer_state.shapes(self._now), strict=True):
            arrays = {
                name: np.frombuffer(next(numbers), dtype="<f8").reshape(shapes[name])
                for name in side["names"]
            }
            for array in arrays.values():
                array.flags.writeable = False
            found.append(arrays)
        self._given = False
        self._heard = found if len(found) > 1 else found[0]
        with self.hold_trait_notifications():
            self.set_trait("steps", content["steps"])
            self.weights = self._heard


def _no_weights(state: Mapping[str, Any]) -> Any:
    """Return the weights of networks that are on no screen."""
    return [{}, {}] if state["other"] else {}


def _checked_arrays(given: Any, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Check one network's arrays; return them in the order of the layers."""
    if not isinstance(given, Mapping):
        raise TypeError(f"weights must be a dict of arrays, got {type(given).__name__}")
    if set(given) != set(shapes):
        raise ValueError(
            f"weights must have the keys {', '.join(shapes)}, got {', '.join(map(str, given))}"
        )
    found = {}
    for name, shape in shapes.items():
        array = given[name]
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
            raise TypeError(f"weights[{name!r}] must be a NumPy array, got {type(array).__name__}")
        if array.shape != shape:
            raise ValueError(f"weights[{name!r}] has shape {array.shape}, accepted is {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"weights[{name!r}] must hold finite numbers, got nan or inf")
        found[name] = np.array(array, dtype=np.float64)
        found[name].flags.writeable = False
    return found
