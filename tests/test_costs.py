"""The costs by formula against operations and arrays of the real layers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import ensedu.torch as et
from ensedu import costs, counting
from ensedu.methods import METHODS, size_option
from ensedu.torch import products
from ensedu.torch.memory_saving import MemorySaving

sizes = st.integers(1, 7)
FORWARD = ("add", "mul", "addmm", "addcmul", "baddbmm")


class Elements(TorchDispatchMode):
    """Counts the entries that additions and multiplications outside of products write."""

    def __init__(self, names):
        super().__init__()
        self.names, self.written = names, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in self.names:
            # addcmul(bias, z, s) adds and multiplies.
            self.written += out.numel() * (2 if name == "addcmul" else 1)
        return out


def counted(run, names=FORWARD):
    """Operations inside and outside of the products, as they happen."""
    with FlopCounterMode(display=False) as flops, Elements(names) as elements:
        run()
    return flops.get_total_flops(), elements.written


def built(method, m, n, M, bias):
    """A layer of a method, and the argument of its members or samples."""
    row = METHODS[method]
    members = (M,) if row.has_members else ()
    return getattr(et, f"{row.layer}Linear")(m, n, *members, bias=bias)


@pytest.mark.parametrize("method", METHODS)
@given(m=sizes, n=sizes, M=sizes, B=sizes, bias=st.booleans())
def test_a_forward_pass_costs_what_the_layer_does(method, m, n, M, B, bias):
    torch.manual_seed(0)
    layer = built(method, m, n, M, bias)
    x = torch.randn(B, m) if method == "single" else torch.randn(M, B, m)
    dropout = et.MCDropout(0.5) if METHODS[method].drops_units else nn.Identity()
    with torch.no_grad():
        folds = METHODS[method].modulated and products.fold_pays(B, m, n)
        found = counted(lambda: dropout(layer(x)))
    form = "fold" if folds else "scale"
    size = {**size_option(method, M), "batch_size": B, "bias": bias}
    cost = costs.layer(m, n, method, **size, form=form)
    assert found == (cost.product_flops, cost.other_flops)
    assert cost.num_params == sum(p.numel() for p in layer.parameters())
    assert cost.num_activations == x.numel() + layer(x).numel()
    assert cost.bytes == 4 * (cost.num_params + cost.num_activations)
    assert cost.intensity == cost.flops / cost.bytes


@pytest.mark.parametrize("form", costs.FORMS)
def test_modulating_costs_what_the_two_forms_do_backward(form):
    """Products by the flop counter; r and s by the multiplications, of which each has its own."""
    M, B, m, n = 3, 7, 5, 11
    shapes = (M, B, m), (n, m), (M, m), (M, n)
    x, weight, r, s = (torch.randn(shape, requires_grad=True) for shape in shapes)
    if form == "scale":
        r, s = (v.detach()[:, None].requires_grad_() for v in (r, s))
    if form == "scale":
        y = products.scale(x, weight, r, s, None, products.LinearLayer)
    else:
        own = products.fold, products.fold_gradients, products.LinearLayer
        y = MemorySaving.apply(*own, x, weight, r, s, None)
    forward, both = (
        costs.layer(
            m, n, "batch_ensemble", M, batch_size=B, bias=False, form=form, backward=backward
        )
        for backward in (False, True)
    )
    flops, written = counted(lambda: y.backward(torch.ones_like(y)), ("mul",))
    assert written == both.other_flops - forward.other_flops
    extra = 2 * M * m * n if form == "fold" else 0  # r's gradient is a product with s there
    assert flops == both.product_flops - forward.product_flops + extra
    assert both.num_params == 2 * forward.num_params
    assert both.num_activations == 2 * forward.num_activations


@given(m=sizes, n=sizes, k=st.integers(1, 3), B=sizes, M=sizes, bias=st.booleans())
def test_a_convolution_costs_a_product_at_each_position(m, n, k, B, M, bias):
    height, width = 6, 5
    layer = et.DeepEnsembleConv2d(m, n, k, M, bias=bias)
    out = layer.output_size(height, width)
    cost = costs.layer(
        m, n, "deep_ensemble", M, batch_size=B, kernel_size=k, in_positions=height * width,
        out_positions=out[0] * out[1], bias=bias,
    )  # fmt: skip
    x = torch.randn(M, B, m, height, width)
    with torch.no_grad():
        flops, _ = counted(lambda: layer(x))
        assert cost.num_activations == x.numel() + layer(x).numel()
    assert flops == cost.product_flops
    assert cost.num_params == counting.count(layer).total
    assert cost.other_flops == (layer(x).numel() if bias else 0)


def test_the_roofline_is_the_slower_of_computing_and_moving():
    cost = costs.layer(5, 11, "deep_ensemble", 3, batch_size=7, itemsize=2)
    assert cost.seconds(1.0, 1e30) == cost.flops
    assert cost.seconds(1e30, 1.0) == cost.bytes == 2 * (3 * 66 + 21 * 16)
    ridge = cost.intensity  # a machine that computes this many for each byte waits for neither
    assert cost.seconds(ridge, 1.0) == pytest.approx(cost.bytes)
