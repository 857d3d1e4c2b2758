"""What the theorems on embedded ensembles say of training, measured.

Four members of two hidden layers without biases. On points of a curve, `run_training` asks how
far training moves the kernel, by width, and `run_spread` how far members are apart where there are
no points.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.theory.ntk import EmbeddedEnsemble, Modulation, embedded, tangent
from workshop.running.experiment import Experiment

ONES = Modulation("ones")
MEMBERS = 4


def inputs_at_angle(cosine: float) -> Float[Array, "2 2"]:
    """Return two inputs of length √2 with this cosine of their angle."""
    return 2**0.5 * np.array([[1.0, 0.0], [cosine, (1 - cosine**2) ** 0.5]])


def by_mean(mean: float | int) -> list[Modulation]:
    """Return modulations of the last of two hidden layers alone.

    Of this mean, from 0 to 1, and with squares that are 1 on average, so that at infinite width
    all that joins two members is mean² of what joins a member with itself.
    """
    last = ONES if mean == 1 else Modulation("normal", mean=float(mean), std=(1 - mean**2) ** 0.5)
    return [ONES, last]


def curve(number: int = 8) -> tuple[Float[Array, "B 2"], Float[Array, " B"]]:
    """Return points of a curve, as inputs (x, 1), and its values."""
    x = np.linspace(-1, 1, number)
    return np.stack([x, np.ones(number)], axis=1), np.sin(2 * x)


def trained(
    net: EmbeddedEnsemble, gamma: float, time: float, lr: float
) -> Float[Array, "steps M B"]:
    """Train a network on `curve`, and return its outputs there before each step."""
    x, y = curve()
    steps = round(time / lr)
    return np.array([net.step(x, y, lr, gamma=gamma) for _ in range(steps)])


def run_training(
    mean: float, gamma: float, width: int, seed: int, time: float, lr: float
) -> dict[str, Any]:
    """Return how far a kernel leaves that of its start, ``‖Θ(end) - Θ(0)‖ / ‖Θ(0)‖``."""
    x, _ = curve()
    rng = np.random.default_rng([seed, width, round(100 * mean), 2024])
    net = embedded((2, width, width, 1), MEMBERS, rng=rng, u=by_mean(mean))
    kernel = tangent(net, x).total(gamma)
    trained(net, gamma, time, lr)
    change = np.linalg.norm(tangent(net, x).total(gamma) - kernel)
    return {"change": float(change / np.linalg.norm(kernel))}


def train_on_sparse_points(mean: float, seed: int) -> EmbeddedEnsemble:
    """Return four members trained on `sparse_points`, whose modulations stay as they are.

    The average has one speed whatever the mean of the modulations, and the training is so long that
    differences have the same time to shrink.
    """
    x, y = sparse_points()
    rng = np.random.default_rng([seed, 2025])
    net = embedded((2, 96, 96, 1), MEMBERS, rng=rng, u=by_mean(mean), bias_std=1.0)
    # Differences shrink at 1 - mean² of the speed, but for mean 1, where there are none.
    steps = round(400 / (1 - mean**2)) if mean < 1 else 400
    for _ in range(steps):
        net.step(x, y, 0.3, gamma=MEMBERS / (1 + 3 * mean**2), modulation_lr=0.0)
    return net


def sparse_points() -> tuple[Float[Array, "B 2"], Float[Array, " B"]]:
    """Return two groups of three points, as inputs (x, 1), and values of a curve."""
    x = np.array([-2.5, -2, -1.5, 1, 1.5, 2])
    return np.stack([x, np.ones(len(x))], axis=1), np.sin(1.5 * x)


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


def run_spread(mean: float, seed: int) -> dict[str, Any]:
    """Return the root mean square distance of members from their average at x = -4 and 4."""
    ends = train_on_sparse_points(mean, seed)(np.array([[-4.0, 1.0], [4.0, 1.0]]))
    return {"spread": float(np.sqrt(ends.var(axis=0).mean()))}


def summarize_spread(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean spread for each mean of modulations, and the ends of its 95 % t interval."""
    found = []
    for mean in dict.fromkeys(row["mean"] for row in rows):
        ours = uncertainty.paired(np.array([row["spread"] for row in rows if row["mean"] == mean]))
        found.append({"mean": mean, "spread": ours.mean, "low": ours.low, "high": ours.high})
    return found


SPREAD = Experiment(
    name="embedded-spread",
    about="four members trained on six points, modulations fixed: spread, the rms distance of "
    "members from their average at x = -4 and 4, by the mean of the last layer's modulations; the "
    "summary has means over seeds with a 95 % t interval",
    budget="20 starts, as many steps as differences need to shrink alike, no tuning",
    cases=[
        {"mean": mean, "seed": seed} for mean in (0.0, 0.25, 0.5, 0.75, 1.0) for seed in range(20)
    ],
    run=run_spread,
    summarize=summarize_spread,
)
TRAINING = Experiment(
    name="embedded-training",
    about="change, of the kernel of four members without anything in common but the weights, over "
    "its size, by gradient descent on 8 points of a curve",
    budget="8 starts a width, four members, all weights and modulations trained, no tuning",
    cases=[
        {"mean": mean, "gamma": gamma, "width": width, "seed": seed}
        for mean, gamma in ((0.0, 4.0),)
        for width in (32, 64, 128, 256, 512, 1024)
        for seed in range(8)
    ],
    run=run_training,
    settings={"time": 10.0, "lr": 0.1},
)
