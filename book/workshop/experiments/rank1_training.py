"""How a rank-1 BNN is trained: its loss, start, prior and draws, on digits.

Protocol, fixed before the results. Splits, sizes, epochs, batches, Adam, the three learning rates
and the way one is chosen are those of `batch_ensemble_training`, whose rows stand beside ours. A
standard deviation starts at √(p / (1 - p)), p = 0.001, the KL grows linearly over 32 of 40 epochs,
as Dusenberry et al. let it over 200 of 250; its mean over members is divided by the 1,344 images to
learn from.

Networks this small wait for Python, so those of all splits and starts learn side by side: each has
its own images, order, start and noise, and no number of one meets one of another. `Stack` says so
in one screen; a test holds it against the layers of `ensedu.torch`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import Tensor

from ensedu.common import checks
from ensedu.priors import Cauchy, Normal, Prior
from ensedu.torch import mlp
from ensedu.torch.base import seeded
from ensedu.torch.variational import entry_kl, softplus
from workshop import measured
from workshop.experiments import batch_ensemble_training as before
from workshop.experiments.shared import best_tries, compare_pairs
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

MEMBERS = 4
RATES = before.RATES["adam"]
#: Scores are taken after these epochs, of which the last is the end.
EPOCHS = (1, 2, 3, 5, 8, 12, 20, 30, 40)
SETTINGS = {"splits": 10, "starts": 2, "batch_size": 48, "epochs": list(EPOCHS), "passes": 32}
#: Rows of `batch_ensemble_training` that stand beside ours.
BESIDE = ("wide", "deep_ensemble", "signs")


@dataclass(frozen=True)
class Rank1Recipe:
    """How a rank-1 BNN is trained; `chosen` is the number of its learning rate."""

    label: str
    chosen: int
    #: Of the means of r and s: signs or N(1, 0.1²).
    init: str = "normal"
    prior: Prior = field(default_factory=lambda: Normal(1.0, 0.1))
    #: Over how many epochs the KL grows to `beta`; 0 is at once.
    anneal: int = 32
    #: What the mean over members of their KLs is times: 4 for the sum.
    beta: float = 1.0
    per_example: bool = False
    loss: str = "average"
    #: Whether r and s are drawn from Cauchy distributions, with a closed KL.
    heavy: bool = False


SIGNS: dict[str, Any] = {"init": "signs"}
RECIPES = {
    "normal": Rank1Recipe("from N(1, 0.1²)", 1),
    "at_once": Rank1Recipe("KL at once", 0, anneal=0),
    "cauchy": Rank1Recipe("Cauchy prior", 1, prior=Cauchy(1.0, 0.1)),
    "sum": Rank1Recipe("sum of members' KLs", 1, beta=4.0),
    "no_kl": Rank1Recipe("no KL", 2, beta=0.0),
    "mixture": Rank1Recipe("mixture NLL", 0, loss="mixture"),
    "per_example": Rank1Recipe("draws for each image", 1, per_example=True),
    "signs": Rank1Recipe("from signs", 1, **SIGNS),
    "signs_at_once": Rank1Recipe("from signs, KL at once", 2, **SIGNS, anneal=0),
    "signs_cauchy": Rank1Recipe("from signs, Cauchy prior", 0, **SIGNS, prior=Cauchy(1.0, 0.1)),
    "signs_heavy": Rank1Recipe(
        "from signs, all Cauchy", 0, **SIGNS, prior=Cauchy(1.0, 0.1), heavy=True
    ),
    "signs_wide": Rank1Recipe("from signs, prior N(1, 1)", 0, **SIGNS, prior=Normal(1.0, 1.0)),
    "published": Rank1Recipe("as published", 2, **SIGNS, beta=4.0, per_example=True),
}
#: What else is compared, each with what it differs from.
PAIRS = (
    ("at_once", "normal"), ("cauchy", "normal"), ("sum", "normal"), ("no_kl", "normal"),
    ("mixture", "normal"), ("per_example", "normal"), ("signs", "normal"),
    ("signs_at_once", "signs"), ("signs_cauchy", "signs"), ("signs_wide", "signs"),
    ("published", "signs"),
    ("normal", "batch"), ("signs", "batch"), ("normal", "wide"), ("normal", "deep_ensemble"),
)  # fmt: skip
CURVES = ("train_nll", "negative", "sigma")
Noise = list[tuple[Tensor, Tensor]]


class Stack:
    """G rank-1 networks side by side: the arrays of `ensedu.torch.Rank1Linear` behind an axis G.

    Each is ``mlp(sizes, "rank1", M)`` from its own start, so that outputs are (G, M, B, k).
    """

    def __init__(self, row: Rank1Recipe, starts: Sequence[int], sizes: Sequence[int]) -> None:
        self.row, self.sizes, self.number = row, sizes, len(starts)
        nets = []
        for start in starts:
            with seeded(start):
                nets.append(
                    mlp(
                        sizes, "rank1", MEMBERS, prior=row.prior, init=row.init,
                        dtype=torch.float64,
                    )
                )  # fmt: skip
        self.generators = [torch.Generator().manual_seed(start) for start in starts]
        found = [dict(net.named_parameters()) for net in nets]
        self.parameters = {
            name: torch.stack([one[name].detach() for one in found]).requires_grad_()
            for name in found[0]
        }
        self.layers = sorted({name.split(".")[0] for name in found[0]}, key=int)

    def array(self, layer: str, name: str) -> Tensor:
        """Return an array of a layer, (G, …)."""
        return self.parameters[f"{layer}.{name}"]

    def noise(self, batch: int | None, heavy: bool | None = None) -> Noise:
        """Draw noise for r and s of each layer, (G, M, B or 1, features)."""
        rows = 1 if batch is None else batch
        shapes = [(MEMBERS, rows, size) for pair in pairwise(self.sizes) for size in pair]
        lengths = [math.prod(shape) for shape in shapes]
        drawn = torch.stack(
            [torch.randn(sum(lengths), generator=g, dtype=torch.float64) for g in self.generators]
        )
        if self.row.heavy if heavy is None else heavy:
            drawn = torch.tan(math.pi * (torch.special.ndtr(drawn) - 0.5))
        parts = [
            part.reshape(self.number, *shape)
            for part, shape in zip(drawn.split(lengths, 1), shapes, strict=True)
        ]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def forward(self, x: Float[Tensor, "G B m"], noise: Noise | None) -> Float[Tensor, "G M B k"]:
        """``((x ∘ r) W) ∘ s + b``, layer by layer; without noise, at the means."""
        hidden = x[:, None]
        for i, layer in enumerate(self.layers):
            r, s = (
                self.array(layer, f"{k}_mean")[:, :, None]
                if noise is None
                else self.array(layer, f"{k}_mean")[:, :, None]
                + softplus(self.array(layer, f"{k}_rho"))[:, :, None] * noise[i][j]
                for j, k in enumerate("rs")
            )
            G, M, B, m = (hidden * r).shape
            flat = (hidden * r).reshape(G, M * B, m) @ self.array(layer, "weight").mT
            hidden = flat.reshape(G, M, B, -1) * s + self.array(layer, "bias")[:, :, None]
            if layer != self.layers[-1]:
                hidden = hidden.relu()
        return hidden

    def kl(self) -> Float[Tensor, " G"]:
        """KL of each network in nats: the sum over entries, the mean over members."""
        total = torch.zeros(self.number, dtype=torch.float64)
        noise = None if self.row.prior.has_closed_kl or self.row.heavy else self.noise(None)
        for i, layer in enumerate(self.layers):
            for j, k in enumerate("rs"):
                mean, rho = self.array(layer, f"{k}_mean"), self.array(layer, f"{k}_rho")
                prior: Any = self.row.prior
                if self.row.heavy:
                    each = prior.kl_from_cauchy(mean, softplus(rho), torch)
                else:
                    each = entry_kl(mean, rho, prior, noise and noise[i][j][:, :, 0])
                total = total + each.sum(2).mean(1)
        return total

    def fast_weight_moments(self) -> tuple[Float[Array, "G M N"], Float[Array, "G M N"]]:
        """Return means and standard deviations of all entries of r and s."""
        found = []
        for part in ("mean", "rho"):
            arrays = [
                self.array(layer, f"{k}_{part}").detach() for layer in self.layers for k in "rs"
            ]
            found.append(torch.cat(arrays, 2))
        return found[0].numpy(), softplus(found[1]).numpy()


def nlls(outputs: Float[Tensor, "G M B k"], labels: Int[Tensor, "G B"]) -> Float[Tensor, "G M B"]:
    """Return each member's NLL of each image."""
    where = labels[:, None, :, None].expand(*outputs.shape[:3], 1)
    return -outputs.log_softmax(-1).gather(-1, where)[..., 0]


