"""The running example: what each method makes of one curve with a gap in its data.

The curve is `ensedu.data.gap`. Its noise is known, N(0, 0.1²), and so is the likelihood: a network
gives a curve, a member or sample the density N(curve, 0.1²), and a method the mixture of those. So
what differs is only what each believes of the curve where there was no data. `tune` is how the
settings of each contestant were chosen, `run` makes the rows of the table that the chapters read,
and `draw` the curves::

    from workshop.experiments.running_example import EXPERIMENT, run

    run("deep_ensemble", data_seed=0, **EXPERIMENT.settings | {"seeds": 1})
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import counting, uncertainty
from ensedu.common import checks
from ensedu.data import gap
from ensedu.methods import METHODS, size_option
from ensedu.priors import Normal
from ensedu.torch import half_squared_error, mlp, predict
from ensedu.torch.base import seeded
from workshop import measured
from workshop.experiments.shared import best_tries, fit
from workshop.running.experiment import Experiment

Options = dict[str, float]
#: Widths of a member, 1-50-50-1, and M.
SIZES, MEMBERS = (1, 50, 50, 1), 4
#: 1-102-102-1 has as many parameters as four networks of 50, to 0.1 %.
WIDE = (1, 102, 102, 1)
#: Alike for all: 1,500 steps, and so many passes of what draws for a prediction.
SETTINGS = {"epochs": 500, "batch_size": 20, "passes": 32, "points": 400}
#: Where the curves are drawn: beyond the data on both sides.
GRID = {"low": -4.6, "high": 4.6, "number": 93}
#: Of five starts on the data of seed 0, the one from which the error of a deep ensemble's first
#: member in the gap is the median.
TYPICAL = 2
PLACES = ("regions", "gap")


@dataclass(frozen=True)
class TunedRecipe:
    """A method with its sizes, and the settings that were tried and chosen."""

    label: str
    method: str
    #: Four settings, tried alike; each has ``lr``.
    tries: tuple[Options, ...]
    #: The number of the one that was best.
    chosen: int
    #: From a setting to the options of `ensedu.torch.mlp`.
    options: Callable[[Options], dict[str, Any]] = lambda setting: {}
    sizes: tuple[int, ...] = SIZES

    @property
    def setting(self) -> Options:
        """The setting that was chosen."""
        return self.tries[self.chosen]


def _grid(name: str, values: Sequence[float]) -> tuple[Options, ...]:
    return tuple({"lr": lr, name: value} for value in values for lr in (0.002, 0.006))


def _rank1(setting: Options) -> dict[str, Any]:
    std = setting["init_std"]
    return {"init_std": std, "prior": Normal(1.0, std), "posterior_std": 0.005}


RATES = tuple({"lr": lr} for lr in (0.002, 0.004, 0.008, 0.016))
RECIPES = {
    "single": TunedRecipe("one network", "single", RATES, 2),
    "wide": TunedRecipe("one larger network", "single", RATES, 0, sizes=WIDE),
    "last_layer": TunedRecipe("last-layer ensemble", "last_layer", RATES, 2),
    "deep_ensemble": TunedRecipe("deep ensemble", "deep_ensemble", RATES, 2),
    "batch_ensemble_signs": TunedRecipe(
        "BatchEnsemble from signs", "batch_ensemble", RATES, 1, lambda setting: {"init": "signs"}
    ),
    "batch_ensemble_normal": TunedRecipe(
        "BatchEnsemble from N(1, σ²)", "batch_ensemble", _grid("init_std", (0.25, 0.5)), 1,
        lambda setting: {"init": "normal", "init_std": setting["init_std"]},
    ),
    "rank1": TunedRecipe("rank-1 BNN", "rank1", _grid("init_std", (0.1, 0.5)), 1, _rank1),
    "mean_field": TunedRecipe(
        "mean-field BNN", "mean_field", _grid("posterior_std", (0.003, 0.03)), 0,
        lambda setting: {"posterior_std": setting["posterior_std"]},
    ),
    "mc_dropout": TunedRecipe(
        "MC dropout", "mc_dropout", _grid("p", (0.02, 0.05)), 2,
        lambda setting: {"p": setting["p"]},
    ),
}  # fmt: skip


def nll(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the NLL of the known noise without its constant, the mean over members."""
    return half_squared_error(outputs / gap.noise, targets / gap.noise)


