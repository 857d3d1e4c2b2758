"""Members on several processes: the same as one process, resumed, killed, and misused."""

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from datetime import timedelta
from functools import cache

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

import ensedu.torch as et

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

import torch.distributed as dist
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from ensedu.torch import distributed
from ensedu.torch.distributed import ShardedEnsemble
from ensedu.torch.distributed import __main__ as script

pytestmark = pytest.mark.large

SEED, N, B, CLASSES = 5, 41, 13, 3
CASES = ["deep_ensemble", "batch_ensemble", "rank1", "rank1 convolution, per example"]
FROZEN = "batch_ensemble with frozen weights"
CLOSE = {"rtol": 0, "atol": 1e-10}


def build(case, M):
    """A float64 network of M members for inputs (B, 30)."""
    torch.manual_seed(SEED)
    if case == FROZEN:
        net = build("batch_ensemble", M)
        net[0].weight.requires_grad_(False)
        net[2].r.requires_grad_(False)
        return net
    if case in CASES[:3]:
        return et.mlp([30, 7, 11, CLASSES], case, M, dtype=torch.float64)
    options = {"per_example": True, "posterior_std": 0.3, "dtype": torch.float64}
    return nn.Sequential(
        nn.Unflatten(1, (2, 5, 3)),
        nn.Sequential(et.Rank1Conv2d(2, 7, (3, 2), M, **options), nn.Tanh()),
        nn.Flatten(2),
        et.Rank1Linear(7 * 3 * 2, CLASSES, M, **options),
    )


def batch(step):
    source = torch.Generator().manual_seed(0)
    x = torch.randn(N, 30, generator=source, dtype=torch.float64)
    y = torch.randint(CLASSES, (N,), generator=source)
    rows = torch.randint(N, (B,), generator=source.manual_seed(step))
    return x[rows], y[rows]


def adam(net):
    return torch.optim.Adam(net.parameters(), lr=0.01)


# One process, without a line of what is tested.


def plain_forward(net, x, step):
    source = seeded(0, SEED, step)
    layers = [layer for part in net for layer in (part if type(part) is nn.Sequential else [part])]
    for layer in layers:
        x = layer(x, layer.noise(source, x.shape)) if hasattr(layer, "noise") else layer(x)
    return x


@cache
def plain_run(case, M, steps):
    """Return the losses of all steps, the final parameters and the final outputs (M, B, k)."""
    net = build(case, M)
    optimizer, losses = adam(net), []
    for step in range(steps):
        x, y = batch(step)
        outputs = plain_forward(net, x, step)
        loss = cross_entropy(outputs.flatten(0, 1), y.repeat(M))
        loss = loss + et.kl(net) / N
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, dict(net.named_parameters()), plain_forward(net, batch(steps)[0], steps)


def seeded(*key):
    seeds = np.random.SeedSequence(key).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(seeds[0]))


# Several processes: each launch is one call of a function below on every process.


def preload():
    """Import once what the processes need; each starts as a copy of one that has."""
    # torch._dynamo is what the first step of an optimizer loads.
    names = [__name__, "torch._dynamo", "ensedu.torch.distributed.__main__"]
    torch.multiprocessing.get_context("forkserver").set_forkserver_preload(names)


def launch(task, ranks, folder, *args):
    """Run ``task(rank, folder, *args)`` on each process; return what each returns."""
    folder.mkdir(exist_ok=True)
    preload()
    processes = torch.multiprocessing.start_processes(
        in_group,
        (ranks, folder / f"meeting-{time.monotonic_ns()}", folder, task, args),
        ranks,
        join=False,
        start_method="forkserver",
    )
    end = time.monotonic() + 60
    try:
        while not processes.join(timeout=1):
            assert time.monotonic() < end, f"{task.__name__} hangs on {ranks} processes"
    finally:
        for process in processes.processes:
            process.kill()
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(ranks)]


def in_group(rank, ranks, meeting, folder, task, args):
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    dist.init_process_group(
        init_method=f"file://{meeting}",
        backend="gloo",
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=30),
    )
    torch.save(task(rank, folder, *args), folder / f"{rank}.pt")
    dist.destroy_process_group()


