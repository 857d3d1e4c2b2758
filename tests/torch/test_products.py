"""Scale and fold: equal values, gradients, derivatives of any kind; what each stores; which runs.

Sizes are distinct primes, so that a swapped axis cannot hide.
"""

import importlib
import itertools
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, grad, hessian, jvp, vmap
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.torch import conv, product_backward, product_forms, products, stacked_product

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
measure = importlib.import_module("measure")

M, B, m, n, K = 3, 7, 5, 11, 2
FORMS = {
    "scale": product_forms.scale,
    "scale again": product_backward.MemorySavingScale.apply,
    "fold": product_forms.fold,
    "fold again": product_backward.MemorySavingFold.apply,
    "each by hand": lambda x, weight, r, s, bias: stacked_product.StackedProduct.apply(
        x.expand(len(r), *x.shape[-2:]), product_forms.modulated_weights(weight, r, s), bias
    ),
}
BY_HAND = ["scale again", "fold again", "each by hand"]


def call(form, x, weight, r, s, bias):
    """Run a form by name on plain arguments: r (M, m), s (M, n), bias (M, n) or None."""
    if "scale" in form:
        r, s = r[..., None, :], s[..., None, :]
    return FORMS[form](x, weight, r, s, None if bias is None else bias[..., None, :])


def by_member(x, weight, r, s, bias):
    """The definition, a member at a time."""
    rows = []
    for i in range(len(r)):
        one = x if x.ndim == 2 else x[i]
        y = one @ (weight.T * torch.outer(r[i], s[i]))
        rows.append(y if bias is None else y + bias[i])
    return torch.stack(rows)


