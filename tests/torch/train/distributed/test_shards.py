"""Members on several processes: the same as one process, resumed, killed, and misused."""

import math
import os
import random
import shutil
import signal
import sys
import time
import traceback
import warnings
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

import ensedu.torch as et

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

import torch._dynamo  # what the first step of an optimizer loads, in each process if not here
import torch.distributed as dist

from ensedu.torch.train import distributed
from ensedu.torch.train.checkpoints import load, newest, resume, save
from ensedu.torch.train.distributed import ShardedEnsemble
from tests.torch.train.distributed.nets import CLASSES, Model
from tests.torch.train.processes import copied_process

pytestmark = pytest.mark.large

SEED, N, B, TRAINED = 5, 41, 13, 7
FROZEN = "batch_ensemble with frozen weights"
CLOSE = {"rtol": 0, "atol": 1e-10}


def copies(M):
    """Whole models with BatchNorm and dropout."""

    def start():
        return Model(nn.BatchNorm1d, 0.3)

    return et.ensemble(start(), "deep_ensemble", M, initialize=start).double()


def flat(method, **options):
    return lambda M: et.ensemble(Model(), method, M, **options).double()


def frozen(M):
    net = et.mlp([30, 7, 11, CLASSES], "batch_ensemble", M, dtype=torch.float64)
    net[0].weight.requires_grad_(False)
    net[2].r.requires_grad_(False)
    return net


def convolution(M):
    options = {"per_example": True, "posterior_std": 0.3, "dtype": torch.float64}
    return nn.Sequential(
        nn.Unflatten(1, (2, 5, 3)),
        nn.Sequential(et.Rank1Conv2d(2, 7, (3, 2), M, **options), nn.Tanh()),
        nn.Flatten(2),
        et.Rank1Linear(7 * 3 * 2, CLASSES, M, **options),
    )


def mlp(method):
    return lambda M: et.mlp([30, 7, 11, CLASSES], method, M, dtype=torch.float64)


CASES = {
    "deep_ensemble": mlp("deep_ensemble"),
    "batch_ensemble": mlp("batch_ensemble"),
    "rank1": mlp("rank1"),
    "last_layer": mlp("last_layer"),
    "rank1 convolution, per example": convolution,
    "copies": copies,
    "model, batch_ensemble": flat("batch_ensemble"),
    "model, rank1": flat("rank1", shared=["kept"], posterior_std=0.3),
    "model, last_layer": flat("last_layer", head="last"),
    FROZEN: frozen,
}
#: Those of which checkpoints are saved and loaded: arrays of all kinds, buffers, frozen weights.
SAVED = ("rank1 convolution, per example", "copies", "model, last_layer", FROZEN)
MLP = 30 * 7 + 7 * 11
LINEAR = 7 * 11 + 11
#: How many numbers of shared weights each case trains.
SHARED = {
    "deep_ensemble": 0,
    "batch_ensemble": MLP + 11 * CLASSES,
    "rank1": MLP + 11 * CLASSES,
    "last_layer": MLP + 7 + 11,
    "rank1 convolution, per example": 2 * 7 * 3 * 2 + 7 * 3 * 2 * CLASSES,
    "copies": 0,
    "model, batch_ensemble": MLP + 11 * CLASSES + 2 * 7,
    "model, rank1": 30 * 7 + 2 * 7 + LINEAR + 11 * CLASSES,
    "model, last_layer": 30 * 7 + 7 + 2 * 7 + LINEAR,
    FROZEN: 7 * 11 + 11 * CLASSES,
}


def build(case, M):
    """A float64 network of M members for inputs (B, 30)."""
    torch.manual_seed(SEED)
    return CASES[case](M)


def batch(step):
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 30, generator=source, dtype=torch.float64)
    y = torch.randint(CLASSES, (N,), generator=source)
    rows = torch.randint(N, (B,), generator=source.manual_seed(step))
    return x[rows], y[rows]


def adam(net):
    return torch.optim.Adam((p for p in net.parameters() if p.requires_grad), lr=0.01)


# One process, without a line of what is tested.


def seed_of(*key):
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])