def train(ensemble, optimizer, start, end):
    """Return this process's part of each loss."""
    parts = []
    for step in range(start, end):
        x, y = batch(step)
        losses = torch.stack([cross_entropy(logits, y) for logits in ensemble(x, step)])
        loss = ensemble.part(losses) + ensemble.kl() / N
        optimizer.zero_grad()
        loss.backward()
        ensemble.reduce_gradients()
        optimizer.step()
        parts.append(float(loss.detach()))
    return parts


def train_all(sizes, steps):
    results = {}
    for case in CASES:
        for M in sizes:
            net = build(case, M)
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter.add_(dist.get_rank())  # the values of process 0 count
            ensemble = ShardedEnsemble(net, seed=SEED)
            results[case, M] = {
                "members": list(ensemble.members),
                "losses": train(ensemble, adam(ensemble), 0, steps),
                "parameters": {k: v.detach() for k, v in ensemble.net.named_parameters()},
                "gathered": ensemble.gather(ensemble(batch(steps)[0], steps)),
            }
    return results


def check_trained(results, steps):
    """Check that all processes together did what one does without a line of what is tested."""
    for case, M in results[0]:
        parts = [result[case, M] for result in results]
        losses, parameters, outputs = plain_run(case, M, steps)
        members = [part["members"] for part in parts]
        assert [member for own in members for member in own] == list(range(M))
        assert max(map(len, members)) - min(map(len, members)) <= 1

        np.testing.assert_allclose(np.sum([p["losses"] for p in parts], axis=0), losses, **CLOSE)
        shared = {name for name in parameters if "deep" not in case and name.endswith(".weight")}
        for part in parts:
            torch.testing.assert_close(part["gathered"], outputs.detach(), **CLOSE)
            for name, expected in parameters.items():
                own = expected if name in shared else expected[part["members"]]
                torch.testing.assert_close(part["parameters"][name], own.detach(), **CLOSE)


def send_all():
    """Return for each case what a step sends, as the profiler sees it, and by formula."""
    results = {}
    for case in [*CASES, FROZEN]:
        ensemble = ShardedEnsemble(build(case, 5), seed=SEED)
        optimizer = adam(ensemble)
        activities = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
            train(ensemble, optimizer, 0, 1)
        sent = [
            (event.name, event.input_dtypes[0], event.input_shapes[0])
            for event in profile.events()
            if event.name.startswith("gloo:")
        ]
        results[case] = sent, ensemble.payload_bytes, ensemble.wire_bytes
    return results


def check_sent(results):
    """Check that a step sends the gradient of the shared weights that are trained, once."""
    shared = {
        "deep_ensemble": 0,
        "batch_ensemble": 30 * 7 + 7 * 11 + 11 * CLASSES,
        "rank1": 30 * 7 + 7 * 11 + 11 * CLASSES,
        "rank1 convolution, per example": 2 * 7 * 3 * 2 + 7 * 3 * 2 * CLASSES,
        FROZEN: 7 * 11 + 11 * CLASSES,
    }
    for result in results:
        assert result.keys() == shared.keys()
        for case, numbers in shared.items():
            payload = 8 * numbers if len(results) > 1 else 0
            sent = [("gloo:all_reduce", "double", [numbers])] if payload else []
            wire = {1: 0, 2: payload, 3: 4 / 3 * payload}[len(results)]
            assert result[case] == (sent, payload, pytest.approx(wire))


def freeze():
    """Train with a frozen shared weight and a frozen r; return them before and after."""
    ensemble = ShardedEnsemble(build(FROZEN, 5), seed=SEED)
    kept = [ensemble.net.get_parameter(name) for name in ("0.weight", "2.r")]
    before = [parameter.detach().clone() for parameter in kept]
    train(ensemble, adam(ensemble), 0, 3)
    assert all(parameter.grad is None for parameter in kept)
    return before, [parameter.detach() for parameter in kept]


def go_on(folder, steps):
    """Resume each case where it stands, train up to `steps`, save."""
    results = {}
    for case in [*CASES, FROZEN]:
        ensemble = ShardedEnsemble(build(case, 5), seed=SEED)
        optimizer = adam(ensemble)
        start = distributed.resume(folder / case, ensemble, optimizer)
        train(ensemble, optimizer, start, steps)
        distributed.save(folder / case, ensemble, optimizer, steps)
        results[case] = start, list(ensemble.members), ensemble.net.state_dict()
    return results


