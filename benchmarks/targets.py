"""What our layers promise of their speed, and whether a measurement keeps it.

python benchmarks/targets.py book/workshop/results/speed-cpu.json --strict
"""

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

#: What is timed. A first layer is one whose input wants no gradient.
KINDS = ("forward", "forward+backward", "first layer", "step")
DEEP = [(m, 4, B) for m in (256, 512, 1024, 2048) for B in (32, 128, 256, 1024)]
SHARED = [(256, 4, 1024), (768, 4, 64), (50, 16, 1024)]


@dataclass(frozen=True)
class Target:
    """A method takes at most `times` as long as a contestant, at these sizes (m, M, B).

    Without `times` it is not slower beyond noise: its quartiles lie lower, or overlap.
    """

    method: str
    words: str
    than: str
    sizes: list[tuple[int, int, int]]
    times: float | None = None


TARGETS = (
    Target("deep_ensemble", "deep ensemble: 1.1 x M calls of nn.Linear", "limit", DEEP, 1.1),
    Target("deep_ensemble", "deep ensemble: not slower than tabm's", "tabm", DEEP),
    Target("batch_ensemble", "BatchEnsemble: 1.15 x nn.Linear, M B rows", "limit", SHARED, 1.15),
    Target("rank1", "rank-1: 1.2 x nn.Linear over M B rows", "limit", SHARED, 1.2),
)


def sizes(method):
    """Return the sizes (m, M, B) at which something is promised of a method."""
    return list(dict.fromkeys(s for t in TARGETS if t.method == method for s in t.sizes))


def checked(cells):
    """Return a row for each target and each of its cells: {target, m, M, B, values, missed}.

    `values` has the median ratio by kind of pass, `missed` the kinds in which it is too large.
    """
    found = {(c["method"], c["m"], c["M"], c["B"]): c["contestants"] for c in cells}
    rows = []
    for target in TARGETS:
        for m, M, B in target.sizes:
            contestants = found.get((target.method, m, M, B))
            if contestants is None or target.than not in contestants:
                continue
            ours, theirs = contestants["ensedu"], contestants[target.than]
            values, missed = {}, []
            for kind in KINDS:
                (low, middle, _), other = ours[kind]["ratio"], theirs[kind]["ratio"]
                values[kind] = middle / other[1]
                if low > other[2] if target.times is None else values[kind] > target.times:
                    missed.append(kind)
            rows.append(
                {"target": target.words, "m": m, "M": M, "B": B, "values": values, "missed": missed}
            )
    return rows


def table(rows):
    """Yield the lines of a table; a star marks what is too large."""
    yield f"{'target':43}{'m':>5}{'M':>4}{'B':>6}" + "".join(f"{kind:>18}" for kind in KINDS)
    for row in rows:
        values = "".join(
            f"{value:17.2f}{'*' if kind in row['missed'] else ' '}"
            for kind, value in row["values"].items()
        )
        verdict = "MISS" if row["missed"] else "pass"
        yield f"{row['target']:43}{row['m']:5}{row['M']:4}{row['B']:6}{values}  {verdict}"
    met = sum(len(row["values"]) - len(row["missed"]) for row in rows)
    yield f"{met} of {sum(len(row['values']) for row in rows)} targets met"


def verdict(cells, strict=False):
    """Print the table; return the exit status, 1 for a miss if that is `strict`."""
    rows = checked(cells)
    print(*table(rows), sep="\n")
    return int(strict and any(row["missed"] for row in rows))


def main(arguments=None):
    """Check a file that `bench.py` wrote."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="the JSON to read")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(arguments)
    cells = json.loads(options.path.read_text(encoding="utf-8"))["cells"]
    return verdict(cells, options.strict)


if __name__ == "__main__":
    sys.exit(main())
