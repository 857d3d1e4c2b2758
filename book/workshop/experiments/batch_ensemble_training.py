"""How a BatchEnsemble trains, on digits: its starts, batches, losses and optimizers.

Each split has starts, and orders of its batches, of its own. A contestant has the one of three
learning rates, `RATES`, with the least NLL on three other splits of the same images; on MNIST all
have Adam's default, and no other was tried. Two things changed: before anything else was computed
the rates were moved up by one, since of a first grid most had their best at the upper end; and the
starts were at first the same on all splits, so that no interval held their luck, and the table was
computed again.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import uncertainty
from ensedu.common import checks
from ensedu.data import digits, mnist5000
from ensedu.torch import mlp, predict
from ensedu.torch.base import seeded
from ensedu.torch.losses import softmax_cross_entropy
from workshop.experiments.shared import best_tries, compare_pairs, fit
from workshop.running.experiment import Experiment

MEMBERS = 4
READ = {"digits": digits, "mnist5000": mnist5000}
#: Inputs and classes stand around two hidden layers of one width.
WIDTHS = {"digits": 64, "mnist5000": 128}
#: One network of these has as many parameters as the BatchEnsemble, to 0.4 %.
WIDE = {"digits": 72, "mnist5000": 134}
TEST = {"digits": 453, "mnist5000": 1000}
DTYPES = {"digits": torch.float64, "mnist5000": torch.float32}
#: Three learning rates for each optimizer.
RATES = {"adam": (0.003, 0.01, 0.03), "sgd": (0.1, 0.3, 0.9)}
#: On MNIST, for all: that with which Adam comes.
FIXED = 0.001
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.AdamW,
    "sgd": functools.partial(torch.optim.SGD, momentum=0.9),
}
#: What all rows share.
BUDGETS = {
    "digits": {"starts": 3, "batch_size": 48, "epochs": 40},
    "mnist5000": {"starts": 1, "batch_size": 50, "epochs": 15},
}
SCORES = ("nll", "members_nll", "disagreement", "chance")


@dataclass(frozen=True)
class ClassifierRecipe:
    """What is trained, and how; `chosen` is the number of its learning rate on digits."""

    label: str
    method: str
    chosen: int
    #: Of `ensedu.torch.mlp`.
    options: dict[str, Any] = field(default_factory=dict)
    loss: str = "mean"
    optimizer: str = "adam"
    fast_lr_factor: float = 1.0
    wide: bool = False
    #: Each member sees its own part of a batch, for `longer` times the epochs.
    split: bool = False
    longer: int = 1

    def lr(self, data: str) -> float:
        """The learning rate: that which was chosen on digits, and one for all on MNIST."""
        if data != "digits":
            return FIXED
        return RATES[self.optimizer][self.chosen]


def _normal(std: float) -> dict[str, Any]:
    return {"init": "normal", "init_std": std}


BATCH = "batch_ensemble"
RECIPES = {
    "single": ClassifierRecipe("one network", "single", 1),
    "wide": ClassifierRecipe("one larger network", "single", 0, wide=True),
    "deep_ensemble": ClassifierRecipe(
        "deep ensemble", "deep_ensemble", 2
    ),
    "signs": ClassifierRecipe("from signs", BATCH, 1),
    "near": ClassifierRecipe("from N(1, 0.1²)", BATCH, 1, _normal(0.1)),
    "normal": ClassifierRecipe("from N(1, 0.5²)", BATCH, 1, _normal(0.5)),
    "signs_mixture": ClassifierRecipe("from signs, mixture", BATCH, 0, loss="mixture"),
    "normal_mixture": ClassifierRecipe(
        "from N(1, 0.5²), mixture", BATCH, 1, _normal(0.5), loss="mixture"
    ),
    "deep_mixture": ClassifierRecipe(
        "deep ensemble, mixture", "deep_ensemble", 1, loss="mixture"
    ),
    "split": ClassifierRecipe("split batches", BATCH, 0, split=True),
    "split_longer": ClassifierRecipe(
        "split batches, 4 × epochs", BATCH, 0, split=True, longer=4
    ),
    "sgd": ClassifierRecipe("SGD", BATCH, 1, optimizer="sgd"),
    "sgd_fast": ClassifierRecipe(
        "SGD, r and s 4 × faster", BATCH, 0, optimizer="sgd", fast_lr_factor=float(MEMBERS)
    ),
}  # fmt: skip
#: By data, those of the table.
COMPARED = {
    "digits": [*RECIPES],
    "mnist5000": ["single", "wide", "deep_ensemble", "signs", "normal"],
}
#: What is compared on digits.
PAIRS = (
    ("signs", "wide"), ("normal", "wide"),
    ("signs", "deep_ensemble"), ("normal", "deep_ensemble"),
    ("split", "signs"), ("split_longer", "signs"),
    ("sgd", "signs"), ("sgd_fast", "sgd"),
    ("signs_mixture", "signs"), ("normal_mixture", "normal"), ("deep_mixture", "deep_ensemble"),
)  # fmt: skip


def examples(data: str, split: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Array]]:
    """Return (x, y) to train on, as tensors, and to test on, labels as an array."""
    checks.one_of("data", data, READ)
    x, y = READ[data]()
    order = np.random.default_rng(split).permutation(len(x))
    test, train = np.split(order, [TEST[data]])
    inputs = torch.from_numpy(x).to(DTYPES[data])
    return (inputs[train], torch.from_numpy(y[train])), (inputs[test], y[test])


def sizes(data: str, *, wide: bool = False) -> tuple[int, ...]:
    """Return the sizes of a member, or of the one larger network."""
    width = (WIDE if wide else WIDTHS)[data]
    return {"digits": 64, "mnist5000": 784}[data], width, width, 10


def network(data: str, contestant: str, start: int) -> nn.Module:
    """Return a contestant as it starts."""
    row = RECIPES[checks.one_of("contestant", contestant, RECIPES)]
    size = None if row.method == "single" else MEMBERS
    with seeded(start):
        return mlp(sizes(data, wide=row.wide), row.method, size, **row.options, dtype=DTYPES[data])


def trained(
    data: str, contestant: str, split: int, start: int, lr: float, batch_size: int, epochs: int
) -> nn.Module:
    """Return a trained contestant."""
    row = RECIPES[contestant]
    net = network(data, contestant, start)
    loss = functools.partial(softmax_cross_entropy, reduction=row.loss)
    return fit(
        net, *examples(data, split)[0], loss, epochs=row.longer * epochs,
        batch_size=batch_size, lr=lr, fast_lr_factor=row.fast_lr_factor,
        member_gradient_factor=1.0, split=row.split, seed=start,
        optimizer=OPTIMIZERS[row.optimizer],
    )  # fmt: skip


def score(net: nn.Module, x: Tensor, y: Array) -> dict[str, float]:
    """Return what the mixture of members is worth, one member, and how far they differ."""
    p = uncertainty.softmax(predict(net, x).double().numpy())
    nll = uncertainty.categorical_nll(p, y)
    found = {"nll": uncertainty.mixture_nll(nll).mean(), "members_nll": nll.mean()}
    if len(p) > 1:
        found |= {
            "disagreement": uncertainty.disagreement(p),
            "chance": uncertainty.chance_disagreement(p, y),
        }
    return {name: float(value) for name, value in found.items()}


def run(
    data: str, contestant: str, split: int, budgets: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the scores of a contestant on one split, each a list over starts.

    What one network does not have is an empty list.
    """
    budget, lr = budgets[data], RECIPES[contestant].lr(data)
    starts = budget["starts"]
    found = [
        score(
            trained(data, contestant, split, start, lr, budget["batch_size"], budget["epochs"]),
            *examples(data, split)[1],
        )
        for start in range(starts * split, starts * (split + 1))  # none is another split's, too
    ]
    return {name: [one[name] for one in found if name in one] for name in SCORES}


