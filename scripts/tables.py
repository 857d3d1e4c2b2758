"""Write into pages of the API what the package's results hold: tables of starts, speed and weight.

python scripts/tables.py
"""

import re
from pathlib import Path

from ensedu.methods import METHODS
from workshop import measured

API = Path(__file__).parents[1] / "book" / "api"
#: The page of each table.
PAGES = {"starts": "ensembles", "zoo": "ensembles", "speed": "counting", "whole": "counting"}
#: Layers beside other packages, four members: (inputs and outputs, examples).
SIZES = ((50, 32), (256, 32), (256, 256), (1024, 256))
PACKAGES = ("ensedu", "tabm", "torch-uncertainty", "bayesian-torch", "BLiTZ")


def main():
    """Write the tables between their marks."""
    to_page("starts", starts(measured.load("starts")))
    to_page("speed", speed(measured.load("speed-cpu")))
    to_page("whole", whole(measured.load("whole-models")))


def on_page(name):
    """Return what stands on the page of a table between its marks."""
    return _marked(name).search(_page(name).read_text(encoding="utf-8"))[2]


def to_page(name, words):
    """Put `words` there."""
    text = _page(name).read_text(encoding="utf-8")
    _page(name).write_text(_marked(name).sub(lambda m: m[1] + words + m[3], text), encoding="utf-8")


def starts(result):
    """Return the summary of how far each start moves a trained network, in Markdown."""
    head = ["method", "start", "outputs move by", "accuracy of the ensemble"]
    lines = [head, ["---", "---", "--:", "--:"]]
    for row in result["summary"]:
        options = ", ".join(
            f'{key}="{value}"' if isinstance(value, str) else f"{key}={value}"
            for key, value in row["options"].items()
        )
        start = [METHODS[row["method"]].label, f"`{options}`"]
        if row["method"] == "single":
            start = ["one network", "as it was trained"]
        lines.append([*start, percent(row["moved"]), f"{100 * row['accuracy']:.0f} %"])
    return _table(lines)


def speed(result):
    """Return how long a training pass of a layer takes in each package, in Markdown."""
    head = ["layer", *PACKAGES]
    lines = [head, ["---", *["--:"] * (len(head) - 1)]]
    for method in ("deep_ensemble", "batch_ensemble", "mean_field"):
        for m, B in SIZES:
            row = measured.row(result["cells"], method=method, m=m, M=4, B=B)
            found = [times(row["contestants"], name) for name in PACKAGES]
            lines.append([f"{METHODS[method].label}, width {m:,}, {B} examples", *found])
    return _table(lines)


def whole(result):
    """Return what a step of a whole model takes by each method, and weighs, in Markdown."""
    lines = [["", "a step", "memory in a step", "parameters"], ["---", "--:", "--:", "--:"]]
    for name, found in result["contestants"].items():
        method, comma, how = name.partition(",")
        label = METHODS[method].label if method in METHODS else method
        weights = (f"{found[key] / 1e6:.0f} MB" for key in ("peak_bytes", "parameter_bytes"))
        lines.append([label + comma + how, f"{found['ratio'][1]:.1f}", *weights])
    return _table(lines)


def times(contestants, name):
    """Return the time of a pass over that of plain layers: with the KL, where a method has one."""
    found = contestants.get(f"{name}, with KL", contestants.get(name))
    return f"{found['forward+backward']['ratio'][1]:.2f}" if found else "–"


def percent(part):
    """Write a part in hundredths, with a decimal where it is small and not 0."""
    return f"{100 * part:.{1 if 0 < part < 0.1 else 0}f} %"


def _page(name):
    return API / f"{PAGES[name]}.md"


def _table(lines):
    return "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


def _marked(name):
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->\n)", re.DOTALL)


if __name__ == "__main__":
    main()
