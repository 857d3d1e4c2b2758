"""What a checkpoint holds and what fits it; files that are killed, damaged, or somebody else's."""

import errno
import json
import math
import os
import pickle
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
from ensedu.torch.train import checkpoints
from ensedu.torch.train.checkpoints import Checkpoint, load, newest, resume, save
from tests.torch.train.processes import copied_process

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

    def load(self, path, **options):
        return load(path, self.net, self.optimizer, generators=self.generators, **options)

    def resume(self, folder, **options):
        return resume(folder, self.net, self.optimizer, generators=self.generators, **options)

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


def test_what_is_saved_may_be_more_than_what_is_wanted(tmp_path):
    run, other = Run().train(3), Run(seed=99)
    path = run.save(tmp_path, 3)
    assert load(path, other.net) == Checkpoint(3, {}, path)
    assert not other.optimizer.state
    torch.testing.assert_close(run.net.state_dict(), other.net.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: et.mlp([5, 7, CLASSES], "rank1", 3),
        lambda: et.ensemble(nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 2)), "batch_ensemble", 3),
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 7)).bfloat16(),
        lambda: nn.LSTM(5, 7, batch_first=True).half(),
    ],
)
def test_any_module(tmp_path, make):
    net, other = make(), make()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.fill_(2.0)
    path = save(tmp_path, net, torch.optim.Adam(net.parameters()), 1)
    load(path, other, torch.optim.Adam(other.parameters()))
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


class Other(Net):
    def __init__(self):
        super().__init__()
        self.more = nn.Linear(2, 3, bias=False)


def with_generator():
    run = Run()
    run.generators["more"] = torch.Generator()
    return run


MISFITS = {
    "model:turned is (7, 3) torch.float64; accepted is (11, 3) torch.float64 (differing are "
    "model:turned, model:first.weight": lambda: Run(net=lambda: Net(11)),
    "model:more.weight is missing; accepted is (3, 2)": lambda: Run(net=Other),
    "model:numbers is (3,) torch.int64; accepted is (3,) torch.int32": lambda: Run(
        net=lambda: Net(numbers=torch.int32)
    ),
    "is () torch.float64; accepted is () torch.float32": lambda: Run(dtype=torch.float32),
    "optimizer is Adam; accepted is SGD (differing are optimizer)": lambda: Run("sgd"),
    "group:scale is 0; accepted is 1": lambda: Run("two groups"),
    "generator:more is missing; accepted is (5056,)": with_generator,
}


@pytest.mark.parametrize("words", MISFITS)
def test_what_does_not_fit_changes_nothing(tmp_path, words):
    path = Run(seed=99).train(1).save(tmp_path, 1)
    other = MISFITS[words]().train(2)
    unchanged = other.state()
    for call in (lambda: other.load(path), lambda: other.resume(tmp_path)):
        with pytest.raises(ValueError, match=re.escape(str(path))) as raised:
            call()
        assert words in str(raised.value)
        assert other.state() == unchanged


def test_an_optimizer_that_refuses_its_state_stays_as_it_is(tmp_path, monkeypatch):
    path, run = Run("sgd", seed=99).train(1).save(tmp_path, 1), Run("sgd").train(2)
    before, plain = run.state(), torch.optim.SGD.load_state_dict

    def refuse(*args):
        plain(*args)
        raise KeyError("no")

    monkeypatch.setattr(torch.optim.SGD, "load_state_dict", refuse)
    with pytest.raises(KeyError, match="no"):
        run.load(path)
    assert run.state() == before


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("first.weight", "(6, 4)", math.nan), ("first.weight", "(6, 4)", -math.inf),
        ("tied.bias", "(6,)", math.inf), ("norm.running_mean", "(6,)", math.nan),
    ],
)  # fmt: skip
def test_what_is_not_finite_is_named_and_taken_if_asked(tmp_path, name, place, value):
    run, other = Run("sgd").train(1), Run("sgd", seed=99).train(2)
    run.net.state_dict()[name].view(-1)[-1] = value
    words = re.escape(f"must hold finite numbers, got {value} at {place} of model:")
    with pytest.raises(ValueError, match=words):
        run.save(tmp_path, 1)
    assert names_in(tmp_path) == []  # where good ones would have gone
    path, before = run.save(tmp_path, 1, nonfinite_ok=True), other.state()
    for call in (other.load, lambda path: other.resume(path.parent)):
        with pytest.raises(ValueError, match=re.escape(str(path)) + " " + words):
            call(path)
        assert other.state() == before
    other.load(path, nonfinite_ok=True)
    assert other.net.state_dict()[name].view(-1)[-1].isfinite().logical_not()


