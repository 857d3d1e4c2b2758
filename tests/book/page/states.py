"""Explorers, trainers and layers that several tests look at."""

import itertools

import numpy as np
from hypothesis import strategies as st

from ensedu import plot
from ensedu.book.page.explore import explore
from ensedu.book.page.live import live, trainer_state
from ensedu.book.page.playground import layer_state, layers

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
    """y of each member or draw, number by number, from the arrays and ε alone."""
    arrays, eps = layers.arrays(state), layers.noise(state)
    method, m, n = (state[name] for name in ("method", "in_features", "out_features"))
    x = arrays["x"]
    found = []
    for i in range(1 if method == "single" else state["ensemble_size"]):
        y = []
        for b in range(n):
            total = 0.0
            for a in range(m):
                if method == "deep_ensemble":
                    weight = arrays["weight"][i, a, b]
                elif method == "batch_ensemble":
                    weight = arrays["r"][i, a] * arrays["weight"][a, b] * arrays["s"][i, b]
                elif method == "rank1":
                    r = arrays["r_mean"][i, a] + arrays["r_std"][i, a] * eps["r"][i, a]
                    s = arrays["s_mean"][i, b] + arrays["s_std"][i, b] * eps["s"][i, b]
                    weight = r * arrays["weight"][a, b] * s
                elif method == "mean_field":
                    spread = arrays["weight_std"][a, b] * eps["weight"][i, a, b]
                    weight = arrays["weight_mean"][a, b] + spread
                else:
                    weight = arrays["weight"][a, b]
                total += x[a] * weight
            if method == "single":
                total += arrays["bias"][b]
            elif method == "mean_field":
                total += arrays["bias_mean"][b] + arrays["bias_std"][b] * eps["bias"][i, b]
            else:
                total += arrays["bias"][i, b]
            y.append(total)
        found.append(y)
    return np.array(found)
