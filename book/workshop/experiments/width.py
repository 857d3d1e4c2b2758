"""Width or members: BatchEnsembles against deep ensembles, as both grow in width and in members.

`run` trains one method at one width on one split, with 1, 2, 4 and 8 members. The shared weights
follow the sum of the members' gradients, which is the independent regime of Velikanov et al. 2022
(γ(M) = M), from random signs: as an infinitely wide BatchEnsemble its members would train like
separate networks. Here they are as wide as they are. SGD, because Adam rescales gradients, and
would hide the sum.

Each method has the rate of `RATES` with the least NLL of the ensemble on splits apart, of the same
images, for each number of members and each width. Where a training fails at its rate, it is
repeated at the next smaller one. The grid was set on the first of the splits apart: 0.3 failed
there at most widths, and a fourth rate, 0.007, was dropped after a look at widths up to 64. Members
of a deep ensemble do not meet in a sum: eight networks are trained, and are eight ensembles of one,
four of two, two of four and one of eight, the scores of each number being means over them. Each
split has initial weights, and orders of the examples, of its own. That members' accuracies are
compared, too, and not those of ensembles alone, was settled when most of the table was there.

Widths of other networks are added that have as many parameters as a BatchEnsemble of
`BUDGETED` members: one network, and as many separate ones. They have the rate of the nearest width.
"""

import bisect
import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import counting, uncertainty
from ensedu.common import checks
from ensedu.data import digits
from ensedu.torch import mlp, predict
from ensedu.torch.base import seeded
from ensedu.torch.losses import softmax_cross_entropy
from workshop import measured
from workshop.experiments.shared import add_verdicts, fit
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

METHODS = ("batch_ensemble", "deep_ensemble")
MEMBERS = (1, 2, 4, 8)
RATES = (0.02, 0.06, 0.18)
#: Networks of as many parameters are compared with a BatchEnsemble of so many members.
BUDGETED = 4
SCORES = (
    "accuracy", "nll", "members_accuracy", "members_nll", "train_accuracy", "diversity",
)  # fmt: skip
SGD = functools.partial(torch.optim.SGD, momentum=0.9)


WIDTHS = (16, 32, 64, 128, 256)
TRAIN, TEST, BATCH_SIZE, EPOCHS = 1200, 597, 60, 25
#: How many splits are reported, and on which rates are chosen.
SPLITS, APART = 10, (100, 101)

Examples = tuple[Tensor, Tensor]


@functools.lru_cache(maxsize=2)
def examples(split: int) -> tuple[Examples, Examples]:
    """Return images and labels to train on, and to test on."""
    x, y = digits()
    order = np.random.default_rng([split, 2022]).permutation(len(x))
    images, labels = torch.from_numpy(x[order]).float(), torch.from_numpy(y[order])
    return (images[:TRAIN], labels[:TRAIN]), (images[TRAIN:], labels[TRAIN:])


def network(method: str, width: int, members: int, seed: int) -> nn.Module:
    """Return an ensemble as it starts; a BatchEnsemble's fast weights are random signs."""
    checks.one_of("method", method, METHODS)
    options = {"init": "signs"} if method == "batch_ensemble" else {}
    with seeded(seed):
        return mlp((64, width, width, 10), method, members, **options)


def trained(method: str, width: int, members: int, split: int, lr: float) -> nn.Module:
    """Return a trained ensemble; raises ``FloatingPointError`` where that fails."""
    seed = 10 * split + members
    return fit(
        network(method, width, members, seed), *examples(split)[0],
        functools.partial(softmax_cross_entropy, reduction="sum"), epochs=EPOCHS,
        batch_size=BATCH_SIZE, lr=lr, seed=seed, optimizer=SGD, member_gradient_factor=1.0,
    )  # fmt: skip