def test_a_buffer_may_mask_by_infinities(tmp_path):
    net = nn.Linear(2, 3)
    net.register_buffer("mask", torch.full((3, 3), -math.inf))
    assert load(save(tmp_path, net, None, 1), net).step == 1


def holding(value):
    """A module with such a buffer."""
    net = nn.Linear(2, 3)
    net.register_buffer("held", value)
    return net


class Extra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}


def with_setting(run, value):
    run.optimizer.param_groups[0]["search"] = value
    return run


RUN, FOLDER = Run(), "a-folder-of-no-one"
BAD = [
    (lambda: save(None, RUN.net, None, 1), TypeError, "folder must be a path, got None"),
    (lambda: newest(b"a"), TypeError, "folder must be a path, got b'a'"),
    (lambda: load(None, RUN.net), TypeError, "path must be a path, got None"),
    (lambda: save(FOLDER, None, None, 1), TypeError, "net must be a torch.nn.Module"),
    (lambda: save(FOLDER, RUN.net, "adam", 1), TypeError, "optimizer must be an Optimizer or"),
    (lambda: RUN.save(FOLDER, 0), ValueError, "step must be a positive integer"),
    (lambda: RUN.save(FOLDER, 1.0), TypeError, "step must be a positive integer"),
    (lambda: RUN.save(FOLDER, 1, keep=0), ValueError, "keep must be a positive"),
    (lambda: RUN.save(FOLDER, 1, extra=[1]), TypeError, "extra must be a dict"),
    (lambda: RUN.save(FOLDER, 1, extra={"a": {1}}), TypeError, "extra must hold what JSON can"),
    (lambda: with_setting(Run(), {1}).save(FOLDER, 1), TypeError, "optimizer's search must hold"),
    (lambda: save(FOLDER, RUN.net, None, 1, generators={"a": 5}), TypeError, "generators must be"),
    (lambda: save(FOLDER, RUN.net, None, 1, generators=[5]), TypeError, "generators must be a"),
    (lambda: save(FOLDER, RUN.net, Run().optimizer, 1), ValueError, "parameters of net alone"),
    (lambda: save(FOLDER, Extra(2, 3), None, 1), TypeError, "for model:_extra_state"),
    (lambda: save(FOLDER, holding(torch.eye(3).to_sparse()), None, 1), TypeError, "for model:held"),
    (lambda: save(FOLDER, nn.Linear(2, 3, device="meta"), None, 1), TypeError, "for model:weight"),
    (
        lambda: save(FOLDER, holding(torch.eye(3, dtype=torch.complex128)), None, 1),
        TypeError, "must keep dtypes of safetensors, got ",
    ),
    (lambda: load("a/step-00000007.safetensors", RUN.net), FileNotFoundError, "a/step-00000007"),
    (lambda: newest(FOLDER, missing_ok=1), TypeError, "missing_ok must be True or False, got 1"),
    (lambda: RUN.save(FOLDER, 1, nonfinite_ok=None), TypeError, "nonfinite_ok must be True or"),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_arguments(call, error, words):
    with pytest.raises(error) as raised:
        call()
    assert words in str(raised.value) and type(raised.value) is error
    assert not Path(FOLDER).exists()


def test_what_a_file_holds(tmp_path):
    run = Run("adamw").train(2)
    path = run.save(tmp_path, 2)
    assert path == tmp_path / "step-00000002.safetensors"
    # The format by hand: eight bytes of length, a table in JSON, numbers.
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    table = json.loads(header.pop("__metadata__")["ensedu 2"])
    names = {f"model:{name}" for name in run.net.state_dict()}
    names |= {f"generator:{name}" for name in run.generators}
    for name, _ in run.net.named_parameters():
        names |= {f"optimizer.{key}:{name}" for key in ("step", "exp_avg", "exp_avg_sq")}
    assert header.keys() == names == safetensors.torch.load_file(path).keys()
    start, end = header["optimizer.exp_avg:turned"]["data_offsets"]
    array = np.frombuffer(data[8 + length :][start:end], np.float64).reshape(7, CLASSES)
    assert (array == run.optimizer.state[run.net.turned]["exp_avg"].numpy()).all()
    assert table["about"].pop("optimizer") == "AdamW"
    decayed = [name for name, group in table["about"].items() if group == 0]
    assert decayed == ["group:turned", "group:first.weight", "group:middle.weight"]
    assert table["settings"][0]["betas"] == [0.8, 0.9]
    assert data[8:].startswith(checkpoints.MARK)  # by which a file is known as ours


def test_the_newest_are_kept(tmp_path):
    run = Run()
    for step in (3, 20, 100_000_000):
        run.save(tmp_path, step)
    run.save(tmp_path, 7)  # a run that goes on from an older step keeps what it writes
    assert names_in(tmp_path) == named(7, 20, 100_000_000)
    assert newest(tmp_path).step == 100_000_000
    run.save(tmp_path, 100_000_001, keep=1)
    assert names_in(tmp_path) == named(100_000_001)


def test_what_is_damaged_is_none_of_those_kept_and_is_written_again(tmp_path):
    run = Run()
    for step in (1, 2, 3):
        run.save(tmp_path, step, keep=3)
    two, three = (tmp_path / name for name in named(2, 3))
    os.truncate(two, 3000)
    os.truncate(three, 0)
    run.save(tmp_path, 4)
    assert names_in(tmp_path) == named(1, 2, 3, 4)
    run.save(tmp_path, 3)
    assert names_in(tmp_path) == named(3, 4)
    assert run.load(three).step == 3
    with pytest.raises(FileExistsError, match=str(three)):
        run.save(tmp_path, 3)


@pytest.mark.parametrize("name", ["fsync", "link", "unlink"])
@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_is_killed_leaves_nothing_that_counts(tmp_path, name, after):
    run = Run().train(1)
    run.save(tmp_path, 1)

    def killing(*args, **options):
        if after:
            plain(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    with copied_process():
        child = os.fork()
    if child == 0:
        plain = getattr(os, name)
        setattr(os, name, killing)
        run.save(tmp_path, 2, keep=1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    written = name == "unlink" or (name == "link" and after)
    assert Run(seed=99).resume(tmp_path).step == (2 if written else 1)
    parts = [path for path in tmp_path.iterdir() if path.suffix != ".safetensors"]
    assert len(parts) == (name != "unlink" or not after)
    run.save(tmp_path, 3)  # it may still be at work
    assert all(part.exists() for part in parts)
    for part in parts:
        os.utime(part, (time.time() - 3700,) * 2)
    run.save(tmp_path, 4)
    assert names_in(tmp_path) == named(3, 4)


def test_a_disk_without_links(tmp_path, monkeypatch):
    def link(part, path):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), part, None, path)

    monkeypatch.setattr(os, "link", link)
    run = Run().train(1)
    assert run.load(run.save(tmp_path, 1)).step == 1
    with pytest.raises(FileExistsError, match="no other file of that name, got "):
        run.save(tmp_path, 1)
    assert names_in(tmp_path) == named(1)


def test_a_full_disk_is_named_and_loses_nothing(tmp_path, monkeypatch):
    run = Run().train(1)
    path = run.save(tmp_path, 1)

    def full(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*step-00000002\.safetensors"):
        run.save(tmp_path, 2, keep=1)
    assert names_in(tmp_path) == named(1) and run.load(path).step == 1


def test_two_processes_in_one_folder_lose_nothing(tmp_path):
    """Each step is of one of them, and the other is told so."""
    run, children = Run().train(1), []
    for _ in range(2):
        with copied_process():
            children.append(os.fork())
        if children[-1] == 0:
            refused = 0
            try:
                for step in range(1, 21):
                    try:
                        run.save(tmp_path, step, keep=20)
                    except FileExistsError as error:
                        refused += named(step)[0] in str(error)
            finally:
                os._exit(refused)
    refused = sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    assert refused == 20
    assert names_in(tmp_path) == named(*range(1, 21))
    assert all(run.load(tmp_path / name) for name in names_in(tmp_path))


class Malicious:
    """A pickle that leaves a folder where it is loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


DAMAGE = {
    "cut": lambda data: data[:-8],
    "longer": lambda data: data + b"\0",
    "empty": lambda data: b"",
    "garbage": lambda data: bytes(range(256)) * 9,
    "a header without end": lambda data: b"\xff" * 8 + data[8:],
    "deep": lambda data: (200_000).to_bytes(8, "little") + b"[" * 200_000,
    "another step": lambda data: data.replace(b'step\\": 2', b'step\\": 3'),
    "another file": lambda data: safetensors.torch.save({"a": torch.ones(3)}),
    "a pickle": lambda data: pickle.dumps(Malicious("it ran")),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named_and_changes_nothing(tmp_path, case):
    other, run = Run(seed=99).train(4), Run().train(1)
    older = run.save(tmp_path, 1)
    before = run.state()
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
    unchanged = other.train(1).state()
    for call in (newest, other.resume):
        with pytest.warns(UserWarning), pytest.raises(OSError, match=r"can be read: .*; .*damaged"):
            call(tmp_path, missing_ok=True)  # they are not missing
    assert other.state() == unchanged and not Path("it ran").exists()


def test_no_bit_can_change_unseen(tmp_path):
    run = Run().train(1)
    path = run.save(tmp_path, 1)
    good, random = path.read_bytes(), np.random.default_rng(0)
    for place in [*range(0, 1000, 5), *random.integers(len(good), size=100)]:
        data = bytearray(good)
        data[place] ^= 1 << random.integers(8)
        path.write_bytes(data)
        with pytest.raises(OSError, match=str(path)):
            run.load(path)


def test_what_is_of_somebody_else_stays(tmp_path):
    run = Run().train(1)
    elsewhere = run.save(tmp_path / "elsewhere", 4)
    (tmp_path / "step-00000001.safetensors").write_text("mine")
    (tmp_path / "step-00000002.safetensors").mkdir()
    (tmp_path / "step-00000003.safetensors").write_bytes(DAMAGE["another file"](b""))
    (tmp_path / "step-00000004.safetensors").symlink_to(elsewhere)
    for name in ("step-5.safetensors", "step-00000005.pt", f"{named(5)[0]}.{'a' * 16}"):
        (tmp_path / name).write_text("mine")
        os.utime(tmp_path / name, (0, 0))
    mine = names_in(tmp_path)
    for step in (6, 7, 8):
        run.save(tmp_path, step, keep=1)
    assert names_in(tmp_path) == sorted([*mine, *named(8)])
    for step in range(1, 5):
        with pytest.raises(FileExistsError, match=f"no other file of that name, got {tmp_path}"):
            run.save(tmp_path, step)
    assert names_in(tmp_path) == sorted([*mine, *named(8)])
    assert (tmp_path / named(1)[0]).read_text() == "mine"
    run.load(tmp_path / named(4)[0])  # which may have been moved to a larger disk


def test_a_wrong_place_is_named_and_starts_nothing(tmp_path):
    run = Run().train(1)
    path = run.save(tmp_path / "run", 3)
    (tmp_path / "old" / "step-00000003").mkdir(parents=True)
    (tmp_path / "old" / "step-00000003" / "checkpoint.json").write_text("{}")
    before = run.state()
    for name, error, words in (
        ("rum", FileNotFoundError, "rum, which does not exist; missing_ok=True starts anew"),
        (".", FileNotFoundError, "which holds none; missing_ok=True starts anew"),
        (path, NotADirectoryError, "which is no folder; a file is one checkpoint, to load"),
        ("old", ValueError, "which holds those of ensedu 1.0, such as "),
    ):
        for call in (run.resume, newest):
            with pytest.raises(error, match="folder must hold checkpoints, got ") as raised:
                call(tmp_path / name)
            assert words in str(raised.value)
            if error is FileNotFoundError:
                told = call(tmp_path / name, missing_ok=True)
                assert told == Checkpoint(0, {}, tmp_path / name)
            else:
                with pytest.raises(error):
                    call(tmp_path / name, missing_ok=True)
    assert run.state() == before
    with pytest.raises(OSError, match="run"):
        load(tmp_path / "run", run.net)
    with pytest.raises(FileExistsError, match=str(path)):
        run.save(path, 4)
    path.rename(tmp_path / "run" / named(9)[0])  # of another step
    with pytest.warns(UserWarning, match="it is of step 3"), pytest.raises(OSError):
        newest(tmp_path / "run")
    path = (tmp_path / "run" / named(9)[0]).rename(tmp_path / "final")
    assert load(path, run.net).step == 3  # a copy of any other name is one, too
