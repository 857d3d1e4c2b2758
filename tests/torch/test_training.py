"""The training loop against loops written out here: to the bit, also after a kill."""

import copy
import math
import os
import signal
import warnings
from functools import partial, wraps
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from ensedu.torch.train import folders
from ensedu.torch.train.adversarial import input_reach, with_adversarial
from ensedu.torch.train.checkpoints import load, newest

M, N, B, m, n = 3, 22, 6, 5, 7
STEPS = 4  # of an epoch: 6 + 6 + 6 + 4 examples
FAST = ("r", "s", "r_mean", "r_rho", "s_mean", "s_rho")


def numbers(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def data(images=False):
    return numbers(N, 1, 4, 4) if images else numbers(N, m), torch.arange(N) % 2


def network(method, **options):
    torch.manual_seed(5)
    return et.mlp([m, n, 2], method, dtype=torch.float64, **size_option(method, M), **options)


class Model(nn.Sequential):
    """A model to convert: BatchNorm, and dropout that a checkpoint must go on with."""

    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(),
            nn.Linear(12, n), nn.ReLU(), nn.Dropout(0.3), nn.Linear(n, 2),
        )  # fmt: skip


def converted(method):
    torch.manual_seed(5)
    options = {"head": "7"} if method == "last_layer" else {}
    return et.ensemble(Model().double(), method, **size_option(method, M), **options)


def total(outputs, targets):
    """The loss with which each member learns as if alone."""
    return et.softmax_cross_entropy(outputs, targets, reduction="sum")


def keeping(made, kind=torch.optim.AdamW, **options):
    """A function that makes an optimizer, and keeps it in a list."""

    def make(groups, lr):
        made.append(kind(groups, lr=lr, **options))
        return made[-1]

    return make