def arguments(M=M, B=B, m=m, n=n, broadcast=False, bias=True, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = [(B, m) if broadcast else (M, B, m), (n, m), (M, m), (M, n), (M, n)]
    drawn = [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]
    return drawn if bias else [*drawn[:4], None]


def gradients(y, tensors):
    weights = torch.arange(1.0, y.numel() + 1, dtype=y.dtype).reshape(y.shape).cos()
    return torch.autograd.grad((y * weights).sum(), tensors)


def tensors_of(values):
    return [value for value in values if value is not None]


sizes = st.integers(1, 6)


@given(M=sizes, B=sizes, m=sizes, n=sizes, broadcast=st.booleans(), bias=st.booleans())
def test_every_form_is_the_definition_in_value_and_gradient(M, B, m, n, broadcast, bias):
    values = arguments(M, B, m, n, broadcast, bias)
    expected = by_member(*values)
    slopes = gradients(expected, tensors_of(values))
    for form in FORMS:
        y = call(form, *values)
        torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
        for mine, slope in zip(gradients(y, tensors_of(values)), slopes, strict=True):
            torch.testing.assert_close(mine, slope, rtol=0, atol=1e-11)


# Torch's own forward mode loads its decompositions with torch.jit.
jit = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


@jit
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("form", BY_HAND)
def test_derivatives_by_hand_hold_twice(form, broadcast):
    values = arguments(2, 3, 2, 3, broadcast)
    assert torch.autograd.gradcheck(lambda *v: call(form, *v), values, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda *v: call(form, *v), values)


@pytest.mark.parametrize("form", BY_HAND)
def test_gradients_by_hand_are_made_only_where_they_are_asked_for(form):
    values = arguments()
    expected = gradients(by_member(*values), tensors_of(values))
    for wanted in itertools.chain(*(itertools.combinations(range(5), k) for k in (1, 2))):
        chosen = [v.detach().requires_grad_(i in wanted) for i, v in enumerate(values)]
        found = gradients(call(form, *chosen), [chosen[i] for i in wanted])
        for i, slope in zip(wanted, found, strict=True):
            torch.testing.assert_close(slope, expected[i], rtol=0, atol=1e-11)


def test_fold_leaves_out_the_product_for_an_input_without_gradient():
    def products_of_backward(needs):
        values = arguments()
        values[0] = values[0].detach().requires_grad_(needs)
        loss = call("fold again", *values).sum()
        with torch.profiler.profile() as profile:
            loss.backward()
        return sum(event.count for event in profile.key_averages() if event.key == "aten::bmm")

    assert products_of_backward(True) == products_of_backward(False) + 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batched", [(0,), (1,), (2, 3), (4,), (0, 1, 2, 3, 4)])
def test_every_form_maps_over_any_argument(form, batched):
    values = [v.detach() for v in arguments()]
    dims = [0 if i in batched else None for i in range(5)]
    stacked = [torch.stack([v + k for k in range(K)]) if i in batched else v
               for i, v in enumerate(values)]  # fmt: skip

    def loss(*v):
        return call(form, *v).square().sum()

    slopes = grad(loss, argnums=tuple(range(5)))
    y = vmap(lambda *v: call(form, *v), tuple(dims))(*stacked)
    found = vmap(slopes, tuple(dims))(*stacked)
    for k in range(K):
        one = [v[k] if i in batched else v for i, v in enumerate(stacked)]
        torch.testing.assert_close(y[k], call(form, *one), rtol=1e-12, atol=1e-12)
        for mine, slope in zip(found, slopes(*one), strict=True):
            torch.testing.assert_close(mine[k], slope, rtol=1e-10, atol=1e-10)


@jit
@pytest.mark.parametrize("form", BY_HAND)
def test_forward_mode_and_hessian_agree_with_plain_operations(form):
    x, weight, r, s, bias = (v.detach() for v in arguments())
    along = torch.ones_like(r)
    mine = jvp(lambda r: call(form, x, weight, r, s, bias), (r,), (along,))
    plain = jvp(lambda r: by_member(x, weight, r, s, bias), (r,), (along,))
    torch.testing.assert_close(mine, plain, rtol=0, atol=1e-11)
    curved = [
        hessian(lambda r, f=f: f(r).square().sum())(r)
        for f in (
            lambda r: call(form, x, weight, r, s, bias),
            lambda r: by_member(x, weight, r, s, bias),
        )
    ]
    torch.testing.assert_close(*curved, rtol=1e-12, atol=1e-10)


@given(B=st.integers(1, 200), m=st.integers(1, 99), n=st.integers(1, 99))
@example(B=5, m=5, n=5)
def test_the_rule_counts_the_entries_that_each_form_writes(B, m, n):
    scaled, folded = B * (m + n), 2 * m * n
    assert products.folds(B, m, n) == (scaled > folded)
    assert products.folds(B, m, n, spares_product=True) == (scaled > folded or B > 64)


@pytest.mark.parametrize("memory_saving", [False, True])
@pytest.mark.parametrize("form", ["scale", "fold"])
def test_the_shapes_choose_the_form(monkeypatch, form, memory_saving):
    ran = []
    for name in ("scale", "fold"):
        inner = getattr(product_forms, name)
        for module in (products, product_backward):
            monkeypatch.setattr(
                module, name, lambda *v, name=name, inner=inner: ran.append(name) or inner(*v)
            )
    few = {"scale": 6, "fold": 7}[form]  # 2 m n / (m + n) = 6.875
    layer = et.BatchEnsembleLinear(m, n, M, memory_saving=memory_saving)
    layer(torch.zeros(M, few, m))
    assert ran == [form]


def test_fold_spares_the_product_for_an_input_without_gradient(monkeypatch):
    ran = []
    monkeypatch.setattr(products, "folds", lambda *a: ran.append(a[-1]) or False)
    x, wanted = torch.zeros(M, B, m), torch.zeros(M, B, m, requires_grad=True)
    for memory_saving in (False, True):
        layer = et.BatchEnsembleLinear(m, n, M, memory_saving=memory_saving)
        layer(x), layer(wanted)
        with torch.no_grad():
            layer(x)
    assert ran == [True, False, False, False, False, False]


@pytest.mark.parametrize("wants", [False, True])
def test_saving_memory_never_raises_its_peak(wants):
    peaks = {}
    for saving in (False, True):
        layer = et.BatchEnsembleLinear(256, 256, 4, memory_saving=saving)
        x = torch.randn(
            4, 100, 256, requires_grad=wants
        )  # more than MANY_ROWS, and scale is cheaper

        def train(layer=layer, x=x):
            for tensor in (x, *layer.parameters()):
                tensor.grad = None
            layer(x).sum().backward()

        peaks[saving] = measure.peak_bytes(train)
    assert peaks[True] <= peaks[False]


@pytest.mark.parametrize("columns", [64, 65])
def test_a_weight_each_gets_its_gradient_as_it_is_stored(columns):
    x, weight = torch.randn(M, B, columns), torch.randn(M, n, columns, requires_grad=True)
    (slope,) = torch.autograd.grad(stacked_product.stacked_product(x, weight, None).sum(), weight)
    assert slope.is_contiguous() == (columns > stacked_product.MANY_COLUMNS)


LAYERS = {
    "batch_ensemble": lambda: et.BatchEnsembleLinear(m, n, M, init="normal", dtype=torch.float64),
    "memory saving": lambda: et.BatchEnsembleLinear(
        m, n, M, init="normal", dtype=torch.float64, memory_saving=True
    ),
    "no bias": lambda: et.BatchEnsembleLinear(m, n, M, bias=False, dtype=torch.float64),
    "rank1": lambda: et.Rank1Linear(m, n, M, posterior_std=0.3, dtype=torch.float64),
}


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_give_the_same_in_both_forms(monkeypatch, name, broadcast):
    torch.manual_seed(3)
    layer = LAYERS[name]()
    x = torch.randn((B, m) if broadcast else (M, B, m), dtype=torch.float64, requires_grad=True)
    noise = [layer.noise()] if name == "rank1" else []
    results = []
    for folds in (False, True):
        monkeypatch.setattr(products, "folds", lambda *a, folds=folds: folds)
        y = layer(x, *noise)
        results.append([y, *gradients(y, [x, *layer.parameters()])])
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)


