"""Ticks stand where there are enough of them."""

from ensedu.plot import label_layout


def test_an_axis_of_few_powers_of_ten_has_numbers_between_them():
    assert label_layout.log_ticks(0.9, 110) == [1, 2, 5, 10, 20, 50, 100]
    assert label_layout.log_ticks(0.9, 1100) == [1, 10, 100, 1000]
    found = label_layout.log_ticks(11.1, 14.9)
    assert 4 <= len(found) <= 8 and all(11.1 <= x <= 14.9 for x in found)
