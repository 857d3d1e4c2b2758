"""A layer on a screen, for Python: what it is, and that it cannot be written to."""

from collections.abc import Mapping

import numpy as np
import pytest

from ensedu.book.page.playground import playground
from tests.book.page.playground.states import DRAWN, METHODS, SMALL


@pytest.mark.parametrize("method", METHODS)
def test_it_has_the_layer_that_is_shown(method):
    w = playground(method=method, in_features=2, out_features=5, ensemble_size=3)
    x = np.tile(w.arrays["x"], (3, 1, 1))
    if method == "single":
        x = x[0]
    y = w.layer(x) if w.noise is None else w.layer(x, w.noise)
    np.testing.assert_array_equal(y.reshape(-1, 5), w.outputs)
    assert (w.noise is None) == (method not in DRAWN)


@pytest.mark.parametrize("book", [False, True])
def test_what_is_read_cannot_be_written(book, monkeypatch, tmp_path):
    if book:
        monkeypatch.setenv("ENSEDU_BOOK", str(tmp_path))
    w = playground(**SMALL)
    for read in (w.options, w.arrays):
        assert isinstance(read, Mapping)
        with pytest.raises(TypeError):
            read["draw"] = 3
    for array in (*w.arrays.values(), *w.noise.values(), w.outputs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    # A layer is yours: what you do to it, the next one does not know.
    w.layer.params["weight"][...] = 8
    assert w.layer.params["weight"].max() <= 3
