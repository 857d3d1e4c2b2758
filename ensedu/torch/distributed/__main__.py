"""Train an ensemble of classifiers whose members are spread over processes.

    torchrun --nproc-per-node 2 -m ensedu.torch.distributed --method rank1 --ensemble-size 4

One process needs no torchrun: ``python -m ensedu.torch.distributed``. All members see the same
batches. With ``--checkpoint DIR`` a run that was stopped goes on from its last complete checkpoint,
also on another number of processes; ``torchrun --max-restarts 3`` starts it again by itself when a
process was killed. The final weights are those of a run that nothing disturbed.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.functional import cross_entropy

from ensedu.methods import METHODS
from ensedu.torch.distributed.checkpoints import newest, resume, save
from ensedu.torch.distributed.group import process_group
from ensedu.torch.distributed.shards import BATCH, SPLIT, ShardedEnsemble, generator, members_of
from ensedu.torch.network import mlp

# A shared body belongs to no member.
SPREAD = [key for key, row in METHODS.items() if row.members and not row.body]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print what happens on process 0, and leave checkpoints."""
    options = _options(arguments)
    with process_group(options.device) as device:
        x, y, x_test, y_test = (part.to(device) for part in _data(options.data, options.dtype))
        torch.manual_seed(options.seed)
        sizes = [x.shape[1], *[options.width] * options.depth, int(y.max()) + 1]
        net = mlp(sizes, options.method, options.ensemble_size, dtype=x.dtype)
        ensemble = ShardedEnsemble(net.to(device), seed=options.seed)
        optimizer = torch.optim.Adam(ensemble.parameters(), lr=options.lr)
        _say(_shards(ensemble, options.method, sizes))
        start = _start(ensemble, optimizer, options) if options.checkpoint else 0
        began = time.perf_counter()
        _train(ensemble, optimizer, x, y, start, options)
        seconds = time.perf_counter() - began
        with torch.no_grad():
            logits = ensemble.gather(ensemble(x_test, options.steps))  # (M, B, classes)
        accuracy = (logits.softmax(-1).mean(0).argmax(-1) == y_test).double().mean()
        _say(f"test accuracy of the ensemble: {accuracy:.4f} ({len(y_test)} examples)")
        if options.steps > start:
            _say(f"{(options.steps - start) / seconds:.0f} steps/s, checkpoints included")


