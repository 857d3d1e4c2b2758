"""What tests of training do: train, kill a copy of this process, compare."""

import warnings
from contextlib import contextmanager

import torch

import ensedu.torch as et
from tests.torch.train.nets import B


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
