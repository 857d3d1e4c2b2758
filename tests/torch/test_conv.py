"""The convolutions: against an explicit loop over members of ``nn.Conv2d`` with dense kernels.

In each form, and with a backward pass by hand, which finds nothing stored. What transforms and
compilers do is in `test_compilers.py`.
"""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import ensedu.torch as et
from benchmarks import measure
from ensedu.torch.memory_saving import fold_gradients, scale_gradients
from tests.backends import DEVICES, gradients

M, S, B, H, W = 3, 5, 2, 13, 17
#: A class, and options with which fast weights and scales are far from 1 and 0.
KINDS = {
    "deep_ensemble": (et.DeepEnsembleConv2d, {}),
    "batch_ensemble": (et.BatchEnsembleConv2d, {"init": "normal"}),
    "memory saving": (et.BatchEnsembleConv2d, {"init": "normal", "memory_saving": True}),
    "rank1": (et.Rank1Conv2d, {"init_std": 0.5, "posterior_std": 0.3}),
    "mean_field": (et.MeanFieldConv2d, {"posterior_std": 0.3}),
}
#: With and without folding, where there are two forms.
FORMS = [("deep_ensemble", False), ("mean_field", False)] + [
    (name, folds)
    for name in ("batch_ensemble", "memory saving", "rank1")
    for folds in (False, True)
]
GEOMETRIES = {
    "plain": {},
    "no bias": {"bias": False},
    "stride": {"stride": (2, 3), "padding": (1, 2), "dilation": (1, 2)},
    "same": {"padding": "same", "dilation": (1, 2)},
    "same, even": {"padding": "same", "padding_mode": "circular", "kernel_size": (4, 2)},
    "valid": {"padding": "valid"},
    "dilation": {"dilation": (3, 2), "padding": 3},
    "reflect": {"padding": (2, 1), "padding_mode": "reflect", "stride": 2},
    "replicate": {"padding": "same", "padding_mode": "replicate"},
    "circular": {"padding": (0, 3), "padding_mode": "circular", "dilation": 2},
    "groups": {"c_in": 6, "c_out": 9, "groups": 3, "stride": 2, "padding": 1},
}


def make(name, c_in=5, c_out=7, kernel_size=(3, 5), **options):
    kind, own = KINDS[name]
    members = () if name == "mean_field" else (M,)
    return kind(c_in, c_out, kernel_size, *members, **{"dtype": torch.float64} | own | options)


def fold(monkeypatch, folds):
    """Let convolutions fold, where they can, or scale."""
    monkeypatch.setattr(
        et.BatchEnsembleConv2d, "fold_pays", lambda self, _: folds and self.groups == 1
    )
    monkeypatch.setattr(et.Rank1Conv2d, "fold_pays", et.BatchEnsembleConv2d.fold_pays)


def images(*leading, c_in=5, device="cpu"):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*leading, c_in, H, W, generator=generator, dtype=torch.float64).to(device)


def draw(layer, x, seed=3):
    """The keyword arguments of one reproducible forward pass, nothing for a layer without noise."""
    if not hasattr(layer, "noise"):
        return {}
    generator = torch.Generator(x.device).manual_seed(seed)
    return {"noise": layer.noise(generator, tuple(x.shape))}


def biases(layer, noise=None):
    """(M, C_out), or None."""
    if hasattr(layer, "bias"):
        return layer.bias
    if layer.bias_mean is None:
        return None
    return layer.bias_mean + nn.functional.softplus(layer.bias_rho) * noise["bias"]


