"""Explorers and trainers that several tests look at."""

import numpy as np

from workshop import plot
from workshop.page.explore import explore
from workshop.page.live import live, trainer_state

ALT = "{ensemble_size} networks of width {width}"
SIX = tuple(trainer_state.STARTS)


def draw(width, ensemble_size=1):
    words = {"xlabel": "x", "ylabel": "y", "ylim": (0, 1000)}
    return plot.growth_curves([1, 2], {"single": [width, 100 * ensemble_size]}, **words)


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
