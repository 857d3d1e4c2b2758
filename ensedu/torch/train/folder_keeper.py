"""The state of a training in Torch, as a checkpoint and in memory."""

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.history import EpochRow, check_rows
from ensedu.common.training_plan import Plan
from ensedu.common.training_settings import SaveTo

RATES = ("lr", "fast_lr_factor", "scheduler")


class FolderKeeper:
    """Keeps the state of a training in a folder, if there is one, and that of its best epoch."""

    def __init__(
        self,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        generators: dict[str, torch.Generator],
        plan: Plan,
        saving: SaveTo | None,
    ) -> None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise TypeError(
                f"optimizer must return a torch.optim.Optimizer, got {checks.given(optimizer)}"
            )
        self.net = net
        self._optimizer, self._generators = optimizer, generators
        self._settings = asdict(plan)
        self._folder = None if saving is None else Path(saving.folder)
        self._every = 1 if saving is None else saving.every
        #: Settings that may be others than those of the checkpoint.
        self._free = RATES if saving is not None and saving.new_lr else ()
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
        # They need safetensors, which no other training does.
        from ensedu.torch.train import checkpoints, folders

        bests = self._folder / "best"
        newest = checkpoints.newest(self._folder, missing_ok=True)
        if newest.step:
            self._rows_of(newest)  # before anything changes
        with suppress(OSError):  # a damaged one is an error where its weights are wanted
            best = checkpoints.newest(bests, missing_ok=True)
            if best.step:
                self._check_settings(best)
        found = checkpoints.resume(
            self._folder, self.net, self._optimizer, generators=self._generators, missing_ok=True
        )
        # Those of a training that was killed before its next checkpoint come again.
        folders.remove_after(bests, found.step)
        return self._rows_of(found) if found.step else []

    def _rows_of(self, found: Any) -> list[EpochRow]:
        """Return the rows of a checkpoint, which must be of this very training."""
        self._check_settings(found)
        validated = bool(self._settings["score"])
        return check_rows(found.extra.get("rows"), found.step, validated=validated)

    def _check_settings(self, found: Any) -> None:
        theirs = found.extra.get("settings")
        for name, value in self._settings.items():
            if name in self._free and isinstance(theirs, dict):
                continue
            if not isinstance(theirs, dict) or theirs.get(name) != value:
                saved = theirs.get(name) if isinstance(theirs, dict) else "nothing"
                raise ValueError(
                    f"checkpoint must be of a training with {name} = {value}, got {found.path} "
                    f"with {saved}; accepted is another folder"
                    + (", or SaveTo(folder, new_lr=True)" if name in RATES else "")
                )

    def not_finite(self) -> str:
        """Return the name of a parameter that is not finite, "" if all are."""
        found = self.net.named_parameters()
        return next((name for name, value in found if not value.isfinite().all()), "")

    def keep(self, rows: list[EpochRow], *, best: bool, last: bool) -> None:
        """Keep the state after an epoch."""
        step = int(rows[-1]["step"])
        if self._folder is None:
            if best:
                self._best = {key: x.detach().clone() for key, x in self.net.state_dict().items()}
            return
        from ensedu.torch.train import checkpoints

        if best:
            # Killed before the next checkpoint, it goes on from the one before, whose best epoch is
            # kept for that, and comes to this epoch again.
            checkpoints.save(
                self._folder / "best", self.net, None, step,
                extra={"settings": self._settings}, keep=self._every + 1,
            )  # fmt: skip
        if last or len(rows) % self._every == 0:
            extra = {"settings": self._settings, "rows": rows}
            checkpoints.save(
                self._folder, self.net, self._optimizer, step,
                generators=self._generators, extra=extra,
            )  # fmt: skip

    def restore(self, step: int) -> None:
        """Give the net the weights of its best epoch, after so many steps."""
        if self._folder is None:
            self.net.load_state_dict(self._best)
            return
        from ensedu.torch.train import checkpoints

        checkpoints.load(self._folder / "best" / f"step-{step:08}", self.net)
