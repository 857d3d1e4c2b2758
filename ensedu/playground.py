"""A layer small enough to touch: every number of five methods, for a page without a kernel."""

import json
import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ensedu import _checks, counting, plot
from ensedu import numpy as en
from ensedu.explore import BOOK, FRAMES, store
from ensedu.numpy.variational import inverse_softplus

__all__ = ["METHODS", "MOST", "Playground", "state"]

METHODS = ("single", "deep_ensemble", "batch_ensemble", "rank1", "mean_field")
MOST = {"in_features": 4, "out_features": 5, "ensemble_size": 4}
START = {"method": "batch_ensemble", "in_features": 2, "out_features": 3, "ensemble_size": 2}

# Small numbers whose products of three are short: what is shown is exact, and adds up by hand.
_WEIGHTS = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)
_FACTORS = (-1.0, 0.5, 1.0, 2.0)
_SCALE = 0.5  # every standard deviation

# What each role adds up to; the page fills in m, n and M.
_TERMS: dict[str, dict[str, str]] = {
    "single": {"shared": "m · n", "biases": "n"},
    "deep_ensemble": {"per_member": "M · m · n", "biases": "M · n"},
    "batch_ensemble": {"shared": "m · n", "per_member": "M · (m + n)", "biases": "M · n"},
    "rank1": {
        "shared": "m · n",
        "per_member": "M · (m + n)",
        "scales": "M · (m + n)",
        "biases": "M · n",
    },
    "mean_field": {"shared": "m · n", "scales": "m · n", "biases": "2 · n"},
}


def state(
    method: str, in_features: int, out_features: int, ensemble_size: int
) -> dict[str, np.ndarray]:
    """Return every number that the playground shows in one of its states.

    Parameters
    ----------
    method
        One of `METHODS`.
    in_features, out_features, ensemble_size
        m, n and M, from 1 up to `MOST`.

    Returns
    -------
    dict
        The arrays of the layer, by name, with standard deviations in the place of raw scales ρ;
        and ``matrices``, (M, m, n), what its members compute with (their means, for
        distributions), with ``spreads``, (M, m, n), their standard deviations, where they have
        any. A method without members has M = 1 here.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, or a size out of range.
    """
    _checks.one_of("method", method, METHODS)
    sizes = {
        "in_features": in_features, "out_features": out_features, "ensemble_size": ensemble_size
    }  # fmt: skip
    for name, size in sizes.items():
        if _checks.positive_int(name, size) > MOST[name]:
            raise ValueError(f"{name} must be from 1 to {MOST[name]}, got {size}")
    layer = _layer(method, *sizes.values())
    arrays = {
        name.replace("_rho", "_std"): np.full_like(value, _SCALE) if "_rho" in name else value
        for name, value in layer.params.items()
    }
    if method in ("rank1", "mean_field"):
        noise = {name: np.zeros_like(value) for name, value in layer.sample().items()}
        arrays["matrices"] = layer.weight_matrices(noise)
        arrays["spreads"] = _spreads(method, arrays)
    else:
        arrays["matrices"] = layer.weight_matrices()
    return arrays


