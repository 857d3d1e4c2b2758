"""One pass for all members: what it repeats, draws and leaves behind."""

import copy

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatLayer
from tests.torch.whole.cases import (
    MEMBER_METHODS,
    SAMPLES,
    B,
    InPlaceFirst,
    M,
    S,
    SequenceFirst,
    convert,
    floats,
    mlp,
    numbers,
    seeded,
)


def test_a_copy_counts_its_own_batch():
    net = et.ensemble(mlp(), "batch_ensemble", M)
    twin = copy.deepcopy(net)
    passes = {id(part._passes) for part in twin.modules() if isinstance(part, FlatLayer)}
    assert passes == {id(twin._passes)}
    assert id(net._passes) not in passes


@pytest.mark.parametrize("method", MEMBER_METHODS)
def test_an_empty_batch_is_a_batch(method):
    net = convert(mlp().double(), method)
    assert net(numbers(0, 7)).shape == (M, 0, 2)


def test_an_input_is_never_changed():
    for method in MEMBER_METHODS:
        x = numbers(B, 7)
        convert(InPlaceFirst().double(), method)(x)
        assert torch.equal(x, numbers(B, 7))


def test_batch_norm_couples_members_in_training_only():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(7, 11), nn.BatchNorm1d(11), nn.ReLU(), nn.Linear(11, 2))
    net = et.ensemble(model.double(), "batch_ensemble", M, init="normal")
    x = numbers(B, 7)
    gradients = {}
    for mode in (True, False):
        net.zero_grad()
        net.train(mode)(x)[0].square().sum().backward()
        gradients[mode] = net.model[0].layer.r.grad.clone()
    assert gradients[True][0].any() and gradients[True][1].any()
    assert gradients[False][0].any() and not gradients[False][1:].any()


def test_a_pass_that_fails_leaves_nothing_behind():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 7)

        def forward(self, x):
            raise RuntimeError("on purpose")

    net = et.ensemble(Fails(), "batch_ensemble", M)
    with pytest.raises(RuntimeError, match="on purpose"):
        net(numbers(B, 7).float())
    assert net._passes.running is None
    assert net.model.fc(numbers(2 * M, 7).float()).shape == (2 * M, 7)


@pytest.mark.parametrize("method", MEMBER_METHODS)
@pytest.mark.parametrize("ensemble_size", [1, M])
def test_no_input_is_changed_alone_or_by_name(method, ensemble_size):
    class ByName(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(7, 2)

        def forward(self, x, *, input):
            return self.head(x.mul_(2) + input.sub_(1))

    x, named = numbers(B, 7).float(), numbers(B, 7).float()
    net = convert(ByName(), method, ensemble_size)
    y = net(x, input=named)
    assert torch.equal(x, named) and torch.equal(x, numbers(B, 7).float())
    assert y.shape == (ensemble_size, B, 2)


def test_a_lost_batch_of_another_length_is_named_as_before():
    net = et.ensemble(SequenceFirst(), "batch_ensemble", 4)
    with pytest.raises(ValueError, match=r"fc: got an input of shape \(8, 12, 7\) inside"):
        net(floats(3, 8, 7))


def test_gradients_inside_a_model_work():
    class Force(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 1)

        def forward(self, x):
            x = x.requires_grad_(True)
            energy = self.head(torch.tanh(self.fc(x))).sum()
            return torch.autograd.grad(energy, x, create_graph=True)[0]

    net = et.ensemble(Force().double(), "rank1", M)
    x = floats(B, 7).double()
    noise = net.noise(seeded(), x)
    torch.testing.assert_close(net(x, noise=noise)[1], net.member(1, noise)(x))


def test_noise_for_inputs_is_what_a_pass_would_draw():
    model = nn.Sequential(nn.Linear(7, 11), nn.ReLU(), nn.Linear(11, 2)).double()
    x = floats(B, 7).double()
    for method, options, shapes in (
        ("rank1", {"per_example": True}, {"0.r": (M, B, 7), "2.s": (M, B, 2)}),
        ("rank1", {}, {"0.r": (M, 7), "2.s": (M, 2)}),
        ("mean_field", {"estimator": "local"}, {"0.output": (M, B, 11), "2.output": (M, B, 2)}),
        ("mean_field", {}, {"0.weight": (M, 7, 11), "2.bias": (M, 2)}),
    ):
        net = et.ensemble(model, method, **size_option(method, M), **options)
        noise = net.noise(seeded(3), x)
        assert {name: tuple(noise[name].shape) for name in shapes} == shapes
        assert torch.equal(net(x, noise=noise), net(x, noise=noise))
        again = net.noise(seeded(3), x)
        assert all(torch.equal(again[name], value) for name, value in noise.items())
    local = et.ensemble(model, "mean_field", samples=M, estimator="local")
    noise = local.noise(seeded())  # of the weights: one function for all examples
    y = local(x, noise=noise)
    torch.testing.assert_close(local.member(1, noise)(x), y[1], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r'0: noise\["output"\] makes another function for each'):
        local.member(1, local.noise(seeded(), x))


def test_flat_ensembles_pass_on_what_has_no_batch_axis():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)

        def forward(self, x, mask, scale):
            return self.fc(x * mask) * scale

    net = et.ensemble(Masked().double(), "batch_ensemble", M)
    x, mask = floats(B, 7).double(), (floats(1, 7) > 0).double()
    scale = torch.tensor(3.0, dtype=torch.float64)
    y = net(x, mask, scale)
    torch.testing.assert_close(y[2], net.member(2)(x, mask, scale), rtol=1e-12, atol=1e-12)
    assert net(x[:1], mask, scale).shape == (M, 1, 2)


