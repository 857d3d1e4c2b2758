"""What the zoo found: the results file, and the table of it in the book."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from ensedu.methods import METHODS
from scripts import tables
from workshop import measured
from workshop.running import json_files
from workshop.running.machine import machine

ROOT = Path(__file__).parents[2]
FILE = ROOT / "book" / "workshop" / "results" / "zoo.json"
LIBRARIES = (
    "torch", "torchvision", "timm", "transformers", "segmentation-models-pytorch", "diffusers",
)  # fmt: skip
RAISED = "¹²³⁴⁵⁶⁷⁸⁹"


def committed() -> dict[str, Any]:
    """The results file as it stands; without rows if there is none yet."""
    return measured.load("zoo") if FILE.exists() else {"rows": []}


def write(rows: list[dict[str, Any]], members: int) -> None:
    """Write the results, and the table. A file that says the same stays as it is."""
    # What follows a plus says for which device it was built.
    versions = {name: version(name).partition("+")[0] for name in LIBRARIES}
    found = {"machine": machine() | {"versions": versions}, "members": members, "rows": rows}
    old = committed()
    if [old["rows"], old.get("machine", {}).get("versions")] != [rows, versions]:
        json_files.write_json(FILE, found)
    tables.to_page("zoo", table(found))


def table(found: dict[str, Any]) -> str:
    """The results in Markdown: architectures down, methods across, notes below."""
    rows = found["rows"]
    cells = [cell for row in rows for cell in row["methods"].values()]
    errors = list(dict.fromkeys(cell["result"] for cell in cells if cell["result"] != "exact"))
    columns: dict[tuple[str, ...], list[str]] = {}  # methods with the same marks share a column
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
            summary(found, cells),
            "",
            ":::{dropdown} All of them",
            "",
            *("| " + " | ".join(line) + " |" for line in lines),
            "",
            "✓ exact, in eval mode; ✓ˢ exact with what stands after the name; ᵗ members run in "
            f"turn, as copies always do; {notes}.",
            ":::",
            "",
        ]
    )


def mark(cell: dict[str, Any], errors: list[str]) -> str:
    """One cell of the table."""
    if cell["result"] == "exact":
        return "✓" + "ˢ" * ("given" in cell) + "ᵗ" * ("in_turn" in cell)
    return RAISED[errors.index(cell["result"])]


def summary(found: dict[str, Any], cells: list[dict[str, Any]]) -> str:
    """How many conversions there are of each kind."""
    exact = [cell for cell in cells if cell["result"] == "exact"]
    given = sum("given" in cell for cell in exact)
    versions = ", ".join(
        f"{name} {number}" for name, number in found["machine"]["versions"].items()
    )
    return (
        f"{len(found['rows'])} architectures, {len(cells)} conversions: {len(exact) - given} are "
        f"exact as they are, {given} with `shared` or `modulated`, and {len(cells) - len(exact)} "
        f"are an error that says why not. Tried with {versions}."
    )
