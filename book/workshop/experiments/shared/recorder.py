"""Adam that looks at a network while it learns, and may change its learning rate."""

from collections.abc import Callable, Container
from typing import Any

import torch


class Recorder:
    """Calls `observe` after some steps of a training, and keeps what it returns.

    Parameters
    ----------
    observe
        Takes nothing, and returns what to keep: not the tensors that train, but copies.
    at
        The numbers of steps after which it is called, from 1.
    lr
        From the number of steps that were done to the learning rate of the next; by default that
        of the training.

    Examples
    --------
    >>> import torch
    >>> from ensedu.torch import fit, half_squared_error, mlp
    >>> net, x = mlp([1, 5, 1]), torch.linspace(-1, 1, 8)[:, None]
    >>> recorder = Recorder(lambda: net(x).detach().clone(), at=[1, 3])
    >>> history = fit(
    ...     net, x, x**2, half_squared_error, epochs=3, batch_size=8, optimizer=recorder.optimizer
    ... )
    >>> len(recorder.kept), torch.equal(recorder.kept[1], net(x))
    (2, True)
    """

    def __init__(
        self,
        observe: Callable[[], Any],
        at: Container[int],
        lr: Callable[[int], float] | None = None,
    ) -> None:
        self.kept: list[Any] = []
        self._observe, self._at, self._lr, self._steps = observe, at, lr, 0

    def optimizer(self, groups: Any, lr: float) -> torch.optim.Optimizer:
        """Return what `ensedu.torch.fit` takes as its optimizer."""
        adam = torch.optim.Adam(groups, lr=lr)
        adam.register_step_pre_hook(self._before)
        adam.register_step_post_hook(self._after)
        return adam

    def _before(self, adam: torch.optim.Optimizer, *_: Any) -> None:
        if self._lr is not None:
            rate = self._lr(self._steps)
            for group in adam.param_groups:
                group["lr"] = rate

    def _after(self, *_: Any) -> None:
        self._steps += 1
        if self._steps in self._at:
            self.kept.append(self._observe())