@pytest.mark.bad_input
def test_sizes_follow_from_the_parameters():
    net = et.ensemble(nn.Linear(7, 2), "mean_field", samples=4)
    with pytest.raises(AttributeError, match="another number of samples"):
        net.ensemble_size = 8
    net.samples = 8
    y = net(floats(B, 7))
    assert y.shape == (8, B, 2) and net.leading == (8,)
    assert len(torch.unique(y[:, 0, 0])) == 8  # eight answers are eight draws
    for value, error in ((0, ValueError), (None, TypeError), (True, TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="samples must be"):
            net.samples = value
    both = et.ensemble(nn.Linear(7, 2), "rank1", M)
    both.samples = S
    assert both(floats(B, 7)).shape == (S, M, B, 2)
    both.samples = None
    assert both(floats(B, 7)).shape == (M, B, 2)
    for method in ("batch_ensemble", "deep_ensemble"):
        fixed = et.ensemble(nn.Linear(7, 2), method, M)
        assert fixed.ensemble_size == M
        with pytest.raises(AttributeError, match="ensemble_size cannot be set, got 8; accepted is"):
            fixed.ensemble_size = 8
    with pytest.raises(ValueError, match="samples must be left out where nothing is drawn"):
        et.ensemble(nn.Linear(7, 2), "batch_ensemble", M).samples = 8
    layer = et.BatchEnsembleLinear(7, 2, M)
    with pytest.raises(AttributeError, match="ensemble_size follows from the shapes"):
        layer.ensemble_size = 8
    assert layer.ensemble_size == M


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "mean_field", "mc_dropout"])
@pytest.mark.parametrize("masked", [False, True])
def test_torchs_transformer_works_in_eval_mode(method, masked):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(6, 2, 11, batch_first=True, dropout=0.1)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=masked).double()
    options = {"shared": [nn.MultiheadAttention]} if method != "mc_dropout" else {}
    net = et.ensemble(model, method, **size_option(method, M), **options)
    x = floats(B, 4, 6).double()
    keys = {}
    if masked:
        hidden = torch.zeros(B, 4, dtype=torch.bool)
        hidden[1, 2:] = True
        keys = {"src_key_padding_mask": hidden}
    net.train()(x, **keys).sum().backward()
    fast = torch.backends.mha.get_fastpath_enabled()
    with torch.no_grad():
        noise = {"noise": net.noise(seeded(), x, **keys)} if method != "batch_ensemble" else {}
        y = net.eval()(x, **keys, **noise)
        for i in range(M):
            member = net.member(i, *noise.values()).train()
            for part in member.modules():  # the plain way through, without dropout
                if isinstance(part, nn.Dropout):
                    part.p = 0.0
                if isinstance(part, nn.MultiheadAttention):
                    part.dropout = 0.0
            torch.testing.assert_close(member(x, **keys), y[i], rtol=1e-10, atol=1e-10)
    assert torch.backends.mha.get_fastpath_enabled() == fast


def test_samples_is_one_by_default_and_an_empty_batch_is_a_batch():
    model = nn.Sequential(nn.Linear(7, 3), nn.Dropout())
    assert et.ensemble(model, "mc_dropout")(torch.zeros(B, 7)).shape == (1, B, 3)
    assert et.ensemble(model, "mc_dropout", samples=SAMPLES)(torch.zeros(0, 7)).shape == (
        SAMPLES,
        0,
        3,
    )


def test_fused_transformer_layers_drop_too():
    layer = nn.TransformerEncoderLayer(6, 2, 11, dropout=0.4, batch_first=True).eval()
    net = et.ensemble(layer, "mc_dropout", samples=SAMPLES)
    x = torch.randn(B, 3, 6)
    with torch.no_grad():  # where Torch fuses a layer that it thinks is in eval mode
        y = net(x)
        assert torch.equal(layer(x), layer(x))
    assert not torch.allclose(y[0], y[1])


