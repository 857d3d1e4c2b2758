"""Calibration against loops over bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un
from tests.uncertainty.overconfident import forecasts


@given(seed=st.integers(0, 10**6), bins=st.integers(1, 40), examples=st.integers(1, 60))
def test_each_bin_is_its_own_loop(seed, bins, examples):
    logits, labels = forecasts(seed, examples)
    probabilities = un.softmax(logits)
    table = un.reliability(probabilities, labels, bins=bins)
    assert table.edges.tolist() == np.linspace(0, 1, bins + 1).tolist()
    error = 0.0
    for j in range(bins):
        low, high = table.edges[j : j + 2]
        rows = [b for b in range(examples) if low <= max(probabilities[b]) < high]
        right = [np.argmax(probabilities[b]) == labels[b] for b in rows]
        confidence = [max(probabilities[b]) for b in rows]
        assert table.count[j] == len(rows)
        if rows:
            assert table.confidence[j] == pytest.approx(np.mean(confidence), rel=1e-12)
            assert table.accuracy[j] == pytest.approx(np.mean(right), rel=1e-12)
            error += len(rows) / examples * abs(np.mean(right) - np.mean(confidence))
        else:
            assert table.confidence[j] == table.accuracy[j] == 0
    assert un.ece(probabilities, labels, bins=bins) == pytest.approx(error, abs=1e-12)
    assert table.count.sum() == examples


def test_a_confidence_on_an_edge_is_in_the_bin_above_and_one_in_the_last():
    probabilities = np.array([[0.5, 0.5, 0.0], [0.75, 0.25, 0.0], [1.0, 0.0, 0.0]])
    table = un.reliability(probabilities, np.array([0, 1, 0]), bins=4)
    assert table.count.tolist() == [0, 0, 1, 2]
    assert table.accuracy.tolist() == [0, 0, 1, 0.5]
    assert table.confidence.tolist() == [0, 0, 0.5, 0.875]


def test_probabilities_that_sum_to_a_little_more_than_one_have_a_bin():
    table = un.reliability(np.array([[1.00005, 0.0]]), np.array([0]), bins=3)
    assert table.count.tolist() == [0, 0, 1]


def test_one_bin_compares_the_means():
    logits, labels = forecasts()
    probabilities = un.softmax(logits)
    expected = abs(un.accuracy(probabilities, labels) - probabilities.max(1).mean())
    assert un.ece(probabilities, labels, bins=1) == pytest.approx(expected, rel=1e-12)
    default = un.ece(probabilities, labels)
    assert default == un.ece(probabilities, labels, bins=15) > expected