def loop(layer, x, **noise):
    """Each member as a plain ``nn.Conv2d`` without groups, with its own dense kernels."""
    kernels, bias = layer.weight_matrices(**noise), biases(layer, **noise)
    outputs = []
    for i in range(M):
        names = ("stride", "padding", "dilation", "padding_mode")
        plain = nn.Conv2d(
            *(layer.in_channels, layer.out_channels, layer.kernel_size),
            bias=bias is not None,
            dtype=x.dtype,
            device=x.device,
            **{name: getattr(layer, name) for name in names},
        )
        values = {"weight": kernels[i].transpose(0, 1)}
        values |= {} if bias is None else {"bias": bias[i]}
        own = x if x.ndim == 4 else x[i]
        outputs.append(torch.func.functional_call(plain, values, (own,)))
    return torch.stack(outputs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("geometry", GEOMETRIES)
@pytest.mark.parametrize(("name", "folds"), FORMS)
def test_forward_and_gradients_equal_loop_over_members(
    monkeypatch, name, folds, geometry, broadcast, device
):
    fold(monkeypatch, folds)
    layer = make(name, device=device, **GEOMETRIES[geometry])
    leading = [B] if broadcast and name != "mean_field" else [M, B]
    x = images(*leading, c_in=layer.in_channels, device=device).requires_grad_()
    noise = draw(layer, x)
    inputs = [x, *layer.parameters()]
    y, expected = layer(x, **noise), loop(layer, x, **noise)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-12)
    assert layer.output_size(H, W) == y.shape[-2:]
    if name == "memory saving":
        by_hand = fold_gradients if folds and layer.groups == 1 else scale_gradients
        assert y.grad_fn.gradients is by_hand
    names = ["x", *(name for name, _ in layer.named_parameters())]
    found = gradients(y, inputs), gradients(expected, inputs)
    for name, grad, reference in zip(names, *found, strict=True):
        torch.testing.assert_close(grad, reference, rtol=0, atol=1e-11, msg=name)
        assert grad.abs().max() > 1e-3, f"{name} gets no gradient"


def test_groups_start_as_torch_lets_them():
    for name in KINDS:
        layer = make(name, 6, 9, (3, 2), groups=3)
        start = layer.weight_mean if name == "mean_field" else layer.weight  # of 2 x 3 x 2 inputs
        assert 0.9 * 12**-0.5 < start.abs().max() <= 12**-0.5


@settings(max_examples=60)
@given(data=st.data())
def test_any_geometry_equals_loop(data):
    def pick(low, high):
        return data.draw(st.integers(low, high))

    groups = pick(1, 3)
    kernel = pick(1, 4), pick(1, 4)
    modes = st.sampled_from(["zeros", "reflect", "replicate", "circular"])
    geometry = {
        "groups": groups,
        "stride": (pick(1, 3), pick(1, 3)),
        "dilation": (pick(1, 3), pick(1, 3)),
        "padding": (pick(0, 4), pick(0, 4)),
        "padding_mode": data.draw(modes),
        "bias": data.draw(st.booleans()),
    }
    c_in, c_out = groups * pick(1, 3), groups * pick(1, 3)
    layer = make(data.draw(st.sampled_from([*KINDS])), c_in, c_out, kernel, **geometry)
    x = images(M, B, c_in=c_in)
    noise = draw(layer, x)
    y = layer(x, **noise)
    torch.testing.assert_close(y, loop(layer, x, **noise), rtol=0, atol=1e-12)
    assert layer.output_size(H, W) == y.shape[-2:]


def test_rank1_per_example_equals_loop_over_examples():
    layer = make("rank1", per_example=True, padding=1)
    x = images(M, B)
    noise = draw(layer, x)["noise"]
    assert noise["r"].shape == (M, B, 5)
    assert noise["s"].shape == (M, B, 7)
    y, kernels = layer(x, noise), layer.weight_matrices(noise)
    assert kernels.shape == (M, B, 5, 7, 3, 5)
    for i in range(M):
        for j in range(B):
            own = nn.functional.conv2d(x[i, j], kernels[i, j].transpose(0, 1), padding=1)
            own = own + layer.bias[i, :, None, None]
            torch.testing.assert_close(y[i, j], own, rtol=0, atol=1e-12)
    assert not torch.allclose(kernels[0, 0], kernels[0, 1])


