"""What `make bench` times side by side computes the same, or draws from the same distribution."""

import importlib
import importlib.resources
import json
import sys
from pathlib import Path

import pytest
import torch

for package in ("tabm", "bayesian_torch", "torch_uncertainty", "blitz"):
    pytest.importorskip(package if package != "torch_uncertainty" else "einops",
                        reason=f"{package} is absent: run `make test-peers`")  # fmt: skip

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
contestants = importlib.import_module("contestants")
measure = importlib.import_module("measure")

M, B, m, n = 3, 7, 5, 11
# The parts of a BatchEnsemble's layer, as each package names and stores them.
NAMES = {
    "torch-uncertainty": {"linear.weight": "weight", "r_group": "r", "s_group": "s"},
}


def load(layer, values, names):
    """Give a layer these values by name; tabm's deep ensemble keeps weights as (M, m, n)."""
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            value = values[names.get(name, name)]
            parameter.copy_(value if value.shape == parameter.shape else value.mT)


def call(contestant, x):
    """Run a contestant on (M, B, m), and return (M, B, n)."""
    if contestant.axes == "BMm":
        return contestant(x.transpose(0, 1)).transpose(0, 1)
    if contestant.axes == "(MB)m":
        return contestant(x.flatten(0, 1)).unflatten(0, x.shape[:2])
    return contestant(x)


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble"])
def test_all_compute_the_same_values_and_gradients(method):
    torch.manual_seed(1)
    built = contestants.METHODS[method](m, n, M, dtype=torch.float64)
    ours = built["ensedu"].layer
    values = {name: torch.randn_like(p) for name, p in ours.named_parameters()}
    x = torch.randn(M, B, m, dtype=torch.float64, requires_grad=True)
    results = {}
    for name, contestant in built.items():
        if method == "deep_ensemble" and name in ("loop", "vmap"):
            stacked = dict(contestant.layer.named_parameters())
            for key, parameter in stacked.items():
                part = key.split(".")  # layers.0.weight, or stacked.weight
                value = values[part[-1]]
                parameter.data.copy_(value[int(part[1])] if name == "loop" else value)
        else:
            load(contestant.layer, values, NAMES.get(name, {}))
        y = call(contestant, x)
        results[name] = y, torch.autograd.grad(y.square().sum(), x)[0]
    assert len(results) >= 4
    for name, found in results.items():
        for mine, other in zip(results["ensedu"], found, strict=True):
            torch.testing.assert_close(other, mine, rtol=0, atol=1e-11, msg=name)


def test_all_mean_field_layers_take_a_batch_and_need_all_their_parameters():
    torch.manual_seed(2)
    for name, contestant in contestants.mean_fields(m, n, M).items():
        x, grad = contestant.batch(M, B, m, n)
        y = contestant(x)
        assert isinstance(y, tuple) == ("KL" in name)
        y = y[0] if isinstance(y, tuple) else y
        assert y.shape == grad.shape == (B, n)
        unused = [
            parameter
            for parameter, slope in zip(
                contestant.layer.parameters(),
                torch.autograd.grad(y.sum(), contestant.layer.parameters(), allow_unused=True),
                strict=True,
            )
            if slope is None
        ]
        assert len(unused) == (4 if name == "BLiTZ" else 0), name


@pytest.mark.parametrize("method", contestants.METHODS)
def test_the_limit_is_the_products_of_the_pass(method):
    runs = contestants.limit(method, m, n, M, B)
    rows = B if method == "mean_field" else M * B
    for kind, products in (("forward", 1), ("forward+backward", 3)):
        with torch.profiler.profile(with_flops=True) as profile:
            runs[kind]()
        assert sum(event.flops for event in profile.key_averages()) == 2 * products * rows * m * n


def test_ratios_are_taken_round_by_round():
    over = measure.ratios({"limit": [1.0, 2.0, 4.0], "other": [2.0, 6.0, 4.0]}, "limit")
    assert over == {"limit": [1.0, 1.0, 1.0], "other": [1.5, 2.0, 2.5]}


def test_peak_counts_what_is_held_at_once():
    x = torch.zeros(1000)

    def run():
        y = x + 1
        z = y + 1
        del y
        return z + 1  # z and this: never three

    assert measure.peak_bytes(run) // 4000 == 2


def test_the_benchmark_writes_what_the_book_reads(tmp_path, capsys):
    bench = importlib.import_module("bench")
    threads = torch.get_num_threads()
    bench.main([str(tmp_path / "speed.json"), "--quick", "--seconds", "0.01"])
    torch.set_num_threads(threads)
    found = json.loads((tmp_path / "speed.json").read_text())
    committed = json.loads(
        importlib.resources.files("ensedu").joinpath("results/speed-cpu.json").read_text()
    )
    assert found.keys() == committed.keys()
    for name in ("cells", "headline", "forms", "training"):
        assert found[name][0].keys() == committed[name][0].keys()
    methods = [cell["method"] for cell in found["cells"]]
    assert methods == list(contestants.METHODS)
    assert "ensedu, memory saving" in capsys.readouterr().out
    for cell in found["cells"]:
        assert cell["contestants"]["limit"]["forward"]["ratio"] == [1, 1, 1]
        for contestant in cell["contestants"].values():
            low, middle, high = contestant["forward+backward"]["seconds"]
            assert 0 < low <= middle <= high
