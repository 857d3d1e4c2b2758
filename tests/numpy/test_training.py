"""The training loop in NumPy against a loop written out here; its optimizers against Torch's."""

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


SPLIT = [(key, True) for key in ("deep_ensemble", "batch_ensemble", "rank1")]


@pytest.mark.parametrize(("method", "split"), [*((key, False) for key in METHODS), *SPLIT])
def test_it_is_the_loop_written_out(method, split):
    """Members that split a minibatch see parts of it, and what M does not divide is left out."""
    x, y = data()
    net = network(method)
    other, shuffle = copy.deepcopy(net), rng()  # with a copy of its source of noise
    net.backward(np.ones_like(net(x)))  # of gradients that were there before nothing counts
    other(x)  # that pass drew
    history = en.fit(
        net, x, y, en.softmax_cross_entropy, rng=rng(), epochs=3, batch_size=B, lr=0.02,
        kl=en.KLWeight(0.8, anneal=2), split=split,
    )  # fmt: skip
    optimizer, step = en.Adam(other, lr=0.02), 0
    for row in history:
        order, sums, seen = shuffle.permutation(N), np.zeros(3), 0
        for start in range(0, N, B):
            rows = order[start : start + B]
            if split:
                rows = rows[: len(rows) // M * M].reshape(M, -1)
            step += 1
            weight = 0.8 * min(1.0, step / (2 * STEPS))
            nll, grad = en.softmax_cross_entropy(other(x[rows]), y[rows])
            kl = en.kl(other)
            other.backward(grad)
            en.kl_backward(other, weight / N)
            optimizer.step()
            seen += rows.size
            sums += rows.size * np.array([nll + weight / N * kl, nll, kl])
        assert (row["epoch"], row["step"]) == (step // STEPS, step)
        assert row["beta"] == pytest.approx(weight, rel=1e-15)
        assert [row[key] for key in ("loss", "nll", "kl")] == pytest.approx(sums / seen, rel=1e-14)
    assert same_parameters(net, other)
    assert len(history) == 3
    assert not net.grads


@pytest.mark.parametrize("split", [False, True])
def test_targets_without_an_axis_are_those_with_one(split):
    x, y = data()[0], rng(1).standard_normal(N)
    nets = [en.mlp([m, n, 1], "batch_ensemble", M, rng=rng()) for _ in range(2)]
    for net, targets in zip(nets, (y, y[:, None]), strict=True):
        en.fit(
            net, x, targets, en.half_squared_error, rng=rng(), epochs=2, batch_size=B, split=split
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
def test_what_is_not_finite_is_named_and_no_such_loss_learned(step):
    x, y = data()
    calls = []

    def loss(outputs, targets):
        calls.append(1)
        nll, grad = en.softmax_cross_entropy(outputs, targets)
        return (float("nan") if len(calls) == step else nll), grad

    class Exploding(en.SGD):
        def step(self):
            super().step()
            self.network.params["0.weight"][0, 0] = np.inf

    net, words = network("batch_ensemble"), rf"loss is nan \(nll nan, .* at step {step} "
    settings = {"rng": rng(), "epochs": 9, "batch_size": B}
    with pytest.raises(FloatingPointError, match=words):
        en.fit(net, x, y, loss, **settings)
    assert all(np.isfinite(value).all() for value in net.params.values())
    with pytest.raises(FloatingPointError, match=r"0\.weight is not finite at step 1 \(epoch 1\)"):
        whole = settings | {"batch_size": N, "optimizer": Exploding}
        en.fit(net, x, y, en.softmax_cross_entropy, **whole)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda net: en.SGD(net, 0.05), lambda p: torch.optim.SGD(p, 0.05)),
        (lambda net: en.SGD(net, 0.05, 0.9), lambda p: torch.optim.SGD(p, 0.05, 0.9)),
        (lambda net: en.Adam(net, 0.01), lambda p: torch.optim.Adam(p, 0.01)),
        (
            lambda net: en.Adam(net, 0.02, (0.5, 0.75), 1e-3),
            lambda p: torch.optim.Adam(p, 0.02, (0.5, 0.75), 1e-3),
        ),
    ],
)
def test_steps_equal_torch(ours, theirs):
    rng = np.random.default_rng(0)
    net = en.mlp([m, 13, n], "batch_ensemble", M, rng=rng)
    twin = et.from_numpy(net)
    x, y = rng.standard_normal((B, m)), rng.standard_normal((B, n))
    optimizer, reference = ours(net), theirs(twin.parameters())
    for _ in range(20):
        _, grad = en.half_squared_error(net(x), y)
        net.backward(grad)
        optimizer.step()
        reference.zero_grad()
        out = twin(torch.from_numpy(x))
        (0.5 * (out - torch.from_numpy(y)).square().sum(-1).mean()).backward()
        reference.step()
    back = et.to_numpy(twin, rng=rng).params
    for key, value in net.params.items():
        np.testing.assert_allclose(value, back[key], rtol=0, atol=1e-12)
    with pytest.raises(
        ValueError, match=r"no gradient for 0\.weight, 0\.r, "
    ):  # a step empties them
        optimizer.step()
