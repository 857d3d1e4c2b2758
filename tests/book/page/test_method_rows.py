"""What scripts know of a method is what its row says."""

import json
import math

import pytest

from ensedu import counting
from ensedu.book.page.method_rows import method_row
from ensedu.methods import METHODS, size_option


@pytest.mark.parametrize("method", METHODS)
def test_arrays_add_up_to_the_count_of_a_layer(method):
    sizes = {"m": 5, "n": 7, "M": 3}
    row = json.loads(json.dumps(method_row(METHODS[method])))
    total = sum(math.prod(sizes[axis] for axis in array["axes"]) for array in row["arrays"])
    assert total == counting.layer(5, 7, method, **size_option(method, 3)).total


def test_members_products_draws_and_dropped_units():
    found = {
        what: {method for method, row in METHODS.items() if method_row(row)[what]}
        for what in ("members", "modulated", "stochastic", "drops_units")
    }
    assert found == {
        "members": {"deep_ensemble", "batch_ensemble", "rank1", "last_layer"},
        "modulated": {"batch_ensemble", "rank1"},
        "stochastic": {"rank1", "mean_field", "mc_dropout"},
        "drops_units": {"mc_dropout"},
    }
