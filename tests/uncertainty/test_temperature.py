"""The temperature against other ways to fit it, and what it makes of logits against a softmax."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from ensedu import uncertainty as un
from tests.uncertainty.overconfident import forecasts, k


def mean_nll(logits, labels, T):
    rows = torch.nn.functional.cross_entropy(torch.tensor(logits) / T, torch.tensor(labels))
    return rows.item()


def best_temperature(logits, labels):
    return un.TemperatureScaling.fit(logits, labels).temperature


def scaled(logits, T):
    return un.TemperatureScaling(T).probabilities(logits)


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 3.0, 1e3, 1e50]))
def test_no_other_temperature_is_better(seed, scale):
    logits, labels = forecasts(seed, scale=scale)
    T = best_temperature(logits, labels)
    best = mean_nll(logits, labels, T)
    for factor in (0.5, 0.99, 0.9999, 1.0001, 1.01, 2.0):
        assert mean_nll(logits, labels, T * factor) >= best - 1e-14


@given(gap=st.floats(1e-6, 1e6), right=st.integers(1, 40), wrong=st.integers(1, 40))
def test_two_classes_and_one_gap_have_a_formula(gap, right, wrong):
    assume(right > wrong)
    labels = np.repeat([0, 1], [right, wrong])
    logits = np.tile([gap, 0.0], (right + wrong, 1))
    assert best_temperature(logits, labels) == pytest.approx(
        gap / math.log(right / wrong), rel=1e-9
    )


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-50, 50))
def test_temperature_scales_with_the_logits_and_knows_no_shift(scale, shift):
    logits, labels = forecasts()
    T = best_temperature(logits, labels)
    assert best_temperature(scale * logits + shift, labels) == pytest.approx(scale * T, rel=1e-7)


def test_calibrated_logits_have_a_temperature_near_one():
    logits, labels = forecasts(examples=20_000, scale=3.0)
    assert best_temperature(logits, labels) == pytest.approx(3.0, rel=0.03)
    before, after = (un.ece(scaled(logits, T), labels) for T in (1.0, 3.0))
    assert after < 0.02 < 0.15 < before


@pytest.mark.parametrize("shape", [(3, 7, k), (7, k)])
@pytest.mark.parametrize("T", [1e-3, 0.7, 1.0, 30.0])
def test_scaled_is_a_softmax(shape, T):
    logits = np.random.default_rng(0).standard_normal(shape)
    one = logits if len(shape) < 3 else np.log(un.averaged(un.softmax(logits)))
    np.testing.assert_allclose(scaled(logits, T), un.softmax(one / T), atol=1e-12)
    labels = np.arange(7) % k
    assert best_temperature(logits, labels) == pytest.approx(best_temperature(one, labels))


def test_a_temperature_next_to_zero_leaves_the_greatest():
    assert scaled(np.array([[1e99, -1e99, 0.0]]), 5e-324).tolist() == [[1, 0, 0]]


def test_an_ensemble_is_scaled_after_averaging():
    rng = np.random.default_rng(0)
    logits, labels = forecasts(examples=2000)
    members = un.softmax(logits + 2 * rng.standard_normal((4, *logits.shape)))
    own = [best_temperature(np.log(one), labels) for one in members]
    first = np.stack([scaled(np.log(p), t) for p, t in zip(members, own, strict=True)])
    for one in first:
        assert best_temperature(np.log(one), labels) == pytest.approx(1, rel=1e-9)
    # Calibrated members make an under-confident average, which a T below 1 has to mend.
    assert best_temperature(np.log(un.averaged(first)), labels) < 0.9


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("logits", "labels", "words"),
    [
        ([[2.0, 0.0], [0.0, 1.0]], [0, 1], ["labels", "right on each of 2", "falls to 0"]),
        ([[2.0, 2.0, 0.0], [1.0, 0.0, 0.0]], [1, 0], ["labels", "right on each"]),
        ([[2.0, 0.0], [2.0, 0.0]], [0, 1], ["logits", "T grows", "tell nothing"]),
        ([[2.0, 0.0], [0.0, 1.0]], [1, 0], ["logits", "T grows", "tell nothing"]),
        ([[3.0, 3.0], [0.1, 0.1]], [1, 0], ["logits", "T grows", "tell nothing"]),
        ([[3.0], [2.0]], [0, 0], ["logits", "tell nothing"]),
    ],
)
def test_no_temperature_is_best(logits, labels, words):
    with pytest.raises(ValueError, match="or the NLL falls") as caught:
        best_temperature(np.array(logits), np.array(labels))
    for word in words:
        assert word in str(caught.value)
