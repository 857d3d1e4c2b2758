"""The picture that stands for a playground: on paper, without scripts, in a saved notebook."""

from collections.abc import Mapping
from typing import Any

from ensedu import counting, methods
from workshop import plot
from workshop.page.playground import layers
from workshop.plot.inside import SHAPES

__all__ = ["alt", "figure"]


def figure(state: Mapping[str, Any]) -> plot.Figure:
    """Draw a layer of these sizes by every method, from the numbers of this state."""
    parts, counts = {}, {}
    sizes = {name: state[name] for name in layers.MOST}
    for method, shapes in SHAPES.items():
        of_method = {**state, "method": method}
        arrays = layers.arrays(of_method)
        if "samples" in shapes:
            arrays["samples"] = layers.layer(of_method).weight_matrices(layers.noise(of_method))
        parts[method] = {name: arrays[name] for name in shapes}
        m, n, M = sizes.values()
        counts[method] = counting.layer(m, n, method, **methods.size_option(method, M))
    return plot.inside(parts, counts)


def alt(state: Mapping[str, Any]) -> str:
    """Return the picture in words."""
    *labels, last = (plot.LABELS[method] for method in layers.METHODS)
    m, n, M = (state[name] for name in layers.MOST)
    return (
        f"A layer with m = {m} and n = {n}, held by {', '.join(labels)} and {last}, with M = {M} "
        "where there are members, and the count of each."
    )
