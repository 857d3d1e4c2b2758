"""Table 1 again: what is trained and compared, and the table that the chapter reads."""

from itertools import combinations

import numpy as np
import pytest
import torch

from ensedu import counting, uncertainty
from ensedu.book import measured
from ensedu.book.experiments import table_one
from ensedu.book.experiments.shared.comparisons import compare_with_reference
from ensedu.book.experiments.table_one import (
    CONTESTANTS,
    EXPERIMENT,
    compare_all,
    equal_width,
    scores_by_size,
)
from ensedu.data import Split

SHORT = EXPERIMENT.settings | {"seeds": 1, "epochs": 1}


@pytest.fixture
def forecasts():
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((5, 11, 1)), rng.gamma(2.0, size=(5, 11, 1))
    return mean, variance, rng.standard_normal((11, 1))


@pytest.mark.parametrize("inputs", [3, 8, 13])
def test_no_other_width_comes_nearer(inputs):
    def parameters(h):
        return counting.mlp([inputs, h, 2]).total

    wanted = table_one.MEMBERS * parameters(table_one.WIDTH)
    found = equal_width(inputs)
    apart = {h: abs(parameters(h) - wanted) for h in range(1, 2 * found)}
    assert apart[found] == min(apart.values())


def test_by_size_is_the_mean_over_all_choices(forecasts):
    mean, variance, y = forecasts
    found = scores_by_size(mean, variance, y)
    for size in range(1, 6):
        squared, nll = [], []
        for own in map(list, combinations(range(5), size)):
            squared.append(np.mean((mean[own].mean(0) - y) ** 2))
            densities = np.exp(-((y - mean[own]) ** 2) / (2 * variance[own]))
            densities /= np.sqrt(2 * np.pi * variance[own])
            nll.append(-np.log(densities.mean(0)).mean())
        assert found["squared"][size - 1] == pytest.approx(np.mean(squared), rel=1e-12)
        assert found["nll"][size - 1] == pytest.approx(np.mean(nll), rel=1e-12)


def test_scores_of_an_ensemble_and_of_each_alone(forecasts):
    mean, variance, y = forecasts
    together = table_one.scores_of(mean, variance, y)
    nll = uncertainty.gaussian_nll(mean, variance, y)
    assert together["average"] == pytest.approx(nll.mean(), rel=1e-12)
    assert together["nll"] < together["average"]
    assert together["apart"] == pytest.approx(mean.std(0).mean(), rel=1e-12)
    alone = table_one.scores_alone(mean, variance, y)
    assert alone["nll"] == alone["moment"] == alone["average"]
    assert alone["nll"] == pytest.approx(together["average"], rel=1e-12)
    errors = np.sqrt(((mean - y) ** 2).mean(axis=(1, 2)))
    assert alone["rmse"] == pytest.approx(errors.mean(), rel=1e-12)


def test_the_error_in_common_against_a_loop():
    errors = np.random.default_rng(0).standard_normal((5, 7)) + 0.3
    pairs = [np.mean(errors[i] * errors[j]) for i, j in combinations(range(5), 2)]
    wanted = np.mean(pairs) / np.mean([np.mean(e**2) for e in errors])
    assert table_one.error_in_common(errors) == pytest.approx(wanted, rel=1e-12)


def test_forecasts_are_in_the_units_of_the_target():
    x = np.random.default_rng(0).standard_normal((20, 3))
    y = 1000.0 + 50 * x[:, :1]
    split = Split(x, y, np.arange(15), np.arange(15, 20))
    net = table_one.untrained_networks(split, CONTESTANTS["single"], start=0)
    mean, variance, targets = table_one.forecast(split, net)
    assert mean.shape == variance.shape == (5, 5, 1)
    np.testing.assert_array_equal(targets, y[15:])
    with torch.no_grad():
        outputs = net(torch.from_numpy(split.x_test)).numpy()
    np.testing.assert_allclose(mean, split.y_mean + split.y_std * outputs[..., :1], rtol=1e-12)
    raw = np.log1p(np.exp(outputs[..., 1:])) + 1e-6
    np.testing.assert_allclose(variance, split.y_std**2 * raw, rtol=1e-9)


def test_starts_differ_between_contestants_splits_and_seeds(monkeypatch):
    seen = []
    real = table_one.untrained_networks

    def started(split, row, start):
        seen.append(start)
        return real(split, row, start)

    monkeypatch.setattr(table_one, "untrained_networks", started)
    monkeypatch.setattr(table_one, "train", lambda *a, **k: None)
    for name in CONTESTANTS:
        for split in (3, 4):
            table_one.run("boston", name, split=split, **SHORT | {"seeds": 3})
    assert len(set(seen)) == len(seen) == 2 * 3 * len(CONTESTANTS)


