"""Backward passes by hand of scale and fold: twice, forward, mapped, and with nothing stored."""

import itertools

import pytest
import torch
from torch.func import grad, vmap

import ensedu.torch as et
from benchmarks import measure
from ensedu.torch import products
from tests.backends import M, m, n
from tests.torch.product_cases import FORMS, K, arguments, by_member, call, gradients, tensors_of

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
