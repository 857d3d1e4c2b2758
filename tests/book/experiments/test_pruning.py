"""Pruned networks: what is cut is 0 in every draw, and the tables that the chapter reads."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from ensedu.book import measured
from ensedu.book.experiments import pruning
from ensedu.book.experiments.pruning import (
    BETAS,
    CONTESTANTS,
    EXPERIMENT,
    LEVELS,
    LR,
    PRIORS,
    SIZES,
    TUNING,
    pruned_copy,
    scores,
    trained,
)
from ensedu.torch import mlp

SMALL = (5, 7, 3)
ROWS = measured.load("pruning")["rows"]


def mean_field():
    torch.manual_seed(0)
    net = mlp(SMALL, "mean_field", posterior_std=0.3, estimator="local")
    with torch.no_grad():
        next(iter(drawn(net).values())).weight_rho += torch.randn(7, 5)
    return net


def masks_of(net):
    rng = np.random.default_rng(0)
    return {name: rng.random(part.weight_mean.shape) < 0.4 for name, part in drawn(net).items()}


def drawn(net):
    return {name: part for name, part in net.named_children() if hasattr(part, "weight_mean")}


def test_what_is_cut_is_0_in_every_draw():
    net = mean_field()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    masks = masks_of(net)
    for name, part in drawn(pruned_copy(net, masks)).items():
        draws = torch.stack([part.stored_weights()[0] for _ in range(5)]).detach().numpy()
        assert (draws[:, ~masks[name]] == 0).all()
        assert (draws[:, masks[name]].std(axis=0) > 0).all()
        np.testing.assert_array_equal(
            part.weight_mean.detach()[torch.from_numpy(masks[name])],
            before[f"{name}.weight_mean"][torch.from_numpy(masks[name])],
        )
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_outputs_are_drawn_as_weights_would_be():
    net, x = mean_field(), torch.randn(11, 5)
    masks = masks_of(net)
    name, layer = next(iter(drawn(pruned_copy(net, masks)).items()))
    noise = torch.randn(7, 11, 7)
    mean, std = (
        value.detach().numpy()
        for value in (layer.weight_mean, torch.nn.functional.softplus(layer.weight_rho))
    )
    np.testing.assert_array_equal(std > 0, masks[name])
    bias_std = torch.nn.functional.softplus(layer.bias_rho).detach().numpy()
    wanted = x.numpy() @ mean.T + layer.bias_mean.detach().numpy()
    spread = np.sqrt(x.numpy() ** 2 @ (std**2).T + bias_std**2)
    found = layer(x.expand(7, 11, 5), {"output": noise}).detach().numpy()
    np.testing.assert_allclose(found, wanted + spread * noise.numpy(), rtol=0, atol=1e-5)


def test_without_noise_means_remain():
    net, x = mean_field(), torch.randn(11, 5)
    first, last = drawn(net).values()
    hidden = (x @ first.weight_mean.T + first.bias_mean).relu()
    wanted = hidden @ last.weight_mean.T + last.bias_mean
    assert torch.allclose(pruned_copy(net, noise=False)(x)[0], wanted, rtol=0, atol=1e-6)
    net = mlp(SMALL, "mc_dropout", p=0.5)
    first, last = (part for part in net if hasattr(part, "weight"))
    wanted = last(first(x).relu())
    assert torch.allclose(pruned_copy(net, noise=False)(x)[0], wanted, rtol=0, atol=1e-6)


def test_scores_are_those_of_the_weights():
    net = mean_field()
    ratio, size = scores(net), scores(net, by_size=True)
    for name, part in drawn(net).items():
        mean = part.weight_mean.detach().double()
        std = torch.log1p(part.weight_rho.detach().double().exp())
        np.testing.assert_allclose(ratio[name], (mean.abs() / std).numpy(), rtol=1e-12)
        np.testing.assert_array_equal(size[name], mean.abs().numpy())
    net = mlp(SMALL)
    assert scores(net)["0"].shape == (7, 5)
    np.testing.assert_array_equal(scores(net)["2"], net[2].weight.detach().abs().numpy())


def test_a_short_run(monkeypatch):
    train, (x, y) = pruning.split_digits(0)
    monkeypatch.setattr(pruning, "split_digits", lambda split: (train, (x[:50], y[:50])))
    found = pruning.run("narrow", 0.1, 0, epochs=1, batch_size=1000, draws=1)
    assert len(found["error"]) == len(found["at_means"]) == len(found["by_size"]) == len(LEVELS)
    assert found["error"][0] == found["by_size"][0] == found["by_epoch"][-1]
    assert len(found["by_epoch"]) == len(found["kl"]) == 1
    assert 0 < found["signal_to_noise"] < 1


def test_an_epoch_is_that_of_the_table():
    row = measured.row(ROWS, contestant="narrow", beta=0.1, split=3)
    settings = EXPERIMENT.settings | {"epochs": 1}
    found = trained("narrow", 0.1, 3, LR["narrow"], **settings)[1]
    assert found["train_nll"][0] == pytest.approx(row["train_nll"][0], rel=0.02)
    assert found["by_epoch"][0] == pytest.approx(row["by_epoch"][0], abs=2.0)


def test_counts_of_the_table_are_exact():
    total = sum(m * n for m, n in pairwise(SIZES))
    assert total == 477_600
    for row in ROWS:
        assert row["total"] == total
        assert row["left"] == [total - total * level // 100 for level in LEVELS]


def test_columns_of_the_table_agree():
    for row in ROWS:
        assert row["error"][0] == row["by_size"][0] == row["by_epoch"][-1]
        assert len(row["by_epoch"]) == EXPERIMENT.settings["epochs"]
        if row["contestant"] == "single":
            assert row["error"] == row["at_means"]
        assert (row["contestant"] in PRIORS) == (row["beta"] in BETAS)


def test_learning_rates_are_those_chosen():
    assert measured.load("pruning-tuning")["summary"] == LR
    assert TUNING.settings["split"] not in {case["split"] for case in EXPERIMENT.cases}


def test_splits_share_no_digit_between_training_and_test():
    for split in (0, 1):
        train, test = pruning.split_digits(split)
        assert len(train[1]) == 4000 and len(test[1]) == 1000
    both = torch.cat([train[0], test[0]])
    assert len(both.unique(dim=0)) == len(both)


def test_the_summary_is_a_mean_over_splits():
    entry = measured.row(measured.load("pruning")["summary"], contestant="wide", beta=1.0)
    own = [row for row in ROWS if (row["contestant"], row["beta"]) == ("wide", 1.0)]
    np.testing.assert_allclose(
        entry["error"], np.mean([row["error"] for row in own], axis=0), rtol=1e-3
    )
    assert entry["error_range"][1][3] == max(row["error"][3] for row in own)
    assert set(CONTESTANTS) == {row["contestant"] for row in ROWS}
