"""Dropout while training and dropout at test time, told apart; and what the rate p decides.

`run` trains on the digits: ``single`` without masks, and a network that was trained with them,
whose masks are ``off`` at test, or are drawn 32 times, ``mc_dropout``. Each contestant has four
settings: the one trained without masks a weight decay, the others the rate, without decay. On each
split it takes the one with the least NLL on 297 digits, the mean over starts. Masks are drawn for
each example while training, as ``nn.Dropout`` does, and for each pass at test time. One network is
each of four, its score the mean over them. The protocol was fixed before the table was computed;
`steps` was settled later, when rows had been seen.

`run_curve` trains the running example's MC dropout at other rates, and on more data, with as many
steps: minibatches are a third of the data.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import nn

from ensedu import uncertainty
from ensedu.data import digits, gap
from ensedu.torch import MCDropout, Sequential, mlp, predict
from ensedu.torch.base import seeded
from ensedu.torch.losses import softmax_cross_entropy
from workshop.experiments import running_example as example
from workshop.experiments.shared import fit
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

SIZES, MEMBERS = (64, 64, 64, 10), 4
#: One network, the reference; the same with masks in training only; MC dropout.
COMPARED = ("single", "off", "mc_dropout")
RATES, DECAYS = (0.05, 0.1, 0.2, 0.5), (0.0, 0.1, 0.3, 1.0)
#: How many passes are averaged for the curve; MC dropout itself has `REPORTED`.
PASSES, REPORTED = (1, 2, 4, 8, 16, 32, 64), 32
TEST, VALIDATION = 300, 297
#: Examples to train on, and epochs: 1,560 and 1,520 steps of 32.
EPOCHS = {400: 120, 1200: 40}

Part = tuple[Float[Array, "_ 64"], Int[Array, " _"]]


def split_digits(train: int, split: int) -> tuple[Part, Part, Part]:
    """Return digits to train on, to choose settings on, and to test on."""
    x, y = digits()
    order = np.random.default_rng([split, 2016]).permutation(len(x))
    test, validation, rest = np.split(order, [TEST, TEST + VALIDATION])
    one, other, last = ((x[rows], y[rows]) for rows in (rest[:train], validation, test))
    return one, other, last


def trained(
    number: int, p: float, decay: float, data: Part, seed: int, epochs: int, lr: float
) -> Any:
    """Return so many networks side by side, trained on labeled digits from starts of their own."""
    with seeded(seed):
        net = with_rate(mlp(SIZES, "deep_ensemble", number, dtype=torch.float64), p, True)
    x, y = map(torch.from_numpy, data)
    return fit(
        net, x, y, softmax_cross_entropy, epochs=epochs, lr=lr, weight_decay=decay, seed=seed,
    )  # fmt: skip


def with_rate(net: Sequential, p: float, per_example: bool = False) -> Sequential:
    """Return the layers of a network with this rate behind each activation; 0 drops nothing."""
    layers: list[nn.Module] = []
    for part in net.children():
        if not isinstance(part, MCDropout):
            layers.append(part)
        if isinstance(part, nn.ReLU) and p:
            layers.append(MCDropout(p, per_example=per_example))
    return Sequential(*layers)


def probabilities(
    net: nn.Module, x: Float[Array, "B 64"], passes: int, seed: int
) -> Float[Array, "M S B k"]:
    """Return class probabilities of each network, of so many passes, or of one without masks."""
    with seeded(seed), one_thread():
        logits = predict(net, torch.from_numpy(x), samples=passes)
    found = uncertainty.softmax(logits.numpy())
    return np.moveaxis(found.reshape(passes, -1, *found.shape[1:]), 0, 1)


def nll(members: Float[Array, "M B k"], labels: Int[Array, " B"]) -> float:
    """Return the mean NLL of the average of members' probabilities."""
    each = uncertainty.categorical_nll(members, labels)
    return float(uncertainty.mixture_nll(each).mean())