def check_went_on(results, start, end):
    """Check that each case went on from `start`, and stands at `end` where a plain run does."""
    for case in [*CASES, FROZEN]:
        _, expected, _ = plain_run(case, 5, end)
        for done, members, state in (result[case] for result in results):
            assert done == start
            for name, value in state.items():
                whole = expected[name].detach()
                own = whole if value.shape == whole.shape else whole[members]
                torch.testing.assert_close(value, own, **CLOSE)


def disagree():
    errors = []
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for size, seed in ((5 + rank, SEED), (5, SEED + rank)):
        with pytest.raises(ValueError, match=r"same on all processes.* process 1") as error:
            ShardedEnsemble(build("batch_ensemble", size), seed=seed)
        errors.append(str(error.value))
    with pytest.raises(ValueError, match=f"ensemble_size is 1, accepted is at least {ranks}"):
        ShardedEnsemble(build("batch_ensemble", 1))
    return errors


def everything(rank, folder, steps):
    """What each process does, in one launch."""
    return {
        "trained": train_all((5, 4), 12),
        "sent": send_all(),
        "frozen": freeze(),
        "went on": go_on(folder, steps),
        "errors": disagree() if dist.get_world_size() > 1 else [],
    }


def test_any_number_of_processes_does_what_one_does(tmp_path):
    done = 0
    # Checkpoints go from one process to three, on to two, and back to one.
    for ranks, steps in ((1, 4), (3, 7), (2, 9)):
        if ranks == 1:
            with distributed.process_group("cpu"):
                results = [everything(0, tmp_path, steps)]
        else:
            results = launch(everything, ranks, tmp_path, steps)
        check_trained([result["trained"] for result in results], 12)
        check_sent([result["sent"] for result in results])
        check_went_on([result["went on"] for result in results], done, steps)
        for before, after in (result["frozen"] for result in results):
            torch.testing.assert_close(after, before, rtol=0, atol=0)
        one, *others = [result["errors"] for result in results]
        assert all(other == one for other in others)
        assert ranks == 1 or "(6, 30)" in one[0]
        done = steps
    with distributed.process_group("cpu"):
        check_went_on([go_on(tmp_path, 12)], 9, 12)
    for case in CASES:
        kept = sorted(path.name for path in (tmp_path / case).iterdir())
        assert kept == ["step-00000009", "step-00000012"]


