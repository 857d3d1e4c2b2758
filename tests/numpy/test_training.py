"""The training loop in NumPy against a loop written out here, and against the one in Torch."""

import copy

import numpy as np
import pytest
import torch

import ensedu.numpy as en
import ensedu.torch as et
from ensedu.methods import METHODS, size_option

M, N, B, m, n = 3, 22, 6, 5, 7
STEPS = 4  # of an epoch: 6 + 6 + 6 + 4 examples


def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, m)), np.arange(N) % 2


def network(method, seed=5, **options):
    rng = np.random.default_rng(seed)
    return en.mlp([m, n, 2], method, rng=rng, **size_option(method, M), **options)


def rng(seed=11):
    return np.random.default_rng(seed)


def same_parameters(one, other):
    return one.params.keys() == other.params.keys() and all(
        np.array_equal(one.params[name], other.params[name]) for name in one.params
    )


@pytest.mark.parametrize("method", METHODS)
def test_it_is_the_loop_written_out(method):
    x, y = data()
    net = network(method)
    other, shuffle = copy.deepcopy(net), rng()  # with a copy of its source of noise
    net.backward(np.ones_like(net(x)))  # of gradients that were there before nothing counts
    other.noise(None, x.shape)  # that pass drew
    history = en.fit(
        net, x, y, en.softmax_cross_entropy, rng=rng(), epochs=3, batch_size=B, lr=0.02,
        kl=en.KLWeight(0.8, anneal=2),
    )  # fmt: skip
    optimizer, step = en.Adam(other, lr=0.02), 0
    for row in history:
        order, sums = shuffle.permutation(N), np.zeros(3)
        for start in range(0, N, B):
            examples = order[start : start + B]
            step += 1
            weight = 0.8 * min(1.0, step / (2 * STEPS))
            nll, grad = en.softmax_cross_entropy(other(x[examples]), y[examples])
            kl = en.kl(other)
            other.backward(grad)
            en.kl_backward(other, weight / N)
            optimizer.step()
            sums += len(examples) * np.array([nll + weight / N * kl, nll, kl])
        assert (row["epoch"], row["step"]) == (step // STEPS, step)
        assert row["beta"] == pytest.approx(weight, rel=1e-15)
        assert [row[key] for key in ("loss", "nll", "kl")] == pytest.approx(sums / N, rel=1e-14)
    assert same_parameters(net, other)
    assert len(history) == 3
    assert not net.grads


def repeat_draws(kind, monkeypatch):
    """Let a layer draw the same numbers each time, in NumPy and in Torch."""

    def number(value):
        size = int(np.prod(value.shape))
        numbers = np.cos(1.0 + np.arange(size)).reshape(value.shape)
        numbers = numbers > -0.5 if "bool" in str(value.dtype) else numbers
        return torch.from_numpy(numbers) if isinstance(value, torch.Tensor) else numbers

    drawn = kind.noise

    def noise(self, *args, **kwargs):
        return {key: number(value) for key, value in drawn(self, *args, **kwargs).items()}

    monkeypatch.setattr(kind, "noise", noise)


@pytest.mark.large
@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
@pytest.mark.parametrize("method", METHODS)
def test_it_trains_as_torch_does(monkeypatch, method, optimizer):
    for space in (en, et):
        for kind in (space.Rank1Linear, space.MeanFieldLinear, space.MCDropout):
            repeat_draws(kind, monkeypatch)
    spread = {"posterior_std": 0.4} if method in ("rank1", "mean_field") else {}
    net = network(method, **spread)
    twin = et.from_numpy(net)
    x, y = data()
    held = x[:9] + 0.5, y[:9]
    settings = {"epochs": 12, "batch_size": N, "lr": 0.05, "kl": en.KLWeight(0.8, 5)}
    rows = en.fit(
        net, x, y, en.softmax_cross_entropy, rng=rng(), validation=held,
        optimizer=getattr(en, optimizer), **settings,
    )  # fmt: skip
    tensors = tuple(map(torch.from_numpy, (x, y))), tuple(map(torch.from_numpy, held))
    expected = et.fit(
        twin, *tensors[0], et.softmax_cross_entropy, validation=tensors[1],
        optimizer=getattr(torch.optim, optimizer), member_gradient_factor=1.0, **settings,
    )  # fmt: skip
    back = et.to_numpy(twin, rng=rng())
    for name, value in net.params.items():
        np.testing.assert_allclose(value, back.params[name], rtol=1e-10, atol=1e-10, err_msg=name)
    for row, other in zip(rows, expected, strict=True):
        assert row == pytest.approx(other, rel=1e-10, abs=1e-12)
    assert rows[-1]["nll"] < rows[0]["nll"]
    assert (rows[0]["kl"] > 0) == (method in ("rank1", "mean_field"))


@pytest.mark.parametrize("number", [18, 20, 22])
def test_members_that_split_see_different_examples(number):
    x, seen, found = rng().standard_normal((number, m)), [], []

    def loss(outputs, targets):
        assert outputs.shape[:2] == targets.shape
        seen.append(targets)
        nll, grad = en.softmax_cross_entropy(outputs, targets % 2)
        found.append(nll)
        return nll, grad

    net = network("batch_ensemble")
    history = en.fit(net, x, np.arange(number), loss, rng=rng(), epochs=1, batch_size=B, split=True)
    order = rng().permutation(number)
    for i, rows in enumerate(seen):
        whole = order[i * B : (i + 1) * B]
        np.testing.assert_array_equal(rows, whole[: len(whole) // M * M].reshape(M, -1))
    sizes = [rows.size for rows in seen]
    assert sum(sizes) == (18 if number == 20 else number // M * M)
    assert history[0]["nll"] == pytest.approx(np.average(found, weights=sizes), rel=1e-14)


@pytest.mark.parametrize("split", [False, True])
def test_a_deep_ensemble_trains_as_networks_alone(split):
    net = network("deep_ensemble")
    alone = [network("single") for _ in range(M)]
    for i, one in enumerate(alone):
        for name, value in one.params.items():
            value[...] = net.params[name][i]
    x, y = data()[0], rng(1).standard_normal((N, 2))

    def total(outputs, targets):
        return en.half_squared_error(outputs, targets, reduction="sum")

    en.fit(net, x, y, total, rng=rng(), epochs=4, batch_size=B, lr=0.02, split=split)
    for i, one in enumerate(alone):
        shuffle, optimizer = rng(), en.Adam(one, lr=0.02)
        for _ in range(4):
            order = shuffle.permutation(N)
            for start in range(0, N, B):
                rows = order[start : start + B]
                own = rows[: len(rows) // M * M].reshape(M, -1)[i] if split else rows
                one.backward(en.half_squared_error(one(x[own]), y[own])[1])
                optimizer.step()
        for name, value in one.params.items():
            np.testing.assert_allclose(net.params[name][i], value, rtol=1e-12, atol=1e-12)


def test_targets_without_an_axis_are_split_too():
    x, y = data()[0], rng(1).standard_normal(N)
    nets = [en.mlp([m, n, 1], "batch_ensemble", M, rng=rng()) for _ in range(2)]
    for net, targets in zip(nets, (y, y[:, None]), strict=True):
        en.fit(
            net, x, targets, en.half_squared_error, rng=rng(), epochs=2, batch_size=B, split=True
        )
    assert same_parameters(*nets)


def test_patience_stops_and_goes_back_to_the_best():
    x, y = data()
    values = [5.0, 4.0, 3.0, 4.0, 3.0, 9.0]  # an equal one is no new best

    def told():
        left = list(values)

        def loss(outputs, targets):
            nll, grad = en.softmax_cross_entropy(outputs, targets)
            return (left.pop(0) if outputs.shape[1] == 9 else nll), grad

        return loss

    settings = {"batch_size": B, "lr": 0.05, "validation": (x[:9], y[:9])}
    net, best, last = (network("batch_ensemble") for _ in range(3))
    patient = settings | {"validation": en.Validation(x[:9], y[:9], patience=2)}
    rows = en.fit(net, x, y, told(), rng=rng(), epochs=50, **patient)
    en.fit(best, x, y, told(), rng=rng(), epochs=3, **settings)
    assert [row["validation"] for row in rows] == values[:5]
    assert same_parameters(net, best)
    # Without patience it is the net of the last epoch.
    en.fit(last, x, y, told(), rng=rng(), epochs=5, **settings)
    assert not same_parameters(last, best)


@pytest.mark.parametrize("method", ["single", "batch_ensemble", "rank1"])
def test_validation_may_be_by_all_predictions_combined(method):
    x, y = data()
    samples, seen = (5 if method == "rank1" else 1), []

    def score(predictions, targets):
        seen.append(predictions)
        return float((predictions.argmax(-1) == targets).mean())

    net = network(method)
    for own, combined in ((net, "mixture"), (network(method), score)):
        held = en.Validation(x, y, score=combined, samples=samples)
        rows = en.fit(
            own, x, y, en.softmax_cross_entropy, rng=rng(), epochs=1, batch_size=B, validation=held
        )
        if combined == "mixture":
            mixture = rows[0]["validation"]
    members = samples * (1 if method == "single" else M)
    assert seen[0].shape == (members, N, 2)
    # Both nets are the same to the bit, and so are the draws of their layers.
    p = np.exp(seen[0]) / np.exp(seen[0]).sum(-1, keepdims=True)
    assert mixture == pytest.approx(-np.log(p.mean(0)[np.arange(N), y]).mean(), rel=1e-12)
    assert rows[0]["validation"] == (seen[0].argmax(-1) == y).mean()


@pytest.mark.parametrize("step", [1, 6])
def test_a_loss_that_is_not_finite_is_named(step):
    x, y = data()
    calls = []

    def loss(outputs, targets):
        calls.append(1)
        nll, grad = en.softmax_cross_entropy(outputs, targets)
        return (float("nan") if len(calls) == step else nll), grad

    net = network("rank1")
    with pytest.raises(FloatingPointError, match=rf"loss is nan \(nll nan, .* at step {step} "):
        en.fit(net, x, y, loss, rng=rng(), epochs=9, batch_size=B)
    assert all(np.isfinite(value).all() for value in net.params.values())


def test_a_parameter_that_is_not_finite_is_named():
    class Exploding(en.SGD):
        def step(self):
            super().step()
            self.network.params["0.weight"][0, 0] = np.inf

    x, y = data()
    net = network("single")
    with pytest.raises(FloatingPointError, match=r"0\.weight is not finite at step 1 \(epoch 1\)"):
        en.fit(
            net, x, y, en.softmax_cross_entropy, rng=rng(), epochs=2, batch_size=N,
            optimizer=Exploding,
        )  # fmt: skip


def test_fit_trains_images():
    rng = np.random.default_rng(12)
    y = rng.integers(0, 2, 40)
    x = rng.standard_normal((40, 1, 28, 28)) + y[:, None, None, None]
    net = en.lenet5("batch_ensemble", 2, rng=rng, filters=(2, 3), classes=2)
    nll = en.softmax_cross_entropy
    history = en.fit(net, x, y, nll, epochs=3, lr=0.01, batch_size=20, rng=rng)
    assert history[-1]["loss"] < 0.5 * history[0]["loss"]
