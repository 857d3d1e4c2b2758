"""Bayesian LeNet-5: what its estimators draw alike and what not, and the tables of the chapter."""

import itertools
import math

import numpy as np
import pytest
import torch

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import bayesian_cnn as cnn
from ensedu.book.experiments.bayesian_cnn import (
    BAYESIAN,
    BY_WEIGHTS,
    EXPERIMENT,
    KEYS,
    LAYERS,
    MEMBERS,
    SCORES,
    STUCK,
    probabilities,
    run,
)
from ensedu.torch import MeanFieldConv2d, kl

SHORT = EXPERIMENT.settings | {
    "epochs": 1, "train": 100, "test": 20, "draws": 3, "samples": [1, 2, 4], "noise": 5, "seen": 10,
    "seen_draws": 2, "every": 1, "few": 11, "few_draws": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def single():
    return run("single", 0, **SHORT)


@pytest.fixture(scope="module")
def wide():
    return run("wide", 0, **SHORT)


def untrained(contestant="wide", split=0):
    torch.manual_seed(split)
    return cnn.network(contestant)


def test_a_short_run_has_its_keys_and_repeats(wide):
    found = run("wide", 0, **SHORT)
    assert found == wide
    assert set(wide) == {*KEYS, "by_epoch", "ensemble"}
    for name in (*SCORES, *(name + BY_WEIGHTS for name in SCORES)):
        values = wide[name].values() if name.startswith("auroc") else [wide[name]]
        assert all(len(value) == 1 for value in values), name
    assert len(wide["error_by_samples"]) == len(wide["nll_by_samples"]) == 3
    assert wide["by_epoch"]["epoch"] == [0, 1]
    assert list(wide["by_epoch"]["sigma"]) == list(LAYERS.values())
    assert wide["by_epoch"]["sigma"]["conv1"][0] == pytest.approx(0.01, rel=1e-4)
    assert wide["elbo"][0] == pytest.approx(-wide["train_nll"][0] - wide["kl"][0])


def test_all_contestants_have_the_same_keys(single, wide):
    assert set(single) == set(wide)
    assert single["nll_by_weights"] == single["nll_by_samples"] is None
    assert wide["ensemble"] is None


def test_the_deep_ensemble_is_the_four_starts_together(single):
    data, test = cnn.split_digits(0)
    data, test = (data[0][:100], data[1][:100]), (test[0][:20], test[1][:20])
    members = []
    for start in range(MEMBERS):
        net = cnn.trained("single", 0, start, 1, SHORT["batch_size"], data)
        with torch.no_grad():
            members.append(net(test[0]).double().softmax(-1).numpy())
    each = [-np.log(p[np.arange(20), test[1]]).mean() for p in members]
    np.testing.assert_allclose(single["nll"], each, rtol=1e-6)
    assert len({round(value, 6) for value in each}) == MEMBERS
    average = np.mean(members, axis=0)
    assert single["ensemble"]["nll"] == pytest.approx(
        -np.log(average[np.arange(20), test[1]]).mean(), rel=1e-6
    )
    wrong = average.argmax(1) != test[1].numpy()
    assert single["ensemble"]["error"] == pytest.approx(100 * wrong.mean())
    assert single["ensemble"]["mutual"] > single["mutual"][0] == 0


def test_starts_differ_on_every_split():
    nets = {}
    for split, start in itertools.product(range(3), range(2)):
        net = cnn.trained("single", split, start, 0, 100, cnn.split_digits(split)[0])
        nets[split, start] = float(next(net.parameters()).detach().sum())
    assert len(set(nets.values())) == len(nets)
    # A Bayesian net starts where the plain one does.
    net = cnn.trained("wide", 2, 0, 0, 100, cnn.split_digits(2)[0])
    assert float(cnn.layers(net)["conv1"].weight_mean.detach().sum()) == pytest.approx(
        nets[2, 0], rel=1e-6
    )


def test_without_spread_both_estimators_are_the_plain_net():
    net, x = untrained(), cnn.split_digits(0)[1][0][:7]
    with torch.no_grad():
        for part in cnn.layers(net).values():
            part.weight_rho.fill_(-math.inf)
            part.bias_rho.fill_(-math.inf)
    own, by_weights = (probabilities(net, x, 2, name) for name in (None, "weights"))
    np.testing.assert_allclose(own, by_weights, rtol=0, atol=1e-6)
    with torch.no_grad():
        plain = untrained("single")(x).double().softmax(-1).numpy()
    np.testing.assert_allclose(own[0], plain, rtol=0, atol=1e-6)


def test_an_estimator_is_set_for_a_while():
    net, x = untrained(), cnn.split_digits(0)[1][0][:7]
    own = probabilities(net, x, 2)
    assert not np.allclose(own, probabilities(net, x, 2, "weights"))
    np.testing.assert_array_equal(own, probabilities(net, x, 2))
    np.testing.assert_array_equal(own, probabilities(net, x, 5)[:2])
    assert {part.estimator for part in cnn.layers(net).values()} == {"local"}


@pytest.mark.parametrize("estimator", ["weights", "local", "flipout"])
def test_positions_are_drawn_alike_alone_and_only_local_tears_them_apart(estimator):
    torch.manual_seed(0)
    layer = MeanFieldConv2d(2, 3, 3, posterior_std=0.3, estimator=estimator, dtype=torch.float64)
    with torch.no_grad():
        layer.weight_rho += torch.randn(3, 2, 3, 3)
        layer.bias_rho += torch.randn(3)
    x, S = torch.randn(2, 4, 5, dtype=torch.float64), 5_000
    with torch.no_grad():
        y = layer(x.expand(S, 1, 2, 4, 5))[:, 0].flatten(2).numpy()  # (S, 3, 6), 2 x 3 positions
    mean, std = (array.detach().numpy() for array in (layer.weight_mean, layer.weight_rho))
    std = np.log1p(np.exp(std))
    bias, bias_std = layer.bias_mean.detach().numpy(), layer.bias_rho.detach().numpy()
    windows = [x.numpy()[:, i : i + 3, j : j + 3] for i in range(2) for j in range(3)]
    for c in range(3):
        wanted = [(mean[c] * window).sum() + bias[c] for window in windows]
        shared = (
            np.array([[(std[c] ** 2 * a * b).sum() for a in windows] for b in windows])
            + np.log1p(np.exp(bias_std[c])) ** 2
        )
        if estimator == "local":
            shared = np.diag(np.diag(shared))
        scale = np.sqrt(np.outer(np.diag(shared), np.diag(shared)))
        np.testing.assert_array_less(
            np.abs(y[:, c].mean(0) - wanted), 5 * np.sqrt(np.diag(shared) / S)
        )
        found = np.cov(y[:, c].T)
        np.testing.assert_array_less(np.abs(found - shared), 5 * math.sqrt(2 / S) * scale)
        torn = (np.abs(found) / scale)[~np.eye(6, dtype=bool)].max()
        assert torn < 0.06 if estimator == "local" else torn > 0.3


def test_by_samples_averages_groups():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(3), size=(5, 7)), torch.from_numpy(rng.integers(3, size=7))
    at = np.arange(7), y.numpy()
    wanted = np.mean([-np.log(p[i : i + 2].mean(0)[at]).mean() for i in (0, 2)])
    assert cnn.by_samples(p, y, 2, cnn.nll) == pytest.approx(wanted)


