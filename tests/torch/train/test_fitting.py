"""The training loop, against the same loop written out, for every method."""

import copy
import math
from functools import partial, wraps

import numpy as np
import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS
from ensedu.torch.train.checkpoints import load, newest
from tests.torch.train.trained_networks import (
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
    numbers,
    same,
    told,
)

FAST = ("r", "s", "r_mean", "r_rho", "s_mean", "s_rho")


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
        weight_decay=0.3, kl=et.KLWeight(0.8, anneal=2), seed=11, optimizer=keeping(made),
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


@pytest.mark.bad_input
def test_on_other_numbers_it_is_the_same_training(tmp_path):
    x, y = data()
    net, other = network("rank1"), network("rank1")
    settings = {"epochs": 2, "batch_size": B, "lr": 0.5, "weight_decay": 0.25}
    settings["kl"] = et.KLWeight(anneal=1)
    et.fit(net, x, y, et.softmax_cross_entropy, checkpoint=tmp_path / "a", **settings)
    odd = {"epochs": np.int64(2), "batch_size": np.int16(B), "lr": np.float32(0.5),
           "weight_decay": torch.tensor(0.25), "kl": et.KLWeight(np.float32(1), np.uint8(1)),
           "seed": np.int64(0)}  # fmt: skip
    et.fit(other, x, y, et.softmax_cross_entropy, checkpoint=tmp_path / "b", **odd)
    assert same(net.state_dict(), other.state_dict())
    more = settings | {"epochs": 3}
    et.fit(net, x, y, et.softmax_cross_entropy, checkpoint=tmp_path / "b", **more)


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


ALONE = {
    "SGD": partial(torch.optim.SGD, lr=0.2, momentum=0.9, nesterov=True, weight_decay=0.1),
    "Adam": partial(torch.optim.Adam, lr=0.02, weight_decay=0.1),
    "AdamW": partial(torch.optim.AdamW, lr=0.02, weight_decay=0.1),
}


# Each value of one with each of another.
@pytest.mark.parametrize(
    ("make", "optimizer", "split", "adversarial"),
    [
        ("mlp", "AdamW", False, 0.0),
        ("mlp", "Adam", True, 0.05),
        ("mlp", "SGD", False, 0.05),
        ("converted", "AdamW", True, 0.05),
        ("converted", "Adam", False, 0.0),
        ("converted", "SGD", True, 0.0),
        ("inside a model", "AdamW", False, 0.05),
        ("inside a model", "Adam", True, 0.0),
        ("inside a model", "SGD", False, 0.0),
    ],
)
def test_a_deep_ensemble_trains_as_networks_alone(make, optimizer, split, adversarial):
    if make == "mlp":
        whole = net = network("deep_ensemble")
    else:
        torch.manual_seed(5)
        plain = nn.Sequential(nn.Linear(m, n), nn.ReLU(), nn.Linear(n, 2)).double()
        whole = net = et.ensemble(plain, "deep_ensemble", M)
        if make == "inside a model":
            whole = nn.Sequential(net, nn.Identity())
    alone, (x, y) = singles(net), data()
    et.fit(
        whole, x, y, et.softmax_cross_entropy, epochs=4, batch_size=B, split=split,
        adversarial=adversarial, optimizer=ALONE[optimizer](whole.parameters()),
        member_gradient_factor=float(M),
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
    for mine, theirs in zip(singles(net), alone, strict=True):
        for one, other in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [network, converted])
@pytest.mark.parametrize("method", [key for key, row in METHODS.items() if row.members])
def test_what_belongs_to_a_member_gets_its_own_gradient_and_what_is_shared_the_mean(make, method):
    """A body, an embedding and W are shared; all else has an axis of members, or is a copy's."""
    x, y = data(images=make is converted)
    net = make(method)
    other, sgd = copy.deepcopy(net), torch.optim.SGD
    own = {"epochs": 1, "batch_size": N, "lr": 0.1, "fast_lr_factor": 4.0, "optimizer": sgd}
    et.fit(net, x, y, et.softmax_cross_entropy, seed=3, member_gradient_factor=float(M), **own)
    torch.manual_seed(3)
    rows = torch.randperm(N)
    loss = et.softmax_cross_entropy(other(x[rows]), y[rows]) + et.kl(other) / N
    loss.backward()
    for (name, p), mine in zip(other.named_parameters(), net.parameters(), strict=True):
        apart = p.shape[0] == M and not name.startswith(("model.0.weight", "model.1"))
        if method == "last_layer" and make is converted:
            apart = name.startswith("model.7")
        if method == "deep_ensemble":
            apart = True
        factor = (M if apart else 1) * (4 if name.rpartition(".")[2] in FAST else 1)
        torch.testing.assert_close(mine, p - 0.1 * factor * p.grad, rtol=1e-12, atol=1e-14)
    with pytest.warns(UserWarning, match=r"learns at lr / M: member_gradient_factor=M"):
        et.fit(net, x, y, et.softmax_cross_entropy, **own)


