"""What the theorems on embedded ensembles say, measured over widths: draws, kernels, training.

Two inputs of length √2, 60° apart; networks of two hidden layers without biases, two members. Each
draw is a new network. `run` asks how far a kernel is from its limit, `run_outputs` whether outputs
are Gaussian and how far two members' agree. Of four members, on points of a curve, `run_training`
asks how far training leaves the line that the kernel of its start foresees, and `run_spread` how
far they are apart where there are no points.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.theory.ntk import EmbeddedEnsemble, Modulation, embedded, flow, limit, tangent
from workshop.running.experiment import Experiment

__all__ = [
    "EXPERIMENT",
    "OUTPUTS",
    "SPREAD",
    "TRAINING",
    "WIDTHS",
    "by_mean",
    "curve",
    "dragged",
    "inputs_at_angle",
    "pulled",
    "sparse_points",
    "train_on_sparse_points",
    "trained",
]

ONES, SIGNS = Modulation("ones"), Modulation("signs")
#: How u is drawn, in both hidden layers or in each.
MODULATIONS = {
    "signs": SIGNS,
    "last": [ONES, SIGNS],
    "normal": Modulation("normal", std=0.5),
    "dropout": Modulation("bernoulli", p=0.5),
}
WIDTHS = (32, 64, 128, 256, 512, 1024, 2048)
#: From this width on slopes are fitted.
FITTED = 256
MEMBERS = 4
#: How many slopes `EXPERIMENT` has: their intervals hold together with 95 % (Bonferroni).
SLOPES = 16


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


def run(
    activation: str, modulation: str, draws: int, widths: list[int], resamples: int
) -> dict[str, Any]:
    """Return what entries of Θ^com are at each width, and their limits.

    Of the entry of two inputs: ``cross`` between two members and ``same`` within one, each with its
    ``limit``, ``mean`` and standard ``error`` of the mean, and ``rms`` around the limit, lists over
    widths; and the ``slope`` of log rms over log width from 256 on, with the ends ``low`` and
    ``high`` of a bootstrap interval, 95 % for all slopes of the table together.
    """
    x, rng = inputs_at_angle(0.5), np.random.default_rng([len(activation), len(modulation), 2022])
    settings: dict[str, Any] = {"u": MODULATIONS[modulation], "activation": activation}
    expected = limit(x, hidden_layers=2, **settings)
    entries = np.empty((2, len(widths), draws))
    for number, width in enumerate(widths):
        for draw in range(draws):
            net = embedded((2, width, width, 1), 2, rng=rng, **settings)
            kernel = tangent(net, x).shared
            entries[:, number, draw] = kernel[0, 1, 0, 1], kernel[0, 0, 0, 1]
    places = {"cross": expected.shared[1], "same": expected.shared[0]}
    return {
        name: spread(values, float(wanted[0, 1]), widths, rng, resamples)
        for (name, wanted), values in zip(places.items(), entries, strict=True)
    }


def spread(
    values: Float[Array, "widths draws"], wanted: float, widths: list[int],
    rng: np.random.Generator, resamples: int,
) -> dict[str, Any]:  # fmt: skip
    """Return how draws lie around a limit, and how that falls with the width."""
    squares, fitted = (values - wanted) ** 2, np.array(widths) >= FITTED
    logs = np.log(np.array(widths)[fitted])

    def slope(own: Float[Array, "*axes fitted draws"]) -> Any:
        heights = 0.5 * np.log(own.mean(axis=-1))
        centered = logs - logs.mean()
        return heights @ centered / (centered @ centered)

    draws = values.shape[1]
    chosen = rng.integers(draws, size=(resamples, int(fitted.sum()), draws))
    again = np.take_along_axis(squares[fitted][None], chosen, axis=-1)
    low, high = np.quantile(slope(again), [0.025 / SLOPES, 1 - 0.025 / SLOPES])
    return {
        "limit": wanted,
        "mean": values.mean(axis=1).tolist(),
        "error": (values.std(axis=1, ddof=1) / draws**0.5).tolist(),
        "rms": np.sqrt(squares.mean(axis=1)).tolist(),
        "slope": float(slope(squares[fitted])),
        "low": float(low),
        "high": float(high),
    }


def run_outputs(width: int, mean: float, draws: int, quantiles: int) -> dict[str, Any]:
    """Return how a member's output is distributed, and how two members' are correlated.

    Outputs at one input, over their standard deviation at infinite width: ``quantiles``; excess
    ``kurtosis``, 0 for a Gaussian, with its standard ``kurtosis_error`` over tenths of the draws;
    and ``correlation``, the mean product of two members', with its ``error`` and its ``limit``.
    """
    x, u = inputs_at_angle(0.5)[:1], by_mean(mean)
    expected = limit(x, hidden_layers=2, u=u)
    rng = np.random.default_rng([width, round(100 * mean), 2023])
    drawn = [embedded((2, width, width, 1), 2, rng=rng, u=u)(x)[:, 0] for _ in range(draws)]
    f = np.array(drawn) / expected.covariance[0][0, 0] ** 0.5  # (draws, 2)
    tenths = np.array([kurtosis(part) for part in np.split(f, 10)])
    products = f[:, 0] * f[:, 1]
    places = (np.arange(quantiles) + 0.5) / quantiles
    return {
        "quantiles": np.quantile(f[:, 0], places).tolist(),
        "kurtosis": float(kurtosis(f)),
        "kurtosis_error": float(tenths.std(ddof=1) / 10**0.5),
        "correlation": float(products.mean()),
        "error": float(products.std(ddof=1) / draws**0.5),
        "limit": float(expected.covariance[1][0, 0] / expected.covariance[0][0, 0]),
    }


def kurtosis(values: Float[Array, "..."]) -> float:
    """Return the excess kurtosis of numbers around 0."""
    return float((values**4).mean() / (values**2).mean() ** 2 - 3)


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
    """Return how far a training leaves its linearization, and its kernel the kernel of its start.

    ``change`` is ‖Θ(end) - Θ(0)‖ / ‖Θ(0)‖; ``gap`` the root mean square distance of outputs at the
    end from those of the linearization, and ``moved`` from those of the start; ``apart`` the root
    mean square distance of two members' outputs at the end, and ``apart_start`` at the start.
    """
    x, y = curve()
    rng = np.random.default_rng([seed, width, round(100 * mean), 2024])
    net = embedded((2, width, width, 1), MEMBERS, rng=rng, u=by_mean(mean))
    kernel, start = tangent(net, x).total(gamma), net(x)
    foreseen = flow(kernel, start, y, [time])[0]
    trained(net, gamma, time, lr)
    end = net(x)

    def size(values: Array) -> float:
        return float(np.sqrt((values**2).mean()))

    return {
        "change": float(
            np.linalg.norm(tangent(net, x).total(gamma) - kernel) / np.linalg.norm(kernel)
        ),
        "gap": size(end - foreseen),
        "moved": size(end - start),
        "apart": size(end[:, None] - end[None]),
        "apart_start": size(start[:, None] - start[None]),
    }


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


def summarize_training(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, for each mean, γ and score, the slope of its log over log width, with its interval.

    Slopes are those of each seed, over all widths; the 95 % t interval is over seeds.
    """
    found = []
    for mean, gamma in dict.fromkeys((row["mean"], row["gamma"]) for row in rows):
        own = [row for row in rows if (row["mean"], row["gamma"]) == (mean, gamma)]
        for score in ("change", "gap"):
            slopes = []
            for seed in dict.fromkeys(row["seed"] for row in own):
                series = sorted((row["width"], row[score]) for row in own if row["seed"] == seed)
                slopes.append(np.polyfit(*np.log(series).T, 1)[0])
            ours = uncertainty.paired(np.array(slopes))
            found.append(
                {"mean": mean, "gamma": gamma, "score": score}
                | {"slope": ours.mean, "low": ours.low, "high": ours.high}
            )
    return found