def same(one, other):
    """Whether two nested states are equal to the bit."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


# The loop


def written_out(net, x, y, *, epochs, lr, factor, decay, beta, anneal, seed):
    """What `fit` does, in one place and without its parts."""
    torch.manual_seed(seed)
    plain = {id(p) for part in net.modules() if isinstance(part, nn.BatchNorm2d)
             for p in part.parameters()}  # fmt: skip
    groups = [{"params": [p], "lr": lr, "weight_decay": 0.0} for p in net.parameters()]
    for (name, p), group in zip(net.named_parameters(), groups, strict=True):
        own = name.rpartition(".")[2]
        group["weight_decay"] = decay if own == "weight" and id(p) not in plain else 0.0
        group["lr"] = lr * factor if own in FAST else lr
    optimizer, step, rows = torch.optim.AdamW(groups, lr=lr), 0, []
    for epoch in range(1, epochs + 1):
        net.train()
        order, sums = torch.randperm(N), torch.zeros(3, dtype=torch.float64)
        for start in range(0, N, B):
            examples = order[start : start + B]
            step += 1
            weight = beta * min(1.0, step / (anneal * STEPS)) if anneal else beta
            nll = et.softmax_cross_entropy(net(x[examples]), y[examples])
            kl = et.kl(net)
            loss = nll + weight / N * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sums += len(examples) * torch.stack([loss, nll, kl]).detach()
        means = dict(zip(("loss", "nll", "kl"), (sums / N).tolist(), strict=True))
        rows.append({"epoch": epoch, "step": step, **means, "beta": weight})
    return optimizer, rows


@pytest.mark.parametrize(
    ("make", "method"),
    [
        *((network, key) for key in METHODS),
        *((converted, key) for key in METHODS if key != "single"),
    ],
)
def test_it_is_the_loop_written_out(make, method):
    x, y = data(images=make is converted)
    net, made = make(method), []
    other = copy.deepcopy(net)
    torch.manual_seed(99)  # of what was before nothing counts
    history = et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=3, batch_size=B, lr=0.02, fast_lr_factor=1.7,
        weight_decay=0.3, beta=0.8, anneal=2, seed=11, optimizer=keeping(made),
    )  # fmt: skip
    optimizer, rows = written_out(
        other, x, y, epochs=3, lr=0.02, factor=1.7, decay=0.3, beta=0.8, anneal=2, seed=11
    )
    assert same(net.state_dict(), other.state_dict())
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        assert same(made[0].state[p], optimizer.state[q])
    assert [row.keys() for row in history] == [row.keys() for row in rows]
    for row, expected in zip(history, rows, strict=True):
        assert row == pytest.approx(expected, rel=1e-14, abs=1e-300)
    assert history[0]["loss"] > history[-1]["nll"]
    assert (history[0]["kl"] > 0) == (method in ("rank1", "mean_field"))


def test_the_weight_of_the_kl_grows_step_by_step():
    x, y = data()
    for anneal, expected in ((0, [2.0, 2.0, 2.0]), (1, [2.0, 2.0, 2.0]), (3, [2 / 3, 4 / 3, 2.0])):
        history = et.fit(
            network("rank1"), x, y, et.softmax_cross_entropy, epochs=3, batch_size=B, beta=2.0,
            anneal=anneal,
        )  # fmt: skip
        assert [row["beta"] for row in history] == pytest.approx(expected, rel=1e-15)


@pytest.mark.bad_input
def test_on_other_numbers_it_is_the_same_training(tmp_path):
    x, y = data()
    net, other = network("rank1"), network("rank1")
    settings = {"epochs": 2, "batch_size": B, "lr": 0.5, "weight_decay": 0.25, "anneal": 1}
    et.fit(net, x, y, et.softmax_cross_entropy, checkpoint=tmp_path / "a", **settings)
    odd = {"epochs": np.int64(2), "batch_size": np.int16(B), "lr": np.float32(0.5),
           "weight_decay": torch.tensor(0.25), "anneal": np.uint8(1),
           "seed": np.int64(0)}  # fmt: skip
    et.fit(other, x, y, et.softmax_cross_entropy, checkpoint=tmp_path / "b", **odd)
    assert same(net.state_dict(), other.state_dict())
    more = settings | {"epochs": 3}
    et.fit(net, x, y, et.softmax_cross_entropy, checkpoint=tmp_path / "b", **more)


# Who sees which examples, who decays, who learns faster


@pytest.mark.parametrize("number", [18, 20, 22])
def test_members_that_split_see_different_examples(number):
    x, seen, found = numbers(number, m), [], []
    rows = torch.arange(number)

    def nll(outputs, targets):
        assert outputs.shape[:2] == targets.shape == (M, targets.shape[1])
        seen.append(targets)
        found.append(et.softmax_cross_entropy(outputs, targets % 2))
        return found[-1]

    history = et.fit(network("batch_ensemble"), x, rows, nll, epochs=2, batch_size=B, split=True)
    assert history[0]["step"] == len(seen) / 2
    torch.manual_seed(0)
    order = torch.randperm(number)
    for i, targets in enumerate(seen[: len(seen) // 2]):
        whole = order[i * B : (i + 1) * B]
        assert targets.tolist() == whole[: len(whole) // M * M].view(M, -1).tolist()
    first = torch.cat(seen[: len(seen) // 2], 1)
    assert first.numel() == number // M * M if number != 20 else 18
    assert len(first.unique()) == first.numel()
    pairs = zip(seen, found[: len(found) // 2], strict=False)
    mean = sum(targets.numel() * float(nll.detach()) for targets, nll in pairs) / first.numel()
    assert history[0]["nll"] == pytest.approx(mean, rel=1e-14)


def test_without_a_split_all_members_see_all():
    x, seen = numbers(N, m), []

    def nll(outputs, targets):
        seen.append(targets)
        assert outputs.shape == (M, len(targets), 2)
        return et.softmax_cross_entropy(outputs, targets % 2)

    et.fit(network("batch_ensemble"), x, torch.arange(N), nll, epochs=1, batch_size=B)
    assert torch.equal(torch.cat(seen).sort().values, torch.arange(N))


def singles(net):
    """The members of a deep ensemble as networks of their own."""
    if hasattr(net, "member"):
        return [net.member(i) for i in range(M)]
    found = []
    for i in range(M):
        one = nn.Sequential(nn.Linear(m, n), nn.ReLU(), nn.Linear(n, 2)).double()
        with torch.no_grad():
            for layer, own in ((net[0], one[0]), (net[2], one[2])):
                own.weight.copy_(layer.weight_matrices()[i].mT)
                own.bias.copy_(layer.bias[i])
        found.append(one)
    return found


def moved(net, x, y, part):
    """Each input, a part of its range away, to where the loss of a network alone rises."""
    own = x.clone().requires_grad_()
    nn.functional.cross_entropy(net(own), y).backward()
    net.zero_grad()
    all_x, _ = data()
    ranges = torch.stack([column.max() - column.min() for column in all_x.T])
    return x + part * ranges * own.grad.sign()


@pytest.mark.parametrize("adversarial", [0.0, 0.05])
@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("optimizer", ["Adam and the sum", "Adam", "SGD times M"])
@pytest.mark.parametrize("make", ["mlp", "converted", "inside a model"])
def test_a_deep_ensemble_trains_as_networks_alone(make, optimizer, split, adversarial):
    if make == "mlp":
        whole = net = network("deep_ensemble")
    else:
        torch.manual_seed(5)
        plain = nn.Sequential(nn.Linear(m, n), nn.ReLU(), nn.Linear(n, 2)).double()
        whole = net = et.ensemble(plain, "deep_ensemble", M)
        if make == "inside a model":
            whole = nn.Sequential(net, nn.Identity())
    alone = singles(net)
    x, y = data()
    # Adam forgets the factor 1/M of the mean, but for its eps.
    kind, lr, nll, factor = {
        "Adam and the sum": (torch.optim.Adam, 0.02, total, 1),
        "Adam": (partial(torch.optim.Adam, eps=1e-30), 0.02, et.softmax_cross_entropy, 1),
        "SGD times M": (torch.optim.SGD, 0.2, et.softmax_cross_entropy, M),
    }[optimizer]
    et.fit(
        whole, x, y, nll, epochs=4, batch_size=B, lr=factor * lr, split=split, optimizer=kind,
        adversarial=adversarial,
    )  # fmt: skip
    for i, one in enumerate(alone):
        torch.manual_seed(0)
        step = kind(one.parameters(), lr=lr)
        for _ in range(4):
            for rows in torch.randperm(N).split(B):
                own = rows[: len(rows) // M * M].view(M, -1)[i] if split else rows
                seen, labels = x[own], y[own]
                if adversarial:
                    seen = torch.cat([seen, moved(one, seen, labels, adversarial)])
                    labels = torch.cat([labels, labels])
                step.zero_grad()
                nn.functional.cross_entropy(one(seen), labels).backward()
                step.step()
    for mine, theirs in zip(singles(net), alone, strict=True):
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_adversarial_examples(method):
    x, y = data()
    nets = [network(method), *([] if method == "single" else [converted(method)])]
    for net, inputs in zip(nets, (x, data(images=True)[0]), strict=False):
        rows, plain = (
            et.fit(
                copy.deepcopy(net), inputs, y, et.softmax_cross_entropy, epochs=1, batch_size=B,
                adversarial=part, validation=(inputs, y),
            )
            for part in (0.3, 0.0)
        )  # fmt: skip
        assert rows[0]["step"] == STEPS
        assert rows[0]["nll"] > plain[0]["nll"]  # they are where the loss is higher


def test_inputs_move_to_where_each_members_loss_rises():
    x, y = data()
    net = network("batch_ensemble")
    far = input_reach(x, 0.01)
    examples, targets = with_adversarial(net, x, y, et.softmax_cross_entropy, far, M, split=False)
    assert examples.shape == (M, 2 * N, m) and torch.equal(targets, torch.cat([y, y]))
    assert torch.equal(examples[:, :N], x.expand(M, N, m))
    steps = examples[:, N:] - x
    learns = (steps != 0).any(-1)  # where every unit is off, there is no slope
    assert learns.double().mean() > 0.9
    torch.testing.assert_close(steps[learns].abs(), far.expand_as(steps)[learns])
    assert len({tuple(each.sign().flatten().tolist()) for each in steps}) == M
    losses = et.softmax_cross_entropy(net(examples), targets, reduction="none")
    rises = (losses[:, N:] > losses[:, :N])[learns]
    assert rises.double().mean() > 0.95  # but where a unit is switched on the way


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "last_layer"])
def test_split_batches_of_a_converted_model_are_those_of_its_layers(method):
    """A converted model and layers of the same values train alike, each member on its own rows."""
    torch.manual_seed(5)
    plain = nn.Sequential(nn.Linear(m, n), nn.ReLU(), nn.Linear(n, 2)).double()
    options = {"head": "2"} if method == "last_layer" else {}
    net = et.ensemble(plain, method, M, **options)
    layers = [getattr(part, "layer", part) for part in copy.deepcopy(net).model]
    bare = et.Sequential(*layers)
    x, y = numbers(N, m), numbers(N, 2, seed=1)
    for each in (net, bare):
        et.fit(each, x, y, et.half_squared_error, epochs=2, batch_size=B, lr=0.1, split=True)
    for mine, theirs in zip(net.parameters(), bare.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-12)


def test_targets_without_an_axis_are_split_too():
    x, y = numbers(N, m), numbers(N, seed=1)
    nets = [et.mlp([m, n, 1], "batch_ensemble", M, dtype=torch.float64) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    for net, targets in zip(nets, (y, y[:, None]), strict=True):
        et.fit(net, x, targets, et.half_squared_error, epochs=2, batch_size=B, split=True)
    assert same(nets[0].state_dict(), nets[1].state_dict())


@pytest.mark.parametrize("method", METHODS)
def test_weight_decay_pulls_on_weights_alone(method):
    net = network(method)
    before = copy.deepcopy(net.state_dict())
    x, y = data()

    def flat(outputs, targets):
        return 0 * outputs.sum()

    et.fit(net, x, y, flat, epochs=1, batch_size=N, lr=0.1, weight_decay=0.5, beta=0.0)
    shrunk = [name for name, p in net.named_parameters() if not torch.equal(p, before[name])]
    weights = [name for name in before if name.endswith(".weight")]
    assert shrunk == weights
    assert bool(weights) == (method != "mean_field")
    for name in weights:
        torch.testing.assert_close(net.get_parameter(name), before[name] * 0.95, rtol=1e-15, atol=0)


@pytest.mark.parametrize("make", [network, converted])
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1"])
def test_fast_weights_learn_at_a_rate_of_their_own(make, method):
    x, y = data(images=make is converted)
    net = make(method)
    other = copy.deepcopy(net)
    et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=1, batch_size=N, lr=0.1, fast_lr_factor=4.0,
        optimizer=torch.optim.SGD, seed=3,
    )  # fmt: skip
    torch.manual_seed(3)
    rows = torch.randperm(N)
    loss = et.softmax_cross_entropy(other(x[rows]), y[rows]) + et.kl(other) / N
    loss.backward()
    fast = []
    for (name, p), mine in zip(other.named_parameters(), net.parameters(), strict=True):
        if name.rpartition(".")[2] in FAST:
            fast.append(name)
        lr = 0.4 if name in fast else 0.1
        torch.testing.assert_close(mine, p - lr * p.grad, rtol=1e-13, atol=1e-15, msg=name)
    layers = 3 if make is converted else 2
    assert len(fast) == layers * (2 if method == "batch_ensemble" else 4)


# Validation and patience


def told(values):
    """A loss whose validation gives these values in turn."""
    left = list(values)

    def nll(outputs, targets):
        if torch.is_grad_enabled():
            return et.softmax_cross_entropy(outputs, targets)
        return torch.tensor(left.pop(0))

    return nll


VALUES = [5.0, 4.0, 3.0, 4.0, 3.0, 9.0, 9.0]  # the best is epoch 3; an equal one is no new best


@pytest.mark.parametrize("every", [None, 1, 2, 4])
@pytest.mark.parametrize("method", ["rank1", "batch_ensemble"])
def test_patience_stops_and_goes_back_to_the_best(tmp_path, method, every):
    x, y = data()
    options = {"batch_size": B, "lr": 0.05, "validation": (x[:B], y[:B])}
    kept = {} if every is None else {"checkpoint": tmp_path, "checkpoint_every": every}
    best, net = network(method), network(method)
    et.fit(best, x, y, told(VALUES), epochs=3, **options)
    history = et.fit(net, x, y, told(VALUES), epochs=50, patience=2, **options, **kept)
    assert [row["validation"] for row in history] == VALUES[:5]
    assert same(net.state_dict(), best.state_dict())
    if every is None:
        return
    assert newest(tmp_path).step == 5 * STEPS  # the last epoch is kept, whatever `every`
    again = network(method)
    assert newest(tmp_path / "best").step == 3 * STEPS
    load(newest(tmp_path / "best").path, again)
    assert same(again.state_dict(), best.state_dict())
    # The same call again trains no more, and gives back the best.
    again = network("rank1" if method == "rank1" else "batch_ensemble")
    assert et.fit(again, x, y, told([]), epochs=50, patience=2, **options, **kept) == history
    assert same(again.state_dict(), best.state_dict())
    # With more patience it goes on from the last epoch, not from the best.
    longer, more = network(method), network(method)
    et.fit(longer, x, y, told(VALUES), epochs=50, patience=4, **options)
    rows = et.fit(more, x, y, told(VALUES[5:]), epochs=50, patience=4, **options, **kept)
    assert [row["validation"] for row in rows] == VALUES
    assert same(longer.state_dict(), more.state_dict())


def test_validation_runs_in_eval_mode_and_changes_nothing():
    x, y = data(images=True)
    plain, net = converted("batch_ensemble"), converted("batch_ensemble")
    for part in (plain, net):
        for module in part.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # draws, and validation does not: else the two runs would differ
    held = numbers(13, 1, 4, 4, seed=2), torch.arange(13) % 2
    settings = {"epochs": 3, "batch_size": B, "lr": 0.05}
    et.fit(plain, x, y, et.softmax_cross_entropy, **settings)
    history = et.fit(net, x, y, et.softmax_cross_entropy, validation=held, **settings)
    assert same(plain.state_dict(), net.state_dict())
    expected = et.softmax_cross_entropy(et.predict(net, held[0]), held[1])
    assert history[-1]["validation"] == pytest.approx(float(expected), rel=1e-12)
    # Without a patience the net is that of the last epoch.
    assert len(history) == 3


class Named(nn.Module):
    """Returns no tensor."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(m, 2).double()

    def forward(self, x):
        return {"logits": self.fc(x)}


