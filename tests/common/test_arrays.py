"""Arrays that checks let through: kinds of numbers, shapes with letters, and none of size 0."""

import numpy as np
import pytest

from ensedu.common.arrays import MOST, check_array, check_finite, check_float64, check_rng


@pytest.mark.bad_input
def test_a_letter_fits_any_size_but_0():
    shapes = ("M", 3, "k"), (3, "k")
    for shape in ((2, 3, 5), (1, 3, 1), (3, 7)):
        check_array("x", np.ones(shape), "f", "floats", *shapes)
    for shape in ((2, 3), (0, 3, 5), (2, 3, 0), (2, 5, 3), (3,), (1, 2, 3, 5)):
        with pytest.raises(ValueError, match=r"accepted is \(M, 3, k\) or \(3, k\) with no size 0"):
            check_array("x", np.ones(shape), "f", "floats", *shapes)


@pytest.mark.bad_input
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


@pytest.mark.bad_input
def test_numbers_are_finite_and_below_the_most():
    check_finite("x", np.array([0.99 * MOST, -0.99 * MOST]))
    for wrong in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match="x must hold finite numbers"):
            check_finite("x", np.array([0.0, wrong]))
    with pytest.raises(ValueError, match=r"x must hold numbers below 1e\+100, got 1e\+100"):
        check_finite("x", np.array([0.0, -MOST]))


@pytest.mark.bad_input
def test_a_generator_is_that_of_numpy():
    rng = np.random.default_rng(0)
    assert check_rng("rng", rng) is rng
    for wrong in (0, None, np.random, np.random.RandomState(0)):
        with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
            check_rng("rng", wrong)
