"""The shoot-out: all methods on the same five sets of data, with the same budget.

The protocol was fixed before any table was computed, but for two things. All rates were moved up by
one when a first tuning on digits and on MNIST-5000 had its best mostly at the upper end. And 23
diamonds were left out, and all that is theirs was tuned and computed again, when a first table had
shown that one of them, its size recorded as 0, decides the NLL of a split alone. Each set has ten
splits into rows to train on, rows that only a temperature or a conformal interval is fitted on, and
rows to test on. Digits, MNIST-5000 and concrete are split at random; of the diamonds each split is
a sample of its own. All contestants train on the same rows, for as many epochs and with as large
batches, by Adam (IVON by itself). Each has six settings, a rate and one thing of its own, and has
taken the one with the least NLL on one more split, the eleventh, from one start: that is the table
``shootout-tuning``; ``shootout-settings`` has all six of some. Networks of half and of twice the
width have the settings of the whole one. No start of a split is that of another. What draws is run
32 times for a forecast, by all members together.

`run` makes the rows: scores of the forecast, its NLL and error under shifted inputs, how well its
doubt tells foreign inputs from the test's, what conformal intervals add, how many numbers are kept,
and how long it took, in seconds of one thread's own time. One network and one larger network are
scored twice, the second time scaled: `with_scaled` makes contestants of that. `summarize` compares
each with one network, and the deep ensemble with some of them. Whose p-values are adjusted together
was settled when the table of digits had been seen, and no other: at first it was all of a table.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ensedu import counting, uncertainty
from ensedu.book import measured
from ensedu.book.experiments.shared.comparisons import add_verdicts
from ensedu.book.experiments.shootout.contestants import (
    CONTESTANTS,
    MEMBERS,
    PASSES,
    Contestant,
    Setting,
    network,
    scale_of,
    seed,
    train,
)
from ensedu.book.experiments.shootout.tasks import (
    DEGREES,
    NOISE,
    SPLITS,
    TASKS,
    TUNED_ON,
    Task,
    TaskSplit,
    split_of_task,
)
from ensedu.common import checks
from ensedu.contest.forecasts import Forecast
from ensedu.contest.running.experiment import Experiment
from ensedu.contest.running.machine import one_thread

__all__ = [
    "CONTESTANTS",
    "DEGREES",
    "MEMBERS",
    "NOISE",
    "PAIRS",
    "PASSES",
    "REFERENCE",
    "SCALED",
    "SCORES",
    "SETTINGS",
    "SHARPENED",
    "SPLITS",
    "TASKS",
    "TRIED",
    "TRIED_EPOCHS",
    "TRIED_SPLITS",
    "TUNED_ON",
    "TUNING",
    "WIDTHS",
    "Contestant",
    "chosen",
    "network",
    "run",
    "scale_of",
    "seed",
    "split_of_task",
    "summarize",
    "takes_part",
    "train",
    "try_out",
    "tune",
    "with_scaled",
]

#: Who others are compared with.
REFERENCE = "single"
#: Those that stand for a curve over widths alone.
WIDTHS = tuple(name for name, row in CONTESTANTS.items() if row.scale in (0.5, 2.0))
#: Who else is compared, each with whom.
PAIRS = (
    ("deep_ensemble", "wide"),
    ("deep_ensemble", "wide_scaled"),
    ("deep_ensemble", "single_scaled"),
    ("deep_ensemble", "batch_ensemble"),
    ("deep_ensemble", "rank1"),
)
#: By whether a task asks for classes; the first two, and `AUROC`, are compared.
SCORES = {
    True: ("nll", "error", "brier", "ece"),
    False: ("nll", "rmse", "crps", "coverage", "width"),
}
AUROC = "auroc"
#: Those that are scored with one factor that scales them, too, and what that is called.
SHARPENED, SCALED = ("single", "wide"), "scaled"
TUNING_TABLE = "shootout-tuning"
#: Who tries each of its settings on the first splits, and for how many epochs by set of data.
TRIED, TRIED_SPLITS = ("single", "wide", "deep_ensemble", "batch_ensemble", "swag"), 5
TRIED_EPOCHS = {
    data: (task.epochs, *((4 * task.epochs,) if data == "concrete" else ()))
    for data, task in TASKS.items()
    if not task.convolutions
}


def takes_part(data: str, contestant: str) -> bool:
    """Say whether a contestant is in the table of a task: LeNet-5 has one width."""
    return not TASKS[data].convolutions or contestant not in WIDTHS


def chosen(data: str, contestant: str) -> Setting:
    """Return the setting that a contestant, or the one that it is like, has chosen."""
    own = CONTESTANTS[contestant].like or contestant
    rows = measured.load(TUNING_TABLE)["rows"]
    found = measured.row(rows, data=data, contestant=own)
    return CONTESTANTS[own].tries[found["chosen"]]


def tune(data: str, contestant: str) -> dict[str, Any]:
    """Return the NLL of each setting on the split for that, and which one has the least."""
    given = split_of_task(data, TUNED_ON)
    x, y = given.test
    found = []
    for number, setting in enumerate(CONTESTANTS[contestant].tries):
        own_seed = seed(data, contestant, TUNED_ON, number)
        with one_thread():
            own = train(data, contestant, setting, given, own_seed)
            score = own(x).scores(y, given.unit)["nll"]
        found.append(score if np.isfinite(score) else 1e9)
    return {"nll": found, "chosen": int(np.argmin(found))}


def run(
    data: str, contestant: str, split: int, starts: int | None = None, setting: Any = None
) -> dict[str, Any]:
    """Return what a contestant is worth on a split, scores as lists over starts.

    Takes the task's number of starts, and the setting that was chosen, where none is given.
    """
    task = TASKS[checks.one_of("data", data, TASKS)]
    checks.one_of("contestant", contestant, CONTESTANTS)
    given = split_of_task(data, split)
    own = chosen(data, contestant) if setting is None else setting
    with one_thread():
        found = [
            score_start(data, contestant, own, given, seed(data, contestant, split, start))
            for start in range(task.starts if starts is None else starts)
        ]
    plain, *scaled = zip(*found, strict=True)
    row = {"parameters": parameters(task, CONTESTANTS[contestant]), **collect_starts(plain)}
    return row | {SCALED: collect_starts(scaled[0]) if scaled else None}


def score_start(
    data: str, contestant: str, setting: Setting, given: TaskSplit, seed: int
) -> list[dict[str, Any]]:
    """Return what one trained contestant is worth, as it is and, of some, scaled."""
    before = time.thread_time()
    trained = train(data, contestant, setting, given, seed)
    between = time.thread_time()
    test = trained(given.test[0])
    after = time.thread_time()
    forecasts = {
        "held_out": trained(given.held_out[0]),
        "foreign": trained(given.foreign),
        "test": test,
        **{
            f"{kind} {i}": trained(x)
            for kind, inputs in given.shifted.items()
            for i, x in enumerate(inputs)
        },
    }
    more = {
        "kept": trained.kept,
        "train_seconds": between - before,
        "predict_seconds": after - between,
    }
    several = [forecasts]
    if contestant in SHARPENED:
        held_out, known = forecasts["held_out"], given.held_out[1]
        several.append({name: each.sharpened(held_out, known) for name, each in forecasts.items()})
    return [score_forecasts(TASKS[data], given, each) | more for each in several]


def score_forecasts(
    task: Task, given: TaskSplit, forecasts: Mapping[str, Forecast]
) -> dict[str, Any]:
    """Return the scores of the forecasts of one trained contestant."""
    y, unit = given.test[1], given.unit
    test = forecasts["test"]
    inside = test.conformal(y, forecasts["held_out"], given.held_out[1])
    size = inside["size"] if task.classes else unit * inside["width"]
    return {
        **test.scores(y, unit),
        AUROC: uncertainty.auroc(test.doubt, forecasts["foreign"].doubt),
        "conformal": [inside["coverage"], size],
        "shifted": {
            f"{kind} {name}": [
                forecasts[f"{kind} {i}"].scores(y[: len(x)], unit)[name]
                for i, x in enumerate(inputs)
            ]
            for kind, inputs in given.shifted.items()
            for name in SCORES[task.classes][:2]
        },
    }


def collect_starts(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return scores as lists over starts, and means over starts of what is a list."""
    row: dict[str, Any] = {}
    for name, first in found[0].items():
        own = [each[name] for each in found]
        if name == "kept":
            row[name] = first
        elif name == "shifted":
            row[name] = {
                key: np.mean([each[key] for each in own], axis=0).tolist() for key in first
            }
        elif name == "conformal" or name.endswith("seconds"):
            row[name] = np.mean(own, axis=0).tolist()
        else:
            row[name] = own
    return row


