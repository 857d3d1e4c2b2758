"""The live trainer in JupyterLab: what is drawn on the screen is in Python, and the other way."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from scripts.browsing import Watch, open_context

ROOT = Path(__file__).parents[2]
SECONDS = 60
# Asks whether to fetch news.
ASKS = {"@jupyterlab/apputils-extension:announcements": True}
# A cell a step. Each prints one line of JSON, so that its output can be read off the page.
SHOW = """
import json
import numpy as np
from ensedu import numpy as en
from ensedu.page.live import live

def say(**values):
    print(json.dumps(values), flush=True)

w = live(data="gap", method="batch_ensemble", ensemble_size=3, width=11, lr=0.003)
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
net = en.mlp([2, 11, 3], "deep_ensemble", 3, rng=np.random.default_rng(7))
put = {name.replace("2.", "1."): array for name, array in net.params.items()}
w.options = {"lr": 1e-6}
w.weights = put
"""
BACK = """
moved = [abs(w.weights[name] - array).max() for name, array in put.items()]
say(steps=w.steps, moved=max(moved))
"""


@contextlib.contextmanager
def lab(folder):
    """Run JupyterLab on a folder; yields its address. It needs no network."""
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1",
        "--ServerApp.port=0", "--IdentityProvider.token=", "--ServerApp.password=",
        "--ServerApp.allow_root=True", f"--ServerApp.root_dir={folder}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    home = folder / ".jupyter"
    own = {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPATH": str(ROOT),
    }
    settings = home / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "page_config.json").write_text(json.dumps({"disabledExtensions": ASKS}))
    environment = {key: value for key, value in os.environ.items() if key != "ENSEDU_BOOK"}
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=environment | own, stderr=log)
        try:
            yield listening(server, home / "runtime")
        finally:
            server.terminate()
            server.wait(10)


def listening(server, runtime):
    """Return the address of a server that has come up."""
    until = time.monotonic() + 30
    while time.monotonic() < until and server.poll() is None:
        for found in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                address = json.loads(found.read_text())["url"]
                urllib.request.urlopen(address + "api/status").close()
                return address
        time.sleep(0.2)
    raise TimeoutError("JupyterLab did not start")


@pytest.fixture(scope="module")
def notebook(browser, tmp_path_factory):
    """A notebook that is open in JupyterLab, its first cell executed."""
    folder = tmp_path_factory.mktemp("lab")
    cells = [v4.new_code_cell(source.strip()) for source in (SHOW, READ, SET, PUT, BACK)]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=spec), folder / "live.ipynb")
    with lab(folder) as address:
        context = open_context(browser)
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        watch = Watch(page, address)
        page.goto(address + "lab/tree/live.ipynb")
        yield page
        context.close()
    assert not watch.foreign, "asked of another host"
    assert not watch.errors


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
    assert not cell.locator("[data-mime-type='application/vnd.jupyter.stderr']").count()
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


def test_points_options_and_weights_go_both_ways(notebook):
    page = notebook
    page.locator(".jp-CodeCell").first.wait_for()
    page.get_by_text("Python 3").first.wait_for()
    run(page, 0)
    trainer = page.locator(".ensedu-trainer")
    trainer.wait_for()
    address = page.url

    # The start is there before the first step: batch_ensemble of 3, 1-11-11-1.
    start = read(page, lambda found: found["shapes"])
    assert start["steps"] == 0
    assert len(start["points"]) == 60
    assert start["options"]["start"] == "signs"
    shapes = {"weight": [0, 1], "r": ["M", 0], "s": ["M", 1], "bias": ["M", 1]}
    assert start["shapes"] == {
        f"{i}.{name}": [3 if axis == "M" else ends[axis] for axis in axes]
        for i, ends in enumerate([(1, 11), (11, 11), (11, 1)])
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
    trainer.get_by_role("button", name="Pause").wait_for()
    page.wait_for_timeout(1500)
    trainer.get_by_role("button", name="Pause").click()
    trained = read(page, lambda found: found["steps"] > 0)
    assert trained["shapes"] == start["shapes"]

    # What Python sets is on the screen: another task, other points, another method.
    done = run(page, 2)
    assert (done["options"]["task"], done["options"]["data"]) == ("classification", "own")
    trainer.get_by_text("deep ensemble of 3", exact=False).first.wait_for()
    trainer.locator("canvas[data-kind=mean][aria-label*='3 points']").wait_for()
    one = read(page, lambda found: found["shapes"].get("1.weight") == [3, 11, 3])
    assert one["steps"] == 0

    # Weights that Python sets are where the page goes on: a step moves each by less than lr.
    run(page, 3)
    trainer.get_by_role("button", name="Step").click()
    back = read(page, lambda found: found["steps"] == 1, number=4)
    assert 1e-7 < back["moved"] < 1.1e-6
