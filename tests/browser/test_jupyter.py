"""In JupyterLab what is changed on the screen is in Python, and the other way."""

import re

from tests.browser import lab
from tests.browser.lab import read, run

# A cell a step. The networks are large, so that no training ends by itself meanwhile.
TRAINER = [
    """
import numpy as np
from ensedu import numpy as en
from ensedu.book.page.live import live

w = live(data="gap", method="batch_ensemble", ensemble_size=3, width=97, lr=0.003)
w
""",
    """
shapes = {name: list(array.shape) for name, array in w.weights.items()}
say(points=w.points.tolist(), options=dict(w.options), steps=w.steps, shapes=shapes)
""",
    """
w.points = np.array([[-2.0, 1.0, 0], [2.0, -1.0, 1], [0.5, 2.0, 2]])
w.options = {"method": "deep_ensemble", "hidden_layers": 1}
say(options=dict(w.options))
""",
    """
net = en.mlp([2, 97, 3], "deep_ensemble", 3, rng=np.random.default_rng(7))
put = {name.replace("2.", "1."): array for name, array in net.params.items()}
w.options = {"lr": 1e-6}
w.weights = put
""",
    """
moved = [abs(w.weights[name] - array).max() for name, array in put.items()]
say(steps=w.steps, moved=max(moved))
""",
]


def test_points_options_and_weights_of_a_trainer_go_both_ways(browser, tmp_path):
    with lab.notebook(browser, tmp_path, lab.SAY + TRAINER[0], *TRAINER[1:]) as page:
        run(page, 0)
        trainer = page.locator(".ensedu-trainer")
        trainer.wait_for()
        address = page.url
        start = read(page, lambda found: found["shapes"])  # there before the first step
        assert (start["steps"], len(start["points"])) == (0, 60)
        assert start["shapes"]["1.weight"] == [97, 97] and start["shapes"]["2.s"] == [3, 1]

        # A point that a reader drops arrives in Python. Keys are the trainer's, and not the
        # notebook's, where B inserts a cell.
        canvas = trainer.locator("canvas[role=application]")
        canvas.scroll_into_view_if_needed()
        cells = page.locator(".jp-CodeCell").count()
        canvas.focus()
        for key in ("b", "ArrowUp", "ArrowUp", "Enter"):
            page.keyboard.press(key)
        more = read(page, lambda found: len(found["points"]) == 61)
        assert more["points"] == [*start["points"], [0, 0.2]]
        assert page.locator(".jp-CodeCell").count() == cells and page.url == address

        # Steps are counted, and bring weights.
        trainer.get_by_role("button", name="Play").click()
        trainer.locator(".ensedu-t-meter", has_text=re.compile(r"step [1-9]")).wait_for()
        trainer.get_by_role("button", name="Pause").click()
        assert read(page, lambda found: found["steps"] > 0)["shapes"] == start["shapes"]

        # What Python sets is on the screen: another task, other points, another method.
        done = run(page, 2)
        assert (done["options"]["task"], done["options"]["data"]) == ("classification", "own")
        trainer.get_by_text("deep ensemble of 3", exact=False).first.wait_for()
        trainer.locator("canvas[data-kind=mean][aria-label*='3 points']").wait_for()
        assert read(page, lambda found: found["shapes"].get("1.weight") == [3, 97, 3])["steps"] == 0

        # Weights that Python sets are where the page goes on: a step moves each by less than lr.
        run(page, 3)
        trainer.get_by_role("button", name="Step").click()
        back = read(page, lambda found: found["steps"] == 1, number=4)
        assert 1e-7 < back["moved"] < 1.1e-6
