"""Optimizers: a step changes ``params`` in place by the gradients added up, and empties them."""

import numpy as np

from ensedu.common import checks
from ensedu.numpy.base import Layer
from ensedu.numpy.network import Sequential, check_network


class Optimizer:
    """Base: ``step`` updates each parameter by its gradient, then empties the gradients.

    Emptied gradients turn a forgotten ``backward`` into an error instead of a repeated step.
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
    """Gradient descent with momentum: ``v ← momentum v + g``, ``θ ← θ - lr v``.

    Parameters
    ----------
    network
        An `ensedu.numpy` layer or network.
    lr
        Learning rate, above 0.
    momentum
        0 <= momentum < 1.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    """

    def __init__(self, network: Layer | Sequential, lr: float, momentum: float = 0.0) -> None:
        super().__init__(network, lr)
        self.momentum = checks.fraction("momentum", momentum)
        self._velocity: dict[str, np.ndarray] = {}

    def _update(self, name: str, grad: np.ndarray) -> np.ndarray:
        self._velocity[name] = self.momentum * self._velocity.get(name, 0.0) + grad
        return self.lr * self._velocity[name]


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015, algorithm 1).

    Parameters
    ----------
    network
        An `ensedu.numpy` layer or network.
    lr
        Learning rate, above 0.
    betas
        Decay rates of the two moments, each 0 <= beta < 1.
    eps
        Added to the denominator, above 0.

    Raises
    ------
    TypeError, ValueError
        For anything else.
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
            raise TypeError(f"betas must be a pair of numbers, got {checks.given(betas)}")
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
