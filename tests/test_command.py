"""The command line, held against formulas, published counts, and what the pages print."""

import json
import re
import runpy
import subprocess
import sys
import textwrap
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from ensedu import command, costs, counting
from ensedu.command.options import EXAMPLES
from ensedu.methods import METHODS, ROLES, layer_methods, size_option

ROOT = Path(__file__).parents[1]
LENET = "ensedu.torch.models:lenet5"
#: In, out, kernel, and positions in and out of each layer of LeNet-5.
LAYERS = (
    (1, 6, 5, 28 * 28, 28 * 28), (6, 16, 5, 14 * 14, 10 * 10),
    (400, 120, 1, 1, 1), (120, 84, 1, 1, 1), (84, 10, 1, 1, 1),
)  # fmt: skip
NETS = '''
"""Models of a reader's own."""

import numpy as np
import torch
from torch import nn

print("said while imported")
ready = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
ready[0].weight.requires_grad_(False)
number = 13


def net():
    print("said while built")
    return nn.Sequential(nn.Linear(5, 7), nn.Dropout(0.5), nn.Linear(7, 3))


def blank():
    with torch.device("meta"):
        return nn.MultiheadAttention(7, 1, bias=False)


def half():
    return net().half()


class Space:
    net = net


def wide(width):
    return nn.Linear(width, 3)


def words():
    return ["no", "module"]


def broken():
    return ready(torch.zeros(2, 11))


def values():
    """Needs values while it is built."""
    model = nn.Linear(5, 7 if torch.ones(1).item() == 1 else 11)
    return model


class Caster(nn.Linear):
    """A product of a class of its own, which shows in values alone."""

    def forward(self, x):
        return super().forward(x.to(self.weight.dtype))


def caster():
    return nn.Sequential(Caster(5, 7), nn.Linear(7, 3))


class Tied(nn.Module):
    """Attention between words, and a last layer that has the weight of the first."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 6)
        self.attention = nn.TransformerEncoderLayer(6, 2, 13, batch_first=True)
        self.last = nn.Linear(6, 11, bias=False)
        self.last.weight = self.words.weight

    def forward(self, x):
        return self.last(self.attention(self.words(x)))


class Mixed(nn.Module):
    """A buffer with values wherever it is built, and a weight of two layers."""

    def __init__(self):
        super().__init__()
        print("said while built")
        self.words, self.middle = nn.Embedding(11, 6), nn.Linear(6, 6)
        self.last = nn.Linear(6, 11, bias=False)
        self.last.weight = self.words.weight
        self.register_buffer("places", torch.from_numpy(np.ones((3, 6), np.float32)))

    def forward(self, x):
        return self.last(self.middle(self.words(x) + self.places))


class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.ones(5, n)) for n in (7, 3))

    def forward(self, x):
        return x @ self.first, x @ self.second


def lazy():
    return nn.LazyLinear(3)
'''


