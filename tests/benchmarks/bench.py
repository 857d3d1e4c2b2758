"""Measure the layers and those of other packages, side by side; write JSON, print the ratios.

    python tests/benchmarks/bench.py ensedu/results/speed-cpu.json

One thread on a CPU; on a GPU float32, TF32 and bf16. Keep the allocator's memory while it runs
(MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_), or small cells are inflated: `make bench` does.
"""

import argparse
import contextlib
import datetime
import gc
import importlib.metadata
import itertools
import json
import os
import platform
import re
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.torch import products

sys.path.insert(0, str(Path(__file__).parent))
import contestants
import measure

GRID = {"m": (50, 256, 1024), "M": (4, 16), "B": (1, 32, 256, 1024)}
QUICK = {"m": (50,), "M": (4,), "B": (32,)}
GPU_GRID = {"m": (256, 1024, 2048, 4096), "M": (4, 16), "B": (32, 256, 1024)}
PRECISIONS = ("float32", "tf32", "bf16")
PACKAGES = ("torch", "tabm", "torch-uncertainty", "bayesian-torch", "blitz-bayesian-pytorch")
DIGITS = (64, 64, 64, 10)


def machine(device):
    """Say where and with what this runs."""
    if device == "cuda":
        name = torch.cuda.get_device_name()
    else:
        info = Path("/proc/cpuinfo")
        found = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
        name = found[1] if found else platform.processor()
    return {
        "device": device,
        "name": name,
        "cores": os.cpu_count(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "date": datetime.date.today().isoformat(),
    }


def passes(contestant, x, grad):
    """Return what is timed: a pass forward, and one forward and backward."""
    wanted = [x, *(p for p in contestant.layer.parameters() if p.requires_grad)]
    one = torch.ones((), device=x.device, dtype=x.dtype)

    def forward():
        with torch.no_grad():
            contestant(x)

    def both():
        y = contestant(x)
        y, grads = (y, (grad, one)) if isinstance(y, tuple) else ((y,), (grad,))
        # BLiTZ registers its parameters twice, and uses one.
        torch.autograd.grad(y, wanted, grads, allow_unused=True)

    return {"forward": forward, "forward+backward": both}


def cell(method, m, M, B, seconds, peak, **factory):
    """Measure one method at one size: each contestant's times and ratios to the limit, bytes."""
    torch.manual_seed(0)
    built = contestants.METHODS[method](m, m, M, **factory)
    device = factory.get("device", "cpu")
    runs, entry = {"limit": contestants.limit(method, m, m, M, B, **factory)}, {}
    for name, contestant in built.items():
        x, grad = contestant.batch(M, B, m, m, **factory)
        runs[name] = passes(contestant, x, grad)
        known = [x, *contestant.layer.parameters(), *contestant.layer.buffers()]
        entry[name] = {
            "parameter_bytes": sum(
                p.numel() * p.element_size() for p in contestant.layer.parameters()
            ),
            "saved_bytes": measure.saved_bytes(lambda c=contestant, x=x: c(x), *known),
        }
        if peak:
            entry[name]["peak_bytes"] = measure.peak_bytes(runs[name]["forward+backward"], device)
    entry["limit"] = {}
    for kind in ("forward", "forward+backward"):
        times = measure.side_by_side(
            {name: run[kind] for name, run in runs.items()}, seconds=seconds, device=device
        )
        over = measure.ratios(times, "limit")
        for name, series in times.items():
            entry[name][kind] = {"seconds": measure.quartiles(series), "ratio": over[name]}
    gc.collect()
    return {"method": method, "m": m, "M": M, "B": B, "contestants": entry}


def fit(nets, x, labels, batch_size, order):
    """Train networks one after another by Adam for one pass over the data."""
    for net in nets:
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
        for indices in order.split(batch_size):
            logits = net(x[indices])
            targets = labels[indices].expand(logits.shape[:-1])
            # The sum over members of each one's mean: members learn as they would alone.
            members = logits.numel() // logits.shape[-1] / len(indices)
            loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten()) * members
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def headline(m, M, B, seconds):
    """Time a forward pass of one network's layer, of members in turn, stacked, and sharing."""
    torch.manual_seed(0)
    deep, batch = (contestants.METHODS[f"{kind}_ensemble"](m, m, M) for kind in ("deep", "batch"))
    single = contestants.Contestant(nn.Linear(m, m), axes="Bm")
    built = {
        "single": single,
        "loop": deep["loop"],
        "deep_ensemble": deep["ensedu"],
        "batch_ensemble": batch["ensedu"],
    }
    runs = {}
    for name, contestant in built.items():
        x, grad = contestant.batch(M, B, m, m)
        runs[name] = passes(contestant, x, grad)["forward"]
    times = measure.side_by_side(runs, seconds=seconds)
    over = measure.ratios(times, "loop")
    return {
        "m": m,
        "M": M,
        "B": B,
        "forward": {
            name: {"seconds": measure.quartiles(series), "ratio": over[name]}
            for name, series in times.items()
        },
    }


def forms(m, M, B, seconds):
    """Time a BatchEnsemble's pass forward and backward in its two forms, and say which runs."""
    x, _, r, s, bias = tensors = [
        torch.randn(*shape).requires_grad_()
        for shape in ((M, B, m), (m, m), (M, m), (M, m), (M, 1, m))
    ]
    weight, grad = tensors[1], torch.randn(M, B, m)

    def both(form, r, s):
        return lambda: torch.autograd.grad(form(x, weight, r(), s(), bias), tensors, grad)

    runs = {
        "scale": both(products.scale, lambda: r[:, None], lambda: s[:, None]),
        "fold": both(products.Fold.apply, lambda: r, lambda: s),
    }
    times = measure.side_by_side(runs, seconds=seconds)
    return {
        "m": m,
        "M": M,
        "B": B,
        "chosen": "fold" if products.folds(B, m, m) else "scale",
        "fold over scale": measure.ratios(times, "scale")["fold"],
    }