def test_validation_gives_the_loss_what_training_gives_it():
    x, y = data()
    shapes = []

    def nll(outputs, targets):
        outputs = outputs["logits"] if isinstance(outputs, dict) else outputs
        shapes.append(outputs.shape)
        return nn.functional.cross_entropy(outputs, targets)  # takes (B, k) alone

    hidden = nn.Sequential(nn.Linear(m, n), et.MCDropout(0.5), nn.Linear(n, 2)).double()
    for net in (hidden, Named(), network("single")):
        shapes.clear()
        rows = et.fit(net, x, y, nll, epochs=1, batch_size=B, validation=(x[:9], y[:9]))
        assert rows[0]["validation"] > 0
        assert [tuple(shape) for shape in shapes[-2:]] == [(B, 2), (3, 2)]
    rows = et.fit(
        network("mc_dropout"), x, y, et.softmax_cross_entropy, epochs=1, validation=(x, y),
        batch_size=B,
    )  # fmt: skip
    assert rows[0]["validation"] > 0


def test_split_training_is_validated_on_one_batch_for_all():
    x, y = data(images=True)
    net = converted("batch_ensemble")
    rows = et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=2, batch_size=B, split=True, validation=(x, y)
    )
    expected = et.softmax_cross_entropy(net.eval()(x), y).detach()
    assert rows[-1]["validation"] == pytest.approx(float(expected), rel=1e-12)


