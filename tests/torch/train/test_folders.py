"""Folders that hold a checkpoint whole or not at all, killed, damaged and forged."""

import json
import os
import pickle

import numpy as np
import pytest

from ensedu.torch.train import folders, parts
from ensedu.torch.train.checkpoints import newest
from tests.torch.train.saved_runs import CLASSES, Run, assert_same, forge, names_in


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
    with pytest.warns(UserWarning, match="cannot be read") as warned:
        assert newest(tmp_path).step == 1
    assert len(warned) == 2
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
    owner = {"fsync": os, "rmtree": parts.shutil}.get(name, type(tmp_path))
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
        (path / name).write_bytes(good)
    forge(path, data=bad)
    with pytest.raises(OSError, match=r"values\.safetensors is damaged"):
        run.load(path)
    assert not mark.exists()
    pickle.loads(bad)  # it would have
    assert mark.exists()


def test_another_format_is_no_damage(tmp_path):
    run = Run().train(1)
    path = run.save(tmp_path, 1)
    forge(path, lambda table: table | {"format": 2})
    for call in (lambda: run.load(path), lambda: run.resume(tmp_path), lambda: newest(tmp_path)):
        with pytest.raises(ValueError, match=r"checkpoint\.json is of format 2, accepted is 1"):
            call()
