"""Networks of every method to run."""

import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option

S, M, B, m, n = 2, 3, 7, 5, 11
DOUBLE = {"rtol": 1e-12, "atol": 1e-12}


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


class Body(nn.Sequential):
    """A model to convert, with what behaves otherwise in training mode."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(0.4),
            nn.Flatten(), nn.Linear(18, n), nn.ReLU(), nn.Dropout(0.4), nn.Linear(n, 2),
        )  # fmt: skip


def converted(method, **options):
    torch.manual_seed(0)
    spread = {"rank1": {"posterior_std": 0.9}, "mean_field": {"posterior_std": 0.9}}
    spread["last_layer"] = {"head": "8"}
    net = et.ensemble(
        Body().double(), method, **size_option(method, M), **spread.get(method, {}), **options
    )
    with torch.no_grad():  # statistics of a training that was
        for part in net.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.running_mean.copy_(numbers(*part.running_mean.shape))
                part.running_var.copy_(1 + numbers(*part.running_var.shape).square())
    return net
