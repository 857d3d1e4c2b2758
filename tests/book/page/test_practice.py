"""What a reader is told of an attempt: unfinished, right, or what differs; never an error."""

import numpy as np
import pytest
import torch

from workshop.page.practice import RIGHT, UNFINISHED, attempt

ARRAY = np.arange(6.0).reshape(2, 3)
WHOLE = ARRAY.astype(int)
OFF = ARRAY + np.array([[0, 0, 0], [0, 0.5, 0.25]])
SHAPED = "wanted is an array of shape (2, 3)"
WORDS = "word word word word word word word word "


def recursive():
    found = []
    found.append(found)
    return found


class Hostile:
    def __eq__(self, other):
        raise RuntimeError

    __hash__ = None

    def __array__(self, *arguments, **options):
        raise RuntimeError

    def __repr__(self):
        raise RuntimeError


class Fragile:
    @property
    def detach(self):
        raise RuntimeError


@pytest.fixture
def told(capsys):
    """What an attempt prints: one line."""

    def told(value, wanted):
        assert attempt(value, wanted=wanted) is None
        lines = capsys.readouterr().out.splitlines(keepends=True)
        assert len(lines) == 1
        assert lines[0].endswith(".\n")
        return lines[0].strip()

    return told


@pytest.mark.parametrize("value", [
    ..., [1, ...], (ARRAY, ...), {"a": ..., "b": 2}, {"a": [1, (2, ...)]},
    np.array([1, ...], object),
])  # fmt: skip
@pytest.mark.parametrize("wanted", [3, ARRAY, {"a": 1, "b": 2}, (ARRAY, 1), "text"])
def test_unfinished_wherever_the_dots_are(told, value, wanted):
    assert told(value, wanted) == UNFINISHED


@pytest.mark.parametrize(("value", "wanted"), [
    (3, 3), (3.0, 3), (np.int64(3), 3), (np.array(3), 3), (3, np.array(3.0)), (10**30, 10**30),
    (0.1 + 0.2, 0.3), (1e12 + 1, 1e12), (1e-10, 0), (1 + 2j, 1 + 2j), (np.nan, np.nan),
    (np.inf, np.inf), (ARRAY.tolist(), ARRAY), (ARRAY, ARRAY.tolist()), (list(ARRAY), ARRAY),
    (ARRAY + 1e-10, ARRAY), (ARRAY.astype(np.float32), ARRAY), (ARRAY > 2, ARRAY > 2), ((), ()),
    (np.ones((0, 3)), np.ones((0, 3))), ((ARRAY, ARRAY[0]), (ARRAY, ARRAY[0])),
    ([ARRAY, ARRAY], (ARRAY, ARRAY)), (np.stack([ARRAY, ARRAY]), (ARRAY, ARRAY)),
    ({"b": 2, "a": ARRAY}, {"a": ARRAY, "b": 2}), ({"a": {"b": 1}}, {"a": {"b": 1}}),
    ("text", "text"), (True, True), (np.True_, True), (None, None), (["a", 1], ["a", 1]),
])  # fmt: skip
def test_right(told, value, wanted):
    assert told(value, wanted) == RIGHT


