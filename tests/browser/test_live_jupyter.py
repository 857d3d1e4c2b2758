"""The live trainer in JupyterLab: what is drawn on the screen is in Python, and the other way."""

import re

import pytest

from tests.browser import lab
from tests.browser.lab import read, run

# A cell a step. The networks are large, so that no training ends by itself meanwhile.
SHOW = """
import numpy as np
from ensedu import numpy as en
from ensedu.book.page.live import live

w = live(data="gap", method="batch_ensemble", ensemble_size=3, width=97, lr=0.003)
w
"""
READ = """
shapes = {name: list(array.shape) for name, array in w.weights.items()}
say(points=w.points.tolist(), options=dict(w.options), steps=w.steps, shapes=shapes)
"""
SET = """
w.points = np.array([[-2.0, 1.0, 0], [2.0, -1.0, 1], [0.5, 2.0, 2]])
w.options = {"method": "deep_ensemble", "hidden_layers": 1}
say(options=dict(w.options))
"""
PUT = """
net = en.mlp([2, 97, 3], "deep_ensemble", 3, rng=np.random.default_rng(7))
put = {name.replace("2.", "1."): array for name, array in net.params.items()}
w.options = {"lr": 1e-6}
w.weights = put
"""
BACK = """
moved = [abs(w.weights[name] - array).max() for name, array in put.items()]
say(steps=w.steps, moved=max(moved))
"""


@pytest.fixture(scope="module")
def notebook(browser, tmp_path_factory):
    """A notebook that is open in JupyterLab."""
    folder = tmp_path_factory.mktemp("lab")
    with lab.notebook(browser, folder, lab.SAY + SHOW, READ, SET, PUT, BACK) as page:
        yield page


def test_points_options_and_weights_go_both_ways(notebook):
    page = notebook
    run(page, 0)
    trainer = page.locator(".ensedu-trainer")
    trainer.wait_for()
    address = page.url

    # The start is there before the first step: batch_ensemble of 3, 1-97-97-1.
    start = read(page, lambda found: found["shapes"])
    assert start["steps"] == 0
    assert len(start["points"]) == 60
    assert start["options"]["start"] == "signs"
    shapes = {"weight": [0, 1], "r": ["M", 0], "s": ["M", 1], "bias": ["M", 1]}
    assert start["shapes"] == {
        f"{i}.{name}": [3 if axis == "M" else ends[axis] for axis in axes]
        for i, ends in enumerate([(1, 97), (97, 97), (97, 1)])
        for name, axes in shapes.items()
    }

    # A point that a reader drops arrives in Python.
    canvas = trainer.locator("canvas[role=application]")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] / 2, "y": 30})
    more = read(page, lambda found: len(found["points"]) == 61)
    assert more["points"][:60] == start["points"]
    x, y = more["points"][60]
    assert abs(x) < 0.5 and 2 < y < 3
    assert page.url == address  # the notebook's own

    # Keys are the trainer's, and not the notebook's, where B inserts a cell.
    cells = page.locator(".jp-CodeCell").count()
    canvas.focus()
    for key in ("b", "ArrowUp", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    assert canvas.evaluate("(node) => document.activeElement === node")
    assert page.locator(".jp-CodeCell").count() == cells
    more = read(page, lambda found: len(found["points"]) == 62)
    assert more["points"][61] == [0, 0.2]

    # Steps are counted, and bring weights.
    trainer.get_by_role("button", name="Play").click()
    trainer.locator(".ensedu-t-meter", has_text=re.compile(r"step [1-9]")).wait_for()
    trainer.get_by_role("button", name="Pause").click()
    trained = read(page, lambda found: found["steps"] > 0)
    assert trained["shapes"] == start["shapes"]

    # What Python sets is on the screen: another task, other points, another method.
    done = run(page, 2)
    assert (done["options"]["task"], done["options"]["data"]) == ("classification", "own")
    trainer.get_by_text("deep ensemble of 3", exact=False).first.wait_for()
    trainer.locator("canvas[data-kind=mean][aria-label*='3 points']").wait_for()
    one = read(page, lambda found: found["shapes"].get("1.weight") == [3, 97, 3])
    assert one["steps"] == 0

    # Weights that Python sets are where the page goes on: a step moves each by less than lr.
    run(page, 3)
    trainer.get_by_role("button", name="Step").click()
    back = read(page, lambda found: found["steps"] == 1, number=4)
    assert 1e-7 < back["moved"] < 1.1e-6