@given(ensemble_size=st.integers(1, 97), data=st.data())
def test_members_are_spread_evenly(ensemble_size, data):
    ranks = data.draw(st.integers(1, ensemble_size))
    parts = [distributed.members_of(rank, ranks, ensemble_size) for rank in range(ranks)]
    assert [member for part in parts for member in part] == list(range(ensemble_size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


# The script: torchrun, and processes that are killed.


@pytest.fixture
def command(tmp_path):
    """Arguments of a small run of the script, without the number of steps."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(N, 5)), y=rng.integers(0, CLASSES, N))
    words = "--ensemble-size 3 --width 7 --depth 1 --batch-size 13 --dtype float64 --device cpu"
    return [*words.split(), "--method", "rank1", "--data", str(tmp_path / "data.npz")]


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, seconds=120):
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        if process.poll() is None:
            process.terminate()  # torchrun ends its workers
            process.communicate(timeout=30)
    return process.returncode, out, err


def checkpointed(folder):
    """Load the newest checkpoint of a run of the script on one process."""
    with distributed.process_group("cpu"):
        net = et.mlp([5, 7, CLASSES], "rank1", 3, dtype=torch.float64)
        ensemble = ShardedEnsemble(net)
        optimizer = torch.optim.Adam(ensemble.parameters())
        step = distributed.resume(folder, ensemble, optimizer)
    steps = {state["step"].item() for state in optimizer.state.values()}
    assert steps == {step}
    return step, ensemble.net.state_dict()


def test_the_commands_that_a_reader_types(tmp_path, command):
    """A process of torchrun's is killed; one process needs no torchrun, and leaves no warning."""
    folder = tmp_path / "run"
    module = ["-m", "ensedu.torch.distributed", *command]
    agent = "-m torch.distributed.run --standalone --nproc-per-node 2".split()
    options = ["--checkpoint", str(folder), "--every", "10", "--steps", str(10**8)]
    torchrun = start(*agent, *module, *options)
    end = time.monotonic() + 120
    while distributed.newest(folder) is None and time.monotonic() < end:
        assert torchrun.poll() is None, torchrun.communicate()
        time.sleep(0.05)
    workers = psutil.Process(torchrun.pid).children()
    (second,) = [worker for worker in workers if worker.environ().get("RANK") == "1"]
    second.kill()
    alone = start(*module, "--steps", "3")
    code, out, err = finish(torchrun)
    assert code != 0
    assert f"(pid: {second.pid})" in err
    assert "Signal 9 (SIGKILL)" in err
    assert "local_rank: 1" in err
    assert "process 1: members 2" in out
    assert not [worker for worker in workers if worker.is_running()]

    code, out, err = finish(alone)
    assert (code, err) == (0, "")
    assert "rank1, layers 5-7-3, 3 members on 1 process (gloo)" in out
    assert "a step sends nothing" in out
    assert "step 3: loss " in out


class KilledOnce(ShardedEnsemble):
    """Process 1 kills itself in step 51, after the checkpoint of step 40, before any restart."""

    def reduce_gradients(self):
        super().reduce_gradients()
        self.steps = getattr(self, "steps", 0) + 1
        first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        if self.steps == 51 and first and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGKILL)


def run_killed_once(arguments):
    script.ShardedEnsemble = KilledOnce
    script.main(arguments)


def test_a_restarted_run_ends_where_an_undisturbed_one_does(tmp_path, command, capsys):
    script.main([*command, "--steps", "60", "--every", "20", "--checkpoint", str(tmp_path / "one")])
    undisturbed = capsys.readouterr().out.splitlines()
    # What torchrun --standalone --nproc-per-node 2 --max-restarts 1 runs, in this process; its
    # workers need not import Torch twice each.
    preload()
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=1, start_method="forkserver",
        run_id="once", rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost",
        logs_specs=DefaultLogsSpecs(log_dir=str(tmp_path / "logs"), redirects=Std.ALL),
    )  # fmt: skip
    options = ["--steps", "60", "--every", "20", "--checkpoint", str(tmp_path / "two")]
    elastic_launch(config, run_killed_once)([*command, *options])
    (folder,) = (tmp_path / "logs").iterdir()
    files = (folder / f"attempt_{i}" / "0" / "stdout.log" for i in range(2))
    killed, restarted = (file.read_text(encoding="utf-8").splitlines() for file in files)
    saved = [f"step {step}: loss" for step in (20, 40)]
    assert [line[:13] for line in killed if "saved" in line] == saved
    assert "resumed from step 40" in restarted
    wanted = ("step ", "test accuracy")
    assert [line for line in restarted if line.startswith(wanted)] == [
        line for line in undisturbed if line.startswith(("step 60", "test accuracy"))
    ]
    (steps, expected), (done, weights) = (checkpointed(tmp_path / name) for name in ("one", "two"))
    assert done == steps == 60
    torch.testing.assert_close(weights, expected, **CLOSE)


