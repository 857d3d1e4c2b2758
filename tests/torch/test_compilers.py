"""What ``torch.compile``, ``torch.export`` and ``torch.func`` do with every layer and network.

All of `CASES` pass, all of `LIMITS` are refused. Both serve ONNX too, in `tests/peers`, and
the section *Compile and export* of `book/api/ensembles.md` shows `LIMITS`.
"""

import copy
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.func import functional_call, grad, jvp, vmap

import ensedu.torch as et
from benchmarks import measure
from ensedu.methods import METHODS, size_option
from ensedu.torch import products
from tests.backends import gradients

M, S, m, n = 3, 2, 5, 7
IMAGE = (m, 6, 5)
# The first is below the batch from which a product folds, the last above, of every layer here.
BATCHES = (2, 5, 101)
# What has two forms.
FORMS = (et.BatchEnsembleLinear, et.BatchEnsembleConv2d, et.Rank1Linear, et.Rank1Conv2d)
# Torch's own code generator and forward mode load what they need with torch.jit.
jit = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
PAGE = Path(__file__).parents[2] / "book" / "api" / "ensembles.md"
SECTION = PAGE.read_text(encoding="utf-8").split("\n## Compile and export\n")[1].split("\n## ")[0]


class Small(nn.Module):
    """A model with a convolution, dropout, a linear layer and a head."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(m, n, 3), nn.Tanh(), nn.Dropout(0.3))
        self.last = nn.Linear(n * 4 * 3, 2)

    def forward(self, x):
        return self.last(self.features(x).flatten(1))


class Trains(nn.Module):
    """What runs otherwise in training, and masks by the way."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.last = nn.Conv2d(m, n, 3), nn.BatchNorm2d(n), nn.Linear(n, 2)
        self.drops = nn.ModuleList([nn.Dropout(0.3), nn.Dropout2d(0.3)])

    def forward(self, x):
        h = self.norm(self.conv(x))
        pixels = h.flatten(2).mT.contiguous()
        return self.last(pixels).mean(1), [drop(torch.ones_like(h)) for drop in self.drops]


class Recurrent(nn.Sequential):
    """Has a layer for which ``vmap`` has no rule."""

    def __init__(self):
        super().__init__(nn.Flatten(2), nn.GRU(30, n, batch_first=True))

    def forward(self, x):
        return super().forward(x)[0]


class Functional(nn.Linear):
    """Drops without a module for it."""

    def __init__(self):
        super().__init__(n, n)

    def forward(self, x):
        return nn.functional.dropout(super().forward(x))


@dataclass(frozen=True)
class Case:
    """A module, the shape of one example, the axes in front of the batch."""

    make: Callable[[], nn.Module]
    example: tuple[int, ...]
    leading: tuple[int, ...] = ()

    def batch(self, B: int, **options: Any) -> torch.Tensor:
        return torch.randn(*self.leading, B, *self.example, **options)


def linear(leading, kind, *sizes, **options):
    return Case(lambda: getattr(et, kind)(m, n, *sizes, **options), (m,), leading)


def conv(leading, kind, *sizes, **options):
    return Case(lambda: getattr(et, kind)(m, n, 3, *sizes, **options), IMAGE, leading)


def pooling(leading, kind):
    return Case(lambda: getattr(et, kind)(2), IMAGE, leading)


def dropout(example, leading=(), **options):
    return Case(lambda: et.MCDropout(0.3, **options), example, leading)


def network(method, **options):
    sizes = size_option(method, M) | options
    return Case(lambda: et.mlp([m, n, 2], method, **sizes), (m,))


def converted(method, **options):
    sizes = size_option(method, M) | options
    sizes |= {"head": "last"} if method == "last_layer" else {}
    return Case(lambda: et.ensemble(Small(), method, **sizes).eval(), IMAGE)


