"""How the trainer trains, and how much of it is shown: numbers that Python and scripts share."""

from typing import Any

import numpy as np

from ensedu.methods import Method

__all__ = [
    "BATCH", "CLASSES", "CLOUD", "FUNCTIONS", "FURTHEST", "GRID", "MANY_FUNCTIONS",
    "MOST_POINTS", "REACH", "REST", "START_STDS", "VIEW", "described", "prior_loc",
]  # fmt: skip

#: Points a step, at most.
BATCH = 64
#: The standard deviation of r and s around 1, by the name of the start.
START_STDS = {"normal-0.1": 0.1, "normal-0.5": 0.5}
#: Functions that are shown of a method that draws, at least.
FUNCTIONS = 16
#: As many make a band that is compared with another.
MANY_FUNCTIONS = 64
#: Steps after which a run that began by itself rests.
REST = 3000
#: How far from 0 a curve is seen along x and along y, and a map along both inputs.
VIEW = {"x": 5, "y": 3}
REACH = 4
#: How far from 0 the means of distributions are seen, between which ends their standard deviations
#: are, and which numbers stand beside the two axes.
CLOUD: dict[str, Any] = {
    "far": 1.6,
    "stds": (0.004, 0.6),
    "ticks": ((-1, 0, 1), (0.01, 0.03, 0.1, 0.3)),
}
#: Where curves are computed.
GRID = np.linspace(-VIEW["x"], VIEW["x"], 97)
#: What points may be: how many, how far from 0, and of how many classes.
MOST_POINTS = 500
FURTHEST = 100
CLASSES = 3


def prior_loc(row: Method) -> float:
    """Return the mean of the prior: 1 for factors such as r and s, 0 for weights."""
    return 1.0 if row.modulated else 0.0


def described() -> dict[str, Any]:
    """Return all of it for the scripts."""
    return {
        "batch": BATCH,
        "start_stds": START_STDS,
        "functions": FUNCTIONS,
        "many_functions": MANY_FUNCTIONS,
        "rest": REST,
        "view": VIEW,
        "reach": REACH,
        "cloud": CLOUD,
        "grid_points": len(GRID),
        "most_points": MOST_POINTS,
        "furthest": FURTHEST,
        "classes": CLASSES,
    }