def test_a_mean_field_convolution_takes_one_sample_or_one_a_leading_index():
    layer = make("mean_field")
    x = images(B)
    noise = draw(layer, x)["noise"]
    kernels = layer.weight_matrices(noise)
    assert kernels.shape == (1, 5, 7, 3, 5)
    expected = nn.functional.conv2d(x, kernels[0].transpose(0, 1), biases(layer, noise))
    torch.testing.assert_close(layer(x, noise), expected, rtol=0, atol=1e-12)
    y = layer(images(B).expand(M, -1, -1, -1, -1))
    assert y.shape == (M, B, 7, 11, 13)
    assert not torch.allclose(y[0], y[1])


SAMPLED = [(name, {}) for name in KINDS] + [("rank1", {"per_example": True})]


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(("method", "options"), SAMPLED)
def test_samples_equal_loop_over_samples(method, options, groups):
    layer = make(method, 6, 9, (3, 2), groups=groups, padding=1, **options)
    x = images(S, *(() if method == "mean_field" else (M,)), B, c_in=6)
    given = draw(layer, x)
    kernels, y = layer.weight_matrices(**given), layer(x, **given)
    for t in range(S):
        own = {key: {name: eps[t] for name, eps in noise.items()} for key, noise in given.items()}
        torch.testing.assert_close(y[t], layer(x[t], **own), rtol=0, atol=1e-12)
        if given:
            place = t if method == "rank1" else slice(t, t + 1)
            assert torch.equal(layer.weight_matrices(**own), kernels[place])
    assert not given or not torch.allclose(kernels[0], kernels[1])


def test_repr_says_what_is_not_default():
    layer = make("batch_ensemble", 6, 9, 3, stride=2, groups=3, bias=False)
    assert repr(layer) == (
        "BatchEnsembleConv2d(6, 9, kernel_size=(3, 3), stride=(2, 2), groups=3, ensemble_size=3, "
        "bias=False)"
    )


def test_convolutions_fold_where_pixels_outnumber_weights():
    layer = et.BatchEnsembleConv2d(5, 7, 3, M, padding=1)
    # One image of h x h: 12 h² entries scaled, 2 x 315 folded.
    assert not layer.fold_pays((1, 5, 7, 7))
    assert layer.fold_pays((1, 5, 8, 8))
    assert not et.BatchEnsembleConv2d(4, 6, 3, M, padding=1, groups=2).fold_pays((9, 4, 9, 9))


def pair():
    """A layer that stores what it likes, and one with its parameters that stores nothing."""
    plain, saving = make("batch_ensemble"), make("memory saving")
    saving.load_state_dict(plain.state_dict())
    return plain, saving


both = pytest.mark.parametrize(
    ("broadcast", "folds"), [*itertools.product([False, True], repeat=2)]
)


@both
def test_gradients_are_made_for_what_wants_one(monkeypatch, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = pair()
    x = images(*(() if broadcast else (M,)), B).requires_grad_()
    expected = gradients(plain(x), [x, *plain.parameters()])
    values = [x, *saving.parameters()]
    for wanted in itertools.combinations(range(len(values)), 2):
        for i, value in enumerate(values):
            value.requires_grad_(i in wanted)
        found = gradients(saving(x), [values[i] for i in wanted])
        for i, slope in zip(wanted, found, strict=True):
            torch.testing.assert_close(slope, expected[i], rtol=0, atol=1e-11)


@both
def test_images_in_any_memory_format(monkeypatch, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = pair()
    x = images(*(() if broadcast else (M,)), B)
    last = x.transpose(-3, -1).contiguous().transpose(-3, -1).requires_grad_()
    found = gradients(saving(last), [last, *saving.parameters()])
    expected = gradients(plain(last), [last, *plain.parameters()])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-11)


@both
def test_autocast_computes_as_short_as_torch(monkeypatch, broadcast, folds):
    fold(monkeypatch, folds)
    plain, saving = (layer.float() for layer in pair())
    x = images(*(() if broadcast else (M,)), B).float().requires_grad_()
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
    _, saving = pair()

    def convolutions(needs):
        loss = saving(images(B).requires_grad_(needs)).sum()
        with torch.profiler.profile() as profile:
            loss.backward()
        return sum(e.count for e in profile.key_averages() if e.key == "aten::convolution_backward")

    assert convolutions(True) == convolutions(False) + 1


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
