"""What *Which one should you use?* claims, by the contest's tables and the page's own cells."""

import itertools
import math
from functools import cache

import numpy as np

from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.advice import ANSWERS, CANDIDATES, advise, price
from ensedu.contest.statistics import task_difference
from ensedu.data import concrete
from ensedu.methods import METHODS
from ensedu.uncertainty import ConformalIntervals, TemperatureScaling
from tests.book.claiming import Change, Claims

RULE = "the rule, which `tests/book/experiments/contest/test_advice.py` holds"
MEANING = "what a word or a figure means"
CLAIMS = Claims(
    "cost/choosing",
    unclaimed={
        "anything left that an ensemble does better": "a question",
        "but being narrow takes better means": "a factor keeps the order of widths as it is",
        "calls it better in negative log-likelihood": RULE,
        "with its whole interval on that side": RULE,
        "many comparisons, lies above 0": RULE,
        "the interval over splits excludes 0": MEANING,
        "Unclear does not mean equal": MEANING,
        "a method that has the better average": "advice",
        "method replaces it if the contest calls": RULE,
    },
)


def row(task: str, contestant: str, *way: str, times: float) -> Change:
    """Return a change of a contestant's numbers in a task's table."""
    return Change(f"contest/{task}", "rows", {"contestant": contestant}, *way, times=times)


def on_concrete(contestant: str, key: str) -> np.ndarray:
    """Return the mean of what concrete's rows of a contestant hold."""
    mine = [one for one in reading.rows("concrete") if one["contestant"] == contestant]
    return np.mean([one[key] for one in mine], axis=(0, 1))


#: Whose intervals the figure draws.
DRAWN = [*METHODS, "swag", "laplace", "boosting"]


@CLAIMS.says(
    "too-few", "90% intervals hold too few rows", row("concrete", "single", "coverage", times=1.1)
)
@CLAIMS.says(
    "before",
    "all but two of these methods hold 82%",
    row("concrete", "rank1", "coverage", times=1.1),
)
def _() -> None:
    found = sorted(float(on_concrete(name, "coverage")) for name in DRAWN)
    assert 0.815 < found[0] < found[-3] < 0.855 < 0.88 < found[-2]
    assert on_concrete("single", "coverage") < 0.855


@CLAIMS.says(
    "about", "makes them hold about 90%, as it", row("concrete", "swag", "conformal", times=1.1)
)
def _() -> None:
    found = [on_concrete(name, "conformal")[0] for name in DRAWN]
    assert 0.88 < min(found) < max(found) < 0.93


@CLAIMS.says(
    "width",
    "one network's intervals are 20.2 MPa wide",
    row("concrete", "single", "conformal", times=1.02),
)
@CLAIMS.says(
    "narrower",
    "and a BatchEnsemble's 18.7, though",
    row("concrete", "batch_ensemble", "conformal", times=1.02),
)
@CLAIMS.says("splits", "on five splits of one table that")
def _() -> None:
    widths = [on_concrete(name, "conformal")[1] for name in ("single", "batch_ensemble")]
    assert [round(float(width), 1) for width in widths] == [20.2, 18.7]
    assert len({one["split"] for one in reading.rows("concrete")}) == 5


@CLAIMS.says("passes", "takes 32 in our contest")
def _() -> None:
    passes = [price(name).passes for name in (reading.SCALED, "deep_ensemble", "rank1")]
    assert passes == [1, 4, 32]


@CLAIMS.says("temperature", "and the fit finds the 3")
def _() -> None:
    rng = np.random.default_rng(0)
    fair = rng.standard_normal((4000, 5))
    labels = (fair + rng.gumbel(size=fair.shape)).argmax(axis=1)
    assert abs(TemperatureScaling.fit(3 * fair, labels).temperature - 3) < 0.05


@CLAIMS.says(
    "alarm", "on 13 of our 16 tables", *(
        row(task, "deep_ensemble", "auroc", times=1.3) for task in ("concrete", "wage", "credit")
    ),
)  # fmt: skip
def _() -> None:
    means = [
        task.values["deep_ensemble"].mean().round(2)
        for task in reading.task_scores("auroc")
        if task.name not in ("digits", "mnist", "lenet")
    ]
    assert (sum(mean <= 0.6 for mean in means), len(means)) == (13, 16)


def wins() -> dict[str, list[str]]:
    """Return the data sets on which a candidate's interval is all below one with a temperature."""
    return {
        name: [
            task.name
            for task in reading.task_scores("nll")
            if task_difference(task, name, reference=reading.SCALED).interval.high < 0
        ]
        for name in CANDIDATES[1:]
    }


