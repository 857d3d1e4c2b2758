"""Scores against packages that others wrote: torchmetrics, scoringrules and uncertainty-toolbox
(`make test-peers`)."""

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
        pytest.importorskip(package, reason=f"{package} is absent: run `make test-peers`")
        for package in ("torchmetrics", "scoringrules", "uncertainty_toolbox")
    )
classification = torchmetrics.functional.classification

M, B, k = 3, 101, 5


def gaussians(seed=0, members=M, outputs=k):
    """Means, variances and targets."""
    rng = np.random.default_rng(seed)
    shape = members, B, outputs
    return rng.normal(0, 2, shape), rng.lognormal(0, 1, shape), rng.normal(0, 3, shape[1:])


def forecasts(seed=0, classes=k, examples=B):
    """Probabilities, labels, and both as tensors."""
    rng = np.random.default_rng(seed)
    probabilities = un.softmax(2 * rng.standard_normal((examples, classes)))
    labels = rng.integers(0, classes, examples)
    return probabilities, labels, torch.tensor(probabilities), torch.tensor(labels)


@given(seed=st.integers(0, 10**6), bins=st.integers(1, 40), classes=st.integers(2, 11))
def test_ece_is_that_of_torchmetrics(seed, bins, classes):
    probabilities, labels, p, y = forecasts(seed, classes)
    theirs = classification.multiclass_calibration_error(p, y, classes, n_bins=bins)
    # It counts in the dtype of the probabilities, or in float32.
    assert un.ece(probabilities, labels, bins=bins) == pytest.approx(theirs.item(), abs=2e-6)


def test_the_default_number_of_bins_is_that_of_torchmetrics():
    probabilities, labels, p, y = forecasts()
    theirs = classification.multiclass_calibration_error(p, y, k)
    assert un.ece(probabilities, labels) == pytest.approx(theirs.item(), abs=2e-6)


def test_confidences_on_the_edges_are_in_the_bins_of_torchmetrics():
    confidence = np.array([0.74, 0.75, 0.76])  # and 0.75 is where the seventh of eight begins
    probabilities, labels = np.stack([confidence, 1 - confidence], 1), np.array([0, 1, 0])
    theirs = classification.multiclass_calibration_error(
        torch.tensor(probabilities), torch.tensor(labels), 2, n_bins=8
    )
    above = (0.26 + 2 * abs(0.5 - 0.755)) / 3
    below = (2 * abs(0.5 - 0.745) + 0.24) / 3
    assert un.ece(probabilities, labels, bins=8) == pytest.approx(above, rel=1e-12)
    assert theirs.item() == pytest.approx(above, abs=1e-6) != pytest.approx(below, abs=1e-2)


def test_torchmetrics_gives_a_confidence_of_one_a_bin_of_its_own():
    probabilities, labels = np.array([[1.0, 0.0], [0.75, 0.25]]), np.array([1, 0])
    theirs = classification.multiclass_calibration_error(
        torch.tensor(probabilities), torch.tensor(labels), 2, n_bins=2
    )
    assert theirs.item() == pytest.approx((1 + 0.25) / 2)
    assert un.ece(probabilities, labels, bins=2) == pytest.approx(abs(0.5 - 0.875))


def test_accuracy_and_auroc_are_those_of_torchmetrics():
    probabilities, labels, p, y = forecasts()
    theirs = classification.multiclass_accuracy(p, y, k, average="micro")
    assert un.accuracy(probabilities, labels) == pytest.approx(theirs.item(), abs=1e-6)
    inside, outside = probabilities[:37, 0], probabilities[37:, 1]
    kinds = torch.tensor([0] * 37 + [1] * (B - 37))
    scores = torch.tensor(np.concatenate([inside, outside]))
    theirs = classification.binary_auroc(scores, kinds)
    assert un.auroc(inside, outside) == pytest.approx(theirs.item(), abs=1e-6)


@given(seed=st.integers(0, 10**6), members=st.integers(1, 7))
def test_crps_and_nll_are_those_of_scoringrules(seed, members):
    mean, variance, targets = gaussians(seed, members)
    std = variance**0.5
    theirs = scoringrules.crps_mixnorm(targets, mean, std, m_axis=0, backend="numpy")
    np.testing.assert_allclose(un.crps(mean, variance, targets), theirs, rtol=1e-10)
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


def test_crps_of_points_is_the_ensembles_in_scoringrules():
    mean, variance, targets = gaussians()
    theirs = scoringrules.crps_ensemble(targets, mean, m_axis=0, estimator="nrg", backend="numpy")
    ours = un.crps(mean, 1e-30 * variance, targets)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_interval_score_is_that_of_scoringrules(level):
    mean, variance, targets = gaussians()
    ends = un.interval(mean, variance, level)
    theirs = scoringrules.interval_score(targets, *ends, 1 - level, backend="numpy")
    np.testing.assert_allclose(un.interval_score(*ends, targets, level), theirs, rtol=1e-12)


def test_scores_of_one_gaussian_are_those_of_uncertainty_toolbox():
    mean, variance, targets = gaussians(members=1, outputs=1)
    flat = mean.ravel(), variance.ravel() ** 0.5, targets.ravel()
    theirs = toolbox.metrics_scoring_rule.crps_gaussian(*flat)
    assert un.crps(mean, variance, targets).mean() == pytest.approx(theirs, rel=1e-12)
    theirs = toolbox.metrics_scoring_rule.nll_gaussian(*flat)
    ours = un.gaussian_nll(mean, variance, targets).mean()
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert un.moment_matched_nll(mean, variance, targets).mean() == pytest.approx(theirs)
    for level in (0.5, 0.9, 0.95):
        theirs = toolbox.metrics_calibration.get_proportion_in_interval(*flat, level)
        assert un.coverage(mean, variance, targets, level) == pytest.approx(theirs, rel=1e-12)
    theirs = toolbox.metrics_accuracy.prediction_error_metrics(*flat[::2])["rmse"]
    assert un.rmse(mean[0], targets) == pytest.approx(theirs, rel=1e-12)
