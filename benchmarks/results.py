"""Write what was measured as JSON that people can read, too: one contestant a line."""

import json
import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
DEPTH = 3  # what is nested no deeper stands on one line


def write(path, result):
    """Write a result with numbers rounded to four digits, more than a time is worth."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A reader never finds half a file.
    part = path.with_name(path.name + ".part")
    part.write_text(text(rounded(result)) + "\n", encoding="utf-8")
    part.replace(path)


def in_readme(name):
    """Return what stands in the README between the marks of `name`."""
    return _marked(name).search(README.read_text(encoding="utf-8"))[2]


def to_readme(name, words):
    """Put `words` there."""
    text = README.read_text(encoding="utf-8")
    README.write_text(_marked(name).sub(lambda m: m[1] + words + m[3], text), encoding="utf-8")


def _marked(name):
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->\n)", re.DOTALL)


def rounded(value):
    """Round every float in a tree of dicts and lists."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def text(value, indent=""):
    """Return JSON in which what is nested deeper than `DEPTH` breaks into lines."""
    if depth(value) <= DEPTH:
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, list):
        lines = [inner + text(item, inner) for item in value]
        return "[\n" + ",\n".join(lines) + f"\n{indent}]"
    pairs = {key: f"{json.dumps(key)}: {text(item, inner)}" for key, item in value.items()}
    flat = ", ".join(pair for key, pair in pairs.items() if depth(value[key]) == 0)
    lines = [flat] * bool(flat) + [pair for key, pair in pairs.items() if depth(value[key])]
    return "{" + f",\n{inner}".join(lines) + f"\n{indent}}}"


def depth(value):
    """Return how many dicts and lists stand inside each other."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return 0
    return 1 + max(map(depth, value), default=0)