def score(net: nn.Module, split: int, members: int) -> dict[str, float | None]:
    """Return `SCORES` of ensembles of so many of a net's members, means over the ensembles.

    ``diversity`` is the disagreement of two members over that of members as accurate that err
    independently; one member has none, nor have members that never err.
    """
    (x_train, y_train), (x, y) = examples(split)
    labels = y.numpy()
    with one_thread():
        seen = predict(net, x_train).argmax(-1) == y_train
        all_members = uncertainty.softmax(predict(net, x).double().numpy())
    found: list[dict[str, float]] = []
    for first in range(0, len(all_members), members):
        p = all_members[first : first + members]
        averaged, nll = uncertainty.averaged(p), uncertainty.categorical_nll(p, labels)
        own = {
            "accuracy": uncertainty.accuracy(averaged, labels),
            "nll": uncertainty.mixture_nll(nll).mean(),
            "members_accuracy": np.mean(p.argmax(-1) == labels),
            "members_nll": nll.mean(),
            "train_accuracy": seen[first : first + members].double().mean(),
        }
        if members > 1:
            chance = uncertainty.chance_disagreement(p, labels)
            if chance:
                own["diversity"] = uncertainty.disagreement(p) / chance
        found.append({name: float(value) for name, value in own.items()})
    every = {name: [one[name] for one in found if name in one] for name in SCORES}
    return {name: float(np.mean(values)) if values else None for name, values in every.items()}


def chosen_rate(method: str, width: int, members: int) -> float:
    """Return the learning rate that was chosen at the nearest of the tuned widths."""
    nearest = min(WIDTHS, key=lambda known: abs(math.log(known / width)))
    chosen = measured.load("width-tuning")["summary"][method][str(nearest)]
    return RATES[chosen[MEMBERS.index(members)]]


def train_at_rate(
    method: str, width: int, members: int, split: int, lr: float
) -> tuple[nn.Module, float]:
    """Return a trained ensemble and its rate: this one, or the first below it that does not fail.

    Raises ``FloatingPointError`` where all do.
    """
    for own in sorted((own for own in RATES if own <= lr), reverse=True):
        try:
            return trained(method, width, members, split, own), own
        except FloatingPointError:
            continue
    raise FloatingPointError(f"{method} of {members}, width {width}, fails at {lr} and all below")


def run(method: str, width: int, split: int) -> dict[str, Any]:
    """Return scores of each number of members, lists as long as `MEMBERS`."""
    results: dict[str, list[Any]] = {name: [] for name in (*SCORES, "parameters", "lr")}
    nets: dict[float, tuple[nn.Module, float]] = {}
    for members in MEMBERS:
        lr = chosen_rate(method, width, members)
        if method == "batch_ensemble":
            net, used = train_at_rate(method, width, members, split, lr)
            total = counting.count(net).total
        else:
            if lr not in nets:
                nets[lr] = train_at_rate(method, width, MEMBERS[-1], split, lr)
            net, used = nets[lr]
            total = counting.count(net).total * members // MEMBERS[-1]
        found = score(net, split, members) | {"parameters": total, "lr": used}
        for name, value in found.items():
            results[name].append(value)
    return results


def tune(method: str, width: int, split: int, lr: float) -> dict[str, Any]:
    """Return the ensemble's NLL for each number of members, ``None`` where training fails."""
    found: list[float | None] = []
    deep: nn.Module | None = None
    for members in MEMBERS:
        try:
            if method == "batch_ensemble":
                net = trained(method, width, members, split, lr)
            else:
                if deep is None:
                    deep = trained(method, width, MEMBERS[-1], split, lr)
                net = deep
            found.append(score(net, split, members)["nll"])
        except FloatingPointError:
            found.append(None)
    return {"nll": found}


