"""Conformal intervals and sets against MAPIE, from the same predictions (`make test-others`).

Ends of intervals are equal but for rounding, sets of classes are the same. No two scores are equal,
and MAPIE draws for the scores of classes in any case, for sets where they are randomized.
"""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

from ensedu import uncertainty as un

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    classification, regression, bounds = (
        pytest.importorskip(f"mapie.{part}", reason="mapie is absent: run `make test-others`")
        for part in ("classification", "regression", "conformity_scores.bounds.std_normalised")
    )

n, B, k, K = 97, 41, 3, 5
LEVELS = (0.5, 0.8, 0.9, 0.95)


class Spreading(LinearRegression):
    """A line with a standard deviation that grows away from 0."""

    def predict(self, X, return_std=False):
        mean = super().predict(X)
        return (mean, spread(X)) if return_std else mean


def spread(X):
    return 0.3 + np.abs(X[:, 0])


def rows(seed, number):
    """Inputs, and targets with heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, 2))
    return X, X @ [1.0, -2.0] + rng.standard_t(3, number) * spread(X)


def labels(seed, number):
    """Inputs, and a class that they tell something of."""
    X, y = rows(seed, number)
    return X, np.digitize(y, [-2, 1])


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("level", LEVELS)
def test_split_conformal_is_that_of_mapie(level, scaled):
    """Of scaled residuals the high ends: for low ones MAPIE may take the rank before."""
    line, (X, y), (new, _) = Spreading().fit(*rows(0, 19)), rows(1, n), rows(2, B)
    score = {"conformity_score": bounds.StdConformityScore()} if scaled else {}
    theirs = regression.SplitConformalRegressor(line, confidence_level=level, **score)
    _, expected = theirs.conformalize(X, y).predict_interval(new)
    stds = [(spread(of)[:, None],) if scaled else () for of in (X, new)]
    ours = un.ConformalIntervals.fit(line.predict(X)[:, None], y, *stds[0])
    center = line.predict(new)[:, None]
    low, high = ours.interval(center, *stds[1], level=level)
    np.testing.assert_allclose(high, expected[:, 1], rtol=1e-12)
    np.testing.assert_allclose(center - low, high - center, rtol=1e-12)


@pytest.mark.parametrize("level", LEVELS[1:])  # of 1/2 CV+ promises nothing
def test_cv_plus_is_that_of_mapie(level):
    (X, y), (new, _) = rows(1, n), rows(2, B)
    parts = KFold(K, shuffle=True, random_state=0)
    theirs = regression.CrossConformalRegressor(
        LinearRegression(), confidence_level=level, method="plus", cv=parts
    )
    _, expected = theirs.fit_conformalize(X, y).predict_interval(new)
    folds, of_rows, of_new = np.zeros(n, int), np.zeros((n, 1)), np.zeros((K, B, 1))
    for fold, (train, rest) in enumerate(parts.split(X)):
        line = LinearRegression().fit(X[train], y[train])
        folds[rest], of_rows[rest, 0] = fold, line.predict(X[rest])
        of_new[fold, :, 0] = line.predict(new)
    ours = un.ConformalIntervals.fit(of_rows, y, folds=folds)
    found = np.stack(ours.interval(of_new, level=level), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("randomized", [False, True])
def test_adaptive_sets_are_those_of_mapie(randomized, level):
    model, (X, y), (new, _) = LogisticRegression().fit(*labels(0, 19)), labels(1, n), labels(2, B)
    theirs = classification.SplitConformalClassifier(
        model, confidence_level=level, conformity_score="aps", random_state=7
    )
    theirs.conformalize(X, y)
    how = {"include_last_label": "randomized" if randomized else True}
    _, expected = theirs.predict_set(new, conformity_score_params=how)
    ours = un.ConformalSets.fit(model.predict_proba(X), y, same_draws(7))
    np.testing.assert_allclose(ours.scores, theirs.conformity_scores.ravel(), rtol=1e-12)
    if randomized:
        found = ours.sets(model.predict_proba(new), level=level, rng=same_draws(7))
    else:
        found = un.ConformalSets(ours.scores).sets(model.predict_proba(new), level=level)
    assert np.array_equal(found, expected[..., 0])
    assert found.sum(axis=1).std() > 0


def same_draws(seed):
    """A generator of NumPy that draws what scikit-learn's old ones do."""
    return np.random.Generator(np.random.RandomState(seed)._bit_generator)