@CLAIMS.says(
    "five", "A BatchEnsemble has three of the five",
    row("deliveries", "batch_ensemble", "nll", times=2),
    row("diamonds", "batch_ensemble", "nll", times=0.5),
    row("churn", "batch_ensemble", "nll", times=2),
)  # fmt: skip
def _() -> None:
    assert wins()["batch_ensemble"] == ["deliveries", "diamonds", "churn"]
    assert sum(map(len, wins().values())) == 5


@CLAIMS.says(
    "lenet", "one of twelve trainings of a single network",
    row("lenet", "single", "scaled", "nll", times=0.01),
)  # fmt: skip
def _() -> None:
    (task,) = (task for task in reading.task_scores("nll") if task.name == "lenet")
    found = np.sort(task.values[reading.SCALED].ravel())
    assert len(found) == 12
    assert found[-2] < 0.25 and found[-1] > 2.2  # log(10) is to guess


@CLAIMS.says(
    "striped",
    "that of the linear model, which is worse",
    row("lenet", "single", "scaled", "nll", times=0.5),
)
@CLAIMS.says(
    "unclear", "beside one that has it, their lead",
    row("mnist", "single", "scaled", "nll", times=0.5),
)  # fmt: skip
def _() -> None:
    beside = reading.compared("nll", reading.SCALED)
    assert [name for name in CANDIDATES[1:] if beside[name].word != "unclear"] == ["linear"]
    assert beside["linear"].word == "worse"
    alone = reading.compared("nll")
    assert [alone[name].word for name in ("deep_ensemble", "batch_ensemble")] == ["better"] * 2


def choices() -> set[tuple[str, bool]]:
    """Return who is recommended, and whether four networks fit and inputs must be noticed."""
    found = set()
    for values in itertools.product(*ANSWERS.values()):
        given = dict(zip(ANSWERS, values, strict=True))
        room = "one" not in (given["memory"], given["passes"]) and given["trained"] == "no"
        if given["inputs"] != "large":
            first = advise(**given).standings[0].contestant
            found.add((first, room and given["outside"] == "yes"))
    return found


@CLAIMS.says("names", "the guide then names a deep ensemble")
@CLAIMS.says("stays", "with a temperature comes first, and it stays")
@CLAIMS.says("none", "So far none is, because most differences")
def _() -> None:
    assert choices() == {(reading.SCALED, False), ("deep_ensemble", True)}


@CLAIMS.says("hardly", "although its temperature hardly helps there")
def _() -> None:
    told = reading.compared("auroc")[reading.SCALED].interval
    assert -0.01 < told.low < told.high < 0.01


@CLAIMS.says("largest", "that is the largest one, 2.4")
def _() -> None:
    errors = np.array([0.4, -1.9, 0.2, -0.8, 1.1, 0.5, 2.4, -0.9, 1.3])[:, None]
    mean, std = np.full((9, 1), 35.0), np.full((9, 1), 5.0)
    low, high = ConformalIntervals.fit(mean, mean + std * errors, std).interval(
        mean[:1], level=0.9, std=std[:1]
    )
    assert math.isclose(high.item() - 35, 2.4 * 5) and math.isclose(35 - low.item(), 2.4 * 5)


@CLAIMS.says("most", "with a probability of at most 10%")
def _() -> None:
    """As likely as any other, the new one of ten errors is one of them; equal ones exceed less."""
    for errors in (range(10), [1, 2, 2, 3, 5, 7, 7, 9, 9, 9]):
        above = [
            all(new > one for other, one in enumerate(errors) if other != place)
            for place, new in enumerate(errors)
        ]
        assert np.mean(above) <= 0.1


@cache
def inside() -> tuple[np.ndarray, float]:
    """Return the parts of rows inside under the least and the most noise, by another fit."""
    table = concrete()
    x = (table.x - table.x.mean(0)) / table.x.std(0)
    found = []
    for split in range(10, 70):
        rng = np.random.default_rng([split, 2020])
        fit, held, new = np.split(rng.permutation(len(x)), [724, 824])
        for std in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
            noisy = x[new] + std * rng.standard_normal(x[new].shape)
            if std in (0.0, 0.5):
                rows = np.concatenate([x[fit], x[held], noisy])
                design = np.column_stack([np.ones(len(rows)), rows, rows**2])
                weights = np.linalg.pinv(design[:724]) @ table.y[fit]
                errors = np.abs(table.y[[*fit, *held, *new]] - design @ weights)[724:, 0]
                most = np.sort(errors[:100])[int(np.ceil(101 * 0.9)) - 1]
                found.append((errors[100:] <= most).mean())
    return 100 * np.array(found).reshape(60, 2).mean(0)


@CLAIMS.says("keep", "Over all rows they keep their 90%")
@CLAIMS.says("noise", "a standard deviation, 65% are left inside")
def _() -> None:
    assert inside().round().tolist() == [91, 65]