# What is as it was


@pytest.mark.parametrize("failing", [False, True])
def test_what_is_not_trained_is_as_it_was(monkeypatch, failing):
    x, y = data(images=True)
    net = converted("rank1").eval()
    net.model[1].train()
    net.own_batches = True
    modes = [part.training for part in net.modules()]
    state, seeded = torch.get_rng_state(), []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    during = []

    def nll(outputs, targets):
        during.append((torch.is_grad_enabled(), net.own_batches, net.model[4].training))
        if failing and len(during) > 5:
            raise KeyboardInterrupt
        return et.softmax_cross_entropy(outputs, targets)

    def run():
        et.fit(net, x, y, nll, epochs=2, batch_size=B, validation=(x, y))

    if failing:
        with pytest.raises(KeyboardInterrupt):
            run()
    else:
        run()
    assert set(during) == {(True, False, True), (False, False, False)}
    assert torch.equal(torch.get_rng_state(), state)
    assert not seeded
    assert [part.training for part in net.modules()] == modes
    assert net.own_batches
    assert torch.is_grad_enabled()


def test_frozen_parameters_and_inputs_with_a_graph():
    x, y = data()
    net, other = network("batch_ensemble"), network("batch_ensemble")
    source = numbers(N, m).requires_grad_()
    for each in (net, other):
        each[0].weight.requires_grad_(False)
    before = net[0].weight.clone()
    et.fit(net, 1.0 * source, y, et.softmax_cross_entropy, epochs=2, batch_size=B)
    et.fit(other, x, y, et.softmax_cross_entropy, epochs=2, batch_size=B)
    assert source.grad is None
    assert torch.equal(net[0].weight, before)
    assert same(net.state_dict(), other.state_dict())


