"""When a training is looked at, and what is no contestant and no training."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.contest.contestants import CONTESTANTS, LONGER
from ensedu.contest.jobs import LOOKS, Job
from tests.contest import small

TASK = small.task()
JOB = small.job(TASK, CONTESTANTS["single"])
SIZES = st.integers(1, 50)


def looked_at(epochs, **options):
    """Return the epochs after which a training of so many is looked at."""
    row = replace(CONTESTANTS["single"], epochs=lambda _: epochs)
    job = replace(JOB, contestant=row, until=epochs, **options)
    return [epoch for epoch in range(1, epochs + 1) if job.is_look(epoch)]


@given(SIZES, SIZES)
def test_where_epochs_are_a_multiple_there_are_as_many_looks_as_asked_for(looks, every):
    assert looked_at(looks * every, looks=looks) == [every * i for i in range(1, looks + 1)]


@given(st.integers(1, 1000), SIZES)
def test_looks_are_equally_far_apart_and_the_last_is_at_the_end(epochs, looks):
    found = looked_at(epochs, looks=looks)
    assert found[-1] == epochs
    steps = set(np.diff(found).tolist())
    assert len(steps) <= 1 and found[0] <= max(steps, default=epochs)
    if epochs < 2 * looks:
        assert found == [*range(1, epochs + 1)]
    else:
        assert looks <= len(found) <= 1.5 * looks


def test_looks_are_twenty_unless_it_is_said():
    assert LOOKS == JOB.looks == 20
    assert looked_at(7) == [1, 2, 3, 4, 5, 6, 7]
    assert looked_at(39) == [*range(1, 40)]
    assert looked_at(60) == [*range(3, 61, 3)]
    assert looked_at(61) == [*range(1, 62, 3)]


def test_looks_do_not_follow_where_it_ends():
    """Trained to its best epoch again, it is what was looked at."""
    row = replace(CONTESTANTS["single"], epochs=lambda _: 60)
    ended = replace(JOB, contestant=row, until=31)
    assert [epoch for epoch in range(1, 32) if ended.is_look(epoch)] == [*range(3, 31, 3)]


def test_a_training_has_the_method_and_the_epochs_of_its_contestant():
    job = small.job(TASK, CONTESTANTS["long"])
    assert (job.method, job.scale) == ("single", 1.0)
    assert job.epochs == LONGER * TASK.epochs == 8


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"label": 3}, TypeError, "label must be a string, got 3 (int)"),
        ({"train": "adam"}, TypeError, "train must be a function, got 'adam' (str)"),
        ({"epochs": 7}, TypeError, "epochs must be a function, got 7 (int)"),
        ({"finish": 7}, TypeError, "finish must be a function, got 7 (int)"),
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
        ({"until": 0}, ValueError, "until must be a positive integer, got 0"),
        ({"until": 2.5}, TypeError, "until must be a positive integer, got 2.5"),
        ({"looks": 0}, ValueError, "looks must be a positive integer, got 0"),
    ],
)
def test_bad_trainings_are_refused(change, error, words):
    with pytest.raises(error) as refused:
        replace(JOB, **change)
    assert words in str(refused.value)
    assert isinstance(JOB, Job)
