"""Checkpoints of a net on one process: to the bit, whole or refused, and nothing in them runs."""

import hashlib
import json
import os
import pickle
import signal

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

import ensedu.torch as et
from ensedu.torch.train import folders
from ensedu.torch.train.checkpoints import Checkpoint, load, newest, resume, save

N, B, CLASSES = 41, 13, 3


class Net(nn.Module):
    """Buffers, dropout, tied weights, a scalar, a parameter that is not stored in order."""

    def __init__(self, width=7):
        super().__init__()
        self.first = nn.Linear(5, width)
        self.norm = nn.BatchNorm1d(width)
        self.middle = nn.Linear(width, width)
        self.tied = self.middle
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.turned = nn.Parameter(torch.randn(CLASSES, width).T)
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("numbers", torch.arange(6)[::2])
        self.register_buffer("same_numbers", self.numbers)

    def forward(self, x):
        x = torch.dropout(self.norm(self.first(x)).tanh(), 0.3, self.training)
        return self.scale * (self.tied(self.middle(x)) @ self.turned)


def groups(net):
    """Two groups with settings of their own."""
    decayed = [p for p in net.parameters() if p.ndim > 1]
    return [
        {"params": decayed, "weight_decay": 0.1},
        {"params": [p for p in net.parameters() if p.ndim < 2], "lr": 0.005},
    ]


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
        self.generators = {"rows": torch.Generator().manual_seed(seed), "torch": GLOBAL}
        self.x = torch.randn(N, 5, generator=torch.Generator().manual_seed(0)).to(dtype)
        self.y = torch.arange(N) % CLASSES

    def train(self, steps):
        for _ in range(steps):
            rows = torch.randint(N, (B,), generator=self.generators["rows"])
            self.optimizer.zero_grad()
            cross_entropy(self.net(self.x[rows]), self.y[rows]).backward()
            self.optimizer.step()
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.97  # what a schedule does
        return self

    def save(self, folder, step, **options):
        return save(folder, self.net, self.optimizer, step, generators=self.generators, **options)

    def load(self, path):
        return load(path, self.net, self.optimizer, generators=self.generators)

    def resume(self, folder):
        return resume(folder, self.net, self.optimizer, generators=self.generators)

    def state(self):
        """Everything, by name."""
        found = {f"net {k}": v.clone() for k, v in self.net.state_dict().items()}
        for i, (name, p) in enumerate(self.net.named_parameters()):
            found |= {f"{name} {k}": v.clone() for k, v in self.optimizer.state[p].items()}
            found[f"grad {i}"] = torch.zeros(()) if p.grad is None else p.grad.clone()
        found |= {k: g.get_state() for k, g in self.generators.items()}
        settings = [{k: v for k, v in g.items() if k != "params"} for g in self.groups()]
        return found, settings

    def groups(self):
        return self.optimizer.param_groups


GLOBAL = torch.default_generator


def assert_same(one, other, but=()):
    (tensors, settings), (others, other_settings) = one, other
    assert settings == other_settings
    assert tensors.keys() == others.keys()
    for name, value in tensors.items():
        if not name.startswith(but or "no such name"):
            assert value.dtype == others[name].dtype and torch.equal(value, others[name]), name


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_run_goes_on_as_if_nothing_had_happened(tmp_path, optimizer, dtype):
    whole = Run(optimizer, dtype).train(12).state()
    first = Run(optimizer, dtype).train(7)
    path = first.save(tmp_path, 7, extra={"seed": 5, "losses": [0.1, float(2**-70)]})
    first.train(2)  # of which nothing was saved

    again = Run(optimizer, dtype, seed=99).train(3)  # what it has done must not count
    told = again.resume(tmp_path)
    assert told == Checkpoint(7, {"seed": 5, "losses": [0.1, 2**-70]}, path)
    assert told == newest(tmp_path)
    assert_same(again.train(5).state(), whole)


def killed(folder):
    run = Run().train(7)
    run.save(folder, 7)
    run.train(2)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.large
def test_a_run_goes_on_after_a_kill(tmp_path):
    whole = Run().train(12).state()
    context = torch.multiprocessing.get_context("forkserver")
    process = context.Process(target=killed, args=(tmp_path,))
    process.start()
    process.join(180)
    assert process.exitcode == -signal.SIGKILL
    again = Run(seed=99)
    assert again.resume(tmp_path).step == 7
    assert_same(again.train(5).state(), whole)


