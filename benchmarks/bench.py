"""Time the layers and those of other packages on one thread of a CPU, or on a GPU; write JSON.

    python benchmarks/bench.py book/workshop/results/speed-cpu.json  # twelve minutes
    python benchmarks/bench.py /tmp/speed.json --quick        seconds, to see that it runs
    python benchmarks/bench.py /tmp/speed.json --device cuda --precision bf16 --seconds 0.02

The JSON:

machine     what `workshop.running.machine` says
cells       one method at one size (m, M, B), m inputs and outputs. Each of `contestants`, among
            them the limit, has `parameter_bytes`, `saved_bytes` (stored for the backward pass
            beyond input and parameters), at B = 256 and four members `peak_bytes`, and for each
            kind of pass the quartiles of its `seconds` and of its `ratio` to the limit in the same
            round. Kinds: `forward` (no gradients); `forward+backward` into fresh gradients;
            `first layer`, the same for an input that wants none; `step`, a whole step of Adam.
            With 16 members only the first two.
headline    a pass forward with M 4, by width and batch: `single` network, `loop` over members,
            `deep_ensemble`, `batch_ensemble`; ratios are to the loop
forms       BatchEnsemble, forward and backward: the form `chosen`, and `fold over scale`
roofline    operations a second in a large product, bytes a second from memory
training    an epoch of digits; ratios are to members trained one after another
"""

import argparse
import gc
import itertools
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from benchmarks import implementations, measure
from benchmarks.implementations import KINDS
from ensedu.methods import size_option
from workshop.running import json_files
from workshop.running.machine import machine, restart_with_settings

WIDTHS, MEMBERS, BATCHES = (50, 256, 1024), (4, 16), (1, 32, 256, 1024)
CURVES = {
    "headline": ((*WIDTHS, 2048), (1, 8, 32, 256, 1024)),
    "forms": (WIDTHS, (1, 32, 64, 256, 512, 1024)),
}
DIGITS = (64, 64, 64, 10)


def cell(built, M, B, m, *, seconds, kinds, weigh=("saved",), device, **factory):
    """Time contestants at one size: {name: bytes, and times and ratios by kind of pass}."""
    factory |= {"device": device}
    runs, entry = {}, {}
    for name, contestant in built.items():
        inputs, slopes = contestant.batch(M, B, m, m, **factory)
        runs[name] = contestant.passes(inputs, slopes)
        parameters = list(contestant.layer.parameters())
        entry[name] = {
            "parameter_bytes": sum(p.numel() * p.element_size() for p in parameters),
        }
        if "saved" in weigh:
            known = [*inputs, *parameters, *contestant.layer.buffers()]
            entry[name]["saved_bytes"] = measure.saved_bytes(
                lambda c=contestant, x=inputs: c(*x), *known
            )
        if "peak" in weigh:
            entry[name]["peak_bytes"] = measure.peak_bytes(
                runs[name]["forward+backward"], device, lambda c=contestant, x=inputs: c.forget(x)
            )
    for kind in kinds:
        passes = {name: run[kind] for name, run in runs.items()}
        found = measure.compare(passes, "limit", seconds=seconds, device=device)
        for name, times in found.items():
            entry[name][kind] = times
    return entry


def plan(quick):
    """Yield (method, (m, M, B), kinds) of all cells."""
    if quick:
        yield from ((method, (50, 4, 32), KINDS) for method in implementations.METHODS)
        return
    for m, M, B in itertools.product(WIDTHS, MEMBERS, BATCHES):
        for method in ("deep_ensemble", "batch_ensemble", "rank1"):
            yield method, (m, M, B), KINDS if M == 4 else KINDS[:2]
    for m, B in itertools.product(WIDTHS, (1, 32, 256)):
        yield "mean_field", (m, 4, B), KINDS


def cells(quick, seconds, factory):
    """Time all cells, and print each."""
    found = []
    for method, (m, M, B), kinds in plan(quick):
        torch.manual_seed(0)
        built = implementations.METHODS[method](m, m, M, **factory)
        weigh = ("saved", "peak") if M == 4 and B == 256 else ("saved",)
        entry = cell(built, M, B, m, seconds=seconds, kinds=kinds, weigh=weigh, **factory)
        found.append({"method": method, "m": m, "M": M, "B": B, "contestants": entry})
        print(f"{method}  m {m}  M {M}  B {B}")
        for name, times in entry.items():
            over = "".join(f"{times[kind]['ratio'][1]:8.2f}" for kind in kinds)
            print(f"    {name:34}{over}  saved {times['saved_bytes']:>11,}", flush=True)
        del built
        gc.collect()
    return found


