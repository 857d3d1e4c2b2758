"""How far each method is from the posterior that `workshop.experiments.nuts` holds.

All contestants see that table's data with its known noise, and are 1-20-1 networks with tanh. The
mean-field BNN has exactly the same model: same functions, same prior of every weight and bias, so
what differs is the family of posteriors alone. It trains by Bayes by Backprop, on draws of weights,
all starts at once, see `Factorized`. The others are what their users call by these names, without
that prior; their settings are those of the running example, fixed before any result.

Training goes on until it does not matter: full batches, a rate that falls in three parts.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import uncertainty
from ensedu.common import checks
from ensedu.data import gap
from ensedu.priors import Normal
from ensedu.torch import fit, mlp, predict
from ensedu.torch.base import seeded
from ensedu.torch.variational import inverse_softplus, normal_kl, softplus
from workshop import measured
from workshop.experiments import nuts
from workshop.experiments.running_example import nll
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

#: Members of a deep ensemble and of a rank-1 BNN.
MEMBERS = {"deep_ensemble": 5, "rank1": 4}
#: Draws of all weights that a step of the mean-field BNN averages its gradient over.
SAMPLES = 32
#: Those without noise: members of one stack in training.
STACKED = ("single", "deep_ensemble")
SCORES = ("mean_difference", "std_ratio", "wasserstein")


@dataclass(frozen=True)
class PosteriorRecipe:
    """A method, what it is called, and the options of `ensedu.torch.mlp`."""

    label: str
    method: str
    options: dict[str, Any] = field(default_factory=dict)


RECIPES = {
    "single": PosteriorRecipe("one network", "single"),
    "deep_ensemble": PosteriorRecipe("deep ensemble", "deep_ensemble"),
    "mc_dropout": PosteriorRecipe("MC dropout", "mc_dropout", {"p": 0.05}),
    "rank1": PosteriorRecipe(
        "rank-1 BNN", "rank1",
        {"init_std": 0.1, "prior": Normal(1.0, 0.1), "posterior_std": 0.005},
    ),
    "mean_field": PosteriorRecipe("mean-field BNN", "mean_field"),
}  # fmt: skip


class Factorized(nn.Module):
    """Independent normals over all parameters of `nuts.curve`, (starts, D): mean and softplus(ρ).

    Each start is ``mlp(nuts.SIZES, "mean_field", …)``, which `fit` would train a start after the
    other: a step is so small that its time is Python's.
    """

    def __init__(self, starts: int, posterior_std: float = 0.01) -> None:
        super().__init__()
        shape = starts, nuts.NUMBER
        self.mean = nn.Parameter(torch.randn(shape, dtype=torch.float64))
        self.rho = nn.Parameter(torch.full_like(self.mean, inverse_softplus(posterior_std)))

    def forward(self, x: Float[Tensor, "B 1"], samples: int = 1) -> Float[Tensor, "starts S B"]:
        eps = torch.randn(len(self.mean), samples, nuts.NUMBER, dtype=torch.float64)
        drawn = self.mean[:, None] + softplus(self.rho)[:, None] * eps
        return nuts.curve(drawn, x[:, 0], torch)

    def free_energies(
        self, x: Float[Tensor, "B 1"], y: Float[Tensor, "B 1"], samples: int
    ) -> Float[Tensor, " starts"]:
        """Return the negative ELBO of each start, in nats: KL in closed form, the rest drawn."""
        errors = (self(x, samples) - y[:, 0]) / gap.noise  # (starts, S, B)
        constant = len(x) * math.log(gap.noise * math.sqrt(2 * math.pi))
        expected = 0.5 * errors.square().mean(1).sum(1) + constant
        return normal_kl(self.mean, self.rho, nuts.PRIOR).sum(1) + expected


def trained(
    contestant: str, data_seed: int, starts: int, steps: list[int], rates: list[float]
) -> list[nn.Module]:
    """Return a contestant, trained from so many starts of its own on one draw of data.

    Networks without noise are one stack in training, and so are the factorized posteriors: Adam
    moves each as if it were alone.
    """
    row = RECIPES[checks.one_of("contestant", contestant, RECIPES)]
    first = starts * data_seed
    if row.method == "mean_field":
        return [_factorized(data_seed, first, starts, steps, rates)]
    size = MEMBERS.get(contestant)
    if contestant in STACKED:
        return [_train_network(row, data_seed, first, starts * (size or 1), steps, rates)]
    return [_train_network(row, data_seed, first + i, size, steps, rates) for i in range(starts)]


def _train_network(
    row: PosteriorRecipe, data_seed: int, seed: int, members: int | None, steps: list[int],
    rates: list[float],
) -> nn.Module:  # fmt: skip
    method = "deep_ensemble" if row.method == "single" else row.method
    x, y = _data(data_seed)
    with seeded(seed), one_thread():
        net = mlp(
            nuts.SIZES, method, members, activation="tanh", dtype=torch.float64, **row.options
        )
        for part, (epochs, lr) in enumerate(zip(steps, rates, strict=True)):
            fit(
                net, x, y, nll, epochs=epochs, batch_size=len(x), lr=lr, bar=False,
                seed=len(steps) * seed + part,
            )  # fmt: skip
    return net


def _factorized(
    data_seed: int, seed: int, starts: int, steps: list[int], rates: list[float]
) -> Factorized:
    x, y = _data(data_seed)
    with seeded(seed), one_thread():
        net = Factorized(starts)
        adam = torch.optim.Adam(net.parameters())
        for epochs, lr in zip(steps, rates, strict=True):
            adam.param_groups[0]["lr"] = lr
            for _ in range(epochs):
                adam.zero_grad()
                net.free_energies(x, y, SAMPLES).sum().backward()
                adam.step()
    return net


def _data(data_seed: int) -> tuple[Tensor, Tensor]:
    x, y = map(torch.from_numpy, gap.sample(np.random.default_rng(data_seed)))
    return x, y


def beliefs(
    contestant: str, nets: list[nn.Module], x: Float[Array, " B"], starts: int, passes: int
) -> Float[Array, "starts S B"]:
    """Return the curves that a contestant believes in, of each start: (starts, S, B).

    They are its members, or so many draws, shared by its members if it has both.
    """
    inputs = torch.from_numpy(x[:, None])
    with seeded(0), one_thread():
        if contestant in STACKED:
            return predict(nets[0], inputs)[..., 0].unflatten(0, (starts, -1)).numpy()
        samples = passes // MEMBERS.get(contestant, 1)
        if contestant == "mean_field":
            with torch.no_grad():
                return nets[0](inputs, samples).numpy()
        return torch.stack([predict(net, inputs, samples=samples)[..., 0] for net in nets]).numpy()


def distances(f: Float[Array, "S B"], reference: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return how far curves at `nuts.coarse_grid` are from a row of the table nuts, by place.

    ``mean_difference`` is the mean over x of the distance of the means, ``std_ratio`` that of the
    standard deviations' ratio, to the reference's, ``wasserstein`` that of the distance of the
    distributions of f(x).
    """
    mean, std = (np.array(reference[key])[:: nuts.COARSE] for key in ("mean", "std"))
    by_x = {
        "mean_difference": np.abs(f.mean(0) - mean),
        "std_ratio": f.std(0) / std,
        "wasserstein": nuts.wasserstein(f, np.array(reference["quantiles"]).T),
    }
    return {
        place: {name: float(values[rows].mean()) for name, values in by_x.items()}
        for place, rows in nuts.inputs_by_place(nuts.coarse_grid()).items()
    }