def mixture_nll(each: Float[Tensor, "G M B"]) -> Float[Tensor, "G B"]:
    """Return the NLL of the mixture of members."""
    return math.log(each.shape[1]) - torch.logsumexp(-each, 1)


def train(
    row: Rank1Recipe, splits: Sequence[int], starts: int, lr: float, batch_size: int,
    epochs: Sequence[int],
    after_epoch: Callable[[Stack, Any], None] = lambda stack, nll: None,
    data: str = "digits",
) -> Stack:  # fmt: skip
    """Train so many starts on each split; `after_epoch` gets them after each of `epochs`.

    It is also told the mean loss of the epoch without the KL; what it draws changes nothing.
    """
    own = [starts * split + k for split in splits for k in range(starts)]
    stack = Stack(row, own, before.sizes(data))
    parts = [before.examples(data, split)[0] for split in splits for _ in range(starts)]
    x, y = (torch.stack(each) for each in zip(*parts, strict=True))
    number, groups = x.shape[1], torch.arange(len(own))[:, None]
    steps_an_epoch = number // batch_size
    adam = torch.optim.AdamW(stack.parameters.values(), lr=lr, weight_decay=0.0)
    step = 0
    with one_thread():
        for epoch in range(1, max(epochs) + 1):
            order = torch.stack([torch.randperm(number, generator=g) for g in stack.generators])
            total = torch.zeros(len(own), dtype=x.dtype)
            for rows in order.split(batch_size, 1)[:steps_an_epoch]:
                step += 1
                grown = min(1.0, step / (steps_an_epoch * row.anneal)) if row.anneal else 1.0
                noise = stack.noise(batch_size if row.per_example else None)
                each = nlls(stack.forward(x[groups, rows], noise), y[groups, rows])
                own_nll = mixture_nll(each).mean(1) if row.loss == "mixture" else each.mean((1, 2))
                loss = own_nll
                if row.beta:
                    loss = own_nll + row.beta * grown / number * stack.kl()
                adam.zero_grad()
                loss.sum().backward()
                adam.step()
                total += own_nll.detach() / steps_an_epoch
            if epoch in epochs:
                states = [g.get_state() for g in stack.generators]
                after_epoch(stack, total)
                for g, state in zip(stack.generators, states, strict=True):
                    g.set_state(state)
    return stack


