"""The running example: what its scores mean, and that its tables are what the code computes."""

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy import stats

from ensedu import counting, uncertainty
from ensedu.book import measured
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.running_example import CONTESTANTS, EXPERIMENT, PLACES, TUNING
from ensedu.data import gap
from ensedu.methods import METHODS

SETTINGS = EXPERIMENT.settings
SHORT = {**SETTINGS, "seeds": 2, "epochs": 3, "passes": 8, "points": 11}


def test_scores_against_a_loop():
    rng = np.random.default_rng(0)
    M, B = 3, 7
    truth, means = rng.standard_normal((B, 1)), rng.standard_normal((M, B, 1))
    y = means[0] + 0.1 * rng.standard_normal((B, 1))
    found = example.score(means, truth, y)
    noise = gap.noise
    densities = [
        np.mean([stats.norm.pdf(y[b, 0], means[i, b, 0], noise) for i in range(M)])
        for b in range(B)
    ]
    assert found["nll"] == pytest.approx(-np.mean(np.log(densities)), rel=1e-12)
    errors = means[..., 0] - truth[:, 0]
    pairs = [np.corrcoef(errors[i], errors[j])[0, 1] for i, j in combinations(range(M), 2)]
    assert found["error_correlation"] == pytest.approx(np.mean(pairs), rel=1e-12)
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(errors.mean(0) ** 2)), rel=1e-12)
    spreads = [means[:, b, 0].std() for b in range(B)]
    assert found["spread"] == pytest.approx(np.mean(spreads), rel=1e-12)
    inside = [
        0.025
        <= np.mean([stats.norm.cdf(y[b, 0], means[i, b, 0], noise) for i in range(M)])
        <= 0.975
        for b in range(B)
    ]
    assert found["coverage"] == np.mean(inside)
    assert example.score(means[:1], truth, y).keys() == {"rmse", "nll", "coverage"}


def test_the_loss_is_the_nll_of_the_known_noise():
    outputs, y = torch.randn(3, 7, 1, dtype=torch.float64), torch.randn(7, 1, dtype=torch.float64)
    density = torch.distributions.Normal(outputs, gap.noise).log_prob(y)
    constant = math.log(gap.noise * math.sqrt(2 * math.pi))
    assert example.nll(outputs, y) == pytest.approx(float(-density.mean()) - constant, rel=1e-12)


def test_one_network_has_as_many_parameters_as_four():
    deep = counting.mlp(example.SIZES, "deep_ensemble", example.MEMBERS).total
    wide = counting.mlp(example.WIDE, "single").total
    assert abs(wide - deep) <= 0.001 * deep
    counts = {
        name: measured.row(measured.load("running-example")["rows"], contestant=name, data_seed=0)
        for name in CONTESTANTS
    }
    assert counts["deep_ensemble"]["parameters"] == deep
    assert counts["wide"]["parameters"] == wide


def test_every_method_stands_in_it_with_as_many_settings_tried():
    assert {row.method for row in CONTESTANTS.values()} == METHODS.keys()
    assert {len(row.tries) for row in CONTESTANTS.values()} == {4}


def test_the_settings_are_those_that_were_best():
    table = measured.load("running-example-tuning")
    assert {name: row.chosen for name, row in CONTESTANTS.items()} == table["summary"]
    for name, row in CONTESTANTS.items():
        own = [one for one in table["rows"] if one["contestant"] == name]
        means = [np.mean([one["nll"] for one in own if one["setting"] == s]) for s in row.tries]
        assert min(means) == means[row.chosen]


def test_tuning_looks_at_other_data():
    ours = {case["data_seed"] for case in EXPERIMENT.cases}
    assert len(ours) >= 20 and SETTINGS["seeds"] >= 5
    assert not ours & {case["data_seed"] for case in TUNING.cases}


@pytest.mark.parametrize("name", CONTESTANTS)
def test_a_row_follows_from_its_arguments_alone(name):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first = example.run(name, 2, **SHORT)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    assert example.run(name, 2, **SHORT) == first
    assert example.run(name, 3, **SHORT) != first
    for place in PLACES:
        rmse = first[place]["rmse"]
        assert len(rmse) == 2 and rmse[0] != rmse[1]


def test_each_draw_of_data_has_seeds_of_its_own(monkeypatch):
    trained, seen = example.trained, []

    def recorded(row, setting, data_seed, seed, *rest):
        seen.append(seed)
        return trained(row, setting, data_seed, seed, *rest)

    monkeypatch.setattr(example, "trained", recorded)
    for data_seed in range(3):
        example.run("single", data_seed, **SHORT)
    assert len(set(seen)) == len(seen) == 6


