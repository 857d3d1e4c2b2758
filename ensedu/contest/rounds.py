"""One contestant on one split: it chooses a setting and an epoch, trains anew, and is scored."""

import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensedu import uncertainty
from ensedu.common import checks
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
    says the epoch, and what was finished is judged. A training that fails is the worst.

    Parameters
    ----------
    task, own
        The task, and a split of it as `ensedu.contest.given` returns it.
    contestant
        Whose settings are tried.
    seed
        From 0 up; each setting has a seed of its own that follows from it.

    Raises
    ------
    TypeError, ValueError
        For anything else.
    ImportError
        If a package of the contestant is not installed.
    """
    check_kinds(task, contestant)
    if not isinstance(own, Given):
        raise TypeError(f"own must be a Given, got {checks.given(own)}")
    checks.natural_int("seed", seed)
    found = Choice()
    for number, setting in enumerate(contestant.tries):
        epochs = contestant.epochs(task)
        job = Job(
            task=task, given=own, contestant=contestant, setting=setting,
            seed=seed_of(seed, number), until=epochs,
        )  # fmt: skip
        best = Best(own, copies=contestant.finish is not None)
        with suppress(FloatingPointError):  # this rate is too large for it
            contestant.train(job, best)
        if contestant.finish and best.trained is not None:
            best.nll = nll_to_select(own, contestant.finish(job, best.trained))
        found.nll.append(best.nll)
        found.epochs.append(best.epoch or epochs)
    return found


def check_kinds(task: Any, contestant: Any) -> None:
    """Check that they are a task and a contestant."""
    for name, value, kind in (("task", task, Task), ("contestant", contestant, Contestant)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {checks.given(value)}")


class Best:
    """Looks at a training, and keeps which epoch has the least NLL on the rows to select on."""

    def __init__(self, own: Given, copies: bool) -> None:
        self.own, self.copies = own, copies
        self.nll, self.epoch = HARSH, 0
        #: A copy of what was trained by then.
        self.trained: Any = None

    def __call__(self, epoch: int, trained: Any) -> None:
        if (nll := nll_to_select(self.own, trained)) < self.nll:
            self.nll, self.epoch = nll, epoch
            self.trained = trained.copied() if self.copies else None


def nll_to_select(own: Given, trained: Callable[..., Forecast]) -> float:
    """Return the NLL on the rows to select on, `HARSH` where it is not finite."""
    x, y = own.select
    score = trained(x).scores(y)["nll"]
    return float(score) if np.isfinite(score) else HARSH


def run_split(task: Task, name: str, contestant: Contestant, split: int) -> dict[str, Any]:
    """Return what a contestant is worth on a split of a task: a row of the contest.

    Scores are lists over fresh starts of the chosen setting, of the rows to test on: ``nll`` in
    nats an example; of classes ``error`` in percent, ``brier`` and ``ece``; of numbers ``rmse``,
    ``crps``, and ``coverage`` and ``width`` of 90 % intervals, in units of the target; ``auroc`` of
    foreign inputs. ``scaled`` has the same of the forecast with one temperature, or one factor of
    its variance, fitted on the rows to calibrate. ``setting`` and ``epoch`` are what was chosen.

    Parameters
    ----------
    task
        What it is compared on.
    name, contestant
        Who it is; seeds follow from the name, so two names are two lucks.
    split
        From 0 to `SPLITS` - 1.

    Raises
    ------
    TypeError, ValueError
        For anything else, and as `rows_of_split` and `given`.
    ImportError
        If a package of the contestant is not installed.
    """
    check_kinds(task, contestant)
    checks.text("name", name)
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
    test: Any = trained(x)
    seconds = time.thread_time() - before
    held_out, known = trained(own.calibrate[0]), own.calibrate[1]
    foreign: Any = trained(own.foreign)
    inside = test.conformal(y, held_out, known)
    size = inside["size"] if "size" in inside else own.unit * inside["width"]

    def scores(forecast: Forecast, other: Forecast) -> dict[str, float]:
        found = forecast.scores(y, own.unit)
        return found | {"auroc": uncertainty.auroc(forecast.doubt, other.doubt)}

    return {
        **scores(test, foreign),
        "scaled": scores(test.sharpened(held_out, known), foreign.sharpened(held_out, known)),
        "shifted": {
            kind: first_two(trained(inputs).scores(y, own.unit))
            for kind, inputs in own.shifted.items()
        },
        "conformal": [inside["coverage"], size],
        "predict_seconds": seconds,
    }


def first_two(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the NLL, and the error or the RMSE."""
    return {name: score for name, score in scores.items() if name in ("nll", "error", "rmse")}


def merged(starts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return dicts of one form as one dict of lists."""
    return {
        key: merged([start[key] for start in starts])
        if isinstance(value, Mapping)
        else [start[key] for start in starts]
        for key, value in starts[0].items()
    }
