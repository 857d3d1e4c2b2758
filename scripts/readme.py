"""Write into the README what the package's results hold: the table of starts.

python scripts/readme.py
"""

import re
from pathlib import Path

from ensedu import measured
from ensedu.methods import METHODS

README = Path(__file__).parents[1] / "README.md"


def main():
    """Write the table between its marks."""
    to_readme("starts", starts(measured.load("starts")))


def in_readme(name):
    """Return what stands in the README between the marks of `name`."""
    return _marked(name).search(README.read_text(encoding="utf-8"))[2]


def to_readme(name, words):
    """Put `words` there."""
    text = README.read_text(encoding="utf-8")
    README.write_text(_marked(name).sub(lambda m: m[1] + words + m[3], text), encoding="utf-8")


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
    return "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


def percent(part):
    """Write a part in hundredths, with a decimal where it is small and not 0."""
    return f"{100 * part:.{1 if 0 < part < 0.1 else 0}f} %"


def _marked(name):
    return re.compile(rf"(<!-- {name} -->\n)(.*?)(<!-- end of {name} -->\n)", re.DOTALL)


if __name__ == "__main__":
    main()
