"""The training loop, against the same loop written out, and alone: patience, groups, callbacks."""

import copy
import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from ensedu.torch.train.adversary import Adversary
from ensedu.torch.train.checkpoints import load, newest
from tests.torch.train.tools import (
    STEPS,
    B,
    M,
    N,
    converted,
    data,
    keeping,
    m,
    n,
    network,
    nll_of,
    numbers,
    reader,
    same,
    told,
    train,
)

FAST = ("r", "s", "r_mean", "r_rho", "s_mean", "s_rho")
FALLING = partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.8)


def written_out(net, x, y, autocast):
    """What `fit` does, in one place and without its parts."""
    torch.manual_seed(11)
    plain = {id(p) for part in net.modules() if isinstance(part, nn.BatchNorm2d)
             for p in part.parameters()}  # fmt: skip
    groups = [{"params": [p], "weight_decay": 0.0, "lr": 0.02} for p in net.parameters()]
    for (name, p), group in zip(net.named_parameters(), groups, strict=True):
        own = name.rpartition(".")[2]
        group["weight_decay"] = 0.3 if own == "weight" and id(p) not in plain else 0.0
        group["lr"] *= 1.7 if own in FAST else 1
    optimizer, step, rows = torch.optim.AdamW(groups), 0, []
    scheduler = FALLING(optimizer)
    for epoch in range(1, 4):
        net.train()
        sums = torch.zeros(3, dtype=torch.float64)
        for examples in torch.randperm(N).split(B):
            step += 1
            weight = 0.8 * min(1.0, step / (2 * STEPS))
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                if isinstance(x, dict):
                    outputs = net(words=x["words"][examples], mask=x["mask"])
                else:
                    outputs = net(x[examples])
                nll, kl = nll_of(outputs, y[examples]), et.kl(net)
                loss = nll + weight / N * kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            sums += len(examples) * torch.stack([loss, nll, kl]).detach().double()
        means = dict(zip(("loss", "nll", "kl"), (sums / N).tolist(), strict=True))
        rows.append({"epoch": epoch, "step": step, **means, "beta": weight})
    return optimizer, rows


def faster(method, factor):
    """Fast weights at another rate, where there are some: else `fit` says that there are none."""
    return {"fast_lr_factor": factor} if METHODS[method].modulated else {}


@pytest.mark.parametrize(
    ("make", "method", "autocast"),
    [*((network, key, False) for key in METHODS),
     *((converted, key, False) for key in METHODS if key != "single"),
     *((reader, key, False) for key in ("batch_ensemble", "rank1")),
     *((network, key, True) for key in ("batch_ensemble", "rank1", "mc_dropout"))],
)  # fmt: skip
def test_it_is_the_loop_written_out(make, method, autocast):
    net, (x, y), made = make(method), data(make), []
    if make is reader:
        x["mask"] = x["mask"][:1]  # a constant, and no row for each example
    if autocast:
        net, x = net.float(), x.float()
    other = copy.deepcopy(net)
    torch.manual_seed(99)  # of what was before nothing counts
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    history = train(
        net, x, y, nll_of, epochs=3, lr=0.02, weight_decay=0.3, **faster(method, 1.7),
        kl=et.KLWeight(0.8, anneal=2), seed=11, optimizer=keeping(made), scheduler=FALLING,
        autocast=torch.bfloat16 if autocast else None,
    )  # fmt: skip
    optimizer, rows = written_out(other, x, y, autocast)
    assert same(net.state_dict(), other.state_dict())
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        assert same(made[0].state[p], optimizer.state[q])
    assert [row.keys() for row in history] == [row.keys() for row in rows]
    for row, expected in zip(history, rows, strict=True):
        assert row == pytest.approx(expected, rel=1e-14, abs=1e-300)
    assert (history[0]["kl"] > 0) == (method in ("rank1", "mean_field"))


@pytest.mark.bad_input
def test_on_other_numbers_it_is_the_same_training(tmp_path):
    net, other, (x, y) = network("rank1"), network("rank1"), data()
    settings = {"epochs": 2, "lr": 0.5, "weight_decay": 0.25, "kl": et.KLWeight(anneal=1)}
    train(net, x, y, **settings)
    odd = {"epochs": np.int64(2), "batch_size": np.int16(B), "lr": np.float32(0.5),
           "weight_decay": torch.tensor(0.25), "kl": et.KLWeight(np.float32(1), np.uint8(1)),
           "seed": np.int64(0)}  # fmt: skip
    train(other, x, y, checkpoint=tmp_path, **odd)
    assert same(net.state_dict(), other.state_dict())
    train(net, x, y, checkpoint=tmp_path, **settings | {"epochs": 3})


