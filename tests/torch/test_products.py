"""Products of all members: forms against a loop, which one is chosen, and what they copy."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import ensedu.torch as et
from ensedu.torch import products
from tests.backends import B, M, m, n
from tests.torch.product_cases import FORMS, arguments, by_member, call, gradients, tensors_of

sizes = st.integers(1, 6)


@given(B=st.integers(1, 200), m=st.integers(1, 99), n=st.integers(1, 99))
@example(B=5, m=5, n=5)
def test_the_rule_counts_the_entries_that_each_form_writes(B, m, n):
    scaled, folded = B * (m + n), 2 * m * n
    assert products.fold_pays(B, m, n) == (scaled > folded)
    assert products.fold_pays(B, m, n, spares_product=True) == (scaled > folded or B > 64)


@pytest.mark.parametrize("memory_saving", [False, True])
@pytest.mark.parametrize("form", ["scale", "fold"])
def test_the_shapes_choose_the_form(monkeypatch, form, memory_saving):
    ran = []
    for name in ("scale", "fold"):
        inner = getattr(products, name)
        monkeypatch.setattr(
            products, name, lambda *v, name=name, inner=inner: ran.append(name) or inner(*v)
        )
    few = {"scale": 6, "fold": 7}[form]  # 2 m n / (m + n) = 6.875
    layer = et.BatchEnsembleLinear(m, n, M, memory_saving=memory_saving)
    layer(torch.zeros(M, few, m))
    assert ran == [form]


def test_fold_spares_the_product_for_an_input_without_gradient(monkeypatch):
    ran = []
    monkeypatch.setattr(products, "fold_pays", lambda *a: ran.append(a[-1]) or False)
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
        monkeypatch.setattr(products, "fold_pays", lambda *a, folds=folds: folds)
        y = layer(x, *noise)
        results.append([y, *gradients(y, [x, *layer.parameters()])])
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)


@pytest.mark.parametrize("many_columns", [0, 64])
@pytest.mark.parametrize("layer", ["batch_ensemble", "memory saving", "rank1"])
@pytest.mark.parametrize("folds", [False, True])
def test_autocast_gives_its_own_dtype_in_both_forms(monkeypatch, layer, folds, many_columns):
    torch.manual_seed(4)
    monkeypatch.setattr(products, "MANY_COLUMNS", many_columns)
    layer = LAYERS[layer]().float()
    monkeypatch.setattr(products, "fold_pays", lambda *a: folds)
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


@pytest.mark.parametrize("columns", [64, 65])
def test_a_weight_each_gets_its_gradient_as_it_is_stored(columns):
    x, weight = torch.randn(M, B, columns), torch.randn(M, n, columns, requires_grad=True)
    (slope,) = torch.autograd.grad(products.stacked_product(x, weight, None).sum(), weight)
    assert slope.is_contiguous() == (columns > products.MANY_COLUMNS)


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