CASES = {
    "DeepEnsembleLinear": linear((), "DeepEnsembleLinear", M),
    "DeepEnsembleLinear, members' inputs": linear((M,), "DeepEnsembleLinear", M),
    "BatchEnsembleLinear": linear((), "BatchEnsembleLinear", M),
    "BatchEnsembleLinear, members' inputs": linear((M,), "BatchEnsembleLinear", M, init="normal"),
    "BatchEnsembleLinear, samples": linear((S, M), "BatchEnsembleLinear", M, bias=False),
    "BatchEnsembleLinear, memory_saving": linear(
        (M,), "BatchEnsembleLinear", M, init="normal", memory_saving=True
    ),
    "Rank1Linear": linear((M,), "Rank1Linear", M),
    "Rank1Linear, samples": linear((S, M), "Rank1Linear", M),
    "Rank1Linear, per_example": linear((), "Rank1Linear", M, per_example=True),
    "MeanFieldLinear": linear((), "MeanFieldLinear"),
    "MeanFieldLinear, samples": linear((S,), "MeanFieldLinear"),
    "MeanFieldLinear, local": linear((S,), "MeanFieldLinear", estimator="local"),
    "MeanFieldLinear, flipout": linear((S,), "MeanFieldLinear", estimator="flipout"),
    "DeepEnsembleConv2d": conv((), "DeepEnsembleConv2d", M),
    "BatchEnsembleConv2d": conv((), "BatchEnsembleConv2d", M),
    "BatchEnsembleConv2d, geometry": conv(
        (M,), "BatchEnsembleConv2d", M, stride=2, padding=1, padding_mode="circular"
    ),
    "BatchEnsembleConv2d, memory_saving": conv(
        (M,),
        "BatchEnsembleConv2d",
        M,
        stride=2,
        padding=1,
        padding_mode="circular",
        memory_saving=True,
    ),
    "Rank1Conv2d": conv((), "Rank1Conv2d", M),
    "Rank1Conv2d, per_example": conv((M,), "Rank1Conv2d", M, per_example=True),
    "MeanFieldConv2d": conv((), "MeanFieldConv2d"),
    "MeanFieldConv2d, flipout": conv((), "MeanFieldConv2d", estimator="flipout"),
    "MeanFieldConv2d, local": conv((S,), "MeanFieldConv2d", estimator="local"),
    "Conv2d, samples": conv((S,), "Conv2d"),
    "MaxPool2d, members": pooling((M,), "MaxPool2d"),
    "AvgPool2d, samples of members": pooling((S, M), "AvgPool2d"),
    "MCDropout": dropout((m,)),
    "MCDropout, per_example": dropout((m,), (S,), per_example=True),
    "MCDropout, feature_axes": dropout(IMAGE, feature_axes=3),
    **{f"mlp, {method}": network(method) for method in METHODS},
    "mlp, rank1, samples": network("rank1", samples=S),
    **{f"ensemble, {method}": converted(method) for method in METHODS if method != "single"},
    "ensemble, rank1, samples": converted("rank1", samples=S),
}


# What is traced: the networks of other methods differ from these in the layers alone. More models
# are in `ensembling/test_ensemble.py`.
TRACED = {name for name in CASES if not name.startswith(("mlp", "ensemble"))} | {
    "mlp, last_layer",
    "mlp, rank1, samples",
    "ensemble, deep_ensemble",
    "ensemble, mc_dropout",
    "ensemble, rank1, samples",
}


@cache
def first_of_a_kind():
    """The first case of each kind of layer, and those that store less; no network."""
    layers = [name for name in CASES if not name.startswith(("mlp", "ensemble"))]
    first = {type(CASES[name].make()): name for name in reversed(layers)}
    return {*first.values(), *(name for name in layers if name.endswith("memory_saving"))}


# To compile takes seconds: what differs from the first of its kind in an option waits for a week.
SHARED_OUT = [
    name if name in first_of_a_kind() else pytest.param(name, marks=pytest.mark.weekly)
    for name in sorted(TRACED)
]


def noise_for(net, x):
    """The noise of a pass on x as keyword arguments: none for what does not draw."""
    if not hasattr(net, "noise"):
        return {}
    source = torch.Generator().manual_seed(1)
    flat = "input_shape" not in inspect.signature(net.noise).parameters
    drawn = net.noise(source, x if flat else x.shape)
    return {"noise": drawn} if drawn else {}


