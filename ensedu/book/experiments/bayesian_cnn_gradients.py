"""How noisy the gradients of a Bayesian LeNet-5 are, by layer, estimator and size of the batch.

`run` measures the variance over draws of the gradient of a minibatch's mean NLL, for the three
estimators of `ensedu.torch.MeanFieldConv2d`, and makes a row of the table
``bayesian-cnn-gradients``: at the start of the net ``wide`` of
`ensedu.book.experiments.bayesian_cnn`, and at that net trained, which drew outputs while it
learned. Batches, of digits that it trained on, are the same for all estimators.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ensedu.book.experiments.bayesian_cnn import TRAIN, estimator_set, layers, split_digits, trained
from ensedu.contest.running.experiment import Experiment
from ensedu.contest.running.machine import one_thread
from ensedu.contest.running.seeding import seeded
from ensedu.torch.train.losses import softmax_cross_entropy

__all__ = ["ESTIMATORS", "EXPERIMENT", "PLACES", "run", "variances"]

ESTIMATORS, PLACES = ("weights", "local", "flipout"), ("mean", "rho")
#: Sizes of a batch, and how many of them are averaged: a small one may hold easy digits alone.
BATCHES = {1: 100, 8: 32, 32: 16, 128: 4, 512: 2}


def run(
    epochs: int,
    split: int,
    batch_size: int,
    train: int,
    sizes: list[int],
    batches: list[int],
    draws: int,
) -> dict[str, Any]:
    """Return variances, estimator -> mean or rho -> layer -> a list over sizes of the batch.

    Each is the sum over a layer's weights and biases of the variance over so many draws, the mean
    over so many batches of that size.
    """
    data, _ = split_digits(split)
    data = (data[0][:train], data[1][:train])
    net = trained("wide", split, 0, epochs, batch_size, data)
    found: dict[str, Any] = {}
    with seeded(split), one_thread():
        for estimator in ESTIMATORS:
            own: dict[str, dict[str, list[float]]] = {
                place: {name: [] for name in layers(net)} for place in PLACES
            }
            with estimator_set(net, estimator):
                for size, number in zip(sizes, batches, strict=True):
                    each = []
                    for batch in range(number):
                        rng = np.random.default_rng([split, batch])
                        rows = torch.from_numpy(rng.permutation(len(data[1]))[:size])
                        each.append(variances(net, data[0][rows], data[1][rows], draws))
                    for place, by_layer in own.items():
                        for name, values in by_layer.items():
                            values.append(float(np.mean([one[place][name] for one in each])))
            found[estimator] = own
    return found


def variances(net: nn.Module, x: Tensor, y: Tensor, draws: int) -> dict[str, dict[str, float]]:
    """Return the sums of the variances of the gradient, in all means or in all ρ of a layer."""
    named = {
        (place, name): [getattr(layer, f"{array}_{place}") for array in ("weight", "bias")]
        for place in PLACES
        for name, layer in layers(net).items()
    }
    flat = [parameter for own in named.values() for parameter in own]
    # By Welford, since the gradients of all draws at once would take much memory.
    means = [torch.zeros_like(parameter, dtype=torch.float64) for parameter in flat]
    squares = [torch.zeros_like(mean) for mean in means]
    for draw in range(1, draws + 1):
        gradients = torch.autograd.grad(softmax_cross_entropy(net(x), y), flat)
        for gradient, mean, square in zip(gradients, means, squares, strict=True):
            apart = gradient.double() - mean
            mean += apart / draw
            square += apart * (gradient.double() - mean)
    sums = iter([float(square.sum()) / (draws - 1) for square in squares])
    found: dict[str, dict[str, float]] = {place: {} for place in PLACES}
    for (place, name), own in named.items():
        found[place][name] = sum(next(sums) for _ in own)
    return found


EXPERIMENT = Experiment(
    name="bayesian-cnn-gradients",
    about="the net `wide` of bayesian-cnn, at its start (0 epochs) and trained: the variance over "
    "draws of the gradient of one batch's mean NLL, the sum over a layer's weights and biases, in "
    "the means (mean) and in rho, a list over sizes of the batch, for each estimator",
    budget="three splits, one net each; 30 draws for each of 100 batches of one digit, and fewer "
    "of larger ones, two of 512",
    cases=[{"epochs": epochs, "split": split} for split in range(3) for epochs in (0, 30)],
    run=run,
    settings={
        "batch_size": 100, "train": TRAIN, "sizes": list(BATCHES),
        "batches": list(BATCHES.values()), "draws": 30,
    },
)  # fmt: skip
