"""What a Bayesian LeNet-5 says of images: of those shown, and of all of them, from one table."""

import numpy as np
import pytest

from ensedu import uncertainty
from ensedu.book.experiments import bayesian_cnn as cnn
from ensedu.book.experiments import bayesian_cnn_images as seen


def test_shown_images_are_four_digits_and_four_letters_with_their_parts():
    found = seen.shown()
    assert [one.kind for one in found] == ["digit"] * 4 + ["letter"] * 4
    for one in found:
        assert one.pixels.shape == (28, 28)
        p = one.p / one.p.sum(axis=-1, keepdims=True)
        assert p.shape == (16, 10)
        parts = uncertainty.covariance_parts(p[:, None])
        traces = [np.trace(each[0]) for each in (parts.aleatoric, parts.epistemic)]
        # The table's are of 64 samples.
        np.testing.assert_allclose(one.parts, traces, atol=0.12)
    assert max(sum(one.parts) for one in found[::4]) < 0.01
    assert min(sum(one.parts) for one in found if one not in found[::4]) > 0.4


def test_known_digits_are_those_of_the_test_set_and_letters_no_digits():
    digits, letters = seen.known().values()
    _, (images, _) = cnn.split_digits(0)
    np.testing.assert_allclose(digits.pixels, images[:, 0], atol=1e-6)
    assert digits.parts.shape == (2, 1000)
    kept = cnn.foreign(0, 1)["letters"][:, 0]
    np.testing.assert_allclose(letters.pixels, kept, atol=1e-6)
    assert digits.wrong.mean() < 0.05
    assert letters.wrong.all()


def test_shares_are_of_the_doubtful_alone():
    parts = np.array([[0.3, 0.0, 0.1, 0.15], [0.1, 0.0, 0.3, 0.01]])
    own = seen.Known(np.zeros((4, 28, 28)), parts, np.zeros(4, bool))
    assert seen.doubtful_shares(own) == pytest.approx([0.25, 0.75])
    assert seen.doubtful_shares(own, cut=0.5).size == 0
    np.testing.assert_allclose(own.whole, parts[0] + parts[1])
