"""What a checkpoint holds and what fits it; files that are killed, damaged, or somebody else's."""

import errno
import json
import math
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import ensedu.torch as et
from ensedu.torch.train.checkpoints import Checkpoint, load, newest, resume, save
from tests.torch.train.tools import copied_process

N, B, CLASSES = 41, 13, 3


class Net(nn.Module):
    """Buffers, dropout, tied weights, a scalar, a parameter that is not stored in order."""

    def __init__(self, width=7, numbers=torch.int64):
        super().__init__()
        self.first, self.norm = nn.Linear(5, width), nn.BatchNorm1d(width)
        self.middle = self.tied = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.turned = nn.Parameter(torch.randn(CLASSES, width).T)
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("numbers", torch.arange(6, dtype=numbers)[::2])
        self.register_buffer("same_numbers", self.numbers)

    def forward(self, x):
        x = torch.dropout(self.norm(self.first(x)).tanh(), 0.3, self.training)
        return self.scale * (self.tied(self.middle(x)) @ self.turned)


def groups(net):
    """Two groups with settings of their own."""
    few = {"params": [p for p in net.parameters() if p.ndim < 2], "lr": 0.005}
    return [{"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": 0.1}, few]


OPTIMIZERS = {
    "adam": lambda net: torch.optim.Adam(net.parameters(), lr=0.01, amsgrad=True),
    "adamw": lambda net: torch.optim.AdamW(groups(net), lr=0.01, betas=(0.8, 0.9)),
    "two groups": lambda net: torch.optim.Adam(groups(net)),
    "sgd": lambda net: torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, nesterov=True),
    "plain sgd": lambda net: torch.optim.SGD(net.parameters(), lr=0.01),
    "nadam": lambda net: torch.optim.NAdam(net.parameters(), lr=0.01),
    "asgd": lambda net: torch.optim.ASGD(net.parameters(), lr=0.01),
    "adafactor": lambda net: torch.optim.Adafactor(net.parameters(), lr=0.01),
}


class Run:
    """A net in training with all that decides its next step."""

    def __init__(self, optimizer="adam", dtype=torch.float64, seed=1, net=Net):
        torch.manual_seed(seed)
        self.net = net().to(dtype)
        self.optimizer = OPTIMIZERS[optimizer](self.net)
        rows = torch.Generator().manual_seed(seed)
        self.generators = {"rows": rows, "torch": torch.default_generator}
        self.x = torch.randn(N, 5, generator=torch.Generator().manual_seed(0)).to(dtype)

    def train(self, steps):
        for _ in range(steps):
            rows = torch.randint(N, (B,), generator=self.generators["rows"])
            self.optimizer.zero_grad()
            cross_entropy(self.net(self.x[rows]), rows % CLASSES).backward()
            self.optimizer.step()
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.97  # what a schedule does
        return self

    def save(self, folder, step, **options):
        return save(folder, self.net, self.optimizer, step, generators=self.generators, **options)

    def load(self, path, function=load, **options):
        return function(path, self.net, self.optimizer, generators=self.generators, **options)

    def resume(self, folder, **options):
        return self.load(folder, resume, **options)

    def state(self):
        """Everything, in bytes, and settings."""
        found = {f"net {k}": v for k, v in self.net.state_dict().items()}
        for name, p in self.net.named_parameters():
            found |= {f"{name} {k}": v for k, v in self.optimizer.state[p].items()}
        found |= {k: g.get_state() for k, g in self.generators.items()}
        settings = [{**g, "params": len(g["params"])} for g in self.optimizer.param_groups]
        return {k: (v.dtype, v.numpy().tobytes()) for k, v in found.items()}, settings


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def named(*steps):
    return [f"step-{step:08}.safetensors" for step in steps]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_run_goes_on_as_if_nothing_had_happened(tmp_path, optimizer, dtype):
    whole = Run(optimizer, dtype).train(12).state()
    first = Run(optimizer, dtype).train(7)
    path = first.save(tmp_path, 7, extra={"seed": 5, "losses": [0.1, float(2**-70)]})
    first.train(2)  # of which nothing was saved
    again = Run(optimizer, dtype, seed=99).train(3)  # what it has done must not count
    told = again.resume(tmp_path)
    assert told == Checkpoint(7, {"seed": 5, "losses": [0.1, 2**-70]}, path) == newest(tmp_path)
    assert again.train(5).state() == whole


