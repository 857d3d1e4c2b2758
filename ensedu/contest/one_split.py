"""One contestant on one split: it chooses a setting and a length, trains anew, and is scored."""

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensedu import uncertainty
from ensedu.common import checks
from ensedu.contest.forecasts import Forecast, conformal
from ensedu.contest.jobs import Contestant, Job, Setting, Trained
from ensedu.contest.tasks import SplitData, Task, split_of

#: Trainings of the chosen setting that are scored; none of them was seen in choosing.
SCORED_STARTS = 4
#: What a forecast counts that is not finite.
FAILED_NLL = 1e9
#: What is scored of shifted inputs.
SHIFT_SCORES = ("nll", "error", "rmse")


def seed_of(*parts: str | int) -> int:
    """Return a seed that no other contestant, task, split or start has."""
    numbers = [zlib.crc32(p.encode()) if isinstance(p, str) else p for p in parts]
    return int(np.random.SeedSequence(numbers).generate_state(1)[0]) % 2**31


@dataclass(kw_only=True)
class Choice:
    """The NLL of each setting at each length on the rows to select on, and the least of them."""

    #: In epochs.
    lengths: list[int]
    #: A list a setting, with an NLL a length.
    nll: list[list[float]] = field(default_factory=list)

    @property
    def best_setting(self) -> int:
        """Which setting it is."""
        return int(np.argmin(np.min(self.nll, axis=1)))

    @property
    def length(self) -> int:
        """How long that trains."""
        return self.lengths[int(np.argmin(self.nll[self.best_setting]))]


def choose(task: Task, data: SplitData, contestant: Contestant, seed: int) -> Choice:
    """Train each setting at each length once, and judge it by the rows to select on.

    By the NLL of the combined prediction. A training that fails is the worst. The data are a split
    as `split_of` returns it, and each training has a seed of its own that follows from `seed`.
    """
    kinds = {
        "task": (task, Task), "data": (data, SplitData), "contestant": (contestant, Contestant),
    }  # fmt: skip
    for name, (value, kind) in kinds.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a {kind.__name__}, got {checks.describe(value)}")
    checks.natural_int("seed", seed)
    found, (x, y) = Choice(lengths=contestant.lengths(task)), data.select
    for number, setting in enumerate(contestant.settings):
        scores = []
        for i, epochs in enumerate(found.lengths):
            job = Job(
                task=task, data=data, contestant=contestant, setting=setting,
                seed=seed_of(seed, number, i), epochs=epochs,
            )  # fmt: skip
            score = math.nan
            with suppress(FloatingPointError):  # this rate is too large for it
                score = contestant.train(job)(x).scores(y)["nll"]
            scores.append(float(score) if math.isfinite(score) else FAILED_NLL)
        found.nll.append(scores)
    return found


def run_split(
    task: Task, name: str, contestant: Contestant, split: int, *, starts: int = SCORED_STARTS,
    more_columns: Callable[[SplitData, Choice, Trained], dict[str, Any]] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return what a contestant is worth on a split of a task: a row of the contest.

    Scores are lists over fresh starts of the chosen setting, of the rows to test on: ``nll`` in
    nats an example; of classes ``error`` in percent, ``brier`` and ``ece``; of numbers ``rmse``,
    ``crps``, and ``coverage`` and ``width`` of 90 % intervals, in units of the target; ``auroc`` of
    out-of-distribution inputs. ``tempered`` has the same of the forecast with one temperature, or
    one factor of its variance, fitted on the rows to calibrate. ``setting`` and ``epochs``, its
    length, are what was chosen.

    Parameters
    ----------
    task
        What it is compared on.
    name, contestant
        Who it is; seeds follow from the name, so two names are two lucks.
    split
        From 0 to `SPLITS` - 1.
    starts
        How many trainings of the chosen setting are scored, of a contestant that draws.
    more_columns
        Called with the split, the choice and the first of these trainings; what it returns is added
        to the row.
    """
    checks.text("name", name)
    data = split_of(task, split)
    before = time.thread_time()
    choice = choose(task, data, contestant, seed_of(task.name, name, split))
    chose = time.thread_time() - before
    scored, more, setting = [], {}, contestant.settings[choice.best_setting]
    for start in range(checks.positive_int("starts", starts) if contestant.is_random else 1):
        before = time.thread_time()
        trained = fresh_start(task, data, name, contestant, split, start, setting, choice.length)
        seconds = time.thread_time() - before
        scored.append(score_trained(data, trained) | {"train_seconds": seconds})
        if more_columns is not None and not start:
            more = more_columns(data, choice, trained)
    found: dict[str, Any] = {
        "select_nll": choice.nll, "select_epochs": choice.lengths, "setting": choice.best_setting,
        "epochs": choice.length, "choose_seconds": chose, "num_stored": trained.num_stored,
        "rows": [len(data.fit[0]), len(data.test[0])],
    }  # fmt: skip
    return found | dict_of_lists(scored) | more


def fresh_start(
    task: Task, data: SplitData, name: str, contestant: Contestant, split: int, start: int,
    setting: Setting, epochs: int,
) -> Trained:  # fmt: skip
    """Return one of the trainings that a row scores, of a setting and a length."""
    job = Job(
        task=task, data=data, contestant=contestant, setting=setting, epochs=epochs,
        seed=seed_of(task.name, name, split, 1 + start),
    )  # fmt: skip
    return contestant.train(job)


def score_trained(data: SplitData, trained: Trained) -> dict[str, Any]:
    """Return all scores of what was trained, on the rows to test on alone."""
    x, y = data.test
    before = time.thread_time()
    test: Any = trained(x)
    seconds = time.thread_time() - before
    calibration, known = trained(data.calibrate[0]), data.calibrate[1]
    ood: Any = trained(data.ood)
    inside, size = conformal(test, y, calibration, known)

    def scores(forecast: Forecast, other: Forecast) -> dict[str, float]:
        found = forecast.scores(y, data.unit)
        return found | {"auroc": uncertainty.auroc(forecast.uncertainty, other.uncertainty)}

    return {
        **scores(test, ood),
        "tempered": scores(test.tempered(calibration, known), ood.tempered(calibration, known)),
        "shifted": {
            kind: {k: v for k, v in trained(x).scores(y, data.unit).items() if k in SHIFT_SCORES}
            for kind, x in data.shifted.items()
        },
        "conformal": [inside, data.unit * size],
        "predict_seconds": seconds,
    }


def dict_of_lists(starts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return dicts of one form as one dict of lists."""
    return {
        key: dict_of_lists([start[key] for start in starts])
        if isinstance(value, Mapping)
        else [start[key] for start in starts]
        for key, value in starts[0].items()
    }
