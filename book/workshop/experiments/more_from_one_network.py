"""What one training holds besides its last network, by what its learning rate does, on concrete.

The protocol is that of `deep_ensembles`, its splits included; on a split, all learning rates begin
with the same five networks, and see the rows in the same order. ``constant``: the published rate.
``falls``: along half a cosine, from twice that rate to 0. ``holds``: the same for two thirds of the
steps, and then the rate that it has reached; so the last third is all in which both differ.
``restarts``: five such falls (Huang et al. 2017). The mean rate is the published one in all but
``holds``.

Of each run, ``end`` is its last network. ``epochs`` averages the predictions after its last five
epochs, or at the ends of five falls. ``weights`` averages the weights at 20 steps of the last
third, and ``swag`` predicts with 32 weight samples from a Gaussian around them, as the contest's
does. ``five`` are all five runs, their ends together. Scores of one run are means over five.

`curves` is the same of the running example: the functions of the last five epochs of one run, and
of five runs.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import uncertainty
from ensedu.common import checks
from ensedu.contest.trainers.networks import PASSES
from ensedu.contest.trainers.swag import SNAPSHOTS, WINDOW, draw_weights
from ensedu.data import Split, gap
from ensedu.torch import mlp, predict
from ensedu.torch.base import seeded
from workshop import measured
from workshop.experiments import deep_ensembles, nuts
from workshop.experiments import running_example as example
from workshop.experiments.shared import Recorder, fit
from workshop.running.experiment import Experiment

#: How many checkpoints are averaged, and how often the rate falls.
KEPT = 5
#: What a rate falls from, times the constant one.
PEAK = 2.0
SCHEDULES = ("constant", "falls", "holds", "restarts")
#: What readers call them.
NAMES = {
    "constant": "constant", "holds": "holds", "falls": "falls to zero",
    "restarts": "falls five times",
}  # fmt: skip
#: The schedules of the curves, and the draw of data that is shown: of 20, one at which five runs at
#: the constant rate lie apart in the gap as the median says.
DRAWN, SHOWN = ("constant", "falls", "restarts"), 3
#: What is made of a run.
MADE = ("end", "epochs", "weights", "swag", "five")
#: From what others differ, and in what; all decided before any of this table was computed, though
#: an older one had shown last epochs and snapshots. ``change`` is the NLL minus that of the end.
COMPARISONS: tuple[tuple[str, Sequence[str], Sequence[str]], ...] = (
    *(
        (f"{own} end", [f"{own} {made}" for made in MADE[1:]], ("rmse", "nll"))
        for own in SCHEDULES[:3]
    ),
    ("constant end", ["falls end", "holds end", "restarts epochs"], ("rmse", "nll")),
    ("constant five", ["restarts epochs"], ("rmse", "nll")),
    ("falls end", ["holds swag"], ("rmse", "nll")),
    *((f"falls {made}", [f"holds {made}"], ("change",)) for made in ("epochs", "weights", "swag")),
)


def rate(schedule: str, step: int, steps: int, lr: float) -> float:
    """Return the learning rate after so many of all steps, where the constant one is `lr`."""
    if checks.one_of("schedule", schedule, SCHEDULES) == "constant":
        return lr
    fall = steps // KEPT if schedule == "restarts" else steps
    step = min(step, round((1 - WINDOW) * steps)) if schedule == "holds" else step % fall
    return PEAK * lr * (1 + math.cos(math.pi * step / fall)) / 2


def run(
    data: str, schedule: str, split: int, seeds: int, epochs: int, batch_size: int, lr: float
) -> dict[str, Any]:
    """Return what is made of the runs of one split: scores, each a list over initial seeds."""
    parts = deep_ensembles.split_of(data, split)
    steps = math.ceil(len(parts.train) / batch_size) * epochs
    ends = ends_of(schedule, steps, epochs)
    looks = np.linspace((1 - WINDOW) * steps, steps, SNAPSHOTS).round().astype(int).tolist()
    at = sorted({*ends, *looks})
    found: dict[str, Any] = {made: {} for made in MADE}
    for seed in range(seeds * split, seeds * (split + 1)):
        net = deep_ensembles.untrained_networks(
            parts, deep_ensembles.RECIPES["single"], 10_000 + seed
        )
        recorder = Recorder(
            partial(weights_of, net), at, partial(rate, schedule, steps=steps, lr=lr)
        )
        deep_ensembles.train(
            net, parts, deep_ensembles.RECIPES["single"], seed, epochs, batch_size, lr,
            recorder.optimizer,
        )  # fmt: skip
        kept = dict(zip(at, recorder.kept, strict=True))
        outputs = partial(outputs_of, net, torch.from_numpy(parts.x_test))
        scores = partial(scores_of, parts)
        seen = torch.stack([kept[step] for step in looks])  # (K, M, W)
        members = outputs(torch.stack([kept[step] for step in ends]))
        made = {
            "end": scores(members[-1:]),
            "epochs": scores(members),
            "weights": scores(outputs(seen.mean(0)[None])),
            "swag": scores(outputs(samples_around(seen, seed))),
            "five": scores(members[-1][:, None]),
        }
        for name, own in made.items():
            for score, value in own.items():
                found[name].setdefault(score, []).append(value)
    return {"train": len(parts.train), "test": len(parts.test), **found}


def ends_of(schedule: str, steps: int, epochs: int) -> range:
    """Return after which steps the last five epochs end, or five falls of the rate."""
    apart = steps // (KEPT if schedule == "restarts" else epochs)
    return range(steps - (KEPT - 1) * apart, steps + 1, apart)


def weights_of(net: nn.Module) -> Float[Tensor, "M W"]:
    """Return all parameters of each member."""
    return torch.cat([p.detach().flatten(1) for p in net.parameters()], dim=1).clone()


def outputs_of(
    net: nn.Module, x: Float[Tensor, "B m"], weights: Float[Tensor, "K M W"]
) -> Float[Array, "K M B 2"]:
    """Return what networks with these weights say; `net` keeps the last of them."""
    found = []
    for own in weights:
        start = 0
        for p in net.parameters():
            size = p[0].numel()
            p.data.copy_(own[:, start : start + size].view_as(p))
            start += size
        found.append(predict(net, x).numpy())
    return np.stack(found)


def samples_around(seen: Float[Tensor, "K M W"], seed: int) -> Float[Tensor, "S M W"]:
    """Return weight samples from SWAG's Gaussian of each run."""
    generator = torch.Generator().manual_seed(seed)
    draw: Callable[[Tensor], Tensor] = partial(draw_weights, generator=generator)
    runs = seen.float().unbind(1)
    return torch.stack([torch.stack([draw(own) for own in runs]) for _ in range(PASSES)]).double()


