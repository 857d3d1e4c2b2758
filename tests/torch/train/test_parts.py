"""What saving removes: what it wrote itself, and nothing that is somebody else's or in use."""

import os
import signal

import pytest

from tests.torch.train.processes import copied_process
from tests.torch.train.saved_runs import Run, names_in

#: Folders of a user's, most of them in names much like those of writes and steps, with a file;
#: OWN stands for the number of this process.
FOREIGN = {
    "step-00000001.part-7": "notes.txt",
    "step-00000001.part-two": "values.safetensors",
    "step-00000001.part-OWN": "checkpoint.json",
    "step-00000001.part-OWN-0123abcd": "notes.txt",
    "step-1.part-7-0123abcd": "values.safetensors",
    "step-1": "image.png",
    "step-0000001": "checkpoint.json",
    "step-000000001": "checkpoint.json",
    "step-by-step": "notes.txt",
    "step-00000001": "notes.txt",
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.filterwarnings("ignore:checkpoint .* cannot be read")
def test_a_folder_of_somebody_else_stays(tmp_path, name):
    file = tmp_path / name.replace("OWN", str(os.getpid())) / FOREIGN[name]
    file.parent.mkdir()
    file.write_text("mine")
    run = Run().train(1)
    for step in (2, 3, 4):
        run.save(tmp_path, step, keep=1)
    assert file.read_text() == "mine"
    assert names_in(tmp_path) == sorted([file.parent.name, "step-00000004"])
    assert Run(seed=99).resume(tmp_path).step == 4


def test_an_old_checkpoint_with_notes_in_it_stays(tmp_path):
    run = Run().train(1)
    path = run.save(tmp_path, 1)
    (path / "notes.txt").write_text("the best so far")
    for step in (2, 3, 4):
        run.save(tmp_path, step, keep=1)
    assert names_in(tmp_path) == ["step-00000001", "step-00000004"]
    run.load(path)
    (path / "checkpoint.json").write_text("{")
    with pytest.raises(
        FileExistsError, match=r"nothing else of a checkpoint's name, got .*-00000001"
    ):
        run.save(tmp_path, 1)
    assert (path / "notes.txt").exists()


def test_a_file_of_a_name_that_a_step_has_stops_that_step_alone(tmp_path):
    file, link = tmp_path / "step-00000002", tmp_path / "step-00000003"
    file.write_text("mine")
    link.symlink_to(Run().save(tmp_path / "elsewhere", 3))
    (tmp_path / "step-00000001.part-7-0123abcd").write_text("mine")
    run = Run().train(1)
    run.save(tmp_path, 1)
    with pytest.raises(FileExistsError, match=f"no file of a checkpoint's name, got {file}"):
        run.save(tmp_path, 2)
    for step in (4, 5, 6):
        run.save(tmp_path, step, keep=2)
    assert file.read_text() == "mine"
    run.load(link)  # which may have been moved to a larger disk
    assert names_in(tmp_path) == [
        "elsewhere", "step-00000001.part-7-0123abcd", *(f"step-0000000{i}" for i in (2, 3, 5, 6)),
    ]  # fmt: skip


@pytest.mark.parametrize("call", range(4))
def test_what_a_killed_process_left_goes(tmp_path, call):
    """It dies while it writes either file, before it renames their folder, and after that."""
    run = Run().train(1)
    run.save(tmp_path, 1)
    sync, calls = os.fsync, []

    def counted(file):
        calls.append(file)
        if len(calls) > call:
            os.kill(os.getpid(), signal.SIGKILL)
        sync(file)

    with copied_process():
        child = os.fork()
    if child == 0:
        try:
            os.fsync = counted
            run.save(tmp_path, 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    new = [name for name in names_in(tmp_path) if name != "step-00000001"]
    assert len(new) == 1
    if call == 3:
        assert new == ["step-00000002"]
    else:
        assert new[0].startswith(f"step-00000002.part-{child}-")
    assert Run(seed=99).resume(tmp_path).step == (2 if call == 3 else 1)
    run.save(tmp_path, 3)
    assert names_in(tmp_path) == [f"step-0000000{2 if call == 3 else 1}", "step-00000003"]


def test_what_another_process_is_at_stays(tmp_path):
    """A process whose number no other has, here the one that started this, may still write."""
    at_work = tmp_path / f"step-00000002.part-{os.getppid()}-0123abcd"
    left = tmp_path / f"step-00000002.part-{2**40}-0123abcd"
    for path in (at_work, left):
        path.mkdir()
        (path / "values.safetensors").write_text("half of")
    Run().save(tmp_path, 1)
    assert names_in(tmp_path) == ["step-00000001", at_work.name]
