"""What the README and CONTRIBUTING.md show in Python is Python, and what is a program runs."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
GOOD = re.compile(r"^# GOOD.*\n", flags=re.MULTILINE)


def examples(text):
    """Return the blocks of Python; of a bad and a good example in one block the good one."""
    return [GOOD.split(block)[-1] for block in BLOCK.findall(text)]


def programs(name):
    """Return the examples of a file that import what they use; the others are fragments."""
    found = examples((ROOT / name).read_text(encoding="utf-8"))
    return [source for source in found if imports(source)]


def imports(source):
    """Whether an example, which must be Python, has an import outside its functions."""
    return any(isinstance(part, (ast.Import, ast.ImportFrom)) for part in ast.parse(source).body)


@pytest.mark.parametrize(
    ("name", "source"),
    [(name, source) for name in ("README.md", "CONTRIBUTING.md") for source in programs(name)],
)
def test_example_runs(name, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write
    found, prices = {}, write_homes(tmp_path)
    exec(compile(source, name, "exec"), found)
    if "homes.csv" in source:
        written = pandas.read_csv(tmp_path / "intervals.csv")
        assert written["sold"].equals(pandas.read_csv(tmp_path / "new.csv")["sold"])
        inside = np.mean((written["low"] <= prices) & (prices <= written["high"]))
        # Of 200 new homes; what calibrates is a sample, too.
        assert 0.8 < inside < 0.99
        assert np.mean(written["high"] - written["low"]) < 2.5 * prices.std()
        assert np.std(written["price"] - prices) < 0.5 * prices.std()
    if "load_digits" in source:
        assert found["probabilities"].shape == (397, 10)
        assert 0.85 < (found["probabilities"].argmax(-1) == found["y"][1400:]).float().mean() < 0.95


def write_homes(folder):
    """Write the two files of a reader, as people write them; return the prices of the new rows."""
    rng, old, fresh = np.random.default_rng(0), 400, 200
    number = old + fresh
    size, year = rng.uniform(500, 3_500, number), rng.integers(0, 730, number)
    heating = rng.choice(["gas", "oil", "heat pump"], number)
    price = 150 * size + 60_000 * (heating == "gas") + 100 * year
    price = price + rng.normal(0, 40_000, number)
    days = pandas.Timestamp("2023-01-01") + pandas.to_timedelta(year, unit="D")
    frame = pandas.DataFrame(
        {
            "price": [f"${p:,.0f}" for p in price],
            "sold": [f"{day.month}/{day.day}/{day.year}" for day in days],
            "size": [f"{s:,.0f}" for s in size],
            "tax": [f"{t:.1f}%" for t in rng.uniform(0.5, 2, number)],
            "heating": heating,
            "country": 1,
        }
    )
    frame.loc[7, "price"] = None
    for column in ("size", "heating", "tax"):
        frame.loc[rng.random(number) < 0.05, column] = rng.choice(["", "NA", "?"])
    frame[:old].to_csv(folder / "homes.csv", index=False)
    frame[old:].drop(columns="price").to_csv(folder / "new.csv", index=False)
    return price[old:]


def test_no_example_of_the_readme_is_a_fragment():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert programs("README.md") == examples(text) != []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8")) <= 7_000


def test_the_reader_of_examples():
    program = "```python\n# BAD\nx\n\n# GOOD: why\nimport os\n```\n"
    fragment = "```console\nls\n```\n\n```python\ny\n```\n"
    assert examples(program + fragment) == ["import os\n", "y\n"]
    assert imports("import os\n")
    assert not imports("y\n")
