"""The script that trains an ensemble on several processes: commands, restarts, and its refusals."""

import os
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest
import torch
from torch.nn.functional import cross_entropy

import ensedu.torch as et

if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from ensedu.torch.train.checkpoints import newest, resume
from ensedu.torch.train.distributed import ShardedEnsemble
from ensedu.torch.train.distributed import __main__ as script
from tests.torch.train.processes import copied_process

pytestmark = pytest.mark.large

SEED, N, CLASSES = 5, 41, 3
CLOSE = {"rtol": 0, "atol": 1e-10}


@pytest.fixture
def command(tmp_path):
    """Arguments of a small run of the script, without the number of steps."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(N, 5)), y=rng.integers(0, CLASSES, N))
    words = "--ensemble-size 3 --width 7 --batch-size 13 --dtype float64 --device cpu"
    return [*words.split(), "--method", "rank1", "--data", str(tmp_path / "data.npz")]


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    """Return how a process ended and what it said, which is printed, too, for a test that fails."""
    try:
        out, err = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        process.terminate()  # torchrun ends its workers
        out, err = process.communicate(timeout=60)
        print(f"{process.args} hangs\n--- stdout\n{out}\n--- stderr\n{err}")
        raise
    print(f"{process.args}\n--- stdout\n{out}\n--- stderr\n{err}")
    return process.returncode, out, err


def checkpointed(folder):
    """Load the newest checkpoint of a run of the script into a network that is not spread."""
    net = et.mlp([5, 7, 7, CLASSES], "rank1", 3, dtype=torch.float64)
    optimizer = torch.optim.Adam(net.parameters())
    step = resume(folder, net, optimizer).step
    steps = {state["step"].item() for state in optimizer.state.values()}
    assert steps == {step}
    return step, net.state_dict()


def seed_of(*key):
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])


def seeded(*key):
    return torch.Generator().manual_seed(seed_of(*key))


def forward(net, x, step):
    """The forward pass of one process, without a line of what is tested."""
    return net(x, net.noise(seeded(0, SEED, step), tuple(x.shape)))


def test_the_commands_that_a_reader_types(tmp_path, command, capsys):
    """One of torchrun's processes is killed; one alone needs no torchrun, and leaves no warning.

    The latter finds a finished run, of which it only reports.
    """
    module = ["-m", "ensedu.torch.train.distributed", *command]
    agent = "-m torch.distributed.run --standalone --nproc-per-node 2".split()
    torchrun = start(*agent, *module, "--steps", str(10**8))
    said = [torchrun.stdout.readline() for _ in range(2)]
    assert said[0] == "members by process: [[0, 1], [2]]\n", finish(torchrun)
    assert said[1].startswith("a step all-reduces ")
    workers = psutil.Process(torchrun.pid).children()
    (second,) = [worker for worker in workers if worker.environ().get("RANK") == "1"]
    second.kill()
    options = ["--steps", "4", "--every", "3", "--checkpoint", str(tmp_path)]
    script.main([*command, *options])
    trained = capsys.readouterr().out.splitlines()
    alone = start(*module, *options)
    code, out, err = finish(torchrun)
    assert code != 0
    assert f"(pid: {second.pid})" in err
    assert "Signal 9 (SIGKILL)" in err
    assert "local_rank: 1" in err
    assert not [worker for worker in workers if worker.is_running()]

    code, out, err = finish(alone)
    assert (code, err) == (0, "")
    assert "members by process: [[0, 1, 2]]" in out
    assert "a step all-reduces 0 bytes" in out
    assert "goes on from step 4" in out
    assert "loss" not in out
    assert trained[-1] == out.splitlines()[-1]


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


def test_a_restarted_run_ends_where_an_undisturbed_one_does(tmp_path, command, capfd):
    script.main([*command, "--steps", "60", "--every", "20", "--checkpoint", str(tmp_path / "one")])
    undisturbed = capfd.readouterr().out.splitlines()
    # What torchrun --standalone --nproc-per-node 2 --max-restarts 1 runs, in this process; its
    # workers need not import Torch twice each. They print to files, which capsys has not.
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=2, max_restarts=1, start_method="fork",
        run_id="once", rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost",
        logs_specs=DefaultLogsSpecs(log_dir=str(tmp_path / "logs"), redirects=Std.ALL),
    )  # fmt: skip
    options = ["--steps", "60", "--every", "20", "--checkpoint", str(tmp_path / "two")]
    try:
        with copied_process():
            elastic_launch(config, run_killed_once)([*command, *options])
    finally:  # pytest shows it where the test fails
        for file in sorted((tmp_path / "logs").rglob("*.log")):
            print(f"--- {file.relative_to(tmp_path)}\n{file.read_text(encoding='utf-8')}")
    (folder,) = (tmp_path / "logs").iterdir()
    files = (folder / f"attempt_{i}" / "0" / "stdout.log" for i in range(2))
    killed, restarted = (file.read_text(encoding="utf-8").splitlines() for file in files)
    saved = [f"step {step}: loss" for step in (20, 40)]
    assert [line[:13] for line in killed if line.startswith("step ")] == saved
    assert "goes on from step 40" in restarted
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
    net = et.mlp([5, 7, 7, CLASSES], "rank1", 3, dtype=torch.float64)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(7):
        rows = train[torch.randint(len(train), (13,), generator=seeded(1, SEED, step))]
        outputs = forward(net, x[rows], step)
        loss = cross_entropy(outputs.flatten(0, 1), y[rows].repeat(3))
        loss = loss + et.kl(net) / len(train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    done, weights = checkpointed(folder)
    assert done == 7
    torch.testing.assert_close(weights, net.state_dict(), **CLOSE)
    probabilities = forward(net, x[test], 7).softmax(-1).mean(0)
    right = int((probabilities.argmax(-1) == y[test]).sum())
    out = capsys.readouterr().out
    assert f"step 7: loss {loss:.4f}" in out
    assert f"test accuracy of the ensemble: {right / len(test):.4f} ({len(test)} examples)" in out


def test_the_script_learns_the_digits(capsys):
    pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
    script.main(["--device", "cpu", "--steps", "300", "--method", "deep_ensemble"])
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("test accuracy")]
    assert float(line.split()[5]) > 0.9


def test_a_damaged_checkpoint_costs_the_steps_since_the_older(tmp_path, command, capsys):
    options = [*command, "--every", "3", "--checkpoint", str(tmp_path / "run")]
    script.main([*options, "--steps", "7"])
    whole = (tmp_path / "run" / "step-00000007" / "values.safetensors").read_bytes()
    for name, content in (("values.safetensors", whole[:-3]), ("checkpoint.json", b"{}")):
        (tmp_path / "run" / "step-00000007" / name).write_bytes(content)
        capsys.readouterr()
        with pytest.warns(UserWarning, match=f"step-00000007/{name} is damaged"):
            script.main([*options, "--steps", "7"])
        assert "goes on from step 6" in capsys.readouterr().out
        file = tmp_path / "run" / "step-00000007" / "values.safetensors"
        assert file.read_bytes() == whole


@pytest.mark.bad_input
def test_a_run_goes_on_with_its_own_settings(tmp_path, command):
    folder = ["--checkpoint", str(tmp_path / "run")]
    script.main([*command, *folder, "--steps", "3"])
    with pytest.raises(ValueError, match=r"a run with .*'seed': 0.*, got .*'seed': 1"):
        script.main([*command, *folder, "--seed", "1"])
    with pytest.raises(ValueError, match=r"path must be a checkpoint of such a net"):
        script.main([*command, *folder, "--method", "deep_ensemble"])
    with pytest.raises(ValueError, match=r"step-00000003 is of a run .* and --steps 2; accepted"):
        script.main([*command, *folder, "--steps", "2"])
    assert newest(tmp_path / "run").extra["method"] == "rank1"


X, Y = np.ones((7, 5)), np.arange(7)
BAD_DATA = {
    "no such file": (lambda file: None, "FileNotFoundError"),
    "a folder": (lambda file: file.mkdir(), "IsADirectoryError"),
    "text": (lambda file: file.write_text("x,y\n1,2\n"), "got "),
    "empty": (lambda file: file.write_bytes(b""), "got "),
    "one array": (lambda file: save_npy(file, X), "got "),
    "cut": (lambda file: cut(file), "got "),
    "no y": (lambda file: savez(file, x=X), "KeyError: 'y is not a file in the archive'"),
    "no x": (lambda file: savez(file, y=Y), "KeyError: 'x is not a file in the archive'"),
    "objects": (lambda file: savez(file, x=X.astype(object), y=Y), "allow_pickle=False"),
    "words": (lambda file: savez(file, x=X.astype(str), y=Y), "got x (7, 5) <U32 and y (7,) int64"),
    "complex": (lambda file: savez(file, x=X * 1j, y=Y), "got x (7, 5) complex128 and y (7,) int"),
    "flat": (lambda file: savez(file, x=X[0], y=Y), "got x (5,) float64 and y (7,) int64"),
    "lengths": (lambda file: savez(file, x=X, y=Y[:3]), "got x (7, 5) float64 and y (3,) int64"),
    "real y": (lambda file: savez(file, x=X, y=Y / 2), "got x (7, 5) float64 and y (7,) float64"),
    "negative": (
        lambda file: savez(file, x=X, y=Y - 2),
        "got row 0 with x [1. 1. 1. 1. 1.] and y -2",
    ),
    "nan": (
        lambda file: savez(file, x=holed(np.nan), y=Y),
        "got row 3 with x [ 1.  1. nan  1.  1.]",
    ),
    "inf": (
        lambda file: savez(file, x=holed(np.inf), y=Y),
        "got row 3 with x [ 1.  1. inf  1.  1.]",
    ),
    "too large": (lambda file: savez(file, x=holed(1e300), y=Y), "got row 3 with x"),
    "no rows": (lambda file: savez(file, x=X[:0], y=Y[:0]), "of 5 rows or more, got x"),
    "few rows": (
        lambda file: savez(file, x=X[:4], y=Y[:4]),
        "of 5 rows or more, got x",
    ),
    "no features": (lambda file: savez(file, x=X[:, :0], y=Y), "got x (7, 0)"),
}


def savez(file, **arrays):
    with file.open("wb") as opened:
        np.savez(opened, **arrays)


def save_npy(file, array):
    with file.open("wb") as opened:
        np.save(opened, array)


def cut(file):
    savez(file, x=X, y=Y)
    file.write_bytes(file.read_bytes()[:300])


def holed(value):
    x = X.copy()
    x[3, 2] = value
    return x


@pytest.mark.bad_input
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(tmp_path, case):
    make, words = BAD_DATA[case]
    file = tmp_path / "bad.npz"
    make(file)
    with pytest.raises(ValueError, match="--data must ") as raised:
        script.main(["--device", "cpu", "--data", str(file), "--steps", "1"])
    assert type(raised.value) is ValueError
    assert words in str(raised.value)


@pytest.mark.bad_input
def test_five_rows_are_enough(tmp_path, capsys):
    savez(tmp_path / "few.npz", x=X[:5], y=Y[:5] % 2)
    script.main(["--device", "cpu", "--data", str(tmp_path / "few.npz"), "--steps", "1"])
    assert "(1 examples)" in capsys.readouterr().out


@pytest.mark.bad_input
def test_the_script_refuses(capsys, monkeypatch):
    for module in ("sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="the digits need scikit-learn: pip install"):
        script.main(["--device", "cpu"])
    with pytest.raises(ValueError, match="--steps must be a positive integer, got 0"):
        script.main(["--steps", "0"])
    with pytest.raises(SystemExit):
        script.main(["--method", "single"])
    assert "invalid choice: 'single'" in capsys.readouterr().err
