"""What the figures of *Counting* are given they draw, and their sentences say what follows."""

import re

import numpy as np
import pytest
from bs4 import BeautifulSoup

from ensedu import counting
from ensedu.methods import METHODS, size_option
from tests.book.figures.shown import check
from workshop.figures import cheat_sheet
from workshop.figures.counting import comparison
from workshop.figures.counting import rank_1_bnn as inside

RNG = np.random.default_rng(0)
MEAN, STD = RNG.standard_normal((3, 5)) / 4, RNG.uniform(0.1, 0.3, (3, 5))
DRAWS = {name: MEAN + STD * RNG.standard_normal((2, 3, 5)) / 2 for name in ("rank1", "mean_field")}
DISTRIBUTION = inside.Distribution(MEAN, STD, DRAWS)
M, DEPTHS = 4, [1, 2, 9]


def network(method, width, depth):
    return counting.mlp([1, *[width] * depth, 1], method, **size_option(method, M)).total


DEEP = comparison.Depths(DEPTHS, {
    width: {name: [network(name, width, d) for d in DEPTHS] for name in comparison.SHARING}
    for width in (50, 500)
}, M)  # fmt: skip
TIMES = [network("rank1", 50, d) / network("single", 50, d) for d in DEPTHS]
CASES = {
    "rank-1 samples": (DISTRIBUTION, ("rank-1",), "They move together.", *DRAWS["rank1"]),
    "other samples": (DISTRIBUTION, ("mean-field",), "moves for itself", *DRAWS["mean_field"]),
    "depths": (
        DEEP, (50,), "a deep ensemble stores 4.00 times one network’s parameters, a "
        "BatchEnsemble 1.24 times", TIMES,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_figure_says_and_draws_what_it_is_given(case):
    check(*CASES[case])


@pytest.mark.parametrize("method", cheat_sheet.WORDS)
def test_the_cheat_sheets_areas_are_the_count(method):
    """Of a square layer whose sides are those of the picture; what is computed is not stored."""
    drawn = BeautifulSoup(cheat_sheet.picture(method, 3), "html.parser").find_all("rect")
    areas = [
        int(one["width"]) * int(one["height"]) for one in drawn if one["class"] != ["computed"]
    ]
    counted = counting.layer(*2 * [cheat_sheet.SIDE], method, **size_option(method, 3))
    assert sum(areas) == counted.total * cheat_sheet.UNIT**2


@pytest.mark.parametrize("method", [key for key in METHODS if not METHODS[key].body])
def test_the_cheat_sheets_formula_is_the_count(method):
    said = re.sub(r"(?<=[Mmn\d])(?=[Mmn(])", "*", cheat_sheet.formula(method))
    counted = counting.layer(5, 7, method, **size_option(method, 3))
    assert eval(said, {"M": 3, "m": 5, "n": 7}) == counted.total
