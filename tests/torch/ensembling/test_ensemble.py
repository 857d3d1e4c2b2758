"""What else an ensemble of a model does: passes, options, states, threads, counts, refusals."""

import copy
import io
import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from math import prod
from threading import Barrier
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
from tests.torch.ensembling import models
from tests.torch.ensembling.law import (
    DROPOUT,
    check_pass,
    converted,
    draw_apart,
    noise_for,
    places,
)
from tests.torch.ensembling.models import (
    FAST,
    METHODS,
    MODELS,
    B,
    Entry,
    M,
    Model,
    Vectors,
    forwards,
    m,
)

DRAW = [method for method in METHODS if TABLE[method].stochastic]
EXACT = {"rtol": 1e-11, "atol": 1e-11}
# Torch says so where vmap has a loop of its own.
pytestmark = pytest.mark.filterwarnings(
    "ignore:There is a performance drop", "ignore:`torch.jit:DeprecationWarning"
)


def small(method, build=Vectors, **options):
    return converted(Entry(build, models.vectors), method, **options).eval()


def numbers(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def without_dropout(net):
    for part in net.train().modules():
        part.train(not isinstance(part, DROPOUT))
    return net


@hypothesis.given(st.sampled_from(METHODS), *[st.integers(1, 4)] * 3, st.booleans())
def test_any_sizes(method, number, samples, batch, training):
    entry = Entry(Vectors, lambda: torch.randn(batch, m))
    net = converted(entry, method, number + 1)
    if method == "rank1":
        net.samples = samples
    assert net.leading == ((samples,) if method == "rank1" else ()) + (number + 1,)
    set_mode = without_dropout if training and method != "mc_dropout" else nn.Module.eval
    alones = [set_mode(entry.model()) for _ in range(prod(net.leading))]
    check_pass(entry, set_mode(net), alones, method)
    assert net(x=numbers(0, m)).shape == (*net.leading, 0, 2)


@pytest.mark.parametrize("method", DRAW)
def test_what_is_given_is_used_and_what_is_not_is_drawn(method):
    net, x = small(method), numbers(B, m)
    first, again, other = (noise_for(net, method, (x,), i) for i in (0, 0, 1))
    assert torch.equal(net(x, **first), net(x, **again))
    assert not torch.allclose(net(x, **first), net(x, **other))
    assert not torch.allclose(net(x), net(x))
    torch.manual_seed(5)
    y = net(x)
    torch.manual_seed(5)
    assert torch.equal(net(x), y)


@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_a_layer_that_is_called_twice_draws_once(method):
    twice = forwards(lambda self, x: torch.stack([self.fc(x), self.fc(x)], 1))
    y = small(method, twice)(numbers(B, m))
    assert torch.equal(y[:, :, 0], y[:, :, 1])
    assert not torch.allclose(y[0], y[1])


def test_noise_for_each_example_is_that_of_a_batch_of_one():
    net, one = (small("rank1", samples=2, per_example=each) for each in (True, False))
    one.load_state_dict(net.state_dict())
    x = numbers(B, m)
    noise = net.noise(None, x)
    y = net(x, noise=noise)
    for b in range(B):
        known = one(x[b : b + 1], noise={key: value[:, :, b] for key, value in noise.items()})
        torch.testing.assert_close(y[:, :, b], known[:, :, 0], **EXACT)
    assert not torch.allclose(net(x), net(x))


@pytest.mark.parametrize("estimator", ["local", "flipout"])
def test_estimators_are_those_of_the_layer(estimator):
    net = et.ensemble(nn.Linear(m, 2).double(), "mean_field", samples=M, estimator=estimator)
    x = numbers(B, m)
    for given in ((x,), ()):  # without inputs it is noise of the weights
        noise = net.noise(None, *given)
        known = net.model(x.expand(M, B, m), {key.lstrip("."): v for key, v in noise.items()})
        torch.testing.assert_close(net(x, noise=noise), known, **EXACT)
    assert not torch.allclose(net(x), net(x))


# One dropout for inputs of two shapes, one that no pass calls, and channels that drop.
REUSES = forwards(
    lambda self, x: (
        h := self.channels(self.drop(self.conv(x))), self.drop(self.head(h.mean((-1, -2))))
    ),
    conv=lambda: nn.Conv2d(2, 101, 3), head=lambda: nn.Linear(101, 3),
    channels=lambda: nn.Dropout2d(0.4), idle=lambda: nn.Dropout(0.2),
)  # fmt: skip


@pytest.mark.parametrize("training", [False, True])
def test_masks_of_samples_are_one_for_the_batch_and_drop_as_often_as_they_should(training):
    entry = Entry(REUSES, models.image(2, 6, 5))
    net, (x,) = converted(entry, "mc_dropout", 7).train(training), entry.batch()
    noise = net.noise(None, x)
    assert set(noise) == {"channels.mask", "drop.mask", "drop.mask1"}
    dropped = net(x, noise=noise)[0] == 0
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert not torch.equal(dropped[0], dropped[1])
    channels = dropped[:, 0].flatten(2).all(-1)
    assert abs(channels.double().mean() - 0.4) < 0.1
    assert abs(dropped[:, 0].flatten(2)[~channels].double().mean() - 0.3) < 0.02
    check_pass(entry, net, [entry.model().train(training) for _ in range(7)], "mc_dropout")
    member = net.member(0, noise)
    assert torch.equal(member(x)[1], member(x)[1])  # each pass begins with the first mask
    with pytest.raises(ValueError, match="noise has nothing for drop"):
        net(x, noise={})


@pytest.mark.parametrize("method", METHODS)
def test_in_training_each_member_has_masks_of_its_own_but_for_a_body_that_is_one(method):
    drops = forwards(
        lambda self, x: (self.head(self.fc(x)), self.drop(F.dropout(torch.ones(B, 101))))
    )
    dropped = small(method, drops).train()(numbers(B, m))[1] == 0
    assert 0.5 < dropped.double().mean() < 0.8
    assert torch.equal(dropped[0], dropped[1]) is (method == "last_layer")
    assert not torch.equal(dropped[0, 0], dropped[0, 1])


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble", "rank1"])
def test_each_member_mixes_a_batch_in_an_order_of_its_own(method, monkeypatch):
    entry = MODELS["mixup"]
    net, (x,), orders = without_dropout(converted(entry, method)), entry.batch(), set()
    noise = noise_for(net, method, (x,))
    for y, i in itertools.product([net(x, **noise) for _ in range(3)], range(M)):
        alone, found = without_dropout(net.member(i, *noise.values())), len(orders)
        for order in itertools.permutations(range(B)):
            with monkeypatch.context() as patch:
                patch.setattr(torch, "randperm", lambda _, order=order: torch.tensor(order))
                if torch.allclose(alone(x), y[i], **EXACT):
                    orders.add((order, found))
        assert len(orders) == found + 1
    assert len({order for order, _ in orders}) > M


@pytest.mark.parametrize("method", [method for method in METHODS if TABLE[method].has_members])
def test_own_batches_give_each_member_its_own(method):
    net, x = small(method), numbers(M, B, m)
    net.own_batches = True
    noise = noise_for(net, method, (x,))
    y, same = net(x, **noise), net(x[:1].expand_as(x), **noise)
    for i in range(M):
        torch.testing.assert_close(y[i], net.member(i, *noise.values())(x[i]), **EXACT)
    for shape in ((B, m), (M + 1, B, m), ()):
        with pytest.raises(ValueError, match=rf"with own_batches is \({M}, B, \.\.\.\)"):
            net(numbers(*shape))
    assert et.predict(net, x[0]).shape == (M, B, 2) and net.own_batches
    net.own_batches = False
    torch.testing.assert_close(net(x[0], **noise), same, **EXACT)


@pytest.mark.bad_input  # under the import hook the caller is one frame further
def test_one_warning_names_what_has_no_rule():
    entry = MODELS["early exit"]
    net, (x,) = converted(entry, "batch_ensemble"), entry.batch()
    with pytest.warns(UserWarning, match=r"in turn.* indexing with a boolean mask") as seen:
        net(x)
    assert len(seen) == 1 and seen[0].filename == __file__
    net(x)  # warnings are errors here
    assert net.in_turn and copy.deepcopy(net).in_turn
    layer = nn.TransformerEncoderLayer(6, 2, 7, dropout=0.5, batch_first=True)
    net = et.ensemble(layer, "mc_dropout", samples=3).train()
    with pytest.warns(UserWarning, match="that of attention in training mode; dropout=0.0 there"):
        net(torch.ones(5, 11, 6))
    layer.self_attn.dropout = 0.0
    net = et.ensemble(layer, "mc_dropout", samples=3).train()
    net(torch.ones(5, 11, 6))
    assert not net.in_turn


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["residual, BatchNorm", "moving averages"])
def test_a_model_is_never_changed_and_shares_no_memory(name, method):
    entry = MODELS[name]
    model = entry.model()
    before = copy.deepcopy(model.state_dict())
    options = {"deep_ensemble": {"initialize": draw_apart}, "last_layer": {"head": entry.head}}
    net = et.ensemble(model, method, **size_option(method, M), **options.get(method, {}))
    net.in_turn = method in entry.turns_in_training
    sum(y.square().sum() for y in net(*entry.batch())).backward()
    with torch.no_grad():
        for x in (*net.parameters(), *net.buffers()):
            x.zero_()
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_states_copies_and_pickles_are_the_same_ensemble(method):
    entry = MODELS["residual, BatchNorm"]
    net, other, (x,) = converted(entry, method), converted(entry, method), entry.batch()
    buffer, outputs = io.BytesIO(), []
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer, weights_only=True))
    twins = [net, other, copy.deepcopy(net), pickle.loads(pickle.dumps(net))]
    for twin in twins:
        torch.manual_seed(0)
        outputs.append(twin(x))
    assert all(torch.equal(outputs[0], y) for y in outputs)
    with torch.no_grad():
        for parameter in twins[2].parameters():
            parameter.zero_()
    assert any(parameter.any() for parameter in net.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_modes_frozen_weights_and_types_follow_the_model(method):
    net = small(method, lambda: Vectors().eval())
    assert not any(part.training for part in net.modules())
    assert f"leading=({M},)" in repr(net)
    y = net.float()(torch.ones(B, m))
    assert y.dtype == torch.float32 and net.double()(numbers(B, m)).dtype == torch.float64
    if method in (*FAST, "mc_dropout"):
        model = Vectors()
        model.fc.weight.requires_grad_(False)
        net = et.ensemble(model, method, **size_option(method, M))
        frozen = {key for key, p in net.named_parameters() if not p.requires_grad}
        known = {"weight_mean", "weight_rho"} if method == "mean_field" else {"weight"}
        assert frozen == {f"model.fc.{key}" for key in known}
        noise = noise_for(net, method, (torch.ones(1, m),))
        trains = [p.requires_grad for p in net.member(0, *noise.values()).parameters()]
        assert trains == [False, True, True, True]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["residual, BatchNorm", "encoder", "GRU, time first"])
