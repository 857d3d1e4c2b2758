"""What else an ensemble of a model does: passes, options, states, threads, counts."""

import copy
import io
import itertools
import pickle
import warnings
from typing import ClassVar

import hypothesis
import pytest
import torch
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS as TABLE
from ensedu.methods import size_option
from ensedu.priors import Normal
from ensedu.torch.base import WeightLayer
from tests.torch.threads import Meet, at_once, meeting
from tests.torch.whole.law import check_pass, converted, draw_apart, loss, places, seeded, tensors
from tests.torch.whole.models import FAST, METHODS, MODELS, B, Entry, M, Model, S, Vectors, m, n

OPTIONS = {
    "deep_ensemble": {"initialize": draw_apart},
    "batch_ensemble": {"init": "normal"},
    "rank1": {"init_std": 0.3, "posterior_std": 0.2},
    "mean_field": {"posterior_std": 0.1},
    "last_layer": {"head": "head"},
}
DRAW = [method for method in METHODS if TABLE[method].stochastic]
DOUBLE = {"rtol": 1e-11, "atol": 1e-11}
# Torch says so where vmap has a loop of its own.
pytestmark = pytest.mark.filterwarnings("ignore:There is a performance drop")


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=seeded(seed), dtype=torch.float64)


def ensemble(model, method, number=M, **options):
    return et.ensemble(
        model, method, **size_option(method, number), **OPTIONS.get(method, {}) | options
    )


def vectors(method, build=Vectors, **options):
    torch.manual_seed(0)
    net = ensemble(build().double(), method, **options).eval()
    draw_apart(net)
    return net


def noise_of(net, *args, seed=0):
    """What a pass is given so that it draws nothing, where something is drawn."""
    return {"noise": net.noise(seeded(seed), *args)} if hasattr(net, "noise") else {}


def check_members(net, x, **noise):
    """Each member is what `member` shows."""
    found = tensors(net(x.clone(), **noise))
    for place in places(net):
        own = net.member(place if len(place) > 1 else place[0], *noise.values())
        for y, known in zip(found, tensors(own(x.clone())), strict=True):
            torch.testing.assert_close(y[place], known, **DOUBLE)


# Sizes, noise and samples.


@hypothesis.given(st.sampled_from(METHODS), *[st.integers(1, 4)] * 3, st.booleans())
def test_any_sizes(method, number, samples, batch, training):
    net = vectors(method, number=number).train(training)
    if method != "mc_dropout":
        for part in net.modules():
            part.train(training and not isinstance(part, nn.Dropout))
    if method == "rank1":
        net.samples = samples
    leading = (samples, number) if method == "rank1" else (number,)
    assert net.leading == leading
    x = numbers(batch, m)
    assert net(x).shape == (*leading, batch, 2)
    check_members(net, x, **(noise_of(net, x) if method in DRAW else {}))


@pytest.mark.parametrize("method", DRAW)
def test_what_is_given_is_used_and_what_is_not_is_drawn(method):
    net, x = vectors(method), numbers(B, m)
    buffers = copy.deepcopy(net.state_dict())
    first, again, other = (net.noise(seeded(i), x) for i in (0, 0, 1))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert torch.equal(net(x, noise=first), net(x, noise=again))
    assert not torch.allclose(net(x, noise=first), net(x, noise=other))
    assert not torch.allclose(net(x), net(x))
    torch.manual_seed(5)
    y = net(x)
    torch.manual_seed(5)
    assert torch.equal(net(x), y)
    assert all(torch.equal(value, buffers[key]) for key, value in net.state_dict().items())


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_a_layer_that_is_called_twice_draws_once(method):
    class Twice(Model):
        def parts(self):
            return {"head": nn.Linear(m, m)}

        def forward(self, x):
            return torch.stack([self.head(x), self.head(x)], 1)

    net, x = vectors(method, Twice), numbers(B, m)
    y = net(x)
    assert torch.equal(y[:, :, 0], y[:, :, 1])
    assert not torch.allclose(y[0], y[1])


