"""Measure how a training step scales when its members are spread over two processes.

    python benchmarks/scaling.py ensedu/book/results/scaling.json     two minutes on two idle cores
    python benchmarks/scaling.py /tmp/scaling.json --quick   seconds, to see that it runs

Strong scaling: 8 members, on 1 process and on 2. Weak scaling: 4 members a process, on 1 and on 2.
A step is forward, backward, all-reduce and Adam of a network 64-width-width-10 with 128 examples,
one thread a process. The processes start each step together, and the step takes as long as the
slowest of them. The all-reduce counts from where the last process comes to it: the waiting of the
others belongs to the step. Rounds over all cases are interleaved; a case's numbers are the median
and the quartiles of all its steps. The deep ensemble sends nothing, so it shows what two busy cores
of the machine lose by themselves.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy

from ensedu.methods import size_option
from ensedu.running import json_files
from ensedu.running.machine import machine, restart_with_settings
from ensedu.torch import mlp
from ensedu.torch.train.distributed import ShardedEnsemble

METHODS = ("deep_ensemble", "batch_ensemble", "rank1")
INPUTS, CLASSES, BATCH, SEED = 64, 10, 128, 0
STEPS = {64: 40, 256: 12, 1024: 3}  # timed steps of a round, by width
ROUNDS = 5


def cases(ranks, widths):
    """Yield (scaling, method, width, members) of all that `ranks` processes measure."""
    for width in widths:
        for method in METHODS:
            yield "strong", method, width, 8
            yield "weak", method, width, 4 * ranks


def measure(rank, ranks, folder, widths):
    """Run one round on one process of several; process 0 writes what all of them measured."""
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks
    )
    found = []
    for scaling, method, width, members in cases(ranks, widths):
        ensemble, times = time_steps(method, width, members, STEPS[width])
        gathered = [None] * ranks
        dist.all_gather_object(gathered, times)
        step, all_reduce = np.moveaxis(np.array(gathered), -1, 0)  # (ranks, steps) each
        found.append(
            {
                "scaling": scaling,
                "method": method,
                "width": width,
                "ensemble_size": members,
                "processes": ranks,
                "payload_bytes": ensemble.payload_bytes,
                "step_ms": (1e3 * step.max(axis=0)).tolist(),
                "all_reduce_ms": (1e3 * all_reduce.min(axis=0)).tolist(),
            }
        )
    if rank == 0:
        Path(folder, "found.json").write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


def time_steps(method, width, members, steps):
    """Return the ensemble, and seconds of each step and of its all-reduce on this process."""
    torch.manual_seed(SEED)
    net = mlp([INPUTS, width, width, CLASSES], method, **size_option(method, members))
    ensemble = ShardedEnsemble(net, seed=SEED)
    optimizer = torch.optim.Adam(ensemble.parameters())
    x, y = torch.randn(BATCH, INPUTS), torch.randint(CLASSES, (BATCH,))
    targets = y.repeat(len(ensemble.members))
    times = []
    for step in range(-2, steps):  # two to warm up
        dist.barrier()
        began = time.perf_counter()
        outputs = ensemble(x, step + 2)
        nll = cross_entropy(outputs.flatten(0, 1), targets, reduction="none")
        loss = ensemble.mean_part(nll.view(-1, BATCH).mean(1)) + ensemble.kl() / BATCH
        optimizer.zero_grad()
        loss.backward()
        before = time.perf_counter()
        ensemble.reduce_gradients()
        after = time.perf_counter()
        optimizer.step()
        if step >= 0:
            times.append((time.perf_counter() - began, after - before))
    return ensemble, times


def one_round(ranks, widths):
    """Start the processes of a round and return what they measured."""
    preload = ["ensedu.torch.train.distributed", "torch._dynamo"]  # imported once for all rounds
    torch.multiprocessing.get_context("forkserver").set_forkserver_preload(preload)
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(
            measure, (ranks, folder, widths), ranks, start_method="forkserver"
        )
        return json.loads(Path(folder, "found.json").read_text(encoding="utf-8"))


def merge(rounds):
    """Make one row of each case's rounds: medians and quartiles over all steps."""
    rows = {}
    for row in (row for found in rounds for row in found):
        key = row["scaling"], row["width"], row["method"], row["processes"]
        merged = rows.setdefault(key, row | {"step_ms": [], "all_reduce_ms": []})
        for name in ("step_ms", "all_reduce_ms"):
            merged[name] += row[name]
    for row in rows.values():
        row["steps"] = len(row["step_ms"])
        for name in ("step_ms", "all_reduce_ms"):
            low, median, high = np.quantile(row[name], [0.25, 0.5, 0.75])
            row[name] = {"median": median, "quartiles": [low, high]}
    return [rows[key] for key in sorted(rows)]


def table(rows):
    """Return the lines of a table: two processes against one."""
    median = {(row["scaling"], row["width"], row["method"], row["processes"]): row for row in rows}
    yield (
        f"{'scaling':8}{'width':>6} {'method':15}{'members':>8}{'1 process, ms':>24}"
        f"{'2 processes, ms':>24}{'ratio':>7}{'all-reduce':>12}{'bytes':>12}"
    )
    for (scaling, width, method, processes), two in median.items():
        if processes == 1:
            continue
        one = median[scaling, width, method, 1]
        members = "8" if scaling == "strong" else "4, 8"
        ratio = one["step_ms"]["median"] / two["step_ms"]["median"]
        yield (
            f"{scaling:8}{width:6} {method:15}{members:>8}{told(one['step_ms']):>24}"
            f"{told(two['step_ms']):>24}{ratio:7.2f}{two['all_reduce_ms']['median']:9.2f} ms"
            f"{two['payload_bytes']:12,}"
        )


def told(time):
    """Say a median and its quartiles in milliseconds."""
    low, high = time["quartiles"]
    return f"{time['median']:.2f} ({low:.2f}-{high:.2f})"


def main(arguments=None):
    """Measure, write the file, print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="one round, without the widest layer")
    options = parser.parse_args(arguments)
    widths = [64, 256] if options.quick else list(STEPS)
    where = machine() | {"backend": "gloo"}
    rounds = []
    for number in range(1 if options.quick else ROUNDS):
        for ranks in (1, 2) if number % 2 == 0 else (2, 1):
            rounds.append(one_round(ranks, widths))
    rows = merge(rounds)
    result = {
        "seed": SEED,
        "examples": BATCH,
        "layers": f"{INPUTS}-width-width-{CLASSES}",
        "rounds": len(rounds) // 2,
        "machine": where,
        "rows": rows,
    }
    json_files.write_json(options.path, result)
    print(*table(rows), sep="\n")
    return 0


if __name__ == "__main__":
    restart_with_settings()
    sys.exit(main())
