"""Imports run one way: layers <- networks and twins <- whole models <- training <- the face."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ensedu" / "torch"
ABOVE_LAYERS = ("network", "models", "convert")
LEVELS = ("layers", "networks", "whole", "train", "face")


def level(module):
    """Return how far up a module of the package stands: "" is the face."""
    first = module.partition(".")[0]
    if first in ("whole", "train"):
        return LEVELS.index(first)
    return LEVELS.index("networks" if first in ABOVE_LAYERS else "layers" if first else "face")


def imported(tree):
    """Yield the modules of the package that a module imports, at its top or inside a function."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module.startswith("ensedu.torch"):
            folder = PACKAGE.joinpath(*node.module.split(".")[2:])
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = inside if folder.is_dir() else [node.module]
        for name in names:
            if name.startswith("ensedu.torch"):
                yield name.removeprefix("ensedu.torch").removeprefix(".")


def test_no_module_imports_what_stands_above_it():
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    seen = set()
    for path in paths:
        own = ".".join(path.parts).removesuffix("__init__").removesuffix(".")
        source = (PACKAGE / path).with_suffix(".py").read_text(encoding="utf-8")
        for other in imported(ast.parse(source)):
            assert level(other) <= level(own), (own, other)
            seen.add((level(own), level(other)))
    assert seen >= {(1, 0), (2, 0), (3, 1), (3, 2), (4, 3)}