CONVOLUTIONS = {
    "batch_ensemble": lambda **k: et.BatchEnsembleConv2d(5, 7, (3, 2), M, init="normal", **k),
    "memory saving": lambda **k: et.BatchEnsembleConv2d(5, 7, (3, 2), M, memory_saving=True, **k),
    "rank1": lambda **k: et.Rank1Conv2d(5, 7, (3, 2), M, posterior_std=0.3, **k),
}


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_give_the_same_in_both_forms(monkeypatch, name, broadcast):
    torch.manual_seed(3)
    layer = CONVOLUTIONS[name](stride=(2, 1), padding=1, dtype=torch.float64)
    shape = (2, 5, 13, 11) if broadcast else (M, 2, 5, 13, 11)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    noise = [layer.noise()] if name == "rank1" else []
    results = []
    for folds in (False, True):
        monkeypatch.setattr(conv.ConvLayer, "folds", lambda *a, folds=folds: folds)
        y = layer(x, *noise)
        results.append([y, *gradients(y, [x, *layer.parameters()])])
    torch.testing.assert_close(*results, rtol=0, atol=1e-11)


def test_convolutions_fold_where_pixels_outnumber_weights():
    layer = et.BatchEnsembleConv2d(5, 7, 3, M, padding=1)
    # One image of h x h: 12 h² entries scaled, 2 x 315 folded.
    assert not layer.folds((1, 5, 7, 7))
    assert layer.folds((1, 5, 8, 8))
    assert not et.BatchEnsembleConv2d(4, 6, 3, M, padding=1, groups=2).folds((9, 4, 9, 9))


@given(
    size=st.tuples(st.integers(5, 12), st.integers(5, 12)),
    kernel=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.one_of(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.just("valid")),
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
)
def test_output_size_is_that_of_torch(size, kernel, stride, padding, dilation):
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    layer = et.MeanFieldConv2d(1, 1, kernel, **geometry)
    expected = nn.Conv2d(1, 1, kernel, **geometry)(torch.zeros(1, 1, *size)).shape[2:]
    assert layer.output_size(*size) == tuple(expected)
    same = et.MeanFieldConv2d(1, 1, kernel, padding="same", dilation=dilation)
    assert same.output_size(*size) == size


@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("batch", [3, 101])
def test_memory_saving_stores_nothing_beyond_input_and_parameters(monkeypatch, batch, broadcast):
    x = torch.randn((batch, m) if broadcast else (M, batch, m), requires_grad=True)
    saving = et.BatchEnsembleLinear(m, n, M, memory_saving=True)
    assert measure.saved_bytes(lambda: saving(x), x, *saving.parameters()) == 0
    default = et.BatchEnsembleLinear(m, n, M)
    # Scale stores x ∘ r and (x ∘ r) W; fold the matrices and r sᵀ while they are small.
    expected = 4 * M * batch * (m + n) if batch == 3 else 4 * 2 * M * m * n
    assert measure.saved_bytes(lambda: default(x), x, *default.parameters()) == expected
    monkeypatch.setattr(products, "FEW_ENTRIES", M * m * n - 1)
    expected = expected if batch == 3 else 0
    assert measure.saved_bytes(lambda: default(x), x, *default.parameters()) == expected


