"""How long a contestant may train, and what is no contestant and no training."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ensedu.contest.contestants import CONTESTANTS, LONGER
from ensedu.contest.jobs import LENGTHS
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
