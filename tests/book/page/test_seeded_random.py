"""Seeded random numbers have the distributions that they should have."""

import numpy as np

from ensedu.book.page.seeded_random import Random


def test_the_first_numbers_are_known():
    """Links that readers have kept say a seed, so its numbers stay; `random.js` draws the same."""
    random = Random(5)
    assert [random.next() for _ in range(3)] == [2051924736, 1961474017, 4248182370]


def test_random_numbers_are_uniform_and_normal():
    random = Random(5)
    u = np.array([random.uniform() for _ in range(20_000)])
    assert 0 <= u.min() and u.max() < 1
    counts = np.histogram(u, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # χ² of 19 degrees
    z = np.array([random.normal() for _ in range(20_000)])
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03
    assert abs(np.mean(np.abs(z) < 1) - 0.6827) < 0.02