def test_orders_differ_between_splits_and_seeds_alone(monkeypatch):
    seen = {}

    def train(net, split, row, seed, *settings):
        seen.setdefault(row.label, []).append(seed)

    monkeypatch.setattr(table_one, "train", train)
    for name in ("single", "deep_ensemble"):
        for split in range(3):
            table_one.run("boston", name, split=split, **SHORT | {"seeds": 2})
    one, five = seen.values()
    assert one == five and len(set(one)) == len(one) == 6


@pytest.mark.parametrize("name", CONTESTANTS)
def test_a_contestant_trains_as_its_row_says(name, monkeypatch):
    seen = {}

    def fit(net, x, y, nll, **settings):
        seen.update(settings, beta=nll.keywords["beta"], numbers=counting.count(net).total)

    monkeypatch.setattr(table_one, "fit", fit)
    found = table_one.run("boston", name, split=0, **SHORT)
    assert (found["train"], found["test"]) == (455, 51)
    assert seen["lr"] == 0.01 and seen["batch_size"] == 100
    assert seen["beta"] == (0.5 if name.endswith("beta") else 0.0)
    assert seen["adversarial"] == (0.01 if name.endswith("adversarial") else 0.0)
    one = 4018 if name == "wide" else 802
    assert seen["numbers"] == one * (10 if name == "deep_ensemble" else 5)
    assert bool(found["apart"]) is name.startswith("deep")
    assert bool(found["by_size"]) is (name == "deep_ensemble")


def test_training_leaves_threads_as_they_were():
    before = torch.get_num_threads()
    table_one.run("boston", "single", split=1, **SHORT)
    assert torch.get_num_threads() == before


def test_holm_counts_all_comparisons_of_a_table():
    rng = np.random.default_rng(2)
    rows = [
        {"data": data, "contestant": name, "split": split, "train": 90, "test": 10,
         "nll": (rng.standard_normal(2) - 3 * (name == "b")).tolist()}
        for data in ("one", "two") for name in "abc" for split in range(10)
    ]  # fmt: skip
    found = compare_all(rows, (("a", ("b", "c"), ("nll",)), ("b", ("c",), ("nll",))))
    assert [(e["data"], e["contestant"], e["reference"]) for e in found] == [
        (data, *pair) for data in ("one", "two") for pair in (("b", "a"), ("c", "a"), ("c", "b"))
    ]
    p_values = np.array([e["p"] for e in found])
    np.testing.assert_allclose([e["adjusted"] for e in found], uncertainty.holm(p_values))
    verdicts = {e["contestant"] + e["reference"]: e["verdict"] for e in found}
    assert verdicts == {"ba": "better", "ca": "", "cb": "worse"}
    one = [row for row in rows if row["data"] == "one" and row["contestant"] in "ab"]
    (_, wanted) = compare_with_reference(one, reference="a", scores=("nll",), train=90, test=10)
    assert (found[0]["low"], found[0]["high"]) == (wanted["low"], wanted["high"])


def test_a_difference_from_the_published_table():
    rows = measured.load("table-one")["rows"]
    shown, errors = table_one.beside_published(rows)
    own = [np.mean(r["rmse"]) for r in rows
           if (r["data"], r["contestant"]) == ("concrete", "deep_ensemble")]  # fmt: skip
    assert len(own) == 20
    error = np.sqrt((np.var(own, ddof=1) + 0.58**2) / 20)
    assert errors["concrete", "rmse"] == pytest.approx((np.mean(own) - 6.03) / error, rel=1e-9)
    assert shown["Boston NLL"]["published"] == "2.41\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.25"
    assert shown["Boston NLL"]["here"].startswith("2.513\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.299")
    assert shown["concrete RMSE"]["its members"] is None


def test_each_training_of_a_deep_ensemble_has_a_row():
    members = {"squared": [4.0, 2.0, 1.0], "nll": [7.0, 5.0, 3.0]}
    rows = [
        {"data": data, "contestant": name, "split": split,
         "by_size": [
             {key: [value + split + 10 * seed for value in values]
              for key, values in members.items()} for seed in range(2)
         ] * (name == "deep_ensemble")}
        for data in ("boston", "concrete") for name in ("single", "deep_ensemble")
        for split in (0, 100 * (data == "boston") + 1)
    ]  # fmt: skip
    squared, nll = table_one.of_each_training(rows, "concrete")
    assert squared.tolist() == [[4, 2, 1], [14, 12, 11], [5, 3, 2], [15, 13, 12]]
    assert nll.tolist() == [[7, 5, 3], [17, 15, 13], [8, 6, 4], [18, 16, 14]]
    assert table_one.of_each_training(measured.load("table-one")["rows"], "boston")[1].shape == (
        60, table_one.POOL,
    )  # fmt: skip


def test_a_case_agrees_with_the_table():
    name = "single_beta"
    found = table_one.run("boston", name, split=4, **EXPERIMENT.settings)
    row = measured.row(measured.load("table-one")["rows"], data="boston", contestant=name, split=4)
    for score in ("rmse", "nll", "moment", "average"):
        # To the digits of the table, and what other processors add.
        assert row[score] == pytest.approx(found[score], rel=0.01)