@pytest.mark.parametrize(("value", "wanted", "words"), [
    # Shapes
    (ARRAY.T, ARRAY, "the shape is (3, 2), wanted is (2, 3)"),
    (ARRAY[0], ARRAY, "the shape is (3,), wanted is (2, 3)"),
    (3, ARRAY, f"you gave one number, {SHAPED}"),
    (ARRAY, 3, "you gave an array of shape (2, 3), wanted is one number"),
    # Values
    (OFF, ARRAY, "2 of 6 numbers differ, the largest difference is 0.5"),
    (WHOLE + 1234, WHOLE, "6 of 6 numbers differ, the largest difference is 1,234"),
    (ARRAY > 2, ARRAY > 3, "1 of 6 numbers differ, the largest difference is 1"),
    (ARRAY * 1j, ARRAY, "5 of 6 numbers differ, the largest difference is 7.07"),
    (ARRAY * np.nan, ARRAY, "6 of 6 numbers differ, and some are not finite"),
    (np.ones(2000), np.zeros(2000), "2,000 of 2,000 numbers differ, the largest difference is 1"),
    (2700, 2701, "you gave 2,700, which is 1 too small"),
    (10**10 + 1, 10**10, "you gave 10,000,000,001, which is 1 too large"),
    (0.35, 0.25, "you gave 0.35, which is 0.1 too large"),
    (np.uint8(3), np.uint8(5), "you gave 3, which is 2 too small"),
    (1 + 1e-8, 1.0, "you gave 1.00000001, which is 1e-08 too large"),
    (0.3512, 0.25, "you gave 0.3512, which is 0.101 too large"),
    (1e-10, 5e-10, "you gave 1e-10, which is 4e-10 too small"),
    (np.array([1e12 + 1, 3.5]), np.array([1.0, 3.5]),
     "1 of 2 numbers differ, the largest difference is 1e+12"),
    (np.array([5, np.nan]), np.array([1.0, 2.0]),
     "2 of 2 numbers differ, and some are not finite"),
    (np.array([1e12 + 1, 4e12]), np.array([1e12, 3e12]),
     "1 of 2 numbers differ, the largest difference is 1e+12"),
    (1.0, 1j, "the number differs"),
    (np.nan, 1.0, "the number differs"), (np.inf, 1.0, "the number differs"),
    (1j, 1.0, "the number differs"),
    # Parts
    ((ARRAY, ARRAY), (ARRAY, ARRAY[0]), "in item 2, the shape is (2, 3), wanted is (3,)"),
    ((ARRAY,), (ARRAY, WHOLE), "you gave 1, wanted are 2"),
    ((ARRAY, ARRAY[0], 7), (ARRAY, ARRAY[0]), "you gave 3, wanted are 2"),
    (["a", "b", "c"], ["a", "b"], "you gave 3, wanted are 2"),
    (None, (ARRAY, ARRAY[0]), "you gave None, wanted is a tuple of 2"),
    ({"a": 1}, {"a": 1, "b": 2}, "'b' is missing"),
    ({"a": 1, "b": 2}, {"a": 1}, "'b' is one too many"),
    ({"a": OFF}, {"a": ARRAY}, "under 'a', 2 of 6 numbers differ, the largest difference is 0.5"),
    ({"a": (1, 2)}, {"a": (ARRAY, 2)}, f"under 'a', in item 1, you gave one number, {SHAPED}"),
    (ARRAY, {"a": 1}, "you gave an array of shape (2, 3), wanted is a dictionary of 1"),
    # Other kinds of things
    (None, ARRAY, f"you gave None, {SHAPED}"),
    (None, 3, "you gave None, wanted is one number"),
    ("12", 12, "you gave the text '12', wanted is one number"),
    ("word " * 100, 12, f"you gave the text '{WORDS}…', wanted is one number"),
    ("a", "b", "you gave the text 'a', wanted is the text 'b'"),
    ("right ", "right", "you gave the text 'right ', wanted is the text 'right'"),
    (Fragile(), 3, "you gave an object of type Fragile, wanted is one number"),
    ([Fragile()], ARRAY, f"you gave a list of 1, which form no array, {SHAPED}"),
    (torch.empty(2, 3, device="meta"), 3,
     "you gave an object of type Tensor, wanted is one number"),
    (torch.Tensor, 3, "you gave a function, wanted is one number"),
    (False, True, "you gave False, wanted is True"),
    ([[1, 2], [3]], ARRAY, f"you gave a list of 2, which form no array, {SHAPED}"),
    ([None, 1], ARRAY, f"you gave a list of 2, which form no array, {SHAPED}"),
    (len, 3, "you gave a function, wanted is one number"),
    (range(3), 3, "you gave an array of shape (3,), wanted is one number"),
    ({1, 2}, 3, "you gave an object of type set, wanted is one number"),
    (10**400, 3, "you gave an object of type int, wanted is one number"),
    (Hostile(), 3, "you gave an object of type Hostile, wanted is one number"),
    (Hostile(), "text", "you gave an object of type Hostile, wanted is the text 'text'"),
    ([Hostile()], ARRAY, f"you gave a list of 1, which form no array, {SHAPED}"),
    (recursive(), 3, "you gave a list of 1, which form no array, wanted is one number"),
])  # fmt: skip
def test_not_yet_in_words(told, value, wanted, words):
    assert told(value, wanted) == f"Not yet: {words}."


def test_tensors_count_as_arrays(told):
    tensor = torch.tensor(ARRAY, requires_grad=True)
    assert told(tensor, ARRAY) == RIGHT
    assert told(ARRAY, tensor) == RIGHT
    assert told([tensor, tensor], (ARRAY, ARRAY)) == RIGHT
    assert told(tensor.T, ARRAY) == "Not yet: the shape is (3, 2), wanted is (2, 3)."
