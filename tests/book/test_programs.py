"""What the README, CONTRIBUTING.md, the API and docstrings show in Python runs, is true, typed."""

import ast
import contextlib
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap

import numpy as np
import pandas
import pytest
import torch

import ensedu
from ensedu.data import encoder
from ensedu.sklearn import EnsembleRegressor
from ensedu.torch import softmax_cross_entropy
from tests.book.conftest import ROOT, blocks
from workshop.running.machine import one_thread

API = {path.stem: path for path in sorted((ROOT / "book" / "api").glob("*.md"))}
GOOD = re.compile(r"^# GOOD.*\n", flags=re.MULTILINE)
ROWS = re.compile(r"^\| (.*?) \|", flags=re.MULTILINE)


def good_examples():
    """Return, of CONTRIBUTING.md, the good ones that import what they use; others are fragments."""
    found = [GOOD.split(block)[-1] for block in blocks(ROOT / "CONTRIBUTING.md")]
    kinds = (ast.Import, ast.ImportFrom)
    return [one for one in found if any(isinstance(part, kinds) for part in ast.parse(one).body)]


@pytest.mark.parametrize("source", [*blocks(ROOT / "README.md"), *good_examples()])
def test_example_runs(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write
    found, prices = {}, write_homes(tmp_path)
    exec(compile(source, "example", "exec"), found)
    if "homes.csv" in source:
        written = pandas.read_csv(tmp_path / "intervals.csv")
        assert written["sold"].equals(pandas.read_csv(tmp_path / "new.csv")["sold"])
        inside = np.mean((written["low"] <= prices) & (prices <= written["high"]))
        # Of 200 new homes; what calibrates is a sample, too.
        assert 0.8 < inside < 0.99
        assert np.mean(written["high"] - written["low"]) < 2.5 * prices.std()
        assert np.std(written["price"] - prices) < 0.5 * prices.std()
    if "load_digits" in source:
        assert found["probabilities"].shape == (397, 10)
        assert 0.85 < (found["probabilities"].argmax(-1) == found["y"][1400:]).float().mean() < 0.95


def write_homes(folder):
    """Write the two files of a reader, as people write them; return the prices of the new rows."""
    rng, old, fresh = np.random.default_rng(0), 400, 200
    number = old + fresh
    size, year = rng.uniform(500, 3_500, number), rng.integers(0, 730, number)
    heating = rng.choice(["gas", "oil", "heat pump"], number)
    price = 150 * size + 60_000 * (heating == "gas") + 100 * year
    price = price + rng.normal(0, 40_000, number)
    days = pandas.Timestamp("2023-01-01") + pandas.to_timedelta(year, unit="D")
    frame = pandas.DataFrame(
        {
            "price": [f"${p:,.0f}" for p in price],
            "sold": [f"{day.month}/{day.day}/{day.year}" for day in days],
            "size": [f"{s:,.0f}" for s in size],
            "tax": [f"{t:.1f}%" for t in rng.uniform(0.5, 2, number)],
            "heating": heating,
            "country": 1,
        }
    )
    frame.loc[7, "price"] = None
    for column in ("size", "heating", "tax"):
        frame.loc[rng.random(number) < 0.05, column] = rng.choice(["", "NA", "?"])
    frame[:old].to_csv(folder / "homes.csv", index=False)
    frame[old:].drop(columns="price").to_csv(folder / "new.csv", index=False)
    return price[old:]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8")) <= 7_000


#: What holds where the programs of a page have run: of what they leave, and what they print. Only
#: the first of *ensembles* runs: `tests/torch/test_compilers.py` compiles and exports.
HOLDS = {
    "index": lambda found, said: "rank-1 BNN: 4,620 parameters\n" in said,  # as the book counts
    "counting": lambda found, said: (found["formula"].total, found["shared"].product_flops)
    == (50 * 50 + 4 * (50 + 50 + 50), 4 * 2 * 2048**2),
    "layers": lambda found, said: (found["read"].shape, found["used"].shape, found["outputs"].shape)
    == ((4, 11, 10), (4, 11, 10), (4, 60, 1)),
    "ensembles": lambda found, said: found["outputs"].shape == (4, 2, 10) and near(found),
    "theory": lambda found, said: (found["too_sure"] < 1).all()
    and np.allclose(found["exact"].mean.ravel(), [0, 0.5], atol=0.05)
    and np.abs(found["zero"]).max() == 0 < np.abs(found["near_zero"]).max()
    and np.allclose(found["cheap"].var(axis=0), found["full"].var(axis=0), rtol=0.4),
    "uncertainty": lambda found, said: (found["low"] <= found["center"][99:]).all()
    and found["calibrated"].guarantee(0.9) == 0.9,
    "sklearn": lambda found, said: re.fullmatch(r"(8\d|9[0-8])% inside\n", said)
    and found["net"].score(found["X_new"], found["y_new"]) > 0.25
    and np.isfinite(found["high"] - found["low"]).all(),
    "data": lambda found, said: re.fullmatch(
        r"(\w+: 5\.\d\d nats an example, \d\d away\n){2}", said
    ) and [len(row["nll"]) for row in found["rows"].values()] == [4, 1],
}  # fmt: skip


def near(found):
    """Whether an ensemble is near the model that it was made of, and not on it."""
    x = torch.randn(2, 1, 28, 28)
    with torch.no_grad():
        plain, members = found["trained"](x), found["net"](x)
    return 0 < float((members - plain).norm() / plain.norm().mul(2)) < 0.5


@pytest.mark.parametrize("name", sorted(API.keys() - {"training"}))
def test_programs_of_a_page_run_and_what_it_says_holds(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # an example may write
    found = {}
    with torch.random.fork_rng(devices=[]), one_thread():
        for program in blocks(API[name])[: 1 if name == "ensembles" else None]:
            exec(compile(program, f"{name}.md", "exec"), found)
    assert HOLDS[name](found, capsys.readouterr().out)


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """What the page's programs leave behind; not those for other packages, see tests/peers."""
    programs = blocks(API["training"])
    others = ["lightning" in one or "skorch" in one for one in programs]
    assert others == [False] * 3 + [True] * 3 + [False] * 4
    found = {}
    with torch.random.fork_rng(devices=[]):
        for block in programs[:2]:
            exec(compile(block, "training.md", "exec"), found)
        found["start"] = found["untrained"]()
        found["pixels"] = dict(found)
        exec(compile(programs[2], "training.md", "exec"), found["pixels"])
        exec(compile(programs[6], "training.md", "exec"), found)
        found["stream"] = dict(found)
        for block in programs[7:9]:
            exec(compile(block, "training.md", "exec"), found["stream"])
        found["kept"] = dict(found["stream"])
        with contextlib.chdir(tmp_path_factory.mktemp("runs")):
            exec(compile(programs[9], "training.md", "exec"), found["kept"])
    return found


def test_page_training(training):
    """Its plain loop is `fit`, to the bit, and learns the curve."""
    fitted, start = training["fitted"].state_dict(), training["start"].state_dict()
    for name, value in training["net"].state_dict().items():
        assert torch.equal(value, fitted[name]), name
        assert not torch.equal(value, start[name]), name
    first, *_, last = training["history"]
    assert last["step"] == training["step"] == 300 and last["nll"] < 0.5 * first["nll"]
    weights = [row["beta"] for row in training["history"]]
    assert weights[:2] == [3 / 150, 6 / 150]
    assert set(weights[49:]) == {1.0} == {training["beta"]}
    assert training["outputs"].shape == (25 * 4, 200, 2)


def test_what_else_the_page_trains(training):
    own = training["pixels"]
    outputs = own["predict"](own["net"], own["images"])
    assert own["maps"].shape == (6, 5, 16, 16)
    torch.testing.assert_close(
        own["per_pixel"](outputs, own["labels"]),
        softmax_cross_entropy(outputs.movedim(2, -1).flatten(1, 3), own["labels"].flatten()),
    )
    whole, *halves = (
        training["predict"](net, training["x"]) for net in (training["whole"], *training["halves"])
    )
    torch.testing.assert_close(whole, torch.cat(halves))
    assert not torch.equal(*halves)
    inputs, labels = training["stream"]["inputs"], training["stream"]["labels"]
    assert [*inputs] == ["input_ids"] and inputs["input_ids"].shape == (3, 7)
    assert labels.tolist() == [0, 0, 0]
    kept = training["kept"]
    assert kept["probabilities"].shape == (360, 10) and kept["again"] is not kept["net"]


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


def test_all_that_is_refused_on_the_page_is_tried():
    page = API["data"].read_text(encoding="utf-8").split("## When your own table is refused")[1]
    listed = ROWS.findall(page.split("```")[0])[1:]
    assert len(listed) == len(CASES)
    assert all(words in row for words, row in zip(CASES, listed, strict=True))


@pytest.mark.bad_input
@pytest.mark.parametrize("words", CASES)
def test_a_table_is_refused_in_the_words_of_the_page(words):
    with pytest.raises((KeyError, ValueError, UserWarning), match=words):
        CASES[words]()


#: A paragraph that ends in "::", and the indented lines after it.
LITERAL = re.compile(r"::\n\n((?:(?:    .*)?\n)+)")
# What the code of a module's docstring takes for granted.
GIVEN = """
from typing import Any
import numpy as np
import torch
from numpy.random import Generator
from torch.nn.functional import cross_entropy
from {module} import *
M: int
N: int
steps: int
examples: int
x: Any
y: Any
net: Any
optimizer: Any
batch: Any
"""
TORCH = "from ensedu.torch import mlp\nfrom ensedu.torch.train.checkpoints import resume, save\n"


def modules():
    """Return every module of the package."""
    found = pkgutil.walk_packages(ensedu.__path__, "ensedu.")
    return [importlib.import_module(one.name) for one in found if "__main__" not in one.name]


def documented(module):
    """Yield (name, docstring) of a module and of what it defines."""
    yield module.__name__, inspect.getdoc(module) or ""
    own = [
        one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__
    ]
    parts = [part for one in own if inspect.isclass(one) for part in vars(one).values()]
    for thing in [*own, *parts]:
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"{module.__name__}.{thing.__qualname__}", inspect.getdoc(thing) or ""


def examples():
    """Return name to program of every example: of pages, and those after >>> and "::"."""
    programs = {f"README_{i}": block for i, block in enumerate(blocks(ROOT / "README.md"))}
    for page in sorted((ROOT / "book" / "api").glob("*.md")):
        if page.stem != "training":  # it shows Lightning, which is absent here
            programs[f"page_{page.stem}"] = "\n".join(blocks(page))
    for module in modules():
        for name, text in documented(module):
            parts = doctest.DocTestParser().get_examples(text)
            source = "".join(part.source for part in parts)
            if source:
                programs[name] = f"from {module.__name__} import *\n{source}"
        for i, literal in enumerate(LITERAL.findall(inspect.getdoc(module) or "")):
            code = textwrap.dedent(literal)
            if is_program(code):
                more = TORCH if module.__name__.startswith("ensedu.torch") else ""
                given = GIVEN.format(module=module.__name__)
                programs[f"{module.__name__}_{i}"] = given + more + code
    return programs


def is_program(code):
    """Whether a literal block is Python, and no line for a shell."""
    try:
        return any(not isinstance(part, ast.Expr) for part in ast.parse(code).body)
    except SyntaxError:
        return False


#: What a checker that sees the annotations finds, each in its second line.
WRONG = {
    "wrong_argument": "from ensedu.counting import mlp\nmlp('2', 3)\n",
    "wrong_result": "from ensedu import counting\ncounting.mlp([1, 2]).totl\n",
    "wrong_function": "from ensedu import counting\ncounting.rank1(2, 3, 4).totl\n",
}


@pytest.mark.weekly
def test_a_type_checker_sees_the_annotations_and_finds_nothing_in_the_examples(tmp_path):
    programs = examples()
    for shown, least in (("README", 2), ("page", 8), ("", 20)):
        assert len([name for name in programs if name.startswith(shown)]) >= least
    for name, source in (programs | WRONG).items():
        (tmp_path / f"{name.replace('.', '_').replace('-', '_')}.py").write_text(source)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    found = re.findall(r"(\w+)\.py:(\d+): error", done.stdout)
    assert {*found} == {(name, "2") for name in WRONG}, done.stdout + done.stderr