def test_old_gradients_are_not_learned():
    x, y = data()
    nets = [network("rank1") for _ in range(2)]
    for p in nets[0].parameters():
        p.grad = torch.ones_like(p)
    for net in nets:
        et.fit(net, x, y, et.softmax_cross_entropy, epochs=1, batch_size=B)
    assert same(nets[0].state_dict(), nets[1].state_dict())


def test_a_bar_is_shown_where_it_is_wanted(capfd):
    x, y = data()
    for bar, shows in ((None, False), (False, False), (True, True)):
        et.fit(network("single"), x, y, et.softmax_cross_entropy, epochs=2, batch_size=B, bar=bar)
        out, err = capfd.readouterr()
        assert out == ""
        assert ("2/2" in err and "epoch" in err) is shows


# What is not finite


def bad_at(step, value):
    """A loss that is not finite at a step of training."""
    calls = []

    @wraps(et.softmax_cross_entropy)
    def nll(outputs, targets):
        calls.append(1)
        loss = et.softmax_cross_entropy(outputs, targets)
        return loss * value if len(calls) == step else loss

    return nll


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("step", [1, 6, 8])
def test_a_loss_that_is_not_finite_is_named(tmp_path, step, value):
    x, y = data()
    net = network("batch_ensemble")
    words = rf"loss is {value} \(nll {value}, kl 0\.0\) at step {step} \(epoch {1 + step // 5}\)"
    with pytest.raises(FloatingPointError, match=words):
        et.fit(net, x, y, bad_at(step, value), epochs=9, batch_size=B, checkpoint=tmp_path)
    assert all(p.isfinite().all() for p in net.parameters())
    if step == 1:
        assert newest(tmp_path) is None
        return
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-00000004"]
    good, expected = network("batch_ensemble"), network("batch_ensemble")
    load(newest(tmp_path).path, good)
    et.fit(expected, x, y, et.softmax_cross_entropy, epochs=1, batch_size=B)
    assert same(good.state_dict(), expected.state_dict())


