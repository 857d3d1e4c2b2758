"""How far each start of an ensemble moves the outputs of a trained network.

Three LeNet-5, trained on the digits, each from its own seed and split, are converted
with each start three times, and are not trained any further.
"""

import statistics
from functools import cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from ensedu.data import digits
from ensedu.methods import size_option
from ensedu.torch import ensemble, kl, models
from workshop.running.experiment import Experiment

#: Each start as the call that a user writes, from the farthest to the nearest of a method.
STARTS: list[tuple[str, dict[str, Any]]] = [
    ("batch_ensemble", {"init": "signs"}),
    ("batch_ensemble", {"init": "normal", "init_std": 0.5}),
    ("batch_ensemble", {"init": "normal", "init_std": 0.1}),
    ("batch_ensemble", {"init": "normal", "init_std": 0.03}),
    ("rank1", {"init": "signs", "posterior_std": 0.03}),
    ("rank1", {"init_std": 0.1, "posterior_std": 0.03}),
    ("rank1", {"init_std": 0.03, "posterior_std": 0.03}),
    ("mean_field", {"posterior_std": 0.1}),
    ("mean_field", {"posterior_std": 0.01}),
    ("mean_field", {"posterior_std": 0.001}),
]
NETWORKS, SEEDS = 3, 3

NetworkAndTest = tuple[torch.nn.Module, Float[Tensor, "B 1 28 28"], Int[Tensor, " B"]]


@cache
def trained(network: int, epochs: int) -> NetworkAndTest:
    """Return LeNet-5 number `network` in float64, its test images and their labels."""
    x, y, x_test, y_test = _digits(network)
    torch.manual_seed(network)
    net = models.lenet5()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(net(x[rows].float()), y[rows]).backward()
            optimizer.step()
    return net.double().eval(), x_test, y_test


def run(
    network: int, method: str, options: dict[str, Any], seed: int, epochs: int, members: int
) -> dict[str, float]:
    """Measure one start of one trained network, or the network itself (``"single"``)."""
    net, x, y = trained(network, epochs)
    with torch.no_grad():
        own = net(x)
        logits, nats = own[None], 0.0
        if method != "single":
            torch.manual_seed(seed)
            converted = ensemble(net, method, **size_option(method, members), **options)
            logits, nats = converted(x), float(kl(converted))
    return {
        "moved": float(((logits - own).norm(dim=(1, 2)) / own.norm()).mean()),
        "accuracy": float((logits.softmax(-1).mean(0).argmax(-1) == y).double().mean()),
        "kl": nats,
    }


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means over networks and seeds, a start a row, in the order of the rows."""
    starts: list[dict[str, Any]] = []
    for row in rows:
        start = {"method": row["method"], "options": row["options"]}
        if start not in starts:
            starts.append(start)
    return [
        start
        | {
            name: statistics.fmean(row[name] for row in rows if start.items() <= row.items())
            for name in ("moved", "accuracy", "kl")
        }
        for start in starts
    ]


def _digits(seed: int) -> tuple[Tensor, ...]:
    """Return images (N, 1, 28, 28) and labels to train on, and a fifth of both to test on."""
    x, y = map(torch.from_numpy, digits())
    x = F.interpolate(x.reshape(-1, 1, 8, 8), 28, mode="bilinear")
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    test, train = order[: len(x) // 5], order[len(x) // 5 :]
    return x[train], y[train], x[test], y[test]


EXPERIMENT = Experiment(
    name="starts",
    about="moved: the size of the change of the logits over their own, in float64 on the test "
    "set, mean over members; accuracy: that of the members' mean probabilities; kl: nats of a "
    "member under the layer's default prior; the summary holds means over networks and seeds",
    budget="3 LeNet-5, each trained for 12 epochs of Adam on its own split of the digits; each "
    "start drawn from 3 seeds, 4 members, no training after it",
    cases=[
        {"network": network, "method": method, "options": options, "seed": seed}
        for network in range(NETWORKS)
        for method, options, seeds in [
            *((method, options, SEEDS) for method, options in STARTS),
            ("single", {}, 1),
        ]
        for seed in range(seeds)
    ],
    run=run,
    settings={"epochs": 12, "members": 4},
    summarize=summarize,
)
