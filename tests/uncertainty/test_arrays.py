"""What all functions do with arrays: any kind, of members or combined, left as they are."""

import inspect

import numpy as np
import pandas
import pytest
import torch

from ensedu import uncertainty as un
from tests.uncertainty.cases import B, M, arguments, call, k, numbers


def same(one, other):
    """Whether two results are the same numbers, of a float, an integer or a bool."""
    for a, b in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype in (np.float64, np.int64, np.bool_)


@pytest.mark.parametrize("name", arguments())
def test_arguments_are_left_as_they_are(name):
    given = arguments()[name]
    arrays = [array for array in given if isinstance(array, np.ndarray)]
    for array in arrays:
        array.setflags(write=False)
    first = call(name, given)
    same(first, call(name, given))
    assert not any(np.shares_memory(one, array) for one in numbers(first) for array in arrays)


def narrow(array):
    return array.astype(np.float32) if array.dtype == np.float64 else array


#: What arrays are given as, and what they are then computed as.
KINDS = {
    "float32": (narrow, narrow),
    "big-endian": (lambda array: array.astype(array.dtype.newbyteorder(">")), np.copy),
    "small integers": (
        lambda array: array.astype(np.uint8) if array.dtype == int else array,
        np.copy,
    ),
    "tensor": (lambda array: torch.tensor(array, requires_grad=array.dtype.kind == "f"), np.copy),
    "short tensor": (lambda array: torch.tensor(narrow(array)), narrow),
    "column": (lambda array: pandas.Series(array) if array.ndim < 2 else array, np.copy),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", arguments())
def test_other_arrays_are_computed_with_in_float64(name, kind):
    same(*(
        call(name, [to(one) if isinstance(one, np.ndarray) else one for one in arguments()[name]])
        for to in KINDS[kind]
    ))  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, torch.bfloat16])
def test_other_floats_are_numbers_too(dtype):
    mean = np.ones((M, B, k), dtype) if dtype is np.float16 else torch.ones(M, B, k, dtype=dtype)
    assert un.variance_parts(mean, mean).total.tolist() == np.ones((B, k)).tolist()


def test_float32_softmax_is_a_probability():
    logits = np.random.default_rng(0).standard_normal((M, 1009, 101)).astype(np.float32)
    rows = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    assert (rows.sum(-1) != 1).any() and un.averaged(rows).shape == (1009, 101)


#: What takes the average of members, and what is not about a forecast, or about several.
AVERAGING = {"brier", "rmse", "accuracy", "reliability", "ece", "smallest_set"}
OTHERS = {
    "disagreement", "chance_disagreement", "error_correlation", "paired", "corrected_t", "holm",
    "interval_score", "conformal_quantile", "auroc",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(arguments().keys() - OTHERS))
def test_what_is_combined_is_one_member_and_members_are_averaged(name):
    first, *others = arguments()[name]
    if name in AVERAGING:
        members = arguments()["mixture" if name == "rmse" else "averaged"][0]
        same(call(name, [members, *others]), call(name, [members.mean(axis=0), *others]))
        same(call(name, [first, *others]), call(name, [first[None], *others]))
        return
    both = [first, *(others.pop(0) for _ in others[:1] if np.shape(others[0]) == first.shape)]
    found = call(name, [*(one[0] for one in both), *others])
    expected = call(name, [*(one[:1] for one in both), *others])
    for one, other in zip(numbers(found), numbers(expected), strict=True):
        np.testing.assert_array_equal(np.ravel(one), np.ravel(other))


@pytest.mark.parametrize("name", arguments())
def test_targets_may_lack_the_axis_of_one_output(name):
    *forecasts, y = arguments()[name]
    if np.array_equal(y, arguments()["rmse"][1]):
        first = [each[..., :1] for each in forecasts]
        same(*(call(name, [*first, targets]) for targets in (y[:, :1], y[:, 0])))


@pytest.mark.parametrize("name", arguments())
@pytest.mark.parametrize("least", [1e-100, 1e-6])
def test_the_largest_numbers_leave_no_range(name, least):
    given = list(arguments()[name])
    takes_variance = len(given) > 1 and np.array_equal(given[1], arguments()["mixture"][1])
    for i, array in enumerate(given):
        if takes_variance and i == 1:
            given[i] = np.where(np.arange(array.size).reshape(array.shape) % 2, least, 9.9e99)
        elif getattr(array, "dtype", None) == np.float64 and (array.min() < 0 or array.max() > 1):
            given[i] = 9.9e99 * array / np.abs(array).max()
    if name != "categorical_nll":  # of a class without probability it is infinite
        assert all(np.isfinite(result).all() for result in numbers(call(name, given)))


@pytest.mark.bad_input
@pytest.mark.parametrize("name", sorted(arguments().keys() - {"auroc"}))
def test_arrays_that_do_not_fit_each_other_or_are_empty_are_named(name):
    given = arguments()[name]
    names = list(inspect.signature(getattr(un, name)).parameters)
    for i, array in enumerate(given):
        if isinstance(array, np.ndarray):
            longer, empty = (
                [*given[:i], other, *given[i + 1 :]]
                for other in (np.repeat(array, 2, axis=0), array[:0])
            )
            with pytest.raises(ValueError, match=f"{names[i]} .*with no size 0"):
                call(name, empty)
            if i:
                with pytest.raises(ValueError, match=f"{names[i]} has shape .* to fit {names[0]}"):
                    call(name, longer)
