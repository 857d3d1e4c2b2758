"""Letters are set as digits are: sizes, centers, and which way is up."""

import numpy as np

from ensedu import data


def test_letters_are_set_as_digits_are():
    x, names = data.letters()
    assert x.shape == (520, 784)
    assert len(names) == 520
    assert set(names) == {chr(i) for i in (*range(65, 91), *range(97, 123))}
    assert 0 <= x.min() < x.max() <= 1
    pixels = np.arange(28)
    for image in x.reshape(-1, 28, 28):
        rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
        assert max(np.ptp(rows), np.ptp(columns)) + 1 == 20
        for axis in (0, 1):
            center = image.sum(axis=axis) @ pixels / image.sum()
            assert abs(center - 13.5) <= 0.5
    assert len(np.unique(x, axis=0)) == 519  # two that differ in nothing but their size
    bold = x.reshape(5, 2, 52, 784).sum(axis=-1)  # a font's upright letters, then its bold ones
    assert (bold[:, 1] > bold[:, 0]).mean() > 0.95
    np.testing.assert_array_equal(data.letters()[0], x)
    by_name = dict(zip(names[:52], x[:52].reshape(-1, 28, 28), strict=True))
    left, right = by_name["L"][:, :14].sum(), by_name["L"][:, 14:].sum()
    assert left > right  # neither mirrored
    assert by_name["T"][:14].sum() > by_name["T"][14:].sum()  # nor upside down