def score(
    stack: Stack, x: Float[Tensor, "G B m"], y: Int[Tensor, "G B"], passes: int
) -> dict[str, Float[Array, " G"]]:
    """Return the scores of each network.

    ``nll`` is the mixture's of all passes of all members, ``draw_nll`` that of one pass of one, on
    average; ``point_nll`` the mixture's of the members at their means, and ``prior_nll`` that of
    `nll` with r and s drawn from the prior.
    """
    with torch.no_grad(), one_thread():
        drawn = [nlls(stack.forward(x, stack.noise(None)), y) for _ in range(passes)]
        each = torch.stack(drawn, 1)  # (G, S, M, B)
        members = math.log(passes) - torch.logsumexp(-each, 1)  # (G, M, B)
        found = {
            "nll": mixture_nll(members).mean(1),
            "draw_nll": each.mean((1, 2, 3)),
            "point_nll": mixture_nll(nlls(stack.forward(x, None), y)).mean(1),
            "prior_nll": mixture_nll(prior_nlls(stack, x, y, passes)).mean(1),
        }
    return {name: value.numpy() for name, value in found.items()}


def prior_nlls(
    stack: Stack, x: Float[Tensor, "G B m"], y: Int[Tensor, "G B"], passes: int
) -> Float[Tensor, "G M B"]:
    """Return what members are worth when r and s are drawn from their prior."""
    kept = {name: value.detach().clone() for name, value in stack.parameters.items()}
    prior: Any = stack.row.prior
    rho = prior.scale + math.log(-math.expm1(-prior.scale))
    for name, value in stack.parameters.items():
        if "mean" in name or "rho" in name:
            value.data.fill_(prior.loc if "mean" in name else rho)
    heavy = isinstance(prior, Cauchy)
    each = [nlls(stack.forward(x, stack.noise(None, heavy)), y) for _ in range(passes)]
    for name, value in stack.parameters.items():
        value.data.copy_(kept[name])
    return math.log(passes) - torch.logsumexp(-torch.stack(each), 0)


