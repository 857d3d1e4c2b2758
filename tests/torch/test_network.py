"""Networks, and layers without weights, in Torch."""

import copy

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.torch import network
from tests.backends import B, M, m, n


def test_shapes_on_the_way_are_found_once_and_again_for_another_input_or_layer(monkeypatch):
    net = et.mlp([5, 7, 11, 2], "mean_field", samples=3)
    found = []
    known = network._output_shape
    monkeypatch.setattr(network, "_output_shape", lambda *args: found.append(1) or known(*args))

    def drawn(*shape):
        return {key: value.shape for key, value in net.noise(None, shape).items()}

    first = drawn(13, 5)
    once = len(found)
    assert once == len(net) and drawn(13, 5) == first and len(found) == once
    drawn(17, 5)
    assert len(found) == 2 * once
    other = et.mlp([5, 7, 11, 2], "mc_dropout")
    assert other.noise(None, (13, 5))["3.mask"].shape == (1, 1, 7)
    other[1], other[4] = nn.Linear(5, 19), nn.Linear(19, 11)
    assert other.noise(None, (13, 5))["3.mask"].shape == (1, 1, 19)
    again = copy.deepcopy(other)
    torch.manual_seed(0)
    wanted = other.noise(None, (13, 5))
    torch.manual_seed(0)
    for key, value in again.noise(None, (13, 5)).items():
        assert torch.equal(value, wanted[key])


@pytest.mark.parametrize("members", [(), (M,)])
def test_a_tiled_batch_may_be_changed_in_place(members):
    S = 2
    x = torch.randn(B, m, dtype=torch.float64)
    before = x.clone()
    activation = nn.ReLU(inplace=True)
    layers = [et.Rank1Linear(m, n, M) if members else et.MeanFieldLinear(m, n)]
    for samples in (S, 1):
        net = et.Sequential(et.Tile(samples, *members), activation, *layers).double()
        torch.manual_seed(0)
        y = net(x)
        assert torch.equal(x, before)
        torch.manual_seed(0)
        expected = layers[0](before.clamp(min=0).expand(samples, *members, B, m))
        torch.testing.assert_close(y, expected)
        assert y.shape == (samples, *members, B, n)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("noise", "error", "words"),
    [
        ([], TypeError, "noise must be a dict of arrays, as net.noise() returns it, got list"),
        ({"1.r": torch.zeros(M, m)}, ValueError, "noise has the key '1.r', accepted are those of"),
        ({"0.r": torch.zeros(M, m)}, ValueError, "noise must be a dict with keys ['r', 's']"),
        (
            {"0.r": torch.zeros(M, n), "0.s": torch.zeros(M, n)},
            ValueError,
            "noise['r'] has shape (3, 11), accepted is (3, 5)",
        ),
        (
            {"0.r": torch.zeros(M, m).double(), "0.s": torch.zeros(M, n)},
            TypeError,
            "noise['r'] has dtype torch.float64, accepted is torch.float32",
        ),
    ],
)
def test_bad_noise_of_a_network_is_named(noise, error, words):
    net = et.mlp([m, n, 2], "rank1", M)
    with pytest.raises(error) as raised:
        net(torch.zeros(B, m), noise)
    assert words in str(raised.value)
