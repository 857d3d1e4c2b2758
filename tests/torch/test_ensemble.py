"""Whole models as ensembles: against a loop of plain models, one a member, each with the weights
that the ensemble's layers say they have."""

import copy
import io
import math
from collections import OrderedDict, namedtuple

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.priors import Normal
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatLayer, Pass
from ensedu.torch.whole.flatten import FlatEnsemble

M, B, S = 3, 5, 2
FLAT = ("batch_ensemble", "rank1", "mean_field")
METHODS = ("deep_ensemble", *FLAT)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
OPTIONS = {
    "deep_ensemble": {},
    "batch_ensemble": {"init": "normal"},
    "rank1": {"init_std": 0.3, "posterior_std": 0.2},
    "mean_field": {"posterior_std": 0.1},
}
Pair = namedtuple("Pair", "logits hidden")


class Attention(nn.Module):
    """Self-attention whose projections are ``nn.Linear``."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, keep=None):
        split = [
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        mask = None if keep is None else keep[:, None, None, :]
        y = F.scaled_dot_product_attention(*split, attn_mask=mask)
        return self.out(y.transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Tokens in (integers), one block before an average, a dict out."""

    def __init__(self, tokens=19, width=12):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.attention = Attention(width, 3)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 23), nn.GELU(), nn.Linear(23, width))
        self.head = nn.Linear(width, 2)

    def forward(self, ids, *, keep=None):
        x = self.embed(ids)
        x = x + self.attention(self.before(x), keep)
        x = x + self.mlp(self.after(x))
        return {"logits": self.head(x.mean(1)), "states": [x], "tokens": ids.shape[1]}


class TwoInputs(nn.Module):
    """Two inputs of different shape, activations in place, a named tuple out."""

    def __init__(self):
        super().__init__()
        self.image = nn.Conv2d(2, 3, 3, bias=False)
        self.table = nn.Linear(7, 11)
        self.head = nn.Linear(3 * 4 * 3 + 11, 2)

    def forward(self, image, table):
        image = F.relu(self.image(image), inplace=True)
        table = F.relu_(self.table(table))
        hidden = torch.cat([torch.flatten(image, 1), table], dim=1)
        return Pair(self.head(hidden), (hidden, None))


class InPlaceFirst(nn.Module):
    """Works in place on its own input."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(7, 2)

    def forward(self, x):
        return self.head(x.mul_(2).sub_(1))


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


def convert(model, method, number=M, **options):
    return et.ensemble(model, method, **size_option(method, number), **options)


def options_of(method, head):
    return {"head": head} if method == "last_layer" else OPTIONS[method]


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def ids(*shape):
    return torch.randint(19, shape, generator=torch.Generator().manual_seed(7))


def mlp():
    return nn.Sequential(
        nn.Linear(7, 11), nn.ReLU(inplace=True), nn.Linear(11, 13, bias=False), nn.Tanh(),
        nn.Dropout(0.3), nn.Linear(13, 2),
    )  # fmt: skip


def keep(*shape):
    """A mask of tokens that leaves at least the first of each example."""
    mask = ids(*shape) > 5
    mask[:, 0] = True
    return mask


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
# Each at its published size with one method; its blocks, above, meet all of them.
BIG = {
    "ResNet-50": (models.resnet50, lambda: (numbers(2, 3, 32, 32),), dict, "head.2", "rank1"),
    "WRN-28-10": (
        models.wide_resnet, lambda: (numbers(2, 3, 8, 8),), dict, "head.2", "batch_ensemble",
    ),
}  # fmt: skip
DEEP = (lambda: models.wide_resnet(28, 1), *MODELS["WRN-10-1"][1:])


def warmed_up(build, args, kwargs):
    """A model in float64 whose normalization has seen data, so that eval mode is no identity."""
    torch.manual_seed(0)
    model = build().double()
    for _ in range(2):
        model(*copy.deepcopy(args), **kwargs)
    return model.eval()


def members(plain, net, noise):
    """The plain model with the weights of each member, of each sample, or of both in turn."""
    results = [copy.deepcopy(plain) for _ in range(math.prod(net.leading))]
    for name, module in plain.named_modules():
        flat = net.model.get_submodule(name)
        if not isinstance(flat, FlatLayer):
            continue
        layer = flat.layer
        own = {k.rpartition(".")[2]: v for k, v in noise.items() if k.rpartition(".")[0] == name}
        weights = layer.weight_matrices(*([own] if own else []))
        weights = weights.flatten(0, len(net.leading) - 1).transpose(1, 2)
        if module.bias is None:
            biases = None
        elif hasattr(layer, "bias"):
            biases = layer.bias.expand(*net.leading, -1).flatten(0, -2)
        else:
            biases = layer.bias_mean + F.softplus(layer.bias_rho) * own["bias"]
        for i, result in enumerate(results):
            part = result.get_submodule(name)
            part.weight = nn.Parameter(weights[i])
            part.bias = None if biases is None else nn.Parameter(biases[i])
    return results


def leaves(tree):
    """All tensors in `tree`, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    parts = (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple | list) else []
    )
    return [leaf for part in parts for leaf in leaves(part)]


