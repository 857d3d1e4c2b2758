"""Scores against packages that others wrote: torchmetrics, scoringrules and uncertainty-toolbox
(`make test-others`)."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torchmetrics, scoringrules, toolbox = (
        pytest.importorskip(package, reason=f"{package} is absent: run `make test-others`")
        for package in ("torchmetrics", "scoringrules", "uncertainty_toolbox")
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
def test_intervals_are_scored_as_by_scoringrules_and_cover_as_in_uncertainty_toolbox(level):
    mean, variance, targets = gaussians()
    ends = un.interval(mean, variance, level)
    theirs = scoringrules.interval_score(targets, *ends, 1 - level, backend="numpy")
    np.testing.assert_allclose(un.interval_score(*ends, targets, level), theirs, rtol=1e-12)
    mean, variance, targets = gaussians(members=1, outputs=1)
    flat = mean.ravel(), variance.ravel() ** 0.5, targets.ravel()
    theirs = toolbox.metrics_calibration.get_proportion_in_interval(*flat, level)
    assert un.coverage(mean, variance, targets, level) == pytest.approx(theirs, rel=1e-12)


def test_scores_of_one_gaussian_are_those_of_uncertainty_toolbox():
    mean, variance, targets = gaussians(members=1, outputs=1)
    flat = mean.ravel(), variance.ravel() ** 0.5, targets.ravel()
    rules, accuracy = toolbox.metrics_scoring_rule, toolbox.metrics_accuracy
    for ours, theirs in (
        (un.crps(mean, variance, targets).mean(), rules.crps_gaussian(*flat)),
        (un.gaussian_nll(mean, variance, targets).mean(), rules.nll_gaussian(*flat)),
        (un.moment_matched_nll(mean, variance, targets).mean(), rules.nll_gaussian(*flat)),
        (un.rmse(mean[0], targets), accuracy.prediction_error_metrics(*flat[::2])["rmse"]),
    ):
        assert ours == pytest.approx(theirs, rel=1e-12)