def plain_forward(net, x, step):
    source = torch.Generator().manual_seed(seed_of(0, SEED, step))
    if hasattr(net, "members"):
        outputs = []
        with torch.random.fork_rng([]):
            for number, member in enumerate(net.members):
                torch.manual_seed(seed_of(3, SEED, step, number))
                outputs.append(member(x))
        return torch.stack(outputs)
    if hasattr(net, "noise") and hasattr(net, "member"):
        noise = net.noise(source)
        return net(x, noise=noise) if noise else net(x)
    layers = [layer for part in net for layer in (part if type(part) is nn.Sequential else [part])]
    for layer in layers:
        x = layer(x, layer.noise(source, x.shape)) if hasattr(layer, "noise") else layer(x)
    return x


def plain_train(net, optimizer, start, end):
    """Return the losses of these steps."""
    losses = []
    for step in range(start, end):
        x, y = batch(step)
        outputs = plain_forward(net, x, step)
        loss = cross_entropy(outputs.flatten(0, 1), y.repeat(len(outputs))) + et.kl(net) / N
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


@cache
def plain_run(case, M, steps):
    """Return the losses of all steps, the final values and the final outputs (M, B, k)."""
    net = build(case, M)
    losses = plain_train(net, adam(net), 0, steps)
    values = {name: value.clone() for name, value in net.state_dict().items()}
    return losses, values, plain_forward(net, batch(steps)[0], steps).detach()


def assert_part_of(whole, members, own):
    """Check what one process has of a whole network."""
    for name, value in own.items():
        assert not name.startswith("members.") or int(name.split(".")[1]) in members
        expected = whole[name]
        expected = expected if expected.shape == value.shape else expected[members]
        torch.testing.assert_close(value, expected, **CLOSE)


# Several processes: each launch is one call of a function below on every process.


@contextmanager
def told(folder):
    """On an error, print what the processes said."""
    try:
        yield
    except BaseException:
        for file in sorted(folder.rglob("*.log")):
            print(f"--- {file.relative_to(folder)}\n{file.read_text(errors='replace')}")
        raise


def launch(task, ranks, folder, *args, dies=False):
    """Run ``task(rank, folder, *args)`` on each process; return what each returns.

    With ``dies=True`` one of them must be killed, and nothing is returned.
    """
    folder.mkdir(exist_ok=True)
    meeting = folder / f"meeting-{time.monotonic_ns()}"
    with told(folder), copied_process():
        processes = torch.multiprocessing.start_processes(
            in_group, (ranks, meeting, folder, task, args), ranks, False, start_method="fork"
        )
        end = time.monotonic() + 180
        try:
            while not processes.join(timeout=0.2):
                assert time.monotonic() < end, f"{task.__name__} hangs on {ranks} processes"
        except (
            torch.multiprocessing.ProcessExitedException,
            torch.multiprocessing.ProcessRaisedException,
        ):
            # Survivors miss the killed one, and may be the first to be seen.
            exits = [process.exitcode for process in processes.processes]
            if not (dies and -signal.SIGKILL in exits):
                raise
            return None
        finally:
            for process in processes.processes:
                process.kill()
                process.join()
        assert not dies, f"nothing was killed on {ranks} processes"
        return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(ranks)]


def in_group(rank, ranks, meeting, folder, task, args):
    log = (folder / f"{meeting.name}-{rank}.log").open("w", buffering=1)
    sys.stdout = sys.stderr = log
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            init_method=f"file://{meeting}",
            backend="gloo",
            rank=rank,
            world_size=ranks,
            timeout=timedelta(seconds=120),
        )
        torch.save(task(rank, folder, *args), folder / f"{rank}.pt")
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        raise


def train(ensemble, optimizer, start, end):
    """Return this process's part of each loss."""
    parts = []
    for step in range(start, end):
        x, y = batch(step)
        losses = torch.stack([cross_entropy(logits, y) for logits in ensemble(x, step)])
        loss = ensemble.mean_part(losses) + ensemble.kl() / N
        optimizer.zero_grad()
        loss.backward()
        ensemble.reduce_gradients()
        optimizer.step()
        parts.append(float(loss.detach()))
    return parts


def train_all(cases, steps):
    results = {}
    for case, M in cases:
        net = build(case, M)
        with torch.no_grad():
            for value in (*net.parameters(), *net.buffers()):
                value.add_(dist.get_rank())  # the values of process 0 count
        ensemble = ShardedEnsemble(net, seed=SEED)
        results[case, M] = {
            "members": list(ensemble.members),
            "losses": train(ensemble, adam(ensemble), 0, steps),
            "values": {k: v.clone() for k, v in ensemble.net.state_dict().items()},
            "gathered": ensemble.gather(ensemble(batch(steps)[0], steps)),
        }
    return results


