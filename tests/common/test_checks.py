"""Values that checks let through, as what they come back, and what names a value in a message."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from ensedu.common import checks


@pytest.mark.bad_input
@pytest.mark.parametrize("value", [7, np.int8(7), np.uint64(7), torch.tensor(7), np.array(7)])
def test_integers_of_any_kind_come_back_as_pythons_own(value):
    for check in (checks.positive_int, checks.natural_int):
        found = check("number", value)
        assert type(found) is int
        assert found == 7
    assert checks.pair("kernel_size", value) == (7, 7)
    assert checks.pair("padding", [value, 0], low=0) == (7, 0)
    assert checks.layer_sizes("sizes", [value, 3]) == (7, 3)


@pytest.mark.bad_input
@pytest.mark.parametrize("value", [0.5, np.float32(0.5), Fraction(1, 2), torch.tensor(0.5)])
def test_real_numbers_of_any_kind_come_back_as_floats(value):
    for check in (checks.real, checks.not_negative, checks.fraction):
        found = check("number", value)
        assert type(found) is float
        assert found == 0.5


@pytest.mark.bad_input
def test_ends_of_what_is_accepted():
    assert checks.natural_int("number", 0) == 0
    assert checks.positive_int("number", 2**63 - 1) == 2**63 - 1
    assert checks.not_negative("number", 0) == checks.fraction("p", 0) == 0.0
    assert checks.fraction("p", math.nextafter(1, 0)) < 1
    assert checks.real("number", math.nextafter(2, 3), low=2.0) > 2
    for refused in (
        lambda: checks.positive_int("number", 0),
        lambda: checks.positive_int("number", 2**63),
        lambda: checks.natural_int("number", -1),
        lambda: checks.natural_int("number", 10**4000),
        lambda: checks.not_negative("number", -1e-300),
        lambda: checks.fraction("number", 1.0),
        lambda: checks.real("number", 2.0, low=2.0),
        lambda: checks.real("number", math.inf),
    ):
        with pytest.raises(ValueError, match="number must be "):
            refused()


def test_what_is_shown_of_a_value_is_short():
    assert checks.shown([1, "a"]) == "[1, 'a']"
    assert checks.given("a") == "'a' (str)"
    assert len(checks.shown("x" * 10_000)) == 120 + len(" … ") + 40
    assert checks.shown(10**5000) == "a value that cannot be shown"
    assert checks.given_array(torch.ones(2, 3)) == (
        "a torch.Tensor of shape (2, 3) and dtype torch.float32"
    )
    assert checks.given_array(3) == "3 (int)"


def test_an_error_inside_a_function_says_of_which_call():
    half = checks.function("half", lambda x: x / 2, "half(x)")
    assert half(3) == 1.5
    with pytest.raises(TypeError, match=r"in half\(x\): unsupported operand"):
        half("a")