def _train(
    ensemble: ShardedEnsemble,
    optimizer: torch.optim.Optimizer,
    x: Float[Tensor, "N features"],
    y: Int[Tensor, " N"],
    start: int,
    options: argparse.Namespace,
) -> None:
    for step in range(start, options.steps):
        rows = torch.randint(
            len(x), (options.batch_size,), generator=generator(BATCH, options.seed, step)
        ).to(x.device)
        outputs = ensemble(x[rows], step)  # (own members, B, classes)
        losses = torch.stack([cross_entropy(logits, y[rows]) for logits in outputs])
        loss = ensemble.part(losses) + ensemble.kl() / len(x)
        optimizer.zero_grad()
        loss.backward()
        ensemble.reduce_gradients()
        optimizer.step()
        done = step + 1
        if done % options.every == 0 or done == options.steps:
            total = loss.detach().clone()
            dist.all_reduce(total)
            if options.checkpoint:
                save(options.checkpoint, ensemble, optimizer, done)
            _say(f"step {done}: loss {total:.4f}{', saved' if options.checkpoint else ''}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ensedu.torch.distributed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add, number = parser.add_argument, {"type": positive_integer, "metavar": "N"}
    add("--method", choices=SPREAD, default="batch_ensemble", help="(%(default)s)")
    add("--ensemble-size", **number, default=4, help="members (%(default)s)")
    add("--width", **number, default=64, help="units of a hidden layer (%(default)s)")
    add("--depth", **number, default=2, help="hidden layers (%(default)s)")
    add("--steps", **number, default=200, help="steps of the whole run (%(default)s)")
    add("--batch-size", **number, default=32, help="examples of a step (%(default)s)")
    add("--lr", type=float, default=1e-3, help="learning rate of Adam (%(default)s)")
    add("--seed", type=int, default=0, help="of weights, batches and noise (%(default)s)")
    add("--dtype", choices=("float32", "float64"), default="float32", help="(%(default)s)")
    add("--device", choices=("cpu", "cuda"), help="cpu uses gloo, cuda NCCL (cuda if there is one)")
    data = "an .npz with x (N, features) and y (N,), integers from 0 up; a fifth is the test set"
    add("--data", metavar="FILE", help=f"{data} (the digits of scikit-learn)")
    folder = "where to save, and to go on from; all processes must see it (nothing is saved)"
    add("--checkpoint", metavar="DIR", help=folder)
    every = "steps from one checkpoint and printed loss to the next (%(default)s)"
    add("--every", **number, default=50, help=every)
    return parser.parse_args(arguments)


def positive_integer(text: str) -> int:
    """An argument's type; argparse names it in its errors."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {number}")
    return number


def _data(file: str | None, dtype: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x and y to train on, and x and y to test on."""
    if file is None:
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            raise ImportError(
                "the digits need scikit-learn: pip install scikit-learn, or name your own --data"
            ) from error
        x, y = load_digits(return_X_y=True)
        x = x / 16
    else:
        with np.load(file) as arrays:
            x, y = arrays["x"], arrays["y"]
        labels = np.issubdtype(y.dtype, np.integer) and not (y < 0).any()
        if x.ndim != 2 or y.shape != x.shape[:1] or not labels:
            raise ValueError(
                "--data must hold x (N, features) and y (N,), integers from 0 up, got "
                f"x {x.shape} {x.dtype} and y {y.shape} {y.dtype}"
            )
    order = torch.randperm(len(x), generator=generator(SPLIT, 0, 0))
    train, test = order[len(x) // 5 :], order[: len(x) // 5]
    inputs, targets = torch.from_numpy(x).to(getattr(torch, dtype)), torch.from_numpy(y).long()
    return inputs[train], targets[train], inputs[test], targets[test]


def _start(
    ensemble: ShardedEnsemble, optimizer: torch.optim.Optimizer, options: argparse.Namespace
) -> int:
    """Go on from the newest checkpoint, if it is of the same run; return the steps done."""
    free = ("steps", "every", "device", "checkpoint")
    mine = {name: value for name, value in vars(options).items() if name not in free}
    file = Path(options.checkpoint) / "run.json"
    if newest(options.checkpoint) and file.exists():
        run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        for name, value in mine.items():
            if run.get(name) != value:
                raise ValueError(
                    f"--checkpoint {options.checkpoint} belongs to a run with {name} "
                    f"{run.get(name)!r}, got {value!r}; accepted is another folder, or that value"
                )
    start = resume(options.checkpoint, ensemble, optimizer)
    if start > options.steps:
        raise ValueError(
            f"--steps must be at least {start}, where --checkpoint {options.checkpoint} stands, "
            f"got {options.steps}"
        )
    if start:
        _say(f"resumed from step {start}")
    elif dist.get_rank() == 0:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")  # a killed process leaves no half of a file behind
        part.write_text(json.dumps(mine, indent=1) + "\n", encoding="utf-8")
        part.replace(file)
    return start


def _shards(ensemble: ShardedEnsemble, method: str, sizes: Sequence[int]) -> str:
    """Say where each member is, and what a step communicates."""
    shared = sum(p.numel() for n, p in ensemble.net.named_parameters() if n not in ensemble.split)
    own = sum(ensemble.net.get_parameter(name).numel() for name in ensemble.split)
    a_member = own // len(ensemble.members)
    lines = [
        f"{method}, layers {'-'.join(map(str, sizes))}, {ensemble.ensemble_size} members on "
        f"{ensemble.ranks} process{'es' if ensemble.ranks > 1 else ''} ({dist.get_backend()})"
    ]
    for rank in range(ensemble.ranks):
        members = members_of(rank, ensemble.ranks, ensemble.ensemble_size)
        lines.append(
            f"process {rank}: members {', '.join(map(str, members))}; {shared:,} shared numbers, "
            f"{a_member * len(members):,} of its members"
        )
    said = (
        f"all-reduces {ensemble.payload_bytes:,} bytes, of which a ring sends "
        f"{ensemble.wire_bytes:,.0f} from each process"
    )
    return "\n".join([*lines, f"a step {said if ensemble.payload_bytes else 'sends nothing'}"])


def _say(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


if __name__ == "__main__":
    record(main)()
