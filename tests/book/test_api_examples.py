"""The programs at the head of API pages run, and do what the pages say."""

import re

import numpy as np

from ensedu.contest.running.machine import one_thread

BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def ran(root, page):
    """Return what the one program of a page leaves behind."""
    (program,) = BLOCK.findall((root / page).read_text(encoding="utf-8"))
    found = {}
    exec(compile(program, page, "exec"), found)
    return found


def test_intervals_of_an_ensemble(root):
    found = ran(root, "book/api/uncertainty.md")
    own = found["low"] <= found["center"][99:]
    assert found["low"].shape == found["high"].shape == (3, 1) and own.all()
    assert found["calibrated"].guarantee(0.9) == 0.9


def test_two_contestants_on_a_table(root, capsys):
    with one_thread():
        found = ran(root, "book/api/contest.md")
    words = capsys.readouterr().out
    assert re.fullmatch(r"(\w+: 5\.\d\d nats an example, \d\d away\n){2}", words)
    assert [len(row["nll"]) for row in found["rows"].values()] == [4, 1]


def test_an_estimator_on_a_data_frame(root, capsys):
    found = ran(root, "book/api/sklearn.md")
    (inside,) = re.fullmatch(r"(\d+)% inside\n", capsys.readouterr().out).groups()
    assert 80 <= int(inside) <= 98
    assert found["net"].score(found["X_new"], found["y_new"]) > 0.25
    assert found["net"].feature_names_in_.tolist() == [*found["X"].columns]
    assert np.isfinite(found["high"] - found["low"]).all()
