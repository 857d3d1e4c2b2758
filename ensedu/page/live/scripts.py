"""The scripts of what lives on a page: small ES modules, joined into one text of two lives.

`module` is an ES module, as Jupyter loads it; `classic` is a plain script, as a page that lies in a
folder can load. Both are the same functions between another head and tail.
"""

import functools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import Colormap, to_hex

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot import style

__all__ = ["classic", "engine", "module"]

HERE = Path(__file__).parent
#: What a Worker runs as well, and what only a page does, each after what it needs.
WORKER = ("random", "engine", "worker")
PAGE = (
    "toys", "link", "forecast", "paint", "runner", "story", "python", "guides", "controls",
    "trainer", "editor", "stage", "settings", "app",
    "digit", "start",
)  # fmt: skip
#: Colors of what has no color in figures: up to three classes, and doubt on a map.
CLASSES = {"light": ("#3a6fb0", "#c4572b", "#7d8a00"), "dark": ("#79b3f2", "#ff9a6b", "#c9d64a")}
DOUBT = {"light": "#5b1e86", "dark": "#e0b3ff"}
IMPORT = re.compile(r"^import [^;]+;\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|class|function) (\w+))", re.MULTILINE)


def _part(name: str) -> tuple[str, list[str]]:
    """Return a file without imports and exports, and the names that it exported."""
    text = (HERE / f"{name}.js").read_text(encoding="utf-8")
    return EXPORT.sub("", IMPORT.sub("", text)).strip(), EXPORT.findall(text)


def house() -> dict[str, Any]:
    """Return the labels and colors of the book, for the scripts."""

    def look(dark: bool, heat: Colormap) -> dict[str, Any]:
        own = style.DARK if dark else {}
        name = "dark" if dark else "light"
        colors = {method: own.get(color, color) for method, color in plot.PALETTE.items()}
        plain = {"ink": style.INK, "muted": style.MUTED, "grid": style.GRID, "page": style.PAGE}
        return {key: own.get(color, color) for key, color in plain.items()} | {
            "colors": colors,
            "classes": CLASSES[name],
            "doubt": DOUBT[name],
            "heat": [to_hex(heat(place)) for place in np.linspace(0, 1, 33)],
        }

    labels = {key: method.label for key, method in METHODS.items()}
    return {
        "labels": labels,
        "light": look(False, style.HEAT),
        "dark": look(True, style.DARK_HEAT),
    }


def engine() -> str:
    """Return what a Worker runs: a function, as text, whose object holds all of it by name."""
    parts = [_part(name) for name in WORKER]
    names = ", ".join(name for _, names in parts for name in names)
    texts = "\n\n".join(text for text, _ in parts)
    return f"() => {{\n{texts}\n\nreturn {{ {names} }};\n}}"


@functools.cache
def _joined() -> tuple[str, str]:
    """Return all functions as one text, and the names of those that the files exported."""
    worker, page = ([_part(name) for name in names] for names in (WORKER, PAGE))
    inside = ", ".join(name for _, names in worker for name in names)
    outside = ", ".join(name for _, names in (*worker, *page) for name in names)
    text = "\n\n".join(
        (
            f"const ENGINE = {engine()};",
            f"const {{ {inside} }} = ENGINE();",
            f"const HOUSE = {json.dumps(house(), ensure_ascii=False)};",
            *(text for text, _ in page),
        )
    )
    return text, outside


def module() -> str:
    """Return the ES module: every function by name, and as its default what anywidget calls."""
    text, names = _joined()
    named = names.removesuffix(", render")  # anywidget wants it in the default alone
    return f"{text}\n\nexport {{ {named} }};\nexport default {{ render }};\n"


def classic() -> str:
    """Return the script of a page: every function is in ``ensedu``, and it starts by itself."""
    text, names = _joined()
    return (
        f'globalThis.ensedu = (() => {{\n"use strict";\n\n{text}\n\n'
        f"return {{ {names} }};\n}})();\nensedu.begin();\n"
    )