def run(
    contestant: str, data_seed: int, starts: int, steps: list[int], rates: list[float],
    passes: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the distances of a contestant on one draw of data, each a list over its starts."""
    reference = measured.row(measured.load("nuts")["rows"], data_seed=data_seed)
    nets = trained(contestant, data_seed, starts, steps, rates)
    found: dict[str, Any] = {place: {name: [] for name in SCORES} for place in nuts.PLACES}
    for f in beliefs(contestant, nets, nuts.coarse_grid(), starts, passes):
        for place, scores in distances(f, dict(reference)).items():
            for name, value in scores.items():
                found[place][name].append(value)
    return found


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means over draws of data with 95 % intervals; averages over starts come first."""
    found = []
    for name in RECIPES:
        own = [row for row in rows if row["contestant"] == name]
        for place in nuts.PLACES:
            for score in SCORES:
                values = np.array([row[place][score] for row in own])
                ours = uncertainty.paired(values)
                entry = {"contestant": name, "place": place, "score": score}
                found.append({**entry, "mean": ours.mean, "low": ours.low, "high": ours.high})
    return found


SETTINGS = {"starts": 5, "steps": [1500, 1000, 500], "rates": [0.05, 0.01, 0.002], "passes": 1024}
EXPERIMENT = Experiment(
    name="nuts-distances",
    about="how far f(x) of each contestant is from the table nuts on the same data, each a list "
    "over starts, the mean over every fourth x of the grid: mean_difference, distance of the "
    "means, in units of y; std_ratio, its standard deviation over that of NUTS; wasserstein, "
    "Wasserstein-1 distance of the distributions of f(x); the summary holds means over data with "
    "95 % intervals",
    budget="5 draws of data x 5 starts, 3,000 full-batch steps of Adam each at falling rates, "
    "alike for all; settings of the running example, no tuning",
    cases=[
        {"contestant": name, "data_seed": data_seed} for data_seed in range(5) for name in RECIPES
    ],
    run=run,
    settings=SETTINGS,
    summarize=summarize,
)
