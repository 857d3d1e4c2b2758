"""How long a contestant may train, and what is no contestant and no training."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.contest.contestants import CONTESTANTS, LONGER
from ensedu.contest.jobs import LENGTHS, Job
from tests.contest import small

TASK = small.task()
JOB = small.job(TASK, CONTESTANTS["single"])


@given(st.integers(1, 1000))
def test_lengths_are_parts_of_the_epochs_and_rise_to_all_of_them(epochs):
    found = replace(CONTESTANTS["single"], epochs=lambda _: epochs).lengths(TASK)
    assert found == sorted(set(found)) and found[0] >= 1 and found[-1] == epochs
    wanted = [part * epochs for part in LENGTHS]
    assert all(min(abs(one - own) for own in found) <= 0.5 or one < 0.5 for one in wanted)


def test_lengths_of_some():
    def lengths(name, epochs):
        return replace(CONTESTANTS[name], epochs=lambda _: epochs).lengths(TASK)

    assert lengths("single", 100) == [12, 35, 100]
    assert lengths("single", 8) == [1, 3, 8]
    assert lengths("single", 1) == [1]
    assert lengths("long", 100) == [12, 35, 100, 100 * LONGER]


def test_a_training_has_the_method_and_the_epochs_of_its_contestant():
    job = small.job(TASK, CONTESTANTS["long"])
    assert (job.method, job.scale, job.epochs) == ("single", 1.0, TASK.epochs)


def test_few_rows_to_fit_on_are_one_batch():
    job = small.job(small.task(batch_size=97), CONTESTANTS["single"], epochs=3)
    rows = len(job.given.fit[0])
    assert rows < 97 and (job.batch_size, job.steps) == (rows, 3)
    assert CONTESTANTS["swag"].train(job)(job.given.test[0]).mean.shape[0] == 32
    assert (JOB.batch_size, JOB.steps) == (17, JOB.epochs * -(-rows // 17))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"label": 3}, TypeError, "label must be a string, got 3 (int)"),
        ({"train": "adam"}, TypeError, "train must be a function, got 'adam' (str)"),
        ({"epochs": 7}, TypeError, "epochs must be a function, got 7 (int)"),
        ({"tries": ()}, TypeError, "tries must be a tuple of dicts, at least one, got () (tuple)"),
        ({"tries": {"lr": 1}}, TypeError, "tries must be a tuple of dicts, at least one, got {"),
        ({"tries": ({}, 0.1)}, TypeError, "tries[1] must be a dict, got 0.1 (float)"),
        ({"method": "swag"}, ValueError, "method must be one of '', 'single'"),
        ({"scale": 0.0}, ValueError, "scale must be a finite number above 0, got 0"),
        ({"draws": 1}, TypeError, "draws must be True or False, got 1 (int)"),
    ],
)  # fmt: skip
def test_bad_contestants_are_refused(change, error, words):
    with pytest.raises(error) as refused:
        replace(CONTESTANTS["single"], **change)
    assert words in str(refused.value)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"seed": -1}, ValueError, "seed must be an integer from 0 up, got -1"),
        ({"epochs": 0}, ValueError, "epochs must be a positive integer, got 0"),
        ({"epochs": 2.5}, TypeError, "epochs must be a positive integer, got 2.5"),
    ],
)
def test_bad_trainings_are_refused(change, error, words):
    with pytest.raises(error) as refused:
        replace(JOB, **change)
    assert words in str(refused.value)
    assert isinstance(JOB, Job)
