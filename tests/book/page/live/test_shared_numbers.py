"""What scripts are told of the training is what Python trains with."""

import json

import numpy as np

from ensedu.book.page.live import shared_numbers
from ensedu.methods import METHODS


def test_scripts_are_told_all_numbers():
    told = json.loads(json.dumps(shared_numbers.described()))
    assert told["grid_points"] == len(shared_numbers.GRID)
    np.testing.assert_array_equal(
        shared_numbers.GRID, np.linspace(-told["view"]["x"], told["view"]["x"], told["grid_points"])
    )
    assert told["start_stds"] == {"normal-0.1": 0.1, "normal-0.5": 0.5}
    assert (told["batch"], told["functions"], told["many_functions"]) == (64, 16, 64)
    assert told["rest"] == 3000
    assert (told["most_points"], told["furthest"], told["classes"]) == (500, 100, 3)


def test_priors_of_factors_lie_around_one_and_those_of_weights_around_zero():
    found = {key: shared_numbers.prior_loc(row) for key, row in METHODS.items() if row.spread}
    assert found == {"rank1": 1.0, "mean_field": 0.0}
