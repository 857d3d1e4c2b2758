"""Networks and data to train on."""

import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option

M, N, B, m, n = 3, 22, 6, 5, 7
STEPS = 4  # of an epoch: 6 + 6 + 6 + 4 examples


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def data(make=None):
    """Inputs for what such a function makes, and labels."""
    words = {"words": torch.arange(N * m).view(N, m) % 13, "mask": numbers(N, m) > -1}
    shape = (N, 1, 4, 4) if make is converted else (N, m)
    return words if make is reader else numbers(*shape), torch.arange(N) % 2


def network(method, **options):
    torch.manual_seed(5)
    return et.mlp([m, n, 2], method, dtype=torch.float64, **size_option(method, M), **options)


class Model(nn.Sequential):
    """A model to convert: BatchNorm, and dropout that a checkpoint must go on with."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(),
            nn.Linear(12, n), nn.ReLU(), nn.Dropout(0.3), nn.Linear(n, 2),
        )  # fmt: skip


def converted(method, **options):
    torch.manual_seed(5)
    options |= {"head": "7"} if method == "last_layer" else {}
    return et.ensemble(Model().double(), method, **size_option(method, M), **options)


class Words(nn.Module):
    """Takes two inputs, by place or by name, and returns no tensor."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(13, n), nn.Linear(n, 2)

    def forward(self, words, mask):
        return {"logits": self.head((self.embed(words) * mask[..., None]).mean(1))}


def reader(method):
    torch.manual_seed(5)
    return et.ensemble(Words().double(), method, M)