MODULES = [
    lambda: et.mlp([5, 7, CLASSES], "rank1", 3),
    lambda: et.ensemble(nn.Sequential(nn.Linear(5, 7)), "batch_ensemble", 3),
    lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 7)).bfloat16(),
    lambda: nn.LSTM(5, 7, batch_first=True).half(),
]


@pytest.mark.parametrize("make", MODULES)
def test_of_any_module_the_weights_alone(tmp_path, make):
    net, other = make(), make()
    path = save(tmp_path, net, torch.optim.Adam(net.parameters()), 1)
    assert load(path, other) == Checkpoint(1, {}, path)
    torch.testing.assert_close(net.state_dict(), other.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("kind", [float, np.float32, torch.tensor])
@pytest.mark.parametrize("own", [float, torch.tensor])
def test_settings(tmp_path, kind, own):
    """A rate stays in a tensor, as a compiler needs it; how a machine computes is its affair."""
    run, other = Run(), Run(seed=99)
    run.optimizer.param_groups[0] |= {"lr": kind(0.5), "betas": (kind(0.25), 0.75)}
    other.optimizer.param_groups[0] |= {"lr": own(0.125), "foreach": True, "eps": 1.0}
    other.load(run.save(tmp_path, 1))
    group = other.optimizer.param_groups[0]
    found = [group[key] for key in ("lr", "betas", "foreach", "eps")]
    assert found == [0.5, (0.25, 0.75), True, 1e-8]
    assert isinstance(group["lr"], torch.Tensor) == (own is torch.tensor)


def changed(change):
    run = Run()
    change(run)
    return run


MISFITS = {
    "model:turned is (7, 3) torch.float64; accepted is (11, 3) torch.float64 (differing are model:"
    "turned, model:first.weight, ": lambda: Run(net=lambda: Net(11)),
    "model:numbers is (3,) torch.int64; accepted is (3,) torch.int32":
        lambda: Run(net=lambda: Net(numbers=torch.int32)),
    "is () torch.float64; accepted is () torch.float32": lambda: Run(dtype=torch.float32),
    "optimizer is Adam; accepted is SGD (differing are optimizer)": lambda: Run("sgd"),
    "group:scale is 0; accepted is 1": lambda: Run("two groups"),
    "generator:more is missing; accepted is (5056,)":
        lambda: changed(lambda run: run.generators.update(more=torch.Generator())),
}  # fmt: skip


@pytest.mark.parametrize("words", MISFITS)
def test_what_does_not_fit_changes_nothing(tmp_path, words):
    path = Run(seed=99).train(1).save(tmp_path, 1)
    other = MISFITS[words]().train(2)
    unchanged = other.state()
    for place, function in ((path, load), (tmp_path, resume)):
        with pytest.raises(ValueError, match=re.escape(str(path))) as raised:
            other.load(place, function)
        assert words in str(raised.value)
        assert other.state() == unchanged


def test_an_optimizer_that_refuses_its_state_stays_as_it_is(tmp_path, monkeypatch):
    path, run = Run("sgd", seed=99).train(1).save(tmp_path, 1), Run("sgd").train(2)
    before, plain = run.state(), torch.optim.SGD.load_state_dict
    monkeypatch.setattr(torch.optim.SGD, "load_state_dict", lambda *args: {}[plain(*args)])
    with pytest.raises(KeyError):
        run.load(path)
    assert run.state() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("first.weight", math.nan), ("tied.bias", -math.inf), ("norm.running_mean", math.nan)],
)
def test_what_is_not_finite_is_named_and_taken_if_asked(tmp_path, name, value):
    run, other = Run("sgd").train(1), Run("sgd", seed=99).train(2)
    run.net.register_buffer("mask", torch.full((3,), -math.inf))  # as a buffer may be
    other.net.register_buffer("mask", torch.zeros(3))
    run.net.state_dict()[name].view(-1)[-1] = value
    words = rf"must hold finite numbers, got {value} at \(6,.* of model:"
    with pytest.raises(ValueError, match=words):
        run.save(tmp_path, 1)
    assert names_in(tmp_path) == []  # where good ones would have gone
    path, before = run.save(tmp_path, 1, nonfinite_ok=True), other.state()
    with pytest.raises(ValueError, match=f"{path} {words}"):
        other.resume(tmp_path)
    assert other.state() == before
    other.resume(tmp_path, nonfinite_ok=True)
    assert not other.net.state_dict()[name].view(-1)[-1].isfinite()


