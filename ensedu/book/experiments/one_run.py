"""Checkpoints of one training against members that started apart, on concrete.

The protocol is that of `table_one`, its splits included, on each of which starts and orders are its
own; on a split, what is made of one run starts alike, and five networks apart. ``last``: one
network after each of its last five epochs. ``snapshots``: one network, its learning rate falling
five times from 0.02 to nearly 0 along a cosine, kept at the end of each fall (Huang et al. 2017);
the mean rate is that of all others. Both cost one training. ``deep_ensemble`` is five networks from
starts of their own, and ``single`` what ``last`` ends with. Added after a first look at these, to
see why they come out as they do: ``cooled``, a run whose rate falls once, and ``cooled_last``, it
after each of its last five epochs. Each score of one run is the mean over five runs.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import uncertainty
from ensedu.book.experiments import table_one
from ensedu.book.experiments.shared.recorder import Recorder
from ensedu.common import checks
from ensedu.contest.running.experiment import Experiment
from ensedu.data import Split
from ensedu.torch import predict

__all__ = ["CONTESTANTS", "EXPERIMENT", "run", "summarize"]

CONTESTANTS = {
    "single": "one network",
    "last": "its last five epochs",
    "snapshots": "five snapshots",
    "cooled": "one network, rate falling",
    "cooled_last": "its last five epochs",
    "deep_ensemble": "deep ensemble",
}
#: How many checkpoints there are.
KEPT = 5
#: How often the rate falls to 0, and what it falls from, times the rate of the others.
FALLS, PEAK = {"snapshots": KEPT, "cooled": 1, "cooled_last": 1}, 2.0
#: What one network agrees with is itself.
ALONE = {"correlation": 1.0, "apart": 0.0}
#: From which others differ, who they are, and in what.
COMPARISONS = (
    ("single", ("last", "snapshots", "cooled", "cooled_last", "deep_ensemble"), ("rmse", "nll")),
    ("cooled", ("cooled_last",), ("rmse", "nll")),
    ("deep_ensemble", ("last", "snapshots"), ("rmse", "nll", "correlation")),
)


def run(
    data: str, contestant: str, split: int, seeds: int, epochs: int, batch_size: int, lr: float
) -> dict[str, Any]:
    """Return the scores of a contestant on one split, each a list over initial seeds."""
    checks.one_of("contestant", contestant, CONTESTANTS)
    parts = table_one.split_of(data, split)
    inputs = torch.from_numpy(parts.x_test)
    each = math.ceil(len(parts.train) / batch_size)  # steps an epoch
    steps = each * epochs
    fall = steps // FALLS.get(contestant, 1)

    def falling(step: int) -> float:
        return 0.5 * PEAK * lr * (1 + math.cos(math.pi * (step % fall) / fall))

    apart = fall if contestant == "snapshots" else each
    at = range(steps - (KEPT - 1) * apart, steps + 1, apart)
    row = table_one.CONTESTANTS["single"]
    found: dict[str, list[float]] = {}
    for seed in range(seeds * split, seeds * (split + 1)):
        # what is of one run starts alike, so that its difference is that of the checkpoints
        start = 10_000 + 2 * seed + (contestant == "deep_ensemble")
        net = table_one.untrained_networks(parts, row, start)
        recorder = Recorder(
            partial(_outputs, net, inputs), at, falling if contestant in FALLS else None
        )
        table_one.train(net, parts, row, seed, epochs, batch_size, lr, recorder.optimizer)
        outputs = np.stack(recorder.kept)  # (checkpoints, runs, B, 2)
        for name, value in _scores(contestant, outputs, parts).items():
            found.setdefault(name, []).append(value)
    return {"train": len(parts.train), "test": len(parts.test), **found}


def _outputs(net: nn.Module, x: Tensor) -> Float[Array, "M B 2"]:
    return predict(net, x).numpy()


def _scores(contestant: str, outputs: Float[Array, "K M B 2"], parts: Split) -> dict[str, float]:
    """Return the scores of K checkpoints of M runs, of the contestant that they make."""

    def scores(members: Array) -> dict[str, float]:
        forecast = parts.original(*uncertainty.gaussian_heads(members))
        return table_one.scores_of(*forecast, parts.y[parts.test])

    if contestant == "deep_ensemble":
        return scores(outputs[-1])
    own = outputs[-1:] if contestant in ("single", "cooled") else outputs
    runs = [scores(own[:, i]) for i in range(own.shape[1])]
    return {
        name: float(np.mean([{**ALONE, **one}[name] for one in runs])) for name in runs[0] | ALONE
    }


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the differences that were decided on before, as `table_one.compare_all` does."""
    return table_one.compare_all(rows, COMPARISONS)


EXPERIMENT = Experiment(
    name="one-run",
    about="scores as in table-one; of one run, means over five runs",
    budget="as table-one, on concrete alone; five checkpoints of one training, three "
    "schedules of the same mean rate",
    cases=[
        {"data": "concrete", "contestant": name, "split": split}
        for name in CONTESTANTS
        for split in range(table_one.SPLITS)
    ],
    run=run,
    settings=dict(table_one.EXPERIMENT.settings),
    summarize=summarize,
)
