"""Networks as they are drawn, and what is read back from them."""

from functools import lru_cache

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.patches import Circle

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot import style
from tests.plot.looks import LIGHT

SIZES = [1, 50, 50, 1]


STORED = ("shared", "per_member", "scales")


LOOKS = pytest.mark.parametrize("look", LIGHT, ids=["wide", "narrow"])


def members(method, number):
    """The number of members, or none for a method that has none."""
    return number if METHODS[method].members else None


def network(sizes, method="single", number=4, look=LIGHT[0], widest=None):
    """The axes of a network, drawn once for all that read it."""
    return drawn_once(tuple(sizes), method, members(method, number), look, widest)


@lru_cache(maxsize=64)
def drawn_once(sizes, method, number, look, widest):
    with style.rendering(look):
        return plot.network(sizes, method, number, widest=widest).axes[0]


def words(axes):
    return [text.get_text() for text in axes.texts]


def areas(axes, *roles):
    """The rectangles of what is stored, one row each: left, top, width, height in inches."""
    rows = [np.zeros((0, 4))]
    for collection in axes.collections:
        if isinstance(collection, PolyCollection) and collection.get_gid() in (roles or STORED):
            boxes = [path.get_extents() for path in collection.get_paths()]
            rows.append(np.array([[b.x0, b.y0, b.width, b.height] for b in boxes]))
    return np.concatenate(rows)


INPUTS = [
    *[(SIZES, method, 4) for method in METHODS],
    *[(SIZES, method, 64) for method in METHODS if METHODS[method].members],
    ([1, 5, 5, 1], "batch_ensemble", 4),
    ([1, 5, 5, 1], "rank1", 7),
    ([1, 5, 5, 1], "last_layer", 1),
    ([1, 1], "deep_ensemble", 3),
    ([1, *[50] * 9, 1], "batch_ensemble", 7),
    ([1, *[1000] * 9, 1], "rank1", 7),
    ([784, 300, 300, 100, 10], "deep_ensemble", 8),
    ([784, 300, 100, 10], "last_layer", 1000),
    ([10**6, 10**9, 3], "rank1", 10**6),
    ([2, 3], "deep_ensemble", 10**7),
    ([10**12, 10**12], "mean_field", 1),
]


def nodes(axes):
    return [patch for patch in axes.patches if isinstance(patch, Circle)]
