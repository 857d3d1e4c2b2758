"""Small networks on a circle, which *What moves when you train* watches while they train.

Inputs are two numbers each, on a circle of radius √2; networks are 2-width-1 with ReLU, in the NTK
parametrization, and gradient descent with a rate of `LR` trains all six points at once.
"""

from functools import cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.theory.ntk import EmbeddedEnsemble, Modulation, embedded, flow, tangent

__all__ = [
    "ALL",
    "ANGLES",
    "AT",
    "GRID",
    "LR",
    "ONES",
    "TARGETS",
    "TIMES",
    "X",
    "before",
    "circle",
    "kernel",
    "moved",
    "network",
    "paths",
    "trails",
    "train",
    "trained",
]


def circle(degrees: Float[Array, " B"]) -> Float[Array, "B 2"]:
    """Return inputs at these angles."""
    angle = np.radians(degrees)
    return np.sqrt(2) * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


ONES = Modulation("ones")
#: Degrees of the training inputs, and the targets there.
ANGLES = np.array([-130.0, -80.0, -20.0, 30.0, 90.0, 150.0])
TARGETS = np.array([0.3, -0.9, -1.3, 1.2, 1.5, -0.4])
#: Degrees where functions are drawn.
GRID = np.arange(-180.0, 181.0, 3.0)
#: The training input whose pulls are shown, that at 30 degrees.
AT = 3
TIMES = (0, 1, 2, 4, 8, 16, 32, 64)
LR = 0.1
X, ALL = circle(ANGLES), circle(GRID)


def network(width: int, seed: int = 0) -> EmbeddedEnsemble:
    """Return one network at its start."""
    return embedded([2, width, 1], 1, rng=np.random.default_rng([seed, width]), u=ONES)


def kernel(
    net: EmbeddedEnsemble, x: Float[Array, "B 2"], other: Float[Array, "C 2"] | None = None
) -> Float[Array, "B C"]:
    """Return the tangent kernel of the weights."""
    return tangent(net, x, other).shared[0, 0]


def train(net: EmbeddedEnsemble, steps: int, lr: float = LR) -> None:
    """Take steps of gradient descent on all six points; the ones u stay as they are."""
    for _ in range(steps):
        net.step(X, TARGETS, lr, modulation_lr=0.0)


def trained(width: int) -> list[tuple[Array, Array, Array, Array]]:
    """Return what stands at each of `TIMES`.

    Outputs on `GRID`, those at the data, what the kernel of the start foresees on `GRID`, and how
    far a pull at `AT` reaches.
    """
    net = network(width)
    first, reach = kernel(net, X), kernel(net, ALL, X)
    start, outputs = net(X), net(ALL)[0]
    ways = flow(first[None, None], start, TARGETS, TIMES)[:, 0] - start[0]
    found = []
    for time, last, way in zip(TIMES, [0, *TIMES], ways, strict=False):
        train(net, round((time - last) / LR))
        row = kernel(net, ALL, X[[AT]])[:, 0]
        still = outputs + reach @ np.linalg.solve(first, way)
        found.append((net(ALL)[0], net(X)[0], still, row))
    return found


def before(width: int, draws: int = 4000) -> Float[Array, "draws B"]:
    """Return outputs of random networks all around the circle, every 3 or 6 degrees."""
    rng = np.random.default_rng(width)
    x = circle(np.arange(-180.0, 181.0, 6 if width > 16 else 3)) / np.sqrt(2)
    found = np.empty((draws, len(x)))
    for i in range(draws):
        units = np.maximum(x @ rng.standard_normal((2, width)), 0)
        found[i] = units @ rng.standard_normal(width) / np.sqrt(width)
    return found


@cache
def moved(width: int, seed: int) -> float:
    """Return how far the kernel has moved at time 32, over its size at the start."""
    net = network(width, seed)
    first = kernel(net, X)
    train(net, 64, lr=0.5)
    return float(np.linalg.norm(kernel(net, X) - first) / np.linalg.norm(first))


def paths(width: int) -> tuple[Float[Array, " T"], Float[Array, "T B"], Float[Array, "T B"]]:
    """Return times, and outputs on the training inputs: real ones, and predicted."""
    net = network(width)
    first, start = kernel(net, X), net(X)
    times, real = [0.0], [start[0]]
    for step in np.round(np.geomspace(0.1, 64, 40) / LR).astype(int):
        train(net, int(step) - round(times[-1] / LR))
        times.append(int(step) * LR)
        real.append(net(X)[0])
    still = flow(first[None, None], start, TARGETS, times)[:, 0]
    return np.array(times), np.array(real), still


def trails(width: int) -> tuple[Float[Array, "T h"], Float[Array, "T h"], float]:
    """Return each hidden unit at 65 times up to 64, and how far weights have moved.

    Where it looks, in degrees; what it adds there, times √width; and a root mean square.
    """
    net = network(width)
    begin, found = [weight.copy() for weight in net.weights], []
    for time in range(65):
        train(net, 10 if time else 0)
        first, second = net.weights
        angle = np.degrees(np.arctan2(first[1], first[0]))
        found.append((angle, np.linalg.norm(first, axis=0) * second[:, 0]))
    ends = zip(net.weights, begin, strict=True)
    way = np.concatenate([(end - start).ravel() for end, start in ends])
    angles, adds = (np.array(one) for one in zip(*found, strict=True))
    return np.unwrap(angles, period=360, axis=0), adds, float(np.sqrt(np.mean(way**2)))
