"""What the scripts of the playground are told of methods adds up to their counts."""

import itertools
import json

import numpy as np

from ensedu import counting, methods
from ensedu.book.page.playground import layer_scripts
from tests.book.page.playground.states import METHODS, SIZES


def test_the_page_is_told_what_each_method_has():
    told = json.loads(json.dumps(layer_scripts.BUNDLE.constants()))["LAYERS"]
    assert tuple(told["methods"]) == METHODS
    for words, expected in {
        "members": {"deep_ensemble", "batch_ensemble", "rank1"},
        "modulated": {"batch_ensemble", "rank1"},
        "stochastic": {"rank1", "mean_field"},
    }.items():
        assert {method for method in METHODS if told["methods"][method][words]} == expected
    for method, (m, n, M) in itertools.product(METHODS, SIZES):
        count = counting.layer(m, n, method, **methods.size_option(method, M))
        letters = {"m": m, "n": n, "M": M}
        terms, arrays = (told["methods"][method][key] for key in ("terms", "arrays"))
        for role in methods.ROLES:
            by_term = eval(terms.get(role, "0").replace("·", "*"), {}, letters)
            by_array = sum(
                np.prod([letters[axis] for axis in array["axes"]])
                for array in arrays
                if array["role"] == role
            )
            assert by_term == by_array == getattr(count, role)
            assert role in told["roles"]
