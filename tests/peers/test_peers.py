"""ensedu against layers that others wrote: tabm and bayesian-torch (`make test-others`)."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ensedu.torch as et
from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import size_option
from ensedu.priors import Normal

tabm = pytest.importorskip("tabm", reason="tabm is absent: run `make test-others`")
bayesian = pytest.importorskip(
    "bayesian_torch.layers", reason="bayesian-torch is absent: run `make test-others`"
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
        {"mu_weight": "shared", "rho_weight": "scales", "mu_bias": "biases", "rho_bias": "biases"},
    ),
}


@pytest.mark.parametrize("method", LAYERS)
@settings(max_examples=300)
@given(m=st.integers(1, 97), n=st.integers(1, 97), M=st.integers(1, 13), bias=st.booleans())
def test_counts_of_any_size(method, m, n, M, bias):
    layer, make, roles = LAYERS[method]
    numbers = dict.fromkeys(roles.values(), 0)
    for name, parameter in make(m, n, M, bias=bias).named_parameters():
        assert parameter.requires_grad
        numbers[roles[name]] += parameter.numel()
    assert Count(**numbers) == counting.layer(m, n, method, **size_option(method, M), bias=bias)
    assert Count(**numbers) == counting.count(layer(m, n, M, bias=bias))


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
@pytest.mark.parametrize("bias", [True, False])
def test_outputs_of_members(method, bias):
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


def as_peer(layer, peer):
    """Give the peer, of the prior N(0.5, 0.25²), the parameters of a mean-field layer."""
    own = dict(layer.named_parameters())
    with torch.no_grad():
        for name, parameter in peer.named_parameters():
            kind, part = name.replace("kernel", "weight").split("_")
            parameter.copy_(own[f"{part}_{'mean' if kind == 'mu' else kind}"].normal_())
    return peer


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("groups", [None, 1, 3])
def test_mean_field_outputs_of_one_draw_and_the_kl(groups, bias):
    torch.manual_seed(0)
    # bayesian-torch calls it a variance, but uses it as a standard deviation; 0.25 is exact in the
    # float32 in which it stores its prior.
    options, prior = {"bias": bias}, {"prior_mean": 0.5, "prior_variance": 0.25}
    own = {"prior": Normal(0.5, 0.25), "dtype": torch.float64}
    if groups is None:
        layer = et.MeanFieldLinear(m, n, **own, **options)
        peer = bayesian.LinearReparameterization(m, n, **prior, **options)
        x = torch.randn(B, m, dtype=torch.float64)
    else:
        options |= {"stride": 2, "padding": 1, "dilation": 2, "groups": groups}
        layer = et.MeanFieldConv2d(6, 9, 3, **own, **options)
        peer = bayesian.Conv2dReparameterization(6, 9, 3, **prior, **options)
        x = torch.randn(B, 6, 13, 11, dtype=torch.float64)
    peer = as_peer(layer, peer.double())
    assert counting.count(layer).total == sum(p.numel() for p in peer.parameters())
    y = peer(x, return_kl=False)
    # The peer keeps the noise that it drew.
    eps = peer.eps_weight if groups is None else peer.eps_kernel
    noise = {"weight": eps.transpose(0, 1)} | ({"bias": peer.eps_bias} if bias else {})
    torch.testing.assert_close(layer(x, noise), y, **CLOSE)
    if not bias:  # theirs is a mean, of weights and of biases apart
        torch.testing.assert_close(layer.kl(), eps.numel() * peer.kl_loss(), **CLOSE)