def holding(value):
    """A module with such a buffer."""
    net = nn.Linear(2, 3)
    net.register_buffer("held", value)
    return net


RUN, FOLDER = Run(), "a-folder-of-no-one"
WITH_SETTING = changed(lambda run: run.optimizer.param_groups[0].update(search={1}))
BAD = {
    "folder must be a path, got None": lambda: RUN.save(None, 1),
    "path must be a path, got None": lambda: RUN.load(None),
    "net must be a torch.nn.Module": lambda: save(FOLDER, None, None, 1),
    "optimizer must be an Optimizer or None": lambda: save(FOLDER, RUN.net, "adam", 1),
    "step must be a positive integer, got 0": lambda: RUN.save(FOLDER, 0),
    "keep must be a positive": lambda: RUN.save(FOLDER, 1, keep=0),
    "extra must be a dict": lambda: RUN.save(FOLDER, 1, extra=[1]),
    "extra must hold what JSON can": lambda: RUN.save(FOLDER, 1, extra={"a": {1, 2}}),
    "optimizer's search must hold what JSON can": lambda: WITH_SETTING.save(FOLDER, 1),
    "generators must be a dict of": lambda: save(FOLDER, RUN.net, None, 1, generators={"a": 5}),
    "parameters of net alone": lambda: save(FOLDER, RUN.net, Run().optimizer, 1),
    "for model:held": lambda: save(FOLDER, holding(torch.eye(3).to_sparse()), None, 1),
    "for model:weight": lambda: save(FOLDER, nn.Linear(2, 3, device="meta"), None, 1),
    "dtypes of safetensors, got": lambda: save(FOLDER, holding(torch.eye(3).cdouble()), None, 1),
    "missing_ok must be True or False, got 1": lambda: newest(FOLDER, missing_ok=1),
    "nonfinite_ok must be True or False": lambda: RUN.save(FOLDER, 1, nonfinite_ok=None),
}