EXPERIMENT = Experiment(
    name="kernel-width",
    about="entries of the tangent kernel of the shared weights for two inputs 60° apart, over "
    "widths: cross, between two members, and same, within one, each with its limit at infinite "
    "width, its mean over draws and the standard error of that, its rms around the limit, and the "
    "slope of log rms over log width from 256 on with the ends of a bootstrap interval, 95 % for "
    "all slopes of the table together",
    budget="400 networks a width, two hidden layers, two members, no training",
    cases=[
        {"activation": activation, "modulation": modulation}
        for modulation in ("last", "normal")
        for activation in ("relu", "erf", "tanh")
    ]
    + [{"activation": "relu", "modulation": modulation} for modulation in ("signs", "dropout")],
    run=run,
    settings={"draws": 400, "widths": list(WIDTHS), "resamples": 10000},
)
OUTPUTS = Experiment(
    name="output-width",
    about="outputs at one input over their standard deviation at infinite width: quantiles of one "
    "member's; its excess kurtosis with a standard error; correlation, the mean product of two "
    "members', with its standard error and its limit; mean is that of the last layer's modulations",
    budget="4,000 networks a row, two hidden layers of ReLU, two members, no training",
    cases=[{"width": width, "mean": 0.0} for width in (2, 8, 32, 128, 512)]
    + [{"width": 128, "mean": mean} for mean in (0.25, 0.5, 0.75, 1.0)],
    run=run_outputs,
    settings={"draws": 4000, "quantiles": 40},
)
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
    about="gradient descent on 8 points of a curve, by the mean of the last layer's modulations: "
    "change, of the kernel, over its size; gap, the rms distance of outputs from those of the "
    "linearization at the end; moved, that from the start; apart, that of two members, and "
    "apart_start; the summary has the slope of log change and log gap over log width, means over "
    "seeds with a 95 % t interval",
    budget="8 starts a width, four members, all weights and modulations trained, no tuning",
    cases=[
        {"mean": mean, "gamma": gamma, "width": width, "seed": seed}
        for mean, gamma in ((0.0, 4.0), (0.5, 4.0), (0.5, 1.0), (1.0, 1.0))
        for width in (32, 64, 128, 256, 512, 1024)
        for seed in range(8)
    ],
    run=run_training,
    settings={"time": 10.0, "lr": 0.1},
    summarize=summarize_training,
)
