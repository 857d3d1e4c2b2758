"""Explorers, trainers and layers that several tests look at."""

import itertools

import numpy as np
from hypothesis import strategies as st

from workshop import plot
from workshop.page.explore import explore
from workshop.page.live import live, trainer_state
from workshop.page.playground import layer_state, layers

ALT = "{ensemble_size} networks of width {width}"
SIX = tuple(trainer_state.STARTS)


def draw(width, ensemble_size=1):
    return plot.network([1, *[width] * ensemble_size, 1])


def explorer(**options):
    given = {"alt": ALT, "caption": "A < B", "width": [2, 3, 50], "ensemble_size": [1, 2]}
    return explore(draw, **(given | options))


def small(**given):
    """A trainer of few numbers."""
    return live(**{"width": 5, "hidden_layers": 1} | given)


def arrays_of(w, seed=3):
    """Arrays of the shapes that a trainer's networks have."""
    rng = np.random.default_rng(seed)
    return [
        {name: rng.standard_normal(shape) for name, shape in shapes.items()}
        for shapes in trainer_state.shapes(w._now)
    ]


MOST = {"in_features": 4, "out_features": 5, "ensemble_size": 6}
SIZES = list(itertools.product(*(range(1, most + 1) for most in MOST.values())))
METHODS = ("single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field")
DRAWN = ("rank1", "mean_field")

# A layer whose sizes are all different, with members and with standard deviations.
SMALL = {"method": "rank1", "in_features": 2, "out_features": 5, "ensemble_size": 3}


def state_of(method="batch_ensemble", m=4, n=5, M=4, numbers=0, draw=0, **edits):
    """A state, with edits such as ``x={(0,): 3.0}``."""
    state = layer_state.checked({
        "method": method, "in_features": m, "out_features": n, "ensemble_size": M,
        "numbers": numbers, "draw": draw,
    })  # fmt: skip
    return state | {
        "edits": {
            layers.edit_name(name, place): value
            for name, places in edits.items()
            for place, value in places.items()
        }
    }


def random_arrays(state, rng):
    """Arrays that a state may have, none of them round."""
    return {
        name: rng.uniform(0.01 if name.endswith("_std") else -9, 9, array.shape)
        for name, array in layers.arrays(state).items()
    }


# Strategies draw plain numbers: the package itself draws some where its annotations are checked.
STATES = st.builds(
    dict,
    method=st.sampled_from(METHODS),
    numbers=st.integers(0, 999_999),
    draw=st.integers(0, 999_999),
    **{name: st.integers(1, most) for name, most in MOST.items()},
)

VALUES = st.lists(st.floats(-9, 9), min_size=1, max_size=12)


def filled(state, values):
    """Arrays that a state's layer may have, of these values again and again."""
    endless = itertools.cycle(values)
    found = {}
    for name, array in layers.arrays(state).items():
        own = np.reshape(list(itertools.islice(endless, array.size)), array.shape)
        found[name] = np.maximum(np.abs(own), 0.01) if name.endswith("_std") else own
    return found


def members_one_by_one(state):
    """y of each member or draw, (M, n), from the arrays and ε alone."""
    arrays, eps, method = layers.arrays(state), layers.noise(state), state["method"]

    def drawn(name, i, own=...):
        return arrays[f"{name}_mean"][own] + arrays[f"{name}_std"][own] * eps[name][i]

    found = []
    for i in range(1 if method == "single" else state["ensemble_size"]):
        weight, bias = (arrays.get(name) for name in ("weight", "bias"))
        if method == "mean_field":
            weight, bias = drawn("weight", i), drawn("bias", i)
        elif method != "single":
            bias = bias[i]
        if method == "deep_ensemble":
            weight = weight[i]
        elif method == "batch_ensemble":
            weight = weight * np.outer(arrays["r"][i], arrays["s"][i])
        elif method == "rank1":
            weight = weight * np.outer(drawn("r", i, i), drawn("s", i, i))
        found.append(arrays["x"] @ weight + bias)
    return np.array(found)
