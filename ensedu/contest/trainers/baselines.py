"""What a user would otherwise take: gradient boosting and a linear model, of scikit-learn."""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common.checks import optional
from ensedu.contest.forecasts import ClassForecast, Forecast, NumericForecast
from ensedu.contest.jobs import Job
from ensedu.contest.tasks import Task

#: Of probabilities: of a class that no row to fit on has, among others.
LEAST_PROBABILITY = 1e-6
#: Rounds of boosting; with several classes each round is a tree a class.
ROUNDS, TREES, FEWEST = 400, 1000, 50


class SklearnModel:
    """A fitted model: probabilities of classes, or means, with one variance for all rows.

    The variance is the mean squared error on the rows to select on.
    """

    def __init__(self, job: Job, model: Any, stored: int) -> None:
        self.model, self.classes, self.num_stored = model, job.task.num_classes, stored
        x, y = job.data.select
        error = 0.0 if self.classes else model.predict(flat(x)).reshape(-1, 1) - y
        self.variance = float(np.mean(error**2))

    def __call__(self, x: Array) -> Forecast:
        if self.classes:
            p = np.full((len(x), self.classes), LEAST_PROBABILITY)
            found = self.model.predict_proba(flat(x))
            p[:, self.model.classes_] = np.maximum(found, LEAST_PROBABILITY)
            return ClassForecast(np.log(p / p.sum(axis=1, keepdims=True))[None])
        mean = self.model.predict(flat(x)).reshape(1, -1, 1)
        return NumericForecast(mean, np.full_like(mean, self.variance))


def flat(x: Float[Array, "B *features"]) -> Float[Array, "B m"]:
    """Return rows of numbers."""
    return x.reshape(len(x), -1)


def boosting_rounds(task: Task) -> int:
    """Return how many rounds of boosting a task is given: fewer where a round is many trees."""
    return ROUNDS if task.num_classes <= 2 else max(FEWEST, TREES // task.num_classes)


def train_boosting(job: Job) -> SklearnModel:
    """Fit trees one after the other; an epoch is a round."""
    x, y = job.data.fit
    package = optional("sklearn.ensemble", "sklearn")
    kind = "Classifier" if job.task.num_classes else "Regressor"
    model: Any = getattr(package, f"HistGradientBoosting{kind}")(
        max_iter=job.epochs, learning_rate=job.setting["lr"],
        l2_regularization=job.setting["l2"], early_stopping=False, random_state=0,
    ).fit(flat(x), y.ravel())  # fmt: skip
    trees = sum(tree.get_n_leaf_nodes() for each in model._predictors for tree in each)
    return SklearnModel(job, model, trees)


def train_linear(job: Job) -> SklearnModel:
    """Fit a logistic regression, or least squares, with a penalty on squared weights."""
    package = optional("sklearn.linear_model", "sklearn")
    x, y = job.data.fit
    model: Any
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a solver that would go on
        if job.task.num_classes:
            model = package.LogisticRegression(C=1 / job.setting["penalty"], max_iter=300)
            model.fit(flat(x), y)
        else:
            model = package.Ridge(alpha=job.setting["penalty"]).fit(flat(x), y.ravel())
    return SklearnModel(job, model, model.coef_.size + np.size(model.intercept_))
