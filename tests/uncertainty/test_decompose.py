"""Parts that add up to the whole, each against an explicit loop."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from ensedu import uncertainty as un

M, B, k = 3, 7, 5


def some_probabilities(seed, members=M, examples=B, classes=k):
    """Probabilities of which many are 0, and some 1."""
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.full(classes, 0.1), (members, examples))
    values[values < 0.05] = 0
    return values / values.sum(axis=-1, keepdims=True)


SIZES = {
    "seed": st.integers(0, 10**6),
    "members": st.integers(1, 7),
    "examples": st.integers(1, 9),
    "classes": st.integers(1, 11),
}


@given(**SIZES)
def test_the_parts_of_the_entropy_add_up(seed, members, examples, classes):
    parts = un.entropy_parts(some_probabilities(seed, members, examples, classes))
    sums = parts.expected + parts.mutual_information
    np.testing.assert_allclose(parts.total, sums, rtol=0, atol=1e-12)
    assert (parts.mutual_information >= -1e-14).all()
    assert (parts.total <= math.log(classes) + 1e-12).all()
    assert (parts.mutual_information <= math.log(members) + 1e-12).all()


@given(**SIZES)
def test_the_parts_of_the_covariance_add_up(seed, members, examples, classes):
    probabilities = some_probabilities(seed, members, examples, classes)
    parts = un.covariance_parts(probabilities)
    np.testing.assert_allclose(parts.total, parts.aleatoric + parts.epistemic, rtol=0, atol=1e-14)
    for part in (parts.total, parts.aleatoric, parts.epistemic):
        assert part.shape == (examples, classes, classes)
        np.testing.assert_allclose(part.sum(axis=-1), 0, atol=1e-14)  # probabilities sum to 1
        assert (np.linalg.eigvalsh(part) >= -1e-14).all()


def test_the_covariance_is_that_of_one_hot_labels():
    probabilities = some_probabilities(0)
    parts = un.covariance_parts(probabilities)
    one_hot = np.eye(k)
    for b in range(B):
        average = probabilities[:, b].mean(axis=0)
        apart = one_hot - average
        label = sum(average[c] * np.outer(apart[c], apart[c]) for c in range(k))
        np.testing.assert_allclose(parts.total[b], label, atol=1e-14)
        np.testing.assert_allclose(
            parts.epistemic[b], np.cov(probabilities[:, b].T, bias=True), atol=1e-14
        )
        noise = sum(np.diag(p) - np.outer(p, p) for p in probabilities[:, b]) / M
        np.testing.assert_allclose(parts.aleatoric[b], noise, atol=1e-14)


def test_each_part_of_the_entropy_is_its_own_sum():
    probabilities = some_probabilities(0)
    assert (probabilities == 0).any() and (probabilities == 1).any()
    parts = un.entropy_parts(probabilities)
    for b in range(B):
        average = sum(probabilities[i, b] for i in range(M)) / M
        entropies = [stats.entropy(probabilities[i, b]) for i in range(M)]
        divergences = [special.rel_entr(probabilities[i, b], average).sum() for i in range(M)]
        assert parts.total[b] == pytest.approx(stats.entropy(average), abs=1e-13)
        assert parts.expected[b] == pytest.approx(np.mean(entropies), abs=1e-13)
        assert parts.mutual_information[b] == pytest.approx(np.mean(divergences), abs=1e-13)


def test_each_part_of_the_variance_is_its_own_sum():
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((M, B, k)), rng.lognormal(0, 1, (M, B, k))
    parts = un.variance_parts(mean, variance)
    np.testing.assert_allclose(parts.noise, sum(variance) / M, rtol=1e-14)
    center = sum(mean) / M
    np.testing.assert_allclose(parts.spread, sum((mean - center) ** 2) / M, rtol=1e-13)
    np.testing.assert_array_equal(parts.total, un.mixture(mean, variance)[1])
    np.testing.assert_allclose(parts.total, parts.noise + parts.spread, rtol=1e-13)


def test_each_part_of_the_squared_error_is_its_own_sum():
    rng = np.random.default_rng(0)
    predictions, targets = rng.standard_normal((M, B, k)), rng.standard_normal((B, k))
    parts = un.ambiguity(predictions, targets)
    center = sum(predictions) / M
    np.testing.assert_allclose(parts.ensemble, (center - targets) ** 2, rtol=1e-13)
    np.testing.assert_allclose(parts.members, sum((predictions - targets) ** 2) / M, rtol=1e-13)
    np.testing.assert_allclose(parts.ambiguity, sum((predictions - center) ** 2) / M, rtol=1e-13)


def test_one_member_has_no_spread():
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((1, B, k)), rng.lognormal(0, 1, (1, B, k))
    assert not un.variance_parts(mean, variance).spread.any()
    assert not un.entropy_parts(some_probabilities(0, members=1)).mutual_information.any()
    assert not un.ambiguity(mean, mean[0] + 1).ambiguity.any()


def test_members_that_are_certain_of_different_classes():
    parts = un.entropy_parts(np.eye(k)[:, None, :])
    assert parts.total == pytest.approx(math.log(k))
    assert parts.mutual_information == pytest.approx(math.log(k))
    assert parts.expected.tolist() == [0.0]
    alone = un.entropy_parts(np.eye(k)[:1, None, :])
    assert alone.total.tolist() == [0.0] and not np.signbit(alone.total).any()


def test_a_probability_whose_average_is_too_small_for_a_float():
    probabilities = np.zeros((M, 1, 2))
    probabilities[..., 0] = 1
    probabilities[0, 0, 1] = 5e-324
    assert probabilities.mean(axis=0)[0, 1] == 0
    parts = un.entropy_parts(probabilities)
    for part in (parts.total, parts.expected, parts.mutual_information):
        assert abs(part[0]) < 1e-300
