"""Which form of a modulated product is chosen, and that layers give the same in both."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.func import functional_call, grad, vmap

import ensedu.torch as et
from ensedu.torch import product_backward, product_forms, products, stacked_product
from tests.backends import B, M, m, n
from tests.torch.product_cases import K, gradients


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
