"""Lifelong learning on digits: five tasks of two classes, one after the other.

Task t is to tell 2t - 2 from 2t - 1, and at test it is told which task an image is of. In a
BatchEnsemble member t is task t's, as in Wen et al. 2020: W learns on task 1, and is frozen then.
Each split has starts, and orders of its batches, of its own; learning rates, of the same four for
all, are those with the best mean accuracy over all tasks in the end, on three other splits. A first
look has changed two things, both in favor of what we compare with: heads alone on the frozen
network of task 1 were to be the reference, and are worse than on a random one; and the fourth
learning rate is there because heads alone were best at the highest of three. Then the starts, at
first the same on all splits, were drawn anew.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.data import digits
from ensedu.torch import mlp
from ensedu.torch.base import seeded
from ensedu.torch.losses import softmax_cross_entropy
from workshop.experiments.shared import add_verdicts, best_tries, differences, fit
from workshop.running.experiment import Experiment

TASKS, TEST = 5, 453
BODY = (64, 64, 64)
RATES = (0.003, 0.01, 0.03, 0.1)
SETTINGS = {"epochs": 20, "batch_size": 32}

Examples = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class NextTaskRecipe:
    """What learns the tasks; `chosen` is the number of its learning rate."""

    label: str
    #: Of the layers before the heads; one with members has one a task.
    method: str
    chosen: int
    #: From which task on they, or in a BatchEnsemble their W, are frozen.
    frozen_from: int = TASKS
    #: Whether a task's fast weights and biases start where those of task 1 ended.
    copied: bool = False


RECIPES = {
    "signs": NextTaskRecipe("fast weights, from signs", "batch_ensemble", 2, frozen_from=1),
    "copied": NextTaskRecipe(
        "fast weights, from task 1's", "batch_ensemble", 2, frozen_from=1, copied=True
    ),
    "head": NextTaskRecipe("head alone", "single", 2, frozen_from=1),
    "head_random": NextTaskRecipe("head alone, random W", "single", 3, frozen_from=0),
    "own": NextTaskRecipe("one network a task", "deep_ensemble", 1),
    "fine_tuned": NextTaskRecipe("one network, trained on", "single", 0),
}


class Lifelong(nn.Module):
    """A network with a head for each task, (B, 64) -> (B, 2) of the one that is `task`."""

    def __init__(self, contestant: str) -> None:
        super().__init__()
        self.row = RECIPES[checks.one_of("contestant", contestant, RECIPES)]
        members = None if self.row.method == "single" else TASKS
        self.body = mlp(BODY, self.row.method, members, dtype=torch.float64)
        self.heads = nn.ModuleList(
            nn.Linear(BODY[-1], 2, dtype=torch.float64) for _ in range(TASKS)
        )
        self.task = 0

    def forward(self, x: Float[Tensor, "B 64"]) -> Float[Tensor, "B 2"]:
        features = self.body(x).relu()
        own = features if self.row.method == "single" else features[self.task]
        return self.heads[self.task](own)

    def begin_task(self, task: int) -> None:
        """Freeze what later tasks do not train, and let the task begin.

        Members of other tasks get gradients of 0, at which Adam leaves them as they are.
        """
        self.task = task
        for name, parameter in self.body.named_parameters():
            shared = self.row.method != "batch_ensemble" or name.endswith("weight")
            parameter.requires_grad_(not (shared and task >= self.row.frozen_from))
            if self.row.copied and task and not shared:
                with torch.no_grad():
                    parameter[task] = parameter[0]

    def added_numbers(self) -> int:
        """Return how many numbers a later task adds: what is its own, and its head."""
        arrays = {name: p.numel() for name, p in self.body.named_parameters()}
        own = {
            "single": 0,
            "batch_ensemble": sum(n for name, n in arrays.items() if not name.endswith("weight")),
            "deep_ensemble": sum(arrays.values()),
        }[self.row.method]
        return own // TASKS + sum(p.numel() for p in self.heads[0].parameters())


def network(contestant: str, start: int) -> Lifelong:
    """Return a contestant as it starts."""
    with seeded(start):
        return Lifelong(contestant)


def tasks(split: int) -> list[tuple[Examples, Examples]]:
    """Return, for each task, (x, y) to train on and to test on; y is 0 or 1."""
    x, y = map(torch.from_numpy, digits())
    order = torch.from_numpy(np.random.default_rng(split).permutation(len(x)))
    parts = order[TEST:], order[:TEST]
    found = []
    for task in range(TASKS):
        own = [rows[y[rows] // 2 == task] for rows in parts]
        train, test = ((x[rows], y[rows] % 2) for rows in own)
        found.append((train, test))
    return found


def learn_task(
    net: Lifelong, task: int, examples: Examples, lr: float, epochs: int, batch_size: int, seed: int
) -> None:
    """Learn one task more."""
    net.begin_task(task)
    fit(
        net, *examples, softmax_cross_entropy, epochs=epochs, batch_size=batch_size, lr=lr,
        seed=seed,
    )  # fmt: skip


def outputs(net: Lifelong, task: int, x: Tensor) -> Float[Tensor, "B 2"]:
    """Return the logits of a task."""
    net.task = task
    with torch.no_grad():
        return net(x)


def accuracies(
    contestant: str, split: int, start: int, lr: float, epochs: int, batch_size: int
) -> list[list[float]]:
    """Return, after each task, the accuracies on the test images of it and those before it."""
    net, found = network(contestant, start), []
    parts = tasks(split)
    for last in range(TASKS):
        learn_task(net, last, parts[last][0], lr, epochs, batch_size, start)
        found.append(
            [
                float((outputs(net, task, x).argmax(1) == y).double().mean())
                for task, (_, (x, y)) in enumerate(parts[: last + 1])
            ]
        )
    return found


def run(contestant: str, split: int, starts: int, epochs: int, batch_size: int) -> dict[str, Any]:
    """Return accuracies on one split, each a list over starts."""
    row = RECIPES[checks.one_of("contestant", contestant, RECIPES)]
    lr = RATES[row.chosen]
    own = range(starts * split, starts * (split + 1))  # none of them is another split's, too
    every = [accuracies(contestant, split, s, lr, epochs, batch_size) for s in own]
    ends = np.array([one[-1] for one in every])
    return {
        "added": network(contestant, 0).added_numbers(),
        "later": ends[:, 1:].mean(1).tolist(),
        "earlier": ends[:, :-1].mean(1).tolist(),
        "first": [[after[0] for after in one] for one in every],
    }


def tune(contestant: str, lr: float, split: int, epochs: int, batch_size: int) -> dict[str, float]:
    """Return the mean accuracy over all tasks in the end, from one start."""
    return {
        "accuracy": float(np.mean(accuracies(contestant, split, 0, lr, epochs, batch_size)[-1]))
    }


def best_settings(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of each contestant's best learning rate."""
    rates = dict.fromkeys(RECIPES, RATES)
    return best_tries(rows, rates, score="accuracy", higher=True)


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the accuracies, and how they differ from those of heads alone on a random W."""
    scores, size = ("later", "earlier"), {"train": 1797 - TEST, "test": TEST}
    found = differences(rows, "head_random", scores, **size)
    add_verdicts(found, higher=scores)
    return [entry for entry, _ in found]


TUNING = Experiment(
    name="next-task-tuning",
    about="accuracy: the mean over all five tasks in the end, on splits of seeds apart from those "
    "of next-task, one start",
    budget="four learning rates a contestant, alike for all, and epochs as in next-task; 3 splits",
    cases=[
        {"contestant": name, "lr": lr, "split": 1000 + split}
        for name in RECIPES
        for lr in RATES
        for split in range(3)
    ],
    run=tune,
    settings=SETTINGS,
    summarize=best_settings,
)
EXPERIMENT = Experiment(
    name="next-task",
    about="lists over starts, all of test images: later and earlier, mean accuracies in the end "
    "over tasks 2 to 5 and 1 to 4; first, that of task 1 after each task; added: numbers that a "
    "later task adds; the summary holds differences from heads alone on a random W, with corrected "
    "intervals",
    budget="10 random splits, 2 starts on each, 20 epochs a task, alike for all; learning rate "
    "chosen among four on splits apart, see next-task-tuning",
    cases=[{"contestant": name, "split": split} for name in RECIPES for split in range(10)],
    run=run,
    settings={"starts": 2, **SETTINGS},
    summarize=summarize,
)
