"""What a contestant trains: its epochs, networks, SWAG's Gaussian, scikit-learn's models, MIMO."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from torch import nn
from torch.nn.utils import parameters_to_vector

from ensedu import counting, uncertainty
from ensedu.contest import FURTHER
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.jobs import LENGTH_FRACTIONS
from ensedu.contest.trainers import mimo, networks, swag
from ensedu.torch import predict
from ensedu.torch.models import lenet5
from tests.contest import small

OWN = [name for name, row in CONTESTANTS.items() if row.train is networks.train_network]


@pytest.mark.parametrize("make", [small.task, small.images])
def test_one_larger_network_has_as_many_parameters_as_the_ensemble(make):
    task = make()
    wide, deep, one = (
        counting.count(networks.network(small.job(task, CONTESTANTS[name]))).total
        for name in ("wide", "deep_ensemble", "single")
    )
    assert deep == 4 * one
    assert wide == pytest.approx(deep, rel=0.02)


def test_half_the_width_is_half_of_each_hidden_layer():
    half = replace(CONTESTANTS["deep_ensemble"], width_scale=0.5)
    net = networks.network(small.job(small.task(hidden=(14, 22)), half))
    assert [part.out_features for part in net if hasattr(part, "out_features")] == [7, 11, 2]


def test_dropout_stands_behind_each_relu_and_drops_channels_of_images():
    net = networks.with_dropout(lenet5(), 0.3)
    follows = [type(net[i + 1]) for i, part in enumerate(net) if isinstance(part, nn.ReLU)]
    assert follows == [nn.Dropout2d, nn.Dropout2d, nn.Dropout, nn.Dropout]


@pytest.mark.parametrize(
    ("name", "make"),
    [(name, small.task) for name in OWN]
    + [(name, lambda: small.task(classes=True)) for name in ("single", "rank1")]
    # Each way in which LeNet-5 becomes one of them.
    + [(name, small.images) for name in ("wide", "batch_ensemble", "mc_dropout", "last_layer")],
)
def test_a_network_trains_and_repeats_its_forecast(name, make):
    task = make()
    job = small.job(task, CONTESTANTS[name], epochs=1)
    first, again = (networks.train_network(job) for _ in range(2))
    x = job.data.test[0]
    one, other, anew = first(x), first(x), again(x)
    parts = ["logits"] if task.num_classes else ["mean", "variance"]
    for part in parts:
        found = getattr(one, part)
        members = 4 if name in ("deep_ensemble", "batch_ensemble", "last_layer") else 1
        drawn = name in ("rank1", "mean_field", "mc_dropout")
        assert found.shape == (32 if drawn else members, len(x), task.num_classes or 1)
        np.testing.assert_array_equal(found, getattr(other, part))
        np.testing.assert_array_equal(found, getattr(anew, part))
    slow = replace(job, setting=job.setting | {"lr": 1e-9})
    assert not np.allclose(getattr(networks.train_network(slow)(x), parts[0]), found, atol=1e-4)


def test_the_forecast_is_the_networks_own_outputs():
    job = small.job(small.task(), CONTESTANTS["deep_ensemble"])
    found = networks.train_network(job)
    x = job.data.test[0]
    out = predict(found.net, torch.from_numpy(x).float()).double().numpy()
    np.testing.assert_array_equal(found(x).mean, uncertainty.gaussian_heads(out)[0])
    assert found.num_stored == counting.count(found.net).total


@pytest.mark.parametrize("epochs", [2, 3])
def test_the_rate_falls_to_0_as_a_cosine_over_its_own_epochs(epochs, monkeypatch):
    job = small.job(small.task(steps=12), CONTESTANTS["single"], epochs=epochs)
    every = epochs * math.ceil(len(job.data.fit[0]) / 17)
    rates, step = [], torch.optim.AdamW.step

    def spied(self, *args, **options):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", spied)
    networks.train_network(job)
    rate = job.setting["lr"]
    expected = [rate / 2 * (1 + math.cos(math.pi * i / every)) for i in range(every)]
    np.testing.assert_allclose(rates, expected, rtol=1e-9)


def test_dropout_draws_a_mask_an_example_in_training_and_a_pass_in_prediction(monkeypatch):
    masks, dropout = [], torch.nn.functional.dropout

    def spied(x, *args, **options):
        found = dropout(torch.ones_like(x), *args, **options)
        masks.append((found > 0).sum(1).unique().numel())
        return dropout(x, *args, **options)

    monkeypatch.setattr(torch.nn.functional, "dropout", spied)
    job = small.job(small.task(hidden=(97, 89)), CONTESTANTS["mc_dropout"], epochs=1)
    found = networks.train_network(job)
    assert masks and min(masks) > 1  # rows drop other units, and so many others
    x = np.repeat(job.data.test[0][:1], 11, axis=0)
    mean = found(x).mean
    np.testing.assert_allclose(mean, np.repeat(mean[:, :1], 11, axis=1), atol=1e-5)
    assert np.ptp(mean, axis=0).min() > 0.01


TASK = small.task()
JOB = small.job(TASK, CONTESTANTS["single"])


@given(st.integers(1, 1000))
def test_lengths_are_parts_of_the_epochs_and_rise_to_all_of_them(epochs):
    found = replace(CONTESTANTS["single"], epochs=lambda _: epochs).lengths(TASK)
    assert found == sorted(set(found)) and found[0] >= 1 and found[-1] == epochs
    wanted = [part * epochs for part in LENGTH_FRACTIONS]
    assert all(min(abs(one - own) for own in found) <= 0.5 or one < 0.5 for one in wanted)


def test_one_network_may_train_four_times_as_long():
    long = replace(CONTESTANTS["long"], epochs=lambda _: 100)
    assert long.lengths(TASK) == [12, 35, 100, 400]


def test_few_rows_to_fit_on_are_one_batch():
    job = small.job(small.task(batch_size=97), CONTESTANTS["single"], epochs=3)
    rows = len(job.data.fit[0])
    assert rows < 97 and (job.batch_size, job.steps) == (rows, 3)
    assert CONTESTANTS["swag"].train(job)(job.data.test[0]).mean.shape[0] == 32
    assert (JOB.batch_size, JOB.steps) == (17, JOB.epochs * -(-rows // 17))


def test_draws_have_the_mean_and_covariance_of_the_paper():
    """Half of the diagonal of what was seen, and half of its sample covariance."""
    seen = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(1)
    drawn = torch.stack([swag.draw_weights(seen, generator) for _ in range(4_000)])
    expected = 0.5 * torch.diag(seen.var(0, correction=0)) + 0.5 * torch.cov(seen.T)
    assert torch.allclose(drawn.mean(0), seen.mean(0), atol=0.06)
    assert torch.allclose(torch.cov(drawn.T), expected, atol=0.1)


def test_of_one_look_it_is_the_network():
    seen = torch.arange(7.0)[None]
    assert torch.equal(swag.draw_weights(seen, torch.Generator()), seen[0])


def test_it_looks_at_the_last_third_of_the_steps_of_one_network(monkeypatch):
    monkeypatch.setattr(swag, "SNAPSHOTS", 4)
    job = small.job(small.task(steps=36), CONTESTANTS["swag"])
    assert job.epochs * 4 == 36 and swag.steps_to_see(job) == {24, 28, 32, 36}
    found = swag.train_swag(job)
    single = networks.train_network(small.job(job.task, CONTESTANTS["single"]))
    assert torch.equal(found.seen[-1], parameters_to_vector(single.net.parameters()))
    assert len(found.seen) == 4 and found.num_stored == 6 * len(found.seen[0])
    assert all(not torch.equal(a, b) for a, b in pairwise(found.seen))


def test_a_forecast_repeats_and_leaves_the_network_as_it_is():
    job = small.job(small.task(classes=True, steps=20), CONTESTANTS["swag"])
    found = swag.train_swag(job)
    before = parameters_to_vector(found.net.parameters()).detach().clone()
    one, other = (found(job.data.test[0]).logits for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert len(one) == 32 and np.ptp(one, axis=0).max() > 0
    assert torch.equal(parameters_to_vector(found.net.parameters()), before)


def model(name, job):
    """The same model, asked for by hand."""
    if name == "linear":
        weight = job.setting["penalty"]
        if job.task.num_classes:
            return LogisticRegression(C=1 / weight, max_iter=300)
        return Ridge(weight)
    kind = HistGradientBoostingClassifier if job.task.num_classes else HistGradientBoostingRegressor
    return kind(
        learning_rate=job.setting["lr"], l2_regularization=job.setting["l2"], max_iter=job.epochs,
        early_stopping=False,
    )  # fmt: skip


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("name", ["boosting", "linear"])
def test_it_is_the_model_of_scikit_learn(name, classes):
    row = CONTESTANTS[name]
    job = small.job(small.task(classes=classes), row, 2, epochs=7 if name == "boosting" else None)
    found = row.train(job)(job.data.test[0])
    x, y = job.data.fit
    own = model(name, job).fit(x, y.ravel())
    if classes:
        np.testing.assert_allclose(found.averaged, own.predict_proba(job.data.test[0]), atol=1e-5)
        return
    np.testing.assert_allclose(found.mean[0, :, 0], own.predict(job.data.test[0]), rtol=1e-9)
    known, selected = own.predict(job.data.select[0]), job.data.select[1][:, 0]
    assert found.variance == pytest.approx(((known - selected) ** 2).mean())


def test_a_class_that_no_row_to_fit_on_has_is_possible():
    row = CONTESTANTS["linear"]
    task = small.task(classes=True)
    job = small.job(task, row)
    x, y = job.data.fit
    y[y == 3] = 2
    p = row.train(job)(x).averaged
    assert p.shape == (len(x), small.k)
    assert 0 < p[:, 3].max() < 2e-6


MIMO = FURTHER["mimo"]
M, B, m, k = 3, 11, 2, 5


class Seeing(nn.Linear):
    """A linear layer that keeps what it was given last."""

    def forward(self, x):
        self.rows = x
        return super().forward(x)


def net_and_inputs():
    torch.manual_seed(0)
    return mimo.Mimo(Seeing(M * m, M * k), M), torch.randn(B, m)


def test_heads_of_mimo_for_a_batch_are_those_of_each_example_repeated():
    net, x = net_and_inputs()
    found = net.eval()(x)
    assert found.shape == (M, B, k)
    for b in range(B):
        row = net.net.weight @ torch.cat([x[b]] * M) + net.net.bias
        for i in range(M):
            torch.testing.assert_close(found[i, b], row[i * k : (i + 1) * k])


def test_training_mimo_shuffles_for_each_member_and_answers_in_order():
    net, x = net_and_inputs()
    orders = []
    for _ in range(7):
        found = net.train()(x)
        for i in range(M):
            order = []
            for row in net.net.rows:
                (b,) = torch.nonzero((x == row[i * m : (i + 1) * m]).all(1)).flatten()
                out = net.net.weight @ row + net.net.bias
                torch.testing.assert_close(found[i, b], out[i * k : (i + 1) * k])
                order.append(b.item())
            assert sorted(order) == [*range(B)]
            orders.append(tuple(order))
    assert len({*orders}) == 7 * (M - 1) + 1  # the first stays as it came


@pytest.mark.parametrize("classes", [False, True])
def test_with_one_member_mimo_is_one_network(classes):
    task = small.task(classes=classes)
    found = mimo.train_mimo(small.job(task, MIMO), members=1)
    single = networks.train_network(small.job(task, CONTESTANTS["single"]))
    x, part = small.job(task, MIMO).data.test[0], "logits" if classes else "mean"
    np.testing.assert_array_equal(getattr(found(x), part), getattr(single(x), part))
    assert found.num_stored == single.num_stored


@pytest.mark.parametrize("classes", [False, True])
def test_a_forecast_of_mimo_is_the_mixture_of_its_heads(classes):
    job = small.job(small.task(classes=classes), MIMO)
    trained = MIMO.train(job)
    x = job.data.test[0]
    with torch.no_grad():
        out = trained.net.net(torch.from_numpy(np.tile(x, 4)).float()).double().numpy()
    out, found = np.stack(np.split(out, 4, axis=1)), trained(x)
    if classes:
        p = uncertainty.softmax(out).mean(axis=0)
        np.testing.assert_allclose(found.averaged, p, rtol=1e-5)
    else:
        np.testing.assert_allclose(found.mean, uncertainty.gaussian_heads(out)[0], atol=1e-5)
    inputs, outputs = x.shape[1], small.k if classes else 2
    assert trained.num_stored == (4 * inputs + 1) * 7 + 8 * 5 + 6 * 4 * outputs  # layers of 7 and 5
    part = "logits" if classes else "mean"
    np.testing.assert_array_equal(getattr(MIMO.train(job)(x), part), getattr(found, part))


def test_images_and_numbers_that_are_no_members_are_named():
    with pytest.raises(ValueError, match="hidden must be a tuple of sizes for MIMO, got 'lenet'"):
        MIMO.train(small.job(small.images(), MIMO))
    with pytest.raises(ValueError, match="members must be a positive integer, got 0"):
        mimo.train_mimo(small.job(small.task(), MIMO), members=0)