def check_members(build, make_args, make_kwargs, head, method, *, number=M, **sizes):
    args, kwargs = make_args(), make_kwargs()
    plain = warmed_up(build, args, kwargs)
    before = copy.deepcopy(plain.state_dict())
    net = convert(plain, method, number, **sizes, **options_of(method, head))
    if method == "deep_ensemble":
        noise, plains = {}, list(net.members)
    else:
        noise = {"noise": net.noise(torch.Generator().manual_seed(11))}
        plains = members(plain, net, noise["noise"])
    outputs = leaves(net(*copy.deepcopy(args), **kwargs, **noise))
    assert outputs
    for i, own in enumerate(plains):
        expected = leaves(own(*copy.deepcopy(args), **kwargs))
        assert len(outputs) == len(expected)
        for y, y_i in zip(outputs, expected, strict=True):
            assert y.shape == (*net.leading, *y_i.shape)
            y = y.flatten(0, len(net.leading) - 1)
            torch.testing.assert_close(y[i], y_i, rtol=1e-9, atol=1e-9)
    assert len(plains) == len(outputs[0].flatten(0, len(net.leading) - 1))
    assert not torch.allclose(outputs[0][0], outputs[0][1])
    for name, value in plain.state_dict().items():
        assert torch.equal(value, before[name]), f"{name} of the model itself has changed"


@pytest.mark.parametrize("method", [*METHODS, "last_layer"])
@pytest.mark.parametrize("name", MODELS)
def test_outputs_equal_loop_over_members(name, method):
    check_members(*MODELS[name], method)


@pytest.mark.parametrize("name", MODELS)
def test_outputs_equal_loop_over_samples_of_members(name):
    check_members(*MODELS[name], "rank1", samples=S)


@pytest.mark.parametrize("method", [*METHODS, "last_layer"])
def test_a_network_of_published_depth_equals_loop_over_members(method):
    check_members(*DEEP, method)


@pytest.mark.large
@pytest.mark.parametrize("name", BIG)
def test_published_networks_equal_loop_over_members(name):
    check_members(*BIG[name], number=2)


@pytest.mark.parametrize(
    ("build", "head", "totals"),
    [
        (models.lenet5, "11", (61_706, 246_824, 65_802, 69_190, 123_412, 61_706 + 3 * 850)),
        (
            models.alexnet,
            "18",
            # 61,090,496 weights, 10,344 biases, 28,651 channels and features in and out.
            (61_100_840, 244_403_360, 61_246_476, 61_361_080, 122_201_680, 73_391_840),
        ),
        (
            models.resnet50,
            "head.2",
            (25_557_032, 102_228_128, 25_768_588, 25_977_144, 51_060_944, 31_704_032),
        ),
        (
            models.wide_resnet,
            "head.2",
            (36_479_194, 145_916_776, 36_557_548, 36_635_872, 72_940_436, 36_498_424),
        ),
    ],
)
def test_published_counts(build, head, totals):
    with torch.device("meta"):
        model = build()
    single, *others = totals
    assert counting.count(model).total == single
    heads = {"head": head}
    for method, total in zip((*METHODS, "last_layer"), others, strict=True):
        net = convert(model, method, 4, **(heads if method == "last_layer" else {}))
        count = counting.count(net)
        assert count.total == total == sum(p.numel() for p in net.parameters())
        assert (count.shared == 0) == (method == "deep_ensemble")
        assert (count.scales > 0) == (method in ("rank1", "mean_field"))
        assert count.frozen == 0


@pytest.mark.parametrize("ensemble_size", [1, 2])
def test_everything_in_a_deep_ensemble_belongs_to_a_member(ensemble_size):
    net = et.ensemble(models.wide_resnet(10, 1), "deep_ensemble", ensemble_size)
    single = counting.count(models.wide_resnet(10, 1))
    expected = counting.Count(
        per_member=ensemble_size * single.shared, biases=ensemble_size * single.biases
    )
    assert counting.count(net) == expected
    assert counting.count(nn.Sequential(nn.Linear(2, 3), net)).shared == 6