def dynamic(case, net):
    """Which axes follow the batch, as ``torch.export`` wants it: found by two batches."""
    batch = Dim("batch")
    few, many = (noise_for(net, case.batch(B)).get("noise", {}) for B in (2, 5))
    axes = {}
    for key in few:
        sizes = zip(few[key].shape, many[key].shape, strict=True)
        axes[key] = {axis: batch for axis, (a, b) in enumerate(sizes) if a != b} or None
    first = {len(case.leading): batch}
    named = {"x": first} if "x" in inspect.signature(net.forward).parameters else {"args": (first,)}
    return named | ({"noise": axes} if axes else {})


def in_float64(net, values):
    return net.double(), {key: v.double() if v.is_floating_point() else v
                          for key, v in values.items()}  # fmt: skip


def compiled(function, backend="eager"):
    torch.compiler.reset()  # what other tests compiled counts against the limit of this one
    return torch.compile(function, backend=backend, fullgraph=True)


def same_values_and_gradients(case, net, whole, batches, prepare=lambda *given: None):
    for B in batches:
        x = case.batch(B, dtype=torch.float64, requires_grad=True)
        noise = noise_for(net, x)
        prepare(case, x, noise.get("noise", {}))
        inputs = [x, *(p for p in net.parameters() if p.requires_grad)]
        y, mine = net(x, **noise), whole(x, **noise)
        torch.testing.assert_close(mine, y, rtol=1e-9, atol=1e-9)
        for found, slope in zip(gradients(mine, inputs), gradients(y, inputs), strict=True):
            torch.testing.assert_close(found, slope, rtol=1e-9, atol=1e-9)


def for_any_batch(case, x, noise):
    """Tell the compiler which axes follow the batch, so that it traces once a form, not twice."""
    torch._dynamo.mark_dynamic(x, len(case.leading))
    for key, axes in dynamic(case, case.make()).get("noise", {}).items():
        for axis in axes or ():
            torch._dynamo.mark_dynamic(noise[key], axis)


def test_batches_meet_both_forms():
    for name, case in CASES.items():
        for layer in case.make().modules():
            if isinstance(layer, FORMS):
                size = (layer.in_features, layer.out_features)
                linear = layer.batch_axis == -2
                folds = [
                    products.fold_pays(B, *size) if linear else layer.fold_pays((B, *IMAGE))
                    for B in BATCHES
                ]
                assert [folds[0], folds[-1]] == [False, True], name


def test_cases_hold_every_layer_and_every_method():
    made = {type(layer) for case in CASES.values() for layer in case.make().modules()}
    kinds = {kind for kind in vars(et).values() if isinstance(kind, type)}
    layers = {kind for kind in kinds if issubclass(kind, torch.nn.Module)}
    assert layers - made <= {et.Multiply}
    assert {f"mlp, {method}" for method in METHODS} <= CASES.keys()
    assert {f"ensemble, {method}" for method in METHODS} - CASES.keys() == {"ensemble, single"}


@pytest.mark.compiled
@pytest.mark.parametrize("name", SHARED_OUT)
def test_compiled_whole_with_a_graph_a_form(name):
    """Each form for any batch, and then no graph more."""
    torch.manual_seed(0)
    case = CASES[name]
    net = case.make().double()
    # Of one case a kind the graph of gradients, too: of others, to trace them is what differs.
    whole = compiled(net, "aot_eager" if name in first_of_a_kind() else "eager")
    forms = any(isinstance(layer, FORMS) for layer in net.modules())
    batches = BATCHES[::2] if forms else BATCHES[:1]
    same_values_and_gradients(case, net, whole, batches, for_any_batch)
    with torch.compiler.set_stance("fail_on_recompile"):
        same_values_and_gradients(case, net, whole, [BATCHES[2] + 2])


