"""Any model as an ensemble, against a loop over plain models with each member's own weights."""

import copy
import io

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.priors import Normal
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatLayer
from ensedu.torch.whole.flatten import FlatEnsemble
from ensedu.torch.whole.passes import Passes
from tests.torch.whole.cases import (
    FLAT,
    MEMBER_METHODS,
    OPTIONS,
    SAMPLES,
    B,
    InPlaceFirst,
    M,
    Names,
    S,
    Transformer,
    TwoInputs,
    check_against_loop,
    convert,
    dropped_lenet,
    floats,
    ids,
    keep,
    mlp,
    numbers,
    options_of,
    seeded,
    tensors_in,
)

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def lenet():
    """LeNet-5 as a class with a functional forward pass, as tutorials write it."""

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
            self.fc1, self.fc2, self.fc3 = (
                nn.Linear(400, 120),
                nn.Linear(120, 84),
                nn.Linear(84, 10),
            )

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x), inplace=True), 2)
            x = x.view(x.size(0), -1)
            return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    return LeNet()


def bottlenecks():
    """The blocks of ResNet-50, one of each kind, narrow."""
    return nn.Sequential(
        models.Bottleneck(3, 2, 1), models.Bottleneck(8, 2, 1), models.Bottleneck(8, 5, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(20, 2),
    )  # fmt: skip


# name: (model, positional inputs, keyword inputs, its last layer)
MODELS = {
    "one layer": (lambda: nn.Linear(7, 2), lambda: (numbers(B, 7),), dict, ""),
    "mlp": (mlp, lambda: (numbers(B, 7),), dict, "5"),
    "tokens of a linear layer": (mlp, lambda: (numbers(B, 2, 3, 7),), dict, "5"),
    "LeNet-5": (models.lenet5, lambda: (numbers(B, 1, 28, 28),), dict, "11"),
    "LeNet-5 as a class": (lenet, lambda: (numbers(B, 1, 28, 28),), dict, "fc3"),
    "bottlenecks": (bottlenecks, lambda: (numbers(B, 3, 8, 8),), dict, "5"),
    "WRN-10-1": (lambda: models.wide_resnet(10, 1), lambda: (numbers(B, 3, 8, 8),), dict, "head.2"),
    "Transformer": (Transformer, lambda: (ids(B, 6),), lambda: {"keep": keep(B, 6)}, "head"),
    "two inputs": (TwoInputs, lambda: (numbers(B, 2, 6, 5), numbers(B, 7)), dict, "head"),
    "in place first": (InPlaceFirst, lambda: (numbers(B, 7),), dict, "head"),
}
DEEP = (lambda: models.wide_resnet(28, 1), *MODELS["WRN-10-1"][1:])


@pytest.mark.parametrize("method", [*MEMBER_METHODS, "last_layer"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_equal_loop_over_members(name, method):
    check_against_loop(*MODELS[name], method)


@pytest.mark.parametrize("name", MODELS)
def test_outputs_equal_loop_over_samples_of_members(name):
    check_against_loop(*MODELS[name], "rank1", samples=S)


@pytest.mark.parametrize("method", [*MEMBER_METHODS, "last_layer"])
def test_a_network_of_published_depth_equals_loop_over_members(method):
    check_against_loop(*DEEP, method)


@pytest.mark.parametrize("method", [*MEMBER_METHODS, "last_layer"])
@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_gets_a_gradient(name, method):
    build, make_args, make_kwargs, head = MODELS[name]
    net = convert(build().double(), method, **options_of(method, head)).train()
    outputs = tensors_in(net(*make_args(), **make_kwargs()))
    loss = sum((y * torch.randn_like(y)).sum() for y in outputs)
    loss.backward()
    for key, parameter in net.named_parameters():
        # A key's bias shifts all scores of a query alike, and softmax forgets it.
        if not ("key" in key and "bias" in key):
            assert parameter.grad.abs().max() > 0, key


def test_a_trained_models_weights_survive_exactly():
    # Weights in 1/64, integers as inputs: no sum of these rounds in float64, in any order.
    model = models.lenet5().double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x, labels = numbers(31, 1, 28, 28), torch.arange(31) % 10
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()
    net = et.ensemble(model, "batch_ensemble", M)
    with torch.no_grad():
        for layer in net.modules():
            if hasattr(layer, "r"):
                layer.r.fill_(1)
                layer.s.fill_(1)
    torch.testing.assert_close(net(x), model(x).expand(M, -1, -1), rtol=1e-12, atol=1e-12)
    for parameter in model.parameters():
        parameter.detach().mul_(64).round_().div_(64)
    for layer in net.modules():
        for key in ("weight", "bias"):
            if hasattr(layer, key):
                getattr(layer, key).detach().mul_(64).round_().div_(64)
    x = (4 * x).round()
    assert torch.equal(net(x), model(x).expand(M, -1, -1))


@pytest.mark.parametrize("method", FLAT)
def test_conversion_copies_and_shares_no_memory(method):
    model = models.lenet5()
    model[0].weight.requires_grad_(False)
    net = convert(model, method)
    suffix = "_mean" if method == "mean_field" else ""
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            layer = net.model.get_submodule(name).layer
            weight = layer.get_parameter(f"weight{suffix}")
            bias = layer.get_parameter(f"bias{suffix}")
            assert torch.equal(weight, module.weight)
            assert torch.equal(bias, module.bias.expand_as(bias))
            assert weight.requires_grad == module.weight.requires_grad
            with torch.no_grad():
                weight.zero_()
            assert module.weight.any()
    # A frozen mean freezes its spread with it.
    arrays = 2 if method == "mean_field" else 1
    assert counting.count(net).frozen == arrays * model[0].weight.numel()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", MEMBER_METHODS)
def test_state_copies_and_pickles(method, device):
    def build():
        return convert(models.wide_resnet(10, 1), method).to(device).eval()

    net, other = build(), build()
    x = numbers(B, 3, 8, 8).float().to(device)
    buffer = io.BytesIO()
    torch.save(net.state_dict(), buffer)
    buffer.seek(0)
    other.load_state_dict(torch.load(buffer, weights_only=True))
    whole = io.BytesIO()
    torch.save(net, whole)
    whole.seek(0)
    twins = [net, other, copy.deepcopy(net), torch.load(whole, weights_only=False)]
    outputs = []
    for twin in twins:
        torch.manual_seed(0)
        outputs.append(twin(x))
    assert all(torch.equal(outputs[0], y) for y in outputs[1:])
    with torch.no_grad():
        for parameter in twins[2].parameters():
            parameter.zero_()
    assert all(p.any() for name, p in net.named_parameters() if name.endswith("weight"))


@pytest.mark.parametrize("method", MEMBER_METHODS)
def test_autocast_follows_torch(method):
    for build, x in ((models.lenet5, numbers(B, 1, 28, 28).float()), (Transformer, ids(B, 6))):
        net = convert(build(), method)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.manual_seed(0)
            low = tensors_in(net(x))[0]
        torch.manual_seed(0)
        full = tensors_in(net(x))[0]
        torch.testing.assert_close(low.float(), full, rtol=0.1, atol=0.1)
        assert not torch.equal(low.float(), full)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "method", "options", "backend"),
    [
        # The joint graph is that of the layers, but for what is done in place.
        ("in place first", "last_layer", {"head": "head"}, "aot_eager"),
        ("two inputs", "rank1", {}, "eager"),
        ("WRN-10-1", "batch_ensemble", {}, "eager"),
        ("Transformer", "mean_field", {}, "eager"),
    ],
)
def test_compiles_to_the_same_graph_of_operations(name, method, options, backend):
    build, make_args, make_kwargs, _ = MODELS[name]
    net = convert(build().double(), method, **options).eval()
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    for batch in (B, B - 2):  # a second batch size must not meet what the first one left behind
        args = tuple(x[:batch] for x in make_args())
        kwargs = {key: x[:batch] for key, x in make_kwargs().items()}
        for x in (*args, *kwargs.values()):
            torch._dynamo.mark_dynamic(x, 0)
        torch.manual_seed(0)
        expected = tensors_in(net(*args, **kwargs))
        torch.manual_seed(0)
        for y, y_eager in zip(tensors_in(compiled(*args, **kwargs)), expected, strict=True):
            torch.testing.assert_close(y, y_eager)


def test_modes_and_flags_follow_the_model():
    model = mlp()
    model[0].eval()
    net = et.ensemble(model, "batch_ensemble", M)
    assert not net.model[0].layer.training
    assert net.model[5].layer.training
    assert "leading=(3,)" in repr(net)


def test_every_option_reaches_every_layer():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(32, 2))
    prior = Normal(0.5, 0.25)
    options = {
        "batch_ensemble": {"init": "normal", "init_std": 0.125},
        "rank1": {"prior": prior, "init": "signs", "init_std": 0.3, "posterior_std": 0.2,
                  "per_example": True},
        "mean_field": {"prior": prior, "posterior_std": 0.2, "estimator": "local"},
    }  # fmt: skip
    for method, given in options.items():
        net = convert(model, method, **given)
        layers = [part.layer for part in net.modules() if isinstance(part, FlatLayer)]
        assert len(layers) == 2
        for layer in layers:
            assert {name: getattr(layer, name) for name in given} == given


