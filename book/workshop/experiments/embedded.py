"""Members that share all weights, while one of them is pulled, or each."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.theory.ntk import EmbeddedEnsemble, Modulation, embedded

ONES = Modulation("ones")


def by_mean(mean: float | int) -> list[Modulation]:
    """Return modulations of the last of two hidden layers alone.

    Of this mean, from 0 to 1, and with squares that are 1 on average, so that at infinite width
    all that joins two members is mean² of what joins a member with itself.
    """
    last = ONES if mean == 1 else Modulation("normal", mean=float(mean), std=(1 - mean**2) ** 0.5)
    return [ONES, last]


def pulled(
    net: EmbeddedEnsemble, pulls: Sequence[int], x: Float[Array, "B m"], y: Float[Array, " B"],
    at: Float[Array, "C m"], *, lr: float, steps: Sequence[int],
) -> Float[Array, "steps M C"]:  # fmt: skip
    """Train what members share, and return their outputs `at` after these numbers of steps.

    Steps go down the sum of `pulls` times ``½ mean (f_i - y)²``; modulations stay as they are.
    """
    found, weight = [], np.array(pulls)[:, None] / len(x)
    for step in range(max(steps) + 1):
        if step in steps:
            found.append(net(at))
        passed = net.forward_pass(x)
        grads = net.gradients(passed, weight * (passed.outputs - y))
        for name in ("weights", "biases"):
            for value, grad in zip(getattr(net, name), grads[name], strict=True):
                value -= lr * grad
    return np.array(found)


def dragged() -> tuple[
    Float[Array, " B"], tuple[int, ...], dict[float | int, Float[Array, "S 2 B"]],
    tuple[Float[Array, " N"], Float[Array, " N"]],
]:  # fmt: skip
    """Return what two members say while member 1 alone is trained on five points of a curve.

    Where, x; after which numbers of steps; by the mean of modulations the outputs (steps, 2, B);
    and the points.
    """
    grid, points, steps = np.linspace(-4, 4, 81), np.linspace(-3, 3, 5), (0, 1, 3, 10, 30, 100)
    inputs, x = (np.stack([one, np.ones(len(one))], axis=1) for one in (grid, points))
    y, found = 1.5 * np.sin(0.7 * points), {}
    for mean in (0, 0.75, 1):
        rng = np.random.default_rng(1)
        net = embedded((2, 256, 256, 1), 2, rng=rng, u=by_mean(mean), bias_std=1.0)
        found[mean] = pulled(net, (1, 0), x, y, inputs, lr=0.15, steps=steps)
    return grid, steps, found, (points, y)
