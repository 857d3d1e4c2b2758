"""What all functions do with arrays: any kind, of members or combined, left as they are."""

import subprocess
import sys

import numpy as np
import pandas
import pytest
import torch

from ensedu import uncertainty as un

M, B, k = 3, 7, 5


KEYWORDS = {"resampled": {"train": 90, "test": 10}}


def call(name, given):
    """Return what a function makes of its arguments."""
    return getattr(un, name)(*given, **KEYWORDS.get(name, {}))


def arguments():
    """Return the arguments of each function by its name, fresh."""
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((M, B, k)), rng.lognormal(0, 1, (M, B, k))
    probabilities, labels = rng.dirichlet(np.ones(k), (M, B)), rng.integers(0, k, B)
    y = rng.standard_normal((B, k))
    gaussian, categorical = (mean, variance, y), (probabilities, labels)
    average = probabilities.mean(0), labels
    return {
        "gaussian_heads": (rng.standard_normal((M, B, 2 * k)),),
        "softmax": (mean,),
        "mixture": (mean, variance),
        "averaged": (probabilities,),
        "variance_parts": (mean, variance),
        "entropy_parts": (probabilities,),
        "covariance_parts": (probabilities,),
        "ambiguity": (mean, y),
        "gaussian_nll": gaussian,
        "categorical_nll": categorical,
        "average_nll": (variance[..., 0],),
        "mixture_nll": (variance[..., 0],),
        "moment_matched_nll": gaussian,
        "brier": average,
        "crps": gaussian,
        "mixture_cdf": gaussian,
        "coverage": gaussian,
        "rmse": (mean[0], y),
        "accuracy": average,
        "reliability": average,
        "ece": average,
        "quantile": (mean, variance, 0.3),
        "interval": (mean, variance),
        "smallest_set": average[:1],
        "interval_score": (-variance[0], variance[0], y),
        "conformal_quantile": (mean[0, :, 0], 0.7),
        "disagreement": (probabilities,),
        "chance_disagreement": categorical,
        "error_correlation": (mean, y),
        "auroc": (mean[0, :, 0], mean[1, 0]),
        "paired": (mean[0],),
        "resampled": (mean[0],),
        "holm": (probabilities[0, :, 0],),
    }


def numbers(result):
    """Return the arrays of a result in turn."""
    if isinstance(result, tuple):
        return list(result)
    if hasattr(result, "__dataclass_fields__"):
        return [getattr(result, name) for name in result.__dataclass_fields__]
    return [result]


def test_every_function_is_here():
    functions = {name for name in un.__all__ if not isinstance(getattr(un, name), type)}
    assert arguments().keys() == functions


@pytest.mark.parametrize("name", arguments())
def test_arguments_are_left_as_they_are(name):
    given = arguments()[name]
    for array in given:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    first, second = (call(name, given) for _ in range(2))
    for one, other in zip(numbers(first), numbers(second), strict=True):
        np.testing.assert_array_equal(one, other)
        assert not any(np.shares_memory(one, array) for array in given)
    for one, other in zip(given, arguments()[name], strict=True):
        np.testing.assert_array_equal(one, other)


def narrow(array):
    return array.astype(np.float32) if array.dtype == np.float64 else array