@pytest.mark.parametrize("method", FLAT)
def test_every_part_of_a_convolutions_geometry_survives(method):
    geometry = {
        "stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2,
        "padding_mode": "circular",
    }  # fmt: skip
    plain = nn.Conv2d(4, 6, (3, 2), **geometry)
    layer = convert(plain, method).model.layer
    for name in (*geometry, "kernel_size", "in_channels", "out_channels"):
        assert getattr(layer, name) == getattr(plain, name)
    # Members with r = s = 1, or without spread, are the layer itself.
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name in ("r", "s", "r_mean", "s_mean"):
                parameter.fill_(1)
            elif name.endswith("rho"):
                parameter.fill_(-60)
    x = numbers(B, 4, 9, 8).float()
    net = FlatEnsemble(FlatLayer(layer, own := Passes(M), "", plain), own)
    torch.testing.assert_close(net(x), plain(x).expand(M, -1, -1, -1, -1))


@pytest.mark.parametrize("method", MEMBER_METHODS)
@pytest.mark.parametrize(
    ("build", "shared", "shape"),
    [
        (Names, ["fc.weight"], (B, 7)),
        (lambda: nn.Sequential(nn.Linear(7, 5), nn.BatchNorm1d(5), nn.Linear(5, 2)), ["1"], (B, 7)),
        (lambda: nn.MultiheadAttention(6, 2), ["out_proj"], None),
    ],
)
def test_a_model_is_never_changed(build, shared, shape, method):
    model = build()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        net = convert(model, method, shared=shared)
    except ValueError:
        assert method != "deep_ensemble"
        return
    for tensor in (*net.parameters(), *net.buffers()):
        assert not tensor.isnan().any()
    if shape:
        net(numbers(*shape).float()).square().sum().backward()
        torch.optim.SGD(net.parameters(), 0.1).step()
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(parameter.grad is None for parameter in model.parameters())


