"""The networks that look at drawn digits: how they are trained, chosen and scored."""

import json

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import digit_networks as networks
from ensedu.book.experiments import dropout
from ensedu.book.experiments.digit_networks import (
    EXPERIMENT,
    TRIES,
    drawings_of_kind,
    scores,
)
from ensedu.book.page.digit.drawings import (
    LETTERS,
)
from ensedu.book.page.digit.stored_networks import (
    SURE,
    probabilities,
    unpacked,
)
from ensedu.methods import METHODS
from ensedu.torch import mlp
from tests.errors import check_error

ROWS = {row["method"]: row for row in measured.load("digit-networks")["rows"]}


@pytest.mark.parametrize("method", TRIES)
def test_the_committed_arrays_have_the_scores_of_the_table(method):
    row = ROWS[method]
    _, _, (x, labels) = dropout.split_digits(1200, 0)
    found = scores(probabilities(method, unpacked(method, row["arrays"]), x, 0, row["p"]), labels)
    for name, value in found.items():
        assert row[name] == pytest.approx(value, rel=1e-3, abs=1e-9), name
    assert found["accuracy"] > 0.94


def test_the_networks_are_small():
    table = measured.load("digit-networks")
    assert len(json.dumps(table)) < 150_000
    assert tuple(ROWS) == tuple(TRIES)


def test_scores_of_members_that_disagree():
    sure, torn = [0.95, 0.05] + [0.0] * 8, [0.05, 0.95] + [0.0] * 8
    found = scores(np.array([[[sure, sure], [sure, torn]]]), np.array([0, 0]))  # one draw
    assert found["sure"] == 0.5
    assert found["accuracy"] == 1.0
    assert found["nll"] == pytest.approx(-(np.log(0.95) + np.log(0.5)) / 2)
    own = -(0.95 * np.log2(0.95) + 0.05 * np.log2(0.05))
    assert found["expected"] == pytest.approx(own)
    assert found["mutual_information"] == pytest.approx((0 + 1 - own) / 2)


def test_scores_are_of_the_numbers_that_a_page_gets():
    arrays = networks.arrays_of(mlp([5, 7, 3], "rank1", 2, dtype=torch.float64))
    assert {"0.weight", "0.r_rho", "1.bias"} <= arrays.keys()
    for array in arrays.values():
        assert array.dtype == np.float64
        assert np.array_equal(array, array.astype(np.float16))


def test_what_is_shown():
    x, labels = drawings_of_kind("drawn", 3, 20)
    assert x.shape == (20, 64)
    assert labels.tolist() == [digit for digit in range(10) for _ in range(2)]
    letters, none = drawings_of_kind("letters", 3, 2 * len(LETTERS))
    assert letters.shape == (2 * len(LETTERS), 64)
    assert none is None
    assert not np.array_equal(letters, drawings_of_kind("letters", 4, 2 * len(LETTERS))[0])
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
        right = np.eye(10)[dropout.split_digits(1200, 2)[1][1]]
        weight = 0.5 if arrays["lr"] == 0.006 and arrays["weight_decay"] else 0.1
        return (weight * right + (1 - weight) / 10)[None, None]

    monkeypatch.setattr(networks, "probabilities", said)
    chosen, nll, arrays = networks.best_setting("single", 2, 1200, 1)
    assert chosen == 3
    assert asked == list(TRIES["single"])
    assert arrays == asked[3]
    assert len(nll) == 4
    assert all(np.array_equal(x, dropout.split_digits(1200, 2)[1][0]) for x in seen_inputs)


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
    _, _, (x, labels) = dropout.split_digits(1200, 0)
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
    (lambda: drawings_of_kind("test", 0, 10), ValueError, ("kind", "'test'", "'letters'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
