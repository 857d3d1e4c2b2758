"""What the package holds beside Python: each file is in the wheel, each script is on some page."""

import re
import tomllib
from pathlib import Path

from ensedu.page import guide, live, playground, ranking, scripts
from ensedu.page.live.scripts import BUNDLE as TRAINER
from ensedu.page.playground.layers import BUNDLE as LAYER

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ensedu"
BUNDLES = (TRAINER, LAYER, ranking.BUNDLE, guide.BUNDLE)
ALONE = "explore.js"  # on every page, and of one file


def test_every_file_is_in_the_wheel():
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = about["tool"]["setuptools"]["package-data"]["ensedu"]
    packed = {pattern: set(PACKAGE.glob(pattern)) for pattern in patterns}
    assert all(packed.values()), packed
    files = {
        path
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and path.name[0] != "."
    }
    assert files - set().union(*packed.values()) == set()


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_every_script_is_part_of_a_bundle():
    joined = {path for bundle in BUNDLES for path in (*bundle.worker, *bundle.page)}
    folders = [Path(one.__file__).parent for one in (live, playground)]
    folders += [scripts.HERE, scripts.HERE / "common"]
    found = {path for folder in folders for path in folder.glob("*.js")} - {scripts.HERE / ALONE}
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