@pytest.mark.parametrize("method", [*METHODS, "last_layer"])
@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_gets_a_gradient(name, method):
    build, make_args, make_kwargs, head = MODELS[name]
    net = convert(build().double(), method, **options_of(method, head)).train()
    outputs = leaves(net(*make_args(), **make_kwargs()))
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
@pytest.mark.parametrize("method", METHODS)
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


def test_a_copy_counts_its_own_batch():
    net = et.ensemble(mlp(), "batch_ensemble", M)
    twin = copy.deepcopy(net)
    passes = {id(part._pass) for part in twin.modules() if isinstance(part, FlatLayer)}
    assert passes == {id(twin._pass)}
    assert id(net._pass) not in passes


@pytest.mark.parametrize("method", METHODS)
def test_autocast_follows_torch(method):
    for build, x in ((models.lenet5, numbers(B, 1, 28, 28).float()), (Transformer, ids(B, 6))):
        net = convert(build(), method)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.manual_seed(0)
            low = leaves(net(x))[0]
        torch.manual_seed(0)
        full = leaves(net(x))[0]
        torch.testing.assert_close(low.float(), full, rtol=0.1, atol=0.1)
        assert not torch.equal(low.float(), full)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "method", "options"),
    [
        ("mlp", "deep_ensemble", {}),
        ("mlp", "mc_dropout", {}),
        ("mlp", "rank1", {"samples": S}),
        ("in place first", "last_layer", {"head": "head"}),
        ("two inputs", "rank1", {}),
        ("WRN-10-1", "batch_ensemble", {}),
        ("Transformer", "mean_field", {}),
    ],
)
def test_compiles_to_the_same_graph_of_operations(name, method, options):
    build, make_args, make_kwargs, _ = MODELS[name]
    torch.compiler.reset()  # what other tests compiled counts against the limit of this one
    net = convert(build().double(), method, **options).eval()
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    for batch in (B, B - 2):  # a second batch size must not meet what the first one left behind
        args = tuple(x[:batch] for x in make_args())
        kwargs = {key: x[:batch] for key, x in make_kwargs().items()}
        torch.manual_seed(0)
        expected = leaves(net(*args, **kwargs))
        torch.manual_seed(0)
        for y, y_eager in zip(leaves(compiled(*args, **kwargs)), expected, strict=True):
            torch.testing.assert_close(y, y_eager)


def test_outputs_keep_their_structure():
    net = et.ensemble(Transformer(), "batch_ensemble", M)
    outputs = net(ids(B, 6))
    assert list(outputs) == ["logits", "states", "tokens"]
    assert outputs["tokens"] == 6
    assert isinstance(outputs["states"], list)
    pair = et.ensemble(TwoInputs(), "rank1", M)(numbers(B, 2, 6, 5).float(), numbers(B, 7).float())
    assert isinstance(pair, Pair)
    assert pair.hidden[1] is None
    assert pair.logits.shape == (M, B, 2)

    class Ordered(nn.Linear):
        def forward(self, x):
            return OrderedDict(b=super().forward(x), a=x)

    outputs = et.ensemble(nn.Sequential(nn.Linear(7, 7), Ordered(7, 2)), "deep_ensemble", M)(
        numbers(B, 7).float()
    )
    assert list(outputs) == ["b", "a"]
    assert isinstance(outputs, OrderedDict)


@pytest.mark.parametrize("method", METHODS)
def test_an_empty_batch_is_a_batch(method):
    net = convert(mlp().double(), method)
    assert net(numbers(0, 7)).shape == (M, 0, 2)


def test_an_input_is_never_changed():
    for method in METHODS:
        x = numbers(B, 7)
        convert(InPlaceFirst().double(), method)(x)
        assert torch.equal(x, numbers(B, 7))


def test_members_of_a_deep_ensemble_start_apart_as_new_models_do():
    torch.manual_seed(0)
    model = warmed_up(lambda: models.wide_resnet(10, 1), (numbers(B, 3, 8, 8),), {})
    net = et.ensemble(model, "deep_ensemble", M)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            own = [one.get_parameter(name) for one in net.members]
            assert not torch.equal(own[0], own[1])
            assert not torch.equal(own[0], parameter)
    for one in net.members:
        for norm in one.modules():
            if isinstance(norm, nn.BatchNorm2d):
                assert not norm.running_mean.any()


def test_inner_modules_are_initialized_before_outer_ones():
    class Ones(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(7, 2)

        def reset_parameters(self):
            nn.init.ones_(self.inner.weight)

        forward = nn.Identity.forward

    net = et.ensemble(Ones(), "deep_ensemble", M)
    assert all((one.inner.weight == 1).all() for one in net.members)
    assert not torch.equal(net.members[0].inner.bias, net.members[1].inner.bias)


def test_initialize_sets_how_members_start():
    class Token(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Parameter(torch.zeros(7))

        def forward(self, x):
            return x + self.token

    net = et.ensemble(
        Token(), "deep_ensemble", M, initialize=lambda one: nn.init.normal_(one.token)
    )
    starts = torch.stack([one.token for one in net.members])
    assert starts.std(dim=0).min() > 1e-3
    assert net(numbers(B, 7).float()).shape == (M, B, 7)


def test_shared_parts_stay_one_copy():
    class Vision(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(1, 3, 3)
            self.scale = nn.Parameter(torch.full((3, 1, 1), 2.0))
            self.head = nn.Linear(3, 2)

        def forward(self, x):
            return self.head((self.stem(x) * self.scale).mean((-1, -2)))

    model, x = Vision(), numbers(B, 1, 8, 8).float()
    for method in METHODS:
        net = convert(model, method, shared=["stem", "scale"])
        count = counting.count(net)
        head = counting.layer(3, 2, method, **size_option(method, M))
        # The stem's 27 weights, the scale's 3, the stem's 3 biases: once.
        assert count == head + counting.Count(shared=30, biases=3)
        assert net(x).shape == (M, B, 2)
    copies = et.ensemble(model, "deep_ensemble", M, shared=["stem", "scale"])
    assert len({id(one.stem) for one in copies.members}) == 1
    assert copies.members[0].scale is copies.members[2].scale is not model.scale
    assert len({id(one.head) for one in copies.members}) == M


def test_tied_weights_work_where_they_can():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(19, 7)
            self.hidden = nn.Linear(7, 7)
            self.decode = nn.Linear(7, 19, bias=False)
            self.decode.weight = self.embed.weight

        def forward(self, tokens):
            return self.decode(self.hidden(self.embed(tokens)))

    tied = Tied()
    net = et.ensemble(tied, "batch_ensemble", M, shared=["decode"])
    assert net.model.decode.weight is net.model.embed.weight
    assert net(ids(B)).shape == (M, B, 19)
    assert (
        counting.count(net).total == 19 * 7 + counting.batch_ensemble(7, 7, ensemble_size=M).total
    )
    copies = et.ensemble(tied, "deep_ensemble", M)
    assert all(one.decode.weight is one.embed.weight for one in copies.members)
    assert copies.members[0].embed.weight is not copies.members[1].embed.weight


@pytest.mark.parametrize("build", [lambda: nn.MultiheadAttention(6, 2), lambda: nn.LSTM(6, 5)])
def test_deep_ensembles_take_what_cannot_be_swapped(build):
    net = et.ensemble(build(), "deep_ensemble", M)
    first, second = (next(iter(one.parameters())) for one in net.members[:2])
    assert not torch.equal(first, second)


@pytest.mark.parametrize("build", [lambda: nn.MultiheadAttention(6, 2), lambda: nn.LSTM(6, 5)])
def test_a_model_that_is_itself_refused_has_a_name(build):
    with pytest.raises(ValueError, match=r"model \(.*list it as shared"):
        et.ensemble(build(), "batch_ensemble", M)


def test_batch_norm_couples_members_in_training_only():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(7, 11), nn.BatchNorm1d(11), nn.ReLU(), nn.Linear(11, 2))
    net = et.ensemble(model.double(), "batch_ensemble", M, init="normal")
    x = numbers(B, 7)
    gradients = {}
    for mode in (True, False):
        net.zero_grad()
        net.train(mode)(x)[0].square().sum().backward()
        gradients[mode] = net.model[0].layer.r.grad.clone()
    assert gradients[True][0].any() and gradients[True][1].any()
    assert gradients[False][0].any() and not gradients[False][1:].any()


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
    net = FlatEnsemble(FlatLayer(layer, own := Pass(M), "", plain), own)
    torch.testing.assert_close(net(x), plain(x).expand(M, -1, -1, -1, -1))


class Names(nn.Module):
    """Two names of which one begins with the other."""

    def __init__(self):
        super().__init__()
        self.fc, self.fc2 = nn.Linear(7, 7), nn.Linear(7, 2)

    def forward(self, x):
        return self.fc2(self.fc(x))


@pytest.mark.parametrize("method", METHODS)
def test_a_name_is_not_the_beginning_of_another(method):
    model = Names()
    net = convert(model, method, shared=["fc"])
    single, own = counting.count(model.fc), counting.layer(7, 2, method, **size_option(method, M))
    assert counting.count(net) == counting.Count(shared=49, biases=7) + own
    first = net.members[0] if method == "deep_ensemble" else net.model
    assert torch.equal(first.fc.weight, model.fc.weight)
    assert single.total == 56


@pytest.mark.parametrize("method", METHODS)
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


def test_shared_parts_keep_their_values_when_outer_modules_initialize_them():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(7, 5), nn.Linear(5, 2)

        def reset_parameters(self):
            nn.init.zeros_(self.body.weight)

        def forward(self, x):
            return self.head(self.body(x))

    model = Outer()
    net = et.ensemble(model, "deep_ensemble", M, shared=["body"])
    assert torch.equal(net.members[1].body.weight, model.body.weight)


def test_layers_in_lists_of_python_are_swapped_too():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(7, 5), nn.Linear(5, 2)
            self.order = [self.a, {"last": self.b}]

        def forward(self, x):
            return self.order[1]["last"](self.order[0](x))

    for method in METHODS:
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


def test_a_pass_that_fails_leaves_nothing_behind():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 7)

        def forward(self, x):
            raise RuntimeError("on purpose")

    net = et.ensemble(Fails(), "batch_ensemble", M)
    with pytest.raises(RuntimeError, match="on purpose"):
        net(numbers(B, 7).float())
    assert net._pass.examples is None and net._pass.noise is None
    assert net.model.fc(numbers(2 * M, 7).float()).shape == (2 * M, 7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ensemble_size", [1, M])
def test_no_input_is_changed_alone_or_by_name(method, ensemble_size):
    class ByName(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(7, 2)

        def forward(self, x, *, input):
            return self.head(x.mul_(2) + input.sub_(1))

    x, named = numbers(B, 7).float(), numbers(B, 7).float()
    net = convert(ByName(), method, ensemble_size)
    y = net(x, input=named)
    assert torch.equal(x, named) and torch.equal(x, numbers(B, 7).float())
    assert y.shape == (ensemble_size, B, 2)


def test_a_layer_tells_its_sizes_and_names_what_it_cannot_give():
    class Reads(nn.Module):
        def __init__(self, key):
            super().__init__()
            self.fc, self.key = nn.Linear(7, 2), key

        def forward(self, x):
            return self.fc(x) * getattr(self.fc, self.key)

    x = numbers(B, 7).float()
    assert et.ensemble(Reads("out_features"), "rank1", M)(x).shape == (M, B, 2)
    with pytest.raises(AttributeError, match=r"fc\.weight, of which each member has its own"):
        et.ensemble(Reads("weight"), "rank1", M)(x)
    with pytest.raises(AttributeError, match="nonsense"):
        et.ensemble(Reads("nonsense"), "rank1", M)(x)


def test_containers_count_as_what_they_hold():
    inner = et.ensemble(nn.Linear(7, 2), "deep_ensemble", M)
    assert counting.count(nn.Sequential(inner, nn.Linear(2, 3))) == counting.Count(
        shared=6, per_member=14 * M, biases=2 * M + 3
    )


def test_the_networks_are_those_of_the_papers():
    kinds = [type(part).__name__ for part in models.lenet5()]
    block = ["Conv2d", "ReLU", "MaxPool2d"]
    assert kinds == [*block, *block, "Flatten", *["Linear", "ReLU"] * 2, "Linear"]

    resnet, x = models.resnet50().eval(), numbers(1, 3, 64, 64).float()
    shapes = []
    for name, part in resnet.named_children():
        x = part(x)
        if name.startswith("block"):
            assert (x >= 0).all()
            shapes.append(tuple(x.shape[1:]))
    stages = [(256, 16, 16)] * 3 + [(512, 8, 8)] * 4 + [(1024, 4, 4)] * 6 + [(2048, 2, 2)] * 3
    assert shapes == stages

    wide, x = models.wide_resnet(16, 1).eval(), numbers(1, 3, 32, 32).float()
    shapes = []
    for name, part in wide.named_children():
        start, x = x, part(x)
        if name.startswith("block"):
            shapes.append(tuple(x.shape[1:]))
            if isinstance(part.around, nn.Identity):
                torch.testing.assert_close(x, start + part.body(part.start(start)))
    assert shapes == [(16, 32, 32)] * 2 + [(32, 16, 16)] * 2 + [(64, 8, 8)] * 2
    for part in (wide, resnet):
        strides = [m.stride for m in part.modules() if isinstance(m, nn.Conv2d) and m.stride[0] > 1]
        assert set(strides) == {(2, 2)}
