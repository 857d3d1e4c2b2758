"""Contestants of known effects: who is found better, by how much, and on how many looks."""

import numpy as np
import pytest

from ensedu import uncertainty
from workshop.experiments.shared.comparisons import add_verdicts, compare_with_reference

SPLITS, SEEDS = 11, 3
SIZES = {"train": 90, "test": 10}


def rows(seed=0, **shifts):
    """Rows of contestants that differ from "single" by a shift in error, beside noise."""
    rng = np.random.default_rng(seed)
    level = rng.normal(5, 2, (SPLITS, 1))  # of a split, common to all
    return [
        {
            "contestant": name, "split": split,
            "error": (level[split] + shift + 0.1 * rng.standard_normal(SEEDS)).tolist(),
            "accuracy": float(1 - level[split, 0] - shift + 0.1 * rng.standard_normal()),
        }
        for name, shift in {"single": 0.0, **shifts}.items()
        for split in range(SPLITS)
    ]  # fmt: skip


def by(entries, contestant, score):
    (entry,) = (e for e in entries if (e["contestant"], e["score"]) == (contestant, score))
    return entry


def test_verdicts_know_which_way_is_better():
    table = rows(good=-1.0, bad=1.0, same=0.0)
    scores = ["error", "accuracy"]
    found = compare_with_reference(
        table, reference="single", scores=scores, higher=["accuracy"], **SIZES
    )
    assert len(found) == 8
    for score in scores:
        assert by(found, "good", score)["verdict"] == "better"
        assert by(found, "bad", score)["verdict"] == "worse"
        assert by(found, "same", score)["verdict"] == ""
        assert by(found, "single", score).keys() == {"contestant", "score", "mean"}


def test_a_difference_is_that_of_the_same_split_over_initial_seeds():
    table = rows(other=-0.3)
    np.random.default_rng(1).shuffle(table)
    entry = by(
        compare_with_reference(table, reference="single", scores=["error"], **SIZES),
        "other",
        "error",
    )
    mean = {(row["contestant"], row["split"]): np.mean(row["error"]) for row in table}
    differences = np.array([mean["other", k] - mean["single", k] for k in range(SPLITS)])
    expected = uncertainty.resampled(differences, **SIZES)
    assert entry["difference"] == pytest.approx(expected.mean)
    assert (entry["low"], entry["high"]) == pytest.approx((expected.low, expected.high))
    assert entry["p"] == entry["adjusted"] == pytest.approx(expected.p)
    assert entry["mean"] == pytest.approx(np.mean([mean["other", k] for k in range(SPLITS)]))


def test_a_verdict_takes_an_adjusted_p_value_below_a_twentieth():
    for p, verdict in ((0.0499, "worse"), (0.05, ""), (0.0501, "")):
        entry = {}
        add_verdicts([(entry, uncertainty.Interval(0.3, -0.1, 0.7, SPLITS, p))])
        assert (entry["adjusted"], entry["verdict"]) == (p, verdict)
    pair = [({}, uncertainty.Interval(-0.3, -0.7, 0.1, SPLITS, p)) for p in (0.024, 0.051)]
    add_verdicts(pair)
    assert [entry["verdict"] for entry, _ in pair] == ["better", ""]
