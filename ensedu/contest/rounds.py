"""One contestant on one split: it chooses a setting and an epoch, trains anew, and is scored."""

import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensedu import uncertainty
from ensedu.contest.forecasts import Forecast
from ensedu.contest.jobs import Contestant, Job, Trained
from ensedu.contest.tasks import Given, Task, given

__all__ = ["FRESH", "HARSH", "Choice", "choose", "run_split", "score_trained", "seed_of"]

#: Trainings of the chosen setting that are scored; none of them was seen in choosing.
FRESH = 2
#: What a forecast counts that is not finite.
HARSH = 1e9


def seed_of(*parts: str | int) -> int:
    """Return a seed that no other contestant, task, split or start has."""
    numbers = [zlib.crc32(p.encode()) if isinstance(p, str) else p for p in parts]
    return int(np.random.SeedSequence(numbers).generate_state(1)[0]) % 2**31


@dataclass(kw_only=True)
class Choice:
    """The NLL of each setting on the rows to select on at its best epoch, and the least of them."""

    nll: list[float] = field(default_factory=list)
    epochs: list[int] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Which setting it is."""
        return int(np.argmin(self.nll))

    @property
    def epoch(self) -> int:
        """How long that trains."""
        return self.epochs[self.number]


def choose(task: Task, own: Given, contestant: Contestant, seed: int) -> Choice:
    """Train each setting once, and judge its combined prediction on the rows to select on.

    An epoch is chosen as a setting is. Of what is finished after training, the network under it
    says the epoch, and what was finished is judged.
    """
    found = Choice()
    x, y = own.select

    def nll(trained: Trained) -> float:
        score = trained(x).scores(y)["nll"]
        return score if np.isfinite(score) else HARSH

    for number, setting in enumerate(contestant.tries):
        best: list[Any] = [np.inf, 0, None]

        def watch(epoch: int, trained: Any) -> None:
            if (score := nll(trained)) < best[0]:
                best[:] = score, epoch, trained.copied() if contestant.finish else None

        epochs = contestant.epochs(task)
        job = Job(
            task=task, given=own, contestant=contestant, setting=setting,
            seed=seed_of(seed, number), until=epochs,
        )  # fmt: skip
        try:
            contestant.train(job, watch)
        except FloatingPointError:  # this rate is too large for it
            best[0] = min(best[0], HARSH)
            best[1] = best[1] or epochs
        if contestant.finish and best[2] is not None:
            best[0] = nll(contestant.finish(job, best[2]))
        found.nll.append(float(best[0]))
        found.epochs.append(int(best[1]))
    return found


def run_split(task: Task, name: str, contestant: Contestant, split: int) -> dict[str, Any]:
    """Return what a contestant is worth on a split of a task: a row of the contest.

    Scores are lists over fresh starts of the chosen setting. ``scaled`` has the same of the
    forecast with one temperature, or one factor of its variance, fitted on the rows to calibrate.
    """
    own = given(task, split)
    before = time.thread_time()
    choice = choose(task, own, contestant, seed_of(task.name, name, split))
    chose = time.thread_time() - before
    starts = []
    for start in range(FRESH if contestant.draws else 1):
        job = Job(
            task=task, given=own, contestant=contestant, setting=contestant.tries[choice.number],
            seed=seed_of(task.name, name, split, 1 + start), until=choice.epoch,
        )  # fmt: skip
        before = time.thread_time()
        trained = contestant.train(job, None)
        trained = contestant.finish(job, trained) if contestant.finish else trained
        seconds = time.thread_time() - before
        starts.append(score_trained(own, trained) | {"train_seconds": seconds})
    found: dict[str, Any] = {
        "select_nll": choice.nll, "select_epochs": choice.epochs, "setting": choice.number,
        "epoch": choice.epoch, "choose_seconds": chose, "kept": trained.kept,
        "rows": [len(own.fit[0]), len(own.test[0])],
    }  # fmt: skip
    return found | merged(starts)


def score_trained(own: Given, trained: Trained) -> dict[str, Any]:
    """Return all scores of what was trained, on the rows to test on alone."""
    x, y = own.test
    before = time.thread_time()
    test = trained(x)
    seconds = time.thread_time() - before
    held_out, known = trained(own.calibrate[0]), own.calibrate[1]
    foreign = trained(own.foreign)
    inside = test.conformal(y, held_out, known)
    conformal = [inside["coverage"], inside["size"] if "size" in inside else own.unit * inside["width"]]

    def scores(forecast: Forecast, other: Forecast) -> dict[str, float]:
        found = forecast.scores(y, own.unit)
        return found | {"auroc": uncertainty.auroc(forecast.doubt, other.doubt)}

    return {
        **scores(test, foreign),
        "scaled": scores(test.sharpened(held_out, known), foreign.sharpened(held_out, known)),
        "shifted": {
            kind: trained(inputs).scores(y, own.unit) for kind, inputs in own.shifted.items()
        },
        "conformal": conformal,
        "predict_seconds": seconds,
    }


def merged(starts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return dicts of one form as one dict of lists."""
    return {
        key: merged([start[key] for start in starts])
        if isinstance(value, Mapping)
        else [start[key] for start in starts]
        for key, value in starts[0].items()
    }
