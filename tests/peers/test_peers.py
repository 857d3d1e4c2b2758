"""ensedu against layers that others wrote: tabm and bayesian-torch (`make test-peers`)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ensedu.torch as et
from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import size_option
from ensedu.priors import Normal
from ensedu.torch.variational import normal_kl

tabm = pytest.importorskip("tabm", reason="tabm is absent: run `make test-peers`")
bayesian = pytest.importorskip(
    "bayesian_torch.layers", reason="bayesian-torch is absent: run `make test-peers`"
)

# Distinct primes, so that no swapped axis goes unseen.
M, B, m, n = 3, 7, 5, 11
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

# Each method's layer in ensedu, that of the peer, and the role of each of the peer's parameters.
LAYERS = {
    "deep_ensemble": (
        et.DeepEnsembleLinear,
        lambda m, n, M, **k: tabm.LinearEnsemble(m, n, k=M, **k),
        {"weight": "per_member", "bias": "biases"},
    ),
    "batch_ensemble": (
        et.BatchEnsembleLinear,
        lambda m, n, M, **k: tabm.LinearBatchEnsemble(m, n, k=M, scaling_init="normal", **k),
        {"weight": "shared", "r": "per_member", "s": "per_member", "bias": "biases"},
    ),
    "mean_field": (
        lambda m, n, M, **k: et.MeanFieldLinear(m, n, **k),
        lambda m, n, M, **k: bayesian.LinearReparameterization(m, n, **k),
        {
            "mu_weight": "shared",
            "rho_weight": "scales",
            "mu_bias": "biases",
            "rho_bias": "biases",
        },
    ),
}


def peer_count(method, m, n, M, **options):
    _, make, roles = LAYERS[method]
    numbers = {}
    for name, parameter in make(m, n, M, **options).named_parameters():
        assert parameter.requires_grad
        numbers[roles[name]] = numbers.get(roles[name], 0) + parameter.numel()
    return Count(**numbers)


@pytest.mark.parametrize(
    ("method", "totals"),
    [
        ("deep_ensemble", [400, 10200, 204]),
        ("batch_ensemble", [454, 3100, 258]),
        ("mean_field", [200, 5100, 102]),
    ],
)
def test_table_of_layers(method, totals):
    peers = [peer_count(method, m, n, 4) for m, n in [(1, 50), (50, 50), (50, 1)]]
    assert [peer.total for peer in peers] == totals
    assert peers == list(counting.mlp([1, 50, 50, 1], method, **size_option(method, 4)).layers)


@pytest.mark.parametrize("method", LAYERS)
@settings(max_examples=300)
@given(m=st.integers(1, 97), n=st.integers(1, 97), M=st.integers(1, 13), bias=st.booleans())
def test_any_size(method, m, n, M, bias):
    peer = peer_count(method, m, n, M, bias=bias)
    assert peer == counting.layer(m, n, method, **size_option(method, M), bias=bias)
    assert peer == counting.count(LAYERS[method][0](m, n, M, bias=bias))


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
@pytest.mark.parametrize("bias", [True, False])
def test_same_outputs_of_members(method, bias):
    torch.manual_seed(0)
    make, make_peer, _ = LAYERS[method]
    layer = make(m, n, M, bias=bias, dtype=torch.float64)
    peer = make_peer(m, n, M, bias=bias, dtype=torch.float64)
    state = {name: torch.randn_like(value) for name, value in layer.state_dict().items()}
    layer.load_state_dict(state)
    if method == "deep_ensemble":  # tabm multiplies by (in, out), nn.Linear by the transpose
        state["weight"] = state["weight"].mT
    peer.load_state_dict(state)
    x = torch.randn(M, B, m, dtype=torch.float64)
    # tabm has the members on the second axis.
    torch.testing.assert_close(layer(x), peer(x.transpose(0, 1)).transpose(0, 1), **CLOSE)


def mean_field_pair(bias, loc=0.0, scale=1.0):
    """An ensedu layer and a peer with the same parameters and prior."""
    torch.manual_seed(0)
    prior = Normal(loc, scale)
    layer = et.MeanFieldLinear(m, n, prior=prior, bias=bias, dtype=torch.float64)
    # bayesian-torch calls it a variance, but uses it as a standard deviation.
    peer = bayesian.LinearReparameterization(
        m, n, prior_mean=loc, prior_variance=scale, bias=bias
    ).double()
    state = {name: torch.randn_like(value) for name, value in layer.state_dict().items()}
    layer.load_state_dict(state)
    parts = ["weight", "bias"] if bias else ["weight"]
    peer.load_state_dict(
        {f"mu_{part}": state[f"{part}_mean"] for part in parts}
        | {f"rho_{part}": state[f"{part}_rho"] for part in parts}
    )
    return layer, peer


@pytest.mark.parametrize("bias", [True, False])
def test_same_outputs_of_one_draw(bias):
    layer, peer = mean_field_pair(bias)
    x = torch.randn(B, m, dtype=torch.float64)
    y = peer(x, return_kl=False)
    # The peer keeps the noise that it drew.
    noise = {"weight": peer.eps_weight.T} | ({"bias": peer.eps_bias} if bias else {})
    torch.testing.assert_close(layer(x, noise), y, **CLOSE)


def test_without_spread_both_are_the_layer_of_means():
    layer, peer = mean_field_pair(bias=True)
    with torch.no_grad():
        for rho in (layer.weight_rho, layer.bias_rho, peer.rho_weight, peer.rho_bias):
            rho.fill_(-100.0)
    x = torch.randn(B, m, dtype=torch.float64)
    means = torch.nn.functional.linear(x, layer.weight_mean, layer.bias_mean)
    torch.testing.assert_close(layer(x), means, **CLOSE)
    torch.testing.assert_close(peer(x, return_kl=False), means, **CLOSE)


def test_kl_is_the_peers_times_the_number_of_weights():
    # At scale 1 a variance would pass for a standard deviation; 0.25 is exact in the float32 in
    # which the peer stores its prior.
    layer, peer = mean_field_pair(bias=False, loc=0.5, scale=0.25)
    torch.testing.assert_close(layer.kl(), m * n * peer.kl_loss(), **CLOSE)
    layer.prior = Normal(0.5, 0.25**0.5)
    assert not torch.isclose(layer.kl(), m * n * peer.kl_loss(), rtol=0.1)


def test_kl_of_the_peer_averages_weights_and_biases_apart():
    layer, peer = mean_field_pair(bias=True, loc=0.5, scale=0.25)
    weight = normal_kl(layer.weight_mean, layer.weight_rho, layer.prior)
    bias = normal_kl(layer.bias_mean, layer.bias_rho, layer.prior)
    torch.testing.assert_close(layer.kl(), weight.sum() + bias.sum(), **CLOSE)
    torch.testing.assert_close(peer.kl_loss(), weight.mean() + bias.mean(), **CLOSE)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_convolutions_count_and_compute_alike(bias, groups):
    torch.manual_seed(0)
    geometry = {"stride": 2, "padding": 1, "dilation": 2, "groups": groups, "bias": bias}
    layer = et.MeanFieldConv2d(6, 9, 3, dtype=torch.float64, **geometry)
    peer = bayesian.Conv2dReparameterization(6, 9, 3, **geometry).double()
    assert counting.count(layer).total == sum(p.numel() for p in peer.parameters())
    if groups == 1:
        assert counting.count(layer) == counting.mean_field(6, 9, kernel_size=3, bias=bias)
    with torch.no_grad():
        peer.mu_kernel.copy_(layer.weight_mean)
        peer.rho_kernel.copy_(layer.weight_rho)
        if bias:
            peer.mu_bias.copy_(layer.bias_mean)
            peer.rho_bias.copy_(layer.bias_rho)
    x = torch.randn(B, 6, 13, 11, dtype=torch.float64)
    y = peer(x, return_kl=False)
    noise = {"weight": peer.eps_kernel.transpose(0, 1)}
    noise |= {"bias": peer.eps_bias} if bias else {}
    torch.testing.assert_close(layer(x, noise), y, **CLOSE)
