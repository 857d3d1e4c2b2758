"""How far each start of an ensemble moves the outputs of a trained network.

    python benchmarks/starts.py ensedu/results/starts.json

Three LeNet-5, trained on scikit-learn's digits, each from its own seed and split, are converted
with each start three times. Rows hold means over the nine, and over members: `moved`, the size of
the change of the logits over their own, in float64 on the test set; `accuracy`, that of the
members' mean probabilities; `kl`, nats of a member under the layer's default prior. None of it is
trained any further.
"""

import json
import statistics
import sys
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch.nn import functional as F

from ensedu.methods import METHODS, sized
from ensedu.torch import ensemble, kl, models

sys.path.insert(0, str(Path(__file__).parent))
from machine import machine
from results import to_readme, write

NETWORKS, STARTS, MEMBERS, EPOCHS = 3, 3, 4, 12
#: Each start as the call that a user writes, from the farthest to the nearest of a method.
ROWS = [
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


def digits(seed):
    """Return images (N, 1, 28, 28) and labels to train on, and a fifth of both to test on."""
    images, labels = load_digits(return_X_y=True)
    x = torch.from_numpy(images / 16).reshape(-1, 1, 8, 8)
    x, y = F.interpolate(x, 28, mode="bilinear"), torch.from_numpy(labels).long()
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    test, train = order[: len(x) // 5], order[len(x) // 5 :]
    return x[train], y[train], x[test], y[test]


def trained(seed, epochs):
    """Return a LeNet-5 in float64, its test images and their labels."""
    x, y, x_test, y_test = digits(seed)
    torch.manual_seed(seed)
    net = models.lenet5()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(net(x[rows].float()), y[rows]).backward()
            optimizer.step()
    return net.double().eval(), x_test, y_test


@torch.no_grad()
def start(net, method, options, x, y, seed):
    """Measure one start."""
    torch.manual_seed(seed)
    converted = ensemble(net, method, **sized(method, MEMBERS), **options)
    logits, own = converted(x), net(x)
    return {
        "moved": float(((logits - own).norm(dim=(1, 2)) / own.norm()).mean()),
        "accuracy": accuracy(logits.softmax(-1).mean(0), y),
        "kl": float(kl(converted)),
    }


def accuracy(probabilities, y):
    """Return the part of the examples whose most probable class is right."""
    return float((probabilities.argmax(-1) == y).double().mean())


def measure(networks=NETWORKS, starts=STARTS, epochs=EPOCHS):
    """Return the table of all rows."""
    nets = [trained(seed, epochs) for seed in range(networks)]
    single = [accuracy(net(x).softmax(-1), y) for net, x, y in nets]
    rows = []
    for method, options in ROWS:
        found = [
            start(net, method, options, x, y, seed) for net, x, y in nets for seed in range(starts)
        ]
        means = {key: statistics.fmean(one[key] for one in found) for key in found[0]}
        rows.append({"method": method, "options": options, **means})
    return {
        "networks": networks, "starts": starts, "members": MEMBERS, "epochs": epochs,
        "accuracy": statistics.fmean(single), "rows": rows,
    }  # fmt: skip


def table(result):
    """Return the result in Markdown, a start a line."""
    head = ["method", "start", "outputs move by", "accuracy of the ensemble"]
    lines = [head, ["---", "---", "--:", "--:"]]
    for row in result["rows"]:
        options = ", ".join(
            f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
            for key, value in row["options"].items()
        )
        lines.append(
            [METHODS[row["method"]].label, f"`{options}`", percent(row["moved"]),
             f"{100 * row['accuracy']:.0f} %"]
        )  # fmt: skip
    lines.append(["one network", "as it was trained", "0 %", f"{100 * result['accuracy']:.0f} %"])
    return "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


def percent(part):
    """Write a part in hundredths, with a decimal where it is small."""
    return f"{100 * part:.{0 if part >= 0.1 else 1}f} %"


if __name__ == "__main__":
    where = machine()
    write(sys.argv[1], {"machine": where, **measure()})
    to_readme("starts", table(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
