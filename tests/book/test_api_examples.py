"""Each page of the API opens with an example, which runs and does what the page says."""

import re

import numpy as np
import pandas
import pytest
import torch

from ensedu.data import encoder
from ensedu.running.machine import one_thread
from ensedu.sklearn import EnsembleRegressor

BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
#: Its examples run in `test_training_page.py`.
ELSEWHERE = {"training"}
ROWS = re.compile(r"^\| (.*?) \|", flags=re.MULTILINE)


def pages(root):
    """Return name to text of the pages."""
    found = (root / "book" / "api").glob("*.md")
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(found)}


@pytest.fixture
def ran(root, tmp_path, monkeypatch):
    """Run the programs of a page, one after the other; return what they leave behind."""
    monkeypatch.chdir(tmp_path)  # an example may write

    def run(name, programs=None):
        found = {}
        with torch.random.fork_rng(devices=[]), one_thread():
            for program in BLOCK.findall(pages(root)[name])[:programs]:
                exec(compile(program, f"{name}.md", "exec"), found)
        return found

    return run


def test_a_page_opens_with_an_example_and_says_when_to_take_what(root):
    for name, text in pages(root).items():
        title, start = text.removeprefix("# ").split("\n", 1)
        head, example, rest = re.split(
            r"^(```\w+\n.*?^```\n)", start, maxsplit=1, flags=re.M | re.S
        )
        # Before it at most a sentence, and after it words, before what docstrings say.
        assert len(head.split()) < 25 and len(title.split()) < 6, name
        assert len([line for line in example.splitlines() if line]) <= 18, name
        assert len(rest.split("```{eval-rst}")[0].split()) > 30, name


def test_every_page_runs_here_or_elsewhere(root):
    own = {n.removeprefix("test_page_") for n in globals() if n.startswith("test_page_")}
    assert own | ELSEWHERE == set(pages(root)) and not own & ELSEWHERE


def test_page_index(ran, capsys):
    ran("index")
    # By hand, as the chapter on counting has them.
    assert "rank-1 BNN: 4,620 parameters\n" in capsys.readouterr().out


def test_page_counting(ran):
    found = ran("counting")
    assert found["formula"].total == 50 * 50 + 4 * (50 + 50 + 50)
    # Two operations a weight for each of four members.
    assert found["shared"].product_flops == 4 * 2 * 2048**2


def test_page_layers(ran):
    found = ran("layers")
    assert found["read"].shape == found["used"].shape == (4, 11, 10)
    assert found["outputs"].shape == (4, 60, 1)


def test_page_ensembles(ran):
    # What compiles and exports runs in `tests/torch/test_compilers.py`.
    found = ran("ensembles", 1)
    assert found["outputs"].shape == (4, 2, 10)
    x = torch.randn(2, 1, 28, 28)
    with torch.no_grad():
        plain, members = found["trained"](x), found["net"](x)
    # Near the model, as the page says, and not on it.
    assert 0 < float((members - plain).norm() / plain.norm().mul(2)) < 0.5


def test_page_theory(ran):
    found = ran("theory")
    assert (found["too_sure"] < 1).all()
    np.testing.assert_allclose(found["exact"].mean.ravel(), [0, 0.5], atol=0.05)
    assert np.abs(found["zero"]).max() == 0 < np.abs(found["near_zero"]).max()
    assert found["full"].shape == found["cheap"].shape == (1000, 7, 5)
    np.testing.assert_allclose(found["cheap"].var(axis=0), found["full"].var(axis=0), rtol=0.4)


def test_page_uncertainty(ran):
    found = ran("uncertainty")
    own = found["low"] <= found["center"][99:]
    assert found["low"].shape == found["high"].shape == (3, 1) and own.all()
    assert found["calibrated"].guarantee(0.9) == 0.9


def test_page_sklearn(ran, capsys):
    found = ran("sklearn")
    (inside,) = re.fullmatch(r"(\d+)% inside\n", capsys.readouterr().out).groups()
    assert 80 <= int(inside) <= 98
    assert found["net"].score(found["X_new"], found["y_new"]) > 0.25
    assert found["net"].feature_names_in_.tolist() == [*found["X"].columns]
    assert np.isfinite(found["high"] - found["low"]).all()


def test_page_data(ran, capsys):
    np.testing.assert_allclose(ran("data", 1)["x"], [[1, 0], [-1, 0]], atol=1e-12)
    found = ran("data")
    words = capsys.readouterr().out
    assert re.fullmatch(r"(\w+: 5\.\d\d nats an example, \d\d away\n){2}", words)
    assert [len(row["nll"]) for row in found["rows"].values()] == [4, 1]


def frame(**columns):
    """Return a table of 60 rows; each column is a value, or a list that is repeated."""
    lists = {"age": [30, 40, 50], "y": [1.0, 2.0], **columns}
    return pandas.DataFrame({name: (values * 60)[:60] for name, values in lists.items()})


def trained(table, y="y", **options):
    """Predict a column of a table as the README does."""
    net = EnsembleRegressor("single", epochs=1, random_state=0, **options)
    return net.fit(table.drop(columns=y), table[y])


def unknown_word():
    model = encoder(frame(city=["Bern", "Basel"])[["city"]]).fit(frame(city=["Bern"])[["city"]])
    model.transform(frame(city=["Genf"])[["city"]])


def grouped():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 4)
    y = rng.standard_normal(30)[patient] + 0.1 * rng.standard_normal(120)
    trained(pandas.DataFrame({"patient": patient, "dose": rng.random(120), "y": y}))


CASES = {
    "not found in axis": lambda: trained(frame().rename(columns={"y": "age;y"})),
    "dayfirst must be True or False": lambda: trained(frame(when=["03/04/2024"])),
    "frame must hold numbers alone there": lambda: trained(frame(zip=["8001", "CH-1200"])),
    "frame must hold numbers such as": lambda: trained(frame(beds=["3 bed", "2 bed"])),
    "frame must hold a value in each column": lambda: trained(frame(gap=[None])),
    "Input y contains NaN": lambda: trained(frame(y=[1.0, None])),
    "y must hold numbers, got names": lambda: trained(frame(y=["yes", "no"])),
    "could not convert string to float": lambda: EnsembleRegressor().fit(
        frame(city=["Bern"]).to_numpy(), frame()["y"]
    ),
    "Found unknown categories": unknown_word,
    "rows look grouped": grouped,
}


def test_all_that_is_refused_on_the_page_is_tried(root):
    page = pages(root)["data"].split("## When your own table is refused")[1]
    listed = ROWS.findall(page.split("```")[0])[1:]
    assert len(listed) == len(CASES)
    assert all(words in row for words, row in zip(CASES, listed, strict=True))


@pytest.mark.bad_input
@pytest.mark.parametrize("words", CASES)
def test_a_table_is_refused_in_the_words_of_the_page(words):
    with pytest.raises((KeyError, ValueError, UserWarning), match=words):
        CASES[words]()