def moved(net, x, y, part):
    """Each input, a part of its range away, to where the loss of a network alone rises."""
    own, (all_x, _) = x.clone().requires_grad_(), data()
    (slope,) = torch.autograd.grad(nn.functional.cross_entropy(net(own), y), own)
    return x + part * (all_x.max(0).values - all_x.min(0).values) * slope.sign()


ALONE = {
    "SGD": partial(torch.optim.SGD, lr=0.2, momentum=0.9, nesterov=True, weight_decay=0.1),
    "Adam": partial(torch.optim.Adam, lr=0.02, weight_decay=0.1),
    "AdamW": partial(torch.optim.AdamW, lr=0.02, weight_decay=0.1),
}


# Each value of one with each of another.
@pytest.mark.parametrize(
    ("inside", "optimizer", "split", "adversarial"),
    [(False, "AdamW", True, 0.05), (False, "Adam", False, 0.05), (False, "SGD", True, 0.0),
     (True, "AdamW", False, 0.0), (True, "Adam", True, 0.0), (True, "SGD", False, 0.05)],
)  # fmt: skip
def test_a_deep_ensemble_trains_as_networks_alone(inside, optimizer, split, adversarial):
    torch.manual_seed(5)
    plain = nn.Sequential(nn.Linear(m, n), nn.ReLU(), nn.Linear(n, 2)).double()
    net = et.ensemble(plain, "deep_ensemble", M)
    whole = nn.Sequential(net, nn.Identity()) if inside else net
    alone, (x, y) = [net.member(i) for i in range(M)], data()
    train(
        whole, x, y, epochs=4, split=split, adversarial=adversarial,
        optimizer=ALONE[optimizer](whole.parameters()), member_gradient_factor=float(M),
    )  # fmt: skip
    for i, one in enumerate(alone):
        torch.manual_seed(0)
        step = ALONE[optimizer](one.parameters())
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
        for mine, own in zip(net.member(i).parameters(), one.parameters(), strict=True):
            torch.testing.assert_close(mine, own, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [network, converted])
@pytest.mark.parametrize("method", [key for key, row in METHODS.items() if row.has_members])
def test_what_belongs_to_a_member_gets_its_own_gradient_and_what_is_shared_the_mean(make, method):
    """A body, an embedding and W are shared; all else has an axis of members, or is a copy's."""
    net, (x, y) = make(method), data(make)
    other, sgd = copy.deepcopy(net), torch.optim.SGD
    own = {"epochs": 1, "batch_size": N, "lr": 0.1, "optimizer": sgd} | faster(method, 4.0)
    train(net, x, y, seed=3, member_gradient_factor=float(M), **own)
    torch.manual_seed(3)
    rows = torch.randperm(N)
    loss = et.softmax_cross_entropy(other(x[rows]), y[rows]) + et.kl(other) / N
    loss.backward()
    for (name, p), mine in zip(other.named_parameters(), net.parameters(), strict=True):
        apart = p.shape[0] == M and not name.startswith(("model.0.weight", "model.1"))
        if method == "last_layer" and make is converted:
            apart = name.startswith("model.7")
        factor = M if apart or method == "deep_ensemble" else 1
        factor *= 4 if name.rpartition(".")[2] in FAST else 1
        torch.testing.assert_close(mine, p - 0.1 * factor * p.grad, rtol=1e-12, atol=1e-14)
    with pytest.warns(UserWarning, match=r"learns at lr / M: member_gradient_factor=M"):
        train(net, x, y, **own)


VALUES = [5.0, 4.0, 3.0, 4.0, 3.0, 9.0, 9.0]  # the best is epoch 3; an equal one is no new best


