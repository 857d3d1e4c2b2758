"""The learning rates of a training, and how they change from step to step."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from ensedu.common import checks


class Schedule:
    """Steps a scheduler, if there is one, after each step of its optimizer."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, make: Callable[[Any], LRScheduler] | None
    ) -> None:
        self._optimizer, self._scheduler = optimizer, None
        if make is not None:
            made = checks.function("scheduler", make, "scheduler(optimizer)")(optimizer)
            if not isinstance(made, LRScheduler) or isinstance(made, ReduceLROnPlateau):
                raise TypeError(
                    "scheduler must return a torch.optim.lr_scheduler.LRScheduler whose step() "
                    f"needs no measure, got {checks.given(made)}"
                )
            self._scheduler = made
        self._start = [
            {key: value for key, value in group.items() if key != "params"}
            for group in optimizer.param_groups
        ]

    def step(self) -> None:
        """Set the rates of the next step."""
        if self._scheduler is not None:
            self._scheduler.step()

    def go_on(self, steps: int, *, new_lr: bool) -> None:
        """Set the rates of a training that goes on after so many steps.

        A scheduler takes them once more from the start, which needs no state of it to be saved. A
        `new_lr` takes the place of the one that was saved.
        """
        if not steps or (self._scheduler is None and not new_lr):
            return
        for group, start in zip(self._optimizer.param_groups, self._start, strict=True):
            group |= start if self._scheduler is not None else {"lr": start["lr"]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that no optimizer has stepped
            for _ in range(steps):
                self.step()
