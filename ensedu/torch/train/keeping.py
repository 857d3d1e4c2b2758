"""What `fit` does with a checkpoint, and with the weights of its best epoch without one."""

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from ensedu.common import checks
from ensedu.common.history import EpochRow, check_rows
from ensedu.common.training_plan import Plan
from ensedu.common.training_settings import SaveTo
from ensedu.torch.train import checkpoints

RATES = ("lr", "fast_lr_factor", "scheduler")


class FolderKeeper:
    """Keeps the state of a training in a folder, if there is one, and that of its best epoch."""

    def __init__(
        self, net: nn.Module, optimizer: torch.optim.Optimizer,
        generators: dict[str, torch.Generator], plan: Plan, saving: SaveTo | None,
    ) -> None:  # fmt: skip
        if not isinstance(optimizer, torch.optim.Optimizer):
            words = f"got {checks.given(optimizer)}"
            raise TypeError(f"optimizer must return a torch.optim.Optimizer, {words}")
        self.net, self._optimizer, self._generators = net, optimizer, generators
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
        found = checkpoints.newest(self._folder, missing_ok=True)
        rows: list[EpochRow] = []
        if found.step:
            self._check_settings(found)
            validated = bool(self._settings["score"])
            rows = check_rows(found.extra.get("rows"), found.step, validated=validated)
        with suppress(OSError):  # a damaged one is an error where its weights are wanted
            best = checkpoints.newest(self._folder / "best", missing_ok=True)
            if best.step:
                self._check_settings(best)
        if found.step:
            checkpoints.load(found.path, self.net, self._optimizer, generators=self._generators)
        # Those of a training that was killed before its next checkpoint come again.
        checkpoints.remove_after(self._folder / "best", found.step)
        return rows

    def _check_settings(self, found: checkpoints.Checkpoint) -> None:
        theirs = found.extra.get("settings", {})
        for name, value in self._settings.items():
            if theirs.get(name, "nothing") != value and not (theirs and name in self._free):
                raise ValueError(
                    f"checkpoint must be of a training with {name} = {value}, got {found.path} "
                    f"with {theirs.get(name, 'nothing')}; accepted is another folder"
                    + (", or SaveTo(folder, new_lr=True)" if name in RATES else "")
                )

    def not_finite(self) -> str:
        """Return the name of a parameter that is not finite, "" if all are."""
        found = self.net.named_parameters()
        return next((name for name, value in found if not value.isfinite().all()), "")

    def keep(self, rows: list[EpochRow], *, best: bool, last: bool) -> None:
        """Keep the state after an epoch."""
        step, extra = int(rows[-1]["step"]), {"settings": self._settings}
        if self._folder is None:
            if best:
                self._best = {key: x.detach().clone() for key, x in self.net.state_dict().items()}
            return
        if best:
            # Killed before the next checkpoint, it goes on from the one before, whose best epoch is
            # kept for that, and comes to this epoch again.
            keep = self._every + 1
            checkpoints.save(self._folder / "best", self.net, None, step, extra=extra, keep=keep)
        if last or len(rows) % self._every == 0:
            checkpoints.save(
                self._folder, self.net, self._optimizer, step,
                generators=self._generators, extra=extra | {"rows": rows},
            )  # fmt: skip

    def restore(self, step: int) -> None:
        """Give the net the weights of its best epoch, after so many steps."""
        if self._folder is None:
            self.net.load_state_dict(self._best)
        else:
            checkpoints.load(self._folder / "best" / f"step-{step:08}.safetensors", self.net)