def test_layers_in_lists_of_python_are_swapped_too():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(7, 5), nn.Linear(5, 2)
            self.order = [self.a, {"last": self.b}]

        def forward(self, x):
            return self.order[1]["last"](self.order[0](x))

    for method in MEMBER_METHODS:
        y = convert(Listed(), method, **OPTIONS[method])(numbers(B, 7).float())
        assert not torch.allclose(y[0], y[1])


@pytest.mark.parametrize(
    "norm",
    [
        nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.LayerNorm,
        lambda k: nn.InstanceNorm1d(k, affine=True), lambda k: nn.InstanceNorm2d(k, affine=True),
        lambda k: nn.InstanceNorm3d(k, affine=True), lambda k: nn.GroupNorm(1, k), nn.RMSNorm,
        lambda k: nn.Embedding(k, 3),
    ],
)  # fmt: skip
def test_normalization_and_embeddings_stay(norm):
    model = nn.Sequential(norm(5), nn.Linear(5, 2))
    net = et.ensemble(model, "batch_ensemble", M)
    assert type(net.model[0]) is type(model[0])
    assert counting.count(net) == counting.count(model[0]) + counting.layer(
        5, 2, "batch_ensemble", M
    )


def test_containers_count_as_what_they_hold():
    inner = et.ensemble(nn.Linear(7, 2), "deep_ensemble", M)
    assert counting.count(nn.Sequential(inner, nn.Linear(2, 3))) == counting.Count(
        shared=6, per_member=14 * M, biases=2 * M + 3
    )