def test_new_examples_lie_where_they_should():
    x, truth, y = example.new_points(5, 2000)
    (low, high), *_ = gap.gaps
    inside = (x > low) & (x < high)
    assert not inside[:2000].any() and inside[2000:].all()
    np.testing.assert_array_equal(truth, gap.truth(x))
    assert np.std(y - truth) == pytest.approx(gap.noise, rel=0.05)
    train = gap.sample(np.random.default_rng(5))[0]
    assert not np.isin(train, x).any()


def test_a_reduced_run_agrees_with_the_table():
    name = "deep_ensemble"
    row = measured.row(measured.load("running-example")["rows"], contestant=name, data_seed=0)
    found = example.run(name, 0, **SETTINGS | {"seeds": 1})
    for place in PLACES:
        for score, values in found[place].items():
            # To the digits of the table, and what other processors add.
            assert row[place][score][0] == pytest.approx(values[0], rel=2e-3, abs=2e-3)


def test_the_summary_is_of_pairs():
    table = measured.load("running-example")
    by = {
        (row["contestant"], row["data_seed"]): np.mean(row["gap"]["nll"]) for row in table["rows"]
    }
    seeds = sorted({seed for _, seed in by})
    pairs = np.array([by["deep_ensemble", seed] - by["single", seed] for seed in seeds])
    expected = uncertainty.paired(pairs)
    found = measured.row(table["summary"], contestant="deep_ensemble", place="gap", score="nll")
    assert found["difference"] == pytest.approx(expected.mean, rel=1e-3)
    assert found["low"] == pytest.approx(expected.low, rel=1e-3)
    assert found["high"] == pytest.approx(expected.high, rel=1e-3)


@pytest.mark.bad_input
def test_an_unknown_contestant_is_named():
    with pytest.raises(ValueError, match=r"contestant must be one of 'single', .*'two'"):
        example.run("two", 0, **SHORT)


def test_members_from_one_start_stay_one_function(monkeypatch):
    monkeypatch.setitem(example.SETTINGS, "epochs", 7)
    net = example.deep_ensemble(3, same_start=True)
    x = torch.linspace(-4, 4, 7, dtype=torch.float64)[:, None]
    first, *others = net(x)
    assert all(torch.allclose(other, first, rtol=0, atol=1e-12) for other in others)


def test_the_typical_start_errs_as_one_network_does_on_average():
    x, truth, _ = example.new_points(0, 400)
    first = example.deep_ensemble(8)(torch.from_numpy(x))[0].detach().numpy()
    error = np.sqrt(np.mean((first - truth)[400:] ** 2))
    assert error == pytest.approx(example.summary_row("single", "gap", "rmse")["mean"], rel=0.1)


def test_a_deep_ensemble_of_four_is_the_contestant(monkeypatch):
    monkeypatch.setitem(example.SETTINGS, "epochs", 7)
    ours = example.deep_ensemble(4)
    row = CONTESTANTS["deep_ensemble"]
    theirs = example.trained(row, row.setting, 0, example.TYPICAL, 7, SETTINGS["batch_size"])
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_curve_with_the_noise_alone_has_the_nll_of_its_squared_error():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((1, 200_000, 1))
    curve = truth + 0.3
    y = truth[0] + gap.noise * rng.standard_normal(truth[0].shape)
    found = example.score(curve, truth[0], y)
    noise = math.log(gap.noise * math.sqrt(2 * math.pi)) + 0.5
    expected = noise + found["rmse"] ** 2 / (2 * gap.noise**2)
    assert found["nll"] == pytest.approx(expected, abs=0.05)


def test_an_unknown_place_is_named():
    with pytest.raises(ValueError, match="place must be"):
        example.summary_row("single", "hole", "nll")


def test_the_same_start_is_that_of_the_first(monkeypatch):
    monkeypatch.setattr(example, "_train", lambda *arguments: None)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    same, different = example.deep_ensemble(3, same_start=True), example.deep_ensemble(3)
    assert torch.equal(torch.get_rng_state(), before)
    for one, other in zip(same.parameters(), different.parameters(), strict=True):
        assert torch.equal(one, other[:1].expand_as(other))


def test_training_leaves_the_threads_as_they_were(monkeypatch):
    monkeypatch.setattr(example, "fit", lambda *given, **named: None)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    numbers = []
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    example.deep_ensemble(2)
    assert numbers == [1, 2]