class Playground:
    """The playground: on the book's page an app that needs no kernel, elsewhere a figure."""

    def __repr__(self) -> str:
        return f"Playground({', '.join(METHODS)})"

    def figure(self) -> plot.Figure:
        """Draw where the playground starts, all methods side by side."""
        m, n, M = (START[name] for name in MOST)
        parts, counts = {}, {}
        for method in METHODS:
            parts[method] = {
                name: value
                for name, value in state(method, m, n, M).items()
                if name not in ("matrices", "spreads")
            }
            counts[method] = counting.layer(m, n, method, M)
        means, stds = parts["mean_field"]["weight_mean"], parts["mean_field"]["weight_std"]
        noise = np.random.default_rng(0).standard_normal((M, m, n))
        parts["mean_field"]["samples"] = means + stds * noise
        return plot.inside(parts, counts)

    def data(self) -> dict[str, Any]:
        """Return all that the page needs: the largest state of each method, and every count.

        A smaller state is the first rows, columns and members of the largest.
        """
        counts = {}
        for method in METHODS:
            for m in range(1, MOST["in_features"] + 1):
                for n in range(1, MOST["out_features"] + 1):
                    for M in range(1, MOST["ensemble_size"] + 1):
                        count = counting.layer(m, n, method, M)
                        more = counting.one_more_member(m, n, method).total
                        roles = [getattr(count, role) for role in counting.ROLES]
                        counts[f"{method} {m} {n} {M}"] = [*roles, count.total, more]
        largest = {method: state(method, *MOST.values()) for method in METHODS}
        return {
            "start": START,
            "most": MOST,
            "labels": {method: plot.LABELS[method] for method in METHODS},
            "colors": {method: plot.PALETTE[method] for method in METHODS},
            "roles": dict(zip(counting.ROLES, plot.ROLE_LABELS.values(), strict=True)),
            "terms": _TERMS,
            "counts": counts,
            "arrays": {
                method: {name: value.tolist() for name, value in arrays.items()}
                for method, arrays in largest.items()
            },
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        figure, folder = self.figure(), os.environ.get(BOOK)
        if not folder:
            return {"text/plain": repr(self), "image/png": plot.png(figure)}
        width, height = figure.get_size_inches() * 100
        alt = (
            "A layer of 2 inputs and 3 outputs, held by five methods with two members each, "
            "and the count of each."
        )
        data = json.dumps(self.data()).replace("<", "\\u003c")
        html = (
            '<div class="ensedu-playground"><img class="ensedu-still" '
            f'src="{FRAMES}{store(figure, Path(folder))}" alt="{escape(alt)}" '
            f'width="{width:.0f}" height="{height:.0f}">'
            f'<script type="application/json">{data}</script></div>'
        )
        return {"text/plain": repr(self), "text/html": html}


def _layer(method: str, m: int, n: int, M: int) -> Any:
    """Build a layer whose arrays are the first entries of those of the largest layer."""
    rng = np.random.default_rng(0)
    build = {
        "single": lambda: en.Linear(m, n, rng=rng),
        "deep_ensemble": lambda: en.DeepEnsembleLinear(m, n, M, rng=rng),
        "batch_ensemble": lambda: en.BatchEnsembleLinear(m, n, M, rng=rng),
        "rank1": lambda: en.Rank1Linear(m, n, M, rng=rng),
        "mean_field": lambda: en.BayesLinear(m, n, rng=rng),
    }
    layer = build[method]()
    numbers = _numbers()
    for name, array in layer.params.items():
        if name.endswith("_rho"):
            array[...] = inverse_softplus(_SCALE)
        else:
            full = numbers[name.removesuffix("_mean"), array.ndim]
            array[...] = full[tuple(map(slice, array.shape))]
    return layer


def _numbers() -> dict[tuple[str, int], np.ndarray]:
    """The numbers of the largest layers, by name and number of axes: the same for all methods."""
    rng = np.random.default_rng(8)
    m, n, M = MOST.values()
    return {
        ("weight", 2): rng.choice(_WEIGHTS, (m, n)),
        ("weight", 3): rng.choice(_WEIGHTS, (M, m, n)),
        ("r", 2): rng.choice(_FACTORS, (M, m)),
        ("s", 2): rng.choice(_FACTORS, (M, n)),
        ("bias", 1): rng.choice(_FACTORS, n),
        ("bias", 2): rng.choice(_FACTORS, (M, n)),
    }


def _spreads(method: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The standard deviation of every entry of every matrix (Dusenberry et al. 2020)."""
    if method == "mean_field":
        return arrays["weight_std"][None]
    r, s = arrays["r_mean"][:, :, None], arrays["s_mean"][:, None, :]
    variance = (r**2 + _SCALE**2) * (s**2 + _SCALE**2) - r**2 * s**2
    return np.abs(arrays["weight"]) * np.sqrt(variance)