def test_autocast_is_torchs_own(name, method):
    entry = MODELS[name]
    net = converted(entry, method).float().eval()
    net.in_turn = method in entry.turns
    args = [x.float() if x.is_floating_point() else x for x in entry.batch()]
    noise = noise_for(net, method, args)
    full, member = net(*args, **noise), net.member(0, *noise.values())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low, alone = net(*args, **noise), member(*args)
    assert low.dtype == alone.dtype
    torch.testing.assert_close(low.float(), full, rtol=0.1, atol=0.1)
    assert not torch.equal(low.float(), full)


class Meet(nn.Module):
    """Does in the middle of a model what a test says: an attribute of the class, so copies do."""

    during = staticmethod(lambda: None)

    def forward(self, x):
        Meet.during()
        return x


def at_once(*runs):
    """Return what each function returns, called in a thread of its own while the others run."""
    with ThreadPoolExecutor(len(runs)) as pool:
        return [future.result() for future in [pool.submit(run) for run in runs]]


def meeting(monkeypatch, threads):
    """Let so many threads wait for each other wherever a model has a `Meet`."""
    barrier = Barrier(threads, timeout=10)  # seconds: a test that waits longer fails
    monkeypatch.setattr(Meet, "during", staticmethod(barrier.wait))


@pytest.mark.parametrize("method", METHODS)
def test_threads_at_once_get_what_each_gets_alone(method, monkeypatch):
    """Of the ensemble and of a member, whose dropout has another mask in its second call."""
    twice = forwards(lambda self, x: self.head(self.drop(self.meet(self.hidden(x)))), meet=Meet)
    net, inputs = small(method, twice), [numbers(size, m, seed=size) for size in (B, 3)]
    noises = [noise_for(net, method, (x,), len(x)) for x in inputs]
    member = net.member(places(net)[-1], *noises[0].values())
    runs = [
        [lambda x=x, noise=own: net(x, **noise) for x, own in zip(inputs, noises, strict=True)],
        [lambda x=x: member(x) for x in inputs],
    ]
    alone = [[run() for run in both] for both in runs]
    meeting(monkeypatch, len(inputs))
    for both, known in zip(3 * runs, 3 * alone, strict=True):
        assert all(map(torch.equal, at_once(*both), known))


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
def test_compiled_and_exported_it_is_the_same(method):
    normed = forwards(
        lambda self, x: self.norm(self.head(self.hidden(x))), norm=lambda: nn.BatchNorm1d(2)
    )
    net, x = small(method, normed), numbers(B, m)
    noise = noise_for(net, method, (x,))
    known = net(x, **noise)
    whole = torch.compile(net, backend="eager", fullgraph=True)
    torch.testing.assert_close(whole(x, **noise), known, **EXACT)
    if method not in DRAW:
        shapes = {"args": ({0: torch.export.Dim("batch")},)}
        graph = torch.export.export(net, (x,), dynamic_shapes=shapes).module()
        for size in (1, 3, B):
            torch.testing.assert_close(graph(x[:size]), known[:, :size], **EXACT)


