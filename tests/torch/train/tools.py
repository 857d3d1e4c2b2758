"""Networks, data and trainings that several tests of training share."""

import warnings
from contextlib import contextmanager

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


@contextmanager
def copied_process():
    """Silence the warning of threads that wait here, which a copy does not have and not miss."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def nll_of(outputs, targets):
    outputs = outputs["logits"] if isinstance(outputs, dict) else outputs
    return et.softmax_cross_entropy(outputs, targets)


def train(net, x, y, nll=et.softmax_cross_entropy, **settings):
    return et.fit(net, x, y, nll, **({"epochs": 1, "batch_size": B} | settings))


def keeping(made):
    """A function that makes an optimizer, and keeps it in a list."""

    def make(groups, lr):
        made.append(torch.optim.AdamW(groups, lr=lr))
        return made[-1]

    return make


def same(one, other):
    """Whether two nested states are equal to the bit."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def told(values):
    """A loss whose validation gives these values in turn."""
    left = list(values)

    def nll(outputs, targets):
        if torch.is_grad_enabled():
            return et.softmax_cross_entropy(outputs, targets)
        return torch.tensor(left.pop(0))

    return nll
