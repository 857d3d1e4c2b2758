"""The contest's tables are what its protocol makes, and pages say what they hold."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from ensedu.contest.contestants import CONTESTANTS, REFERENCE
from ensedu.contest.trainers.networks import MEMBERS
from ensedu.methods import METHODS
from tests.contest import small
from workshop.experiments.contest import AGAIN, reading
from workshop.experiments.contest.tasks import TASKS


@pytest.mark.parametrize("task", TASKS)
def test_what_was_chosen_has_the_least_nll_on_the_rows_to_select_on(task):
    for row in reading.rows(task):
        tried = np.array(row["select_nll"])
        place = row["select_epochs"].index(row["epochs"])
        assert tried[row["setting"], place] == np.nanmin(tried)


def by_hand(task, contestant, score, tempered=False):
    """Return a score (splits, starts) from the rows of a table."""
    own = [row for row in reading.rows(task) if row["contestant"] == contestant]
    own.sort(key=lambda row: row["split"])
    return np.array([(row["tempered"] if tempered else row)[score] for row in own])


def both_copies(task, score, tempered):
    """Return a score of all trainings of one network."""
    return np.concatenate(
        [by_hand(task, name, score, tempered) for name in (REFERENCE, *AGAIN)], axis=1
    )


@pytest.mark.parametrize("tempered", [False, True])
def test_by_other_code_each_word_is_the_same(tempered):
    """From the rows alone, each pair of trainings in a loop, and by SciPy's binomial test."""
    by_source = {}
    for task in reading.tasks():
        trained = {
            name: by_hand(task, name, "nll", tempered).tolist()
            for name in reading.contenders()
            if name != REFERENCE and name in reading.scores_of_rows(task, "nll")
        }  # fmt: skip
        trained[REFERENCE] = both_copies(task, "nll", tempered).tolist()
        if not tempered:
            trained[reading.TEMPERED] = both_copies(task, "nll", True).tolist()
        luck = [
            np.std([x - y for a, b in zip(one, other, strict=True) for x in a for y in b], ddof=1)
            for one, other in combinations(trained.values(), 2)
        ]
        for name, splits in trained.items():
            gap = (np.mean(splits) - np.mean(trained[REFERENCE])) / np.median(luck)
            source = "mnist" if task == "lenet" else task
            by_source.setdefault(name, {}).setdefault(source, []).append(gap)
    del by_source[REFERENCE]
    found = reading.compared("nll", tempered=tempered)
    assert {*found} == {*by_source}
    for name, each in by_source.items():
        d = np.array([np.mean(tasks) for tasks in each.values()])
        p = len(found) * stats.binomtest(int((d < 0).sum()), len(d)).pvalue
        clear = "better" if np.median(d) < 0 else "worse"
        assert found[name].word == (clear if p <= 0.05 else "unclear"), name
        assert found[name].middle == pytest.approx(np.median(d), rel=1e-9)


def test_forests_have_the_pooled_numbers_without_a_temperature_and_with_one():
    chosen = ["deep_ensemble", "wide", reading.TEMPERED]
    assert [*reading.forests(chosen)["without"]] == [*map(reading.label, chosen)]
    assert [*reading.forests(chosen)["with"]] == [*map(reading.label, chosen[:2])]
    for words, tempered in (("without", False), ("with", True)):
        rows, own = reading.forests()[words], reading.compared("nll", tempered=tempered)
        assert [*rows] == [*map(reading.label, own)]
        for name, one in own.items():
            row = rows[reading.label(name)]
            assert row.interval == (one.low, one.middle, one.high)
            assert [*row.sources] == [*one.sources.values()] and row.word == one.word
            assert row.method == (name if name in METHODS else None)


def test_passes_are_those_that_run():
    """Each has an output; but where one body serves all members they cost no time."""
    task = small.task(steps=1)

    def outputs(name):
        job = small.job(task, CONTESTANTS[name])
        return len(CONTESTANTS[name].train(job)(job.data.test[0]).mean)

    for name in (
        "wide", "long", "deep_ensemble", "batch_ensemble", "rank1", "mean_field", "mc_dropout",
        "swag",
    ):  # fmt: skip
        assert outputs(name) == reading.passes(name), name
    assert outputs("last_layer") == MEMBERS and reading.passes("last_layer") == 1
    assert reading.costs("last_layer")["predict_seconds"] < 1.2


def test_a_network_fits_its_images():
    own, mnist, lenet = (TASKS[name]() for name in ("digits", "mnist", "lenet"))
    assert (own.hidden, mnist.hidden, lenet.hidden) == ((50, 50), (100, 100), "lenet")
    assert own.ood.shape == (360, 64)
    np.testing.assert_array_equal(lenet.x.reshape(mnist.x.shape), mnist.x)
