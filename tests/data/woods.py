"""Columns of words and numbers, which several tests read."""

COLUMNS = {
    "width": [1.5, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0],
    "wood": ["oak", "ash", "oak", "fir", "ash", "oak", "oak"],
    "floors": [1, 2, 3, 1, 2, 3, 10],
    "price": [10, 20, 30, 40, 50, 60, 70],
}
