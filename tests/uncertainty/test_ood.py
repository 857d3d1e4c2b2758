"""The AUROC against a count of pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import uncertainty as un


@given(
    inside=st.lists(st.integers(-5, 5), min_size=1, max_size=11),
    outside=st.lists(st.integers(-5, 5), min_size=1, max_size=7),
)
def test_it_counts_pairs_and_half_of_the_ties(inside, outside):
    pairs = [(a < b) + 0.5 * (a == b) for a in inside for b in outside]
    found = un.auroc(np.array(inside, float), np.array(outside, float))
    assert found == pytest.approx(np.mean(pairs), abs=1e-12)


def test_higher_outside_is_better():
    low, high = np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.7])
    assert un.auroc(low, high) == 1
    assert un.auroc(high, low) == 0
