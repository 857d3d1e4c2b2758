"""Labels stand where they cover the least, and ticks where there are enough of them."""

import numpy as np

from ensedu.plot import label_layout

PANEL = np.zeros(2), np.full(2, 300.0)


ANCHOR, HALF = np.array([150.0, 150.0]), np.array([20.0, 6.0])


def place(lines=(), taken=(), anchor=ANCHOR):
    lines = np.reshape(np.array(lines, dtype=float), (-1, 2, 2))
    offset = label_layout.free_offset(anchor, HALF, PANEL, taken, lines, clear=9)
    return anchor + offset - HALF, anchor + offset + HALF


def test_a_label_stands_near_where_nothing_is():
    low, high = place()
    assert np.linalg.norm((low + high) / 2 - ANCHOR) < 30
    assert not ((low < ANCHOR + 8) & (high > ANCHOR - 8)).all()


def test_a_label_stays_in_the_panel():
    for anchor in ([2.0, 2.0], [298.0, 150.0], [150.0, 299.0]):
        low, high = place(anchor=np.array(anchor))
        assert (low >= 0).all() and (high <= 300).all()


def test_a_label_is_off_boxes_and_lines():
    # All of the left half is taken; a line runs through the right one, above the anchor.
    half = np.zeros(2), np.array([160.0, 300.0])
    line = [[160, 170], [300, 170]]
    low, high = place([line], [half])
    assert low[0] >= 160
    assert high[1] < 170  # not beyond it either: the leader would cross the line


def test_the_leader_of_a_label_crosses_no_line():
    wall = [[160, 140], [160, 160]]
    low, high = place([wall], [(np.zeros(2), np.array([155.0, 300.0]))])
    x, y = (low + high) / 2
    assert low[0] >= 155
    assert abs((y - 150) * (160 - 150) / (x - 150)) > 10


def test_an_axis_of_few_powers_of_ten_has_numbers_between_them():
    assert label_layout.log_ticks(0.9, 110, 100) == [1, 2, 5, 10, 20, 50, 100]
    assert label_layout.log_ticks(0.9, 1100, 1000) == [1, 10, 100, 1000]
    found = label_layout.log_ticks(11.1, 14.9, 1.2)
    assert 4 <= len(found) <= 8 and all(11.1 <= x <= 14.9 for x in found)