def test_noise_for_each_example_is_that_of_a_batch_of_one():
    net = vectors("rank1", samples=S, per_example=True)
    one = vectors("rank1", samples=S)
    one.load_state_dict(net.state_dict())
    x = numbers(B, m)
    noise = net.noise(seeded(), x)
    y = net(x, noise=noise)
    for b in range(B):
        known = one(x[b : b + 1], noise={key: value[:, :, b] for key, value in noise.items()})
        torch.testing.assert_close(y[:, :, b], known[:, :, 0], **DOUBLE)
    assert not torch.allclose(net(x), net(x))


@pytest.mark.parametrize("estimator", ["local", "flipout"])
def test_estimators_are_those_of_the_layer(estimator):
    net = ensemble(nn.Linear(m, 2).double(), "mean_field", estimator=estimator)
    x = numbers(B, m)
    noise = net.noise(seeded(), x)
    known = net.model(x.expand(M, B, m), {key.lstrip("."): v for key, v in noise.items()})
    torch.testing.assert_close(net(x, noise=noise), known, **DOUBLE)
    assert not torch.allclose(net(x), net(x))


class Reuses(nn.Module):
    """One dropout for inputs of two shapes, one that no pass calls, and channels that drop."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(2, 101, 3), nn.Linear(101, 3)
        self.channels, self.drop, self.idle = nn.Dropout2d(0.4), nn.Dropout(0.3), nn.Dropout(0.2)

    def forward(self, x):
        h = self.channels(self.drop(self.conv(x)))
        return self.drop(self.head(h.mean((-1, -2)))), h


@pytest.mark.parametrize("training", [False, True])
def test_masks_of_samples_are_one_for_the_batch_and_drop_as_often_as_they_should(training):
    net, x = vectors("mc_dropout", Reuses, number=7).train(training), numbers(B, 2, 6, 5)
    noise = net.noise(seeded(), x)
    assert set(noise) == {"channels.mask", "drop.mask", "drop.mask1"}
    h = net(x, noise=noise)[1]
    dropped = h == 0
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert not torch.equal(dropped[0], dropped[1])
    channels = dropped[:, 0].flatten(2).all(-1)
    assert abs(channels.double().mean() - 0.4) < 0.1
    assert abs(dropped[:, 0].flatten(2)[~channels].double().mean() - 0.3) < 0.02
    check_members(net, x, noise=noise)
    member = net.member(0, noise)
    assert torch.equal(member(x)[0], member(x)[0])  # each pass begins with the first mask
    with pytest.raises(ValueError, match="noise has nothing for drop"):
        net(x, noise={})


@pytest.mark.parametrize("method", METHODS)
def test_in_training_each_member_has_masks_of_its_own_but_for_a_body_that_is_one(method):
    class Drops(Vectors):
        def forward(self, x):
            return self.head(x.new_zeros(len(x), n)), self.drop(F.dropout(torch.ones(B, 101)))

    net = vectors(method, Drops).train()
    dropped = net(numbers(B, m))[1] == 0
    assert 0.5 < dropped.double().mean() < 0.8
    alike = torch.equal(dropped[0], dropped[1])
    assert alike is (method == "last_layer")
    assert not torch.equal(dropped[0, 0], dropped[0, 1])


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble", "rank1"])
def test_each_member_mixes_a_batch_in_an_order_of_its_own(method, monkeypatch):
    entry = MODELS["mixup"]
    net, (x,) = converted(entry, method).train(), entry.batch()
    for part in net.modules():
        part.train(not isinstance(part, nn.Dropout))
    noise = noise_of(net) if method == "rank1" else {}
    orders = set()
    for _ in range(3):
        y = net(x, **noise)
        for i in range(M):
            alone = net.member(i, *noise.values()).train()
            alone.drop.eval()
            for order in itertools.permutations(range(B)):
                with monkeypatch.context() as patch:
                    patch.setattr(torch, "randperm", lambda _, order=order: torch.tensor(order))
                    if torch.allclose(alone(x), y[i], **DOUBLE):
                        orders.add(order)
                        break
            else:
                raise AssertionError("no order makes the member's output")
    assert len(orders) > 3


@pytest.mark.parametrize("method", [method for method in METHODS if TABLE[method].members])
def test_own_batches_give_each_member_its_own(method):
    net, x = vectors(method), numbers(M, B, m)
    net.own_batches = True
    given = noise_of(net) if method == "rank1" else {}
    y = net(x, **given)
    for i in range(M):
        torch.testing.assert_close(y[i], net.member(i, *given.values())(x[i]), **DOUBLE)
    same = net(x[:1].expand_as(x), **given)
    for shape in ((B, m), (M + 1, B, m), ()):
        with pytest.raises(ValueError, match=rf"with own_batches is \({M}, B, \.\.\.\)"):
            net(numbers(*shape))
    assert et.predict(net, x[0]).shape == (M, B, 2) and net.own_batches
    net.own_batches = False
    torch.testing.assert_close(net(x[0], **given), same, **DOUBLE)


# In turn.


@pytest.mark.parametrize("method", METHODS[1:])
def test_members_in_turn_are_those_at_once(method):
    net, x = vectors(method).train(), numbers(B, m)
    net.model.drop.train(method == "mc_dropout")
    noise = noise_of(net, x) if method in DRAW else {}
    results = []
    for net.in_turn in (False, True):
        y = net(x, **noise)
        results.append((y, *torch.autograd.grad(loss([y]), list(net.parameters()))))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, **DOUBLE)


def test_one_warning_names_what_has_no_rule():
    entry = MODELS["another way by value"]
    net, (x,) = converted(entry, "batch_ensemble"), entry.batch()
    with pytest.warns(UserWarning, match="in turn") as seen:
        net(x)
    assert len(seen) == 1 and seen[0].filename == __file__
    assert "item" in str(seen[0].message) or "data-dependent" in str(seen[0].message)
    assert net.in_turn
    net(x)  # warnings are errors here
    assert copy.deepcopy(net).in_turn


# Of what is in a model, and stays in it.


def test_a_model_is_never_changed_and_shares_no_memory():
    for name, method in itertools.product(("residual, BatchNorm", "moving averages"), METHODS):
        entry = MODELS[name]
        model = entry.model()
        before = copy.deepcopy(model.state_dict())
        options = {"head": entry.head} if method == "last_layer" else {"initialize": draw_apart}
        options = options if method in ("last_layer", "deep_ensemble") else {}
        net = et.ensemble(model, method, **size_option(method, M), **options)
        net.in_turn = method in entry.turns_in_training
        sum(y.square().sum() for y in tensors(net(*entry.batch()))).backward()
        with torch.no_grad():
            for x in (*net.parameters(), *net.buffers()):
                x.zero_()
        for key, value in model.state_dict().items():
            assert torch.equal(value, before[key]), key
        assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_states_copies_and_pickles_are_the_same_ensemble(method):
    entry = MODELS["residual, BatchNorm"]
    net, other = converted(entry, method), converted(entry, method)
    buffer, whole = io.BytesIO(), io.BytesIO()
    torch.save(net.state_dict(), buffer)
    torch.save(net, whole)
    buffer.seek(0), whole.seek(0)
    other.load_state_dict(torch.load(buffer, weights_only=True))
    (x,), outputs = entry.batch(), []
    twins = [net, other, copy.deepcopy(net), torch.load(whole, weights_only=False)]
    for twin in (*twins, pickle.loads(pickle.dumps(net)), net.double()):
        torch.manual_seed(0)
        outputs.append(twin(x))
    assert all(torch.equal(outputs[0], y) for y in outputs)
    with torch.no_grad():
        for parameter in twins[2].parameters():
            parameter.zero_()
    assert any(parameter.any() for parameter in net.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_modes_frozen_weights_and_types_follow_the_model(method):
    model = Vectors().eval()
    assert not any(part.training for part in ensemble(model, method).modules())
    if method in (*FAST, "mc_dropout"):
        model.fc.weight.requires_grad_(False)
        net = ensemble(model, method)
        frozen = {key for key, p in net.named_parameters() if not p.requires_grad}
        known = {"weight_mean", "weight_rho"} if method == "mean_field" else {"weight"}
        assert frozen == {f"model.fc.{key}" for key in known}
        given = noise_of(net, torch.ones(1, m)) if method in DRAW else {}
        trains = [p.requires_grad for p in net.member(0, *given.values()).parameters()]
        assert trains == [False, True, True, True]
    net = ensemble(Vectors(), method)
    assert net(torch.ones(B, m)).dtype == torch.float32
    assert net.double()(numbers(B, m)).dtype == torch.float64
    assert f"leading=({M},)" in repr(net)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["residual, BatchNorm", "encoder", "GRU, time first"])
def test_autocast_is_torchs_own(name, method):
    entry = MODELS[name]
    net = converted(entry, method).float()
    net.in_turn = method in entry.turns
    args = [x.float() if x.is_floating_point() else x for x in entry.batch()]
    noise = noise_of(net, *args) if method in DRAW else {}
    full = tensors(net.eval()(*args, **noise))
    member = net.member(0, *noise.values())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low, alone = tensors(net(*args, **noise)), tensors(member(*args))
    for y, near, own in zip(low, full, alone, strict=True):
        assert y.dtype == own.dtype
        torch.testing.assert_close(y.float(), near, rtol=0.1, atol=0.1)
        assert not torch.equal(y.float(), near)


@pytest.mark.parametrize("method", METHODS)
def test_threads_at_once_get_what_each_gets_alone(method, monkeypatch):
    class Meets(Vectors):
        def parts(self):
            return super().parts() | {"meet": Meet()}

        def forward(self, x):
            return self.head(self.meet(self.hidden(x)))

    net = vectors(method, Meets)
    inputs = [(i + 1) * numbers(size, m) for i, size in enumerate((B, 3))]
    given = [noise_of(net, x, seed=i) if method in DRAW else {} for i, x in enumerate(inputs)]
    runs = [lambda x=x, noise=n: net(x, **noise) for x, n in zip(inputs, given, strict=True)]
    alone = [run() for run in runs]
    meeting(monkeypatch, len(runs))
    for _ in range(3):
        for y, known in zip(at_once(*runs), alone, strict=True):
            assert torch.equal(y, known)


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
def test_compiled_and_exported_it_is_the_same(method):
    net, x = vectors(method), numbers(B, m)
    noise = noise_of(net, x) if method in DRAW else {}
    known = net(x, **noise)
    whole = torch.compile(net, backend="eager", fullgraph=True)
    torch.testing.assert_close(whole(x, **noise), known, **DOUBLE)
    shapes = {"args": ({0: torch.export.Dim("batch")},)}
    if method not in DRAW:
        graph = torch.export.export(net, (x,), dynamic_shapes=shapes).module()
        for size in (1, 3, B):
            torch.testing.assert_close(graph(x[:size]), known[:, :size], **DOUBLE)


# Where members start.


@pytest.mark.parametrize("method", FAST)
def test_a_trained_model_is_where_a_narrow_start_begins(method):
    entry = MODELS["vision transformer"]
    model, args = entry.model().eval(), entry.batch()
    narrow = {"init": "normal", "init_std": 1e-9} if method != "mean_field" else {}
    narrow |= {"posterior_std": 1e-9} if method != "batch_ensemble" else {}
    net = et.ensemble(model, method, **size_option(method, M), **narrow)
    torch.testing.assert_close(net(*args)[1], model(*args), rtol=1e-6, atol=1e-6)


def test_options_reach_every_layer_and_the_divergence_is_their_sum():
    prior = Normal(0.5, 0.25)
    options = {
        "batch_ensemble": {"init": "normal", "init_std": 0.125},
        "rank1": {"prior": prior, "init": "signs", "init_std": 0.3, "posterior_std": 0.2},
        "mean_field": {"prior": prior, "posterior_std": 0.2, "estimator": "weights"},
    }
    for method, own in options.items():
        net = converted(MODELS["bilinear"], method, **own)
        layers = [part for part in net.modules() if isinstance(part, WeightLayer)]
        assert len(layers) == 3
        assert all({name: getattr(one, name) for name in own} == own for one in layers)
        known = sum(one.kl().mean() for one in layers) if method in DRAW else 0
        torch.testing.assert_close(et.kl(net), torch.as_tensor(known, dtype=et.kl(net).dtype))


def norms():
    return nn.Sequential(
        nn.BatchNorm1d(5), nn.LayerNorm(5), nn.GroupNorm(1, 5), nn.RMSNorm(5), nn.PReLU(5),
        nn.InstanceNorm1d(5, affine=True), nn.Embedding(19, 5), nn.SyncBatchNorm(5),
    )  # fmt: skip


class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(7))
        self.token, self.positions = (nn.Parameter(torch.ones(1, k, 7)) for k in (1, 4))


# model, entries in r, in s, of weights and of biases that have members; shared entries, and biases
ROLES = {
    "linear": (lambda: nn.Linear(7, 11), 7, 11, 77, 11),
    "grouped": (lambda: nn.Conv2d(4, 6, 3, groups=2), 4, 6, 108, 6),
    "signals": (lambda: nn.Conv1d(3, 5, 2, bias=False), 3, 5, 30, 0),
    "transposed": (lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), 4, 6, 108, 6),
    "bilinear": (lambda: nn.Bilinear(7, 3, 11), 7, 11, 231, 11),
    "attention": (lambda: nn.MultiheadAttention(6, 2), 18 + 6, 18 + 6, 144, 18 + 6),
    "cross attention": (
        lambda: nn.MultiheadAttention(6, 2, kdim=3, vdim=5, add_bias_kv=True),
        6 + 3 + 5 + 6, 4 * 6, 6 * (6 + 3 + 5 + 6), 4 * 6, 12,
    ),
    "LSTM": (lambda: nn.LSTM(7, 5), 7 + 5, 20 + 20, 20 * 12, 40),
    "cell": (lambda: nn.GRUCell(7, 5), 7 + 5, 15 + 15, 15 * 12, 30),
    "weight norm": (lambda: parametrizations.weight_norm(nn.Linear(7, 11)), 7, 11, 77, 11, 11),
    "grouped weight norm": (
        lambda: parametrizations.weight_norm(nn.Conv2d(4, 6, 3, groups=2)), 4, 6, 108, 6, 6,
    ),
    "old weight norm": (MODELS["old weight norm"].build, 7 + 22, 22 + 2, 7 * 11 + 11 * 13, 22 + 2, 11),
    "spectral norm": (lambda: parametrizations.spectral_norm(nn.Linear(7, 11)), 7, 11, 77, 11),
    "normalization": (norms, 0, 0, 0, 0, 35 + 95, 25),
    "tokens": (Tokens, 0, 0, 0, 0, 7 + 7 + 28),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("kind", ROLES)
def test_what_parameters_do(kind):
    build, r, s, weights, own, shared, shared_biases = (*ROLES[kind], 0, 0)[:7]
    model = nn.ModuleDict({"part": build(), "linear": nn.Linear(2, 3)})
    for method in FAST:
        fast = M * (r + s) if method != "mean_field" else 0
        count = counting.Count(
            shared=shared + weights,
            per_member=fast,
            scales={"batch_ensemble": 0, "rank1": fast, "mean_field": weights}[method],
            biases=(2 if method == "mean_field" else M) * own + shared_biases,
        )
        linear = counting.layer(2, 3, method, **size_option(method, M))
        net = et.ensemble(model, method, **size_option(method, M))
        assert counting.count(net) == count + linear


def test_shared_takes_names_patterns_and_types():
    class Block(Model):
        def parts(self):
            return {"attn": nn.MultiheadAttention(6, 2), "mlp": nn.Linear(6, 6)}

    def count(shared):
        net = et.ensemble(
            nn.Sequential(Block(), Block(), nn.LSTM(6, 5)), "batch_ensemble", M, shared=shared
        )
        return sum(isinstance(part, WeightLayer) for part in net.modules())

    attention = nn.MultiheadAttention
    assert count(()) == 2 * 3 + 2
    assert (
        count([attention, "2"]) == count(["*.attn", nn.LSTM]) == count([attention, nn.RNNBase]) == 2
    )
    assert count(["?.attn", "2", "1.mlp"]) == 1
    assert count(["0.attn.in_proj_weight"]) == 7
    for bad, error, words in (
        (["*.nothing"], ValueError, "shared must hold names of modules or parameters"),
        ([nn.GRU], ValueError, "types of modules, got <class 'torch.nn.modules.rnn.GRU'>"),
        ([3], TypeError, "shared must hold names, patterns and types, got 3"),
        ("attn", TypeError, "shared must be a sequence of names"),
    ):
        with pytest.raises(error) as raised:
            count(bad)
        assert words in str(raised.value)
    # A name is not the beginning of another.
    model = nn.ModuleDict({"fc": nn.Linear(7, 7), "fc2": nn.Linear(7, 2)})
    found = counting.count(et.ensemble(model, "batch_ensemble", M, shared=["fc"]))
    assert found == counting.Count(shared=49, biases=7) + counting.batch_ensemble(7, 2, M)


def test_ties_of_one_kind_stay_ties():
    entry = MODELS["tied decoder"]
    net = converted(entry, "batch_ensemble")
    assert net.model.head.weight is net.model.embed.weight
    # One module of two names is no tie.
    twice = Entry(
        lambda: nn.Sequential(fc := nn.Linear(m, m), nn.Tanh(), fc), MODELS["mixup"].inputs
    )
    net = converted(twice, "batch_ensemble")
    check_pass(twice, net, [twice.model() for _ in range(M)], "batch_ensemble")


# A last-layer ensemble runs its body once.


class Counts(nn.Linear):
    rows: ClassVar = []

    def forward(self, x):
        Counts.rows.append(tuple(x.shape))
        return super().forward(x)


@pytest.mark.parametrize("head", ["fc", "head"])
def test_a_body_runs_once_whatever_goes_around_the_head(head):
    class Around(Vectors):
        def parts(self):
            body = nn.Sequential(Counts(m, n), nn.BatchNorm1d(n))
            return super().parts() | {"body": body, "fc": nn.Linear(n, n)}

        def forward(self, x):
            h = self.body(x)
            return {"h": h, "y": self.head(h + torch.tanh(self.fc(h)))}

    net, x = vectors("last_layer", Around, head=head).train(), numbers(B, m)
    net.model.drop.eval()
    before = copy.deepcopy(net.model.body)
    alone = [net.member(i) for i in range(M)]
    Counts.rows = []
    y = net(x)
    assert Counts.rows == [(B, m)]
    assert y["h"].shape == (M, B, n)
    for i, one in enumerate(alone):
        torch.testing.assert_close(y["y"][i], one(x)["y"], **DOUBLE)
    before(x)
    torch.testing.assert_close(net.model.body[1].running_var, before[1].running_var)
    single = counting.count(net.model) + counting.Count()
    assert single.per_member == M * (n * n if head == "fc" else 2 * n)


# What is refused.


class Keeps(Model):
    """Keeps something as an attribute."""

    def __init__(self, keep):
        super().__init__()
        self.act = keep(self)

    def parts(self):
        return {"fc": nn.Linear(m, m), "net": nn.Identity()}

    def one(self, x):
        return self.fc(x)

    def forward(self, x):
        return self.fc(x)


def captured(model):
    fc = model.fc
    return lambda x: fc(x).relu()


def captured_twice(model):
    inner, one = captured(model), model.one
    return {"later": [lambda x: inner(x) + one(x)]}


def hooked():
    model = nn.Sequential(nn.Linear(7, 2))
    model.register_forward_hook(lambda module, x, y, kept=model[0]: kept(x[0]))
    return model


def tied(first, second):
    second.weight = first.weight
    return nn.Sequential(first, second)


class Functional(Vectors):
    def parts(self):
        return super().parts() | {"drop": nn.Identity()}

    def forward(self, x):
        return F.dropout(super().forward(x))


DROPOUT = "model has no dropout to keep active, got "
HEAD = "head must be the name of an nn.Linear or nn.Conv2d of the model"
REFUSED = [
    ("batch_ensemble", lambda: Keeps(captured), {}, ValueError, "act is a function that holds a"),
    ("deep_ensemble", lambda: Keeps(captured_twice), {}, ValueError, "act is a function"),
    ("mean_field", hooked, {}, ValueError, "_forward_hooks is a function that holds a nn.Linear"),
    ("rank1", lambda: nn.Sequential(nn.LazyLinear(2)), {}, ValueError, "lazy parameters"),
    ("rank1", lambda: et.ensemble(nn.Linear(7, 2), "rank1", 3), {}, ValueError, "an ensemble"),
    ("batch_ensemble", nn.Identity, {}, ValueError, "accepted"),
    ("batch_ensemble", lambda: nn.BatchNorm1d(3), {}, ValueError, "accepted"),
    ("rank1", lambda: tied(nn.Embedding(7, 7), nn.Linear(7, 7)), {}, ValueError, "1.weight"),
    ("batch_ensemble", MODELS["einsum"].model, {}, ValueError, "matrix (11, 5, 11)"),
    ("mc_dropout", lambda: nn.Linear(7, 2), {}, ValueError, DROPOUT + "none; accepted are Dropout"),
    ("mc_dropout", Functional, {}, ValueError, "(a call of torch.nn.functional.dropout is none)"),
    ("mc_dropout", lambda: nn.Dropout(0), {}, ValueError, "with p=0"),
    ("mc_dropout", lambda: nn.Sequential(nn.Dropout(1.0)), {}, ValueError, "0 with p=1.0"),
    ("mc_dropout", lambda: nn.Sequential(nn.AlphaDropout()), {}, ValueError, "0 (nn.AlphaDropout)"),
    ("mc_dropout", Vectors, {"shared": ["drop"]}, ValueError, DROPOUT + "none"),
    ("mc_dropout", Vectors, {"p": 0.5}, TypeError, "options of 'mc_dropout' are none, got 'p'"),
    ("mc_dropout", Vectors, {"ensemble_size": 3}, ValueError, "accepted is samples=3"),
    ("mc_dropout", Vectors, {"samples": 0}, ValueError, "samples must be a positive integer"),
    ("batch_ensemble", Vectors, {"samples": 2}, ValueError, "which draws nothing"),
    ("batch_ensemble", Vectors, {"modulated": ["fcs"]}, ValueError, "modulated must hold names"),
    ("last_layer", Vectors, {}, TypeError, HEAD),
    ("last_layer", Vectors, {"head": "drop"}, ValueError, "got 'drop'; it has fc, head"),
    ("last_layer", Vectors, {"head": "fc", "init": "signs"}, TypeError, "options of 'last_layer'"),
    ("single", Vectors, {}, ValueError, "method must be one of 'deep_ensemble', 'batch_ensemble'"),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(("method", "build", "options", "error", "words"), REFUSED)
def test_what_cannot_be_is_named(method, build, options, error, words):
    sizes = {} if method == "single" or {"samples", "ensemble_size"} & {*options} else None
    sizes = size_option(method, M) if sizes is None else sizes
    if "samples" in options and TABLE[method].members:
        sizes = {"ensemble_size": M}
    with pytest.raises(error) as raised:
        et.ensemble(build(), method, **sizes, **options)
    assert words in str(raised.value)


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_models_are_named():
    for model in (torch.compile(nn.Linear(7, 2)), nn.Sequential(torch.compile(nn.Linear(7, 2)))):
        with pytest.raises(ValueError, match=r"is compiled .* accepted is the model itself"):
            et.ensemble(model, "batch_ensemble", M)


@pytest.mark.parametrize("method", ["deep_ensemble", *FAST])
def test_layers_that_nobody_converts_are_named(method):
    def ring(_):
        found = [{"a": (0, nn.Linear(m, m))}, nn.ReLU()]
        return [*found, found]

    with pytest.warns(UserWarning, match=r"act\[0\]\['a'\]\[1\] \(nn\.Linear\), .* nn\.ModuleList"):
        ensemble(Keeps(ring), method)
    for keep in (
        lambda model: [model.fc, {"first": model.net}],
        lambda _: nn.ModuleList([nn.Linear(m, m)]),
        lambda _: [nn.ReLU(), "words", 3, nn.Linear],
    ):
        assert ensemble(Keeps(keep), method)(torch.ones(B, m)).shape == (M, B, m)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("method", "index", "noise", "error", "words"),
    [
        ("batch_ensemble", M, None, ValueError, "index must be below the leading axes (3,), got 3"),
        ("batch_ensemble", -1, None, ValueError, "index must be an integer from 0 up, got -1"),
        ("batch_ensemble", 1.0, None, TypeError, "index must be an integer from 0 up, got 1.0"),
        ("batch_ensemble", (0, 1), None, ValueError, "index must be an integer for leading axes"),
        ("batch_ensemble", 0, {"fc.r": 1}, ValueError, "noise"),
        ("deep_ensemble", 0, {"r": 1}, ValueError, "noise must be left out where nothing is drawn"),
        ("deep_ensemble", M, None, ValueError, "index must be below the leading axes (3,), got 3"),
        ("rank1", 0, None, ValueError, "noise must be given for a method that draws"),
        ("rank1", 0, {}, ValueError, "noise has nothing for fc, accepted is what net.noise()"),
        ("rank1", 0, {"7.r": 1}, ValueError, "noise has the key '7.r', accepted are those of"),
        ("mc_dropout", 0, None, ValueError, "noise must be given for a method that draws"),
    ],
)  # fmt: skip
def test_a_member_that_is_none_is_named(method, index, noise, error, words):
    with pytest.raises(error) as raised:
        vectors(method).member(index, noise)
    assert words in str(raised.value)


@pytest.mark.bad_input
def test_noise_that_does_not_fit_is_named():
    net, x = vectors("rank1"), torch.ones(B, m, dtype=torch.float64)
    noise = net.noise()
    for bad, error in (
        ({"fc.r": noise["fc.r"]}, ValueError),
        (noise | {"fc.r": noise["fc.r"][:1]}, ValueError),
        (noise | {"fc.r": noise["fc.r"].float()}, TypeError),
        (noise | {"other.r": noise["fc.r"]}, ValueError),
        (3, TypeError),
    ):
        with pytest.raises(error, match="noise"):
            net(x, noise=bad)
    with pytest.raises((TypeError, ValueError), match="noise"):
        vectors("batch_ensemble")(x, noise=noise)
    with pytest.raises(ValueError, match="inputs"):
        vectors("rank1", per_example=True).noise()
    with pytest.raises(AttributeError, match="ensemble_size cannot be set"):
        net.ensemble_size = 2


@pytest.mark.parametrize("method", METHODS)
def test_outputs_that_no_axis_fits_are_named(method):
    class Opaque(Vectors):
        def forward(self, x):
            return self.head(self.hidden(x)), object()

    with pytest.raises(TypeError, match=r"is a builtins\.object, accepted .* use_cache=False"):
        vectors(method, Opaque)(numbers(B, m))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vectors(method)(x=numbers(0, m)).shape == (M, 0, 2)
