"""Layers that others wrote beside ours: what they hold and compute, and what `make bench` times."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import ensedu.torch as et
from benchmarks import bench, implementations
from ensedu import counting
from ensedu.counting import Count
from ensedu.methods import size_option
from ensedu.priors import Normal
from tests.backends import B, M, m, n
from workshop import measured

# Of torch-uncertainty the layers alone are imported, which need einops.
tabm, bayesian, _, _ = (
    pytest.importorskip(name, reason=f"{package} is absent: run `make test-others`")
    for name, package in (
        ("tabm", "tabm"), ("bayesian_torch.layers", "bayesian-torch"),
        ("einops", "torch-uncertainty"), ("blitz", "BLiTZ"),
    )
)  # fmt: skip

# The parts of a BatchEnsemble's layer, as each package names and stores them.
NAMES = {
    "torch-uncertainty": {"linear.weight": "weight", "r_group": "r", "s_group": "s"},
}


def give(contestant, values, names):
    """Give a layer these values by name, members in turn their own."""
    with torch.no_grad():
        for name, parameter in contestant.layer.named_parameters():
            *_, member, key = ["", *name.split(".")]
            value = values[names.get(name, key)]
            value = value[int(member)] if contestant.axes == "Bm each" else value
            # tabm multiplies by (in, out), all others by the transpose, as nn.Linear.
            parameter.copy_(value if value.shape == parameter.shape else value.mT)


def call(contestant, x):
    """Run a contestant on (M, B, m), and return (M, B, n)."""
    if contestant.axes == "Bm each":
        return torch.stack(contestant(*x))
    if contestant.axes == "BMm":
        return contestant(x.transpose(0, 1))[0].transpose(0, 1)
    if contestant.axes == "(MB)m":
        return contestant(x.flatten(0, 1))[0].unflatten(0, x.shape[:2])
    return contestant(x)[0]


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble"])
def test_all_compute_the_same_values_and_gradients(method):
    torch.manual_seed(1)
    built = implementations.METHODS[method](m, n, M, dtype=torch.float64)
    if method == "batch_ensemble":
        del built["limit"]  # which has no members
    ours = built["ensedu"].layer
    values = {name: torch.randn_like(p) for name, p in ours.named_parameters()}
    x = torch.randn(M, B, m, dtype=torch.float64, requires_grad=True)
    results = {}
    for name, contestant in built.items():
        give(contestant, values, NAMES.get(name, {}))
        y = call(contestant, x)
        results[name] = y, torch.autograd.grad(y.square().sum(), x)[0]
    assert len(results) >= 3
    for name, found in results.items():
        for mine, other in zip(results["ensedu"], found, strict=True):
            torch.testing.assert_close(other, mine, rtol=0, atol=1e-11, msg=name)


def test_all_mean_field_layers_take_a_batch_and_need_all_their_parameters():
    torch.manual_seed(2)
    for name, contestant in implementations.mean_fields(m, n, M).items():
        inputs, slopes = contestant.batch(M, B, m, n)
        y, *kl = contestant(*inputs)
        assert len(kl) == ("KL" in name)
        assert y.shape == slopes[0].shape == (B, n)
        parameters = list(contestant.layer.parameters())
        found = torch.autograd.grad(y.sum(), parameters, allow_unused=True)
        assert sum(slope is None for slope in found) == (4 if name == "BLiTZ" else 0), name


@pytest.mark.parametrize("method", implementations.METHODS)
def test_the_limit_is_the_products_of_the_pass(method):
    limit = implementations.METHODS[method](m, n, M)["limit"]
    runs = limit.passes(*limit.batch(M, B, m, n))
    rows = B if method == "mean_field" else M * B
    for kind, number in (("forward", 1), ("forward+backward", 3), ("first layer", 2), ("step", 3)):
        with torch.profiler.profile(with_flops=True) as profile:
            runs[kind]()
        found = profile.key_averages()
        flops = sum(event.flops for event in found if event.key in ("aten::mm", "aten::addmm"))
        assert flops == 2 * number * rows * m * n, kind


def test_passes_make_fresh_gradients():
    torch.manual_seed(3)
    contestant = implementations.batch_ensembles(m, n, M)["ensedu"]
    inputs, slopes = contestant.batch(M, B, m, n)
    runs = contestant.passes(inputs, slopes)
    weight = contestant.layer.weight
    runs["forward"]()
    assert weight.grad is None
    runs["forward+backward"]()
    first = weight.grad, inputs[0].grad
    runs["forward+backward"]()
    assert weight.grad is not first[0]
    torch.testing.assert_close((weight.grad, inputs[0].grad), first)
    contestant.forget(inputs)
    runs["first layer"]()
    assert inputs[0].grad is None and weight.grad is not None
    before = weight.detach().clone()
    runs["step"]()
    assert not torch.equal(weight, before)


def test_the_benchmark_writes_what_the_book_reads(tmp_path, capsys):
    threads = torch.get_num_threads()
    status = bench.main([str(tmp_path / "speed.json"), "--quick"])
    torch.set_num_threads(threads)
    assert status == 0
    found = json.loads((tmp_path / "speed.json").read_text())
    committed = measured.load("speed-cpu")
    assert found.keys() == committed.keys()
    for name in ("cells", "headline", "forms", "training"):
        assert found[name][0].keys() == committed[name][0].keys()
    assert {cell["method"] for cell in found["cells"]} == implementations.METHODS.keys()
    printed = capsys.readouterr().out
    assert "ensedu, memory saving" in printed
    assert "not installed" not in printed
    for cell in found["cells"]:
        for kind in implementations.KINDS:
            assert cell["contestants"]["limit"][kind]["ratio"] == [1, 1, 1]
            for contestant in cell["contestants"].values():
                low, middle, high = contestant[kind]["seconds"]
                assert 0 < low <= middle <= high


def test_all_packages_take_part():
    assert implementations.missing() == []


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
        {"mu_weight": "shared", "rho_weight": "stds", "mu_bias": "biases", "rho_bias": "biases"},
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
    torch.testing.assert_close(layer(x, noise), y, rtol=1e-12, atol=1e-12)
    if not bias:  # theirs is a mean, of weights and of biases apart
        torch.testing.assert_close(layer.kl(), eps.numel() * peer.kl_loss(), rtol=1e-12, atol=1e-12)
