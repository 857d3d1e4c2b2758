"""Train an ensemble of classifiers whose members are spread over processes.

    torchrun --nproc-per-node 2 -m ensedu.torch.train.distributed --method rank1 --ensemble-size 4

One process needs no torchrun: ``python -m ensedu.torch.train.distributed``. With ``--checkpoint
DIR`` a run that was stopped goes on, also on another number of processes; ``torchrun --max-restarts
3`` starts it again by itself when a process was killed.
"""

import argparse
from collections.abc import Sequence

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.functional import cross_entropy

from ensedu.common import checks
from ensedu.methods import METHODS
from ensedu.torch.network import mlp
from ensedu.torch.train.checkpoints import resume, save
from ensedu.torch.train.distributed.group import ask_all, process_group
from ensedu.torch.train.distributed.shards import BATCH, SPLIT, ShardedEnsemble, seed_of

FREE = ("steps", "every", "device", "checkpoint")  # may be others when a run goes on
DATA = "an .npz with x (N, features), finite, and y (N,), integers from 0 up, of 5 rows or more"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, print what happens on process 0, and leave checkpoints."""
    given = _options(arguments)
    for name in ("steps", "batch_size", "every"):
        checks.positive_int(f"--{name}", getattr(given, name))
    data = _data(given.data, given.dtype)
    settings = {name: value for name, value in vars(given).items() if name not in FREE}
    with process_group(given.device) as device:
        x, y, x_test, y_test = (part.to(device) for part in data)
        torch.manual_seed(given.seed)
        sizes = [x.shape[1], given.width, given.width, int(y.max()) + 1]
        net = mlp(sizes, given.method, given.ensemble_size, dtype=x.dtype)
        ensemble = ShardedEnsemble(net.to(device), seed=given.seed)
        optimizer = torch.optim.Adam(ensemble.parameters())
        say = print if dist.get_rank() == 0 else lambda *_, **__: None
        say(f"members by process: {ask_all(list(ensemble.members))}")
        say(f"a step all-reduces {ensemble.payload_bytes:,} bytes", flush=True)
        start = 0
        if given.checkpoint:
            found = resume(given.checkpoint, ensemble, optimizer, missing_ok=True)
            start = found.step
            if start and (found.extra != settings or start > given.steps):
                raise ValueError(
                    f"--checkpoint {found.path} is of a run with {found.extra}, got {settings} and "
                    f"--steps {given.steps}; accepted is another folder, or to go on with that run"
                )
            say(f"goes on from step {start}")
        source = torch.Generator()
        for step in range(start, given.steps):
            source.manual_seed(seed_of(BATCH, given.seed, step))
            rows = torch.randint(len(x), (given.batch_size,), generator=source).to(device)
            outputs = ensemble(x[rows], step)  # (own members, B, classes)
            losses = torch.stack([cross_entropy(logits, y[rows]) for logits in outputs])
            loss = ensemble.mean_part(losses) + ensemble.kl() / len(x)
            optimizer.zero_grad()
            loss.backward()
            ensemble.reduce_gradients()
            optimizer.step()
            done = step + 1
            if done % given.every == 0 or done == given.steps:
                if given.checkpoint:
                    save(given.checkpoint, ensemble, optimizer, done, extra=settings)
                say(f"step {done}: loss {sum(ask_all(loss.item())):.4f}", flush=True)
        with torch.no_grad():
            logits = ensemble.gather(ensemble(x_test, given.steps))  # (M, B, classes)
        accuracy = (logits.softmax(-1).mean(0).argmax(-1) == y_test).double().mean()
        say(f"test accuracy of the ensemble: {accuracy:.4f} ({len(y_test)} examples)")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    kinds = argparse.ArgumentDefaultsHelpFormatter
    words = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(
        "ensedu.torch.train.distributed", None, words, formatter_class=kinds
    )
    add, members = parser.add_argument, [key for key, row in METHODS.items() if row.members]
    add("--ensemble-size", type=int, default=4, help="members")
    add("--width", type=int, default=64, help="units of each of two hidden layers")
    add("--steps", type=int, default=200, help="steps of the whole run")
    add("--batch-size", type=int, default=32, help="examples of a step, the same for all members")
    add("--every", type=int, default=50, help="steps from one checkpoint and loss to the next")
    add("--seed", type=int, default=0, help="of weights, batches and noise")
    add("--method", choices=members, default="batch_ensemble", help="of its layers")
    add("--dtype", choices=("float32", "float64"), default="float32", help="of x and weights")
    add("--device", choices=("cpu", "cuda"), help="cuda where there is one, if left out")
    add("--data", help=f"{DATA}; a fifth is the test set. Digits, if left out")
    add("--checkpoint", help="folder to save in, and to go on from")
    return parser.parse_args(arguments)


def _data(file: str | None, dtype: str) -> tuple[Tensor, ...]:
    """Return x and y to train on, and x and y to test on."""
    if file is None:
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            words = (
                "the digits need scikit-learn: pip install scikit-learn, or name your own --data"
            )
            raise ImportError(words) from error
        x, y = load_digits(return_X_y=True)
        x = x / 16
    else:
        try:
            with open(file, "rb") as opened, np.load(opened) as arrays:
                x, y = arrays["x"], arrays["y"]
        except Exception as error:  # NumPy has a dozen for what is no such file
            problem = f"{file}: {type(error).__name__}: {error}"
            raise ValueError(f"--data must be {DATA}, got {problem}") from error
        kinds = x.dtype.kind in "iuf" and y.dtype.kind in "iu"
        if not kinds or x.ndim != 2 or y.shape != x.shape[:1] or len(x) < 5 or x.shape[1] == 0:
            problem = f"x {x.shape} {x.dtype} and y {y.shape} {y.dtype}"
            raise ValueError(f"--data must be {DATA}, got {problem}")
    with np.errstate(over="ignore"):
        x = x.astype(dtype)
    bad = ~np.isfinite(x).all(1) | (y < 0)
    if bad.any():
        row = bad.argmax()
        raise ValueError(f"--data must be {DATA}, got row {row} with x {x[row]} and y {y[row]}")
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed_of(SPLIT, 0, 0)))
    test, train = order.tensor_split([len(x) // 5])
    x, y = torch.from_numpy(x), torch.from_numpy(y).long()
    return x[train], y[train], x[test], y[test]


if __name__ == "__main__":
    record(main)()
