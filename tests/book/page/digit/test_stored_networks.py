"""Stored networks: their arrays as text, and what each member says."""

import base64

import numpy as np

from ensedu.book import measured
from ensedu.book.page.digit.stored_networks import MEMBERS, SIZES, outputs, packed, unpacked

ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}


def test_arrays_as_text():
    arrays = {"0.weight": np.array([[1.0, -0.5, 2.0**-24], [65504.0, 0.333251953125, 0.0]])}
    text = packed(arrays)
    halves = np.frombuffer(base64.b64decode(text["0.weight"]), "<f2")
    np.testing.assert_array_equal(halves.astype(float), arrays["0.weight"].ravel())
    for method, row in ROWS.items():
        assert packed(unpacked(method, row["arrays"])) == row["arrays"]


def test_outputs_are_those_of_each_member():
    x = np.random.default_rng(0).random((7, SIZES[0]))
    rng = np.random.default_rng(0)
    arrays = unpacked("batch_ensemble", ROWS["batch_ensemble"]["arrays"])
    found = outputs("batch_ensemble", arrays, x, rng)
    assert found.shape == (MEMBERS, 7, SIZES[-1])
    for i in range(MEMBERS):
        h = x
        for layer in (0, 1):
            r, s = (arrays[f"{layer}.{name}"][i] for name in "rs")
            h = h @ (arrays[f"{layer}.weight"] * np.outer(r, s)) + arrays[f"{layer}.bias"][i]
            h = np.maximum(h, 0) if layer == 0 else h
        np.testing.assert_allclose(found[i], h, rtol=0, atol=1e-12)
    one = outputs("single", unpacked("single", ROWS["single"]["arrays"]), x, rng)
    assert one.shape == (1, 7, SIZES[-1])
    row = ROWS["mc_dropout"]
    drawn = outputs("mc_dropout", unpacked("mc_dropout", row["arrays"]), x, rng, row["p"])
    assert drawn.shape == found.shape
    assert not np.allclose(drawn[0], drawn[1])