@pytest.mark.bad_input
@pytest.mark.parametrize("words", BAD)
def test_bad_arguments(words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        BAD[words]()
    assert not Path(FOLDER).exists()


def test_what_a_file_holds(tmp_path):
    run = Run("adamw").train(2)
    data = run.save(tmp_path, 2).read_bytes()
    # The format by hand: eight bytes of length, a table in JSON, numbers.
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    table = json.loads(header.pop("__metadata__")["ensedu 2"])
    names = {f"model:{name}" for name in run.net.state_dict()} | {"generator:rows"}
    for name, _ in run.net.named_parameters():
        names |= {f"optimizer.{key}:{name}" for key in ("step", "exp_avg", "exp_avg_sq")}
    assert header.keys() == names | {"generator:torch"}
    value = safetensors.torch.load(data)["optimizer.exp_avg:turned"]
    assert torch.equal(value, run.optimizer.state[run.net.turned]["exp_avg"])
    assert table["about"]["optimizer"] == "AdamW" and table["about"]["group:scale"] == 1
    assert table["step"] == 2 and table["settings"][0]["betas"] == [0.8, 0.9]


def test_the_newest_are_kept_and_damaged_ones_do_not_count(tmp_path):
    run = Run()
    for step in (3, 20, 100_000_000):
        run.save(tmp_path, step)
    run.save(tmp_path, 7)  # a run that goes on from an older step keeps what it writes
    assert names_in(tmp_path) == named(7, 20, 100_000_000)
    assert newest(tmp_path).step == 100_000_000
    os.truncate(tmp_path / named(20)[0], 3000)
    os.truncate(tmp_path / named(100_000_000)[0], 0)
    run.save(tmp_path, 21)
    assert names_in(tmp_path) == named(7, 20, 21, 100_000_000)
    run.load(run.save(tmp_path, 100_000_000))  # it is written again
    assert names_in(tmp_path) == named(21, 100_000_000)


@pytest.mark.parametrize("name", ["fsync", "link", "unlink"])
@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_is_killed_leaves_nothing_that_counts(tmp_path, name, after):
    run = Run().train(1)
    run.save(tmp_path, 1)
    plain = getattr(os, name)

    def killing(*args, **options):
        if after:
            plain(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    with copied_process():
        child = os.fork()
    if child == 0:
        setattr(os, name, killing)
        run.save(tmp_path, 2, keep=1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    written = name == "unlink" or (name == "link" and after)
    assert Run(seed=99).resume(tmp_path).step == (2 if written else 1)
    parts = [path for path in tmp_path.iterdir() if path.suffix != ".safetensors"]
    assert len(parts) == (name != "unlink" or not after)
    run.save(tmp_path, 3)
    assert all(part.exists() for part in parts)  # another process may still be at work
    for part in parts:
        os.utime(part, (time.time() - 3700,) * 2)
    run.save(tmp_path, 4)
    assert names_in(tmp_path) == named(3, 4)


def test_a_disk_without_links_and_a_full_one(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run = Run().train(1)
    monkeypatch.setattr(os, "link", full)
    path = run.save(tmp_path, 1)
    with pytest.raises(FileExistsError, match="no other file of that name, got "):
        run.save(tmp_path, 1)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=rf"{os.strerror(errno.ENOSPC)}: .*{named(2)[0]}"):
        run.save(tmp_path, 2, keep=1)
    assert names_in(tmp_path) == named(1) and run.load(path).step == 1


def test_two_processes_in_one_folder_lose_nothing(tmp_path):
    """Each step is of one of them, and the other is told so."""
    run, children, refused = Run().train(1), [], 0
    for _ in range(2):
        with copied_process():
            children.append(os.fork())
        if children[-1] == 0:
            try:
                for step in range(1, 21):
                    try:
                        run.save(tmp_path, step, keep=20)
                    except FileExistsError as error:
                        refused += named(step)[0] in str(error)
            finally:
                os._exit(refused)
    assert sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children) == 20
    assert names_in(tmp_path) == named(*range(1, 21))
    assert all(run.load(tmp_path / name) for name in names_in(tmp_path))


FOREIGN = safetensors.torch.save({"a": torch.ones(3)})
DAMAGE = {
    "cut": lambda data: data[:-8],
    "longer": lambda data: data + b"\0",
    "garbage": lambda data: bytes(range(256)) * 9,
    "a header without end": lambda data: b"\xff" * 8 + data[8:],
    "deep": lambda data: (200_000).to_bytes(8, "little") + b"[" * 200_000,
    "another step": lambda data: data.replace(b'step\\": 2', b'step\\": 3'),
    "another file": lambda data: FOREIGN,
    "a pickle that makes a folder": lambda data: b"cos\nmkdir\n(S'it ran'\ntR.",
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named_and_changes_nothing(tmp_path, case):
    other, run = Run(seed=99).train(4), Run().train(1)
    older, before = run.save(tmp_path, 1), run.state()
    path = run.train(1).save(tmp_path, 2)
    unchanged = other.state()
    path.write_bytes(DAMAGE[case](path.read_bytes()))
    with pytest.raises(OSError, match=f"{path} is damaged, or no checkpoint"):
        other.load(path)
    assert other.state() == unchanged
    with pytest.warns(UserWarning, match=f"{path} cannot be read"):
        assert other.resume(tmp_path).step == 1
    assert other.state() == before
    older.write_bytes(b"{}")
    for call in (newest, other.resume):
        with pytest.warns(UserWarning), pytest.raises(OSError, match=r"can be read: .*; .*damaged"):
            call(tmp_path, missing_ok=True)  # they are not missing
    assert other.state() == before and not Path("it ran").exists()


def test_no_bit_can_change_unseen(tmp_path):
    run, random = Run().train(1), np.random.default_rng(0)
    path = run.save(tmp_path, 1)
    good = path.read_bytes()
    for place in [*range(0, 1000, 5), *random.integers(len(good), size=100)]:
        other = bytes([good[place] ^ 1 << random.integers(8)])
        path.write_bytes(good[:place] + other + good[place + 1 :])
        with pytest.raises(OSError, match=str(path)):
            run.load(path)


def test_what_is_of_somebody_else_stays(tmp_path):
    run = Run().train(1)
    (tmp_path / named(4)[0]).symlink_to(run.save(tmp_path / "elsewhere", 4))
    (tmp_path / named(2)[0]).mkdir()
    for name in (*named(1, 3), "step-5.safetensors", f"{named(5)[0]}.{'a' * 16}"):
        (tmp_path / name).write_bytes(FOREIGN if name == named(3)[0] else b"mine")
        os.utime(tmp_path / name, (0, 0))
    mine = names_in(tmp_path)
    for step in (6, 7, 8):
        run.save(tmp_path, step, keep=1)
    for step in range(1, 5):
        with pytest.raises(FileExistsError, match=f"no other file of that name, got {tmp_path}"):
            run.save(tmp_path, step)
    assert names_in(tmp_path) == sorted([*mine, *named(8)])
    assert (tmp_path / named(1)[0]).read_bytes() == b"mine"
    run.load(tmp_path / named(4)[0])  # which may have been moved to a larger disk


def test_a_wrong_place_is_named_and_starts_nothing(tmp_path):
    run = Run().train(1)
    path, before = run.save(tmp_path / "run", 3), run.state()
    (tmp_path / "old" / "step-00000003" / "checkpoint.json").mkdir(parents=True)
    for name, error, words in (
        ("rum", FileNotFoundError, "rum, which does not exist; missing_ok=True starts anew"),
        (".", FileNotFoundError, "which holds none; missing_ok=True starts anew"),
        (path, NotADirectoryError, "which is no folder; a file is one checkpoint, to load"),
        ("old", ValueError, "which holds those of ensedu 1.0, such as "),
    ):
        for call in (run.resume, newest):
            with pytest.raises(error, match=f"folder must hold checkpoints, got .*{words}"):
                call(tmp_path / name, missing_ok=error is not FileNotFoundError)
            if error is FileNotFoundError:
                none = Checkpoint(0, {}, tmp_path / name)
                assert call(tmp_path / name, missing_ok=True) == none
    for call, place in ((run.load, tmp_path / "run"), (lambda path: run.save(path, 4), path)):
        with pytest.raises(OSError, match=str(place)):
            call(place)
    assert run.state() == before
    path = path.rename(tmp_path / "run" / named(9)[0])
    with pytest.warns(UserWarning, match="is of step 3"), pytest.raises(OSError):
        newest(tmp_path / "run")
    with pytest.raises(FileExistsError, match=str(path)):
        run.save(tmp_path / "run", 9)
    assert run.load(path).step == 3