@pytest.mark.parametrize("method", FAST)
def test_a_trained_model_is_where_a_narrow_start_begins(method):
    entry = MODELS["vision transformer"]
    model, args = entry.model().eval(), entry.batch()
    narrow = {"init": "normal", "init_std": 1e-9} if method != "mean_field" else {}
    narrow |= {"posterior_std": 1e-9} if method != "batch_ensemble" else {}
    net = et.ensemble(model, method, **size_option(method, M), **narrow)
    torch.testing.assert_close(net(*args)[1], model(*args), rtol=1e-6, atol=1e-6)


def test_options_reach_every_layer_and_the_divergence_is_their_sum():
    drawn = {"prior": Normal(0.5, 0.25), "posterior_std": 0.2}
    options = {
        "batch_ensemble": {"init": "normal", "init_std": 0.125},
        "rank1": {**drawn, "init": "signs", "init_std": 0.3},
        "mean_field": drawn,
    }
    for method, own in options.items():
        net = converted(MODELS["bilinear"], method, **own)
        layers = [part for part in net.modules() if isinstance(part, WeightLayer)]
        assert len(layers) == 3
        assert all({name: getattr(one, name) for name in own} == own for one in layers)
        known = sum(one.kl().mean() for one in layers) if method in DRAW else 0
        torch.testing.assert_close(et.kl(net), torch.as_tensor(known, dtype=et.kl(net).dtype))


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
        6 + 3 + 5 + 6, 4 * 6, 6 * (6 + 3 + 5 + 6), 6, 0, 18 + 12,
    ),
    "LSTM": (lambda: nn.LSTM(7, 5), 7 + 5, 20 + 20, 20 * 12, 40),
    "cell": (lambda: nn.GRUCell(7, 5), 7 + 5, 15 + 15, 15 * 12, 30),
    "weight norm": (lambda: parametrizations.weight_norm(nn.Linear(7, 11)), 7, 11, 77, 11, 11),
    "grouped weight norm": (
        lambda: parametrizations.weight_norm(nn.Conv2d(4, 6, 3, groups=2)), 4, 6, 108, 6, 6,
    ),
    "old weight norm": (MODELS["old weight norm"].build, 29, 24, 220, 24, 11),
    "spectral norm": (lambda: parametrizations.spectral_norm(nn.Linear(7, 11)), 7, 11, 77, 11),
    "normalization": (lambda: nn.Sequential(
        nn.BatchNorm1d(5), nn.LayerNorm(5), nn.GroupNorm(1, 5), nn.RMSNorm(5), nn.PReLU(5),
        nn.InstanceNorm1d(5, affine=True), nn.Embedding(19, 5), nn.SyncBatchNorm(5),
    ), 0, 0, 0, 0, 35 + 95, 25),
    "tokens": (lambda: nn.ParameterDict(
        {"scale": torch.ones(7), "token": torch.ones(1, 1, 7), "positions": torch.ones(1, 4, 7)}
    ), 0, 0, 0, 0, 7 + 7 + 28),
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
            stds={"batch_ensemble": 0, "rank1": fast, "mean_field": weights}[method],
            biases=(2 if method == "mean_field" else M) * own + shared_biases,
        )
        linear = counting.layer(2, 3, method, **size_option(method, M))
        assert (
            counting.count(et.ensemble(model, method, **size_option(method, M))) == count + linear
        )