def with_scaled(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table with one more for what is scaled, its contestant ``…_scaled``."""
    found = []
    for row in rows:
        plain = {name: value for name, value in row.items() if name != SCALED}
        found.append(plain)
        if row[SCALED] is not None:
            found.append(plain | row[SCALED] | {"contestant": f"{row['contestant']}_{SCALED}"})
    return found


def parameters(task: Task, row: Contestant) -> int:
    """Return how many numbers a contestant trains."""
    return counting.count(network(task, row, row.tries[0])).total


def summarize(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how contestants differ in the first two scores and the AUROC.

    Each score has two families of comparisons whose p-values are adjusted together: those of the
    whole width with one network, and `PAIRS`; and those of other widths with one network.
    """
    task = TASKS[rows[0]["data"]]
    by = {(row["contestant"], row["split"]): row for row in with_scaled(rows)}
    splits = sorted({split for _, split in by})
    names = dict.fromkeys(name for name, _ in by)
    others = [(name, REFERENCE) for name in names if name not in (*WIDTHS, REFERENCE)]
    widths = [(name, REFERENCE) for name in names if name in WIDTHS]

    def entry(name: str, than: str, score: str) -> tuple[dict[str, Any], uncertainty.Interval]:
        own, theirs = (
            np.array([np.mean(by[each, split][score]) for split in splits]) for each in (name, than)
        )
        found = {"contestant": name, "than": than, "score": score, "mean": float(own.mean())}
        if task.apart:
            return found, uncertainty.paired(own - theirs)
        train, _, test = task.rows
        return found, uncertainty.resampled(own - theirs, train=train, test=test)

    found = []
    for score in (*SCORES[task.classes][:2], AUROC):
        for family in ([*others, *PAIRS], widths):
            compared = [entry(name, than, score) for name, than in family]
            if compared:
                add_verdicts(compared, higher=(AUROC,))
            found += [one for one, _ in compared]
    return found


def try_out(data: str, contestant: str, number: int, epochs: int, split: int) -> dict[str, Any]:
    """Return scores of a contestant's first start with one of its six settings.

    They are ``nll``, and ``error`` or ``rmse``; the other one is None.
    """
    given = split_of_task(data, split)
    setting = CONTESTANTS[contestant].tries[number]
    own_seed = seed(data, contestant, split, 0)
    with one_thread():
        own = train(data, contestant, setting, given, own_seed, epochs)
        scores = own(given.test[0]).scores(given.test[1], given.unit)
    return {name: scores.get(name) for name in ("nll", "error", "rmse")}


def _table(data: str) -> Experiment:
    task = TASKS[data]
    other = SCORES[task.classes][1]
    classes = "error in percent, brier, ece"
    numbers = "rmse, crps, and width and coverage of the mixture's 90 % interval, in its own units"
    return Experiment(
        name=f"shootout-{data}",
        about="lists over starts: nll of the forecast, nats an example; "
        f"{classes if task.classes else numbers}; auroc of its entropy or standard deviation, for "
        "foreign inputs. Means over starts: conformal, coverage and size of 90 % sets or "
        "intervals; seconds of one thread to train, and to predict the test rows; shifted, at five "
        f"strengths of 200 rows, nll and {other}. parameters are trained, kept are the numbers "
        "that a forecast needs; scaled is the same of the forecast times one factor",
        budget=f"{SPLITS} splits, {task.starts} starts on each, {task.epochs} epochs with batches "
        f"of {task.batch_size}, {PASSES} passes of what draws, {MEMBERS} members; six settings of "
        "each contestant were tried on one more split",
        cases=[
            {"data": data, "contestant": name, "split": split}
            for name in CONTESTANTS
            if takes_part(data, name)
            for split in range(SPLITS)
        ],
        run=run,
        summarize=summarize,
    )


TUNING = Experiment(
    name=TUNING_TABLE,
    about="nll of each of six settings, in their order, nats an example, on the split that is for "
    "that; chosen, the number of the least",
    budget="six settings of each contestant on one split of each set of data, one start of each",
    cases=[
        {"data": data, "contestant": name}
        for data in TASKS
        for name, row in CONTESTANTS.items()
        if not row.like
    ],
    run=tune,
)
DIGITS, MNIST, CONCRETE, DIAMONDS, LENET = map(_table, TASKS)
SETTINGS = Experiment(
    name="shootout-settings",
    about="scores of the first start with each of six settings, in their order: nll, nats an "
    "example; error in percent of classes, rmse of numbers in their own units",
    budget=f"six settings of each contestant, {TRIED_SPLITS} splits, one start on each",
    cases=[
        {"data": data, "contestant": name, "number": number, "epochs": epochs, "split": split}
        for data, several in TRIED_EPOCHS.items()
        for epochs in several
        for name in TRIED
        for number in range(len(CONTESTANTS[name].tries))
        for split in range(TRIED_SPLITS)
    ],
    run=try_out,
)
