"""What *What is inside a rank-1 BNN?* draws is what it is given, and each sentence says so."""

import itertools
from unittest import mock

import numpy as np
import pytest

from ensedu import plot
from ensedu.book.figures.rank1_bnn import Distribution, Weight, numbers_table

WEIGHT = Weight(draws=7, seed=3)
RNG = np.random.default_rng(0)
MEAN, STD = RNG.standard_normal((3, 5)) / 4, RNG.uniform(0.1, 0.3, (3, 5))
DRAWS = {name: MEAN + STD * RNG.standard_normal((2, 3, 5)) / 2 for name in ("rank1", "mean_field")}
DISTRIBUTION = Distribution(MEAN, STD, DRAWS)
CASES = [
    *((WEIGHT, case) for case in itertools.product(*WEIGHT.choices.values())),
    *((DISTRIBUTION, (name,)) for name in ("rank-1", "mean-field")),
]


def test_a_weight_says_where_its_draws_lie():
    draws = np.random.default_rng(3).standard_normal(7)
    low, high = (-1 + 0.5 * end for end in (draws.min(), draws.max()))
    np.testing.assert_allclose([WEIGHT.of(-1.0, 0.5)[end] for end in (0, -1)], [low, high])
    assert WEIGHT.say(-1.0, 0.5) == (
        f"The 7 draws lie between {low:.1f} and {high:.1f}, most of them near the mean."
    ).replace("-", "−")


@pytest.mark.parametrize("name", DRAWS)
def test_a_button_shows_the_draws_of_its_method(name):
    method = {"rank1": "rank-1", "mean_field": "mean-field"}[name]
    assert method in DISTRIBUTION.choices["method"]
    with mock.patch.object(plot, "distribution", wraps=plot.distribution) as distribution:
        DISTRIBUTION.draw(method)
    mean, std, draws = distribution.call_args.args
    assert mean is MEAN and std is STD and draws is DRAWS[name]
    assert distribution.call_args.kwargs["method"] == name
    assert ("without a pattern" in DISTRIBUTION.say(method)) == (name == "mean_field")


def test_the_table_has_a_row_each_and_the_second_decides():
    table = numbers_table({"a": (3, 2_000_000), "b": (5000, 70_000), "c": (7, 990_000)})
    assert [(row.title, row.method) for row in table.rows] == [
        ("a", "rank1"), ("b", "rank1"), ("c", "mean_field"),
    ]  # fmt: skip
    cells = [[(cell.text, cell.decisive) for cell in row.cells] for row in table.rows]
    assert cells == [
        [("3", False), ("2.0M", False)], [("5,000", False), ("0.1M", True)],
        [("7", False), ("1.0M", False)],
    ]  # fmt: skip
