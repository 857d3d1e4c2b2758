"""LeNet-5 on MNIST-5000, Bayesian: what σ learns, and what it pays, by prior and weight of the KL.

A Bayesian LeNet-5 has a mean-field posterior on every weight and bias (Shridhar et al. 2019), and
is trained with local reparameterization, which draws each position of an image apart, where one
kernel ties them together.

The protocol was fixed before the table was computed: the whole KL, but for ``narrow_tenth``;
standard deviations start at 0.01, but for ``stuck``, which starts at 0.05, and is trained on three
splits for half as long. Priors, starts and rates were looked at on one other split. Nothing was
tuned, and the last epoch counts.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from torch import Tensor, nn

from ensedu import uncertainty
from ensedu.data import letters, mnist5000
from ensedu.priors import Normal
from ensedu.torch import MeanFieldConv2d, MeanFieldLinear, ensemble, kl, predict
from ensedu.torch.base import seeded
from ensedu.torch.losses import negative_elbo, softmax_cross_entropy
from ensedu.torch.models import lenet5
from ensedu.torch.variational import softplus
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread


@dataclass(frozen=True)
class Bayesian:
    """How a Bayesian LeNet-5 is set up and trained."""

    prior_std: float = 1.0
    beta: float = 1.0
    start: float = 0.01


BAYESIAN = {
    "wide": Bayesian(),
    "narrow": Bayesian(prior_std=0.1),
    "narrow_tenth": Bayesian(prior_std=0.1, beta=0.1),
    "stuck": Bayesian(prior_std=0.1, start=0.05),
}
LR = 0.001
#: Is trained on three splits alone, for half as long: it does not move.
STUCK = "stuck"
TRAIN, TEST = 4000, 1000
#: The layers of LeNet-5 that have weights, by their place in it.
LAYERS = {"0": "conv1", "3": "conv2", "7": "dense1", "9": "dense2", "11": "dense3"}
#: Letters that some hand or font writes like 0, 1, 2, 5, 6, 8 or 9; chosen before any was shown
#: to a net.
LIKE_DIGITS = "OoIliSsZzBqgb"

Digits = tuple[Float[Tensor, "_ 1 28 28"], Int[Tensor, " _"]]


def digit_order(split: int) -> Int[Array, "5000"]:
    """Return the numbers of all digits of MNIST-5000, those to train on first."""
    return np.random.default_rng([split, 2019]).permutation(TRAIN + TEST)


@functools.lru_cache(maxsize=1)
def split_digits(split: int) -> tuple[Digits, Digits]:
    """Return digits to train on and to test on."""
    x, y = mnist5000()
    images, labels = torch.from_numpy(x).float().reshape(-1, 1, 28, 28), torch.from_numpy(y)
    one, other = ((images[rows], labels[rows]) for rows in np.split(digit_order(split), [TRAIN]))
    return one, other


@functools.lru_cache(maxsize=1)
def letter_images() -> tuple[Float[Tensor, "_ 1 28 28"], list[str]]:
    """Return all letters as images, and which they are."""
    x, names = letters()
    return torch.from_numpy(x).float().reshape(-1, 1, 28, 28), names


def network(contestant: str) -> nn.Module:
    """Return an untrained network, started by Torch's own generator, as the plain one starts."""
    own = BAYESIAN[contestant]
    prior = Normal(0.0, own.prior_std)
    return ensemble(lenet5(), "mean_field", prior=prior, posterior_std=own.start, estimator="local")


def layers(net: Any) -> dict[str, Any]:
    """Return the layers that have weights, by `LAYERS`."""
    children = dict(net.model.named_children())
    return {name: children[at] for at, name in LAYERS.items()}


@contextmanager
def estimator_set(net: nn.Module, estimator: str | None) -> Iterator[None]:
    """Let the layers of a net draw by this estimator; by their own for ``None``."""
    drawn = [part for part in net.modules() if isinstance(part, (MeanFieldConv2d, MeanFieldLinear))]
    own = [part.estimator for part in drawn]
    try:
        for part in drawn:
            part.estimator = part.estimator if estimator is None else estimator
        yield
    finally:
        for part, name in zip(drawn, own, strict=True):
            part.estimator = name


def probabilities(
    net: nn.Module, x: Float[Tensor, "B 1 28 28"], draws: int, estimator: str | None = None
) -> Float[Array, "S B k"]:
    """Return the probabilities of so many draws, the same at each call.

    Each draw of weights is one function for all images; of outputs, none is.
    """
    with seeded(2019), one_thread(), estimator_set(net, estimator):
        logits = predict(net, x, samples=draws, batch_size=100)
    return logits.double().softmax(-1).reshape(-1, len(x), logits.shape[-1]).numpy()


