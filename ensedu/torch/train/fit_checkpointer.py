"""What `ensedu.torch.fit` keeps of a training, to go on from, and to go back to the best epoch."""

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from ensedu.common.training_loop import EpochRow, History
from ensedu.common.training_settings import SaveTo
from ensedu.torch.train.checkpoint_format import Checkpoint, remove_after
from ensedu.torch.train.checkpoints import load, newest, save


class Checkpointer:
    """Keeps the state of a training in a folder, if there is one, and its best weights."""

    def __init__(
        self, net: nn.Module, optimizer: torch.optim.Optimizer, scheduler: LRScheduler | None,
        generators: dict[str, torch.Generator], settings: dict[str, Any], saving: SaveTo | None,
    ) -> None:  # fmt: skip
        self._net, self._optimizer, self._scheduler = net, optimizer, scheduler
        self._generators, self._settings = generators, settings
        self._folder = None if saving is None else Path(saving.folder)
        self._every = 1 if saving is None else saving.every
        #: Without a folder, the weights of the best epoch.
        self._best: dict[str, Tensor] = {}

    def resume(self) -> list[EpochRow]:
        """Go on from the newest checkpoint, if there is one, and return its rows."""
        if self._folder is None:
            return []
        try:  # and not after an epoch
            self._folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise ValueError(f"checkpoint must be a folder that can be made: {error}") from None
        last = newest(self._folder, missing_ok=True)
        if last.step:
            self._check_settings(last)
        with suppress(OSError):  # a damaged one is an error where its weights are wanted
            best = newest(self._folder / "best", missing_ok=True)
            if best.step:
                self._check_settings(best)
        if last.step:
            if self._scheduler is not None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # that no optimizer has stepped
                    for _ in range(last.step):
                        self._scheduler.step()
            load(last.path, self._net, self._optimizer, generators=self._generators)
        # Those of a training that was killed before its next checkpoint come again.
        remove_after(self._folder / "best", last.step)
        return last.extra.get("rows", [])

    def save(self, history: History) -> None:
        """Keep the state after an epoch."""
        rows, step = history.rows, history.step
        best = history.best == len(rows) - 1
        if self._folder is None:
            if best and history.patience is not None:
                self._best = {key: x.detach().clone() for key, x in self._net.state_dict().items()}
            return
        extra = {"settings": self._settings}
        if best:
            # Killed before the next checkpoint, it goes on from the one before, whose best epoch is
            # kept for that, and comes to this epoch again.
            keep = self._every + 1
            save(self._folder / "best", self._net, None, step, extra=extra, keep=keep)
        if history.over or len(rows) % self._every == 0:
            save(
                self._folder, self._net, self._optimizer, step,
                generators=self._generators, extra=extra | {"rows": rows},
            )  # fmt: skip

    def restore(self, history: History) -> None:
        """Give the net the weights of its best epoch, if there is one."""
        if history.best is None:
            return
        if self._folder is None:
            self._net.load_state_dict(self._best)
        else:
            step = int(history.rows[history.best]["step"])
            load(self._folder / "best" / f"step-{step:08}.safetensors", self._net)

    def _check_settings(self, checkpoint: Checkpoint) -> None:
        theirs = checkpoint.extra.get("settings", {})
        for name, value in self._settings.items():
            if theirs.get(name, "nothing") != value:
                raise ValueError(
                    f"checkpoint must be of a training with {name} = {value}, got "
                    f"{checkpoint.path} with {theirs.get(name, 'nothing')}; accepted is another "
                    "folder"
                )