def scores_of(parts: Split, outputs: Float[Array, "K M B 2"]) -> dict[str, float]:
    """Return the scores of K networks together, means over M runs."""
    each = []
    for i in range(outputs.shape[1]):
        forecast = parts.original(*uncertainty.gaussian_heads(outputs[:, i]))
        scores = deep_ensembles.scores_of(*forecast, parts.y[parts.test])
        each.append([scores["rmse"], scores["nll"]])
    return dict(zip(("rmse", "nll"), np.mean(each, axis=0).tolist(), strict=True))


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the differences that were decided on before, as `deep_ensembles.compare_all` does."""
    each = []
    for row in rows:
        last = np.array(row["end"]["nll"])
        for made in MADE:
            own = row[made] | {"change": (np.array(row[made]["nll"]) - last).tolist()}
            name = {"contestant": f"{row['schedule']} {made}"}
            each.append({k: row[k] for k in ("data", "split", "train", "test")} | name | own)
    return deep_ensembles.compare_all(each, COMPARISONS)


def curves(
    schedule: str, data_seed: int, epochs: int, batch_size: int, lr: float
) -> dict[str, Any]:
    """Return how far the functions of one run lie apart, and those of five, by place.

    Of one run: the mean over five. ``curves`` are those of the first run, and of all five ends; of
    data that is not shown there are none.
    """
    x, y = map(torch.from_numpy, gap.sample(np.random.default_rng(data_seed)))
    inputs = torch.from_numpy(nuts.grid()[:, None])
    steps = math.ceil(len(x) / batch_size) * epochs
    with seeded(data_seed):
        net = mlp(example.SIZES, "deep_ensemble", KEPT, dtype=torch.float64)
    recorder = Recorder(
        lambda: predict(net, inputs).numpy()[..., 0], ends_of(schedule, steps, epochs),
        partial(rate, schedule, steps=steps, lr=lr),
    )  # fmt: skip
    fit(
        net, x, y, example.nll, epochs=epochs, batch_size=batch_size, lr=lr, seed=data_seed,
        optimizer=recorder.optimizer
    )  # fmt: skip
    kept = np.stack(recorder.kept)  # (K, M, B)
    places = nuts.inputs_by_place(nuts.grid())
    found: dict[str, Any] = {
        place: {
            "one": float(kept.std(0)[:, places[place]].mean()),
            "five": float(kept[-1].std(0)[places[place]].mean()),
        }
        for place in example.PLACES
    }
    shown = slice(None) if data_seed == SHOWN else slice(0)
    curves = {"one": kept[shown, 0], "five": kept[-1, shown]}
    return found | {"curves": {name: own.tolist() for name, own in curves.items()}}


def drawn() -> tuple[Float[Array, " B"], Float[Array, "N 2"], dict[str, Array]]:
    """Return where curves are drawn, the data, and of each learning rate (2, 5, B).

    They are those of the table: what one run passed, and the ends of five.
    """
    rows = measured.load("more-from-one-network-curves")["rows"]
    found = {
        NAMES[name]: measured.row(rows, schedule=name, data_seed=SHOWN)["curves"] for name in DRAWN
    }
    curves = {name: np.array([own["one"], own["five"]]) for name, own in found.items()}
    data = np.hstack(gap.sample(np.random.default_rng(SHOWN)))
    return nuts.grid(), data, curves


EXPERIMENT = Experiment(
    name="more-from-one-network",
    about="by what is made of one run, lists over initial seeds, means over five runs: rmse in "
    "MPa; nll, nats an example",
    budget="as deep-ensembles, on concrete alone; four schedules of the learning rate; no tuning",
    cases=[
        {"data": "concrete", "schedule": schedule, "split": split}
        for schedule in SCHEDULES
        for split in range(deep_ensembles.SPLITS)
    ],
    run=run,
    settings=dict(deep_ensembles.EXPERIMENT.settings),
    summarize=summarize,
)
CURVES = Experiment(
    name="more-from-one-network-curves",
    about="by place, the standard deviation of what is predicted: one, after the last five epochs "
    "of a run, or at the ends of five falls of its rate, means over five runs; five, at the ends "
    "of five runs. curves, of one draw of data: (5, 93), the first run, and the five ends",
    budget="3 schedules of the learning rate, 20 draws of data, 300 epochs of Adam; the constant "
    "rate that the running example chose for a deep ensemble; epochs by a trial on one draw",
    cases=[
        {"schedule": schedule, "data_seed": data_seed}
        for schedule in DRAWN
        for data_seed in range(20)
    ],
    run=curves,
    settings={"epochs": 300, "batch_size": 20, "lr": 0.008},
)
