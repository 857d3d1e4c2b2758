"""Small tasks for the contest's tests: a number and a class to predict, of distinct prime sizes."""

import numpy as np
import pandas as pd

from ensedu.contest.jobs import Job
from ensedu.contest.tasks import Task, split_of

N, m, k = 101, 3, 5


def task(classes=False, **options):
    """A table with `m` inputs and a word, whose target follows the first input."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.standard_normal((N, m)), columns=["a", "b", "c"])
    x["word"] = rng.choice(["oak", "ash"], N)
    signal = x["a"].to_numpy() + 0.3 * rng.standard_normal(N)
    y = np.digitize(signal, [-0.8, -0.2, 0.3, 0.9]) if classes else 7.0 + 11.0 * signal[:, None]
    own = {"hidden": (7, 5), "steps": 6, "batch_size": 17} | options
    return Task(name="small", label="small", x=x, y=y, **own)


def images(side=28, **options):
    """Images that LeNet-5 takes."""
    rng = np.random.default_rng(1)
    y = np.arange(41) % k
    x = rng.random((41, 1, side, side)) + 0.2 * y[:, None, None, None]
    own = {"hidden": "lenet", "steps": 2, "batch_size": 11, "shifts": {}} | options
    return Task(name="images", label="images", x=x, y=y, ood=rng.random((13, *x.shape[1:])), **own)


def job(task, contestant, number=0, seed=3, epochs=None, split=0):
    """A training of one of a contestant's settings."""
    return Job(
        task=task, data=split_of(task, split), contestant=contestant,
        setting=contestant.settings[number], seed=seed, epochs=epochs or contestant.epochs(task),
    )  # fmt: skip
