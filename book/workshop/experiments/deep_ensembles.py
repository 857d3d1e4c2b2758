"""Table 1 of the paper on deep ensembles again, for two sets, beside networks that are no ensemble.

Boston and concrete of Lakshminarayanan et al. (2017). Fixed before any result: the learning rate
0.01 for all (the paper's stated 0.1 diverged here in a trial), inputs and targets standardized, no
setting chosen by what is reported. One larger network has as many parameters as five small ones, as
near as an integer width comes. Each split has starts and orders of its own, so that an interval
over splits holds their luck, too. On a split, contestants share the order of a seed; contestants,
members and seeds start apart. Concrete holds some mixtures more than once, so that a few are in
both parts of a split.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import nn

from ensedu import uncertainty
from ensedu.common import checks
from ensedu.data import Split, boston, concrete
from ensedu.torch import gaussian_nll, mlp, predict
from ensedu.torch.base import seeded
from workshop.experiments.shared import Compared, add_verdicts, differences, fit
from workshop.running.experiment import Experiment

DATA = {"boston": boston, "concrete": concrete}
#: Of table 1: mean and ± of RMSE and NLL, which looks like the standard deviation over 20 splits.
PUBLISHED = {
    "boston": {"rmse": (3.28, 1.00), "nll": (2.41, 0.25)},
    "concrete": {"rmse": (6.03, 0.58), "nll": (3.06, 0.18)},
}
WIDTH, MEMBERS, SPLITS = 50, 5, 20
#: So many are trained where there is a curve over the number of members.
POOL = 10
#: What methods are compared on; the mixture's NLL.
SCORES = ("rmse", "nll")


@dataclass(frozen=True)
class RegressionRecipe:
    """What is trained: alone, each network is scored by itself; else the first five together."""

    label: str
    method: str
    alone: bool
    networks: int = MEMBERS
    wide: bool = False
    beta: float = 0.0
    adversarial: float = 0.0


RECIPES = {
    "single": RegressionRecipe("one network", "single", alone=True),
    "wide": RegressionRecipe("one larger network", "single", alone=True, wide=True),
    "deep_ensemble": RegressionRecipe("deep ensemble", "deep_ensemble", alone=False, networks=POOL),
    "single_adversarial": RegressionRecipe(
        "one network, adversarial", "single", alone=True, adversarial=0.01
    ),
    "deep_ensemble_adversarial": RegressionRecipe(
        "deep ensemble, adversarial", "deep_ensemble", alone=False, adversarial=0.01
    ),
    "single_beta": RegressionRecipe("one network, \u03b2-NLL", "single", alone=True, beta=0.5),
    "deep_ensemble_beta": RegressionRecipe(
        "deep ensemble, \u03b2-NLL", "deep_ensemble", alone=False, beta=0.5
    ),
}
#: From which others differ, who they are, and in what: decided before any result.
COMPARISONS = (
    ("single", ("wide", "deep_ensemble", "single_adversarial", "single_beta"), SCORES),
    ("deep_ensemble", ("deep_ensemble_adversarial", "deep_ensemble_beta"), SCORES),
    ("wide", ("deep_ensemble",), SCORES),
)


def equal_width(inputs: int) -> int:
    """Return the hidden width of the network with as many parameters as `MEMBERS` of `WIDTH`.

    A network of ``inputs-h-2`` has ``h (inputs + 3) + 2``. The nearest whole h; of two, the larger.
    """
    wanted = MEMBERS * (WIDTH * (inputs + 3) + 2) - 2
    return int(np.floor(wanted / (inputs + 3) + 0.5))


def split_of(data: str, split: int) -> Split:
    """Return one of the splits of a set, 90 % to train on."""
    return DATA[checks.one_of("data", data, DATA)]().split(split)


def untrained_networks(split: Split, row: RegressionRecipe, start: int) -> nn.Module:
    """Return networks as they start, (B, m) -> (networks, B, 2)."""
    inputs = split.x_train.shape[1]
    sizes = [inputs, equal_width(inputs) if row.wide else WIDTH, 2]
    with seeded(start):
        return mlp(sizes, "deep_ensemble", row.networks, dtype=torch.float64)


def train(
    net: nn.Module, split: Split, row: RegressionRecipe, seed: int, epochs: int, batch_size: int,
    lr: float, optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
) -> None:  # fmt: skip
    """Train networks on a split, each as if alone; `seed` is that of the order of examples."""
    fit(
        net, torch.from_numpy(split.x_train), torch.from_numpy(split.y_train),
        partial(gaussian_nll, beta=row.beta), epochs=epochs, batch_size=batch_size, lr=lr,
        adversarial=row.adversarial, seed=seed, optimizer=optimizer
    )  # fmt: skip


def forecast(
    split: Split, net: nn.Module
) -> tuple[Float[Array, "M B 1"], Float[Array, "M B 1"], Float[Array, "B 1"]]:
    """Return means, variances and targets of the rows to test on, in the target's own units."""
    outputs = predict(net, torch.from_numpy(split.x_test)).numpy()
    return *split.original(*uncertainty.gaussian_heads(outputs)), split.y[split.test]


def scores_of(
    mean: Float[Array, "M B 1"], variance: Float[Array, "M B 1"], y: Float[Array, "B 1"]
) -> dict[str, float]:
    """Return what an ensemble is worth at new examples y; NLLs in nats an example."""
    each = uncertainty.gaussian_nll(mean, variance, y)
    found = {
        "rmse": uncertainty.rmse(mean.mean(axis=0), y),
        "nll": uncertainty.mixture_nll(each).mean(),
        "moment": uncertainty.moment_matched_nll(mean, variance, y).mean(),
        "average": uncertainty.average_nll(each).mean(),
        "coverage": uncertainty.coverage(mean, variance, y),
    }
    return {name: float(value) for name, value in found.items()}


