"""What `make bench` times side by side computes the same, or draws from the same distribution."""

import json

import pytest
import torch

from benchmarks import bench, implementations
from workshop import measured

for package in ("tabm", "bayesian_torch", "torch_uncertainty", "blitz"):
    pytest.importorskip(package if package != "torch_uncertainty" else "einops",
                        reason=f"{package} is absent: run `make test-others`")  # fmt: skip

M, B, m, n = 3, 7, 5, 11
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
    assert len(results) >= 4
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