def test_the_script_is_a_plain_loop(tmp_path, command, capsys):
    folder = tmp_path / "run"
    script.main([*command, "--steps", "7", "--seed", str(SEED), "--checkpoint", str(folder)])
    with np.load(tmp_path / "data.npz") as data:
        x, y = (torch.from_numpy(data[name]) for name in "xy")
    test, train = torch.randperm(N, generator=seeded(2, 0, 0)).split([N // 5, N - N // 5])
    torch.manual_seed(SEED)
    net = et.mlp([5, 7, CLASSES], "rank1", 3, dtype=torch.float64)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(7):
        rows = train[torch.randint(len(train), (13,), generator=seeded(1, SEED, step))]
        outputs = plain_forward(net, x[rows], step)
        loss = cross_entropy(outputs.flatten(0, 1), y[rows].repeat(3))
        loss = loss + et.kl(net) / len(train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    done, weights = checkpointed(folder)
    assert done == 7
    torch.testing.assert_close(weights, net.state_dict(), **CLOSE)
    probabilities = plain_forward(net, x[test], 7).softmax(-1).mean(0)
    right = int((probabilities.argmax(-1) == y[test]).sum())
    out = capsys.readouterr().out
    assert f"step 7: loss {loss:.4f}, saved" in out
    assert f"test accuracy of the ensemble: {right / len(test):.4f} ({len(test)} examples)" in out


def test_the_script_learns_the_digits(capsys):
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    script.main(["--device", "cpu", "--steps", "300", "--method", "deep_ensemble"])
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("test accuracy")]
    assert float(line.split()[5]) > 0.9


def test_a_finished_run_only_reports(tmp_path, command, capsys):
    options = [*command, "--steps", "4", "--every", "3", "--checkpoint", str(tmp_path / "run")]
    script.main(options)
    first = capsys.readouterr().out.splitlines()
    script.main(options)
    second = capsys.readouterr().out.splitlines()
    assert "resumed from step 4" in second
    assert not [line for line in second if "loss" in line or "steps/s" in line]
    accuracy = [line for line in first if "accuracy" in line]
    assert accuracy == [line for line in second if "accuracy" in line]


# One process: checkpoints, and bad input.


@pytest.fixture
def alone():
    with distributed.process_group("cpu") as device:
        yield device


@pytest.fixture
def run(alone, tmp_path):
    """An ensemble with its optimizer after a step, and a folder with the checkpoint of it."""
    ensemble = ShardedEnsemble(build("batch_ensemble", 3), seed=SEED)
    optimizer = adam(ensemble)
    train(ensemble, optimizer, 0, 1)
    path = distributed.save(tmp_path / "run", ensemble, optimizer, 1)
    return ensemble, optimizer, path


def test_only_complete_checkpoints_count(run):
    ensemble, optimizer, first = run
    folder = first.parent
    assert first.name == "step-00000001"
    for step in (3, 20):
        distributed.save(folder, ensemble, optimizer, step, keep=2)
    names = ["step-00000003", "step-00000020"]
    assert sorted(path.name for path in folder.iterdir()) == names
    last = distributed.newest(folder)
    assert last.name == names[1]
    # What a process that is killed while it writes leaves: all files, and no table of contents.
    (last / ".metadata").rename(last / ".metadata.tmp")
    assert distributed.newest(folder).name == names[0]
    assert distributed.resume(folder, ensemble, optimizer) == 3
    # It is written again where the run comes by again, and dropped when it is old.
    distributed.save(folder, ensemble, optimizer, 20)
    assert distributed.newest(folder) == last
    (last / ".metadata").unlink()
    distributed.save(folder, ensemble, optimizer, 21, keep=2)
    # What is not complete is none of the two that are kept: 3 and 21 are.
    names = ["step-00000003", "step-00000020", "step-00000021"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert distributed.newest(folder).name == names[2]
    distributed.save(folder, ensemble, optimizer, 22, keep=2)
    assert sorted(path.name for path in folder.iterdir()) == ["step-00000021", "step-00000022"]
    for step in (23, 24):
        distributed.save(folder, ensemble, optimizer, step, keep=1)
    assert [path.name for path in folder.iterdir()] == ["step-00000024"]


def test_loading_brings_back_every_number(run):
    ensemble, optimizer, path = run
    before = [v.clone() for v in [*ensemble.state_dict().values(), *moments(optimizer)]]
    train(ensemble, optimizer, 1, 3)
    assert not any(map(torch.equal, before, [*ensemble.state_dict().values(), *moments(optimizer)]))
    fresh = ShardedEnsemble(build("batch_ensemble", 3), seed=SEED)
    fresh(batch(0)[0]).sum().backward()  # what is left of it must not keep the state from coming
    for one, other in ((ensemble, optimizer), (fresh, adam(fresh))):
        assert distributed.load(path, one, other) == 1
        assert all(map(torch.equal, before, [*one.state_dict().values(), *moments(other)]))


def moments(optimizer):
    return [x for p in optimizer.param_groups[0]["params"] for x in optimizer.state[p].values()]


def test_the_net_given_stays_as_it_is(alone):
    net = build("rank1", 3)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    ensemble = ShardedEnsemble(net, seed=SEED)
    train(ensemble, adam(ensemble), 0, 2)
    torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)
    assert "members=[0, 1, 2], ensemble_size=3" in repr(ensemble)


def sequential(*layers):
    return nn.Sequential(*layers)


BAD_NETS = [
    (lambda: et.DeepEnsembleLinear(5, 7, 3), TypeError, "net must be an nn.Sequential, got Deep"),
    (lambda: et.mlp([5, 7, 2]), ValueError, "net has a Linear at '0' whose parameters"),
    (
        lambda: et.mlp([5, 7, 2], "mean_field", samples=3),
        ValueError,
        "net has a MeanFieldLinear at '1'",
    ),
    (lambda: et.mlp([5, 7, 2], "mc_dropout", samples=3), ValueError, "net has a Linear at '1'"),
    (lambda: et.mlp([5, 7, 2], "last_layer", 3), ValueError, "net has a Linear at '0' whose par"),
    (
        lambda: et.mlp([5, 7, 2], "rank1", 3, samples=2),
        ValueError,
        "net has a Tile at '0', which puts samples in front of the members",
    ),
    (lambda: sequential(nn.ReLU()), ValueError, "net has no layer with members; accepted are Deep"),
    (
        lambda: sequential(et.BatchEnsembleLinear(5, 7, 3), nn.BatchNorm1d(7, affine=False)),
        ValueError,
        "net has a BatchNorm1d at '1' whose parameters or buffers",
    ),
    (
        lambda: sequential(et.BatchEnsembleLinear(5, 7, 3), nn.Sequential(nn.Dropout())),
        ValueError,
        "net has a Dropout at '1.0', whose noise would depend",
    ),
    (
        lambda: sequential(et.BatchEnsembleLinear(5, 7, 3), et.MCDropout()),
        ValueError,
        "net has a MCDropout at '1', whose noise would depend",
    ),
    (
        lambda: sequential(et.BatchEnsembleLinear(5, 7, 3), et.DeepEnsembleLinear(7, 2, 4)),
        ValueError,
        "net must have one ensemble_size, got {'0': 3, '1': 4}",
    ),
    (
        lambda: sequential(et.ensemble(nn.Sequential(nn.Linear(5, 7)), "rank1", 3)),
        ValueError,
        "net has a FlatEnsemble at '0'",
    ),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("make", "error", "words"), BAD_NETS)
def test_bad_networks(alone, make, error, words):
    with pytest.raises(error) as raised:
        ShardedEnsemble(make())
    assert words in str(raised.value)


@pytest.mark.bad_input
def test_bad_arguments(run):
    ensemble, optimizer, path = run
    x, _ = batch(0)
    cases = [
        (lambda: ShardedEnsemble(build("rank1", 3), seed=-1), ValueError, "seed must be an int"),
        (lambda: ShardedEnsemble(build("rank1", 3), seed=0.5), TypeError, "seed must be an int"),
        (lambda: ensemble(x, -1), ValueError, "step must be an integer from 0 up, got -1"),
        (lambda: ensemble.part(torch.zeros(())), ValueError, "losses has shape ()"),
        (lambda: ensemble.part(torch.zeros(2)), ValueError, "process's 3 members"),
        (lambda: ensemble.gather(torch.zeros(2, 7)), ValueError, "outputs has shape (2, 7)"),
        (lambda: distributed.members_of(0, 5, 4), ValueError, "ensemble_size is 4, accepted is at"),
        (lambda: next(iter_group("tpu")), ValueError, "device must be one of 'cpu', 'cuda'"),
        (lambda: distributed.save(path, ensemble, optimizer, 0), ValueError, "step must be a pos"),
        (
            lambda: distributed.save(path, ensemble, optimizer, 2, keep=0),
            ValueError,
            "keep must be a positive integer, got 0",
        ),
        (
            lambda: distributed.save(path.parent, ensemble, optimizer, 1),
            FileExistsError,
            "folder must have no checkpoint of step 1, got ",
        ),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value)


def iter_group(device):
    with distributed.process_group(device) as own:
        yield own


@pytest.mark.bad_input
def test_gradients_must_be_there(monkeypatch, run):
    ensemble, *_ = run
    ensemble.zero_grad()
    ensemble.ranks = 2
    with pytest.raises(RuntimeError, match=r"0\.weight has no gradient, .* after backward"):
        ensemble.reduce_gradients()


@pytest.mark.bad_input
def test_more_processes_than_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.raises(
        ValueError, match="'cpu' for process 1 of a machine with 1 GPUs, got 'cuda'"
    ):
        next(iter_group("cuda"))


@pytest.mark.bad_input
def test_checkpoints_of_something_else(run):
    _, _, path = run

    def wide():
        torch.manual_seed(SEED)
        return et.mlp([30, 13, 11, CLASSES], "batch_ensemble", 3, dtype=torch.float64)

    cases = [
        (wide, adam, "model.0.bias is 3 of (7,) torch.float64; accepted is 3 of (13,)"),
        (
            lambda: build("batch_ensemble", 4),
            adam,
            "model.0.bias is 3 of (7,) torch.float64; accepted is 4 of (7,) torch.float64",
        ),
        (
            lambda: build("rank1", 3),
            adam,
            "model.0.r is 3 of (30,) torch.float64; accepted is none",
        ),
        (
            lambda: build("deep_ensemble", 3),
            adam,
            "model.0.r is 3 of (30,) torch.float64; accepted is none",
        ),
        (lambda: build("batch_ensemble", 3).float(), adam, "accepted is 3 of (7,) torch.float32"),
        (
            lambda: build("batch_ensemble", 3),
            lambda net: torch.optim.SGD(net.parameters(), momentum=0.9),
            "optimizer.0.bias.exp_avg is 3 of (7,) torch.float64; accepted is none",
        ),
    ]
    for make, optimizer, words in cases:
        ensemble = ShardedEnsemble(make(), seed=SEED)
        with pytest.raises(ValueError, match="path must be a checkpoint of such") as raised:
            distributed.load(path, ensemble, optimizer(ensemble))
        assert words in str(raised.value)


@pytest.mark.bad_input
def test_damaged_checkpoints(run):
    ensemble, optimizer, path = run
    with pytest.raises(FileNotFoundError, match="path must be a complete checkpoint, got "):
        distributed.load(path.parent, ensemble, optimizer)
    file = path / "__0_0.distcp"
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(OSError, match=r"checkpoint .* cannot be read; process 0: "):
        distributed.load(path, ensemble, optimizer)
    file.unlink()
    with pytest.raises(OSError, match=r"checkpoint .* cannot be read; .*__0_0\.distcp"):
        distributed.load(path, ensemble, optimizer)


@pytest.mark.bad_input
def test_optimizers_whose_state_cannot_be_split(alone, tmp_path):
    ensemble = ShardedEnsemble(build("deep_ensemble", 3), seed=SEED)
    optimizer = torch.optim.Adafactor(ensemble.parameters())
    train(ensemble, optimizer, 0, 1)
    with pytest.raises(TypeError, match=r"optimizer must keep tensors .* got 'row_var' of shape"):
        distributed.save(tmp_path, ensemble, optimizer, 1)


@pytest.mark.bad_input
def test_the_script_refuses(tmp_path, command, capsys, monkeypatch):
    folder = ["--checkpoint", str(tmp_path / "run")]
    script.main([*command, *folder, "--steps", "3"])
    with pytest.raises(
        ValueError, match="belongs to a run with seed 0, got 1; accepted is another"
    ):
        script.main([*command, *folder, "--seed", "1"])
    with pytest.raises(ValueError, match=r"--steps must be at least 3, where .* stands, got 2"):
        script.main([*command, *folder, "--steps", "2"])
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["method"] == "rank1"

    bad = tmp_path / "bad.npz"
    np.savez(bad, x=np.zeros((7, 5)), y=np.zeros(3, int))
    with pytest.raises(
        ValueError, match=r"--data must hold .* x \(7, 5\) float64 and y \(3,\) int"
    ):
        script.main(["--data", str(bad)])
    for module in ("sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="the digits need scikit-learn: pip install"):
        script.main(["--device", "cpu"])
    for words in (["--steps", "0"], ["--method", "single"]):
        with pytest.raises(SystemExit):
            script.main(words)
    assert "must be a positive integer, got 0" in capsys.readouterr().err