@pytest.mark.parametrize("method", METHODS)
def test_weight_decay_pulls_on_weights_alone(method):
    net = network(method)
    before = copy.deepcopy(net.state_dict())
    x, y = data()

    def flat(outputs, targets):
        return 0 * outputs.sum()

    et.fit(net, x, y, flat, epochs=1, batch_size=N, lr=0.1, weight_decay=0.5, kl=et.KLWeight(0.0))
    shrunk = [name for name, p in net.named_parameters() if not torch.equal(p, before[name])]
    weights = [name for name in before if name.endswith(".weight")]
    assert shrunk == weights
    assert bool(weights) == (method != "mean_field")
    for name in weights:
        torch.testing.assert_close(net.get_parameter(name), before[name] * 0.95, rtol=1e-15, atol=0)


VALUES = [5.0, 4.0, 3.0, 4.0, 3.0, 9.0, 9.0]  # the best is epoch 3; an equal one is no new best


@pytest.mark.parametrize(
    ("method", "every"), [("rank1", None), ("batch_ensemble", 1), ("rank1", 2), ("rank1", 4)]
)
def test_patience_stops_and_goes_back_to_the_best(tmp_path, method, every):
    x, y = data()
    options = {"batch_size": B, "lr": 0.05}
    held, patient, longest = (
        et.Validation(x[:B], y[:B], patience=patience) for patience in (None, 2, 4)
    )
    kept = {} if every is None else {"checkpoint": et.SaveTo(tmp_path, every=every)}
    best, net = network(method), network(method)
    et.fit(best, x, y, told(VALUES), epochs=3, validation=held, **options)
    history = et.fit(net, x, y, told(VALUES), epochs=50, validation=patient, **options, **kept)
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
    again = network(method)
    options |= kept
    assert et.fit(again, x, y, told([]), epochs=50, validation=patient, **options) == history
    assert same(again.state_dict(), best.state_dict())
    # With more patience it goes on from the last epoch, not from the best.
    longer, more = network(method), network(method)
    rows = et.fit(more, x, y, told(VALUES[5:]), epochs=50, validation=longest, **options)
    del options["checkpoint"]
    et.fit(longer, x, y, told(VALUES), epochs=50, validation=longest, **options)
    assert [row["validation"] for row in rows] == VALUES
    assert same(longer.state_dict(), more.state_dict())


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
        assert newest(tmp_path, missing_ok=True).step == 0
        return
    assert [path.name for path in tmp_path.glob("step-*")] == ["step-00000004.safetensors"]
    good, expected = network("batch_ensemble"), network("batch_ensemble")
    load(newest(tmp_path).path, good)
    et.fit(expected, x, y, et.softmax_cross_entropy, epochs=1, batch_size=B)
    assert same(good.state_dict(), expected.state_dict())