def test_uncertainties_are_those_of_their_definitions():
    p = np.random.default_rng(1).dirichlet(np.ones(3), size=(5, 7))
    found = cnn.uncertainties(p)
    np.testing.assert_allclose(found["epistemic"], p.var(0).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(found["aleatoric"], (p * (1 - p)).sum(-1).mean(0), rtol=1e-12)
    mean = p.mean(0)
    np.testing.assert_allclose(found["entropy"], -(mean * np.log(mean)).sum(-1), rtol=1e-12)


def test_what_is_foreign_holds_no_twin_of_a_digit():
    found = cnn.foreign(0, 5)
    x, names = cnn.letter_images()
    twins = [names.index(name) for name in cnn.LIKE_DIGITS]
    assert len(found["letters"]) == len(names) - 10 * len(cnn.LIKE_DIGITS) == 390
    for i in twins:
        assert not (found["letters"] == x[i]).all((1, 2, 3)).any()
    assert found["noise"].shape == (5, 1, 28, 28) and 0 <= found["noise"].min()
    assert not torch.equal(found["noise"], cnn.foreign(1, 5)["noise"])


def test_splits_share_no_digit_between_training_and_test():
    train, test = cnn.split_digits(1)
    assert (len(train[1]), len(test[1])) == (4000, 1000)
    assert sorted(cnn.digit_order(1).tolist()) == list(range(5000))


def test_picks_are_the_greatest_and_the_least():
    aleatoric, epistemic = np.array([0.3, 0.1, 0.9, 0.0, 0.2]), np.array([0.1, 0.7, 0.8, 0.0, 0.3])
    assert cnn.extreme_images(aleatoric, epistemic, 1) == [2, 1, 3]


def test_a_short_look_at_images():
    found = cnn.describe_images(0, epochs=0, batch_size=100, train=100, draws=2, shown=1, kept=2)
    digits, letters = found["digits"], found["letters"]
    assert len(digits["index"]) == 1000 and len(letters["index"]) == 520
    for own in (digits, letters):
        assert {len(value) for name, value in own.items() if name != "shown"} == {len(own["index"])}
        assert [np.shape(one["p"]) for one in own["shown"]] == [(2, 10)] * 3
    assert digits["index"] == cnn.digit_order(0)[4000:].tolist()
    assert digits["label"] == cnn.split_digits(0)[1][1].tolist()


# The committed tables.


@pytest.fixture(scope="module")
def table():
    return measured.load("bayesian-cnn")


def test_epochs_are_those_of_the_table(table):
    split = 1
    row = measured.row(table["rows"], contestant="half", split=split)["by_epoch"]
    data, test = cnn.split_digits(split)
    net = cnn.trained("half", split, 0, 3, 100, data)
    p = probabilities(net, test[0][:500], 1)
    assert row["epoch"][1] == 3
    assert cnn.nll(p, test[1][:500]) == pytest.approx(row["nll"][1], rel=0.05)


def test_a_start_is_that_of_the_table(table):
    row = measured.row(table["rows"], contestant="narrow", split=2)
    net = cnn.trained("narrow", 2, 0, 0, 100, cnn.split_digits(2)[0])
    assert row["by_epoch"]["sigma"]["dense2"][0] == pytest.approx(0.01, rel=1e-3)
    with torch.no_grad():
        assert row["kl"][0] < float(kl(net)) / 4000


def test_the_summary_is_that_of_its_rows(table):
    rows = {
        name: [row for row in table["rows"] if row["contestant"] == name]
        for name in ("single", *BAYESIAN)
    }
    nll = {name: np.array([np.mean(row["nll"]) for row in own]) for name, own in rows.items()}
    interval = uncertainty.resampled(nll["wide"] - nll["single"], train=4000, test=1000)
    entry = measured.row(table["summary"]["errors"], contestant="wide", score="nll")
    for name in ("low", "high"):
        assert entry[name] == pytest.approx(getattr(interval, name), rel=1e-3)
    mean = measured.row(table["summary"]["means"], contestant="deep_ensemble")
    wanted = np.mean([row["ensemble"]["error"] for row in rows["single"]])
    assert mean["error"] == pytest.approx(wanted, rel=1e-3)
    assert len(rows[STUCK]) == 3
    both = [row["nll" + BY_WEIGHTS][0] - row["nll"][0] for row in rows["wide"]]
    entry = measured.row(table["summary"]["by_weights"], contestant="wide", score="nll")
    assert entry["difference"] == pytest.approx(np.mean(both), rel=0.02, abs=1e-5)


def test_columns_of_the_table_agree(table):
    for row in table["rows"]:
        epochs = table["settings"]["epochs"] // (2 if row["contestant"] == STUCK else 1)
        assert row["by_epoch"]["epoch"] == list(range(0, epochs + 1, 3))
        if row["contestant"] in BAYESIAN:
            at = table["settings"]["samples"].index(1)
            assert row["nll_by_samples"][at] >= row["nll_by_samples"][-1]
            assert row["elbo"][0] == pytest.approx(-row["train_nll"][0] - row["kl"][0], rel=2e-3)


def test_images_are_those_of_the_table_of_scores(table):
    images = measured.load("bayesian-cnn-images")["rows"][0]
    row = measured.row(table["rows"], contestant="wide", split=0)
    for name in ("aleatoric", "epistemic"):
        for suffix in ("", BY_WEIGHTS):
            mean = np.mean(images["digits"][name + suffix])
            assert mean == pytest.approx(row[name + suffix][0], rel=0.1), name + suffix
