"""Write into pages of the API what results hold: tables of starts, speed, weight and the zoo.

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
RAISED = "¹²³⁴⁵⁶⁷⁸⁹"
PACKAGES = ("ensedu", "tabm", "torch-uncertainty", "bayesian-torch", "BLiTZ")


def main():
    """Write the tables between their marks."""
    to_page("starts", starts(measured.load("starts")))
    to_page("speed", speed(measured.load("speed-cpu")))
    to_page("whole", whole(measured.load("whole-models")))
    to_page("zoo", zoo(measured.load("zoo")))


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


def zoo(result):
    """Return what became of each architecture under each method, in Markdown, with notes below."""
    rows = result["rows"]
    cells = [cell for row in rows for cell in row["methods"].values()]
    errors = list(dict.fromkeys(cell["result"] for cell in cells if cell["result"] != "exact"))
    columns = {}  # methods with the same marks share a column
    for key in rows[0]["methods"]:
        marks = tuple(mark(row["methods"][key], errors) for row in rows)
        columns.setdefault(marks, []).append(METHODS[key].label)
    head = ["architecture", *(", ".join(names) for names in columns.values())]
    lines = [head, ["---", *[":-:"] * len(columns)]]
    for i, row in enumerate(rows):
        given = {f": `{cell['given']}`" for cell in row["methods"].values() if "given" in cell}
        lines.append(["".join([row["architecture"], *given]), *(column[i] for column in columns)])
    notes = "; ".join(f"{RAISED[i]} {error}" for i, error in enumerate(errors))
    return "\n".join(
        [
            summary(result, cells),
            "",
            ":::{dropdown} All of them",
            "",
            _table(lines)[1:-1],
            "✓ exact, in eval mode; ✓ˢ exact with what stands after the name; ᵗ members run in "
            f"turn, as copies always do; {notes}.",
            ":::",
            "",
        ]
    )


def mark(cell, errors):
    """Return one cell of the table."""
    if cell["result"] == "exact":
        return "✓" + "ˢ" * ("given" in cell) + "ᵗ" * ("in_turn" in cell)
    return RAISED[errors.index(cell["result"])]


def summary(result, cells):
    """Return how many conversions there are of each kind."""
    exact = [cell for cell in cells if cell["result"] == "exact"]
    given = sum("given" in cell for cell in exact)
    versions = ", ".join(
        f"{name} {number}" for name, number in result["machine"]["versions"].items()
    )
    return (
        f"{len(result['rows'])} architectures, {len(cells)} conversions: {len(exact) - given} are "
        f"exact as they are, {given} with `shared` or `modulated`, and {len(cells) - len(exact)} "
        f"are an error that says why not. Tried with {versions}."
    )


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