def check_trained(results, steps):
    """Check that all processes together did what one does without a line of what is tested."""
    for case, M in results[0]:
        parts = [result[case, M] for result in results]
        losses, values, outputs = plain_run(case, M, steps)
        members = [part["members"] for part in parts]
        assert [member for own in members for member in own] == list(range(M))
        assert max(map(len, members)) - min(map(len, members)) <= 1

        np.testing.assert_allclose(np.sum([p["losses"] for p in parts], axis=0), losses, **CLOSE)
        for part in parts:
            torch.testing.assert_close(part["gathered"], outputs, **CLOSE)
            assert_part_of(values, part["members"], part["values"])
            assert len(results) == 1 or count(part["values"]) < count(values), case


def count(values):
    return sum(value.numel() for value in values.values())


def send_all():
    """Return what a step of each case sends, as the profiler sees it, and by formula."""
    ensembles = [ShardedEnsemble(build(case, 5), seed=SEED) for case in CASES]
    optimizers = [adam(ensemble) for ensemble in ensembles]
    for ensemble in ensembles:
        ensemble(batch(0)[0])  # a converted model first compares itself with its members
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
        for ensemble, optimizer in zip(ensembles, optimizers, strict=True):
            train(ensemble, optimizer, 0, 1)
    sent = [
        (event.name, event.input_dtypes[0], event.input_shapes[0])
        for event in sorted(profile.events(), key=lambda event: event.time_range.start)
        if event.name.startswith("gloo:")
    ]
    return sent, [ensemble.payload_bytes for ensemble in ensembles]


def check_sent(results):
    """Check that a step sends the gradient of the shared weights that are trained, once."""
    assert SHARED.keys() == CASES.keys()
    numbers = [SHARED[case] for case in CASES]
    for sent, payloads in results:
        assert payloads == [8 * number for number in numbers]
        assert sent == [("gloo:all_reduce", "double", [number]) for number in numbers if number]


def freeze():
    """Train with a frozen shared weight and a frozen r; return them before and after."""
    ensemble = ShardedEnsemble(build(FROZEN, 5), seed=SEED)
    kept = [ensemble.net.get_parameter(name) for name in ("0.weight", "2.r")]
    before = [parameter.detach().clone() for parameter in kept]
    train(ensemble, adam(ensemble), 0, 3)
    assert all(parameter.grad is None for parameter in kept)
    return before, [parameter.detach() for parameter in kept]


def go_on(folder, steps):
    """Resume each case where it stands, save that again elsewhere, train up to `steps`, save."""
    results = {}
    for case in SAVED:
        ensemble = ShardedEnsemble(build(case, 5), seed=SEED)
        optimizer = adam(ensemble)
        start = resume(folder / case, ensemble, optimizer).step
        save(folder / "again" / case, ensemble, optimizer, start, keep=9)
        train(ensemble, optimizer, start, steps)
        save(folder / case, ensemble, optimizer, steps, keep=9)
        results[case] = start, list(ensemble.members), ensemble.net.state_dict()
    return results


def check_went_on(results, start, end, folder):
    """Check that each case went on from `start`, and stands at `end` where a plain run does."""
    for case in SAVED:
        _, expected, _ = plain_run(case, 5, end)
        for done, members, values in (result[case] for result in results):
            assert done == start
            assert_part_of(expected, members, values)
        # What was loaded is, saved by these processes, the very file.
        one, other = folder / case, folder / "again" / case
        for name in ("values.safetensors", "checkpoint.json"):
            files = [base / f"step-{start:08}" / name for base in (one, other)]
            assert files[0].read_bytes() == files[1].read_bytes(), (case, name)


def plain_go_on(folder, start, steps):
    """The same on one process, without a `ShardedEnsemble`."""
    results = {}
    for case in SAVED:
        net = build(case, 5)
        optimizer = adam(net)
        if start:
            assert resume(folder / case, net, optimizer).step == start
            save(folder / "again" / case, net, optimizer, start, keep=9)
        plain_train(net, optimizer, start, steps)
        save(folder / case, net, optimizer, steps, keep=9)
        results[case] = start, list(range(5)), net.state_dict()
    return [results]