def test_a_frozen_mean_has_a_frozen_spread():
    model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 2))
    model[0].weight.requires_grad_(False)
    net = et.ensemble(model, "mean_field", samples=S)
    trains = {name: p.requires_grad for name, p in net.named_parameters()}
    frozen = {name for name, value in trains.items() if not value}
    assert frozen == {"model.0.layer.weight_mean", "model.0.layer.weight_rho"}
    member = net.member(0, net.noise(seeded()))
    assert [p.requires_grad for p in member.parameters()] == [False, True, True, True]


def test_kl_of_a_converted_model_is_that_of_its_layers():
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2))
    for method in ("rank1", "mean_field"):
        net = et.ensemble(model, method, **size_option(method, M))
        layers = [net.model[0].layer, net.model[2].layer]
        torch.testing.assert_close(et.kl(net), sum(layer.kl().mean() for layer in layers))
        assert et.kl(net) > 0
    assert et.kl(et.ensemble(model, "batch_ensemble", M)) == 0


@pytest.mark.parametrize("method", FLAT)
def test_a_trained_model_is_where_a_narrow_start_begins(method):
    torch.manual_seed(0)
    model, x = models.lenet5().double(), floats(B, 1, 28, 28).double()
    narrow = {
        "batch_ensemble": lambda std: {"init": "normal", "init_std": std},
        "rank1": lambda std: {"init_std": std, "posterior_std": std},
        "mean_field": lambda std: {"posterior_std": std},
    }[method]

    def moved(std):
        torch.manual_seed(1)
        with torch.no_grad():
            y = et.ensemble(model, method, **size_option(method, M), **narrow(std))(x)
            return float((y - model(x)).norm() / model(x).norm())

    assert moved(1e-9) < 1e-6
    assert moved(1e-4) < moved(1e-2)


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
def test_a_model_in_eval_mode_is_an_ensemble_in_eval_mode(method):
    net = et.ensemble(nn.Sequential(nn.Linear(7, 2)).eval(), method, M)
    assert not any(part.training for part in net.modules())
    groups = et.parameter_groups(nn.Sequential(nn.LayerNorm([3, 4])), weight_decay=0.1)
    assert groups[0]["params"] == []


def test_a_model_with_dropout_is_copied_and_never_changed():
    model = dropped_lenet().eval()
    before = copy.deepcopy(model.state_dict())
    net = et.ensemble(model, "mc_dropout", samples=SAMPLES)
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    twins = [net, copy.deepcopy(net), torch.load(buffer, weights_only=False)]
    x, outputs = numbers(B, 1, 28, 28).float(), []
    for twin in twins:
        torch.manual_seed(0)
        outputs.append(twin(x))
    assert torch.equal(outputs[0], outputs[1]) and torch.equal(outputs[0], outputs[2])
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.zero_()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [type(part) for part in model if "Dropout" in type(part).__name__] == [
        nn.Dropout2d, nn.Dropout2d, nn.Dropout,
    ]  # fmt: skip
    assert torch.equal(model(x), model(x))


