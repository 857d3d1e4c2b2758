"""Where checkpoints are looked for: a wrong place is named, and starts nothing anew."""

import pytest
import torch

import ensedu.torch as et
from ensedu.torch.train.checkpoints import Checkpoint, load, newest, resume, save
from tests.torch.train.saved_runs import Run, assert_same, names_in


@pytest.fixture
def runs(tmp_path):
    """A folder of runs, in which one has two checkpoints."""
    run = Run().train(1)
    for step in (3, 50):
        run.save(tmp_path / "runs" / "digits", step)
    (tmp_path / "runs" / "empty").mkdir()
    (tmp_path / "runs" / "notes").write_text("of these runs")
    return tmp_path / "runs"


STEP = "digits/step-00000050"
#: What is no folder of checkpoints, the error that says so, and what it says of it.
WRONG = {
    "digist": (FileNotFoundError, "digist, which does not exist; missing_ok=True starts anew"),
    "empty": (FileNotFoundError, "empty, which holds none; missing_ok=True starts anew"),
    ".": (FileNotFoundError, "runs, which holds none itself, but look at {runs}/digits; missing"),
    "digits/best": (FileNotFoundError, "best, which does not exist"),
    "notes": (NotADirectoryError, "notes, which is no folder"),
    STEP: (ValueError, f"{STEP}, which is a checkpoint itself: load it, or give its folder, "),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_place_is_named_and_changes_nothing(runs, name):
    run, (error, words) = Run(seed=99).train(2), WRONG[name]
    before = run.state()
    for call in (run.resume, newest):
        with pytest.raises(error, match="folder must hold checkpoints, got ") as raised:
            call(runs / name)
        assert type(raised.value) is error
        assert words.format(runs=runs) in str(raised.value)
    assert_same(run.state(), before)


@pytest.mark.parametrize("name", WRONG)
def test_who_starts_anew_says_so(runs, name):
    """What is no folder, or a checkpoint, can hold none: it stays an error."""
    run, (error, words) = Run(seed=99).train(2), WRONG[name]
    before = run.state()
    for call in (run.resume, newest):
        if error is FileNotFoundError:
            assert call(runs / name, missing_ok=True) == Checkpoint(0, {}, runs / name)
        else:
            with pytest.raises(error) as raised:
                call(runs / name, missing_ok=True)
            assert words in str(raised.value)
    assert_same(run.state(), before)


def test_nothing_is_saved_in_a_checkpoint_or_a_file(runs):
    run = Run().train(1)
    for name in (STEP, "notes"):
        error, words = WRONG[name]
        with pytest.raises(error) as raised:
            run.save(runs / name, 51)
        assert words in str(raised.value)
    assert names_in(runs / STEP) == ["checkpoint.json", "values.safetensors"]
    x, y = torch.ones(7, 5), torch.ones(7, 1)
    with pytest.raises(ValueError, match="which is a checkpoint itself"):
        et.fit(
            et.mlp([5, 1]), x, y, et.half_squared_error, epochs=1, batch_size=7,
            checkpoint=runs / STEP,
        )  # fmt: skip


def test_what_is_loaded_is_a_checkpoint(runs):
    run = Run(seed=99)
    found = newest(runs / "digits")
    assert found == Checkpoint(50, {}, runs / STEP)
    assert load(found.path, run.net) == found
    with pytest.raises(
        ValueError, match=r"path must be a checkpoint, got .*digits, which holds"
    ) as e:
        load(runs / "digits", run.net)
    assert str(e.value).endswith(f"resume it, or load {runs / STEP}")
    with pytest.raises(NotADirectoryError, match="runs/notes"):
        load(runs / "notes", run.net)
    # A copy of another name is one, too.
    (runs / STEP).rename(runs / "final")
    assert load(runs / "final", run.net).step == 50
    with pytest.raises(ValueError, match="final, which is a checkpoint itself"):
        resume(runs / "final", run.net)
    (runs / "digits").rename(runs / "empty" / "digits")
    with pytest.raises(FileNotFoundError, match=r"none itself, but look at .*runs/final"):
        resume(runs, run.net)


def test_of_damaged_ones_the_newest_before_them_is_found(runs):
    (runs / STEP / "checkpoint.json").unlink()
    with pytest.warns(UserWarning, match="step-00000050 cannot be read: .*checkpoint.json"):
        assert newest(runs / "digits").step == 3
    (runs / "digits" / "step-00000003" / "checkpoint.json").write_text("{}")
    for options in ({}, {"missing_ok": True}):  # they are not missing
        with (
            pytest.warns(UserWarning, match="cannot be read"),
            pytest.raises(OSError, match=r"no checkpoint in .*digits can be read: .*; .*damaged"),
        ):
            newest(runs / "digits", **options)


@pytest.mark.bad_input
def test_bad_arguments(tmp_path):
    net = et.mlp([5, 1])
    for call in (newest, lambda folder, **options: resume(folder, net, **options)):
        with pytest.raises(TypeError, match="missing_ok must be True or False, got 1"):
            call(tmp_path, missing_ok=1)
    path = save(tmp_path, net, None, 1)
    for call in (
        lambda value: load(path, net, nonfinite_ok=value),
        lambda value: resume(tmp_path, net, nonfinite_ok=value),
        lambda value: save(tmp_path, net, None, 2, nonfinite_ok=value),
    ):
        with pytest.raises(TypeError, match="nonfinite_ok must be True or False, got None"):
            call(None)
    assert names_in(tmp_path) == ["step-00000001"]