def disagree():
    errors = []
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for size, seed in ((5 + rank, SEED), (5, SEED + rank)):
        with pytest.raises(ValueError, match=r"same on all processes, got \[.*\]") as error:
            ShardedEnsemble(build("batch_ensemble", size), seed=seed)
        errors.append(str(error.value))
    with pytest.raises(ValueError, match=f"ensemble_size is 1, accepted is at least {ranks}"):
        ShardedEnsemble(build("batch_ensemble", 1))
    return errors


def damaged(rank, folder):
    """Load what is damaged, and what does not fit: an error on each process, nothing changed."""
    folder, errors = folder / "damaged", []
    ensemble = ShardedEnsemble(build("copies", 5), seed=SEED)
    optimizer = adam(ensemble)
    for step in (1, 2):
        train(ensemble, optimizer, step - 1, step)
        path = save(folder, ensemble, optimizer, step)
    values = path / "values.safetensors"
    dist.barrier()
    if rank == 0:
        data = values.read_bytes()
        values.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    before = everything_of(ensemble, optimizer)
    with pytest.raises(OSError, match=r"values\.safetensors is damaged"):
        load(path, ensemble, optimizer)
    with pytest.raises(ValueError, match="optimizer is Adam; accepted is SGD") as error:
        load(folder / "step-00000001", ensemble, torch.optim.SGD(ensemble.parameters(), lr=0.1))
    errors.append(str(error.value))
    with pytest.raises(FileExistsError, match="folder must have no checkpoint of that step"):
        save(folder, ensemble, optimizer, 1)
    for place, words in (("none", "does not exist"), (path.name, "is a checkpoint itself")):
        with pytest.raises((OSError, ValueError), match=words) as error:
            resume(folder / place, ensemble, optimizer)
        errors.append(str(error.value))
    same = all(map(torch.equal, before, everything_of(ensemble, optimizer)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = resume(folder, ensemble, optimizer)
    assert len(caught) == (rank == 0)
    train(ensemble, optimizer, 1, 2)
    assert all(map(torch.equal, before, everything_of(ensemble, optimizer)))
    # A parameter of the last member, which the last process alone keeps.
    last = [p for name, p in ensemble.net.named_parameters() if name == "members.4.last.bias"]
    for parameter in last:
        parameter.data[2] = math.inf
    with pytest.raises(ValueError, match=r"got inf at \(2,\) of model:members\.4\.last\.bias"):
        save(folder, ensemble, optimizer, 3)
    path = save(folder, ensemble, optimizer, 3, nonfinite_ok=True)
    with pytest.raises(ValueError, match=r"got inf at \(2,\) of model:members\.4\.last\.bias"):
        load(path, ensemble, optimizer)
    return same, told.step, errors


def everything_of(ensemble, optimizer):
    states = (sorted(optimizer.state.get(p, {}).items()) for p in ensemble.parameters())
    values = [*ensemble.state_dict().values(), *(value for s in states for _, value in s)]
    return [value.clone() for value in values]


def everything(rank, folder, steps):
    """What each process does, in one launch; of two, what three cannot show."""
    if dist.get_world_size() == 2:
        return {
            "trained": train_all([("rank1", 4), ("copies", 4)], TRAINED),
            "sent": send_all(),
            "went on": go_on(folder, steps),
        }
    return {
        "trained": train_all([(case, 5) for case in CASES], TRAINED),
        "frozen": freeze(),
        "went on": go_on(folder, steps),
        "damaged": damaged(rank, folder),
        "errors": disagree() if dist.get_world_size() > 1 else [],
    }


def test_any_number_of_processes_does_what_one_does(tmp_path):
    # Checkpoints go from a plain network to two processes, on to three, one, and a plain network.
    plain_go_on(tmp_path, 0, 4)
    done = 4
    for ranks, steps in ((2, 6), (3, TRAINED), (1, 8)):
        if ranks == 1:
            with distributed.process_group("cpu"):
                results = [everything(0, tmp_path, steps)]
        else:
            results = launch(everything, ranks, tmp_path, steps)
        check_trained([result["trained"] for result in results], TRAINED)
        check_went_on([result["went on"] for result in results], done, steps, tmp_path)
        done = steps
        if ranks == 2:
            check_sent([result["sent"] for result in results])
            continue
        for before, after in (result["frozen"] for result in results):
            torch.testing.assert_close(after, before, rtol=0, atol=0)
        one, *others = [(result["errors"], result["damaged"]) for result in results]
        assert all(other == one for other in others)
        assert ranks == 1 or "(6, 30)" in one[0][0]
        assert one[1][:2] == (True, 1)
        shutil.rmtree(tmp_path / "damaged")
    check_went_on(plain_go_on(tmp_path, done, 9), done, 9, tmp_path)


def step_and_die(rank, folder, end, victim, deaths):
    """Train from the last checkpoint, one checkpoint a step, until the victim kills itself.

    It does in its step number `deaths[0]`: with gradients summed, or while it renames a folder.
    """
    ensemble = ShardedEnsemble(build("rank1", 5), seed=SEED)
    optimizer = adam(ensemble)
    start = resume(folder / "run", ensemble, optimizer, missing_ok=True).step
    print(f"rank {rank}: from step {start}, dies {deaths}, victim {victim}")

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    for step in range(start, end):
        if rank == victim and step == start + deaths[0]:
            owner, name = (Path, "rename") if deaths[1] == "saving" else (optimizer, "step")
            setattr(owner, name, die)
        train(ensemble, optimizer, step, step + 1)
        save(folder / "run", ensemble, optimizer, step + 1)
    return ensemble.members, ensemble.net.state_dict()


def test_nine_kills_leave_no_trace(tmp_path):
    chance = random.Random(0)
    seen, steps = set(), []
    for _ in range(9):
        ranks = chance.randint(1, 3)
        saving = chance.random() < 0.4
        victim = 0 if saving else chance.randrange(ranks)  # process 0 writes
        death = chance.randint(0, 3), "saving" if saving else "training"
        launch(step_and_die, ranks, tmp_path, 99, victim, death, dies=True)
        steps.append(newest(tmp_path / "run", missing_ok=True).step)
        seen |= {ranks, *death}
    assert seen == {0, 1, 2, 3, "saving", "training"}
    assert steps == sorted(steps) and 9 <= steps[-1] < 30, steps
    end = steps[-1] + 2
    results = launch(step_and_die, 2, tmp_path, end, None, (0, ""))
    _, expected, _ = plain_run("rank1", 5, end)
    for members, values in results:
        assert_part_of(expected, list(members), values)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        f"step-{end - 1:08}", f"step-{end:08}",
    ]  # fmt: skip


@given(ensemble_size=st.integers(1, 97), data=st.data())
def test_members_are_spread_evenly(ensemble_size, data):
    ranks = data.draw(st.integers(1, ensemble_size))
    parts = [distributed.members_of(rank, ranks, ensemble_size) for rank in range(ranks)]
    assert [member for part in parts for member in part] == list(range(ensemble_size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


# One process: bad input.


@pytest.mark.parametrize("case", CASES)
def test_the_net_given_stays_as_it_is(alone, case):
    net = build(case, 3)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    random_before = torch.get_rng_state()
    ensemble = ShardedEnsemble(net, seed=SEED)
    train(ensemble, adam(ensemble), 0, 2)
    torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), random_before)
    assert not any(part._forward_pre_hooks for part in ensemble.modules())


@pytest.mark.bad_input
def test_bad_arguments(alone, tmp_path):
    ensemble = ShardedEnsemble(build("rank1", 3), seed=SEED)
    optimizer = adam(ensemble)
    x, _ = batch(0)
    members_of = distributed.members_of
    cases = [
        (lambda: ShardedEnsemble(build("rank1", 3), seed=-1), ValueError, "seed must be an int"),
        (lambda: ShardedEnsemble(build("rank1", 3), seed=0.5), TypeError, "seed must be an int"),
        (lambda: ensemble(x, -1), ValueError, "step must be an integer from 0 up, got -1"),
        (lambda: ensemble.mean_part(torch.zeros(())), ValueError, "losses has shape ()"),
        (lambda: ensemble.mean_part(torch.zeros(2)), ValueError, "process's 3 members"),
        (
            lambda: ensemble.mean_part(torch.ones(3, 5)),
            ValueError,
            "losses has shape (3, 5), accepted",
        ),
        (
            lambda: ensemble.mean_part(torch.ones(2, 5)),
            ValueError,
            "losses has shape (2, 5), accepted",
        ),
        (lambda: ensemble.mean_part([1.0]), TypeError, "losses must be a torch.Tensor, got list"),
        (lambda: ensemble.gather([1, 2]), TypeError, "outputs must be a torch.Tensor, got list"),
        (lambda: ensemble.gather(torch.zeros(2, 7)), ValueError, "outputs has shape (2, 7)"),
        (lambda: members_of(0, 5, 4), ValueError, "ensemble_size is 4, accepted is at least 5"),
        (lambda: members_of(5, 2, 4), ValueError, "rank must be below the number of processes, 2"),
        (lambda: members_of(-1, 2, 4), ValueError, "rank must be an integer from 0 up"),
        (lambda: members_of(0, 0, 4), ValueError, "ranks must be a positive integer"),
        (lambda: members_of(0, 1, 0), ValueError, "ensemble_size must be a positive integer"),
        (lambda: members_of(0, True, 4), TypeError, "ranks must be a positive integer"),
        (lambda: next(iter_group("tpu")), ValueError, "device must be one of 'cpu', 'cuda'"),
        (lambda: save(tmp_path, None, optimizer, 1), TypeError, "net must be a torch.nn.Module"),
        (lambda: save(tmp_path, ensemble, optimizer, 10**30), ValueError, "step must be a posit"),
        (lambda: save(tmp_path, ensemble, optimizer, True), TypeError, "step must be a positive"),
        (
            lambda: save(tmp_path, ensemble, adam(build("rank1", 3)), 1),
            ValueError,
            "optimizer must have parameters of net alone, got one of shape (7, 30)",
        ),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value)


def iter_group(device):
    with distributed.process_group(device) as own:
        yield own


class Mixing(nn.Module):
    """A model in which an example looks at the others."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(30, CLASSES)

    def forward(self, x):
        x = self.first(x)
        return x - x.mean(0)


@pytest.mark.bad_input
def test_a_model_is_compared_with_its_members(alone):
    ensemble = ShardedEnsemble(et.ensemble(Mixing(), "batch_ensemble", 3).double())
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        ensemble(batch(0)[0])


def test_statistics_of_one_example_are_no_statistics(alone):
    net = et.ensemble(nn.Sequential(nn.Conv2d(1, 3, 2), nn.InstanceNorm2d(3)), "rank1", 3)
    assert ShardedEnsemble(net)(torch.zeros(7, 1, 5, 5)).shape == (3, 7, 3, 4, 4)


@pytest.mark.bad_input
def test_gradients_must_be_there(alone):
    ensemble = ShardedEnsemble(build("batch_ensemble", 3))
    ensemble.ranks = 2
    with pytest.raises(RuntimeError, match=r"weight has no gradient, .* after backward"):
        ensemble.reduce_gradients()


def test_one_process_sends_nothing(alone, monkeypatch):
    ensemble = ShardedEnsemble(build("batch_ensemble", 3), seed=SEED)
    monkeypatch.setattr(dist, "all_reduce", None)
    train(ensemble, adam(ensemble), 0, 1)
    assert ensemble.payload_bytes == 0


@pytest.mark.bad_input
def test_optimizers_whose_state_cannot_be_split(alone, tmp_path):
    ensemble = ShardedEnsemble(build("deep_ensemble", 3), seed=SEED)
    optimizer = torch.optim.Adafactor(ensemble.parameters())
    train(ensemble, optimizer, 0, 1)
    with pytest.raises(
        TypeError, match=r"optimizer\.(row|col)_var:.* has shape .* accepted is its parameter's"
    ):
        save(tmp_path, ensemble, optimizer, 1)
    # Nor can the state that such an optimizer has on one process.
    net = build("deep_ensemble", 3)
    optimizer = torch.optim.Adafactor(net.parameters())
    plain_train(net, optimizer, 0, 1)
    path = save(tmp_path, net, optimizer, 1)
    with pytest.raises(
        TypeError, match=r"optimizer\.(row|col)_var:.* has shape .* accepted is its parameter's"
    ):
        load(path, ensemble, torch.optim.Adafactor(ensemble.parameters()))