@pytest.mark.compiled
@pytest.mark.parametrize(
    "method", ["batch_ensemble", pytest.param("last_layer", marks=pytest.mark.weekly)]
)
def test_an_ensemble_trains_and_predicts_compiled_on_batches_of_many_sizes(method):
    """Statistics move as without a compiler; each member has masks of its own, but for a body."""
    torch.manual_seed(0)
    net = et.ensemble(Trains(), method, M, **({"head": "last"} if method == "last_layer" else {}))
    plain, whole = copy.deepcopy(net), compiled(net, "aot_eager")
    for B in BATCHES:
        x = torch.randn(B, *IMAGE)
        (y, masks), (known, _) = whole(x), plain(x)
        torch.testing.assert_close(y, known, rtol=1e-4, atol=1e-5)
        slopes = [gradients(one, list(of.parameters())) for one, of in ((y, net), (known, plain))]
        torch.testing.assert_close(*slopes, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(dict(net.named_buffers()), dict(plain.named_buffers()))
        for mask, channels in zip(masks, (False, True), strict=True):
            assert mask.unique().tolist() == pytest.approx([0, 1 / 0.7])
            assert torch.equal(mask, mask[..., :1, :1].expand_as(mask)) == channels
            assert torch.equal(mask[0], mask[1]) == (method == "last_layer")
    assert (mask > 0).float().mean() == pytest.approx(0.7, abs=0.1)
    net.eval(), plain.eval()
    for B in BATCHES:
        x = torch.randn(B, *IMAGE)
        torch.testing.assert_close(whole(x)[0], plain(x)[0], rtol=1e-4, atol=1e-5)


@jit
@pytest.mark.compiled
@pytest.mark.weekly
def test_compiled_to_machine_code():
    case = CASES["BatchEnsembleLinear, memory_saving"]
    net = case.make().double()
    # In this process: others would each import Torch first.
    with torch._inductor.config.patch(compile_threads=1):
        same_values_and_gradients(case, net, compiled(net, "inductor"), BATCHES[-1:])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["Rank1Linear, per_example", "MeanFieldLinear, local"])
def test_compiled_draws_are_those_of_the_plain_module(name):
    case = CASES[name]
    net = case.make()
    whole = compiled(net)
    for B in BATCHES[::2]:
        x = case.batch(B)
        drawn = []
        for function in (net, whole, whole):
            torch.manual_seed(B)
            drawn.append(function(x))
        torch.testing.assert_close(drawn[1], drawn[0])
        assert torch.equal(drawn[1], drawn[2])
        assert not torch.equal(whole(x), drawn[2])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["BatchEnsembleLinear", "BatchEnsembleConv2d"])
def test_memory_saving_stores_nothing_when_compiled(name):
    saved = []
    for option in ("", ", memory_saving"):
        net = CASES[name + option].make()
        x = CASES[name + option].batch(7, requires_grad=True)
        whole = compiled(net, "aot_eager")
        whole(x)
        saved.append(measure.saved_bytes(lambda whole=whole, x=x: whole(x), x, *net.parameters()))
    assert saved[0] > saved[1] == 0


def exported(net, case, **options):
    x = case.batch(4)
    shapes = dynamic(case, net)
    return torch.export.export(net, (x,), noise_for(net, x), dynamic_shapes=shapes, **options)


@pytest.mark.compiled
@pytest.mark.parametrize("name", SHARED_OUT)
def test_exported_for_any_batch(name):
    torch.manual_seed(0)
    case = CASES[name]
    net = case.make()
    graph = exported(net, case).module()
    for B in (1, *BATCHES):
        x = case.batch(B)
        noise = noise_for(net, x)
        torch.testing.assert_close(graph(x, **noise), net(x, **noise), rtol=1e-4, atol=1e-5)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["Rank1Conv2d, per_example", "mlp, mean_field"])
def test_exported_without_noise_draws_at_each_call(name):
    case = CASES[name]
    net, x = case.make(), case.batch(4)
    shapes = {"x": {len(case.leading): Dim("batch")}}
    graph = torch.export.export(net, (x,), dynamic_shapes=shapes).module()
    for B in BATCHES:
        x = case.batch(B)
        first, second = graph(x), graph(x)
        assert first.shape == net(x).shape
        assert not torch.equal(first, second)