@pytest.mark.parametrize(("method", "every"), [("rank1", 0), ("batch_ensemble", 1), ("rank1", 2)])
def test_patience_stops_and_goes_back_to_the_best(tmp_path, method, every):
    (x, y), kept = data(), {"checkpoint": et.SaveTo(tmp_path, every=every)} if every else {}

    def run(values, patience, epochs=50, **options):
        held = et.Validation(x[:B], y[:B], patience=patience)
        net = network(method)
        rows = train(net, x, y, told(values), epochs=epochs, lr=0.05, validation=held, **options)
        return rows, net.state_dict()

    rows, best = run(VALUES, None, epochs=3)
    stopped = run(VALUES, 2, **kept)
    assert [row["validation"] for row in stopped[0]] == VALUES[:5]
    assert same(stopped[1], best) and stopped[0][:3] == rows
    if not every:
        return
    assert newest(tmp_path).step == 5 * STEPS  # the last epoch is kept, whatever `every`
    assert newest(tmp_path / "best").step == 3 * STEPS
    again = network(method)
    load(newest(tmp_path / "best").path, again)
    assert same(again.state_dict(), best)
    # The same call again trains no more, and gives back the best.
    assert same(run([], 2, **kept), stopped)
    # With more patience it goes on from the last epoch, not from the best.
    longer = run(VALUES[5:], 4, **kept)
    assert [row["validation"] for row in longer[0]] == VALUES
    assert same(longer, run(VALUES, 4))


def test_validation_gives_the_loss_what_training_gives_it():
    x, y = data()
    shapes = []

    def nll(outputs, targets):
        shapes.append(tuple(outputs.shape))
        return nn.functional.cross_entropy(outputs, targets)  # takes (B, k) alone

    hidden = nn.Sequential(nn.Linear(m, n), et.MCDropout(0.5), nn.Linear(n, 2)).double()
    for net in (hidden, network("single")):
        rows = train(net, x, y, nll, validation=(x[:9], y[:9]))
        assert rows[0]["validation"] > 0
        assert shapes[-2:] == [(B, 2), (3, 2)]


def test_frozen_parameters_and_inputs_with_a_graph():
    x, y = data()
    net, other = network("batch_ensemble"), network("batch_ensemble")
    source = x.clone().requires_grad_()
    for each, given in ((net, 1.0 * source), (other, x)):
        before = each[0].weight.requires_grad_(False).clone()
        train(each, given, y, epochs=2)
        assert torch.equal(each[0].weight, before)
    assert source.grad is None and same(net.state_dict(), other.state_dict())


def test_a_bar_is_shown_where_it_is_wanted(capfd):
    x, y = data()
    for bar, shows in ((None, False), (False, False), (True, True)):
        train(network("single"), x, y, epochs=2, bar=bar)
        out, err = capfd.readouterr()
        assert out == ""
        assert ("2/2" in err and "epoch" in err) is shows


@pytest.mark.parametrize(("step", "value"), [(1, math.nan), (6, math.inf), (8, math.nan)])
def test_a_loss_that_is_not_finite_is_named_and_not_learned(tmp_path, step, value):
    net, calls = network("batch_ensemble"), iter(range(1, 99))

    def nll(outputs, targets):
        bad = value if next(calls) == step else 1
        return bad * et.softmax_cross_entropy(outputs, targets)

    words = rf"loss is {value} \(nll {value}, kl 0\.0\) at step {step} \(epoch {1 + step // 5}\)"
    with pytest.raises(FloatingPointError, match=words):
        train(net, *data(), nll, epochs=9, checkpoint=tmp_path)
    assert all(p.isfinite().all() for p in net.parameters())
    assert newest(tmp_path, missing_ok=True).step == (0 if step == 1 else STEPS)


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
@pytest.mark.parametrize("method", METHODS)
def test_a_net_trains_where_it_is_and_the_data_may_be_elsewhere(tmp_path, method, device):
    x, y = data()
    settings = {"validation": et.Validation(x, y, patience=2), "kl": et.KLWeight(anneal=2)}
    net, again = network(method).to(device), network(method).to(device)
    rows = train(net, x, y, epochs=4, **settings)
    for epochs in (2, 4):
        kept = settings | {"epochs": epochs, "checkpoint": tmp_path}
        found = train(again, x.to(device), y.to(device), **kept)
    assert {p.device.type for p in again.parameters()} == {device}
    exact = {"rel": 0 if device == "cpu" else 1e-9, "abs": 0}
    for row, other in zip(rows, found, strict=True):
        assert row == {key: pytest.approx(value, **exact) for key, value in other.items()}
    outputs = et.predict(net, x, batch_size=B)
    assert outputs.device.type == device and outputs.isfinite().all()
    if not METHODS[method].stochastic:
        torch.testing.assert_close(outputs.cpu(), et.predict(net.cpu(), x))


