"""The same picture, lighter: every place of a path is where it was, to a hundredth of a point."""

import io
import re

import numpy as np
import pytest

from ensedu import plot
from ensedu.plot.compact import compact

LETTER = re.compile(r"([MLQCzlqc])([^MLQCzlqc]*)")


def places(path):
    """Where a path goes, step by step, written out from its text."""
    found, here, start = [], np.zeros(2), np.zeros(2)
    for letter, numbers in LETTER.findall(path):
        if letter == "z":
            here = start
            found.append(start)
            continue
        values = np.array(numbers.split(), dtype=float).reshape(-1, 2)
        values = values + here if letter.islower() else values
        here = values[-1]
        start = here if letter == "M" else start
        found.extend(values)
    return np.array(found)


def paths(svg):
    return re.findall(r' d="([^"]*)"', svg)


def written(draw):
    """An SVG as Matplotlib writes it."""
    buffer = io.StringIO()
    with plot.house_style():
        draw().savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def drawing():
    figure = plot.Figure(figsize=(5, 3))
    axes = figure.add_subplot()
    rng = np.random.default_rng(3)
    axes.plot(np.linspace(0, 1, 997), rng.random(997).cumsum())
    axes.fill_between([0, 0.5, 1], [0, 7, 0], [3, 9, 11], alpha=0.3)
    axes.scatter(rng.random(13), rng.random(13) * 100)
    axes.imshow(rng.random((3, 5)), extent=(0, 1, 0, 100), aspect="auto")
    axes.set_title("two words, $r_i$")
    return figure


def test_every_place_is_where_it_was():
    before = written(drawing)
    after = compact(before)
    old, new = paths(before), paths(after)
    assert len(old) == len(new) > 20
    for one, other in zip(old, new, strict=True):
        np.testing.assert_allclose(places(other), places(one), rtol=0, atol=0.00501)
    # Nothing else of what is shown has changed.
    rest = [re.sub(r' d="[^"]*"|\s+|<!--.*?-->', "", svg) for svg in (before, after)]
    rest[0] = re.sub(r"^.*?(?=<svg)|<metadata>.*</metadata>", "", rest[0])
    assert rest[0] == rest[1]


def test_paths_are_lighter():
    before = written(drawing)
    old, new = (sum(map(len, paths(svg))) for svg in (before, compact(before)))
    assert new < 0.75 * old


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("M 1.234 5 \nL 2.236 4 \nz\nL 1.23 6 \n", "M1.23 5\nl1.01 -1\nz\nl0 1"),
        ("M 0 0 \nC 1 1 2 2 3 0.004 \nQ 4 4 5 5", "M0 0\nc1 1 2 2 3 0\nq1 4 2 5"),
        ("M -0.001 1 \nM 2 3 \nL 2 3", "M0 1\nM2 3\nl0 0"),
    ],
)
def test_a_path_goes_on_from_where_it_is(path, found):
    assert compact(f'<svg d="{path}"/>') == f'<svg d="{found}"/>'