@pytest.fixture
def nets(tmp_path, monkeypatch):
    """A folder of a reader's own, with a module that no other test has loaded."""
    (tmp_path / "readers_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("readers_")]:
        del sys.modules[name]


@pytest.fixture
def report(capsys):
    """Return what ``--json`` prints, by the method's key."""

    def run(*arguments):
        assert command.main(["count", *arguments, "--json"]) == 0
        return {row["method"]: row for row in json.loads(capsys.readouterr().out)["methods"]}

    return run


def roles(row):
    return counting.Count(**{key: row[key] for key in (*ROLES, "frozen")})


@pytest.mark.parametrize("M", [1, 3, 1_000_003])
def test_counts_and_costs_of_a_convolutional_network_are_those_of_the_formulas(report, M):
    """Layer by layer: the command measures a pass, and formulas know the sizes."""
    B = 2
    arguments = "--head", "11", "--input", "1,28,28", "--batch", str(B), "--ensemble-size", str(M)
    rows = report(LENET, *arguments)
    assert [key for key, row in rows.items() if "refused" not in row] == [
        key for key in METHODS if key != "mc_dropout"
    ]
    assert "no dropout to keep active" in rows.pop("mc_dropout")["refused"]
    for key, row in rows.items():
        expected, flops, size = counting.Count(), 0, size_option(key, M)
        for kind, (m, n, kernel, before, after) in zip(layer_methods(key, 5), LAYERS, strict=True):
            own = size_option(kind, M)
            expected += counting.layer(m, n, kind, own.get("ensemble_size"), kernel_size=kernel)
            places = {"in_positions": before, "out_positions": after}
            cost = costs.layer(
                m, n, kind, **own, batch_size=B, kernel_size=kernel, **places
            ).product_flops
            # What a layer has one copy of, one network computes: the body of a last-layer ensemble.
            flops += cost
        assert roles(row) == expected, key
        assert row["total"] == expected.total
        assert row["bytes"] == 4 * expected.total
        assert row["ratio"] == expected.total / 61_706
        assert row["flops"] == flops
        # By hand: 117,600 + 240,000 + 48,000 + 10,080 + 840 multiplications an example.
        products = 416_520 * (M if size else 1)
        if METHODS[key].body:  # which runs once
            products = 415_680 + M * 840
        assert flops == 2 * products * B, key
        assert row["flops_ratio"] == products / 416_520


def test_a_large_network_has_its_published_operations(report):
    rows = report("ensedu.torch.models:resnet50", "--method", "single", "--input", "3,224,224")
    # torchvision says 4.089 × 10^9 multiplications of its own.
    assert rows["single"]["flops"] == 2 * 4_089_184_256


@pytest.mark.parametrize("options", [(), ("--input", "1,28,28", "--batch", "3")])
def test_the_table_is_the_json(capsys, options):
    command.main(["count", LENET, *options])
    text = capsys.readouterr().out
    command.main(["count", LENET, *options, "--json"])
    report = json.loads(capsys.readouterr().out)
    assert command.tables(report) + "\n" == text
    for row in report["methods"]:
        line = re.search(rf"^{re.escape(row['label'])} .*", text, flags=re.MULTILINE)
        if "refused" in row:
            assert line is None
            continue
        shown = [number.replace(",", "") for number in line[0].split()[-7:]]
        numbers = [row[key] for key in (*ROLES, "total")]
        assert shown == [*map(str, numbers), f"{row['ratio']:.3f}", str(row["bytes"])]
    assert ("3 examples of 1 × 28 × 28" in text) == bool(options)
    assert ("FLOPs" in text) == bool(options)
    assert max(map(len, text.splitlines())) <= 90


def test_a_module_of_this_folder(nets, capsys):
    """What it prints is no part of what was counted."""
    assert command.main(["count", "readers_nets:net", "--method", "rank1", "--json"]) == 0
    said = capsys.readouterr()
    assert "said while imported" in said.err
    assert "said while built" in said.err
    single, rank1 = json.loads(said.out)["methods"]
    assert roles(single) == counting.mlp([5, 7, 3])
    assert roles(rank1) == counting.mlp([5, 7, 3], "rank1", 4)


def test_a_model_is_built_once_and_without_values(nets, capsys):
    """What has values all the same loses them, and what is tied stays tied."""
    options = "--input", "3", "--integers", "--shared", "words", "last"
    assert command.main(["count", "readers_nets:Mixed", *options, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.count("said while built") == 1
    rows = {row["method"]: row for row in json.loads(said.out)["methods"]}
    assert rows["single"]["total"] == 11 * 6 + 42
    assert rows["batch_ensemble"]["total"] == 11 * 6 + 36 + 4 * (12 + 6)
    assert rows["rank1"]["flops"] == 4 * 2 * 3 * (36 + 66)


def test_kinds_of_models(nets, report):
    """A ready module, a dotted name, and models whose code or classes need values."""
    single = report("readers_nets:ready", "--input", "5", "--ensemble-size", "3")
    assert single["single"]["frozen"] == single["batch_ensemble"]["frozen"] == 35
    assert single["batch_ensemble"]["flops"] == 3 * 2 * (35 + 21)
    assert "frozen parameters" in single["deep_ensemble"]["refused"]
    assert report("readers_nets:Space.net")["mc_dropout"]["total"] == 66
    assert report("readers_nets:half")["single"]["bytes"] == 2 * 66
    assert report("readers_nets:values", "--input", "5")["mean_field"]["total"] == 2 * 42
    assert report("readers_nets:blank")["single"]["total"] == 4 * 49
    rows = report("readers_nets:caster", "--input", "5")
    assert roles(rows["batch_ensemble"]) == counting.mlp([5, 7, 3], "batch_ensemble", 4)
    assert rows["batch_ensemble"]["flops"] == 4 * 2 * (35 + 21)


def test_flops_of_attention(nets, report):
    """Torch's fused kernel for it is unknown to its counter, which would say 0."""
    B, T, k, wide = 2, 3, 6, 13
    size = "--input", str(T), "--batch", str(B), "--integers"
    rows = report("readers_nets:Tied", *size, "--shared", "last", "words")
    attention = 4 * B * T * k * k + 2 * B * T * T * k
    products = attention + 2 * B * T * k * wide + B * T * k * 11
    assert rows["single"]["flops"] == 2 * products
    assert rows["deep_ensemble"]["flops"] == rows["rank1"]["flops"] == 4 * 2 * products
    # Its query, key and value have r and s each.
    own = 4 * (6 * k + 2 * k + 2 * (k + wide))
    assert rows["batch_ensemble"]["per_member"] == own == rows["rank1"]["stds"]
    once = report("readers_nets:Tied", *size, "--shared", "*.self_attn", "last", "words")
    # All members attend alike to one input.
    assert once["rank1"]["flops"] == 2 * (attention + 4 * (products - attention))
    # The weight of words and of the last layer is one.
    assert rows["single"]["total"] == 11 * k + 4 * (k * k + k) + 2 * k * wide + wide + k + 4 * k


def test_shared_modules_and_the_head(nets, report):
    rows = report("readers_nets:net", "--shared", "0", "--head", "2", "--ensemble-size", "5")
    assert rows["batch_ensemble"]["total"] == 42 + 21 + 5 * (7 + 3) + 5 * 3
    assert rows["last_layer"]["total"] == 42 + 5 * 24
    rows = report("readers_nets:Matrices", "--modulated", "fir*", "--shared", "second")
    assert rows["batch_ensemble"]["total"] == 35 + 15 + 4 * (5 + 7)
    rows = report("readers_nets:Matrices", "--shared", "second")
    assert "first (5, 7) of readers_nets.Matrices" in rows["rank1"]["refused"]


NAMES = {
    LENET: ("--head", "11", "--input", "1,28,28"),
    "readers_nets:Tied": ("--shared", "last", "words", "--input", "3", "--integers"),
    "readers_nets:Matrices": ("--modulated", "first", "second", "--input", "5"),
    "readers_nets:ready": ("--input", "5"),
}


@pytest.mark.parametrize("name", NAMES)
def test_many_members_are_counted_as_all_of_them_would_be(name, nets, report, monkeypatch):
    many = report(name, *NAMES[name], "--ensemble-size", "17")
    monkeypatch.setattr("ensedu.command.model_counts.MOST_BUILT", 17)
    assert many == report(name, *NAMES[name], "--ensemble-size", "17")
    assert len({row.get("total") for row in many.values()}) > 1


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["--version"])
    assert ended.value.code == 0
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert capsys.readouterr().out == f"ensedu {about['project']['version']}\n"


def test_help_needs_no_torch():
    """And comes at once: a process of its own, as a reader starts it."""
    run = [sys.executable, "-X", "importtime", "-m", "ensedu", "count", "--help"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert EXAMPLES in done.stdout
    lines = done.stderr.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time")}
    assert imported == {line.rpartition("|")[2].strip() for line in lines}  # it says no more
    assert "ensedu.command" in imported
    assert not imported & {"torch", "numpy"}


def test_a_program_of_its_own(nets, monkeypatch, capsys):
    """What ``python -m ensedu`` runs, here, where Torch is loaded already."""
    monkeypatch.setattr(sys, "argv", ["", "count", "readers_nets:net", "--method", "rank1"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("ensedu", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("readers_nets:net with 4 members\n")


#: The file that the examples of ``--help`` go on with.
OWN = EXAMPLES.partition("this folder:\n")[2].partition("\nand then")[0]


def lines():
    """Return the commands of ``--help``."""
    found = re.findall(r"^  python -m ensedu (.*)$", EXAMPLES, flags=re.MULTILINE)
    return [line.split() for line in found]


@pytest.mark.parametrize("arguments", lines(), ids=" ".join)
def test_the_examples_of_the_help_run(arguments, nets, capsys):
    (nets / "nets.py").write_text(textwrap.dedent(OWN))
    assert command.main(arguments) == 0
    assert "single" in capsys.readouterr().out
    sys.modules.pop("nets", None)


@pytest.mark.parametrize("page", ["book/api/counting.md", "README.md"])
def test_what_a_page_shows_is_what_is_printed(page, nets, capsys):
    text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
    shown = re.findall(r"^\$ python -m ensedu (.*)\n((?:.*\n)*?)```", text, flags=re.MULTILINE)
    assert shown or page == "README.md"
    for arguments, output in shown:
        assert command.main(arguments.split()) == 0
        assert capsys.readouterr().out == output
    # What trains for minutes is tests/contest/one_table/test_compare.py's.
    for arguments in re.findall(r"^python -m ensedu (?!compare)(.*)$", text, flags=re.MULTILINE):
        (nets / "nets.py").write_text(textwrap.dedent(OWN))
        assert command.main(arguments.split()) == 0
        sys.modules.pop("nets", None)


def test_the_script_of_an_installed_package():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = about["project"]["scripts"]["ensedu"].partition(":")
    assert getattr(import_module(module), name) is command.main


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere:net",), ["no module 'nowhere'"]),
        (("readers_nets.py:net",), ["no module 'readers_nets.py'", "write readers_nets:net"]),
        (("readers_nets",), ["MODULE:FACTORY", "ensedu.torch.models:lenet5", "'readers_nets'"]),
        (("readers_nets:nothing",), ["readers_nets has no 'nothing'"]),
        (("readers_nets:number",), ["readers_nets:number", "torch.nn.Module", "13 (int)"]),
        (("readers_nets:wide",), ["needs arguments", "'width'", "return wide(…)"]),
        (("readers_nets:words",), ["torch.nn.Module", "['no', 'module'] (list)"]),
        (("readers_nets:lazy",), ["lazy parameter"]),
        (("readers_nets:net", "--method", "rank2"), ["--method", "'rank2'", "'rank1'"]),
        (
            ("readers_nets:Tied", "--method", "rank1"),
            ["rank1: ", "words.weight = last.weight", "shared"],
        ),
        (("readers_nets:net", "--ensemble-size", "0"), ["--ensemble-size", "positive", "'0'"]),
        (("readers_nets:net", "--batch", "two"), ["--batch", "positive integer", "'two'"]),
        (("readers_nets:net", "--input", "5x7"), ["--input", "3,224,224", "'5x7'"]),
        (("readers_nets:net", "--input", "11"), ["--input", "float32", "(1, 11)", "1x11 and 5x7"]),
        (
            ("readers_nets:net", "--input", "5", "--batch", "9" * 18),
            ["--input", "float32", f"({'9' * 18}, 5)"],
        ),
        (("readers_nets:Tied", "--input", "3"), ["--input", "float32", "--integers says"]),
        (("readers_nets:net", "--batch", "7"), ["--batch is for --input"]),
        (("readers_nets:net", "--integers"), ["--integers is for --input"]),
        (("readers_nets:net", "--shared", "9"), ["--shared", "'9'", "0.weight"]),
        (("readers_nets:net", "--method", "last_layer"), ["--head must", "has 0, 2", "head='2'"]),
        (("readers_nets:net", "--method", "rank1", "--head", "2"), ["--head is for"]),
    ],
)
def test_what_cannot_be_counted_is_named(arguments, said, nets, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["count", *arguments])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("python -m ensedu count: error: ")
    for words in said:
        assert words in last
    assert "Traceback" not in err


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("source", "name", "line", "said"),
    [
        ("", "readers_nets:broken", "return ready(torch.zeros(2, 11))", "broken() raised Runtime"),
        ("import nowhere\n", "readers_own:net", "import nowhere", "readers_own cannot be imported"),
        ("import sys\nsys.exit(3)\n", "readers_own:net", "sys.exit(3)", "SystemExit: 3"),
    ],
)
def test_an_error_of_the_readers_own_code_keeps_its_place(source, name, line, said, nets, capsys):
    """The traceback has the reader's lines, and none of this package's or of Torch's."""
    (nets / "readers_own.py").write_text(source)
    with pytest.raises(SystemExit) as ended:
        command.main(["count", name])
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert err.count("Traceback") == 1
    assert line in err
    assert said in err.strip().splitlines()[-1]
    files = re.findall(r'^  File "(.*)", line', err, flags=re.MULTILINE)
    assert files and all(file.startswith(str(nets)) for file in files)


@pytest.mark.bad_input
def test_without_torch_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as ended:
        command.main(["count", LENET])
    assert ended.value.code == 2
    assert 'pip install "ensedu[torch]"' in capsys.readouterr().err
