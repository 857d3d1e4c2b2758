"""Time a training step on two processes against one; write JSON.

    python benchmarks/scaling.py book/workshop/results/scaling.json    a minute on two idle cores
    python benchmarks/scaling.py /tmp/scaling.json --quick

A step runs forward, backward and Adam of eight members 64-width-width-10 on 128 examples, the loss
averaged over the ensemble, one thread a process. A BatchEnsemble and a rank-1 BNN train under
``DistributedDataParallel``, each process on half of the examples. Of a deep ensemble each process
trains half of the members, and sends nothing. In each round the first process takes some steps
alone while the second one waits, then both take as many together, and the slower one counts. The
JSON has, for each method and width, the quartiles of the seconds of a step, and of the `ratio` of
two processes to one in the same round.
"""

import argparse
import itertools
import json
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from benchmarks.measure import quartiles, ratios, seconds_of
from ensedu.methods import METHODS
from ensedu.torch import mlp, negative_elbo, softmax_cross_entropy
from workshop.running import json_files
from workshop.running.machine import machine, restart_with_settings

MEASURED = ("deep_ensemble", "batch_ensemble", "rank1")
INPUTS, CLASSES, MEMBERS, BATCH, EXAMPLES, SEED = 64, 10, 8, 128, 1000, 0
STEPS = {64: 40, 256: 12, 1024: 3}  # of a round, by width
PROCESSES, ROUNDS = 2, 25


def training(method, width, rank=0, ranks=1):
    """Return the network of this process, and a function that trains it by a step."""
    torch.manual_seed(SEED)
    x, y = torch.randn(BATCH, INPUTS), torch.randint(CLASSES, (BATCH,))
    by_members = METHODS[method].shares_nothing
    members = MEMBERS // ranks if by_members else MEMBERS
    net = mlp([INPUTS, width, width, CLASSES], method, members)
    if ranks > 1 and not by_members:
        net, x, y = DistributedDataParallel(net), x.chunk(ranks)[rank], y.chunk(ranks)[rank]
    optimizer = torch.optim.Adam(net.parameters())

    def step():
        optimizer.zero_grad()
        loss = negative_elbo(net, x, y, softmax_cross_entropy, num_examples=EXAMPLES).loss
        (loss * members / MEMBERS).backward()
        optimizer.step()

    return net, step


def compare(rank, folder, widths, rounds):
    """Time all cases on one of the two processes; the first one writes what both measured."""
    meeting = f"file://{folder}/meeting"
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=PROCESSES)
    rows = []
    for width, method in itertools.product(widths, MEASURED):
        steps = {
            "one process": training(method, width)[1] if rank == 0 else lambda: None,
            "two processes": training(method, width, rank, PROCESSES)[1],
        }
        times = {name: [] for name in steps}
        for number, (name, step) in itertools.product(range(-1, rounds), steps.items()):
            both = [None] * PROCESSES
            dist.barrier()
            dist.all_gather_object(both, seconds_of(step, STEPS[width]))
            if number >= 0:  # the first round warms up
                times[name].append(max(both))
        own = {name: quartiles(series) for name, series in times.items()}
        ratio = ratios(times, "one process")["two processes"]
        rows.append({"method": method, "width": width, "seconds": own, "ratio": ratio})
    dist.destroy_process_group()
    if rank == 0:
        Path(folder, "rows.json").write_text(json.dumps(rows), encoding="utf-8")


def main(arguments=None):
    """Measure, print and write; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="the JSON to write")
    parser.add_argument("--quick", action="store_true", help="two rounds, without the widest layer")
    options = parser.parse_args(arguments)
    widths, rounds = (list(STEPS)[:-1], 2) if options.quick else (list(STEPS), ROUNDS)
    where = machine() | {"backend": "gloo"}
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(compare, (folder, widths, rounds), PROCESSES)
        rows = json.loads(Path(folder, "rows.json").read_text(encoding="utf-8"))
    for row in rows:
        one, two = (1e3 * times[1] for times in row["seconds"].values())
        low, median, high = row["ratio"]
        print(
            f"{row['width']:5} {row['method']:15} {one:7.2f} ms on one process, {two:7.2f} on two: "
            f"{median:.2f} times ({low:.2f}-{high:.2f})"
        )
    settings = {"seed": SEED, "ensemble_size": MEMBERS, "batch_size": BATCH, "rounds": rounds}
    layers = {"layers": f"{INPUTS}-width-width-{CLASSES}"}
    json_files.write_json(options.path, {"machine": where, **settings, **layers, "rows": rows})
    return 0


if __name__ == "__main__":
    restart_with_settings()
    sys.exit(main())
