"""The numbers of the playground: the same in Python as in the scripts of its page.

A state is one dictionary, as the page, a link and a notebook hold it: ``method``, ``in_features``,
``out_features``, ``ensemble_size`` (of draws, for a method without members), ``numbers`` and
``draw``, the seeds of what is stored and of what is drawn, the name of a ``challenge`` or ``None``,
and ``edits``, what a reader changed, such as ``{"r:1,2": 0.5, "x:0": 3.0}``.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray as Array

from ensedu import numpy as en
from ensedu.methods import METHODS as ROWS
from ensedu.numpy.base import Noise
from ensedu.numpy.variational import inverse_softplus
from workshop.page.seeded_random import Random
from workshop.plot.inside import SHAPES

__all__ = [
    "LETTERS", "LIMITS", "METHODS", "MOST", "NOISE", "ORDER", "SEEDS", "VALUES", "arrays",
    "edit_name", "edits", "inputs", "layer", "limits", "noise", "numbers", "outputs", "stored",
]  # fmt: skip

METHODS = tuple(SHAPES)
MOST = {"in_features": 4, "out_features": 5, "ensemble_size": 6}
#: From where to where a stored number may be, and a standard deviation.
LIMITS = {"values": (-9.0, 9.0), "scales": (0.01, 9.0)}

#: Which size each letter of an axis is.
LETTERS = dict(zip("mnM", MOST, strict=True))
#: Small numbers whose products of three are short: what is shown is exact, and adds up by hand.
VALUES = {
    "weights": (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0),
    "factors": (-1.0, 0.5, 1.0, 2.0),
    "spreads": (0.1, 0.2, 0.5),
    "inputs": (-1.0, 1.0, 2.0),
}
#: The stored arrays of all methods in the order in which they are drawn, means by the plain name.
ORDER = (
    ("weight", "mn", "weights"), ("weight", "Mmn", "weights"), ("r", "Mm", "factors"),
    ("s", "Mn", "factors"), ("bias", "n", "factors"), ("bias", "Mn", "factors"),
    ("weight_std", "mn", "spreads"), ("r_std", "Mm", "spreads"), ("s_std", "Mn", "spreads"),
    ("bias_std", "n", "spreads"), ("x", "m", "inputs"),
)  # fmt: skip
#: What is drawn, in this order.
NOISE = (("r", "Mm"), ("s", "Mn"), ("weight", "Mmn"), ("bias", "Mn"))
#: How many seeds there are of numbers, and of draws, which lie above them.
SEEDS = 1_000_000


def limits(name: str) -> tuple[float, float]:
    """Return from where to where a number of a stored array may be; a σ is above 0."""
    return LIMITS["scales" if name.endswith("_std") else "values"]


def _largest(axes: str) -> tuple[int, ...]:
    return tuple(MOST[LETTERS[axis]] for axis in axes)


def _sizes(state: Mapping[str, Any], axes: str) -> tuple[int, ...]:
    return tuple(state[LETTERS[axis]] for axis in axes)


def stored(method: str) -> dict[str, str]:
    """Return the axes of each array that the page shows as stored, with σ in the place of ρ."""
    found = {a.name.replace("_rho", "_std"): a.shape.replace(" ", "") for a in ROWS[method].arrays}
    return found | {"x": "m"}


@functools.cache
def numbers(seed: int) -> dict[tuple[str, str], Array]:
    """Return the numbers of the largest layers by name and axes; a smaller one has the first."""
    random = Random(seed)
    found = {}
    for name, axes, kind in ORDER:
        choices = VALUES[kind]
        size = _largest(axes)
        values = [
            choices[math.floor(random.uniform() * len(choices))] for _ in range(math.prod(size))
        ]
        found[name, axes] = np.array(values).reshape(size)
        found[name, axes].flags.writeable = False
    return found


@functools.cache
def _noise(draw: int) -> dict[str, Array]:
    """ε of the largest layers, rounded so that a page shows all of it."""
    random = Random(SEEDS + draw)
    found = {}
    for name, axes in NOISE:
        size = _largest(axes)
        values = [
            math.floor(100 * random.normal() + 0.5) / 100 + 0.0 for _ in range(math.prod(size))
        ]
        found[name] = np.array(values).reshape(size)
        found[name].flags.writeable = False
    return found


def _before_edits(state: Mapping[str, Any], name: str, axes: str) -> Array:
    """What an array is before edits."""
    full = numbers(state["numbers"])[name.removesuffix("_mean"), axes]
    return full[tuple(slice(size) for size in _sizes(state, axes))].copy()


def edit_name(name: str, place: tuple[int, ...]) -> str:
    """Return what a stored number is called in the edits of a state.

    It is the same for all methods that store it, as the W of a BatchEnsemble and the means of a
    mean-field BNN.
    """
    return f"{name.removesuffix('_mean')}:{','.join(map(str, place))}"


def arrays(state: Mapping[str, Any]) -> dict[str, Array]:
    """Return the stored arrays by name, and ``x``, (m,); of a scale its σ, not ρ. Read-only."""
    found = {}
    for name, axes in stored(state["method"]).items():
        found[name] = _before_edits(state, name, axes)
        for place in np.ndindex(found[name].shape):
            edit = edit_name(name, place)
            found[name][place] = state["edits"].get(edit, found[name][place])
        found[name].flags.writeable = False
    return found


def edits(state: Mapping[str, Any], name: str, values: Array) -> dict[str, float]:
    """Return the edits of a state after which an array has these values."""
    kept = dict(state["edits"])
    start = _before_edits(state, name, stored(state["method"])[name])
    for place in np.ndindex(start.shape):
        edit = edit_name(name, place)
        kept.pop(edit, None)
        if values[place] != start[place]:
            kept[edit] = float(values[place])
    return kept


def layer(state: Mapping[str, Any]) -> Any:
    """Return the layer of `ensedu.numpy` that holds these numbers."""
    row = ROWS[state["method"]]
    m, n, M = (state[name] for name in MOST)
    size = {"ensemble_size": M} if row.members else {}
    found = getattr(en, f"{row.layer}Linear")(m, n, **size, rng=np.random.default_rng(0))
    values = arrays(state)
    for name, array in found.params.items():
        if name.endswith("_rho"):
            array[...] = np.vectorize(inverse_softplus)(values[name.replace("_rho", "_std")])
        else:
            array[...] = values[name]
    return found


def noise(state: Mapping[str, Any]) -> Noise | None:
    """Return the ε of the draw that is shown: of each member, or of ``ensemble_size`` draws.

    Read-only arrays; ``None`` for a method that draws nothing.
    """
    row = ROWS[state["method"]]
    if not row.stochastic:
        return None
    M = state["ensemble_size"]
    axes = dict(NOISE)
    names = ("r", "s") if row.modulated else ("weight", "bias")
    full = _noise(state["draw"])
    return {
        name: full[name][tuple(slice(size) for size in (M, *_sizes(state, axes[name][1:])))]
        for name in names
    }


def inputs(state: Mapping[str, Any]) -> Array:
    """Return x as the layer takes it: (1, m), or (draws, 1, m)."""
    x = arrays(state)["x"][None]
    row = ROWS[state["method"]]
    draws = row.stochastic and not row.members
    return np.repeat(x[None], state["ensemble_size"], axis=0) if draws else x


def outputs(state: Mapping[str, Any]) -> Array:
    """Return y of each member or draw, (M, n); (1, n) for one network. Read-only."""
    found = layer(state)
    drawn = noise(state)
    y = found(inputs(state)) if drawn is None else found(inputs(state), drawn)
    y = y.reshape(-1, state["out_features"])
    y.flags.writeable = False
    return y
