"""Pruning: a loop that says the same, scores by hand, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.theory import pruning
from tests.errors import check_error

#: A network's, a convolution's weight, and a vector: sizes are distinct primes.
SHAPES = [(7, 11), (5, 3, 2, 13), (17,), (2,), (2, 3, 1, 2), (1, 7)]


def drawn(seed=0, shapes=SHAPES, values=None):
    """Scores by name; with `values`, so many different ones, and thus ties."""
    rng = np.random.default_rng(seed)
    return {
        str(i): rng.exponential(size=shape)
        if values is None
        else rng.integers(0, values, shape) / 4
        for i, shape in enumerate(shapes)
    }


def by_loop(scores, number):
    """The masks after the least entry was struck out so often, the first of equal ones."""
    masks = {name: np.ones(array.shape, dtype=bool) for name, array in scores.items()}
    for _ in range(number):
        least, where = np.inf, None
        for name, array in scores.items():
            for place in np.ndindex(array.shape):
                if masks[name][place] and array[place] < least:
                    least, where = array[place], (name, place)
        name, place = where
        masks[name][place] = False
    return masks


def check(found, scores, wanted):
    assert found.masks.keys() == wanted.keys()
    for name, mask in found.masks.items():
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask, wanted[name])
    assert found.total == sum(array.size for array in scores.values())
    assert found.left == sum(mask.sum() for mask in wanted.values())


TIES = st.sampled_from([None, 1, 3])


@given(
    st.lists(st.sampled_from(SHAPES[2:]), min_size=1, max_size=3), st.integers(0, 10**6),
    st.integers(0, 19), TIES,
)  # fmt: skip
def test_the_smallest_are_struck_out_one_by_one_the_first_of_equal_ones_first(
    shapes, seed, twentieths, values
):
    scores = drawn(seed, shapes, values)
    total = sum(array.size for array in scores.values())
    found = pruning.smallest(scores, fraction=twentieths / 20)
    check(found, scores, by_loop(scores, round(twentieths / 20 * total)))


@given(st.integers(0, 10**6), st.floats(0, 3), TIES)
def test_what_equals_the_threshold_stays(seed, threshold, values):
    scores = drawn(seed, values=values)
    for limit in (threshold, 0.5):
        found = pruning.below(scores, threshold=limit)
        check(found, scores, {name: ~(array < limit) for name, array in scores.items()})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_by_hand(dtype):
    mean = {"w": np.array([[0.0, -3.0], [0.5, 2.0]], dtype)}
    std = {"w": np.array([[1.0, 2.0], [0.25, 8.0]], dtype)}
    scores = pruning.signal_to_noise(mean, std)["w"]
    np.testing.assert_array_equal(scores, [[0.0, 1.5], [2.0, 0.25]])
    assert scores.dtype == dtype
    np.testing.assert_array_equal(pruning.magnitude(mean)["w"], [[0.0, 3.0], [0.5, 2.0]])
    np.testing.assert_array_equal(mean["w"], [[0.0, -3.0], [0.5, 2.0]])


def smallest(scores, fraction=0.5):
    return lambda: pruning.smallest(scores, fraction=fraction)


def ratio(mean, std):
    return lambda: pruning.signal_to_noise({"w": np.array(mean)}, std)


ONE = {"w": np.ones((2, 3))}
ARRAYS = "scores must be a dict of arrays by name"
BAD = [
    (smallest([1.0]), TypeError, [ARRAYS, "[1.0] (list)"]),
    (lambda: pruning.below({}, threshold=0.5), ValueError, [ARRAYS, "got none"]),
    (smallest({0: ONE["w"]}), TypeError, ["scores must have strings as names", "0 (int)"]),
    (smallest({"w": np.ones(3, int)}), TypeError, ["scores['w'] must hold floats", "int64"]),
    (smallest({"w": np.ones((2, 0))}), ValueError, ["scores['w'] has shape (2, 0)", "no size 0"]),
    (smallest({"w": np.array([1, np.nan])}), ValueError, ["scores['w'] must hold finite"]),
    (smallest({"w": np.array([1, -2.0])}), ValueError, ["scores['w'] must be 0 or more", "-2"]),
    (ratio([1.0], {"v": ONE["w"]}), ValueError, ["std must have the names of mean, ['w'], got"]),
    (ratio([1.0], ONE), ValueError, ["std['w'] has shape (2, 3)", "(1,)"]),
    (ratio([1.0], {"w": np.zeros(1)}), ValueError, ["std['w'] must be above 0", "got 0"]),
    (ratio([1e50], {"w": np.full(1, 1e-300)}), ValueError, ["mean['w'] / std['w']"]),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_named(call, error, words):
    check_error(call, error, words)
