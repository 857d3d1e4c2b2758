"""Time tangent kernels of embedded ensembles, and weigh them, beside torch.func's plain recipe.

    python benchmarks/tangents.py ensedu/book/results/tangents.json     five minutes on an idle core
    python benchmarks/tangents.py /tmp/tangents.json --quick    seconds, to see that it runs

The kernel of every pair of members and inputs, networks 64-width-width-1 of M = 4, float64, one
thread. The recipe is that of PyTorch's documentation: the Jacobian of each example, vmapped, then
products of Jacobians. Each case has a process of its own, whose memory at the peak, less that
before, is what it takes; rounds over all cases are interleaved. A case whose Jacobians alone need
more than 8 GiB is counted, and not run.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import ntk.torch
import numpy as np
import torch
from torch.func import functional_call, jacrev, vmap

from ensedu.running import json_files
from ensedu.running.machine import machine, restart_with_settings
from ensedu.theory import ntk
from ensedu.theory.ntk import torch as ntk_torch

MEMBERS, FEATURES, SEED = 4, 64, 0
#: (inputs, width)
SIZES = ((100, 64), (150, 256), (1000, 1024))
WAYS = ("numpy", "torch", "torch.func")
ROUNDS, MOST = 5, 8 * 2**30


def jacobian_bytes(inputs, width):
    """Return what all Jacobians take: of each member and input, in all that is trained."""
    shared = FEATURES * width + width * width + width + 2 * width
    return 8 * MEMBERS * inputs * (shared + MEMBERS * 4 * width)


def recipe(net, x):
    """Return the kernel of γ = M by Jacobians."""
    parameters = {name: value.detach() for name, value in net.named_parameters()}

    def one(values, row):
        return functional_call(net, values, (row[None],))[:, 0]

    jacobians = vmap(jacrev(one), (None, 0))(parameters, x)
    flat = [jacobian.flatten(2) for jacobian in jacobians.values()]  # (B, M, P) of each array
    return sum(torch.einsum("bip,cjp->ijbc", own, own) for own in flat)


def measure(way, inputs, width):
    """Return the seconds and the bytes at the peak of one case, and a number to compare."""
    rng = np.random.default_rng(SEED)
    net = ntk.embedded([FEATURES, width, width, 1], MEMBERS, rng=rng)
    x = rng.standard_normal((inputs, FEATURES))
    other, tx = ntk_torch.EmbeddedEnsemble(net), torch.from_numpy(x)
    run = {
        "numpy": lambda rows: ntk.tangent(net, x[rows]).total(MEMBERS),
        "torch": lambda rows: ntk_torch.tangent(other, tx[rows]).total(MEMBERS).numpy(),
        "torch.func": lambda rows: recipe(other, tx[rows]).numpy(),
    }[way]
    run(slice(2))  # what the first call sets up
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    kernel = run(slice(None))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"seconds": seconds, "bytes": 1024 * peak, "norm": float(np.linalg.norm(kernel))}


def apart(case):
    """Measure one case in a process of its own."""
    way, inputs, width = case
    command = [sys.executable, __file__, "--case", way, str(inputs), str(width)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def merge(case, found):
    """Make one row of a case's rounds: medians, and quartiles of the seconds."""
    way, inputs, width = case
    row = {
        "way": way,
        "inputs": inputs,
        "width": width,
        "jacobian_bytes": jacobian_bytes(*case[1:]),
    }
    if not found:
        return row
    low, median, high = np.quantile([one["seconds"] for one in found], [0.25, 0.5, 0.75])
    seconds = {"median": median, "quartiles": [low, high]}
    return row | {
        "seconds": seconds,
        "bytes": int(np.median([one["bytes"] for one in found])),
        "norm": found[0]["norm"],
    }


def table(rows):
    """Return the lines of a table."""
    yield f"{'inputs':>7}{'width':>6} {'way':12}{'seconds':>26}{'peak, MiB':>11}"
    for row in rows:
        start = f"{row['inputs']:7}{row['width']:6} {row['way']:12}"
        if "seconds" not in row:
            yield f"{start} not run: Jacobians of {row['jacobian_bytes'] / 2**30:.0f} GiB"
            continue
        low, high = row["seconds"]["quartiles"]
        told = f"{row['seconds']['median']:.3f} ({low:.3f}-{high:.3f})"
        yield f"{start}{told:>26}{row['bytes'] / 2**20:11.0f}"


def main(arguments=None):
    """Measure, write the file, print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, nargs="?", help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="one round, without the widest layer")
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case:
        way, *sizes = options.case
        print(json.dumps(measure(way, *map(int, sizes))))
        return 0
    if options.path is None:
        parser.error("path is missing")
    where, rounds = machine(), 1 if options.quick else ROUNDS
    sizes = SIZES[:1] if options.quick else SIZES
    cases = [(way, *size) for size in sizes for way in WAYS]
    found = {case: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            if case[0] != "torch.func" or jacobian_bytes(*case[1:]) <= MOST:
                found[case].append(apart(case))
    rows = [merge(case, found[case]) for case in cases]
    for size in sizes:
        norms = [row["norm"] for row in rows if "norm" in row and row["width"] == size[1]]
        np.testing.assert_allclose(norms[1:], norms[0], rtol=1e-9)
    result = {"seed": SEED, "ensemble_size": MEMBERS, "rounds": rounds, "machine": where}
    json_files.write_json(
        options.path, result | {"layers": f"{FEATURES}-width-width-1", "rows": rows}
    )
    print(*table(rows), sep="\n")
    return 0


if __name__ == "__main__":
    restart_with_settings()
    sys.exit(main())
