"""Products of all members: forms against a loop, which one is chosen, what they copy and store."""

import itertools
from functools import partial

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import ensedu.torch as et
from benchmarks import measure
from ensedu.torch import products
from ensedu.torch.memory_saving import MemorySaving
from tests.backends import B, M, gradients, m, n

sizes = st.integers(1, 6)
LINEAR = products.LinearLayer
#: Forms of a modulated product.
FORMS = {
    "scale": partial(products.scale, product=LINEAR),
    "scale again": partial(MemorySaving.apply, products.scale, products.scale_gradients, LINEAR),
    "fold": partial(products.fold, product=LINEAR),
    "fold again": partial(MemorySaving.apply, products.fold, products.fold_gradients, LINEAR),
    "each by hand": lambda x, weight, r, s, bias: products.StackedProduct.apply(
        x.expand(len(r), *x.shape[-2:]),
        products.modulated_weights(weight, r, s),
        None if bias is None else bias.unsqueeze(-2),
    ),
}


def call(form, x, weight, r, s, bias):
    """Run a form by name on plain arguments: r (M, m), s (M, n), bias (M, n) or None."""
    if "scale" in form:
        r, s = r[..., None, :], s[..., None, :]
    return FORMS[form](x, weight, r, s, bias)


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


def tensors_of(values):
    return [value for value in values if value is not None]


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
    "rank1": lambda: et.Rank1Linear(m, n, M, posterior_std=0.3, dtype=torch.float64),
}


@pytest.mark.parametrize("many_columns", [0, 64])
@pytest.mark.parametrize("layer", LAYERS)
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


BY_HAND = ["scale again", "fold again", "each by hand"]
# Torch's own forward mode loads its decompositions with torch.jit.
jit = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


@jit
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("form", BY_HAND)
def test_derivatives_by_hand_hold_twice(form, broadcast):
    values = arguments(2, 3, 2, 3, broadcast)
    assert torch.autograd.gradcheck(lambda *v: call(form, *v), values, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda *v: call(form, *v), values, check_fwd_over_rev=True)


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
