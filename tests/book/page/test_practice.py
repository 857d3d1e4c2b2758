"""What a reader is told of an attempt: unfinished, right, or what differs; never an error."""

import numpy as np
import pytest
import torch

from workshop.page.practice import RIGHT, UNFINISHED, attempt

ARRAY = np.arange(6.0).reshape(2, 3)
TENSOR = torch.tensor(ARRAY, requires_grad=True)
WHOLE, OFF = ARRAY.astype(int), ARRAY + np.array([[0, 0, 0], [0, 0.5, 0.25]])
SHAPED = "wanted is an array of shape (2, 3)"
WORDS = "word word word word word word word word "
RECURSIVE = []
RECURSIVE.append(RECURSIVE)


class Hostile:
    """What raises an error whatever is done with it."""

    __hash__ = None

    def raises(self, *arguments, **options):
        raise RuntimeError

    __eq__ = __array__ = __repr__ = raises


class Fragile:
    @property
    def detach(self):
        raise RuntimeError


HOSTILE = "an object of type Hostile"


@pytest.fixture
def told(capsys):
    """What an attempt prints: one line."""

    def told(value, wanted):
        assert attempt(value, wanted=wanted) is None
        (line,) = capsys.readouterr().out.splitlines(keepends=True)
        assert line.endswith(".\n")
        return line.strip()

    return told


@pytest.mark.parametrize("value", [
    ..., (ARRAY, ...), {"a": [1, (2, ...)], "b": 2}, np.array([1, ...], object),
])  # fmt: skip
def test_unfinished_wherever_the_dots_are(told, value):
    for wanted in (3, ARRAY, {"a": 1, "b": 2}, (ARRAY, 1), "text"):
        assert told(value, wanted) == UNFINISHED


@pytest.mark.parametrize(("value", "wanted"), [
    (3.0, 3), (np.array(3), 3), (3, np.array(3.0)), (10**30, 10**30), (0.1 + 0.2, 0.3),
    (1e12 + 1, 1e12), (1e-10, 0), (1 + 2j, 1 + 2j), (np.nan, np.nan), (np.inf, np.inf), ((), ()),
    (ARRAY.tolist(), ARRAY), (list(ARRAY), ARRAY), (ARRAY + 1e-10, ARRAY), (ARRAY > 2, ARRAY > 2),
    ([ARRAY, ARRAY[0]], (ARRAY, ARRAY[0])), (np.stack([ARRAY, ARRAY]), (ARRAY, ARRAY)),
    ({"b": 2, "a": {"c": ARRAY}}, {"a": {"c": ARRAY}, "b": 2}), ("text", "text"), (True, True),
    (np.True_, True), (None, None), (["a", 1], ["a", 1]), (TENSOR, ARRAY), (ARRAY, TENSOR),
    ([TENSOR, TENSOR], (ARRAY, ARRAY)),
])  # fmt: skip
def test_right(told, value, wanted):
    assert told(value, wanted) == RIGHT


@pytest.mark.parametrize(("value", "wanted", "words"), [
    # Shapes
    (TENSOR.T, ARRAY, "the shape is (3, 2), wanted is (2, 3)"),
    (3, ARRAY, f"you gave one number, {SHAPED}"),
    (ARRAY, 3, "you gave an array of shape (2, 3), wanted is one number"),
    # Values
    (OFF, ARRAY, "2 of 6 numbers differ, the largest difference is 0.5"),
    (WHOLE + 1234, WHOLE, "6 of 6 numbers differ, the largest difference is 1,234"),
    (ARRAY > 2, ARRAY > 3, "1 of 6 numbers differ, the largest difference is 1"),
    (ARRAY * 1j, ARRAY, "5 of 6 numbers differ, the largest difference is 7.07"),
    (np.ones(2000), np.zeros(2000), "2,000 of 2,000 numbers differ, the largest difference is 1"),
    (10**10 + 1, 10**10, "you gave 10,000,000,001, which is 1 too large"),
    (np.uint8(3), np.uint8(5), "you gave 3, which is 2 too small"),
    (1 + 1e-8, 1.0, "you gave 1.00000001, which is 1e-08 too large"),
    (0.3512, 0.25, "you gave 0.3512, which is 0.101 too large"),
    (1e-10, 5e-10, "you gave 1e-10, which is 4e-10 too small"),
    (np.array([5, np.nan]), np.array([1.0, 2.0]),
     "2 of 2 numbers differ, and some are not finite"),
    (np.array([1e12 + 1, 4e12]), np.array([1e12, 3e12]),
     "1 of 2 numbers differ, the largest difference is 1e+12"),
    (1.0, 1j, "the number differs"), (1j, 1.0, "the number differs"),
    (np.inf, 1.0, "the number differs"),
    # Parts
    ((ARRAY, ARRAY), (ARRAY, ARRAY[0]), "in item 2, the shape is (2, 3), wanted is (3,)"),
    ((ARRAY,), (ARRAY, WHOLE), "you gave 1, wanted are 2"),
    (None, (ARRAY, ARRAY[0]), "you gave None, wanted is a tuple of 2"),
    ({"a": 1}, {"a": 1, "b": 2}, "'b' is missing"),
    ({"a": 1, "b": 2}, {"a": 1}, "'b' is one too many"),
    ({"a": (1, 2)}, {"a": (ARRAY, 2)}, f"under 'a', in item 1, you gave one number, {SHAPED}"),
    (ARRAY, {"a": 1}, "you gave an array of shape (2, 3), wanted is a dictionary of 1"),
    # Other kinds of things
    (None, ARRAY, f"you gave None, {SHAPED}"),
    ("word " * 100, 12, f"you gave the text '{WORDS}…', wanted is one number"),
    ("right ", "right", "you gave the text 'right ', wanted is the text 'right'"),
    ([Fragile()], ARRAY, f"you gave a list of 1, which form no array, {SHAPED}"),
    (torch.empty(2, 3, device="meta"), 3,
     "you gave an object of type Tensor, wanted is one number"),
    (torch.Tensor, 3, "you gave a function, wanted is one number"),
    (False, True, "you gave False, wanted is True"),
    ([[1, 2], [3]], ARRAY, f"you gave a list of 2, which form no array, {SHAPED}"),
    (range(3), 3, "you gave an array of shape (3,), wanted is one number"),
    (10**400, 3, "you gave an object of type int, wanted is one number"),
    (Hostile(), 3, f"you gave {HOSTILE}, wanted is one number"),
    (Hostile(), "text", f"you gave {HOSTILE}, wanted is the text 'text'"),
    (RECURSIVE, 3, "you gave a list of 1, which form no array, wanted is one number"),
])  # fmt: skip
def test_not_yet_in_words(told, value, wanted, words):
    assert told(value, wanted) == f"Not yet: {words}."