def uncertainties(p: Float[Array, "S B k"]) -> dict[str, Float[Array, " B"]]:
    """Return the two parts of the uncertainty of each image: traces of covariances."""
    parts = uncertainty.covariance_parts(p)
    return {
        "aleatoric": np.trace(parts.aleatoric, axis1=1, axis2=2),
        "epistemic": np.trace(parts.epistemic, axis1=1, axis2=2),
    }


def sigma(net: nn.Module) -> dict[str, float]:
    """Return the mean standard deviation of each layer's weights."""
    with torch.no_grad():
        return {name: float(softplus(one.weight_rho).mean()) for name, one in layers(net).items()}


def trained(
    contestant: str, split: int, epochs: int, batch_size: int, data: Digits,
    after_epoch: Any = None,
) -> nn.Module:  # fmt: skip
    """Return a trained network; `after_epoch` gets it before the first epoch, too."""
    beta = BAYESIAN[contestant].beta
    with seeded(4 * split), one_thread():
        net = network(contestant)
        optimizer, N = torch.optim.Adam(net.parameters(), lr=LR), len(data[1])
        for epoch in range(epochs + 1):
            if after_epoch is not None:
                after_epoch(epoch, net)
            if epoch == epochs:
                break
            for rows in torch.randperm(N).split(batch_size):
                x, y = data[0][rows], data[1][rows]
                loss = negative_elbo(net, x, y, softmax_cross_entropy, num_examples=N, beta=beta)
                optimizer.zero_grad()
                loss.loss.backward()
                optimizer.step()
    return net


def run(
    contestant: str, split: int, epochs: int, batch_size: int, train: int, test: int, draws: int,
    seen: int, seen_draws: int, every: int, few: int, few_draws: int,
) -> dict[str, Any]:  # fmt: skip
    """Return a network's error, and what it pays, nats a training example.

    ``by_epoch``, after every so many, are σ of each layer and the parts of the doubt, means over
    few test digits. Scores average so many draws; ``train_nll`` is of digits that it has seen.
    """
    sizes = (train, test)
    data, (x, y) = ((x[:n], y[:n]) for (x, y), n in zip(split_digits(split), sizes, strict=True))
    by_epoch: dict[str, Any] = {"epoch": [], "sigma": {}, "aleatoric": [], "epistemic": []}

    def record(epoch: int, net: nn.Module) -> None:
        if epoch % every == 0:
            by_epoch["epoch"].append(epoch)
            for name, values in uncertainties(probabilities(net, x[:few], few_draws)).items():
                by_epoch[name].append(float(values.mean()))
            for name, value in sigma(net).items():
                by_epoch["sigma"].setdefault(name, []).append(value)

    epochs = epochs // 2 if contestant == STUCK else epochs
    net = trained(contestant, split, epochs, batch_size, data, record)
    with torch.no_grad():
        divergence = float(kl(net)) / train
    averaged = uncertainty.averaged(probabilities(net, x, draws))
    known = probabilities(net, data[0][:seen], seen_draws)
    nll = float(uncertainty.categorical_nll(known, data[1][:seen].numpy()).mean())
    return {
        "error": 100 * float(np.mean(averaged.argmax(-1) != y.numpy())),
        "train_nll": nll, "kl": divergence, "elbo": -nll - divergence, "by_epoch": by_epoch,
    }  # fmt: skip


EXPERIMENT = Experiment(
    name="bayesian-cnn",
    about="LeNet-5 on MNIST-5000: error, percent, of averaged probabilities; train_nll, kl and "
    "elbo in nats a training example; by_epoch, on 500 test digits, means of the traces of the "
    "aleatoric and epistemic covariance, and sigma, the mean standard deviation of a layer's "
    "weights",
    budget="10 splits, each with an initial seed of its own, 30 epochs of Adam at 0.001, batches "
    "of 100, no tuning; the contestant that is stuck has 3 splits, 15 epochs",
    cases=[
        {"contestant": contestant, "split": split}
        for split in range(10)
        for contestant in BAYESIAN
        if contestant != STUCK or split < 3
    ],
    run=run,
    settings={
        "epochs": 30, "batch_size": 100, "train": TRAIN, "test": TEST, "draws": 32, "seen": 1000,
        "seen_draws": 8, "every": 3, "few": 500, "few_draws": 4,
    },
)  # fmt: skip
