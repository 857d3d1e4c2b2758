"""Drawings as networks see them, the networks that look at them, and the tables of both."""

import base64
import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage

from ensedu.book import measured
from ensedu.book.experiments import digit_networks as networks
from ensedu.book.experiments import dropout
from ensedu.book.experiments.digit_networks import (
    EXPERIMENT,
    TRIES,
    scores,
    shown,
)
from ensedu.book.page.digit.drawings import (
    DIGITS,
    LETTERS,
    PEN,
    bits,
    from_text,
    jittered,
    scribble,
    seen,
)
from ensedu.book.page.digit.stored_networks import (
    MEMBERS,
    SIZES,
    SURE,
    outputs,
    packed,
    probabilities,
    unpacked,
)
from ensedu.data import digits
from ensedu.methods import METHODS
from tests.errors import check_error

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


def test_nothing_is_seen_of_nothing():
    assert not bits([]).any()
    assert not seen([]).any()


@pytest.mark.parametrize("text", ["50,10 50,90", "20,40 70,40"])
def test_a_straight_line_fills_its_box_and_is_eroded_twice(text):
    drawn = filled(from_text(text))
    assert drawn.sum() > 560
    np.testing.assert_array_equal(
        bits(from_text(text)), ndimage.binary_erosion(drawn, iterations=2)
    )


def test_a_dot_is_a_disk():
    page = bits(from_text("30,50"))
    np.testing.assert_array_equal(page, page[:, ::-1])
    np.testing.assert_array_equal(page, page[::-1])
    assert 412 < page.sum() < np.pi / 4 * 20 * 32  # eroded once


@pytest.mark.parametrize(("pen", "times"), [(0.11, -1), (0.045, 0), (0.02, 1), (0.003, 2)])
def test_strokes_become_thicker_and_thinner(pen, times):
    cross = from_text("10,10 90,10;10,90 90,90;10,10 90,90;90,10 10,90;10,10 10,90;90,10 90,90")
    if times > 0:
        cross = from_text("10,10 10,90;10,10 90,10;10,90 90,90") if times == 1 else from_text(
            "10,10 10,90;10,90 90,90"
        )  # fmt: skip
    drawn = filled(cross, pen)
    number = drawn.sum()
    assert {-1: 412 < number, 0: 256 <= number <= 412, 1: 108 <= number < 256, 2: number < 108}[
        times
    ], number
    if times < 0:
        expected = ndimage.binary_erosion(drawn, iterations=2 if number > 560 else 1)
    else:
        expected = ndimage.binary_dilation(drawn, iterations=times) if times else drawn
    np.testing.assert_array_equal(bits(cross, pen), expected)


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


@pytest.mark.parametrize("method", TRIES)
def test_the_committed_arrays_have_the_scores_of_the_table(method):
    row = ROWS[method]
    _, _, (x, labels) = dropout.parts(1200, 0)
    found = scores(probabilities(method, unpacked(method, row["arrays"]), x, 0, row["p"]), labels)
    for name, value in found.items():
        assert row[name] == pytest.approx(value, rel=1e-3, abs=1e-9), name
    assert found["accuracy"] > 0.94


def test_the_networks_are_small():
    table = measured.load("digit-networks")
    assert len(json.dumps(table)) < 150_000
    assert tuple(ROWS) == tuple(TRIES)


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


def test_scores_of_members_that_disagree():
    sure, torn = [0.95, 0.05] + [0.0] * 8, [0.05, 0.95] + [0.0] * 8
    found = scores(np.array([[[sure, sure], [sure, torn]]]), np.array([0, 0]))  # one draw
    assert found["sure"] == 0.5
    assert found["accuracy"] == 1.0
    assert found["nll"] == pytest.approx(-(np.log(0.95) + np.log(0.5)) / 2)
    own = -(0.95 * np.log2(0.95) + 0.05 * np.log2(0.05))
    assert found["expected"] == pytest.approx(own)
    assert found["mutual_information"] == pytest.approx((0 + 1 - own) / 2)


def test_what_is_shown():
    x, labels = shown("drawn", 3, 20)
    assert x.shape == (20, 64)
    assert labels.tolist() == [digit for digit in range(10) for _ in range(2)]
    letters, none = shown("letters", 3, 2 * len(LETTERS))
    assert letters.shape == (2 * len(LETTERS), 64)
    assert none is None
    assert not np.array_equal(letters, shown("letters", 4, 2 * len(LETTERS))[0])
    assert not set(LETTERS) & set("BDGIOQSZ")  # a digit's twins


def test_a_setting_is_chosen_on_validation_alone(monkeypatch):
    asked = []

    def trained(method, setting, split, train, epochs):
        asked.append(setting)
        return setting

    monkeypatch.setattr(networks, "trained", trained)
    monkeypatch.setattr(
        networks, "arrays_of", lambda net: {key: np.array(value) for key, value in net.items()}
    )
    seen_inputs = []

    def said(method, arrays, x, seed, p):
        seen_inputs.append(x)
        right = np.eye(10)[dropout.parts(1200, 2)[1][1]]
        weight = 0.5 if arrays["lr"] == 0.006 and arrays["weight_decay"] else 0.1
        return (weight * right + (1 - weight) / 10)[None, None]

    monkeypatch.setattr(networks, "probabilities", said)
    chosen, nll, arrays = networks.best("single", 2, 1200, 1)
    assert chosen == 3
    assert asked == list(TRIES["single"])
    assert arrays == asked[3]
    assert len(nll) == 4
    assert all(np.array_equal(x, dropout.parts(1200, 2)[1][0]) for x in seen_inputs)


def test_the_page_has_the_networks_of_the_first_split():
    rows = measured.load("digit-splits")["rows"]
    for method, own in ROWS.items():
        row = measured.row(rows, method=method, split=0)
        assert row["chosen"] == int(np.argmin(row["validation"]))
        assert own["setting"] == TRIES[method][row["chosen"]]
        assert own["accuracy"] == row["test"]["accuracy"]
        assert own["nll"] == row["test"]["nll"]


def test_a_reduced_run_agrees_with_the_table():
    found = networks.arrays_of(networks.trained("single", ROWS["single"]["setting"], 0, 1200, 60))
    _, _, (x, labels) = dropout.parts(1200, 0)
    own = scores(probabilities("single", found, x), labels)
    # To the digits of the table, and what other processors add.
    assert own["accuracy"] == pytest.approx(ROWS["single"]["accuracy"], abs=0.01)
    assert own["nll"] == pytest.approx(ROWS["single"]["nll"], rel=0.05)


def test_the_summary_counts_the_sure():
    table = measured.load("digit-splits")
    own = [row for row in table["rows"] if row["method"] == "rank1"]
    found = table["summary"]["means"]["rank1"]["letters"]
    shares = [row["letters"]["sure"] for row in own]
    assert found["sure"] == pytest.approx(np.mean(shares), rel=1e-3)
    assert found["range"] == pytest.approx([min(shares), max(shares)], rel=1e-3)
    compared = measured.row(table["summary"]["compared"], contestant="rank1", score="letters")
    assert compared["mean"] == pytest.approx(np.mean(shares), rel=1e-3)
    assert len(own) == 10 == len({row["split"] for row in own})
    assert SURE == 0.9
    assert set(table["summary"]["means"]) == set(TRIES) < set(METHODS)
    assert EXPERIMENT.settings["number"] % len(LETTERS) == 0


BAD = [
    (lambda: networks.trained("bagging", {}, 0, 400, 1), ValueError, ("method", "'bagging'")),
    (lambda: shown("test", 0, 10), ValueError, ("kind", "'test'", "'letters'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