#: What arrays are given as, and what they are then computed as.
KINDS = {
    "float32": (narrow, narrow),
    "big-endian": (lambda array: array.astype(array.dtype.newbyteorder(">")), np.copy),
    "tensor": (lambda array: torch.tensor(array, requires_grad=array.dtype.kind == "f"), np.copy),
    "short tensor": (lambda array: torch.tensor(narrow(array)), narrow),
    "column": (lambda array: pandas.Series(array) if array.ndim < 2 else array, np.copy),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", arguments())
def test_other_arrays_are_computed_with_in_float64(name, kind):
    results = [
        numbers(call(name, [to(one) if isinstance(one, np.ndarray) else one for one in given]))
        for to, given in zip(KINDS[kind], (arguments()[name],) * 2, strict=True)
    ]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype in (np.float64, np.int64, np.bool_)


@pytest.mark.parametrize("dtype", [np.float16, torch.bfloat16])
def test_other_floats_are_numbers_too(dtype):
    mean = np.ones((M, B, k), dtype) if dtype is np.float16 else torch.ones(M, B, k, dtype=dtype)
    assert un.variance_parts(mean, mean).total.tolist() == np.ones((B, k)).tolist()


#: What takes the average of members, and what is not about a forecast, or about several.
AVERAGING = {"brier", "rmse", "accuracy", "reliability", "ece", "smallest_set"}
OTHERS = {
    "disagreement", "chance_disagreement", "error_correlation", "paired", "resampled", "holm",
    "interval_score", "conformal_quantile", "auroc",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(arguments().keys() - OTHERS))
def test_what_is_combined_is_one_member(name):
    first, *others = arguments()[name]
    forecasts = [first]
    if others and np.shape(others[0]) == first.shape and name not in AVERAGING:
        forecasts.append(others.pop(0))
    alone = [array if name in AVERAGING else array[0] for array in forecasts]
    found, expected = (
        numbers(call(name, [*each, *others])) for each in (alone, [one[None] for one in alone])
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.ravel(one), np.ravel(other))


@pytest.mark.parametrize("name", sorted(AVERAGING))
def test_members_are_averaged(name):
    members = arguments()["mixture" if name == "rmse" else "averaged"][0]
    given = [[each, *arguments()[name][1:]] for each in (members, members.mean(axis=0))]
    for one, other in zip(*(numbers(call(name, each)) for each in given), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", arguments())
def test_targets_may_lack_the_axis_of_one_output(name):
    *forecasts, targets = arguments()[name]
    if np.array_equal(targets, arguments()["rmse"][1]):
        first = [each[..., :1] for each in forecasts]
        one, two = (call(name, [*first, y]) for y in (targets[:, :1], targets[:, 0]))
        for each, same in zip(numbers(one), numbers(two), strict=True):
            np.testing.assert_array_equal(each, same)


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
    for result in numbers(call(name, given)):
        assert np.isfinite(result).all()


def test_labels_may_be_any_integers():
    probabilities, labels = arguments()["categorical_nll"]
    for kind in (np.int8, np.uint8, np.int32, np.uint64):
        found = un.categorical_nll(probabilities, labels.astype(kind))
        np.testing.assert_array_equal(found, un.categorical_nll(probabilities, labels))
        assert un.ece(probabilities[0], labels.astype(kind)) == un.ece(probabilities[0], labels)


def test_float32_softmax_is_a_probability():
    logits = np.random.default_rng(0).standard_normal((M, 1009, 101)).astype(np.float32)
    powers = np.exp(logits)
    rows = powers / powers.sum(-1, keepdims=True)
    assert rows.dtype == np.float32 and (rows.sum(-1) != 1).any()
    assert un.averaged(rows).shape == (1009, 101)


def test_the_import_needs_numpy_alone():
    code = (
        "import sys, ensedu.uncertainty; "
        "print({'scipy', 'sklearn', 'torch', 'matplotlib', 'pandas'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("crps", "scipy.special"),
        ("mixture_cdf", "scipy.special"),
        ("coverage", "scipy.special"),
        ("quantile", "scipy.special"),
        ("interval", "scipy.special"),
        ("paired", "scipy.special"),
        ("resampled", "scipy.special"),
        ("auroc", "sklearn.metrics"),
    ],
)
def test_a_missing_package_is_named(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    package = module.partition(".")[0]
    with pytest.raises(
        ImportError, match={"sklearn": "scikit-learn"}.get(package, package)
    ) as caught:
        call(name, arguments()[name])
    assert 'pip install "ensedu[scores]"' in str(caught.value)