class Exploding(torch.optim.SGD):
    """Puts an infinity into a parameter at its eighth step, the last of the second epoch."""

    steps = 0

    def step(self, closure=None):
        super().step()
        self.steps += 1
        if self.steps == 8:
            self.param_groups[0]["params"][0].data[0, 0] = math.inf


@pytest.mark.parametrize("validated", [False, True])
def test_no_checkpoint_holds_what_is_not_finite(tmp_path, validated):
    x, y = data()
    net = network("batch_ensemble")
    held = {"validation": (x[:B], y[:B])} if validated else {}
    words = "nll of validation is nan" if validated else r"0\.weight is not finite"
    with pytest.raises(FloatingPointError, match=rf"{words} at step 8 \(epoch 2\)"):
        et.fit(
            net, x, y, et.softmax_cross_entropy, epochs=9, batch_size=B, checkpoint=tmp_path,
            optimizer=Exploding, **held,
        )  # fmt: skip
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("**/step-*"))
    assert found == (["best/step-00000004"] if validated else []) + ["step-00000004"]
    for name in found:
        values = folders.read(tmp_path / name).values
        assert all(value.isfinite().all() for value in values.values())


# Killed, and going on


RUNS = {
    "deterministic": lambda: (network("batch_ensemble"), *data()),
    "rank-1": lambda: (network("rank1"), *data()),
    "converted": lambda: (converted("batch_ensemble"), *data(images=True)),
}


def whole_run(name, folder, every, nll=et.softmax_cross_entropy, epochs=4):
    """Train, and return all that was: weights, moments, rows, and the files."""
    net, x, y = RUNS[name]()
    made = []
    # Other labels than those learned: the best epoch is not the last.
    rows = et.fit(
        net, x, y, nll, epochs=epochs, batch_size=B, lr=0.2, weight_decay=0.1, anneal=1,
        validation=(x[13:], 1 - y[13:]), patience=4, checkpoint=folder, checkpoint_every=every,
        optimizer=keeping(made),
    )  # fmt: skip
    kept = folders.read(newest(folder).path).values
    best = min(rows, key=lambda row: row["validation"])
    chosen = folders.read(Path(folder, "best", f"step-{int(best['step']):08}")).values
    return net.state_dict(), made[0].state_dict()["state"], rows, kept, chosen


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def killed_while_saving(call, run):
    """Run until the disk is waited for once more than so often: four times a checkpoint."""
    sync, calls = os.fsync, []

    def counted(file):
        calls.append(file)
        if len(calls) > call:
            kill()
        sync(file)

    os.fsync = counted
    run(et.softmax_cross_entropy)


def killed_in_training(call, run):
    """Run until the loss is asked for once more than so often, for training or validation."""
    calls = []

    @wraps(et.softmax_cross_entropy)
    def nll(outputs, targets):
        calls.append(1)
        if len(calls) > call:
            kill()
        return et.softmax_cross_entropy(outputs, targets)

    run(nll)


def in_a_process_of_its_own(function, *args):
    with warnings.catch_warnings():  # of threads that wait: the child has one, and ends by a signal
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            function(*args)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


