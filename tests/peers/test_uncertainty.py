"""Scores, conformal intervals and sets against packages that others wrote (`make test-others`)."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

from ensedu import uncertainty as un

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torchmetrics, scoringrules = (
        pytest.importorskip(package, reason=f"{package} is absent: run `make test-others`")
        for package in ("torchmetrics", "scoringrules")
    )
    mapie_classes, mapie_numbers, bounds = (
        pytest.importorskip(f"mapie.{part}", reason="mapie is absent: run `make test-others`")
        for part in ("classification", "regression", "conformity_scores.bounds.std_normalised")
    )
classification = torchmetrics.functional.classification

M, B, k = 3, 101, 5


def gaussians(seed=0, members=M, outputs=k):
    """Means, variances and targets."""
    rng = np.random.default_rng(seed)
    shape = members, B, outputs
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape), rng.normal(0, 3, shape[1:])


@given(
    seed=st.integers(0, 10**6), classes=st.integers(2, 11),
    bins=st.sampled_from([{}, *({"bins": number} for number in (1, 2, 7, 40))]),
)  # fmt: skip
def test_calibration_accuracy_and_auroc_are_those_of_torchmetrics(seed, bins, classes):
    """It counts in the dtype of the probabilities, or in float32."""
    rng = np.random.default_rng(seed)
    probabilities = un.softmax(2 * rng.standard_normal((B, classes)))
    labels = rng.integers(0, classes, B)
    p, y = torch.tensor(probabilities), torch.tensor(labels)
    own = {"n_bins": bins["bins"]} if bins else {}
    theirs = classification.multiclass_calibration_error(p, y, classes, **own)
    assert un.ece(probabilities, labels, **bins) == pytest.approx(theirs.item(), abs=2e-6)
    theirs = classification.multiclass_accuracy(p, y, classes, average="micro")
    assert un.accuracy(probabilities, labels) == pytest.approx(theirs.item(), abs=1e-6)
    inside, outside = probabilities[:37, 0], probabilities[37:, 1]
    theirs = classification.binary_auroc(
        torch.cat([p[:37, 0], p[37:, 1]]), torch.arange(B) // 37 > 0
    )
    assert un.auroc(inside, outside) == pytest.approx(theirs.item(), abs=1e-6)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 7))
def test_crps_and_nll_are_those_of_scoringrules(seed, members):
    mean, variance, targets = gaussians(seed, members)
    std = variance**0.5
    theirs = scoringrules.crps_mixnorm(targets, mean, std, m_axis=0, backend="numpy")
    np.testing.assert_allclose(un.crps(mean, variance, targets), theirs, rtol=1e-10)
    points = scoringrules.crps_ensemble(targets, mean, m_axis=0, estimator="nrg", backend="numpy")
    ours = un.crps(mean, 1e-30 * variance, targets)
    np.testing.assert_allclose(ours, points, rtol=1e-9, atol=1e-12)
    for j in range(k):
        column = (..., slice(j, j + 1))
        ours = un.mixture_nll(un.gaussian_nll(mean[column], variance[column], targets[column]))
        with np.errstate(divide="ignore"):
            theirs = scoringrules.logs_mixnorm(
                targets[:, j], mean[..., j], std[..., j], mc_axis=0, backend="numpy"
            )
        rows = theirs < 650  # beyond, the density is too small for a float
        assert rows.sum() > B / 2 and np.isfinite(ours).all()
        np.testing.assert_allclose(ours[rows], theirs[rows], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_are_scored_as_by_scoringrules(level):
    mean, variance, targets = gaussians()
    ends = un.interval(mean, variance, level)
    theirs = scoringrules.interval_score(targets, *ends, 1 - level, backend="numpy")
    np.testing.assert_allclose(un.interval_score(*ends, targets, level), theirs, rtol=1e-12)


n, K = 97, 5
LEVELS = (0.5, 0.8, 0.9, 0.95)


# Of MAPIE's, ends of intervals are equal but for rounding, and sets of classes are the same. No two
# scores are equal, and MAPIE draws for those of classes in any case, for sets if it is asked to.


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
    theirs = mapie_numbers.SplitConformalRegressor(line, confidence_level=level, **score)
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
    theirs = mapie_numbers.CrossConformalRegressor(
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
    theirs = mapie_classes.SplitConformalClassifier(
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
