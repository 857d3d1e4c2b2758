"""The temperature against other ways to fit it, and what it makes of logits against a softmax."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special

from ensedu import uncertainty as un
from tests.uncertainty.cases import forecasts, k


def best_temperature(logits, labels):
    return un.TemperatureScaling.fit(logits, labels).temperature


def scaled(logits, T):
    return un.TemperatureScaling(T).probabilities(logits)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 3.0, 1e3, 1e50]))
def test_no_other_temperature_is_better(seed, scale):
    logits, labels = forecasts(seed, scale=scale)

    def nll(T):
        return -special.log_softmax(logits / T, -1)[np.arange(len(labels)), labels].mean()

    T = best_temperature(logits, labels)
    assert all(nll(T * by) >= nll(T) - 1e-14 for by in (0.5, 0.99, 0.9999, 1.0001, 1.01, 2))


@given(gap=st.floats(1e-6, 1e6), right=st.integers(1, 40), wrong=st.integers(1, 40))
def test_two_classes_and_one_gap_have_a_formula(gap, right, wrong):
    assume(right > wrong)
    labels = np.repeat([0, 1], [right, wrong])
    logits = np.tile([gap, 0.0], (right + wrong, 1))
    assert best_temperature(logits, labels) == pytest.approx(
        gap / math.log(right / wrong), rel=1e-9
    )


@pytest.mark.parametrize("shape", [(3, 7, k), (7, k)])
@pytest.mark.parametrize("T", [1e-3, 0.7, 1.0, 30.0])
def test_scaled_is_a_softmax_of_averaged_members(shape, T):
    logits = np.random.default_rng(0).standard_normal(shape)
    one = logits if len(shape) < 3 else np.log(special.softmax(logits, -1).mean(0))
    np.testing.assert_allclose(scaled(logits, T), special.softmax(one / T, -1), atol=1e-12)
    labels = np.arange(7) % k
    assert best_temperature(logits, labels) == pytest.approx(best_temperature(one, labels))


def test_a_temperature_next_to_zero_leaves_the_greatest():
    assert scaled(np.array([[1e99, -1e99, 0.0]]), 5e-324).tolist() == [[1, 0, 0]]