DRAWN = {
    "rank1": {"ensemble_size": M, "posterior_std": 0.3},
    "rank1 with samples": {"ensemble_size": M, "samples": SAMPLES, "posterior_std": 0.3},
    "mean_field": {"samples": SAMPLES, "posterior_std": 0.1},
}


def curve():
    return nn.Sequential(
        nn.Linear(1, 11), nn.Tanh(), nn.Linear(11, 13), nn.Tanh(), nn.Linear(13, 2)
    )


@pytest.mark.parametrize("case", DRAWN)
@pytest.mark.parametrize("images", [False, True])
def test_one_draw_is_one_function(case, images):
    method, options = case.partition(" ")[0], DRAWN[case]
    model = models.lenet5() if images else curve()
    net = et.ensemble(model.double(), method, **options)
    grid = numbers(13, 1, 28, 28) if images else numbers(13, 1)
    source = torch.Generator().manual_seed(3)
    noise = net.noise(source)
    y = net(grid, noise=noise)
    assert y.shape[:-1] == (*net.leading, 13)
    for rows in (slice(0, 7), slice(4, 13)):
        here = net(grid[rows], noise=noise)
        torch.testing.assert_close(here, y[..., rows, :], rtol=0, atol=1e-12)
    again = net.noise(torch.Generator().manual_seed(3))
    assert noise.keys() == again.keys() and all(torch.equal(noise[k], again[k]) for k in noise)
    assert not torch.allclose(net(grid, noise=net.noise(source)), y)
    assert not torch.allclose(net(grid), y)
    state = torch.get_rng_state()
    net(grid, noise=noise)
    assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn besides


def test_a_model_keeps_its_own_input_of_that_name():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)

        def forward(self, x, noise):
            return self.fc(x + noise)

    x, noise = numbers(B, 7), numbers(B, 7).flip(0)
    net = et.ensemble(Noisy().double(), "batch_ensemble", M)
    torch.testing.assert_close(net(x, noise=noise), net.model.fc.layer(x + noise))


def test_nothing_to_draw_is_no_noise():
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2))
    x = torch.randn(B, 7)
    for method, options in (("batch_ensemble", {}), ("last_layer", {"head": "2"})):
        net = et.ensemble(model, method, M, **options)
        assert net.noise() == {}
        assert torch.equal(net(x, noise={}), net(x))


@pytest.mark.bad_input
def test_noise_that_depends_on_the_input_is_named():
    model = nn.Sequential(nn.Linear(7, 5), nn.Dropout(0.5), nn.Linear(5, 2))
    for method, options, words in (
        ("rank1", {"ensemble_size": M, "per_example": True}, "noise of 0 depends on its input for "
         "per_example=True; accepted are the inputs too"),
        ("mc_dropout", {"samples": SAMPLES}, "noise of 1 depends on its input as every mask"),
    ):  # fmt: skip
        net = et.ensemble(model, method, **options)
        with pytest.raises(ValueError) as raised:
            net.noise()
        assert words in str(raised.value)
        with pytest.raises(ValueError, match="noise has nothing for"):
            net(torch.zeros(B, 7), noise={})


@pytest.mark.bad_input
def test_bad_noise_is_named():
    net = et.ensemble(nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2)), "rank1", M)
    good = net.noise()
    for noise, error, words in (
        ([], TypeError, "noise must be a dict, as net.noise() returns it, got list"),
        ({}, ValueError, "noise has nothing for 0, accepted is what net.noise() returns"),
        ({k: v for k, v in good.items() if k[0] == "0"}, ValueError, "noise has nothing for 2"),
        (
            good | {"1.r": good["0.r"]},
            ValueError,
            "noise has the key '1.r', accepted are those of layers that draw, 0, 2",
        ),
        ({k: v for k, v in good.items() if k != "2.s"}, ValueError, "2: noise must be a dict with"),
        (good | {"2.t": good["2.s"]}, ValueError, "noise must be a dict with keys ['r', 's'], got"),
        (good | {"2.s": good["2.s"].T}, ValueError, "noise['s'] has shape (2, 3), accepted is (3"),
        (good | {"2.s": good["2.s"].double()}, TypeError, "noise['s'] has dtype torch.float64"),
        (good | {"2.s": [0.0]}, TypeError, "noise['s'] must be a torch.Tensor, got list"),
    ):
        with pytest.raises(error) as raised:
            net(torch.zeros(B, 7), noise=noise)
        assert words in str(raised.value)
        assert net._passes.running is None
