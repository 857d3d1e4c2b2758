"""Digits that a reader draws: what is seen of a drawing, the stored networks, what is said."""

import base64
import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from ensedu.data import digits
from workshop import measured
from workshop.experiments.digit_networks import TRIES
from workshop.page.digit import EXAMPLES, START, DrawDigit, script
from workshop.page.digit.drawings import (
    DIGITS,
    LETTERS,
    PEN,
    bits,
    from_text,
    jittered,
    scribble,
    seen,
)
from workshop.page.digit.stored_networks import (
    MEMBERS,
    SIZES,
    outputs,
    packed,
    probabilities,
    unpacked,
)
from workshop.plot.style import LOOKS, rendering

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


def test_a_dot_is_a_disk():
    page = bits(from_text("30,50"))
    np.testing.assert_array_equal(page, page[:, ::-1])
    np.testing.assert_array_equal(page, page[::-1])
    assert 412 < page.sum() < np.pi / 4 * 20 * 32  # eroded once


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


@pytest.fixture(scope="module")
def data():
    """What the page gets, through JSON."""
    return json.loads(json.dumps(DrawDigit().data()))


def test_the_page_has_every_method_and_drawing(data):
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
        assert 0 <= np.min(np.concatenate(one["strokes"])) <= np.max(drawing[0]) <= 1


def test_what_is_said_at_first_is_what_the_networks_say(data):
    assert data["examples"][data["start"]]["name"] == START
    x = seen([np.array(stroke) for stroke in data["examples"][data["start"]]["strokes"]])
    for name, method in {"single": "single", "members": data["method"]}.items():
        found = probabilities(method, unpacked(method, ROWS[method]["arrays"]), x[None])
        np.testing.assert_allclose(data["first"][name], found[0, :, 0], rtol=1e-12)
    assert np.shape(data["first"]["members"]) == (4, 10)


def test_some_are_fooled_and_some_are_not():
    """What the chapter shows: a network sure of an E, one that is alone sure of an X."""
    for name, both in {"an E": True, "an X": False, START: False}.items():
        for method, sure in {"single": True, "deep_ensemble": both}.items():
            arrays = unpacked(method, ROWS[method]["arrays"])
            p = probabilities(method, arrays, seen(EXAMPLES[name][1])[None])[0, :, 0]
            assert (p.mean(axis=0).max() > 0.9) == sure


def test_the_script_holds_the_networks():
    text = script()
    assert len(text) < 150_000
    head, _, body = text.partition(" = ")
    assert head == "globalThis.ensedu_digits"
    found = json.loads(body.removesuffix(";\n"))
    assert tuple(found) == tuple(TRIES)
    for method, own in found.items():
        assert own == {"p": ROWS[method]["p"], "arrays": ROWS[method]["arrays"]}


def test_words_say_what_the_networks_say():
    said = DrawDigit().alt()
    assert "The single network says 9 with 94%: 0.38 bits" in said
    assert "The deep ensemble says 9 with 80%: 0.54 bits of expected entropy and 0.33" in said
    assert said.endswith("Its members say 9, 4, 9, 9.")


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_the_figure_can_be_read(look):
    with rendering(look):
        figure = DrawDigit().readable()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[:2] == ["drawn", "seen"]
    assert {"single", "member 4", "mean", "94", "80"} <= set(words)
    assert figure.get_figwidth() == look.width
