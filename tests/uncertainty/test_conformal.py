"""The conformal quantile against ranks, and how many rows it needs."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un


@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), share=st.integers(1, 99))
def test_the_quantile_is_the_value_of_its_rank(seed, n, share):
    scores = np.random.default_rng(seed).permutation(np.arange(1.0, n + 1))
    rank = math.ceil((n + 1) * Fraction(share, 100))
    if rank <= n:
        assert un.conformal_quantile(scores, share / 100) == rank
    else:
        with pytest.warns(UserWarning, match="infinite"):
            assert un.conformal_quantile(scores, share / 100) == math.inf


def test_a_rank_is_counted_with_the_decimal_that_is_written():
    """In floats 0.55 · 100 is above 55, and 0.07 · 100 above 7."""
    scores = np.arange(1.0, 100)
    assert math.ceil(0.55 * 100) == 56 and un.conformal_quantile(scores, 0.55) == 55
    assert math.ceil(0.07 * 100) == 8 and un.conformal_quantile(scores, 0.07) == 7


@pytest.mark.parametrize(
    ("level", "needed"), [(0.9, 9), (0.95, 19), (0.99, 99), (0.7, 3), (0.55, 2)]
)
def test_too_few_rows_are_warned_of_and_one_more_suffices(level, needed):
    assert needed == math.ceil(1 / (1 - Fraction(str(level)))) - 1
    assert un.conformal_quantile(np.arange(float(needed)), level) == needed - 1
    words = f"level {level} needs at least {needed} calibration rows, got {needed - 1}: "
    with pytest.warns(UserWarning, match=words):
        assert un.conformal_quantile(np.arange(needed - 1.0), level) == math.inf