def tune(
    data: str, contestant: str, lr: float, split: int, budgets: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the NLL at a learning rate, None where training fails, and half of all classes."""
    budget = budgets[data]
    try:
        net = trained(data, contestant, split, 0, lr, budget["batch_size"], budget["epochs"])
    except FloatingPointError:
        return {"nll": None}
    nll = score(net, *examples(data, split)[1])["nll"]
    return {"nll": nll if math.isfinite(nll) else None}


def best_rates(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of each contestant's best learning rate, by its mean NLL over splits."""
    return best_tries(rows, {n: RATES[RECIPES[n].optimizer] for n in COMPARED["digits"]})


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what `compare_pairs` makes of the NLLs on digits."""
    own = [row for row in rows if row["data"] == "digits"]
    size = {"train": len(READ["digits"]()[1]) - TEST["digits"], "test": TEST["digits"]}
    return compare_pairs(nll_of(own), PAIRS, **size)


def nll_of(rows: list[dict[str, Any]]) -> dict[str, Array]:
    """Return the NLLs of each contestant, (splits,) or (splits, starts)."""
    return {
        name: np.array([row["nll"] for row in rows if row["contestant"] == name])
        for name in dict.fromkeys(row["contestant"] for row in rows)
    }


TUNING = Experiment(
    name="batch-ensemble-training-tuning",
    about="nll: nats a test example of the mixture of a contestant's members, on splits of seeds "
    "apart from those of batch-ensemble-training, one start; null where training failed",
    budget="three learning rates a contestant, alike for all with one optimizer, and epochs as "
    "in batch-ensemble-training; 3 splits of digits",
    cases=[
        {"data": "digits", "contestant": name, "lr": lr, "split": 1000 + split}
        for name in COMPARED["digits"]
        for lr in RATES[RECIPES[name].optimizer]
        for split in range(3)
    ],
    run=tune,
    settings={"budgets": BUDGETS},
    summarize=best_rates,
)
EXPERIMENT = Experiment(
    name="batch-ensemble-training",
    about="each score a list over starts: nll, nats a test example of the mixture of members, "
    "members_nll, their mean; disagreement of two members, and that of members as accurate that "
    "err independently (chance); the summary holds differences of pairs in nll, on digits, with "
    "corrected intervals",
    budget="10 random splits, 3 starts on each of digits, 1 of MNIST; epochs and batches alike for "
    "all, but 4 x the epochs for split_longer; learning rate chosen among three on splits of "
    "digits apart, see batch-ensemble-training-tuning, and 0.001 on MNIST",
    cases=[
        {"data": data, "contestant": name, "split": split}
        for data, names in COMPARED.items()
        for name in names
        for split in range(10)
    ],
    run=run,
    settings={"budgets": BUDGETS},
    summarize=summarize,
)  # fmt: skip