def stacked_test_examples(splits: Sequence[int], starts: int) -> tuple[Tensor, Tensor]:
    """Return the images and labels that test each network, (G, B, m) and (G, B)."""
    parts = [before.examples("digits", split)[1] for split in splits for _ in range(starts)]
    return torch.stack([x for x, _ in parts]), torch.stack([torch.from_numpy(y) for _, y in parts])


def run(
    contestant: str, splits: int, starts: int, batch_size: int, epochs: list[int], passes: int
) -> dict[str, Any]:
    """Return the scores of a contestant: lists over splits of lists over starts, and curves.

    ``curves`` are means over all after each of the epochs; of ``sigma`` the 10th, 50th and 90th
    percentile of a network's entries.
    """
    row = RECIPES[checks.one_of("contestant", contestant, RECIPES)]
    x, y = stacked_test_examples(range(splits), starts)
    number = len(before.examples("digits", 0)[0][1])
    curves: dict[str, list[Any]] = {name: [] for name in CURVES}
    last: dict[str, Any] = {}

    def record(stack: Stack, nll: Any) -> None:
        means, deviations = stack.fast_weight_moments()
        percentiles = np.percentile(deviations.reshape(len(x), -1), [10, 50, 90], axis=1)
        curves["train_nll"].append(float(nll.mean()))
        curves["negative"].append(float((means < 0).mean()))
        curves["sigma"].append(percentiles.mean(1).tolist())
        if len(curves["sigma"]) == len(epochs):
            last.update(score(stack, x, y, passes))
            with torch.no_grad():
                last["kl"] = stack.kl().numpy() / number

    train(row, range(splits), starts, RATES[row.chosen], batch_size, epochs, record)
    found = {name: value.reshape(splits, starts).tolist() for name, value in last.items()}
    return {**found, "curves": curves}


def tune(
    contestant: str, lr: float, splits: int, batch_size: int, epochs: list[int], passes: int
) -> dict[str, Any]:
    """Return the NLL on each split at a learning rate."""
    apart = range(1000, 1000 + splits)
    stack = train(RECIPES[contestant], apart, 1, lr, batch_size, epochs[-1:])
    return {"nll": score(stack, *stacked_test_examples(apart, 1), passes)["nll"].tolist()}


def best_rates(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of each contestant's best learning rate, by its mean NLL over splits."""
    return best_tries(rows, dict.fromkeys(RECIPES, RATES))


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what `compare_pairs` makes of the NLLs, of `BESIDE` too."""
    other = measured.load("batch-ensemble-training")["rows"]
    found = before.nll_of([row for row in other if row["data"] == "digits"])
    values = {"batch" if name == "signs" else name: found[name].mean(axis=1) for name in BESIDE}
    values |= {row["contestant"]: np.mean(row["nll"], axis=1) for row in rows}
    size = {"train": len(before.examples("digits", 0)[0][1]), "test": before.TEST["digits"]}
    return compare_pairs(values, PAIRS, **size)


TUNING = Experiment(
    name="rank1-training-tuning",
    about="nll: nats a test image of the mixture, on each of three splits of digits apart from "
    "those of rank1-training, one start",
    budget="three learning rates a contestant, epochs and batches as in rank1-training",
    cases=[{"contestant": name, "lr": lr} for name in RECIPES for lr in RATES],
    run=tune,
    settings={"splits": 3, **{name: SETTINGS[name] for name in ("batch_size", "epochs", "passes")}},
    summarize=best_rates,
)
EXPERIMENT = Experiment(
    name="rank1-training",
    about="each score a list over splits of lists over starts, on test images: nll, nats an image "
    "of the mixture of 32 passes of four members, draw_nll of one pass of one, on average; "
    "point_nll of members at their means, prior_nll of draws from the prior; kl in nats an image "
    "to learn from; curves: means after the epochs; the summary holds differences of pairs, and "
    "from contestants of batch-ensemble-training",
    budget="10 random splits of digits, 2 starts on each, 40 epochs of Adam for all; learning "
    "rate chosen among three on other splits, see rank1-training-tuning",
    cases=[{"contestant": name} for name in RECIPES],
    run=run,
    settings=SETTINGS,
    summarize=summarize,
)