@pytest.mark.bad_input
def test_shared_takes_names_patterns_and_types():
    def block():
        return nn.ModuleDict({"attn": nn.MultiheadAttention(6, 2), "mlp": nn.Linear(6, 6)})

    def count(*shared):
        model = nn.Sequential(block(), block(), nn.LSTM(6, 5))
        net = et.ensemble(model, "batch_ensemble", M, shared=shared)
        return sum(isinstance(part, WeightLayer) for part in net.modules())

    attention = nn.MultiheadAttention
    assert count() == 2 * 3 + 2
    assert count(attention, "2") == count("*.attn", nn.LSTM) == count(attention, nn.RNNBase) == 2
    assert count("?.attn", "2", "1.mlp") == 1
    assert count("0.attn.in_proj_weight") == 7
    for bad, error, words in (
        ("*.nothing", ValueError, "shared must hold names of modules or parameters"),
        (nn.GRU, ValueError, "types of modules, got <class 'torch.nn.modules.rnn.GRU'>"),
        (3, TypeError, "shared must hold names, patterns and types, got 3"),
    ):
        with pytest.raises(error) as raised:
            count(bad)
        assert words in str(raised.value)
    # A name is not the beginning of another.
    model = nn.ModuleDict({"fc": nn.Linear(7, 7), "fc2": nn.Linear(7, 2)})
    found = counting.count(et.ensemble(model, "batch_ensemble", M, shared=["fc"]))
    assert found == counting.Count(shared=49, biases=7) + counting.batch_ensemble(7, 2, M)