def trained(
    row: TunedRecipe, setting: Options, data_seed: int, seed: int, epochs: int, batch_size: int
) -> nn.Module:  # fmt: skip
    """Return a contestant, trained on one draw of data from one start."""
    size = size_option(row.method, MEMBERS) if METHODS[row.method].has_members else {}
    with seeded(seed):
        net = mlp(row.sizes, row.method, **size, **row.options(setting), dtype=torch.float64)
    _train(net, setting, data_seed, seed, epochs, batch_size)
    return net


def _train(
    net: nn.Module, setting: Options, data_seed: int, seed: int, epochs: int, batch_size: int
) -> None:  # fmt: skip
    x, y = map(torch.from_numpy, gap.sample(np.random.default_rng(data_seed)))
    fit(
        net, x, y, nll, epochs=epochs, batch_size=batch_size, lr=setting["lr"], seed=seed,
    )  # fmt: skip


def beliefs(
    row: TunedRecipe, net: nn.Module, x: Float[Array, "B 1"], passes: int, seed: int
) -> Float[Array, "M B 1"]:
    """Return the curve of each member, or of each of so many draws."""
    method = METHODS[row.method]
    each = passes // MEMBERS if method.has_members else passes
    with seeded(seed):
        samples = each if method.stochastic else 1
        return predict(net, torch.from_numpy(x), samples=samples).numpy()


