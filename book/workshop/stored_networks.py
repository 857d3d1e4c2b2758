"""The small networks that look at drawn digits: their arrays as text, and what they say.

A network is 64-32-10, of any method, with four members or four draws of its weights. The page holds
its arrays in float16.
"""

import base64
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import numpy as en
from ensedu import uncertainty
from ensedu.methods import METHODS, size_option

SIZES, MEMBERS = (64, 32, 10), 4
#: Above this probability of one class a network is sure.
SURE = 0.9
#: How often what draws is asked, each time with four draws.
DRAWS = 5

Arrays = dict[str, Float[Array, "..."]]


def described() -> dict[str, Any]:
    """Return for the scripts the sizes of a network, its members or draws, and when it is sure."""
    return {"sizes": SIZES, "passes": MEMBERS, "sure": SURE}


def packed(arrays: Arrays) -> dict[str, str]:
    """Return arrays as text: float16, little-endian, row by row, base64."""
    return {
        name: base64.b64encode(array.astype("<f2").tobytes()).decode()
        for name, array in arrays.items()
    }


def unpacked(method: str, text: dict[str, str]) -> Arrays:
    """Return the arrays that `packed` was given, float64."""
    like = _network(method, 0.1).params
    shapes = dict(zip(text, (array.shape for array in like.values()), strict=True))
    return {
        name: np.frombuffer(base64.b64decode(one), "<f2").astype(np.float64).reshape(shapes[name])
        for name, one in text.items()
    }


def _network(method: str, p: float) -> en.Sequential:
    """Return a network of a method in NumPy, with four members or four samples."""
    row = METHODS[method]
    given: dict[str, Any] = size_option(method, MEMBERS) if row.has_members else {}
    if row.stochastic and not row.has_members:
        given = {"samples": MEMBERS}
    options = {"p": p} if row.drops_units else {}
    return en.mlp(SIZES, method, **given, **options, rng=np.random.default_rng(0))


def outputs(
    method: str, arrays: Arrays, x: Float[Array, "B 64"], rng: Generator, p: float = 0.0
) -> Float[Array, "M B 10"]:
    """Return logits of each member, or of each of four draws; one network has one member."""
    net = _network(method, p)
    for own, array in zip(net.params.values(), arrays.values(), strict=True):
        own[...] = array
    found = net.forward(x, net.noise(rng, x.shape) if METHODS[method].stochastic else None)
    return found.reshape(-1, len(x), SIZES[-1])


def probabilities(
    method: str, arrays: Arrays, x: Float[Array, "B 64"], seed: int = 0, p: float = 0.0
) -> Float[Array, "D M B 10"]:
    """Return class probabilities of members, for each of several draws of what draws."""
    rng = np.random.default_rng(seed)
    draws = range(DRAWS if METHODS[method].stochastic else 1)
    return np.stack([uncertainty.softmax(outputs(method, arrays, x, rng, p)) for _ in draws])
