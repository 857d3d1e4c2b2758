"""Layers of classes of their own: those that are plain products are swapped, others named."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.methods import size_option
from ensedu.torch.whole.flat_parts import FlatLayer
from tests.torch.whole.cases import FLAT, OPTIONS, B, M, floats, seeded


class SameConv(nn.Conv2d):
    """Pads as TensorFlow's "same" does, by the size of the image."""

    def forward(self, x):
        sides = []
        for i in (1, 0):
            size, s, k, d = x.shape[2 + i], self.stride[i], self.kernel_size[i], self.dilation[i]
            total = max((math.ceil(size / s) - 1) * s + (k - 1) * d + 1 - size, 0)
            sides += [total // 2, total - total // 2]
        return F.conv2d(
            F.pad(x, sides), self.weight, self.bias, self.stride, 0, self.dilation, self.groups
        )


class ClampedLinear(nn.Linear):
    """A product only where it is small."""

    def forward(self, x):
        return super().forward(x).clamp(-80, 80)


class ScaledGradient(nn.Linear):
    """The product, with another gradient."""

    def forward(self, x):
        y = super().forward(x)
        return 10 * y - 9 * y.detach()


class MaskedInPlace(nn.Conv2d):
    """Changes its own weight as it runs."""

    def forward(self, x):
        self.weight.data[:, :, -1] = 0
        return super().forward(x)


class CastLinear(nn.Linear):
    """Casts its weight to the input."""

    def forward(self, x):
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, self.weight.to(x.dtype), bias)


class StandardizedConv(nn.Conv2d):
    """Does more than the product."""

    def forward(self, x):
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


class DoubleInTraining(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (2 if self.training else 1)


class OtherArrays(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.gain = nn.Parameter(torch.ones(()))


@pytest.mark.parametrize("method", FLAT)
@pytest.mark.parametrize("geometry", [{}, {"stride": 2}, {"stride": (3, 2), "dilation": (1, 2)}])
def test_subclasses_that_pad_or_cast_are_swapped(method, geometry):
    torch.manual_seed(0)
    model = nn.Sequential(
        SameConv(2, 4, (3, 5), **geometry), SameConv(4, 4, 4, groups=2), nn.Flatten(1),
        nn.LazyLinear(7), CastLinear(7, 2),
    )  # fmt: skip
    x = floats(B, 2, 7, 8)
    model(x)
    model, x = model.double(), x.double()
    net = et.ensemble(model, method, **size_option(method, M), **OPTIONS[method], example=x)
    assert sum(isinstance(part, FlatLayer) for part in net.modules()) == 4
    noise = [] if method == "batch_ensemble" else [net.noise(seeded())]
    y = net(x, **({"noise": noise[0]} if noise else {}))
    for i in range(M):
        member = net.member(i, *noise)
        assert type(member[0]) is SameConv and type(member[4]) is CastLinear
        torch.testing.assert_close(member(x), y[i], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        StandardizedConv(2, 3, 3),
        DoubleInTraining(7, 2),
        OtherArrays(7, 2),
        ClampedLinear(7, 2),
        ScaledGradient(7, 2),
        MaskedInPlace(2, 3, 3),
    ],
)
def test_subclasses_that_do_more_are_named_with_their_path(layer):
    before, weight = layer.training, layer.weight.detach().clone()
    with pytest.raises(ValueError) as raised:
        et.ensemble(nn.Sequential(layer, nn.Linear(2, 2)), "batch_ensemble", M)
    assert f"0 (tests.torch.whole.test_subclasses.{type(layer).__name__}" in str(raised.value) or (
        f"0.gain (a parameter of tests.torch.whole.test_subclasses.{type(layer).__name__}"
        in str(raised.value)
    )
    assert "list it as shared" in str(raised.value)
    assert layer.training == before and torch.equal(layer.weight, weight)
    net = et.ensemble(nn.Sequential(layer, nn.Linear(2, 2)), "batch_ensemble", M, shared=["0"])
    assert type(net.model[0]) is type(layer)
