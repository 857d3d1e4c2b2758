"""How long a sentence under a figure may be."""

import pytest

from ensedu.book.page.said import too_much


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("word " * 20, ""),
        ("word " * 21, "21 words"),
        ("From −0.5 to 1,200 in 3 steps.", ""),
        ("From −0.5 to 1,200 in 3 steps of 4e-3.", "4 numbers"),
        ("At (1, 2), 3: [4, 5].", "5 numbers"),
        ("BatchEnsemble's W2 in a 1-50-50-1 network – MNIST-5000, x3.", ""),
        ("1 2 3 4 " * 6, "24 words and 24 numbers"),
    ],
)
def test_words_and_numbers_are_counted(sentence, found):
    assert too_much(sentence) == found
