"""Drawings as networks see them: bits, in the right place and of the right thickness."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from ensedu.book.page.digit.drawings import (
    DIGITS,
    LETTERS,
    PEN,
    bits,
    from_text,
    jittered,
    scribble,
    seen,
)
from ensedu.data import digits


def filled(drawing, pen=PEN):
    """The bitmap of a drawing before its strokes are made thicker or thinner: pixel by pixel."""
    points = np.concatenate(drawing)
    low, high = points.min(axis=0) - pen, points.max(axis=0) + pen
    page = np.zeros((32, 32), dtype=bool)
    for row in range(32):
        for column in range(20):
            share = (column + 0.5) / 20, (row + 0.5) / 32
            at = low + np.array(share) * (high - low)
            for stroke in drawing:
                for a, b in pairwise(stroke):
                    walk = np.linspace(a, b, 401)
                    if np.linalg.norm(walk - at, axis=1).min() <= pen:
                        page[row, column + 6] = True
    return page


def test_nothing_is_seen_of_nothing():
    assert not bits([]).any()
    assert not seen([]).any()


@pytest.mark.parametrize("text", ["50,10 50,90", "20,40 70,40"])
def test_a_straight_line_fills_its_box_and_is_eroded_twice(text):
    drawn = filled(from_text(text))
    assert drawn.sum() > 560
    np.testing.assert_array_equal(
        bits(from_text(text)), ndimage.binary_erosion(drawn, iterations=2)
    )


def test_a_dot_is_a_disk():
    page = bits(from_text("30,50"))
    np.testing.assert_array_equal(page, page[:, ::-1])
    np.testing.assert_array_equal(page, page[::-1])
    assert 412 < page.sum() < np.pi / 4 * 20 * 32  # eroded once


@pytest.mark.parametrize(("pen", "times"), [(0.11, -1), (0.045, 0), (0.02, 1), (0.003, 2)])
def test_strokes_become_thicker_and_thinner(pen, times):
    cross = from_text("10,10 90,10;10,90 90,90;10,10 90,90;90,10 10,90;10,10 10,90;90,10 90,90")
    if times > 0:
        cross = from_text("10,10 10,90;10,10 90,10;10,90 90,90") if times == 1 else from_text(
            "10,10 10,90;10,90 90,90"
        )  # fmt: skip
    drawn = filled(cross, pen)
    number = drawn.sum()
    assert {-1: 412 < number, 0: 256 <= number <= 412, 1: 108 <= number < 256, 2: number < 108}[
        times
    ], number
    if times < 0:
        expected = ndimage.binary_erosion(drawn, iterations=2 if number > 560 else 1)
    else:
        expected = ndimage.binary_dilation(drawn, iterations=times) if times else drawn
    np.testing.assert_array_equal(bits(cross, pen), expected)


def test_what_slants_is_put_upright():
    page = bits(from_text("70,5 30,95"))
    edges = page.argmax(axis=1)
    assert np.ptp(edges[2:-2]) <= 2
    assert np.ptp(filled(from_text("70,5 30,95")).argmax(axis=1)) > 8


def test_a_drawing_is_seen_wherever_and_however_large_it_is():
    small = [0.2 + 0.5 * stroke for stroke in DIGITS["5"]]
    np.testing.assert_array_equal(seen(small, PEN / 2), seen(DIGITS["5"]))


def test_blocks_are_counted():
    page = bits(DIGITS["2"])
    counts = [
        [page[4 * i : 4 * i + 4, 4 * j : 4 * j + 4].sum() for j in range(8)] for i in range(8)
    ]
    np.testing.assert_array_equal(16 * seen(DIGITS["2"]).reshape(8, 8), counts)


def test_drawn_digits_have_as_much_ink_as_written_ones():
    x, y = digits()
    rng = np.random.default_rng(0)
    for name, drawing in DIGITS.items():
        ink = x[y == int(name)].sum(axis=1)
        drawn = np.mean([seen(jittered(drawing, rng)).sum() for _ in range(5)])
        assert np.percentile(ink, 0.5) - 3 < drawn < np.percentile(ink, 99.5), name


def test_another_hand_draws_another_drawing():
    one, other = (jittered(LETTERS["K"], np.random.default_rng(seed)) for seed in (0, 1))
    assert [stroke.shape for stroke in one] == [stroke.shape for stroke in LETTERS["K"]]
    assert not np.allclose(one[0], other[0])
    assert np.abs(one[0] - LETTERS["K"][0]).max() < 0.4
    assert not np.array_equal(seen(one), seen(other))
    lengths = [len(scribble(np.random.default_rng(seed))[0]) for seed in range(20)]
    assert len(set(lengths)) > 3