def chosen(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return which of `RATES` has the least mean NLL: by method and width, of each number."""
    found: dict[str, Any] = {}
    for method, width in dict.fromkeys((row["method"], row["width"]) for row in rows):
        means = [
            np.mean(
                [
                    [math.inf if value is None else value for value in row["nll"]]
                    for row in rows
                    if (row["method"], row["width"], row["lr"]) == (method, width, lr)
                ],
                axis=0,
            )
            for lr in RATES
        ]
        found.setdefault(method, {})[str(width)] = np.argmin(means, axis=0).tolist()
    return found


def width_of_equal_size(width: int, members: int, separate: int) -> int:
    """Return how wide so many separate networks are, with a BatchEnsemble's number of parameters.

    To the nearest width; that of (64, 4, 1) is the one network that has as many as a BatchEnsemble
    of four at width 64.
    """
    total = counting.mlp([64, width, width, 10], "batch_ensemble", members).total

    def parameters(own: int) -> int:
        return separate * counting.mlp([64, own, own, 10]).total

    widths = range(1, 4 * width)
    above = bisect.bisect_left(widths, total, key=parameters)
    return min(widths[max(above - 1, 0) : above + 1], key=lambda own: abs(parameters(own) - total))


#: Widths of as many parameters: of one network, and of `BUDGETED`.
ALIKE = {
    width: (width_of_equal_size(width, BUDGETED, 1), width_of_equal_size(width, BUDGETED, BUDGETED))
    for width in (64, 256)
}


def means(score: str) -> dict[tuple[str, int], dict[int, float]]:
    """Return method and width to a score's mean over splits, by the number of members."""
    rows, found = measured.load("width")["rows"], {}
    for own in itertools.product(METHODS, WIDTHS):
        values = [row[score] for row in rows if (row["method"], row["width"]) == own]
        found[own] = dict(zip(MEMBERS, np.mean(values, axis=0).tolist(), strict=True))
    return found


def differences(
    rows: list[dict[str, Any]], ours: tuple[str, int, int], than: tuple[str, int, int], score: str
) -> Float[Array, " splits"]:  # fmt: skip
    """Return a score's differences, split by split; ``(method, width, members)`` says of whom."""

    def values_of(who: tuple[str, int, int]) -> Float[Array, " splits"]:
        method, width, members = who
        own = [row for row in rows if (row["method"], row["width"]) == (method, width)]
        by_split = sorted(own, key=lambda row: row["split"])
        return np.array([row[score][MEMBERS.index(members)] for row in by_split])

    return values_of(ours) - values_of(than)


def compare_ensembles(
    rows: list[dict[str, Any]],
    pairs: Iterable[tuple[tuple[str, int, int], tuple[str, int, int]]], scores: Sequence[str],
) -> list[dict[str, Any]]:  # fmt: skip
    """Return an entry for each pair and score, with corrected intervals and Holm's correction."""
    found = [
        (
            {
                "method": ours[0], "width": ours[1], "members": ours[2],
                "than": than[0], "than_width": than[1], "than_members": than[2], "score": score,
            },
            uncertainty.corrected_t(differences(rows, ours, than, score), train=TRAIN, test=TEST),
        )
        for ours, than in pairs
        for score in scores
    ]  # fmt: skip
    add_verdicts(found, higher=[score for score in scores if score.endswith("accuracy")])
    return [entry for entry, _ in found]


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return comparisons, each list corrected over its own entries.

    ``gap``: a BatchEnsemble and the deep ensemble of its width and number of members, the ensembles
    and their members. ``equal``: a BatchEnsemble of `BUDGETED`, and separate networks of as many
    parameters.
    """
    both = ("accuracy", "nll")
    same = [
        (("batch_ensemble", width, members), ("deep_ensemble", width, members))
        for width in WIDTHS
        for members in MEMBERS
    ]
    equal = [
        (("batch_ensemble", width, BUDGETED), ("deep_ensemble", other, members))
        for width, others in ALIKE.items()
        for other, members in zip(others, (1, BUDGETED), strict=True)
    ]
    members_too = (*both, "members_accuracy", "train_accuracy")
    return {
        "gap": compare_ensembles(rows, same, members_too),
        "equal": compare_ensembles(rows, equal, both),
    }


TUNING = Experiment(
    name="width-tuning",
    about="nll: of the ensemble's averaged probabilities, nats an example of the test part, for "
    "1, 2, 4 and 8 members, null where training failed; the summary holds which rate has the "
    "least mean, for each number of members",
    budget="500 steps of SGD with momentum 0.9, three rates, on two splits of digits apart from "
    "those of width, at each width",
    cases=[
        {"method": method, "width": width, "split": split, "lr": lr}
        for method in METHODS
        for width in WIDTHS
        for split in APART
        for lr in RATES
    ],
    run=tune,
    summarize=chosen,
)
EXPERIMENT = Experiment(
    name="width",
    about="each a list for 1, 2, 4 and 8 members, of the test part: accuracy and nll (nats an "
    "example) of averaged probabilities; members_accuracy and members_nll, means over members; "
    "train_accuracy, of members on what they learned from; diversity, the disagreement of two "
    "members over that of members as accurate that err independently; parameters of the ensemble; "
    "lr, the rate it was trained at; the summary compares by the corrected resampled t-test, with "
    "Holm's correction over each list",
    budget="10 random splits of digits; 500 steps of SGD with momentum 0.9, the rate chosen among "
    "three on splits apart, see width-tuning",
    cases=[
        {"method": method, "width": width, "split": split}
        for method, widths in (
            ("batch_ensemble", WIDTHS),
            ("deep_ensemble", (*WIDTHS, *sorted({*itertools.chain(*ALIKE.values())} - {*WIDTHS}))),
        )
        for width in widths
        for split in range(SPLITS)
    ],
    run=run,
    summarize=summarize,
)
