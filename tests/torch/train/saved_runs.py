"""Runs to save and to go on with."""

import hashlib
import json

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ensedu.torch.train.checkpoints import load, resume, save

N, B, CLASSES = 41, 13, 3


class Net(nn.Module):
    """Buffers, dropout, tied weights, a scalar, a parameter that is not stored in order."""

    def __init__(self, width=7):
        super().__init__()
        self.first = nn.Linear(5, width)
        self.norm = nn.BatchNorm1d(width)
        self.middle = nn.Linear(width, width)
        self.tied = self.middle
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.turned = nn.Parameter(torch.randn(CLASSES, width).T)
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("numbers", torch.arange(6)[::2])
        self.register_buffer("same_numbers", self.numbers)

    def forward(self, x):
        x = torch.dropout(self.norm(self.first(x)).tanh(), 0.3, self.training)
        return self.scale * (self.tied(self.middle(x)) @ self.turned)


def groups(net):
    """Two groups with settings of their own."""
    decayed = [p for p in net.parameters() if p.ndim > 1]
    return [
        {"params": decayed, "weight_decay": 0.1},
        {"params": [p for p in net.parameters() if p.ndim < 2], "lr": 0.005},
    ]


OPTIMIZERS = {
    "adam": lambda net: torch.optim.Adam(net.parameters(), lr=0.01, amsgrad=True),
    "adamw": lambda net: torch.optim.AdamW(groups(net), lr=0.01, betas=(0.8, 0.9)),
    "two groups": lambda net: torch.optim.Adam(groups(net)),
    "sgd": lambda net: torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True),
    "plain sgd": lambda net: torch.optim.SGD(net.parameters(), lr=0.01),
    "nadam": lambda net: torch.optim.NAdam(net.parameters(), lr=0.01),
    "asgd": lambda net: torch.optim.ASGD(net.parameters(), lr=0.01),
    "adafactor": lambda net: torch.optim.Adafactor(net.parameters(), lr=0.01),
}


class Run:
    """A net in training with all that decides its next step."""

    def __init__(self, optimizer="adam", dtype=torch.float64, seed=1, net=Net):
        torch.manual_seed(seed)
        self.net = net().to(dtype)
        self.optimizer = OPTIMIZERS[optimizer](self.net)
        self.generators = {"rows": torch.Generator().manual_seed(seed), "torch": GLOBAL}
        self.x = torch.randn(N, 5, generator=torch.Generator().manual_seed(0)).to(dtype)
        self.y = torch.arange(N) % CLASSES

    def train(self, steps):
        for _ in range(steps):
            rows = torch.randint(N, (B,), generator=self.generators["rows"])
            self.optimizer.zero_grad()
            cross_entropy(self.net(self.x[rows]), self.y[rows]).backward()
            self.optimizer.step()
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.97  # what a schedule does
        return self

    def save(self, folder, step, **options):
        return save(folder, self.net, self.optimizer, step, generators=self.generators, **options)

    def load(self, path, **options):
        return load(path, self.net, self.optimizer, generators=self.generators, **options)

    def resume(self, folder, **options):
        return resume(folder, self.net, self.optimizer, generators=self.generators, **options)

    def state(self):
        """Everything, by name."""
        found = {f"net {k}": v.clone() for k, v in self.net.state_dict().items()}
        for i, (name, p) in enumerate(self.net.named_parameters()):
            found |= {f"{name} {k}": v.clone() for k, v in self.optimizer.state[p].items()}
            found[f"grad {i}"] = torch.zeros(()) if p.grad is None else p.grad.clone()
        found |= {k: g.get_state() for k, g in self.generators.items()}
        settings = [{k: v for k, v in g.items() if k != "params"} for g in self.groups()]
        return found, settings

    def groups(self):
        return self.optimizer.param_groups


GLOBAL = torch.default_generator


def assert_same(one, other, but=()):
    (tensors, settings), (others, other_settings) = one, other
    assert settings == other_settings
    assert tensors.keys() == others.keys()
    for name, value in tensors.items():
        if not name.startswith(but or "no such name"):
            assert value.dtype == others[name].dtype and torch.equal(value, others[name]), name


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def forge(path, change=dict, data=None):
    """Make a checkpoint another one whose hashes fit, though no `save` has written it."""
    table = json.loads((path / "checkpoint.json").read_text())
    del table["sha256"]
    if data is not None:
        (path / "values.safetensors").write_bytes(data)
        table["values"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    table = change(table)
    words = json.dumps(table, sort_keys=True).encode()
    table["sha256"] = hashlib.sha256(words).hexdigest()
    (path / "checkpoint.json").write_text(json.dumps(table))
