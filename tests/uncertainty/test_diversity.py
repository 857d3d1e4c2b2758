"""Measures of pairs, against explicit loops and simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ensedu import uncertainty as un

M, B, k = 3, 7, 5


@given(seed=st.integers(0, 10**6), members=st.integers(2, 6), examples=st.integers(1, 9))
def test_disagreement_is_a_count_over_pairs(seed, members, examples):
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(k), (members, examples))
    labels = probabilities.argmax(-1)
    differ = [
        labels[i, b] != labels[j, b]
        for i in range(members)
        for j in range(i)
        for b in range(examples)
    ]
    found = un.disagreement(probabilities)
    assert found == pytest.approx(np.mean(differ), abs=1e-14)
    for kind in (np.int64, np.int8, np.uint8):
        assert un.disagreement(labels.astype(kind)) == found


def test_copies_agree():
    labels = np.random.default_rng(0).integers(0, k, B)
    assert un.disagreement(np.stack([labels] * M)) == 0
    assert un.disagreement(np.stack([labels, labels + 1])) == 1


@pytest.mark.parametrize("classes", [2, 3, 11])
def test_chance_disagreement_is_that_of_independent_errors(classes):
    rng, examples = np.random.default_rng(0), 100_000
    labels = rng.integers(0, classes, examples)
    predicted = []
    for accuracy in (0.9, 0.6, 0.3):
        wrong = (labels + rng.integers(1, classes, examples)) % classes
        predicted.append(np.where(rng.random(examples) < accuracy, labels, wrong))
    predicted = np.stack(predicted)
    found = un.chance_disagreement(np.eye(classes)[predicted], labels)
    assert found == pytest.approx(un.disagreement(predicted), abs=0.005)
    same = np.stack([predicted[1]] * 2)
    assert un.disagreement(same) == 0 < un.chance_disagreement(np.eye(classes)[same], labels)


def test_chance_disagreement_is_the_formula():
    rng = np.random.default_rng(0)
    probabilities, labels = rng.dirichlet(np.ones(k), (M, 53)), rng.integers(0, k, 53)
    accuracies = [un.accuracy(one, labels) for one in probabilities]
    assert len(set(accuracies)) == M
    expected = np.mean(
        [
            1 - a * b - (1 - a) * (1 - b) / (k - 1)  # not both right, nor both wrong and alike
            for a, b in combinations(accuracies, 2)
        ]
    )
    assert un.chance_disagreement(probabilities, labels) == pytest.approx(expected, rel=1e-13)


@given(seed=st.integers(0, 10**6), members=st.integers(2, 6), outputs=st.integers(1, 5))
def test_error_correlation_is_pearsons_over_pairs(seed, members, outputs):
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((B, outputs))
    predictions = shared + rng.standard_normal((members, B, outputs))
    targets = rng.standard_normal((B, outputs))
    errors = [(predictions[i] - targets).ravel() for i in range(members)]
    pairs = [stats.pearsonr(a, b).statistic for a, b in combinations(errors, 2)]
    found = un.error_correlation(predictions, targets)
    assert found == pytest.approx(np.mean(pairs), abs=1e-12)
    assert -1 <= found <= 1 + 1e-12


def test_equal_and_opposite_errors():
    rng = np.random.default_rng(0)
    error, targets = rng.standard_normal((B, k)), rng.standard_normal((B, k))
    copies = targets + np.stack([error, 2 * error + 1])
    assert un.error_correlation(copies, targets) == pytest.approx(1)
    opposite = targets + np.stack([error, -error])
    assert un.error_correlation(opposite, targets) == pytest.approx(-1)


def test_correlated_errors_say_what_averaging_brings():
    rng = np.random.default_rng(0)
    errors = rng.multivariate_normal(np.zeros(2), [[1, 0.4], [0.4, 1]], 100_000).T[..., None]
    found = un.error_correlation(errors, np.zeros((100_000, 1)))
    assert found == pytest.approx(0.4, abs=0.02)
    parts = un.ambiguity(errors, np.zeros((100_000, 1)))
    assert parts.ensemble.mean() / parts.members.mean() == pytest.approx((1 + found) / 2, abs=0.01)