def nll_by_passes(members: Float[Array, "S B k"], labels: Int[Array, " B"]) -> list[float]:
    """Return the NLL of the average of 1, 2, 4, ... passes, the mean over groups of them."""
    found = []
    for size in PASSES:
        groups = members[: len(members) // size * size].reshape(-1, size, *members.shape[1:])
        found.append(float(np.mean([nll(group, labels) for group in groups])))
    return found


def run(
    train: int, split: int, starts: int, lr: float, decays: list[float], rates: list[float]
) -> dict[str, Any]:
    """Return scores of each contestant, lists over settings of lists over starts."""
    data, validation, test = split_digits(train, split)
    recipe: dict[str, Any] = {"data": data, "seed": split, "epochs": EPOCHS[train], "lr": lr}
    found: dict[str, Any] = {name: {"validation": [], "nll": []} for name in COMPARED}

    def add_setting(contestant: str, net: nn.Module, passes: int, networks: int = 1) -> Array:
        """Keep the scores of one setting, and return what each network says of the test part."""
        for key, (x, labels) in (("validation", validation), ("nll", test)):
            members = probabilities(net, x, passes, split)
            each = [nll(own[:REPORTED], labels) for own in members]
            means = np.reshape(each, (starts, networks)).mean(axis=1)
            found[contestant][key].append(means.tolist())
        return members

    for decay in decays:
        net = trained(starts * MEMBERS, 0.0, decay, **recipe)
        add_setting("single", net, 1, MEMBERS)
    by_passes = []
    for p in rates:
        net = trained(starts, p, 0.0, **recipe)
        add_setting("off", with_rate(net, 0.0), 1)
        members = add_setting("mc_dropout", with_rate(net, p), PASSES[-1])
        each = [nll_by_passes(own, test[1]) for own in members]
        by_passes.append(np.mean(each, axis=0).tolist())
    return found | {"by_passes": by_passes}


def chosen(row: dict[str, Any], contestant: str) -> int:
    """Return the number of a contestant's setting with the least validation NLL on a split."""
    return int(np.argmin(np.mean(row[contestant]["validation"], axis=1)))


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return, for each number of examples, each contestant's mean NLL with each setting, and steps.

    ``steps`` is of chosen settings, and corrected over its own comparisons.
    """
    found = {}
    for train in dict.fromkeys(row["train"] for row in rows):
        own = [row for row in rows if row["train"] == train]
        settings = {
            name: np.mean([row[name]["nll"] for row in own], axis=(0, 2)).tolist()
            for name in COMPARED
        }
        found[str(train)] = {"settings": settings, "steps": steps(own, train)}
    return found


def steps(rows: list[dict[str, Any]], train: int) -> list[dict[str, Any]]:
    """Return what each step from a plain network changes in NLL, at MC dropout's rates.

    ``training`` goes from no masks and no weight decay to masks in training, ``averaging`` from
    there to 32 passes of the same networks, and ``decay`` from the plain network to its own chosen
    weight decay. Corrected over the three (Holm).
    """

    def nlls_of(contestant: str, setting: str = "") -> Array:
        return np.array(
            [row[contestant]["nll"][chosen(row, setting) if setting else 0] for row in rows]
        )

    plain, off = nlls_of("single"), nlls_of("off", "mc_dropout")
    differences = {
        "decay": nlls_of("single", "single") - plain,
        "training": off - plain,
        "averaging": nlls_of("mc_dropout", "mc_dropout") - off,
    }
    found = [uncertainty.corrected_t(one, train=train, test=TEST) for one in differences.values()]
    adjusted = uncertainty.holm([one.p for one in found]).tolist()
    return [
        {"step": name, "difference": one.mean, "low": one.low, "high": one.high, "adjusted": p}
        for name, one, p in zip(differences, found, adjusted, strict=True)
    ]


def trained_curve(method: str, p: float, number: int, data_seed: int, epochs: int) -> nn.Module:
    """Return a network of the running example at a rate, trained on so many points."""
    row = example.RECIPES[method]
    options = {"p": p} if method == "mc_dropout" else {"ensemble_size": example.MEMBERS}
    with seeded(data_seed):
        net = mlp(example.SIZES, method, dtype=torch.float64, **options)
    x, y = map(torch.from_numpy, gap.sample(np.random.default_rng(data_seed), number))
    return fit(
        net, x, y, example.nll, epochs=epochs, batch_size=number // 3, lr=row.setting["lr"],
        seed=data_seed
    )  # fmt: skip


def run_curve(
    method: str, p: float, number: int, data_seed: int, epochs: int, passes: int, points: int
) -> dict[str, Any]:
    """Return scores of the running example at a rate, where data lies and in the gap."""
    net = trained_curve(method, p, number, data_seed, epochs)
    x, truth, y = example.new_points(data_seed, points)
    means = example.beliefs(example.RECIPES[method], net, x, passes, data_seed)
    return {
        place: example.score(means[:, rows], truth[rows], y[rows])
        for place, rows in zip(example.PLACES, np.split(np.arange(len(x)), 2), strict=True)
    }


def summarize_curve(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over data, and for more data the ratio of the spread with its interval.

    ``ratio`` is the mean over data seeds of the spread where data lies, over that on 60 points,
    with the ends ``low`` and ``high`` of its 95 % interval.
    """
    found: list[dict[str, Any]] = []
    key = ("method", "p", "number")
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in key), []).append(row)
    for (method, p, number), own in groups.items():
        entry: dict[str, Any] = {"method": method, "p": p, "number": number}
        for place in example.PLACES:
            entry[place] = {
                name: float(np.mean([row[place][name] for row in own])) for name in own[0][place]
            }
        if number > gap.number:
            few = groups[method, p, gap.number]
            ratios = [
                more["regions"]["spread"] / less["regions"]["spread"]
                for more, less in zip(own, few, strict=True)
            ]
            ours = uncertainty.paired(np.array(ratios))
            entry |= {"ratio": ours.mean, "low": ours.low, "high": ours.high}
        found.append(entry)
    return found