def test_dropout_that_is_shared_stays_as_it_was():
    class Body(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(7, 101), nn.Sequential(nn.Dropout(0.5)))
            self.drop, self.head = nn.Dropout(0.5), nn.Linear(101, 2)

        def forward(self, x):
            y = self.body(x)
            return y, self.head(self.drop(y))

    net = et.ensemble(Body(), "mc_dropout", samples=SAMPLES, shared=["body"])
    kept, y = net.eval()(torch.randn(B, 7))
    assert torch.equal(kept, kept[:1].expand(SAMPLES, -1, -1)) and kept.all()
    assert not torch.equal(y[0], y[1])
    kept, _ = net.train()(torch.randn(B, 7))
    zeros = kept == 0
    assert zeros.any() and not torch.equal(zeros[0, 0], zeros[0, 1])  # a mask an example
    net = et.ensemble(Body(), "mc_dropout", samples=SAMPLES, shared=["drop"])
    kept, y = net.eval()(torch.randn(B, 7))
    assert (kept == 0).any()


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("method", "options", "error", "words"),
    [
        ("mc_dropout", {"p": 0.5}, TypeError, "options of 'mc_dropout' are none, got 'p'"),
        ("mc_dropout", {"ensemble_size": 3}, ValueError, "accepted is samples=3"),
        ("mc_dropout", {"samples": 0}, ValueError, "samples must be a positive integer, got 0"),
        ("mean_field", {"ensemble_size": 3}, ValueError, "accepted is samples=3"),
        ("batch_ensemble", {"ensemble_size": 3, "samples": 2}, ValueError, "which draws nothing"),
        ("last_layer", {"ensemble_size": 3, "init": "signs"}, TypeError, "options of 'last_layer'"),
        ("single", {}, ValueError, "method must be one of 'deep_ensemble', 'batch_ensemble', "),
    ],
)
def test_sizes_and_options_that_a_method_does_not_have(method, options, error, words):
    model = nn.Sequential(nn.Linear(7, 2), nn.Dropout(0.5))
    with pytest.raises(error) as raised:
        et.ensemble(model, method, **options)
    assert words in str(raised.value)


def test_heads_differ_on_one_body():
    plain = models.lenet5().double()
    plain[0].weight.requires_grad_(False)
    x = numbers(B, 1, 28, 28)
    net = et.ensemble(plain, "last_layer", M, head="11")
    y = net(x)
    hidden = plain[:11](x)
    heads = net.model[11].layer
    for i in range(M):
        head = nn.Linear(84, 10).double()
        head.load_state_dict({"weight": heads.weight[i], "bias": heads.bias[i]})
        torch.testing.assert_close(y[i], head(hidden), rtol=1e-12, atol=1e-12)
        assert not torch.equal(head.weight, plain[11].weight)
    assert not torch.allclose(y[0], y[1])
    expected = counting.count(plain[:11]) + counting.layer(84, 10, "deep_ensemble", M)
    assert counting.count(net) == expected
    y.square().sum().backward()
    assert net.model[3].weight.grad.any() and plain[3].weight.grad is None
    assert net.model[0].weight.grad is None
    with torch.no_grad():
        net.model[3].weight.zero_()
    assert plain[3].weight.any()


def test_the_body_may_be_of_any_kind():
    class Reads(nn.Module):
        """An own parameter, attention and a recurrent layer, none of which can be swapped."""

        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(6))
            self.attention = nn.MultiheadAttention(6, 2, batch_first=True)
            self.lstm, self.head2 = nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 5)
            self.head = nn.Conv2d(1, 3, (1, 5))

        def forward(self, x):
            x = self.scale * x
            x, _ = self.lstm(self.attention(x, x, x, need_weights=False)[0])
            return self.head(self.head2(x)[:, None])

    torch.manual_seed(0)
    plain = Reads().double()
    x = numbers(B, 4, 6)
    net = et.ensemble(plain, "last_layer", M, head="head", shared=["attention"])
    y = net(x)
    for i in range(M):
        own = copy.deepcopy(plain)
        own.head.weight = nn.Parameter(net.model.head.layer.weight[i])
        own.head.bias = nn.Parameter(net.model.head.layer.bias[i])
        torch.testing.assert_close(y[i], own(x), rtol=1e-12, atol=1e-12)
    assert not torch.allclose(y[0], y[1])
