"""Pruning: exact counts, a loop that says the same, ties, and bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu.theory import pruning
from tests.errors import check_error

#: A network's, a convolution's weight, and a vector: sizes are distinct primes.
SHAPES = {"dense": (7, 11), "conv": (5, 3, 2, 13), "bias": (17,)}
TOTAL = 7 * 11 + 5 * 3 * 2 * 13 + 17
NAN = float("nan")


def drawn(seed=0, shapes=SHAPES, values=None):
    """Scores by name; with `values`, so many different ones, and thus ties."""
    rng = np.random.default_rng(seed)
    if values is None:
        return {name: rng.exponential(size=shape) for name, shape in shapes.items()}
    return {name: rng.integers(0, values, shape) / 4 for name, shape in shapes.items()}


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


def same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, mask in found.items():
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask, wanted[name])


@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True), st.sampled_from([None, 1, 2, 5]))
def test_exactly_so_many_are_dropped(seed, fraction, values):
    scores = drawn(seed, values=values)
    found = pruning.smallest(scores, fraction=fraction)
    assert found.total == TOTAL
    assert found.left == TOTAL - round(fraction * TOTAL)
    assert sum(mask.sum() for mask in found.masks.values()) == found.left
    # What goes is nowhere larger than what stays.
    gone, stays = (
        [x for name, mask in found.masks.items() for x in scores[name][mask == kept]]
        for kept in (False, True)
    )
    assert max(gone, default=0.0) <= min(stays, default=np.inf)


@given(
    st.lists(st.sampled_from([(2,), (3, 5), (2, 3, 1, 2), (1, 7)]), min_size=1, max_size=3),
    st.integers(0, 10**6), st.integers(0, 19), st.sampled_from([None, 1, 3]),
)  # fmt: skip
def test_it_is_the_loop(shapes, seed, twentieths, values):
    scores = drawn(seed, {str(i): shape for i, shape in enumerate(shapes)}, values)
    total = sum(array.size for array in scores.values())
    found = pruning.smallest(scores, fraction=twentieths / 20)
    same(found.masks, by_loop(scores, round(twentieths / 20 * total)))


def test_of_equal_scores_the_first_go():
    scores = {"b": np.full((2, 3), 0.5), "a": np.full(5, 0.5)}
    found = pruning.smallest(scores, fraction=4 / 11)
    wanted = {"b": [[False, False, False], [False, True, True]], "a": [True] * 5}
    same(found.masks, {name: np.array(mask) for name, mask in wanted.items()})


def test_masks_nest():
    scores = drawn(values=3)
    before = pruning.smallest(scores, fraction=0.0).masks
    assert all(mask.all() for mask in before.values())
    for fraction in (0.25, 0.5, 0.75, 0.9, 0.98):
        masks = pruning.smallest(scores, fraction=fraction).masks
        assert not any((masks[name] & ~before[name]).any() for name in masks)
        before = masks


@given(st.integers(0, 10**6), st.floats(0, 3), st.sampled_from([None, 5]))
def test_what_equals_the_threshold_stays(seed, threshold, values):
    scores = drawn(seed, values=values)
    for limit in (threshold, 0.5):
        found = pruning.below(scores, threshold=limit)
        same(found.masks, {name: ~(array < limit) for name, array in scores.items()})
        assert (found.left, found.total) == (sum(m.sum() for m in found.masks.values()), TOTAL)


def test_scores_by_hand():
    mean = {"w": np.array([[0.0, -3.0], [0.5, 2.0]])}
    std = {"w": np.array([[1.0, 2.0], [0.25, 8.0]])}
    np.testing.assert_array_equal(
        pruning.signal_to_noise(mean, std)["w"], [[0.0, 1.5], [2.0, 0.25]]
    )
    np.testing.assert_array_equal(pruning.magnitude(mean)["w"], [[0.0, 3.0], [0.5, 2.0]])
    # A small mean that is known well outlives a large one that is not.
    ranked = pruning.smallest(pruning.signal_to_noise(mean, std), fraction=0.5)
    np.testing.assert_array_equal(ranked.masks["w"], [[False, True], [True, False]])
    ranked = pruning.smallest(pruning.magnitude(mean), fraction=0.5)
    np.testing.assert_array_equal(ranked.masks["w"], [[False, True], [False, True]])


def test_single_precision_is_taken_and_nothing_is_changed():
    scores = {name: array.astype(np.float32) for name, array in drawn().items()}
    copies = {name: array.copy() for name, array in scores.items()}
    assert pruning.smallest(scores, fraction=0.5).left == TOTAL - round(TOTAL / 2)
    assert pruning.signal_to_noise(scores, scores)["conv"].dtype == np.float32
    for name, array in scores.items():
        np.testing.assert_array_equal(array, copies[name])


ONE = {"w": np.ones((2, 3))}
WORDS = "scores must be a dict of arrays by name"
BAD = {
    "a list": (lambda: pruning.smallest([1.0], fraction=0.5), TypeError, [WORDS, "[1.0] (list)"]),
    "an array": (lambda: pruning.smallest(ONE["w"], fraction=0.5), TypeError, [WORDS]),
    "nothing": (lambda: pruning.below({}, threshold=0.5), ValueError, [WORDS, "got none"]),
    "a number as name": (
        lambda: pruning.below({0: ONE["w"]}, threshold=0.5),
        TypeError,
        ["scores must have strings as names", "0 (int)"],
    ),
    "integers": (
        lambda: pruning.magnitude({"w": np.ones(3, dtype=int)}),
        TypeError,
        ["weights['w'] must hold floating-point numbers", "int64"],
    ),
    "an empty array": (
        lambda: pruning.magnitude({"w": np.ones((2, 0))}),
        ValueError,
        ["weights['w'] has shape (2, 0)", "with no size 0"],
    ),
    "nan": (
        lambda: pruning.smallest({"w": np.array([1.0, NAN])}, fraction=0.5),
        ValueError,
        ["scores['w'] must hold finite numbers"],
    ),
    "signs": (
        lambda: pruning.smallest({"w": np.array([1.0, -2.0])}, fraction=0.5),
        ValueError,
        ["scores['w'] must be 0 or more", "-2", "magnitude"],
    ),
    "all": (
        lambda: pruning.smallest(ONE, fraction=1.0),
        ValueError,
        ["fraction must be a number from 0 to below 1", "1.0"],
    ),
    "percent": (
        lambda: pruning.smallest(ONE, fraction="50%"),
        TypeError,
        ["fraction must be a number from 0 to below 1", "'50%'"],
    ),
    "a negative threshold": (
        lambda: pruning.below(ONE, threshold=-0.1),
        ValueError,
        ["threshold must be 0 or more", "-0.1"],
    ),
    "other names": (
        lambda: pruning.signal_to_noise(ONE, {"v": ONE["w"]}),
        ValueError,
        ["std must have the names of mean, ['w'], got ['v']"],
    ),
    "another shape": (
        lambda: pruning.signal_to_noise(ONE, {"w": np.ones((3, 2))}),
        ValueError,
        ["std['w'] has shape (3, 2)", "(2, 3)"],
    ),
    "no noise": (
        lambda: pruning.signal_to_noise(ONE, {"w": np.zeros((2, 3))}),
        ValueError,
        ["std['w'] must be above 0", "got 0"],
    ),
    "a ratio that leaves the floats": (
        lambda: pruning.signal_to_noise({"w": np.full(2, 1e50)}, {"w": np.full(2, 1e-300)}),
        ValueError,
        ["mean['w'] / std['w']"],
    ),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    check_error(*BAD[case])