# In an epoch there are 4 steps and 2 minibatches of validation, then the best and the epoch are
# saved, at 4 syncs each: two files, their folder and the folder around it.
@pytest.mark.large
@pytest.mark.parametrize(
    ("every", "steps", "syncs"), [(1, (0, 5, 6, 13), (0, 3, 4, 6, 8)), (3, (19,), (4, 7, -1))]
)
@pytest.mark.parametrize("name", RUNS)
def test_a_killed_training_goes_on_to_the_same_bits(
    tmp_path, monkeypatch, name, every, steps, syncs
):
    sync, files = os.fsync, []
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: files.append(sync(file)))
        expected = whole_run(name, tmp_path / "whole", every)
    state, _, _, last, _ = expected
    name_of_one = next(iter(state))
    assert not same(state[name_of_one], last[f"model:{name_of_one}"])  # it went back to the best
    deaths = [(killed_in_training, call) for call in steps]
    deaths += [(killed_while_saving, call % len(files)) for call in syncs]
    for i, (death, call) in enumerate(deaths):
        folder = tmp_path / str(i)

        def run(nll, folder=folder):
            whole_run(name, folder, every, nll)

        in_a_process_of_its_own(death, call, run)
        assert same(whole_run(name, folder, every), expected), (death.__name__, call)
    # Once more there is nothing left to do, and the moments are those of the last epoch.
    assert same(whole_run(name, folder, every), expected)


@pytest.mark.large
def test_a_training_killed_again_and_again_arrives(tmp_path):
    expected = whole_run("rank-1", tmp_path / "whole", 1)

    def run(nll):
        whole_run("rank-1", tmp_path / "cut", 1, nll)

    for call in (8, 8, 2, 8):
        in_a_process_of_its_own(killed_in_training, call, run)
    assert same(whole_run("rank-1", tmp_path / "cut", 1), expected)


def test_the_best_of_a_last_checkpoint_stays_while_others_come(tmp_path):
    """Killed after three new bests, and then asked for no more than the last checkpoint has."""
    x, y = data()
    held = {"batch_size": B, "validation": (x[:B], y[:B])}
    settings = held | {"checkpoint": tmp_path, "patience": 9}
    falling, third = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0], network("single")
    et.fit(third, x, y, told(falling), epochs=3, **held)
    with pytest.raises(IndexError):
        et.fit(network("single"), x, y, told(falling[:5]), epochs=9, checkpoint_every=3, **settings)
    net = network("single")
    et.fit(net, x, y, told([]), epochs=3, checkpoint_every=3, **settings)
    assert same(net.state_dict(), third.state_dict())
    # Going on, it comes to the bests that are there already.
    rows = et.fit(net, x, y, told(falling[3:]), epochs=6, checkpoint_every=3, **settings)
    assert [row["validation"] for row in rows] == falling


def test_more_epochs_go_on_and_fewer_are_refused(tmp_path):
    x, y = data()
    net, other = network("rank1"), network("rank1")
    settings = {"batch_size": B, "lr": 0.05, "anneal": 4}
    first = et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=2, checkpoint=str(tmp_path), **settings
    )
    net = network("rank1")
    rows = et.fit(net, x, y, et.softmax_cross_entropy, epochs=5, checkpoint=tmp_path, **settings)
    assert rows[:2] == first
    assert rows == et.fit(other, x, y, et.softmax_cross_entropy, epochs=5, **settings)
    assert same(net.state_dict(), other.state_dict())
    with pytest.raises(ValueError, match="epochs must be at least the 5 of the checkpoint, got 4"):
        et.fit(net, x, y, et.softmax_cross_entropy, epochs=4, checkpoint=tmp_path, **settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 3), ("lr", 0.1), ("fast_lr_factor", 2.0), ("weight_decay", 0.1),
        ("beta", 0.5), ("anneal", 1), ("split", True), ("seed", 1), ("adversarial", 0.01),
    ],
)  # fmt: skip
def test_another_training_in_the_folder_is_refused(tmp_path, name, value):
    x, y = data()
    net = network("batch_ensemble")
    settings = {"epochs": 1, "batch_size": B, "checkpoint": tmp_path}
    et.fit(net, x, y, et.softmax_cross_entropy, **settings)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(ValueError, match=rf"checkpoint must be of a training with {name} = "):
        et.fit(net, x, y, et.softmax_cross_entropy, **(settings | {name: value}))
    assert same(net.state_dict(), before)


def test_other_data_nets_and_optimizers_in_the_folder_are_refused(tmp_path):
    x, y = data()
    settings = {"epochs": 1, "batch_size": B, "checkpoint": tmp_path}
    et.fit(network("batch_ensemble"), x, y, et.softmax_cross_entropy, **settings)
    for args, options, words in (
        ((network("batch_ensemble"), x[1:], y[1:]), {}, "num_examples = 21"),
        ((network("batch_ensemble"), x, y), {"validation": (x, y)}, "validated = True"),
        ((network("rank1"), x, y), {}, "0.r"),
        ((network("batch_ensemble"), x, y), {"optimizer": torch.optim.SGD}, "AdamW"),
    ):
        with pytest.raises(ValueError, match=words):
            et.fit(*args, et.softmax_cross_entropy, **settings, **options)
    (tmp_path / "other").mkdir()
    from ensedu.torch.train.checkpoints import save

    save(tmp_path / "other", network("single"), None, 3)
    with pytest.raises(ValueError, match=r"num_examples = 22, got .* with nothing"):
        et.fit(
            network("single"), x, y, et.softmax_cross_entropy,
            **(settings | {"checkpoint": tmp_path / "other"}),
        )  # fmt: skip