@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
@pytest.mark.parametrize("method", METHODS)
def test_a_net_trains_where_it_is_and_the_data_may_be_elsewhere(tmp_path, method, device):
    x, y = data()
    settings = {
        "batch_size": B, "validation": et.Validation(x, y, patience=2), "weight_decay": 0.1,
        "kl": et.KLWeight(anneal=2),
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
    outputs = et.predict(net, x, batch_size=B)
    assert outputs.device.type == device and outputs.isfinite().all()
    if not METHODS[method].stochastic:
        torch.testing.assert_close(outputs.cpu(), et.predict(net.cpu(), x))


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


class Attends(nn.Module):
    """A layer of BERT: words that look at each other, but not at those that are masked."""

    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(13, n), nn.Embedding(m, n)
        self.query, self.key, self.value = (nn.Linear(n, n) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(n), nn.Linear(n, 2)

    def forward(self, input_ids, attention_mask):
        x = self.embed(input_ids) + self.place.weight  # (B, m, n)
        scores = self.query(x) @ self.key(x).mT / math.sqrt(n)
        scores = scores.masked_fill(~attention_mask[:, None], -math.inf)
        x = self.norm(x + scores.softmax(-1) @ self.value(x))
        return {"logits": self.head(x[:, 0]), "words": x}


def of_logits(outputs, targets):
    return et.softmax_cross_entropy(outputs["logits"], targets)


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1"])
def test_a_model_of_masked_words_trains_on_named_inputs(method):
    torch.manual_seed(5)
    net = et.ensemble(Attends().double(), method, M)
    other = copy.deepcopy(net)
    lengths = 1 + torch.arange(N) % m
    mask = torch.arange(m) < lengths[:, None]
    words, y = torch.arange(N * m).view(N, m) % 13, torch.arange(N) % 2
    x = {"input_ids": words, "attention_mask": mask}
    et.fit(net, x, y, of_logits, epochs=2, batch_size=B, lr=0.05, seed=3, validation=(x, y))
    optimizer = torch.optim.AdamW(
        et.parameter_groups(other, weight_decay=0.0, fast_lr=0.05), lr=0.05
    )
    torch.manual_seed(3)
    other.train()
    for _ in range(2):
        for rows in torch.randperm(N).split(B):
            outputs = other(input_ids=words[rows], attention_mask=mask[rows])
            loss = of_logits(outputs, y[rows]) + et.kl(other) / N
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert same(net.state_dict(), other.state_dict())
    # What is masked is nothing to it, and something else would be.
    noise = net.noise(torch.Generator().manual_seed(1)) if method == "rank1" else None
    found, hidden, seen = (
        et.predict(net, x | {"input_ids": other_words}, batch_size=B, noise=noise)["logits"]
        for other_words in (words, words * mask, 0 * words)
    )
    assert found.shape == (M, N, 2)
    assert torch.equal(found, hidden) and not torch.equal(found, seen)
    for i in range(M):
        member = net.member(i, noise) if noise else net.member(i)
        alone = member.eval()(**x)["logits"].detach()
        torch.testing.assert_close(found[i], alone, rtol=1e-12, atol=1e-12)


HALVING = partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.8)


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "mc_dropout"])
@pytest.mark.parametrize(
    "settings",
    [
        {"scheduler": HALVING},
        {"autocast": torch.bfloat16},
    ],
    ids=lambda settings: ", ".join(settings),
)
def test_schedulers_and_autocast_are_those_of_the_loop_by_hand(method, settings):
    x, y = data()
    x = x.float()
    net = network(method).float()
    other, plain = copy.deepcopy(net), copy.deepcopy(net)
    own = {"epochs": 3, "batch_size": B, "lr": 0.05, "seed": 3}
    et.fit(plain, x, y, et.softmax_cross_entropy, **own)
    et.fit(net, x, y, et.softmax_cross_entropy, **own, **settings)
    optimizer = torch.optim.AdamW(
        et.parameter_groups(other, weight_decay=0.0, fast_lr=0.05), lr=0.05
    )
    scheduler = settings["scheduler"](optimizer) if "scheduler" in settings else None
    torch.manual_seed(3)
    for _ in range(3):
        for rows in torch.randperm(N).split(B):
            with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in settings):
                loss = et.softmax_cross_entropy(other(x[rows]), y[rows]) + et.kl(other) / N
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
    assert same(net.state_dict(), other.state_dict())
    assert not same(net.state_dict(), plain.state_dict())


@pytest.mark.parametrize("every", [1, 2])
def test_a_callback_sees_each_row_once_and_after_it_is_saved(tmp_path, every):
    x, y = data()
    seen, saved = [], []

    def look(row):
        seen.append(dict(row))
        saved.append(newest(tmp_path, missing_ok=True).step)
        row.clear()  # a copy

    settings = {"batch_size": B, "checkpoint": et.SaveTo(tmp_path, every=every), "callback": look}
    for epochs in (2, 4):
        rows = et.fit(network("rank1"), x, y, et.softmax_cross_entropy, epochs=epochs, **settings)
    assert seen == rows and [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert saved == [row["step"] for row in rows] if every == 1 else saved == [0, 8, 8, 16]


def test_an_error_of_a_callback_ends_a_training_that_can_go_on(tmp_path):
    x, y = data()

    def stop(row):
        if row["epoch"] == 2:
            raise StopIteration("enough")

    settings = {"epochs": 4, "batch_size": B}
    net, other = network("rank1"), network("rank1")
    with pytest.raises(StopIteration, match="enough"):
        et.fit(net, x, y, et.softmax_cross_entropy, checkpoint=tmp_path, callback=stop, **settings)
    assert newest(tmp_path).step == 2 * STEPS
    et.fit(net, x, y, et.softmax_cross_entropy, checkpoint=tmp_path, **settings)
    et.fit(other, x, y, et.softmax_cross_entropy, **settings)
    assert same(net.state_dict(), other.state_dict())