def scores_alone(
    mean: Float[Array, "M B 1"], variance: Float[Array, "M B 1"], y: Float[Array, "B 1"]
) -> dict[str, float]:
    """Return what one network is worth: the mean of the scores that each of several has."""
    each = [scores_of(mean[i : i + 1], variance[i : i + 1], y) for i in range(len(mean))]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def scores_by_size(
    mean: Float[Array, "M B 1"], variance: Float[Array, "M B 1"], y: Float[Array, "B 1"]
) -> dict[str, list[float]]:
    """Return mean squared error and NLL of 1, 2, ... M members: means over all choices of them."""
    members = np.arange(len(mean))
    each = uncertainty.gaussian_nll(mean, variance, y)
    found: dict[str, list[float]] = {"squared": [], "nll": []}
    for size in members + 1:
        chosen = [list(own) for own in combinations(members, int(size))]
        squared = [float(((mean[own].mean(axis=0) - y) ** 2).mean()) for own in chosen]
        nll = [float(uncertainty.mixture_nll(each[own]).mean()) for own in chosen]
        found["squared"].append(float(np.mean(squared)))
        found["nll"].append(float(np.mean(nll)))
    return found


def run(
    data: str, contestant: str, split: int, seeds: int, epochs: int, batch_size: int, lr: float
) -> dict[str, Any]:
    """Return the scores of a contestant on one split, each a list over initial seeds."""
    row = RECIPES[checks.one_of("contestant", contestant, RECIPES)]
    parts = split_of(data, split)
    found: dict[str, list[Any]] = {"by_size": []}
    for seed in range(seeds * split, seeds * (split + 1)):  # none of them is another split's, too
        start = len(RECIPES) * seed + list(RECIPES).index(contestant)
        net = untrained_networks(parts, row, start)
        train(net, parts, row, seed, epochs, batch_size, lr)
        mean, variance, y = forecast(parts, net)
        own = slice(None) if row.alone else slice(MEMBERS)
        results: dict[str, Any] = (scores_alone if row.alone else scores_of)(
            mean[own], variance[own], y
        )
        if row.networks > MEMBERS:
            results["by_size"] = scores_by_size(mean, variance, y)
        for name, value in results.items():
            found.setdefault(name, []).append(value)
    return {"train": len(parts.train), "test": len(parts.test), **found}


def of_each_training(
    rows: Sequence[Mapping[str, Any]], data: str
) -> tuple[Float[Array, "K M"], Float[Array, "K M"]]:
    """Return mean squared error and NLL of 1 to M members, a row a split and initial seed."""
    each = [
        one
        for row in rows
        if (row["data"], row["contestant"]) == (data, "deep_ensemble")
        for one in row["by_size"]
    ]
    squared, nll = (np.array([one[key] for one in each]) for key in ("squared", "nll"))
    return squared, nll


def compare_all(
    rows: Sequence[Mapping[str, Any]],
    comparisons: Sequence[tuple[str, Sequence[str], Sequence[str]]],
) -> list[dict[str, Any]]:
    """Return how contestants differ from their references, with Holm's correction over all.

    `rows` have ``data``, ``train`` and ``test`` beside what `compared` takes; `comparisons` are a
    reference, those that differ from it, and in which scores.
    """
    found: list[Compared] = []
    for data in dict.fromkeys(row["data"] for row in rows):
        here = [row for row in rows if row["data"] == data]
        size = {"train": here[0]["train"], "test": here[0]["test"]}
        for reference, names, scores in comparisons:
            own = [row for row in here if row["contestant"] in (reference, *names)]
            found += [
                ({"data": data, "reference": reference, **entry}, interval)
                for entry, interval in differences(own, reference, scores, **size)
                if interval is not None
            ]
    add_verdicts(found)
    return [entry for entry, _ in found]


def difference(
    summary: Sequence[Mapping[str, Any]], data: str, contestant: str, score: str,
    reference: str = "single",
) -> Mapping[str, Any]:  # fmt: skip
    """Return the entry of a summary on one comparison."""
    wanted = {"data": data, "contestant": contestant, "score": score, "reference": reference}
    (entry,) = (e for e in summary if all(e[key] == value for key, value in wanted.items()))
    return entry


def mean_of(
    rows: Sequence[Mapping[str, Any]], data: str, contestant: str, score: str
) -> tuple[float, float]:
    """Return the mean of a score, and its standard deviation over splits, of means over seeds."""
    own = [row for row in rows if row["data"] == data and row["contestant"] == contestant]
    each = np.array([np.mean(row[score]) for row in own])
    return float(each.mean()), float(each.std(ddof=1))


EXPERIMENT = Experiment(
    name="deep-ensembles",
    about="each score a list over initial seeds: rmse in the target's units; nll, nats an example, "
    "of the mixture of five members; moment, that of the one Gaussian of the same mean and "
    "variance; average, the members' own; coverage of the central 95 % interval; by_size, mean "
    "squared error and nll of 1 to 10 members, means over all choices. Of single networks, means "
    "over five",
    budget="20 random splits 90/10 x 3 initial seeds, 40 epochs of Adam at 0.01, batches of 100, "
    "alike for all; no tuning: one hidden layer of 50, five members, width of the larger network, "
    "adversarial 0.01 and beta 0.5 were fixed before from papers, the rate from a trial",
    cases=[
        {"data": data, "contestant": name, "split": split}
        for data in DATA
        for name in RECIPES
        for split in range(SPLITS)
    ],
    run=run,
    settings={"seeds": 3, "epochs": 40, "batch_size": 100, "lr": 0.01},
    summarize=partial(compare_all, comparisons=COMPARISONS),
)
