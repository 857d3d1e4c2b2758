"""A layer small enough to touch: every number of five methods, for a page without a kernel."""

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np

from ensedu import checks, counting, methods, plot
from ensedu import numpy as en
from ensedu.numpy.variational import inverse_softplus
from ensedu.page.frames import BOOK, Frames, embedded
from ensedu.plot.inside import SHAPES

__all__ = ["METHODS", "MOST", "Playground", "state"]

METHODS = tuple(SHAPES)
MOST = {"in_features": 4, "out_features": 5, "ensemble_size": 4}
# The first method whose members are not simply stored.
_SHOWN = next(key for key in METHODS if methods.METHODS[key].modulated)
START: dict[str, Any] = {"method": _SHOWN, "in_features": 2, "out_features": 3, "ensemble_size": 2}

# Small numbers whose products of three are short: what is shown is exact, and adds up by hand.
_WEIGHTS = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)
_FACTORS = (-1.0, 0.5, 1.0, 2.0)
_SCALE = 0.5  # every standard deviation


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
    checks.one_of("method", method, METHODS)
    sizes = {
        "in_features": in_features, "out_features": out_features, "ensemble_size": ensemble_size
    }  # fmt: skip
    for name, size in sizes.items():
        if checks.positive_int(name, size) > MOST[name]:
            raise ValueError(f"{name} must be from 1 to {MOST[name]}, got {size}")
    layer = _layer(method, *sizes.values())
    arrays = {
        name.replace("_rho", "_std"): np.full_like(value, _SCALE) if "_rho" in name else value
        for name, value in layer.params.items()
    }
    if methods.METHODS[method].stochastic:
        noise = {name: np.zeros_like(value) for name, value in layer.noise().items()}
        return arrays | {"matrices": layer.weight_matrices(noise), "spreads": _spreads(arrays)}
    return arrays | {"matrices": layer.weight_matrices()}


class Playground:
    """The playground: on the book's page an app that needs no kernel, elsewhere a figure."""

    def __repr__(self) -> str:
        return f"Playground({', '.join(METHODS)})"

    def figure(self) -> plot.Figure:
        """Draw where the playground starts, all methods side by side."""
        m, n, M = (START[name] for name in MOST)
        noise = np.random.default_rng(0).standard_normal((M, m, n))
        parts, counts = {}, {}
        for method, shapes in SHAPES.items():
            arrays = state(method, m, n, M)
            if "samples" in shapes:
                arrays["samples"] = arrays["weight_mean"] + arrays["weight_std"] * noise
            parts[method] = {name: arrays[name] for name in shapes}
            counts[method] = counting.layer(m, n, method, **methods.sized(method, M))
        return plot.inside(parts, counts)

    def data(self) -> dict[str, Any]:
        """Return all that the page needs: the largest state of each method, and every count.

        A smaller state is the first rows, columns and members of the largest.
        """
        counts = {}
        most = (range(1, size + 1) for size in MOST.values())
        sizes = itertools.product(*most)
        for method, (m, n, M) in itertools.product(METHODS, sizes):
            count = counting.layer(m, n, method, **methods.sized(method, M))
            more = counting.one_more_member(m, n, method).total
            roles = [getattr(count, role) for role in methods.ROLES]
            counts[f"{method} {m} {n} {M}"] = [*roles, count.total, more]
        return {
            "start": START,
            "most": MOST,
            "roles": plot.ROLE_LABELS,
            "methods": {method: _described(method) for method in METHODS},
            "counts": counts,
        }

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        folder = os.environ.get(BOOK)
        if not folder:
            return {"text/plain": repr(self), "image/png": plot.png(self.figure())}
        *labels, last = (plot.LABELS[method] for method in METHODS)
        alt = (
            f"A layer of {START['in_features']} inputs and {START['out_features']} outputs, held "
            f"by {', '.join(labels)} and {last}, with {START['ensemble_size']} members where "
            "there are members, and the count of each."
        )
        data = embedded(self.data())
        still = Frames([self.figure], Path(folder)).pictures(0, alt)
        html = (
            f'<div class="ensedu-playground"><div class="ensedu-still">{still}</div>'
            f'<script type="application/json">{data}</script></div>'
        )
        return {"text/plain": repr(self), "text/html": html}


def _described(method: str) -> dict[str, Any]:
    """Return what the page says and shows of a method: which words fit follows from these."""
    row = methods.METHODS[method]
    return {
        "label": row.label,
        "color": plot.PALETTE[method],
        "members": row.members,
        "modulated": row.modulated,
        "drawn": row.stochastic,
        "terms": methods.terms(method),
        "arrays": {name: array.tolist() for name, array in state(method, *MOST.values()).items()},
    }


def _layer(method: str, m: int, n: int, M: int) -> Any:
    """Build a layer whose arrays are the first entries of those of the largest layer."""
    row = methods.METHODS[method]
    size = {"ensemble_size": M} if row.members else {}
    layer = getattr(en, f"{row.layer}Linear")(m, n, **size, rng=np.random.default_rng(0))
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


def _spreads(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The standard deviation of every entry of every matrix (Dusenberry et al. 2020)."""
    if "weight_std" in arrays:
        return arrays["weight_std"][None]
    r, s = arrays["r_mean"][:, :, None], arrays["s_mean"][:, None, :]
    variance = (r**2 + _SCALE**2) * (s**2 + _SCALE**2) - r**2 * s**2
    return np.abs(arrays["weight"]) * np.sqrt(variance)