@jit
@pytest.mark.parametrize(("B", "many_columns"), [(BATCHES[0], 64), (BATCHES[-1], 0)])
@pytest.mark.parametrize("name", CASES)
def test_transformed_by_torch_func(monkeypatch, name, B, many_columns):
    """For few columns, as all here, and with the form for many."""
    monkeypatch.setattr(products, "MANY_COLUMNS", many_columns)
    torch.manual_seed(0)
    case = CASES[name]
    net = case.make()
    x = case.batch(B, dtype=torch.float64)
    net, noise = in_float64(net, noise_for(net, x.float()).get("noise", {}))
    noise = {"noise": noise} if noise else {}
    values = dict(net.named_parameters())

    def call(values, x):
        return functional_call(net, values, (x,), noise)

    def loss(values, x):
        return call(values, x).square().sum()

    # Values and gradients along several inputs and several sets of parameters.
    several, twice = (
        torch.stack([x, 2 * x]),
        {k: torch.stack([v, 2 * v]) for k, v in values.items()},
    )
    axes = (0 if twice else None, 0)
    ys, slopes = (vmap(f, axes)(twice, several) for f in (call, grad(loss, argnums=(0, 1))))
    for i, one in enumerate(several):
        given = {key: value[i].detach().requires_grad_() for key, value in twice.items()}
        one = one.clone().requires_grad_()
        torch.testing.assert_close(ys[i], call(given, one), rtol=1e-9, atol=1e-9)
        plain = torch.autograd.grad(loss(given, one), [*given.values(), one])
        for found, slope in zip([*slopes[0].values(), slopes[1]], plain, strict=True):
            torch.testing.assert_close(found[i], slope, rtol=1e-8, atol=1e-8)

    # Along a line: forward mode, and the slope of the slope, against differences.
    along = {key: torch.randn_like(value) for key, value in values.items()}, torch.randn_like(x)
    found, step = jvp(call, (values, x), along)[1], 1e-6

    def moved(h):
        return {key: value + h * along[0][key] for key, value in values.items()}, x + h * along[1]

    ends = [call(*moved(h)) for h in (step, -step)]
    torch.testing.assert_close(found, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-5)

    def slope(h):
        return grad(lambda h: loss(*moved(h)))(h)

    if values and "mlp" not in name:  # where no maximum and no ReLU turns on the way
        zero, small = (torch.tensor(h, dtype=torch.float64) for h in (0.0, 1e-5))
        rise = (slope(small) - slope(-small)) / 2e-5
        torch.testing.assert_close(grad(slope)(zero), rise, rtol=1e-6, atol=1e-4)


def whole_with_generator():
    layer, source = CASES["Rank1Linear"].make(), torch.Generator()
    whole = compiled(lambda x: layer(x, layer.noise(source, x.shape)))
    whole(CASES["Rank1Linear"].batch(4))


def whole_with_noise():
    case = CASES["Rank1Linear"]
    layer, x = case.make(), case.batch(4)
    compiled(layer)(x, layer.noise(torch.Generator(), x.shape))
    compiled(lambda x: layer(x, layer.noise(None, x.shape)))(x)


def whole_gradient(name):
    case = CASES[name]
    layer = case.make()

    def loss(values, x):
        return functional_call(layer, values, (x,)).square().sum()

    try:
        compiled(grad(loss))(dict(layer.named_parameters()), case.batch(4))
    finally:
        # Torch leaves them disabled when it fails.
        torch._C._autograd._saved_tensors_hooks_enable()


def export_from(B):
    case = CASES["BatchEnsembleLinear"]
    shapes = {"x": {0: Dim("batch")}}
    graph = torch.export.export(case.make(), (case.batch(B),), dynamic_shapes=shapes).module()
    graph(case.batch(1))


def export_any_size(**least):
    case = CASES["BatchEnsembleConv2d"]
    shapes = {"x": {0: Dim("batch"), 2: Dim("height", **least), 3: Dim("width", **least)}}
    graph = torch.export.export(case.make(), (case.batch(2),), dynamic_shapes=shapes).module()
    graph(torch.randn(3, m, 11, 13))


