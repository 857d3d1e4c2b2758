"""Small networks on a circle, which *What moves when you train* watches while they train.

Inputs are two numbers each, on a circle of radius √2; networks are 2-width-1 with ReLU, in the NTK
parametrization, and gradient descent with a rate of `LR` trains all six points at once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.theory.ntk import EmbeddedEnsemble, Modulation, embedded, flow, tangent
from workshop.plot.moving import steps
from workshop.running.experiment import Experiment


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
LR = 0.1
#: Whole steps, 1.04 times as far each.
TIMES = (
    *steps(0, 2.4, LR),
    *sorted({4, 8, 16, 32, *(int(25 * 1.04**i) / 10 for i in range(82)), 64}),
)
#: Those of the table.
WIDTHS = (16, 64, 256, 1024)
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


def foreseen(net: EmbeddedEnsemble, times: Sequence[float | int]) -> Float[Array, "T G"]:
    """Return outputs on `GRID` at these times, if the kernel stood still from now on."""
    own, start = kernel(net, X), net(X)
    ways = flow(own[None, None], start, TARGETS, [float(time) for time in times])[:, 0] - start[0]
    return net(ALL)[0] + ways @ np.linalg.solve(own, kernel(net, X, ALL))


def trained(width: int) -> list[tuple[Array, Array, Array, Array]]:
    """Return what stands at each of `TIMES`.

    Outputs on `GRID`, those at the data, what the kernel of the start foresees on `GRID`, and how
    far a pull at `AT` reaches.
    """
    net = network(width)
    found, still = [], foreseen(net, TIMES)
    for time, last, guess in zip(TIMES, [0, *TIMES], still, strict=False):
        train(net, round((time - last) / LR))
        found.append((net(ALL)[0], net(X)[0], guess, kernel(net, ALL, X[[AT]])[:, 0]))
    return found


def watched() -> dict[str, Any]:
    """Return what a figure of a narrow and a wide network is made of, while they train."""
    widths = 16, 256
    return {
        "angles": ANGLES, "targets": TARGETS, "at": AT, "grid": GRID, "times": TIMES, "lr": LR,
        "found": {width: trained(width) for width in widths},
        "starts": {width: tuple(network(width).weights) for width in widths},
    }  # fmt: skip


def size(values: Array) -> float:
    """Return a root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def run(width: int, seed: int, time: float, lr: float) -> dict[str, Any]:
    """Return how far a network has moved at a time.

    ``weights``, root mean square over all; ``kernel``, of the training inputs, over its size at the
    start; and ``apart``, the root mean square distance, on `GRID`, of its outputs from those that
    the kernel of the start foresees.
    """
    net = network(width, seed)
    first, still = kernel(net, X), foreseen(net, [time])[0]
    begin = [weight.copy() for weight in net.weights]
    train(net, round(time / lr), lr)
    ends = zip(net.weights, begin, strict=True)
    return {
        "weights": size(np.concatenate([(end - start).ravel() for end, start in ends])),
        "kernel": size(kernel(net, X) - first) / size(first),
        "apart": size(net(ALL)[0] - still),
    }


def trails(width: int) -> tuple[Float[Array, "T h"], Float[Array, "T h"]]:
    """Return where each hidden unit looks, in degrees, and what it adds there, times √width.

    At 65 times up to 64.
    """
    net, found = network(width), []
    for time in range(65):
        train(net, 10 if time else 0)
        first, second = net.weights
        angle = np.degrees(np.arctan2(first[1], first[0]))
        found.append((angle, np.linalg.norm(first, axis=0) * second[:, 0]))
    angles, adds = (np.array(one) for one in zip(*found, strict=True))
    return np.unwrap(angles, period=360, axis=0), adds


EXPERIMENT = Experiment(
    name="gradient-flow",
    about="one network of a hidden layer of ReLU, in the NTK parametrization, trained by gradient "
    "descent on six points of a circle: weights, the rms distance from where they began; kernel, "
    "how far the tangent kernel of these points has moved, over its size at the start; apart, the "
    "rms distance of outputs on the whole circle from those that the kernel at the start foresees",
    budget="10 starts a width, until time 64 at a rate of 0.1, no tuning",
    cases=[{"width": width, "seed": seed} for width in WIDTHS for seed in range(10)],
    run=run,
    settings={"time": 64.0, "lr": LR},
)