def headline(m, M, B, seconds, factory):
    """Time a forward pass of one network's layer, of members in turn, stacked, and sharing."""
    torch.manual_seed(0)
    deep, batch = (
        implementations.METHODS[f"{kind}_ensemble"](m, m, M, **factory)
        for kind in ("deep", "batch")
    )
    built = {
        "single": implementations.Implementation(nn.Linear(m, m, **factory), axes="Bm"),
        "loop": deep["limit"],
        "deep_ensemble": deep["ensedu"],
        "batch_ensemble": batch["ensedu"],
    }
    batches = {name: c.batch(M, B, m, m, **factory) for name, c in built.items()}
    runs = {name: c.passes(*batches[name])["forward"] for name, c in built.items()}
    times = measure.compare(runs, "loop", seconds=seconds, device=factory["device"])
    return {"m": m, "M": M, "B": B, "forward": times}


def forms(m, M, B, seconds, factory):
    """Time a BatchEnsemble's pass forward and backward in its two forms, and say which runs."""
    found = implementations.both_forms(m, m, M, B, seconds=seconds, **factory)
    return {"m": m, "M": M, "B": B} | found


def roofline(seconds, wide, factory):
    """Measure what the machine can: operations a second, and bytes a second from memory."""
    side = 1024
    a, b = (torch.randn(side, side, **factory) for _ in range(2))
    # 268 MB of float32: more than a cache.
    large, vector = torch.randn(wide, wide, **factory), torch.randn(wide, **factory)
    runs = {"product": lambda: a @ b, "stream": lambda: large @ vector}
    found = measure.compare(runs, "product", seconds=seconds, device=factory["device"])
    product, stream = (found[name]["seconds"][1] for name in runs)
    return {
        "flops_per_second": 2 * side**3 / product,
        "bytes_per_second": large.element_size() * wide**2 / stream,
    }


def fit(nets, x, labels, batch_size, order):
    """Train networks one after another by Adam for one pass over the data."""
    for net in nets:
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
        for indices in order.split(batch_size):
            logits = net(x[indices])
            wanted = labels[indices].expand(logits.shape[:-1])
            # The sum over members of each one's mean: members learn as they would alone.
            members = logits.numel() // logits.shape[-1] / len(indices)
            loss = F.cross_entropy(logits.flatten(0, -2), wanted.flatten()) * members
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def training(M, batch_size, seconds, factory):
    """Time one epoch of training on digits, members at once and one after another."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images / 16, **factory)
    labels = torch.tensor(labels, device=x.device)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).to(x.device)
    torch.manual_seed(0)
    nets = {
        "members one after another": [et.mlp(DIGITS, **factory) for _ in range(M)],
        "single": [et.mlp(DIGITS, **factory)],
        **{
            method: [et.mlp(DIGITS, method, **size_option(method, M), **factory)]
            for method in ("deep_ensemble", "batch_ensemble", "rank1")
        },
    }
    runs = {name: lambda n=n: fit(n, x, labels, batch_size, order) for name, n in nets.items()}
    return {
        "M": M,
        "batch_size": batch_size,
        "sizes": DIGITS,
        "examples": len(x),
        "epoch": measure.compare(
            runs, "members one after another", seconds=seconds, device=factory["device"]
        ),
    }


def main(arguments=None):
    """Run all and write the JSON; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="the JSON to write")
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="seconds a cell and kind of pass"
    )
    parser.add_argument("--quick", action="store_true", help="few sizes, to see that it runs")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("float32", "tf32", "bf16"), default="float32")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high" if options.precision == "tf32" else "highest")
    dtype = torch.bfloat16 if options.precision == "bf16" else torch.float32
    factory = {"device": options.device, "dtype": dtype}
    seconds = 0.01 if options.quick else options.seconds
    for name in implementations.missing():
        print(f"skipped: {name} is not installed")
    grids = {name: ((50,), (32,)) if options.quick else grid for name, grid in CURVES.items()}
    members, batch_size = (MEMBERS[:1], 512) if options.quick else (MEMBERS, 32)
    parts = {
        "machine": lambda: machine(options.device),
        "cells": lambda: cells(options.quick, seconds, factory),
        "roofline": lambda: roofline(5 * seconds, 512 if options.quick else 8192, factory),
        "headline": lambda: [
            headline(m, 4, B, seconds, factory) for m, B in itertools.product(*grids["headline"])
        ],
        "forms": lambda: [
            forms(m, 4, B, seconds, factory) for m, B in itertools.product(*grids["forms"])
        ],
        "training": lambda: [training(M, batch_size, 15 * seconds, factory) for M in members],
    }
    result = {}
    for name, measured in parts.items():
        result[name] = measured()
        json_files.write_json(options.path, result)  # what is cut off loses one part
    return 0


if __name__ == "__main__":
    restart_with_settings()
    sys.exit(main())
