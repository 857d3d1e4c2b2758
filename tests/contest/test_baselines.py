"""Boosting and the linear model: scikit-learn's own predictions, with a spread."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from ensedu.contest.contestants import CONTESTANTS
from tests.contest import small


def model(name, job):
    """The same model, asked for by hand."""
    if name == "linear":
        weight = job.setting["penalty"]
        return LogisticRegression(C=1 / weight, max_iter=300) if job.task.classes else Ridge(weight)
    kind = HistGradientBoostingClassifier if job.task.classes else HistGradientBoostingRegressor
    return kind(
        learning_rate=job.setting["lr"], l2_regularization=job.setting["l2"], max_iter=job.epochs,
        early_stopping=False,
    )  # fmt: skip


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("name", ["boosting", "linear"])
def test_it_is_the_model_of_scikit_learn(name, classes):
    row = CONTESTANTS[name]
    job = small.job(small.task(classes=classes), row, 2, epochs=7 if name == "boosting" else None)
    found = row.train(job)(job.given.test[0])
    x, y = job.given.fit
    own = model(name, job).fit(x, y.ravel())
    if classes:
        np.testing.assert_allclose(found.averaged, own.predict_proba(job.given.test[0]), atol=1e-5)
        return
    np.testing.assert_allclose(found.mean[0, :, 0], own.predict(job.given.test[0]), rtol=1e-9)
    known, selected = own.predict(job.given.select[0]), job.given.select[1][:, 0]
    assert found.variance == pytest.approx(((known - selected) ** 2).mean())


def test_a_class_that_no_row_to_fit_on_has_is_possible():
    row = CONTESTANTS["linear"]
    task = small.task(classes=True)
    job = small.job(task, row)
    x, y = job.given.fit
    y[y == 3] = 2
    p = row.train(job)(x).averaged
    assert p.shape == (len(x), small.k)
    assert 0 < p[:, 3].max() < 2e-6
