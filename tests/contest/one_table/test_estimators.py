"""What a comparison keeps is an estimator: it reads, predicts, holds its promise, and no row."""

import pickle

import numpy as np
import pandas as pd
import pytest

from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.forecasts import conformal
from ensedu.contest.jobs import Job
from ensedu.contest.one_table.estimators import TableClassifier, TableRegressor
from ensedu.contest.one_table.tables import RowReader
from ensedu.contest.tasks import Task, rows_of_split, split_of
from ensedu.data import clean, encoder

N, SECRET = 401, "Rumpelstiltskin"


def frame(seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({"a": rng.standard_normal(N), "wood": rng.choice(["oak", "ash"], N)})
    y = x["a"] + (x["wood"] == "oak") + 0.3 * rng.standard_normal(N) + shift
    return x.assign(owner=SECRET, price=np.exp(y), large=np.where(y > 0.5, "yes", "no"))


def table_estimator(name, classes):
    """A contestant trained on a split, calibrated on its rows for that, and the rows to test on."""
    whole, x = frame(), clean(frame()[["a", "wood"]])
    y = (whole["large"] == "yes").to_numpy(np.int64) if classes else np.log(whole["price"])
    task = Task(name="kept", label="kept", x=x, y=np.asarray(y), steps=200)
    own, parts, contestant = split_of(task, 4), rows_of_split(task, 4), CONTESTANTS[name]
    job = Job(
        task=task, data=own, contestant=contestant, setting=contestant.settings[1], seed=3,
        epochs=contestant.lengths(task)[-1],
    )  # fmt: skip
    reader = RowReader(like=x.iloc[:0], classes=("no", "yes") if classes else (), log=not classes)
    target, held = "large" if classes else "price", whole.iloc[parts["calibrate"]]
    found = (TableClassifier if classes else TableRegressor)(
        contestant.label, contestant.train(job), reader,
        encoder(x, unknown="ignore").fit(task.rows(parts["fit"])), held, held[target],
        center=own.center, unit=own.unit,
    )  # fmt: skip
    return pickle.loads(pickle.dumps(found)), job, whole.iloc[parts["test"]], held


@pytest.mark.parametrize("name", ["linear", "deep_ensemble"])
def test_numbers_are_those_of_the_contest_in_their_own_unit(name):
    found, job, new, _ = table_estimator(name, classes=False)
    trained = job.contestant.train(job)
    mean, variance = trained(job.data.test[0]).moments
    predicted = np.exp(job.data.center + job.data.unit * mean[:, 0])
    np.testing.assert_allclose(found.predict(new), predicted, rtol=1e-5)
    # By hand: the ⌈0.9 (n + 1)⌉-th error of those that calibrate, in σ, is the reach of all.
    x, y = job.data.calibrate
    at, spread = trained(x).moments
    errors = np.sort((np.abs(y - at) / np.sqrt(spread))[:, 0])
    reach = errors[int(np.ceil(0.9 * (len(errors) + 1))) - 1] * np.sqrt(variance[:, 0])
    low, high = found.predict_interval(new, level=0.9)
    np.testing.assert_allclose(high, predicted * np.exp(job.data.unit * reach), rtol=1e-4)
    inside = (low <= new["price"]) & (new["price"] <= high)
    assert found.coverage(new, new["price"]) == inside.mean() > 0.8
    tempered = trained(job.data.test[0]).tempered(trained(x), y).moments[1]
    np.testing.assert_allclose(
        found.predict_std(new), job.data.unit * np.sqrt(tempered[:, 0]), rtol=1e-5
    )


def test_classes_are_those_of_the_contest():
    found, job, new, _ = table_estimator("linear", classes=True)
    trained, (x, y) = job.contestant.train(job), job.data.calibrate
    test = trained(job.data.test[0])
    p = test.tempered(trained(x), y).averaged
    np.testing.assert_allclose(found.predict_proba(new), p, rtol=1e-5)
    assert (found.predict(new) == np.array(["no", "yes"])[p.argmax(axis=1)]).all()
    inside, _ = conformal(test, job.data.test[1], trained(x), y)
    assert found.coverage(new, new["large"]) >= inside
    assert found.predict_set(new)[np.arange(len(p)), p.argmax(axis=1)].all()


@pytest.mark.parametrize(("classes", "target"), [(False, "price"), (True, "large")])
def test_it_holds_no_row_and_sees_that_rows_have_changed(classes, target):
    found, _, new, held = table_estimator("deep_ensemble", classes)
    stored = pickle.dumps(found)
    assert SECRET.encode() not in stored and len(stored) < 100_000
    values = [*frame()["a"], *held["price"]]
    there = [value for value in values if np.float64(value).tobytes() in stored]
    assert len(there) <= 1  # the median, for gaps
    same = found.check(new, new[target])
    assert not same.alarm and "deep ensemble" in repr(found)
    other = frame(1, shift=-1.5)
    assert found.check(other, other[target], after=same).alarm