def test_what_the_files_hold(tmp_path):
    run = Run("adamw").train(2)
    path = run.save(tmp_path, 2)
    assert path == tmp_path / "step-00000002"
    assert sorted(file.name for file in path.iterdir()) == ["checkpoint.json", "values.safetensors"]
    # The format by hand: eight bytes of length, a table in JSON, numbers.
    data = (path / "values.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    names = {f"model:{name}" for name in run.net.state_dict()} | {"generator:rows"}
    names |= {"generator:torch"}
    for name, _ in run.net.named_parameters():
        names |= {f"optimizer.{key}:{name}" for key in ("step", "exp_avg", "exp_avg_sq")}
    assert table.keys() == names
    start, end = table["optimizer.exp_avg:turned"]["data_offsets"]
    array = np.frombuffer(data[8 + length :][start:end], np.float64).reshape(7, CLASSES)
    assert (array == run.optimizer.state[run.net.turned]["exp_avg"].numpy()).all()
    table = json.loads((path / "checkpoint.json").read_text())
    assert table["optimizer"].pop("optimizer") == "AdamW"
    decayed = [name for name, group in table["optimizer"].items() if group == 0]
    assert decayed == ["group:first.weight", "group:middle.weight", "group:turned"]
    one, other = table["settings"]
    assert one["betas"] == [0.8, 0.9]
    assert other["lr"] == run.groups()[1]["lr"] == pytest.approx(0.005 * 0.97**2)
    assert b"pickle" not in data and run.groups()[0]["betas"] == (0.8, 0.9)


def test_what_is_saved_may_be_more_than_what_is_wanted(tmp_path):
    run = Run().train(3)
    path = run.save(tmp_path, 3)
    other = Run(seed=99)
    noise = other.generators["rows"].get_state()
    assert load(path, other.net) == Checkpoint(3, {}, path)
    assert_nets_equal(run.net, other.net)
    assert not other.optimizer.state
    assert torch.equal(other.generators["rows"].get_state(), noise)
    save(tmp_path, run.net, None, 4)
    assert resume(tmp_path, Run(seed=98).net).step == 4
    assert resume(tmp_path / "none", run.net) == Checkpoint(0, {}, None)
    assert newest(tmp_path / "none") is None


def assert_nets_equal(one, other):
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: et.mlp([5, 7, CLASSES], "rank1", 3),
        lambda: et.ensemble(Net(), "deep_ensemble", 2, shared=["middle"], initialize=Net),
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
    assert_nets_equal(net, other)


def test_settings_of_the_machine_and_tensors_stay(tmp_path):
    run = Run().train(1)
    run.groups()[0]["lr"] = torch.tensor(0.5)
    path = run.save(tmp_path, 1)
    other = Run(seed=99)
    other.groups()[0] |= {"lr": 0.25, "foreach": True, "eps": 1.0}
    other.load(path)
    kept = {key: other.groups()[0][key] for key in ("lr", "foreach", "eps")}
    assert kept == {"lr": 0.25, "foreach": True, "eps": 1e-8}


# Folders: whole or not there.


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_are_kept(tmp_path):
    run = Run()
    for step in (3, 20, 100_000_000):
        run.save(tmp_path, step)
    assert names_in(tmp_path) == ["step-00000020", "step-100000000"]
    assert newest(tmp_path).step == 100_000_000
    # A run that goes on from an older step keeps what it writes.
    run.save(tmp_path, 7)
    assert names_in(tmp_path) == ["step-00000007", "step-00000020", "step-100000000"]
    run.save(tmp_path, 100_000_001, keep=1)
    assert names_in(tmp_path) == ["step-100000001"]


def test_what_is_not_complete_is_none_of_those_kept(tmp_path):
    run = Run()
    for step in (1, 2, 3):
        run.save(tmp_path, step, keep=3)
    (tmp_path / "step-00000002" / "values.safetensors").unlink()
    (tmp_path / "step-00000003" / "checkpoint.json").write_text("{")
    assert newest(tmp_path).step == 1
    run.save(tmp_path, 4, keep=2)
    assert names_in(tmp_path) == [f"step-0000000{step}" for step in (1, 2, 3, 4)]
    run.save(tmp_path, 5, keep=2)
    assert names_in(tmp_path) == ["step-00000004", "step-00000005"]


class Killed(BaseException):
    pass


# In the order in which a write reaches the disk: its files, its folder, its name, and what is old.
@pytest.mark.parametrize(
    ("name", "calls", "left"),
    [
        ("mkdir", 1, 1),
        ("fsync", 0, 1),
        ("fsync", 1, 1),
        ("fsync", 2, 1),
        ("rename", 0, 1),
        ("fsync", 3, 2),
        ("rename", 1, 2),
        ("rmtree", 0, 2),
    ],
)
def test_a_write_that_was_killed_leaves_nothing_that_counts(
    tmp_path, monkeypatch, name, calls, left
):
    run = Run().train(1)
    run.save(tmp_path, 1)
    owner = {"fsync": os, "rmtree": folders.shutil}.get(name, type(tmp_path))
    plain, seen = getattr(owner, name), []

    def counted(*args, **options):
        seen.append(args)
        if len(seen) > calls:
            raise Killed
        return plain(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, counted)
        with pytest.raises(Killed):
            run.save(tmp_path, 2, keep=1)
    assert Run(seed=99).resume(tmp_path).step == newest(tmp_path).step == left
    run.save(tmp_path, 3, keep=2)
    assert names_in(tmp_path) == [f"step-0000000{1 if left == 1 else 2}", "step-00000003"]


def test_a_damaged_one_is_written_again(tmp_path):
    run = Run().train(1)
    path = run.save(tmp_path, 1)
    with pytest.raises(FileExistsError, match="folder must have no checkpoint of that step, got"):
        run.save(tmp_path, 1)
    flip(path / "values.safetensors", -1)
    run.save(tmp_path, 1)
    run.load(path)
    assert names_in(tmp_path) == ["step-00000001"]


# Damage: named, and nothing changed.


def flip(file, position):
    data = bytearray(file.read_bytes())
    data[position] ^= 4
    file.write_bytes(data)


class Malicious:
    """A pickle that leaves a folder where it is loaded."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def become_folder(file):
    file.unlink()
    file.mkdir()


V, T = "values.safetensors", "checkpoint.json"
DAMAGE = {
    "a byte of a weight": (V, lambda file: flip(file, -100)),
    "a byte of its table": (V, lambda file: flip(file, 20)),
    "its first byte": (V, lambda file: flip(file, 0)),
    "cut": (V, lambda file: file.write_bytes(file.read_bytes()[:-8])),
    "longer": (V, lambda file: file.write_bytes(file.read_bytes() + b"\0")),
    "empty": (V, lambda file: file.write_bytes(b"")),
    "garbage": (V, lambda file: file.write_bytes(os.urandom(5000))),
    "missing": (V, lambda file: file.unlink()),
    "a folder": (V, become_folder),
    "table: cut": (T, lambda file: file.write_bytes(file.read_bytes()[:-20])),
    "table: empty": (T, lambda file: file.write_bytes(b"")),
    "table: garbage": (T, lambda file: file.write_bytes(bytes(range(256)))),
    "table: no JSON": (T, lambda file: file.write_text("step: 5")),
    "table: a list": (T, lambda file: file.write_text("[1, 2]")),
    "table: null": (T, lambda file: file.write_text("null")),
    "table: deep": (T, lambda file: file.write_text("[" * 200_000)),
    "table: other": (T, lambda file: file.write_text('{"format": 1, "step": 2, "sha256": ""}')),
    "table: another step": (
        T,
        lambda file: file.write_text(file.read_text().replace('"step": 2', '"step": 3')),
    ),
    "table: missing": (T, lambda file: file.unlink()),
    "table: a folder": (T, become_folder),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage_is_named_and_changes_nothing(tmp_path, case):
    name, damage = DAMAGE[case]
    run = Run().train(1)
    older = run.save(tmp_path, 1)
    before = run.state()
    path = run.train(1).save(tmp_path, 2)
    damage(path / name)

    other = Run(seed=99).train(4)
    unchanged = other.state()
    with pytest.raises(OSError) as raised:
        other.load(path)
    assert str(path / name) in str(raised.value)
    assert_same(other.state(), unchanged)

    with pytest.warns(UserWarning) as warned:
        assert other.resume(tmp_path).step == 1
    (warning,) = warned
    assert str(path / name) in str(warning.message)
    assert_same(other.state(), before, but="grad")

    (older / "checkpoint.json").unlink()
    unchanged = other.train(1).state()
    with (
        pytest.warns(UserWarning),
        pytest.raises(OSError, match=r"no checkpoint in .* can be read"),
    ):
        other.resume(tmp_path)
    with pytest.raises(OSError, match=name):
        other.load(path)
    assert_same(other.state(), unchanged)


def test_no_byte_of_the_table_can_change_unseen(tmp_path):
    path = Run().train(1).save(tmp_path, 1)
    file = path / "checkpoint.json"
    good, table = file.read_bytes(), folders.read_table(path)
    seen = 0
    for position in range(0, len(good), 5):
        flip(file, position)
        try:
            assert folders.read_table(path) == table  # a blank that became another blank
        except OSError:
            seen += 1
        file.write_bytes(good)
    assert seen > 0.9 * len(good) / 5


def rewrite(path, data=None, **changes):
    """Make a checkpoint whose hashes fit, though no `save` has written it."""
    table = json.loads((path / T).read_text()) | changes
    del table["sha256"]
    if data is not None:
        (path / V).write_bytes(data)
        table["values"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    words = json.dumps(table, sort_keys=True).encode()
    (path / T).write_text(json.dumps(table | {"sha256": hashlib.sha256(words).hexdigest()}))


def test_no_pickle_ever_runs(tmp_path):
    run, mark = Run().train(1), tmp_path / "it ran"
    path = run.save(tmp_path / "run", 1)
    bad = pickle.dumps(Malicious(mark))
    for name in (".metadata", "data.pkl", "__0_0.distcp"):
        (path / name).write_bytes(bad)
    assert run.load(path) == run.resume(path.parent) == newest(path.parent)
    for name in (V, T):
        good = (path / name).read_bytes()
        (path / name).write_bytes(bad)
        with pytest.raises(OSError, match="is damaged"):
            run.load(path)
        with pytest.warns(UserWarning, match="is damaged"), pytest.raises(OSError):
            run.resume(path.parent)
        assert newest(path.parent) is None
        (path / name).write_bytes(good)
    rewrite(path, bad)
    with pytest.raises(OSError, match=r"values\.safetensors is damaged"):
        run.load(path)
    assert not mark.exists()
    pickle.loads(bad)  # it would have
    assert mark.exists()


def test_another_format_is_no_damage(tmp_path):
    run = Run().train(1)
    path = run.save(tmp_path, 1)
    rewrite(path, format=2)
    for call in (lambda: run.load(path), lambda: run.resume(tmp_path), lambda: newest(tmp_path)):
        with pytest.raises(ValueError, match=r"checkpoint\.json is of format 2, accepted is 1"):
            call()


class Wide(Net):
    def __init__(self):
        super().__init__(11)


class Other(Net):
    def __init__(self):
        super().__init__()
        self.more = nn.Linear(2, 3, bias=False)


class Integers(Net):
    def __init__(self):
        super().__init__()
        self.numbers = self.numbers.int()


MISFITS = {
    "wide": (
        lambda: Run(net=Wide),
        "model:turned is (7, 3) torch.float64; accepted is (11, 3) torch.float64 (differing are "
        "model:turned, model:first.weight, model:first.bias, model:norm.weight",
    ),
    "other": (
        lambda: Run(net=Other),
        "model:more.weight is missing; accepted is (3, 2) torch.float64 (differing are "
        "model:more.weight, group:more.weight)",
    ),
    "buffer": (
        lambda: Run(net=Integers),
        "model:numbers is (3,) torch.int64; accepted is (3,) torch.int32 (differing are "
        "model:numbers)",
    ),
    "dtype": (
        lambda: Run(dtype=torch.float32),
        "model:scale is () torch.float64; accepted is () torch.float32",
    ),
    "optimizer": (
        lambda: Run("sgd"),
        "optimizer is Adam; accepted is SGD (differing are optimizer)",
    ),
    "groups": (
        lambda: Run("two groups"),
        "group:scale is 0; accepted is 1 (differing are group:scale, group:first.bias, "
        "group:norm.weight, group:norm.bias, group:middle.bias)",
    ),
    "generator": (
        lambda: with_generator(Run()),
        "generator:more is missing; accepted is (5056,) torch.uint8 (differing are generator:more)",
    ),
}


def with_generator(run):
    run.generators["more"] = torch.Generator()
    return run


@pytest.mark.parametrize("case", MISFITS)
def test_what_does_not_fit_changes_nothing(tmp_path, case):
    make, words = MISFITS[case]
    path = Run(seed=99).train(1).save(tmp_path, 1)
    other = make()
    other.train(2)
    unchanged = other.state()
    for call in (lambda: other.load(path), lambda: other.resume(tmp_path)):
        with pytest.raises(ValueError, match="path must be a checkpoint of such") as raised:
            call()
        assert words in str(raised.value)
        assert_same(other.state(), unchanged)


def test_without_its_optimizer_or_generators(tmp_path):
    run = Run().train(1)
    path = save(tmp_path, run.net, None, 1)
    with pytest.raises(ValueError, match="optimizer is missing; accepted is Adam"):
        load(path, run.net, run.optimizer)
    with pytest.raises(ValueError, match=r"generator:rows is missing; accepted is"):
        load(path, run.net, generators={"rows": torch.Generator()})


class Listing(torch.optim.SGD):
    def step(self):
        for p in self.param_groups[0]["params"]:
            self.state[p]["seen"] = [1, 2]


class Extra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}


@pytest.mark.bad_input
def test_bad_arguments(tmp_path):
    run = Run().train(1)
    net, optimizer = run.net, run.optimizer
    listing = Listing(net.parameters())
    listing.step()
    sparse, wide = nn.Linear(2, 3), nn.Linear(2, 3)
    sparse.register_buffer("s", torch.eye(3).to_sparse())
    wide.register_buffer("s", torch.eye(3, dtype=torch.complex128))
    cases = [
        (lambda: save(None, net, optimizer, 1), TypeError, "folder must be a path, got None"),
        (lambda: resume(5, net), TypeError, "folder must be a path, got 5"),
        (lambda: newest(b"a"), TypeError, "folder must be a path, got b'a'"),
        (lambda: load(None, net), TypeError, "path must be a path, got None"),
        (lambda: save(tmp_path, None, optimizer, 1), TypeError, "net must be a torch.nn.Module"),
        (lambda: save(tmp_path, net, "adam", 1), TypeError, "optimizer must be a torch.optim.Opt"),
        (lambda: save(tmp_path, net, optimizer, 0), ValueError, "step must be a positive integer"),
        (
            lambda: save(tmp_path, net, optimizer, True),
            TypeError,
            "step must be a positive integer",
        ),
        (lambda: save(tmp_path, net, optimizer, 1.0), TypeError, "step must be a positive integer"),
        (
            lambda: save(tmp_path, net, optimizer, 10**30),
            ValueError,
            "step must be a positive integer",
        ),
        (lambda: save(tmp_path, net, optimizer, 1, keep=0), ValueError, "keep must be a positive"),
        (lambda: save(tmp_path, net, optimizer, 1, extra=[1]), TypeError, "extra must be a dict"),
        (
            lambda: save(tmp_path, net, optimizer, 1, extra={"a": {1, 2}}),
            TypeError,
            "extra must hold what JSON can hold",
        ),
        (
            lambda: save(tmp_path, net, optimizer, 1, generators={"a": 5}),
            TypeError,
            "generators must be a dict of torch.Generator, got {'a': 5}",
        ),
        (
            lambda: save(tmp_path, net, optimizer, 1, generators=[torch.Generator()]),
            TypeError,
            "generators must be a dict of torch.Generator",
        ),
        (
            lambda: save(tmp_path, net, Run().optimizer, 1),
            ValueError,
            "optimizer must have parameters of net alone, got one of shape () in group 0",
        ),
        (
            lambda: save(tmp_path, net, listing, 1),
            TypeError,
            "must keep dense tensors with values, got list for optimizer.seen:scale",
        ),
        (
            lambda: save(tmp_path, Extra(2, 3), None, 1),
            TypeError,
            "must keep dense tensors with values, got dict for model:_extra_state",
        ),
        (
            lambda: save(tmp_path, nn.Linear(2, 3, device="meta"), None, 1),
            TypeError,
            "must keep dense tensors with values, got a meta tensor for model:weight",
        ),
        (lambda: save(tmp_path, sparse, None, 1), TypeError, "got a tensor of torch.sparse_coo"),
        (
            lambda: save(tmp_path, wide, None, 1),
            TypeError,
            "must keep tensors of dtypes that safetensors knows, got ",
        ),
        (
            lambda: load(tmp_path / "step-00000007", net),
            FileNotFoundError,
            "step-00000007/checkpoint.json",
        ),
    ]
    for call, error, words in cases:
        with pytest.raises(error) as raised:
            call()
        assert words in str(raised.value)
        assert type(raised.value) is error
    assert not names_in(tmp_path)


def test_a_forged_generator_changes_nothing(tmp_path):
    path, table, values = folders.read(Run(seed=99).train(1).save(tmp_path, 1))
    values["generator:torch"] = torch.zeros_like(values["generator:torch"])
    del table["values"]  # which are others now
    forged = folders.write(path.with_name("step-00000002"), table | {"step": 2}, values, 3)
    other = Run().train(2)
    unchanged = other.state()
    with pytest.raises(ValueError, match="has no state of generator 'torch'"):
        other.load(forged)
    assert_same(other.state(), unchanged)
