"""What is read from the tables of the shoot-out."""

import numpy as np
import pytest

from ensedu.book import measured
from ensedu.book.experiments import shootout
from ensedu.book.experiments.shootout import reading
from tests.book.experiments.shootout.committed import tasks_with_a_table


@pytest.mark.parametrize("data", tasks_with_a_table())
def test_means_are_over_splits_and_starts(data):
    rows = shootout.with_scaled(measured.load(f"shootout-{data}")["rows"])
    found = reading.mean_scores(data)
    assert list(found) == [name for name in reading.NAMES if name in found]
    for name in ("rank1", "wide_scaled"):
        own = [row for row in rows if row["contestant"] == name]
        assert found[name]["nll"] == pytest.approx(np.mean([row["nll"] for row in own]))
        assert found[name]["kept"] == own[3]["kept"]
    one = [row for row in rows if row["contestant"] == "single"]
    deep = [row for row in rows if row["contestant"] == "deep_ensemble"]
    ratios = [a["train_seconds"] / b["train_seconds"] for a, b in zip(deep, one, strict=True)]
    assert found["deep_ensemble"]["train"] == pytest.approx(np.median(ratios))
    assert found["single"]["train"] == found["single"]["predict"] == 1
    assert reading.relative_size(data, "deep_ensemble") == 4
    assert reading.scores_by_shift(data, "single", "noise nll")[2] == pytest.approx(
        np.mean([row["shifted"]["noise nll"][2] for row in one])
    )


@pytest.mark.parametrize("data", tasks_with_a_table())
def test_points_are_the_differences_from_one_network(data):
    points, sure, colors = reading.tradeoff_points(data)
    summary = measured.load(f"shootout-{data}")["summary"]
    drawn = {
        (name, words): (size, *interval)
        for name, own in points.items()
        for words, size, interval in own
    }
    assert len(drawn) == len(reading.mean_scores(data)) - 1
    entry = measured.row(summary, contestant="ivon", than="single", score="nll")
    interval = tuple(entry[key] for key in ("low", "difference", "high"))
    assert drawn["IVON", ""] == (2, *interval)
    assert colors["IVON"] == "mean_field"
    resolved = {(name, words) for name, own in sure.items() for words in own}
    assert ("IVON" in {name for name, _ in resolved}) == bool(entry["verdict"])
    if data != "lenet":
        half = measured.row(summary, contestant="batch_ensemble_half", than="single", score="nll")
        assert drawn["batch_ensemble", "½"][2] == half["difference"]


def test_each_name_is_of_one_contestant():
    assert len(set(reading.LABELS.values())) == len(reading.NAMES)
    assert set(reading.COLORS) == set(reading.LABELS.values())
    with pytest.raises(ValueError, match=r"data must be one of .*got 'mnits'"):
        reading.mean_scores("mnits")
