"""What a playground shows, for Python: the same on a page and in Jupyter."""

from typing import Any

from numpy import ndarray as Array

from ensedu.numpy.base import Noise
from workshop.page.playground import layers

__all__ = ["ShownLayer"]


class ShownLayer:
    """A layer that is on a screen: each value is that of the state it is in now."""

    _now: dict[str, Any]

    @property
    def layer(self) -> Any:
        """The layer of `ensedu.numpy` that holds the numbers."""
        return layers.layer(self._now)

    @property
    def noise(self) -> Noise | None:
        """The ε of the draw that is shown, for x of (M, 1, m); ``None`` if nothing is drawn."""
        return layers.noise(self._now)

    @property
    def outputs(self) -> Array:
        """What comes out of each member or draw, (M, n); (1, n) of one network."""
        return layers.outputs(self._now)

    def __repr__(self) -> str:
        m, n, M = (self._now[name] for name in layers.MOST)
        return f"Playground({self._now['method']}, m={m}, n={n}, M={M})"
