"""Convolutions that store nothing for the backward pass: their gradients by hand, of any kind.

What transforms and compilers do is in `test_compilers.py`.
"""

import itertools

import pytest
import torch

import ensedu.torch as et
from benchmarks import measure
from ensedu.torch.memory_saving import fold_gradients, scale_gradients
from tests.backends import gradients

M, B, m, n = 2, 3, 4, 6
SIDE = (5, 7)
GEOMETRIES = {
    "plain": {},
    "strided": {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)},
    "same": {"padding": "same", "dilation": 2},
    "circular": {"padding": (1, 2), "padding_mode": "circular"},
    "reflected, same": {"padding": "same", "padding_mode": "reflect"},
    "grouped": {"groups": 2, "padding": 1},
}
# Torch's own forward mode loads its decompositions with torch.jit.
jit = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def pair(geometry, bias=True):
    """A layer that stores what it likes, and one with its parameters that stores nothing."""
    torch.manual_seed(0)
    options = {"init": "normal", "bias": bias, **GEOMETRIES[geometry]}
    plain, saving = (
        et.BatchEnsembleConv2d(m, n, (3, 2), M, memory_saving=flag, dtype=torch.float64, **options)
        for flag in (False, True)
    )
    saving.load_state_dict(plain.state_dict())
    return plain, saving


def images(broadcast, dtype=torch.float64):
    return torch.randn(*(() if broadcast else (M,)), B, m, *SIDE, dtype=dtype)


def fold(monkeypatch, folds):
    monkeypatch.setattr(
        et.BatchEnsembleConv2d, "fold_pays", lambda self, _: folds and self.groups == 1
    )


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_gradients_by_hand_are_those_of_autograd(monkeypatch, geometry, bias, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = pair(geometry, bias)
    x = images(broadcast).requires_grad_()
    y = saving(x)
    by_hand = fold_gradients if folds and geometry != "grouped" else scale_gradients
    assert y.grad_fn.gradients is by_hand
    torch.testing.assert_close(y, plain(x), rtol=0, atol=1e-12)
    found = gradients(y, [x, *saving.parameters()])
    expected = gradients(plain(x), [x, *plain.parameters()])
    for mine, slope in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, slope, rtol=0, atol=1e-11)


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("broadcast", [False, True])
def test_gradients_are_made_for_what_wants_one(monkeypatch, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = pair("plain")
    x = images(broadcast).requires_grad_()
    expected = gradients(plain(x), [x, *plain.parameters()])
    values = [x, *saving.parameters()]
    for wanted in itertools.combinations(range(len(values)), 2):
        for i, value in enumerate(values):
            value.requires_grad_(i in wanted)
        found = gradients(saving(x), [values[i] for i in wanted])
        for i, slope in zip(wanted, found, strict=True):
            torch.testing.assert_close(slope, expected[i], rtol=0, atol=1e-11)


@jit
@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("geometry", ["strided", "circular"])
def test_derivatives_by_hand_hold_twice(monkeypatch, geometry, folds):
    fold(monkeypatch, folds)
    _, saving = pair(geometry)
    names = [name for name, _ in saving.named_parameters()]
    values = [value.detach().clone().requires_grad_() for value in saving.parameters()]

    def call(x, *values):
        return torch.func.functional_call(saving, dict(zip(names, values, strict=True)), (x,))

    x = torch.randn(1, m, 4, 4, dtype=torch.float64, requires_grad=True)
    given = {"fast_mode": True}  # along random directions
    assert torch.autograd.gradcheck(call, (x, *values), check_forward_ad=True, **given)
    assert torch.autograd.gradgradcheck(call, (x, *values), **given)


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("broadcast", [False, True])
def test_images_in_any_memory_format(monkeypatch, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = pair("plain")
    x = images(broadcast)
    last = x.transpose(-3, -1).contiguous().transpose(-3, -1).requires_grad_()
    found = gradients(saving(last), [last, *saving.parameters()])
    expected = gradients(plain(last), [last, *plain.parameters()])
    for mine, slope in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, slope, rtol=0, atol=1e-11)


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("broadcast", [False, True])
def test_autocast_computes_as_short_as_torch(monkeypatch, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = (layer.float() for layer in pair("plain"))
    x = images(broadcast, torch.float32).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = saving(x)
    assert y.dtype == torch.bfloat16
    found = gradients(y.float(), [x, *saving.parameters()])
    expected = gradients(plain(x), [x, *plain.parameters()])
    for mine, slope in zip(found, expected, strict=True):
        assert mine.dtype == torch.float32
        assert (mine - slope).norm() <= 0.03 * slope.norm()


def test_fold_leaves_out_the_convolution_for_images_without_gradient(monkeypatch):
    fold(monkeypatch, True)
    _, saving = pair("plain")

    def convolutions(needs):
        loss = saving(images(True).requires_grad_(needs)).sum()
        with torch.profiler.profile() as profile:
            loss.backward()
        return sum(e.count for e in profile.key_averages() if e.key == "aten::convolution_backward")

    assert convolutions(True) == convolutions(False) + 1


@pytest.mark.parametrize("side", [5, 13])
def test_memory_saving_convolution_stores_nothing_beyond_input_and_parameters(side):
    M = 3
    x = torch.randn(M, 2, 5, side, side, requires_grad=True)
    saving, default = (
        et.BatchEnsembleConv2d(5, 7, 3, M, memory_saving=flag) for flag in (True, False)
    )
    assert measure.saved_bytes(lambda: saving(x), x, *saving.parameters()) == 0
    # Scale stores x ∘ r and conv(x ∘ r, W); fold the kernels and W ∘ s.
    numbers = x.numel() + M * 2 * 7 * (side - 2) ** 2 if side == 5 else 2 * M * 7 * 5 * 9
    assert measure.saved_bytes(lambda: default(x), x, *default.parameters()) == 4 * numbers