def onnx_with_noise(by_name):
    case = CASES["Rank1Linear"]
    layer, x = case.make(), case.batch(4)
    noise = layer.noise(None, x.shape)
    given = ((x,), {"noise": noise}) if by_name else ((x, noise), None)
    torch.onnx.export(layer, given[0], kwargs=given[1], dynamo=True, verbose=False)


def map_draws(**options):
    case = CASES["Rank1Linear"]
    vmap(case.make(), **options)(torch.stack([case.batch(4), case.batch(4)]))


def whole_recurrent(in_turn):
    net, x = et.ensemble(Recurrent(), "batch_ensemble", M), torch.randn(2, *IMAGE)
    net.in_turn = in_turn
    y = torch.compile(net, backend="eager")(x)
    torch.testing.assert_close(y, net(x))


def whole_functional(**options):
    torch.compiler.reset()
    net = et.ensemble(Functional(), "batch_ensemble", M)
    whole = torch.compile(net, backend="eager", **options)
    for B in BATCHES:
        assert whole(torch.randn(B, n)).shape == (M, B, n)


# What is refused, and by what: words of the error, and what to do instead, which the page shows; an
# attempt, and one that does that.
LIMITS = {
    ("noise drawn from a `torch.Generator` in the compiled function", "torch.compile"): (
        "Failed to convert args/kwargs to proxy",
        "draw the noise outside and give it, or draw without a generator",
        whole_with_generator, whole_with_noise,
    ),
    ("`memory_saving=True` in a transform of `torch.func` that is compiled", "torch.compile"): (
        "don't yet support saved tensor hooks",
        "leave it out: the compiler then decides what to store",
        lambda: whole_gradient("BatchEnsembleConv2d, memory_saving"),
        lambda: whole_gradient("BatchEnsembleConv2d"),
    ),
    ("an example batch of 1 with a dynamic batch", "torch.export"): (
        "specialized it to be a constant (1)",
        "give an example of 2 or more; the graph then takes 1, too",
        lambda: export_from(1), lambda: export_from(2),
    ),
    ("images of any height and width, as of `nn.Conv2d`", "torch.export"): (
        "Constraints violated",
        'name a least size, larger than the kernel: `Dim("height", min=4)`',
        export_any_size, lambda: export_any_size(min=4),
    ),
    ("noise as the last of the positional arguments", "torch.onnx"): (
        "got an unexpected keyword argument",
        'give it by name: `kwargs={"noise": noise}`',
        lambda: onnx_with_noise(False), lambda: onnx_with_noise(True),
    ),
    ("a model for which `vmap` has no rule, such as an `nn.GRU`", "torch.compile"): (
        "Batching rule not implemented",
        "set `net.in_turn = True`, and leave `fullgraph` out: members run beside the graph",
        lambda: whole_recurrent(False), lambda: whole_recurrent(True),
    ),
    ("`nn.functional.dropout` in a model that trains on batches of many sizes", "torch.compile"): (
        "on tensor with symbolic sizes",
        "use a module, `nn.Dropout`, or `torch.compile(net, dynamic=False)`",
        whole_functional, lambda: whole_functional(dynamic=False),
    ),
    ("a layer that draws, without noise", "torch.func.vmap"): (
        "called random operation while in randomness error mode",
        'give the noise, or `randomness="different"`',
        map_draws, lambda: map_draws(randomness="different"),
    ),
}  # fmt: skip


@pytest.mark.compiled
@pytest.mark.weekly
@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("limit", [limit for limit in LIMITS if limit[1] != "torch.onnx"])
def test_limits_hold(limit):
    words, _, refused, instead = LIMITS[limit]
    with pytest.raises(Exception, match=re.escape(words)):
        refused()
    instead()


def test_the_page_shows_the_limits():
    rows = [line for line in SECTION.splitlines() if line.startswith("- ")]
    assert rows == [
        f"- **{what}**, by `{where}`: *{words}*. Instead: {instead}."
        for (what, where), (words, instead, *_) in LIMITS.items()
    ]


def blocks():
    """The blocks of Python on the page, in order."""
    return re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


@pytest.mark.compiled
def test_the_page_s_examples_run():
    space = {}
    for block in blocks():
        if "onnx" not in block:
            exec(block, space)