@pytest.mark.parametrize("split", [False, True])
def test_targets_without_an_axis_do_not_broadcast(split):
    x, y = numbers(N, m), numbers(N, seed=1)

    def mean_square(outputs, targets):
        return (outputs - targets).square().mean() / 2

    rows = []
    for nll, targets in ((mean_square, y), (mean_square, y[:, None]), (et.half_squared_error, y)):
        torch.manual_seed(5)
        net = et.mlp([m, n, 1], "batch_ensemble", M, dtype=torch.float64)
        held = x[:9], targets[:9]
        rows.append(train(net, x, targets, nll, epochs=3, validation=held, split=split))
    assert rows[0] == rows[1]
    for one, other in zip(rows[0], rows[2], strict=True):
        assert one == {key: pytest.approx(value, rel=1e-9) for key, value in other.items()}


@pytest.mark.parametrize("every", [1, 2])
def test_a_callback_sees_each_row_once_after_it_is_saved_and_may_end_the_training(tmp_path, every):
    x, y = data()
    seen, saved = [], []

    def look(row):
        seen.append(dict(row))
        saved.append(newest(tmp_path, missing_ok=True).step)
        if len(seen) == 2:
            raise StopIteration("enough")
        row.clear()  # a copy

    settings = {"epochs": 4, "batch_size": B}
    kept = {"checkpoint": et.SaveTo(tmp_path, every=every), "callback": look}
    net, other = network("rank1"), network("rank1")
    with pytest.raises(StopIteration, match="enough"):
        train(net, x, y, **kept, **settings)
    rows = train(net, x, y, **kept, **settings)
    assert seen == rows == train(other, x, y, **settings)
    assert saved == ([4, 8, 12, 16] if every == 1 else [0, 8, 8, 16])
    assert same(net.state_dict(), other.state_dict())


def model():
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))


@pytest.mark.parametrize("rate", [None, pytest.param(np.float32(9), marks=pytest.mark.bad_input)])
def test_weights_decay_and_fast_weights_may_have_a_rate(rate):
    """And nothing else, each parameter in one group; of layers, training shows the same."""
    for method in ("deep_ensemble", "batch_ensemble", "rank1", "mean_field", "last_layer"):
        options = {"head": "3"} if method == "last_layer" else {}
        net = et.ensemble(model(), method, **size_option(method, M), **options)
        if method == "batch_ensemble":
            net.model[3].requires_grad_(False)  # what is frozen is left out
        expected = []
        for name, p in net.named_parameters():
            decays = name.endswith(".weight") and not name.endswith(".1.weight")
            fast = name.rpartition(".")[2] in FAST
            if p.requires_grad:
                expected.append((id(p), 0.5 if decays else 0.0, rate if fast else None))
        groups = et.parameter_groups(net, weight_decay=0.5, fast_lr=rate)
        given = [(id(p), g["weight_decay"], g.get("lr")) for g in groups for p in g["params"]]
        assert sorted(given, key=str) == sorted(expected, key=str), method
        assert len(groups) == (2 if rate is None else 3)
    # A number of another package is one of Python's in the group, as a checkpoint keeps it.
    assert type(groups[-1].get("lr", 0.0)) is float


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_where_the_loss_is_higher(method):
    y, settings = data()[1], {"epochs": 1, "batch_size": B}
    for make in (network, converted) if method != "single" else (network,):
        x = data(make)[0]
        adverse, plain = (
            train(make(method), x, y, adversarial=part, **settings)[0] for part in (0.3, 0.0)
        )
        assert adverse["step"] == STEPS and adverse["nll"] > plain["nll"]


def test_behind_the_examples_are_those_that_each_member_moves():
    """Where to, a deep ensemble trained by hand shows; here a weight is shared."""
    x, y = data()
    net = network("batch_ensemble")
    far = 0.01 * (x.amax(0) - x.amin(0))
    examples, targets = Adversary(net, et.softmax_cross_entropy, x, 0.01, None)(x, y)
    assert torch.equal(targets, torch.cat([y, y]))
    assert torch.equal(examples[:, :N], x.expand(M, N, m))
    steps = examples[:, N:] - x
    learns = (steps != 0).any(-1)  # where every unit is off, there is no slope
    assert learns.double().mean() > 0.9
    torch.testing.assert_close(steps[learns].abs(), far.expand_as(steps)[learns])
    assert len({tuple(each.sign().flatten().tolist()) for each in steps}) == M
