"""Dropout in training and at test time: masks where they belong, and the tables of the chapter."""

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import dropout
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.dropout import (
    CONTESTANTS,
    CURVE,
    PASSES,
    chosen,
    nll,
    nll_by_passes,
    probabilities,
    split_digits,
    with_rate,
)
from ensedu.data import digits
from ensedu.torch import MCDropout, mlp, predict

SHORT = {"starts": 2, "lr": 0.002, "decays": [0.0, 0.3], "rates": [0.5]}


@pytest.fixture(scope="module")
def short():
    """One row of one epoch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(dropout.EPOCHS, 400, 1)
        return dropout.run(400, 0, **SHORT)


def test_parts_of_a_split_have_no_digit_in_common():
    x, _ = digits()
    found = split_digits(400, 3)
    assert [len(labels) for _, labels in found] == [400, 297, 300]
    assert len(np.unique(x, axis=0)) == len(x)
    assert len(np.unique(np.concatenate([part for part, _ in found]), axis=0)) == 997
    assert not np.array_equal(found[2][1], split_digits(400, 4)[2][1])
    more = split_digits(1200, 3)
    assert np.array_equal(more[0][0][:400], found[0][0])
    assert all(np.array_equal(more[i][0], found[i][0]) for i in (1, 2))


def test_masks_stand_behind_each_activation_and_nowhere_else():
    net = mlp((5, 7, 3, 2), "deep_ensemble", 3, dtype=torch.float64)
    x = torch.ones(11, 5, dtype=torch.float64)
    masked = with_rate(net, 0.5)
    names = [type(part).__name__ for part in masked]
    linear = "DeepEnsembleLinear"
    assert names == [linear, "ReLU", "MCDropout", linear, "ReLU", "MCDropout", linear]
    assert [part.p for part in masked if isinstance(part, MCDropout)] == [0.5, 0.5]
    torch.manual_seed(0)
    assert not torch.equal(predict(masked, x), predict(net, x))
    assert torch.equal(predict(with_rate(masked, 0.0), x), predict(net, x))
    # One mask a pass is one function: equal inputs have equal outputs; not with one an example.
    one, other = (predict(with_rate(net, 0.5, per), x, samples=4) for per in (False, True))
    assert (one == one[:, :1]).all()
    assert not (other == other[:, :1]).all()


def test_probabilities_are_those_of_each_network():
    net = mlp(dropout.SIZES, "deep_ensemble", 3, dtype=torch.float64)
    x = np.random.default_rng(0).random((5, 64))
    found = probabilities(net, x, 1, 0)
    assert found.shape == (3, 1, 5, 10)
    own = net(torch.from_numpy(x)).softmax(-1).detach().numpy()
    np.testing.assert_allclose(found[:, 0], own, rtol=1e-12)
    drawn = probabilities(with_rate(net, 0.5), x, 4, 0)
    assert drawn.shape == (3, 4, 5, 10)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        logits = predict(with_rate(net, 0.5), torch.from_numpy(x), samples=4)  # pass after pass
    np.testing.assert_allclose(drawn[1, 2], logits[2 * 3 + 1].softmax(-1).numpy(), rtol=1e-12)


def test_by_passes_averages_over_groups():
    rng = np.random.default_rng(0)
    members = rng.dirichlet(np.ones(3), (64, 5))
    labels = rng.integers(3, size=5)
    found = dict(zip(PASSES, nll_by_passes(members, labels), strict=True))
    of_labels = members[:, np.arange(5), labels]
    assert found[1] == pytest.approx(-np.log(of_labels).mean(), rel=1e-12)
    assert found[64] == pytest.approx(-np.log(of_labels.mean(0)).mean(), rel=1e-12)
    halves = [nll(half, labels) for half in (members[:32], members[32:])]
    assert found[32] == pytest.approx(np.mean(halves), rel=1e-12)
    assert list(found.values()) == sorted(found.values(), reverse=True)  # Jensen


def test_a_row_has_all_scores_of_all_settings(short):
    assert set(short) == {*CONTESTANTS, "by_passes"}
    for name in CONTESTANTS:
        assert set(short[name]) == {"validation", *dropout.SCORES}
        for values in short[name].values():
            settings = 2 if name in ("single", "deep_ensemble") else 1
            assert np.shape(values) == (settings, 2)  # settings, starts
    assert np.shape(short["by_passes"]) == (1, len(PASSES))
    # The average of the members is never worse than they are on average.
    single, ensemble = (np.array(short[name]["nll"]) for name in ("single", "deep_ensemble"))
    assert (ensemble < single).all()


def test_training_sees_neither_validation_nor_test(monkeypatch):
    seen = []

    def fit(net, x, y, *arguments, **options):
        seen.append((x.numpy(), y.numpy(), options["weight_decay"], options["seed"]))

    monkeypatch.setattr(dropout, "fit", fit)
    dropout.run(400, 2, **SHORT | {"rates": [0.1]})
    x, y = split_digits(400, 2)[0]
    assert [row[2:] for row in seen] == [(0.0, 2), (0.3, 2), (0.0, 2)]
    assert all(np.array_equal(row[0], x) and np.array_equal(row[1], y) for row in seen)


def test_a_setting_is_chosen_on_validation_alone():
    row = {
        "off": {"validation": [[3.0, 1.0], [1.0, 2.0], [9.0, 0.0]], "nll": [[0.0], [1.0], [2.0]]}
    }
    assert chosen(row, "off") == 1


def test_the_summary_takes_the_chosen_settings():
    table = measured.load("mc-dropout")
    own = [row for row in table["rows"] if row["train"] == 400]
    assert len(own) == 10
    means = [np.mean(row["off"]["nll"][chosen(row, "off")]) for row in own]
    found = measured.row(table["summary"]["400"]["compared"], contestant="off", score="nll")
    assert found["mean"] == pytest.approx(np.mean(means), rel=1e-3)
    counts = table["summary"]["400"]["chosen"]
    assert all(sum(values) == 10 for values in counts.values())


def test_the_steps_add_up():
    table = measured.load("mc-dropout")
    own = [row for row in table["rows"] if row["train"] == 1200]
    found = {row["step"]: row["difference"] for row in table["summary"]["1200"]["steps"]}
    i = [chosen(row, "mc_dropout") for row in own]
    plain = np.mean([row["single"]["nll"][0] for row in own])
    last = np.mean([row["mc_dropout"]["nll"][k] for row, k in zip(own, i, strict=True)])
    assert found["training"] + found["averaging"] == pytest.approx(last - plain, abs=1e-4)
    tuned = np.mean([row["single"]["nll"][chosen(row, "single")] for row in own])
    assert found["decay"] == pytest.approx(tuned - plain, abs=1e-4)


def test_the_curve_at_the_chosen_rate_is_the_running_example():
    ours = dropout.trained_curve("mc_dropout", 0.05, 60, 3, 2)
    row = example.CONTESTANTS["mc_dropout"]
    other = example.trained(row, row.setting, 3, 3, 2, 20)
    for name, value in other.state_dict().items():
        assert torch.equal(ours.state_dict()[name], value), name


def test_a_short_curve():
    found = dropout.run_curve(
        "mc_dropout", 0.2, 240, 0, **CURVE.settings | {"epochs": 1, "points": 5}
    )
    assert set(found) == set(example.PLACES)
    assert found["gap"]["spread"] > 0


def test_ratios_are_those_of_the_same_data_seed():
    def row(number, seed, spread):
        scores = {"spread": spread, "nll": 0.0}
        key = {"method": "mc_dropout", "p": 0.2, "number": number, "data_seed": seed}
        return key | {"regions": scores, "gap": scores}

    rows = [row(60, 0, 1.0), row(60, 1, 2.0), row(240, 0, 0.5), row(240, 1, 3.0)]
    few, more = dropout.summarize_curve(rows)
    assert "ratio" not in few
    assert few["gap"]["spread"] == 1.5
    assert more["ratio"] == pytest.approx((0.5 + 1.5) / 2)
    assert more["low"] < 0.5 < 1.5 < more["high"]