@pytest.mark.parametrize("side", [5, 13])
def test_memory_saving_convolution_stores_nothing_beyond_input_and_parameters(side):
    x = torch.randn(M, 2, 5, side, side, requires_grad=True)
    saving, default = (
        et.BatchEnsembleConv2d(5, 7, 3, M, memory_saving=flag) for flag in (True, False)
    )
    assert measure.saved_bytes(lambda: saving(x), x, *saving.parameters()) == 0
    # Scale stores x ∘ r and conv(x ∘ r, W); fold the kernels and W ∘ s.
    numbers = x.numel() + M * 2 * 7 * (side - 2) ** 2 if side == 5 else 2 * M * 7 * 5 * 9
    assert measure.saved_bytes(lambda: default(x), x, *default.parameters()) == 4 * numbers


@pytest.mark.parametrize("kind", ["deep_ensemble", "fold"])
def test_a_shared_batch_is_never_copied_to_the_members(kind):
    x = torch.randn(101, m)
    layer = (et.DeepEnsembleLinear if kind == "deep_ensemble" else et.BatchEnsembleLinear)(m, n, M)
    with torch.profiler.profile(profile_memory=True) as profile:
        with torch.no_grad():
            layer(x)
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    allocated = sum(max(0, event.self_cpu_memory_usage) for event in profile.events())
    output, matrices = 4 * M * 101 * n, 4 * 2 * M * m * n
    assert largest == output
    assert allocated <= output + matrices < output + 4 * x.numel() * M


@pytest.mark.parametrize("many_columns", [0, 64])
@pytest.mark.parametrize("layer", ["batch_ensemble", "memory saving", "rank1"])
@pytest.mark.parametrize("folds", [False, True])
def test_autocast_gives_its_own_dtype_in_both_forms(monkeypatch, layer, folds, many_columns):
    torch.manual_seed(4)
    monkeypatch.setattr(stacked_product, "MANY_COLUMNS", many_columns)
    layer = LAYERS[layer]().float()
    monkeypatch.setattr(products, "folds", lambda *a: folds)
    noise = [layer.noise()] if isinstance(layer, et.Rank1Linear) else []
    x = torch.randn(M, B, m, requires_grad=True)
    exact = layer(x, *noise)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x, *noise)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), exact, rtol=0.03, atol=0.03 * exact.abs().max().item())
    inputs = [x, *layer.parameters()]
    for found, slope in zip(gradients(y.float(), inputs), gradients(exact, inputs), strict=True):
        assert found.dtype == torch.float32
        assert (found - slope).norm() <= 0.03 * slope.norm()


@pytest.mark.compiled
@pytest.mark.parametrize("batch", [3, 101])
def test_compiled_whole_in_both_forms(batch):
    torch.compiler.reset()
    layer = LAYERS["memory saving"]()
    x = torch.randn(M, batch, m, dtype=torch.float64, requires_grad=True)
    inputs = [x, *layer.parameters()]
    y, compiled = layer(x), torch.compile(layer, backend="aot_eager", fullgraph=True)(x)
    torch.testing.assert_close(compiled, y, rtol=0, atol=1e-12)
    for mine, slope in zip(gradients(compiled, inputs), gradients(y, inputs), strict=True):
        torch.testing.assert_close(mine, slope, rtol=1e-12, atol=1e-12)


STACKS = {
    **LAYERS,
    "deep_ensemble": lambda: et.DeepEnsembleLinear(m, n, M, dtype=torch.float64),
    "mean_field": lambda: et.MeanFieldLinear(m, n, posterior_std=0.3, dtype=torch.float64),
    "local": lambda: et.MeanFieldLinear(m, n, estimator="local", dtype=torch.float64),
    "deep_ensemble conv": lambda: et.DeepEnsembleConv2d(5, 7, 3, M, dtype=torch.float64),
    "batch_ensemble conv": lambda: et.BatchEnsembleConv2d(5, 7, 3, M, dtype=torch.float64),
    "rank1 conv": lambda: et.Rank1Conv2d(5, 7, 3, M, dtype=torch.float64),
    "mean_field conv": lambda: et.MeanFieldConv2d(5, 7, 3, dtype=torch.float64),
}


def given_to(name, batch):
    """A layer, what it is called with: members' own inputs, and a noise where it draws."""
    layer = STACKS[name]()
    shape = (m, 6, 5) if "conv" in name else (m,)
    x = torch.randn(M, batch, *shape, dtype=torch.float64)
    return layer, [x, *([layer.noise(None, x.shape)] if hasattr(layer, "noise") else [])]


