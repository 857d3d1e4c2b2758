"""A training loop in NumPy, with the gradients by hand."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_rng
from ensedu.common.training_loop import (
    EpochRow,
    History,
    check_same_rows,
    checked_batch_size,
    members_to_split,
    number_of_steps,
)
from ensedu.common.training_settings import KLWeight, Validation, as_kl_weight, as_validation
from ensedu.numpy.base import Layer, MemberLayer
from ensedu.numpy.losses import Loss
from ensedu.numpy.network import Sequential, Tile, check_network, kl_backward, named_layers
from ensedu.numpy.network import kl as divergence_of


class Optimizer:
    """Base: ``step`` updates each parameter by its gradient, then empties the gradients.

    Emptied gradients turn a forgotten ``backward`` into an error instead of a repeated step. The
    `network` is an `ensedu.numpy` layer or network, and `lr` a learning rate above 0.
    """

    def __init__(self, network: Layer | Sequential, lr: float) -> None:
        check_network(network)
        seen: dict[int, str] = {}
        for name, array in network.params.items():
            if id(array) in seen:
                raise ValueError(
                    f"network has one array as {seen[id(array)]} and {name}; accepted are arrays "
                    "of one layer each"
                )
            seen[id(array)] = name
        self.network = network
        self.lr = checks.real("lr", lr, low=0.0)

    def step(self) -> None:
        """Update every parameter; ``ValueError`` if one has no gradient."""
        params, grads = self.network.params, self.network.grads
        missing = [name for name in params if name not in grads]
        if missing:
            raise ValueError(
                f"network has no gradient for {', '.join(missing)}, accepted after backward(grad)"
            )
        self._prepare()
        for name, value in params.items():
            value -= self._update(name, grads[name])
        self.network.zero_grad()

    def _prepare(self) -> None:
        """Runs once a step, before the parameters are updated."""

    def _update(self, name: str, grad: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class SGD(Optimizer):
    """Gradient descent: ``v ← momentum v + g``, ``θ ← θ - lr v``; momentum is from 0 to below 1."""

    def __init__(self, network: Layer | Sequential, lr: float, momentum: float = 0.0) -> None:
        super().__init__(network, lr)
        self.momentum = checks.fraction("momentum", momentum)
        self._velocity: dict[str, np.ndarray] = {}

    def _update(self, name: str, grad: np.ndarray) -> np.ndarray:
        self._velocity[name] = self.momentum * self._velocity.get(name, 0.0) + grad
        return self.lr * self._velocity[name]


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1).

    The decay rates of its two moments, `betas`, are from 0 to below 1; `eps` is added to the
    denominator.
    """

    def __init__(
        self,
        network: Layer | Sequential,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        super().__init__(network, lr)
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise TypeError(f"betas must be a pair of numbers, got {checks.describe(betas)}")
        self.betas = tuple(checks.fraction(f"betas[{i}]", b) for i, b in enumerate(betas))
        self.eps = checks.real("eps", eps, low=0.0)
        self._steps = 0
        self._first: dict[str, np.ndarray] = {}
        self._second: dict[str, np.ndarray] = {}

    def _prepare(self) -> None:
        self._steps += 1

    def _update(self, name: str, grad: np.ndarray) -> np.ndarray:
        beta1, beta2 = self.betas
        first = self._first[name] = beta1 * self._first.get(name, 0.0) + (1 - beta1) * grad
        second = self._second[name] = beta2 * self._second.get(name, 0.0) + (1 - beta2) * grad**2
        unbiased_first = first / (1 - beta1**self._steps)
        unbiased_second = second / (1 - beta2**self._steps)
        return self.lr * unbiased_first / (np.sqrt(unbiased_second) + self.eps)


def fit(
    net: Layer | Sequential,
    x: Array,
    y: Array,
    nll: Callable[[Array, Array], Loss],
    *,
    rng: Generator,
    epochs: int,
    batch_size: int | None = None,
    lr: float = 1e-3,
    optimizer: Callable[..., Optimizer] = Adam,
    kl: KLWeight = KLWeight(),
    split: bool = False,
    validation: tuple[Array, Array] | Validation | None = None,
) -> list[EpochRow]:
    """Train a network of any method: minimize ``nll + beta · kl / N`` over shuffled minibatches.

    Parameters
    ----------
    net
        An `ensedu.numpy` layer or network.
    x, y
        N examples, float64, and their targets, as `nll` takes them.
    nll
        A function (outputs, targets) -> the mean NLL over members and examples, and its gradient,
        such as `softmax_cross_entropy`.
    rng
        Shuffles; layers that draw have their own.
    epochs, batch_size
        Times through all examples, and how many of them a step takes, N at most; 32 by default, or
        all where they are fewer.
    lr
        Learning rate.
    optimizer
        Called as ``optimizer(net, lr=lr)``.
    kl
        How much the KL weighs, and from when.
    split
        Whether each member sees its own part of a minibatch, B / M examples; by default all of it.
        What M does not divide is left out of an epoch.
    validation
        Examples and targets on which `nll` is evaluated after each epoch, or a `Validation`, which
        may stop early.

    Returns
    -------
    list of dict
        A row an epoch: ``epoch``, ``step``, the means over its minibatches of ``loss``, ``nll`` and
        ``kl`` in nats, ``beta``, and ``validation`` where there is some.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and data that are not finite.
    FloatingPointError
        At a loss or a parameter that is not finite, naming the step.

    Examples
    --------
    >>> from ensedu.numpy import half_squared_error, mlp
    >>> rng = np.random.default_rng(0)
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> net = mlp([1, 20, 1], "rank1", 4, rng=rng)
    >>> [row["step"] for row in fit(net, x, x**2, half_squared_error, rng=rng, epochs=3)]
    [2, 4, 6]
    """
    kl, held = as_kl_weight(kl), as_validation(validation)
    _check_arguments(net, x, y, held)
    check_rng("rng", rng)
    members = None
    if checks.boolean("split", split):
        parts = [part for _, part in named_layers(net)]
        sizes = {part.ensemble_size for part in parts if isinstance(part, MemberLayer)}
        members = members_to_split(net, sizes, any(isinstance(part, Tile) for part in parts))
    size = checked_batch_size(batch_size, len(x), members)
    steps = number_of_steps(len(x), size, members)
    make = checks.function("optimizer", optimizer, "optimizer(net, lr=lr)")
    if not isinstance(optim := make(net, lr=checks.real("lr", lr, low=0.0)), Optimizer):
        raise TypeError(
            f"optimizer must return an ensedu.numpy optimizer, got {checks.describe(optim)}"
        )
    history = History(epochs, kl, held.patience if held else None)
    best: dict[str, Array] = {}
    net.zero_grad()
    while not history.over:
        for rows in minibatches(len(x), size, members, rng):
            beta = kl.at(history.step, steps)
            value, grad = _evaluate(nll, net(x[rows]), targets(y, rows))
            divergence = divergence_of(net)
            share = beta / len(x)
            loss = value + share * divergence
            history.add({"loss": loss, "nll": value, "kl": divergence}, rows.size)
            net.backward(grad)
            kl_backward(net, share)
            optim.step()
        for name, parameter in net.params.items():
            if not np.isfinite(parameter).all():
                history.fail(f"{name} is not finite")
        history.end_epoch(beta, None if held is None else _score(net, nll, held))
        if history.patience is not None and history.best == len(history.rows) - 1:
            best = {name: parameter.copy() for name, parameter in net.params.items()}
    for name, value in best.items():
        net.params[name][...] = value
    return history.rows


def minibatches(number: int, batch_size: int, members: int | None, rng: Generator) -> list[Array]:
    """Shuffle rows and deal them out, (B,); to M `members` (M, B / M) each."""
    order = rng.permutation(number)
    deals = [order[i : i + batch_size] for i in range(0, number, batch_size)]
    if members is not None:
        deals = [d[: len(d) // members * members].reshape(members, -1) for d in deals]
    return [rows for rows in deals if rows.size]


def targets(y: Array, rows: Array) -> Array:
    """Return the targets of a minibatch: a loss tells (M, B) from (B, k) by the axis k."""
    alone = rows.ndim > 1 and y.ndim == 1 and y.dtype.kind == "f"
    return (y[:, None] if alone else y)[rows]


def _evaluate(nll: Callable[[Array, Array], Loss], outputs: Array, y: Array) -> tuple[float, Any]:
    if y.ndim == 1 and y.dtype.kind == "f" and outputs.ndim > 1 and outputs.shape[-1] == 1:
        y = y[:, None]  # a loss of others would broadcast
    pair = checks.function("nll", nll, "nll(net(x), y)")(outputs, y)
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"nll must return one number and a gradient, got {checks.describe(pair)}")
    if np.ndim(pair[0]):
        raise ValueError(f"nll must return one number, got one of shape {np.shape(pair[0])}")
    return float(pair[0]), pair[1]


def _score(net: Any, nll: Callable[..., Loss], held: Validation) -> float:
    """Return the mean over members at one draw, or what is made of all predictions."""
    if held.score == "mean":
        return _evaluate(nll, net(held.x), held.y)[0]
    draws = [net(held.x) for _ in range(held.samples)]
    # (S M, B, k), of one network (S, B, k)
    predictions = np.concatenate([y.reshape(-1, *y.shape[-2:]) for y in draws])
    if callable(held.score):
        score = checks.function("score", held.score, "score(predictions, y)")
        return checks.real("score", score(predictions, held.y))
    return _evaluate(partial(nll, reduction=held.score), predictions, held.y)[0]


def _check_arguments(net: Any, x: Any, y: Any, held: Validation | None) -> None:
    if not isinstance(net, (Layer, Sequential)):
        raise TypeError(f"net must be an ensedu.numpy layer or network, got {checks.describe(net)}")
    if not net.params:
        raise ValueError(f"net must have parameters to train, got {checks.describe(net)}")
    pairs = [("x", x, "y", y)]
    if held is not None:
        pairs.append(("x of validation", held.x, "y of validation", held.y))
    for first, inputs, second, wanted in pairs:
        for name, value in ((first, inputs), (second, wanted)):
            if type(value) is not np.ndarray or value.dtype.kind not in "fiu":
                raise TypeError(
                    f"{name} must be a plain NumPy array of numbers, got {checks.describe(value)}"
                )
            if value.ndim == 0 or value.size == 0:
                raise ValueError(f"{name} must hold at least one example, got shape {value.shape}")
            if not np.isfinite(value).all():
                place = tuple(map(int, np.argwhere(~np.isfinite(value))[0]))
                raise ValueError(f"{name} must hold finite numbers, got {value[place]} at {place}")
        check_same_rows(first, len(inputs), second, len(wanted))
    draws = any(isinstance(p, Layer) and hasattr(p, "noise") for _, p in named_layers(net))
    if held is not None and held.samples > 1 and not draws:
        raise ValueError(f"samples must be 1 for a net that draws nothing, got {held.samples}")
