"""Digits that a reader draws: what is seen of a drawing, the stored networks, what is said."""

import base64
import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from workshop import measured
from workshop.experiments.digit_networks import TRIES
from workshop.page.digit import EXAMPLES, START, DrawDigit, script
from workshop.page.digit.drawings import DIGITS, PEN, bits, from_text, seen
from workshop.page.digit.stored_networks import packed, probabilities, unpacked

CROSS = "10,10 90,10;10,90 90,90;10,10 90,90;90,10 10,90;10,10 10,90;90,10 90,90"
ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}


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


@pytest.mark.parametrize(("text", "pen", "low", "high", "times"), [
    ("50,10 50,90", PEN, 560, 640, -2),
    ("20,40 70,40", PEN, 560, 640, -2),
    (CROSS, 0.11, 412, 640, -1),
    (CROSS, 0.045, 256, 412, 0),
    ("10,10 10,90;10,10 90,10;10,90 90,90", 0.02, 108, 255, 1),
    ("10,10 10,90;10,90 90,90", 0.02, 1, 107, 2),
])  # fmt: skip
def test_strokes_become_thicker_and_thinner(text, pen, low, high, times):
    drawn = filled(from_text(text), pen)
    assert low <= drawn.sum() <= high
    if times == -1:
        times = -2 if drawn.sum() > 560 else -1
    change = ndimage.binary_erosion if times < 0 else ndimage.binary_dilation
    expected = change(drawn, iterations=abs(times)) if times else drawn
    np.testing.assert_array_equal(bits(from_text(text), pen), expected)
    assert not bits([]).any() and not seen([]).any()


def test_what_slants_is_put_upright():
    page = bits(from_text("70,5 30,95"))
    edges = page.argmax(axis=1)
    assert np.ptp(edges[2:-2]) <= 2
    assert np.ptp(filled(from_text("70,5 30,95")).argmax(axis=1)) > 8


def test_blocks_are_counted():
    blocks = bits(DIGITS["2"]).reshape(8, 4, 8, 4)
    np.testing.assert_array_equal(16 * seen(DIGITS["2"]).reshape(8, 8), blocks.sum(axis=(1, 3)))


def test_arrays_as_text():
    arrays = {"0.weight": np.array([[1.0, -0.5, 2.0**-24], [65504.0, 0.333251953125, 0.0]])}
    text = packed(arrays)
    halves = np.frombuffer(base64.b64decode(text["0.weight"]), "<f2")
    np.testing.assert_array_equal(halves.astype(float), arrays["0.weight"].ravel())
    for method, row in ROWS.items():
        assert packed(unpacked(method, row["arrays"])) == row["arrays"]


def test_the_page_gets_every_method_and_drawing_and_what_is_said_at_first():
    data = json.loads(json.dumps(DrawDigit().data()))
    assert tuple(data["methods"]) == tuple(TRIES)
    words = {method: about["word"] for method, about in data["methods"].items()}
    assert words.pop("mean_field") == words.pop("mc_dropout") == "draw"
    assert set(words.values()) == {"member"}
    assert [one["name"] for one in data["examples"]] == list(EXAMPLES)
    for one in data["examples"]:
        digits, drawing = EXAMPLES[one["name"]]
        assert one["digits"] == digits
        for own, stroke in zip(one["strokes"], drawing, strict=True):
            np.testing.assert_allclose(own, stroke, atol=1e-4)
    start = data["examples"][data["start"]]
    assert start["name"] == START and np.shape(data["first"]["members"]) == (4, 10)
    x = seen([np.array(stroke) for stroke in start["strokes"]])
    for name, method in {"single": "single", "members": data["method"]}.items():
        found = probabilities(method, unpacked(method, ROWS[method]["arrays"]), x[None])
        np.testing.assert_allclose(data["first"][name], found[0, :, 0], rtol=1e-12)


def test_some_are_fooled_and_some_are_not():
    """What the chapter shows: a network sure of an E, one that is alone sure of an X."""
    for name, both in {"an E": True, "an X": False, START: False}.items():
        for method, sure in {"single": True, "deep_ensemble": both}.items():
            arrays = unpacked(method, ROWS[method]["arrays"])
            p = probabilities(method, arrays, seen(EXAMPLES[name][1])[None])[0, :, 0]
            assert (p.mean(axis=0).max() > 0.9) == sure
    said = DrawDigit().alt()
    assert "The single network says 9 with 94%: 0.38 bits" in said
    assert "The deep ensemble says 9 with 80%: 0.54 bits of expected entropy and 0.33" in said
    assert said.endswith("Its members say 9, 4, 9, 9.")


def test_the_script_holds_the_networks():
    head, _, body = script().partition(" = ")
    assert head == "globalThis.ensedu_digits" and len(body) < 150_000
    found = json.loads(body.removesuffix(";\n"))
    assert tuple(found) == tuple(TRIES)
    for method, own in found.items():
        assert own == {"p": ROWS[method]["p"], "arrays": ROWS[method]["arrays"]}
