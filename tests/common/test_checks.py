"""What checks let through, as what it comes back, and what names a value in a message."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.special
import torch

from ensedu.common import checks
from ensedu.common.array_checks import LARGEST, check_array, check_finite, check_float64
from ensedu.common.checks import optional

pytestmark = pytest.mark.bad_input


@pytest.mark.parametrize("value", [7, np.int8(7), np.uint64(7), torch.tensor(7), np.array(7)])
def test_integers_of_any_kind_come_back_as_pythons_own(value):
    for check in (checks.positive_int, checks.natural_int):
        assert type(check("number", value)) is int and check("number", value) == 7
    assert checks.pair("kernel_size", value) == (7, 7)
    assert checks.pair("padding", [value, 0], low=0) == (7, 0)
    assert checks.layer_sizes("sizes", [value, 3]) == (7, 3)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2), torch.tensor(0.5)])
def test_real_numbers_of_any_kind_come_back_as_floats(value):
    for check in (checks.real, checks.not_negative, checks.fraction):
        assert type(check("number", value)) is float and check("number", value) == 0.5


def test_ends_of_what_is_accepted():
    assert checks.natural_int("number", 0) == 0
    assert checks.positive_int("number", 2**63 - 1) == 2**63 - 1
    assert checks.not_negative("number", 0) == checks.fraction("p", 0) == 0.0
    assert checks.fraction("p", math.nextafter(1, 0)) < 1
    assert checks.real("number", math.nextafter(2, 3), low=2.0) > 2
    check_finite("x", np.array([0.99 * LARGEST, -0.99 * LARGEST]))
    for refused in (
        lambda: checks.positive_int("number", 0),
        lambda: checks.positive_int("number", 2**63),
        lambda: checks.natural_int("number", -1),
        lambda: checks.natural_int("number", 10**4000),
        lambda: checks.not_negative("number", -1e-300),
        lambda: checks.fraction("number", 1.0),
        lambda: checks.real("number", 2.0, low=2.0),
        lambda: checks.real("number", 1.0, high=1.0),
        lambda: checks.real("number", math.inf),
        *(
            lambda worst=worst: check_finite("number", np.array([0, worst]))
            for worst in (math.nan, -math.inf, -LARGEST)
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="number must "):
            refused()


def test_a_letter_fits_any_size_but_0():
    shapes = ("M", 3, "k"), (3, "k")
    for shape in ((2, 3, 5), (1, 3, 1), (3, 7)):
        check_array("x", np.ones(shape), "f", "floats", *shapes)
    for shape in ((2, 3), (0, 3, 5), (2, 3, 0), (2, 5, 3), (3,), (1, 2, 3, 5)):
        with pytest.raises(ValueError, match=r"accepted is \(M, 3, k\) or \(3, k\) with no size 0"):
            check_array("x", np.ones(shape), "f", "floats", *shapes)


def test_kinds_of_numbers_and_of_arrays():
    check_array("x", np.ones(2, np.float16), "f", "floats", ("N",))
    check_array("x", np.ones(2, np.uint8), "iu", "integers", ("N",))
    check_float64("x", np.ones(()))
    for wrong in (np.ones(2, bool), np.ones(2, complex), np.ones(2, int)):
        with pytest.raises(TypeError, match="x must hold floats, got dtype"):
            check_array("x", wrong, "f", "floats", ("N",))
    for wrong in ([1.0], np.ones((1, 2)).view(np.matrix), np.ma.ones(2)):
        for check in (check_float64, lambda *args: check_array(*args, "f", "floats", ("N",))):
            with pytest.raises(TypeError, match="x must be a plain NumPy array"):
                check("x", wrong)


def test_what_is_shown_of_a_value_is_short():
    assert checks.short_repr([1, "a"]) == "[1, 'a']"
    assert checks.describe("a") == "'a' (str)"
    assert len(checks.short_repr("x" * 10_000)) == 120 + len(" … ") + 40
    assert checks.short_repr(10**5000) == "a value that cannot be shown"
    assert checks.describe_array(torch.ones(2, 3)) == (
        "a torch.Tensor of shape (2, 3) and dtype torch.float32"
    )
    assert checks.describe_array(3) == "3 (int)"


def test_an_error_inside_a_function_says_of_which_call():
    half = checks.function("half", lambda x: x / 2, "half(x)")
    assert half(3) == 1.5
    with pytest.raises(TypeError, match=r"in half\(x\): unsupported operand"):
        half("a")


def test_an_optional_module_is_the_module_and_only_what_is_missing_is_called_so(
    tmp_path, monkeypatch
):
    assert optional("scipy.special", "scores") is scipy.special
    (tmp_path / "a_broken_package.py").write_text("import a_package_that_it_needs\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'a_package_that_it_needs'"):
        optional("a_broken_package", "scores")