@pytest.mark.parametrize("many_columns", [0, 64])
@pytest.mark.parametrize("batch", [3, 101])
@pytest.mark.parametrize("name", STACKS)
def test_layers_stack_under_vmap(monkeypatch, name, batch, many_columns):
    monkeypatch.setattr(stacked_product, "MANY_COLUMNS", many_columns)
    first, arguments = given_to(name, batch)
    layers = [first, *(STACKS[name]() for _ in range(K - 1))]
    stacked, buffers = torch.func.stack_module_state(layers)

    def loss(params):
        return functional_call(first, (params, buffers), tuple(arguments)).square().sum()

    found = vmap(grad(loss))(stacked)
    for k, layer in enumerate(layers):
        slopes = grad(loss)(dict(layer.named_parameters()))
        for key, slope in slopes.items():
            torch.testing.assert_close(found[key][k], slope, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("many_columns", [0, 64])
@pytest.mark.parametrize("name", STACKS)
def test_layers_can_be_differentiated_twice(monkeypatch, name, many_columns):
    monkeypatch.setattr(stacked_product, "MANY_COLUMNS", many_columns)
    layer, arguments = given_to(name, 2)
    params = dict(layer.named_parameters())
    along = {key: torch.randn_like(value) for key, value in params.items()}

    def slope(step):
        moved = {key: value + step * along[key] for key, value in params.items()}
        y = functional_call(layer, moved, tuple(arguments)).square().sum()
        slopes = torch.autograd.grad(y, list(moved.values()), create_graph=True)
        return sum((s * along[key]).sum() for s, key in zip(slopes, moved, strict=True))

    zero = torch.zeros((), dtype=torch.float64, requires_grad=True)
    curve = torch.autograd.grad(slope(zero), zero)[0].item()
    small = torch.tensor(1e-5, dtype=torch.float64)
    rise = (slope(small) - slope(-small)).item() / 2e-5
    assert curve == pytest.approx(rise, rel=1e-6, abs=1e-4)


def test_local_reparameterization_by_its_definition():
    torch.manual_seed(5)
    layer = et.MeanFieldLinear(m, n, posterior_std=0.3, estimator="local").double()
    x = torch.randn(2, B, m, dtype=torch.float64)
    noise = layer.noise(torch.Generator().manual_seed(1), x.shape)
    assert {k: v.shape for k, v in noise.items()} == {"output": (2, B, n)}
    y = layer(x, noise)
    for i, j, b in itertools.product(range(2), range(B), range(n)):
        mean = (x[i, j] * layer.weight_mean[b]).sum() + layer.bias_mean[b]
        scale = F.softplus(layer.weight_rho[b])
        variance = (x[i, j] ** 2 * scale**2).sum() + F.softplus(layer.bias_rho[b]) ** 2
        expected = mean + variance.sqrt() * noise["output"][i, j, b]
        torch.testing.assert_close(y[i, j, b], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("other", ["local", "flipout"])
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_estimators_have_the_moments_of_drawn_weights(kind, other):
    torch.manual_seed(6)
    shape = (m,) if kind == "linear" else (m, 4, 4)
    build = {
        "linear": lambda estimator: et.MeanFieldLinear(
            m, 2, posterior_std=0.3, estimator=estimator
        ),
        "conv": lambda estimator: et.MeanFieldConv2d(
            m, 2, 3, padding=1, stride=2, posterior_std=0.3, estimator=estimator
        ),
    }[kind]
    drawn, local = build("weights"), build(other)
    local.load_state_dict(drawn.state_dict())
    draws = 20_000
    x = torch.randn(1, *shape).expand(draws, 1, *shape)
    with torch.no_grad():
        several, many = drawn(x), local(x)
    assert several.shape == many.shape
    spread = several.std(0)
    assert ((several.mean(0) - many.mean(0)).abs() < 5 * spread * (2 / draws) ** 0.5).all()
    assert ((many.std(0) / spread - 1).abs() < 5 / draws**0.5).all()


def flipped_by_hand(layer, x, noise):
    """Each example with its own weight, its deviation turned by the example's signs."""
    rows = []
    for b in range(len(x)):
        signs = torch.outer(noise["output_signs"][b], noise["input_signs"][b])
        signs = signs.reshape(*signs.shape, *[1] * (layer.weight_mean.ndim - 2))
        deviation = F.softplus(layer.weight_rho) * noise["weight"].transpose(0, 1)
        weight = layer.weight_mean + deviation * signs
        bias = F.softplus(layer.bias_rho) * noise["bias"] * noise["output_signs"][b]
        product = F.linear if x.ndim == 2 else F.conv2d
        rows.append(product(x[b : b + 1], weight, layer.bias_mean + bias)[0])
    return torch.stack(rows)


@pytest.mark.parametrize("samples", [(), (3,)])
@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_flipout_equals_a_loop_over_examples(kind, samples):
    torch.manual_seed(5)
    options = {"posterior_std": 0.3, "estimator": "flipout", "dtype": torch.float64}
    layer = (
        et.MeanFieldLinear(m, n, **options)
        if kind == "linear"
        else et.MeanFieldConv2d(m, n, 3, **options)
    )
    shape = (*samples, B, m) if kind == "linear" else (*samples, B, m, 5, 4)
    x = torch.randn(shape, dtype=torch.float64)
    noise = layer.noise(torch.Generator().manual_seed(1), tuple(shape))
    assert set(noise["input_signs"].unique().tolist()) == {-1.0, 1.0}
    y = layer(x, noise)
    if not samples:
        torch.testing.assert_close(y, flipped_by_hand(layer, x, noise), rtol=0, atol=1e-12)
        return
    for s in range(samples[0]):
        own = flipped_by_hand(layer, x[s], {k: v[s] for k, v in noise.items()})
        torch.testing.assert_close(y[s], own, rtol=0, atol=1e-12)


def test_flipout_takes_noise_of_the_weights_as_one_function():
    torch.manual_seed(5)
    layer = et.MeanFieldLinear(m, n, estimator="flipout", posterior_std=0.3)
    noise, x = layer.noise(), torch.randn(B, m)
    bias = layer.bias_mean + F.softplus(layer.bias_rho) * noise["bias"]
    torch.testing.assert_close(layer(x, noise), x @ layer.weight_matrices(noise)[0] + bias)


def test_gradients_vary_less_over_large_batches():
    """Of the mean: local from few examples on, Flipout equal at one and smaller from 32 on."""
    torch.manual_seed(8)
    inputs, targets = torch.randn(128, m), torch.randn(128, n)
    scatter = {}
    for estimator in ("weights", "local", "flipout"):
        for batch in (1, 32, 128):
            layer = et.MeanFieldLinear(m, n, estimator=estimator, posterior_std=0.5)
            with torch.no_grad():
                layer.weight_mean.zero_()
            gradients = []
            for _ in range(800):
                y = layer(inputs[:batch])
                loss = (y - targets[:batch]).square().sum(1).mean()
                gradients.append(torch.autograd.grad(loss, layer.weight_mean)[0])
            scatter[estimator, batch] = torch.stack(gradients).var(0).sum().item()
    assert 0.8 < scatter["flipout", 1] / scatter["weights", 1] < 1.25
    for batch in (32, 128):
        for estimator in ("local", "flipout"):
            assert scatter[estimator, batch] < 0.6 * scatter["weights", batch]


def test_estimators_make_examples_uncorrelated():
    torch.manual_seed(7)
    x = torch.ones(5000, 2, m)  # two equal examples
    for estimator, correlation in (("weights", 1.0), ("local", 0.0), ("flipout", 0.0)):
        layer = et.MeanFieldLinear(m, 1, posterior_std=0.3, estimator=estimator)
        with torch.no_grad():
            y = layer(x)[..., 0]
        assert abs(torch.corrcoef(y.T)[0, 1].item() - correlation) < 0.08


@pytest.mark.parametrize("bias", [False, True])
def test_local_reparameterization_of_no_input_has_finite_gradients(bias):
    layer = et.MeanFieldLinear(m, n, bias=bias, estimator="local")
    x = torch.zeros(B, m, requires_grad=True)
    y = layer(x)
    y.sum().backward()
    assert y.isfinite().all()
    for tensor in (x, *layer.parameters()):
        assert tensor.grad.isfinite().all()


def test_weight_matrices_of_a_local_layer_are_drawn_weights():
    layer = et.MeanFieldLinear(m, n, estimator="local")
    assert layer.weight_matrices().shape == (1, m, n)
    noise = layer.noise()
    y = layer(torch.eye(m), noise)
    bias = layer.bias_mean + F.softplus(layer.bias_rho) * noise["bias"]
    torch.testing.assert_close(y - bias, layer.weight_matrices(noise)[0])