def test_ties_of_one_kind_stay_ties():
    net = converted(MODELS["tied decoder"], "batch_ensemble")
    assert net.model.head.weight is net.model.embed.weight
    # One module of two names is no tie.
    twice = Entry(lambda: nn.Sequential(fc := nn.Linear(m, m), nn.Tanh(), fc), models.vectors)
    net = converted(twice, "batch_ensemble")
    check_pass(twice, net, [twice.model() for _ in range(M)], "batch_ensemble")


class Counts(nn.Linear):
    rows: ClassVar = []

    def forward(self, x):
        Counts.rows.append(tuple(x.shape))
        return super().forward(x)


@pytest.mark.parametrize("head", ["fc", "head"])
def test_a_body_runs_once_whatever_goes_around_the_head(head):
    around = forwards(
        lambda self, x: (self.head((h := self.body(x)) + torch.tanh(self.fc(h))), h),
        body=lambda: nn.Sequential(Counts(m, models.n), nn.BatchNorm1d(models.n)),
        fc=lambda: nn.Linear(models.n, models.n),
    )
    entry = Entry(around, models.vectors, head)
    net, (x,) = converted(entry, "last_layer").train(), entry.batch()
    check_pass(entry, net, [entry.model() for _ in range(M)], "last_layer")
    Counts.rows.clear()
    assert net(x)[1].shape == (M, B, models.n)
    assert Counts.rows == [(B, m)]
    assert counting.count(net).per_member == M * models.n * (models.n if head == "fc" else 2)


class Keeps(Model):
    """Keeps something as an attribute."""

    parts: ClassVar = {"fc": lambda: nn.Linear(m, m), "net": nn.Identity}

    def __init__(self, keep):
        super().__init__()
        self.act = keep(self)

    def forward(self, x):
        return self.fc(x)


@pytest.mark.parametrize("method", ["deep_ensemble", *FAST])
def test_layers_that_nobody_converts_are_named(method):
    def ring(_):
        found = [{"a": (0, nn.Linear(m, m))}, nn.ReLU()]
        return [*found, found]

    with pytest.warns(UserWarning, match=r"act\[0\]\['a'\]\[1\] \(nn\.Linear\), .* nn\.ModuleList"):
        small(method, lambda: Keeps(ring))
    for keep in (
        lambda model: [model.fc, {"first": model.net}],
        lambda _: nn.ModuleList([nn.Linear(m, m)]),
        lambda _: [nn.ReLU(), "words", 3, nn.Linear],
    ):
        assert small(method, lambda keep=keep: Keeps(keep))(numbers(B, m)).shape == (M, B, m)