def test_a_folder_that_cannot_be_made_is_refused_before_the_training(tmp_path):
    x, y = data()
    (tmp_path / "file").touch()
    asked = []

    def nll(outputs, targets):
        asked.append(1)
        return et.softmax_cross_entropy(outputs, targets)

    for path in (tmp_path / "file", tmp_path / "file" / "a", "x" * 5000, "a\0b"):
        with pytest.raises(ValueError, match="checkpoint must be a folder that can be made"):
            et.fit(network("single"), x, y, nll, epochs=1, batch_size=B, checkpoint=path)
    assert not asked


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
@pytest.mark.parametrize("method", METHODS)
def test_a_net_trains_where_it_is_and_the_data_may_be_elsewhere(tmp_path, method, device):
    x, y = data()
    settings = {
        "batch_size": B, "validation": (x, y), "patience": 2, "weight_decay": 0.1, "anneal": 2,
    }  # fmt: skip
    net = network(method).to(device)
    rows = et.fit(net, x, y, et.softmax_cross_entropy, epochs=4, **settings)
    again = network(method).to(device)
    for epochs in (2, 4):
        found = et.fit(
            again, x.to(device), y.to(device), et.softmax_cross_entropy, epochs=epochs,
            checkpoint=tmp_path, **settings,
        )  # fmt: skip
    assert {p.device.type for p in again.parameters()} == {device}
    exact = {"rel": 0 if device == "cpu" else 1e-9, "abs": 0}
    for row, other in zip(rows, found, strict=True):
        assert row == {key: pytest.approx(value, **exact) for key, value in other.items()}
    outputs = et.predict(net, x.to(device), batch_size=B)
    assert outputs.device.type == device and outputs.isfinite().all()
    if not METHODS[method].stochastic:
        torch.testing.assert_close(outputs.cpu(), et.predict(net.cpu(), x))


@pytest.mark.parametrize("method", ["rank1", "mc_dropout", "batch_ensemble"])
def test_validation_does_not_change_the_training(method):
    x, y = data()
    nets = network(method), network(method)
    for net, held in zip(nets, (None, (x[:9], y[:9])), strict=True):
        et.fit(net, x, y, et.softmax_cross_entropy, epochs=3, batch_size=B, validation=held)
    assert same(nets[0].state_dict(), nets[1].state_dict())


def test_targets_without_an_axis_do_not_broadcast():
    x, y = numbers(N, m), numbers(N, seed=1)

    def mean_square(outputs, targets):
        return (outputs - targets).square().mean() / 2

    rows = []
    for nll, targets in ((mean_square, y), (mean_square, y[:, None]), (et.half_squared_error, y)):
        torch.manual_seed(5)
        net = et.mlp([m, n, 1], "batch_ensemble", M, dtype=torch.float64)
        held = {"validation": (x[:9], targets[:9])}
        rows.append(et.fit(net, x, targets, nll, epochs=3, batch_size=B, **held))
    for one, other in zip(rows[0], rows[2], strict=True):
        assert one == {key: pytest.approx(value, rel=1e-9) for key, value in other.items()}
    assert rows[0] == rows[1]


@pytest.mark.bad_input
def test_a_checkpoint_tells_other_data_and_another_loss(tmp_path):
    x, y = data()
    nll, other = (partial(et.softmax_cross_entropy, reduction=r) for r in ("mean", "sum"))

    def train(x, y, nll, held):
        net = network("batch_ensemble")
        return et.fit(net, x, y, nll, epochs=2, batch_size=B, validation=held, checkpoint=tmp_path)

    held = x[:9], y[:9]
    train(x, y, nll, held)
    train(x.clone(), y.clone(), nll, held)
    for call, word in (
        (lambda: train(x + 1e-12, y, nll, held), "data = "),
        (lambda: train(x, 1 - y, nll, held), "data = "),
        (lambda: train(x, y, nll, (x[1:10], y[1:10])), "data = "),
        (lambda: train(x, y, other, held), r"nll = softmax_cross_entropy\(reduction='sum'\)"),
    ):
        with pytest.raises(ValueError, match=f"checkpoint must be of a training with {word}"):
            call()