def roofline(seconds):
    """Measure what the machine can: operations a second, and bytes a second from memory."""
    side, wide = 1024, 8192
    a, b = torch.randn(side, side), torch.randn(side, side)
    large, vector = torch.randn(wide, wide), torch.randn(wide)  # 268 MB: larger than any cache
    runs = {"product": lambda: a @ b, "stream": lambda: large @ vector}
    times = measure.side_by_side(runs, seconds=seconds)
    product, stream = (measure.quartiles(times[name])[1] for name in runs)
    return {
        "flops_per_second": 2 * side**3 / product,
        "bytes_per_second": 4 * wide**2 / stream,
    }


def digits(M, batch_size, seconds):
    """Time one epoch of training on digits, members at once and one after another."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, dtype=torch.float32)
    labels = torch.tensor(labels)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)

    def plain():
        layers = [nn.Linear(m, n) for m, n in itertools.pairwise(DIGITS)]
        return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])

    nets = {
        "members one after another": [plain() for _ in range(M)],
        "single": [plain()],
        "deep_ensemble": [et.mlp(DIGITS, "deep_ensemble", M)],
        "batch_ensemble": [et.mlp(DIGITS, "batch_ensemble", M)],
        "rank1": [et.mlp(DIGITS, "rank1", M)],
    }
    times = measure.side_by_side(
        {name: lambda n=n: fit(n, x, labels, batch_size, order) for name, n in nets.items()},
        seconds=seconds,
    )
    over = measure.ratios(times, "members one after another")
    return {
        "M": M,
        "batch_size": batch_size,
        "sizes": DIGITS,
        "examples": len(x),
        "epoch": {
            name: {"seconds": measure.quartiles(series), "ratio": over[name]}
            for name, series in times.items()
        },
    }


@contextlib.contextmanager
def precision(name):
    """Choose how a GPU multiplies, and give the arguments of tensors."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if name == "tf32" else "highest")
    yield {"dtype": torch.bfloat16 if name == "bf16" else torch.float32, "device": "cuda"}
    torch.set_float32_matmul_precision(before)


def sizes(grid):
    """List the sizes of a grid."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def run_cpu(grid, seconds):
    """Measure all methods on one thread; mean-field once a size, it has no members."""
    torch.set_num_threads(1)
    cells = []
    for size in sizes(grid):
        for method in contestants.METHODS:
            if method == "mean_field" and size["M"] != grid["M"][0]:
                continue
            cells.append(cell(method, **size, seconds=seconds, peak=size["B"] == 256))
            show(cells[-1])
    return cells


def run_gpu(grid, seconds):
    """Measure the methods with members in each precision."""
    cells = []
    for size, name in itertools.product(sizes(grid), PRECISIONS):
        for method in ("deep_ensemble", "batch_ensemble", "rank1"):
            with precision(name) as factory:
                cells.append(cell(method, **size, seconds=seconds, peak=True, **factory))
            cells[-1]["precision"] = name
            show(cells[-1])
    return cells


def show(entry):
    """Print a cell: for each contestant its time over the limit's, forward and both."""
    size = " ".join(f"{key} {entry[key]:4}" for key in ("m", "M", "B"))
    print(f"{entry['method']:14} {size} {entry.get('precision', '')}")
    for name, found in entry["contestants"].items():
        if name != "limit":
            one, two = (found[kind]["ratio"] for kind in ("forward", "forward+backward"))
            print(
                f"    {name:34} {one[1]:7.2f} [{one[0]:.2f}, {one[2]:.2f}]"
                f" {two[1]:7.2f} [{two[0]:.2f}, {two[2]:.2f}]  saved {found['saved_bytes']:>11,}",
                flush=True,
            )


def main(arguments=None):
    """Run all, and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="the JSON to write")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="seconds a cell and kind of pass"
    )
    parser.add_argument("--quick", action="store_true", help="one size, to see that it works")
    options = parser.parse_args(arguments)
    grid = QUICK if options.quick else GPU_GRID if options.device == "cuda" else GRID
    # The curves of a layer alone cost little, so they get more points.
    more = {"m": (), "B": ()} if options.quick else {"m": (2048,), "B": (8, 64, 512)}
    cells = (run_gpu if options.device == "cuda" else run_cpu)(grid, options.seconds)
    result = {"machine": machine(options.device), "cells": cells}
    if options.device == "cpu":
        result["roofline"] = roofline(5 * options.seconds)
        result["headline"] = [
            headline(m, 4, B, options.seconds)
            for m, B in itertools.product(grid["m"] + more["m"], grid["B"] + more["B"])
        ]
        result["forms"] = [
            forms(m, 4, B, options.seconds)
            for m, B in itertools.product(grid["m"], grid["B"] + more["B"])
        ]
        training = [digits(M, 32, 10 * options.seconds) for M in grid["M"]]
        for found in training:
            print(f"digits, M {found['M']}, one epoch, over members one after another")
            for name, entry in found["epoch"].items():
                low, middle, high = entry["ratio"]
                print(f"    {name:34} {middle:7.2f} [{low:.2f}, {high:.2f}]")
        result["training"] = training
    options.output.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1)
    # Four digits are more than a time is worth; a list of numbers stands on one line.
    text = re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", text)
    text = re.sub(r"\[[\d.e,\s+-]+\]", lambda found: " ".join(found[0].split()), text)
    options.output.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
