"""How the package is built: which part may import which, and examples that print what they say."""

import ast
import doctest
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: The package, and what makes the book with it, by the folders that hold them.
ROOTS = dict.fromkeys(("ensedu", "scripts", "benchmarks"), ROOT)
ROOTS |= dict.fromkeys(("workshop", "_ext"), ROOT / "book")

#: From the ground up: a module imports from its own part, and from parts in the rows before it.
FLOORS = (
    ("ensedu.common",),
    ("ensedu.methods", "ensedu.priors", "ensedu.data", "ensedu.uncertainty"),
    ("ensedu.numpy", "ensedu.counting", "ensedu.colors"),
    ("ensedu.torch", "ensedu.costs"),
    ("ensedu.theory", "ensedu.sklearn", "ensedu.xray"),
    ("ensedu.contest",),
    ("ensedu.command",),
    ("ensedu.__main__",),  # the door
    ("workshop",),
    ("_ext", "scripts", "benchmarks"),
)
#: Inside a part, floor by floor, what stands on what else is there.
INSIDE = {
    "ensedu.torch": (
        ("network", "models", "twins", "trees", "inputs"),
        ("losses", "ensembling"),
        ("train",),
    ),
    "ensedu.torch.ensembling": (
        ("module_rules",),
        ("model_specs", "member_weights"),
        ("stand_ins",),
        ("model_checks", "member_copies", "model_ensemble"),
        ("ensemble",),
        ("conversions",),
    ),
    "ensedu.contest": (("trainers",), ("contestants",), ("one_table",)),
    "workshop": (("running", "plot"), ("experiments",), ("page",), ("figures",)),
}


def name_of(path, root):
    """Return a module's name, and of a package's face that of the package."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {
    name_of(path, root): path
    for package, root in ROOTS.items()
    for path in sorted((root / package).rglob("*.py"))
}


@cache
def imports(name):
    """Return what a module imports from ours, wherever in it: pairs of a module and a name."""
    found = set()
    for node in ast.walk(ast.parse(PATHS[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(one.name, "") for one in node.names if one.name.split(".")[0] in ROOTS}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, (name, "imports are absolute")
            beside = f"_ext.{node.module}"  # so extensions import each other
            module = beside if within(name, "_ext") and beside in PATHS else node.module
            if module.split(".")[0] not in ROOTS:
                continue
            for one in node.names:
                whole = f"{module}.{one.name}"
                found.add((whole, "") if whole in PATHS else (module, one.name))
    return found


def within(name, part):
    """Whether a module is a part, or inside it."""
    return name == part or name.startswith(f"{part}.")


def floor(name):
    """Return the row of `FLOORS` and the part in it that a module belongs to."""
    rows = [(i, part) for i, row in enumerate(FLOORS) for part in row if within(name, part)]
    assert len(rows) == 1, (name, rows)
    return rows[0]


@pytest.mark.parametrize("name", [name for name in PATHS if name != "ensedu"])
def test_imports_run_one_way(name):
    row, part = floor(name)
    for source, _ in imports(name):
        if source == "ensedu":  # its version
            continue
        lower, other = floor(source)
        assert other == part or lower < row, f"{name} imports {source}"


@pytest.mark.parametrize("part", INSIDE)
def test_imports_run_one_way_inside(part):
    """What is not in a folder stands below them; the face hands all of it on."""

    def height(name):
        rows = enumerate(INSIDE[part], 1)
        return next((i for i, row in rows for one in row if within(name, f"{part}.{one}")), 0)

    seen = set()
    for name in PATHS:
        if within(name, part) and name != part:
            for source, _ in imports(name):
                if within(source, part):
                    assert height(source) <= height(name), f"{name} imports {source}"
                    seen.add((height(name), height(source)))
    assert {own for own, _ in seen} >= {*range(1, len(INSIDE[part]) + 1)}


def test_no_modules_import_each_other_in_a_circle():
    """Not by way of a package's face, either."""
    graph = {name: {source for source, _ in imports(name)} - {name} for name in PATHS}
    TopologicalSorter(graph).prepare()  # raises, and names the circle


def test_no_module_imports_what_another_keeps_to_itself():
    for name in PATHS:
        assert not [(source, own) for source, own in imports(name) if own[:1] == "_"], name


def test_importing_the_package_loads_nothing():
    assert imports("ensedu") == set()


EXAMPLES = [
    name
    for name, path in PATHS.items()
    if within(name, "ensedu") and ">>> " in path.read_text(encoding="utf-8")
]


def test_there_are_examples():
    assert len(EXAMPLES) > 20


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_print_what_they_say(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed
