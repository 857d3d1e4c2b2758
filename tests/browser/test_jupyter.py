"""The trainer in JupyterLab: what is changed on the screen is in Python, and the other way."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from scripts.browsing import Watch, open_context

SECONDS = 60
# A cell a step. The networks are large, so that no training ends by itself meanwhile.
SHOW, READ, SET, PUT, BACK = (
    """
import json
import numpy as np
from ensedu import numpy as en
from ensedu.book.page.live import live

w = live(data="gap", method="batch_ensemble", ensemble_size=3, width=97, lr=0.003)
w
""",
    """
shapes = {name: list(array.shape) for name, array in w.weights.items()}
print(json.dumps({"points": w.points.tolist(), "steps": w.steps, "shapes": shapes}))
""",
    """
w.points = np.array([[-2.0, 1.0, 0], [2.0, -1.0, 1], [0.5, 2.0, 2]])
w.options = {"method": "deep_ensemble", "hidden_layers": 1}
""",
    """
net = en.mlp([2, 97, 3], "deep_ensemble", 3, rng=np.random.default_rng(7))
put = {name.replace("2.", "1."): array for name, array in net.params.items()}
w.options = {"lr": 1e-6}
w.weights = put
""",
    """
moved = max(abs(w.weights[name] - array).max() for name, array in put.items())
print(json.dumps({"steps": w.steps, "moved": moved}))
""",
)


@pytest.fixture
def notebook(browser, tmp_path):
    """A notebook of these cells, open in a JupyterLab that needs no network and asks nothing."""
    cells = [v4.new_code_cell(source.strip()) for source in (SHOW, READ, SET, PUT, BACK)]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=spec), tmp_path / "test.ipynb")
    home = tmp_path / ".jupyter"
    (home / "labconfig").mkdir(parents=True)
    news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    (home / "labconfig" / "page_config.json").write_text(json.dumps(news))
    parts = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    given = {f"JUPYTER_{part}": str(home) for part in parts}
    given |= {"IPYTHONDIR": str(home), "PYTHONPATH": str(Path(__file__).parents[2])}
    given |= {f"JUPYTERLAB_{part}_DIR": str(home) for part in ("SETTINGS", "WORKSPACES")}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0", "--IdentityProvider.token=", "--ServerApp.password=",
        "--ServerApp.allow_root=True", f"--ServerApp.root_dir={tmp_path}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    environment = {key: value for key, value in os.environ.items() if key != "ENSEDU_BOOK"}
    with (
        open_context(browser) as context,
        subprocess.Popen(
            command, env=environment | given, stderr=subprocess.PIPE, text=True
        ) as lab,
    ):
        address = next(filter(None, (re.search(r"http://\S+/lab\b", line) for line in lab.stderr)))
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        watch = Watch(page, address[0].removesuffix("lab"))
        page.goto(f"{address[0]}/tree/test.ipynb")
        page.locator(".jp-CodeCell").first.wait_for()
        # A cell that is run before the kernel listens may never be.
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
        yield page
        lab.terminate()
    assert not watch.foreign and not watch.errors


def run(page, number):
    """Execute a cell; return what it printed, or None."""
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click()
    prompt = cell.locator(".jp-InputArea-prompt")
    before = prompt.text_content()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "([node, before]) => /\\d/.test(node.textContent) && node.textContent !== before",
        arg=[prompt.element_handle(), before],
    )
    lines = cell.locator("[data-mime-type='application/vnd.jupyter.stdout']")
    return json.loads(lines.inner_text()) if lines.count() else None


def read(page, until, number=1):
    """Execute a cell that reads the traits, again and again until they are as wanted."""
    for _ in range(20):
        found = run(page, number)
        if until(found):
            return found
        page.wait_for_timeout(500)
    raise AssertionError(f"still {found}")


def test_points_options_and_weights_of_a_trainer_go_both_ways(notebook):
    page, trainer = notebook, notebook.locator(".ensedu-trainer")
    run(page, 0)
    trainer.wait_for()
    address = page.url
    start = read(page, lambda found: found["shapes"])  # there before the first step
    assert (start["steps"], len(start["points"])) == (0, 60)
    assert start["shapes"]["1.weight"] == [97, 97] and start["shapes"]["2.s"] == [3, 1]

    # Keys are the trainer's, and not the notebook's, where B inserts a cell.
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
    run(page, 2)
    trainer.locator("canvas[data-kind=mean][aria-label*='Deep ensemble of 3, 3 points']").wait_for()
    assert read(page, lambda found: found["shapes"].get("1.weight") == [3, 97, 3])["steps"] == 0

    # Weights that Python sets are where the page goes on: a step moves each by less than lr.
    run(page, 3)
    trainer.get_by_role("button", name="Step").click()
    back = read(page, lambda found: found["steps"] == 1, number=4)
    assert 1e-7 < back["moved"] < 1.1e-6