EXPERIMENT = Experiment(
    name="mc-dropout",
    about="digits, each score a list over settings of lists over initial seeds: nll, nats an "
    "example of the test part, of the average of passes; validation, the same of the part to "
    "choose settings on; by_passes, the test nll of 1, 2, 4, ... 64 passes, the mean over starts; "
    "the summary compares what masks in training and averaging passes change, by the corrected "
    "resampled t-test, with Holm's correction",
    budget="10 splits x 3 starts, 1,500 steps of AdamW for all, four settings a contestant, "
    "chosen on each split on 297 digits that nobody trains or is tested on",
    cases=[{"train": train, "split": split} for train in EPOCHS for split in range(10)],
    run=run,
    settings={"starts": 3, "lr": 0.002, "decays": list(DECAYS), "rates": list(RATES)},
    summarize=summarize,
)
CURVE = Experiment(
    name="mc-dropout-curve",
    about="the running example at a rate p, trained on so many points; scores as in "
    "running-example; the summary holds means over data, and ratio, the spread where data lies "
    "over that on 60 points, with its 95 % interval",
    budget="10 draws of data, one initial seed, 500 epochs of three steps each, the learning rate "
    "of running-example, no tuning; p 0 is a deep ensemble of four",
    cases=[
        {"method": method, "p": p, "number": number, "data_seed": data_seed}
        for method, p, numbers in [
            ("mc_dropout", 0.02, (60,)),
            ("mc_dropout", 0.05, (60, 240, 960)),
            ("mc_dropout", 0.1, (60,)),
            ("mc_dropout", 0.2, (60, 240, 960)),
            ("mc_dropout", 0.5, (60,)),
            ("deep_ensemble", 0.0, (60, 240, 960)),
        ]
        for number in numbers
        for data_seed in range(100, 110)
    ],
    run=run_curve,
    settings={"epochs": 500, "passes": 32, "points": 400},
    summarize=summarize_curve,
)