def run(
    contestant: str, data_seed: int, seeds: int, epochs: int, batch_size: int, passes: int,
    points: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the scores of a contestant on one draw of data, each a list over initial seeds."""
    row = _contestant(contestant)
    x, truth, y = new_points(data_seed, points)
    found: dict[str, Any] = {}
    for seed in starts(data_seed, seeds):
        net = trained(row, row.setting, data_seed, seed, epochs, batch_size)
        means = beliefs(row, net, x, passes, seed)
        for place, rows in zip(PLACES, np.split(np.arange(len(x)), 2), strict=True):
            scores = score(means[:, rows], truth[rows], y[rows])
            for name, value in scores.items():
                found.setdefault(place, {}).setdefault(name, []).append(value)
    return {"parameters": counting.count(net).total, **found}


def starts(data_seed: int, seeds: int) -> range:
    """Return the initial seeds of a draw of data, which no other draw has."""
    return range(seeds * data_seed, seeds * (data_seed + 1))


def tune(
    contestant: str, setting: Options, data_seed: int, seeds: int, epochs: int, batch_size: int,
    passes: int, points: int,
) -> dict[str, float]:  # fmt: skip
    """Return the NLL of a setting where there is data, which is all that a user could look at."""
    row = _contestant(contestant)
    x, truth, y = (part[:points] for part in new_points(data_seed, points))
    values = []
    for seed in range(seeds):
        net = trained(row, setting, data_seed, seed, epochs, batch_size)
        values.append(score(beliefs(row, net, x, passes, seed), truth, y)["nll"])
    return {"nll": float(np.mean(values))}


def draw(
    contestant: str, data_seed: int, seed: int, epochs: int, batch_size: int, passes: int,
    low: float, high: float, number: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the curves of a contestant: mean, standard deviation without noise, four members."""
    row = _contestant(contestant)
    net = trained(row, row.setting, data_seed, seed, epochs, batch_size)
    x = np.linspace(low, high, number)[:, None]
    means = beliefs(row, net, x, passes, seed)[..., 0]
    members = means if len(means) <= MEMBERS else means[:: len(means) // MEMBERS]
    return {
        "mean": means.mean(0).tolist(),
        "spread": means.std(0).tolist(),
        "members": members.tolist(),
    }


def score(
    means: Float[Array, "M B 1"], truth: Float[Array, "B 1"], y: Float[Array, "B 1"]
) -> dict[str, float]:
    """Return what a set of curves is worth at new examples y, and how far its members differ."""
    variance = np.full_like(means, gap.noise**2)
    scores = {
        "rmse": uncertainty.rmse(means.mean(0), truth),
        "nll": uncertainty.mixture_nll(uncertainty.gaussian_nll(means, variance, y)).mean(),
        "coverage": uncertainty.coverage(means, variance, y),
    }
    if len(means) > 1:
        scores |= {
            "spread": means.std(0).mean(),
            "error_correlation": uncertainty.error_correlation(means, truth),
        }
    return {name: float(value) for name, value in scores.items()}


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over data and seeds, and paired differences from one network, over data.

    A row a contestant, place and score: ``mean``, and but for one network ``difference`` with the
    95 % interval from ``low`` to ``high`` of its mean over draws of data.
    """
    by = {name: [row for row in rows if row["contestant"] == name] for name in RECIPES}
    found = []
    for name, place in product(RECIPES, PLACES):
        for key in by[name][0][place]:
            values = np.array([row[place][key] for row in by[name]])
            entry = {"contestant": name, "place": place, "score": key, "mean": values.mean()}
            if name != "single" and key in by["single"][0][place]:
                ours = uncertainty.paired(
                    values - np.array([row[place][key] for row in by["single"]])
                )
                entry |= {"difference": ours.mean, "low": ours.low, "high": ours.high}
            found.append({k: v if isinstance(v, str) else float(v) for k, v in entry.items()})
    return found


def summary_row(contestant: str, place: str, score: str) -> Mapping[str, Any]:
    """Return the row of the committed summary, means over data and starts.

    `place` is ``"gap"`` or ``"regions"``, where the data lie; `score` is ``"nll"`` (nats),
    ``"rmse"``, ``"coverage"``, and for what has members ``"spread"`` or ``"error_correlation"``.
    The row has ``mean``, and for the first three of all but one network ``difference`` from one
    network, with the ends of its 95 % interval, ``low`` and ``high``.
    """
    _contestant(contestant)
    checks.one_of("place", place, PLACES)
    summary = measured.load("running-example")["summary"]
    return measured.row(summary, contestant=contestant, place=place, score=score)


def best_settings(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Return the number of each contestant's best setting, by its mean NLL over data."""
    return best_tries(rows, {name: row.tries for name, row in RECIPES.items()}, key="setting")


def _contestant(contestant: str) -> TunedRecipe:
    return RECIPES[checks.one_of("contestant", contestant, RECIPES)]


def new_points(data_seed: int, points: int) -> tuple[Array, Array, Array]:
    """Return x, the curve, and new examples: so many where data lies, and in the gap."""
    rng = np.random.default_rng([data_seed, 1])
    regions, _ = gap.sample(rng, points)
    inside = rng.uniform(*gap.gaps[0], (points, 1))
    x = np.concatenate([regions, inside])
    truth = gap.truth(x)
    return x, truth, truth + gap.noise * rng.standard_normal(x.shape)


TUNING = Experiment(
    name="running-example-tuning",
    about="nll: nats a new example between the data (not in the gap) of the mixture of a "
    "contestant's members or draws, on data of seeds apart from those of the running example",
    budget="four settings a contestant, 4 draws of data, 2 initial seeds, 500 epochs of Adam each",
    cases=[
        {"contestant": name, "setting": setting, "data_seed": 1000 + data_seed}
        for name, row in RECIPES.items()
        for setting in row.tries
        for data_seed in range(4)
    ],
    run=tune,
    settings={"seeds": 2, **SETTINGS},
    summarize=best_settings,
)
EXPERIMENT = Experiment(
    name="running-example",
    about="each score a list over initial seeds: rmse from the curve without noise; nll, nats a "
    "new example, of the mixture of members or draws; coverage of new examples by its central 95 "
    "%; spread, standard deviation of members, and error_correlation, that of their errors; the "
    "summary holds means, and paired differences from one network with 95 % intervals",
    budget="20 draws of data x 5 initial seeds of its own, 500 epochs of Adam each, alike for all; "
    "settings chosen among four on other data, see running-example-tuning; 32 passes of what draws",
    cases=[
        {"contestant": name, "data_seed": data_seed} for name in RECIPES for data_seed in range(20)
    ],
    run=run,
    settings={"seeds": 5, **SETTINGS},
    summarize=summarize,
)
CURVES = Experiment(
    name="running-example-curves",
    about="the curves of each contestant on the data of seed 0, started from seed 0: mean and "
    "spread over members or draws, and four of them, on an even grid from low to high",
    budget="as running-example",
    cases=[{"contestant": name} for name in RECIPES],
    run=draw,
    settings={
        "data_seed": 0,
        "seed": 0,
        **{name: value for name, value in SETTINGS.items() if name != "points"},
        **GRID,
    },
)
