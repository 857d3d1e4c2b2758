"""JupyterLab in a browser: a notebook whose cells a test executes and reads."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
from nbformat import v4

from scripts.browsing import Watch, open_context

ROOT = Path(__file__).parents[2]
SECONDS = 60
# Asks whether to fetch news.
ASKS = {"@jupyterlab/apputils-extension:announcements": True}
# Each cell prints one line of JSON, so that its output can be read off the page.
SAY = """
import json

def say(**values):
    print(json.dumps(values), flush=True)
"""


@contextlib.contextmanager
def server(folder):
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
        process = subprocess.Popen(command, cwd=folder, env=environment | own, stderr=log)
        try:
            yield listening(process, home / "runtime")
        finally:
            process.terminate()
            process.wait(10)


def listening(process, runtime):
    """Return the address of a server that has come up."""
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        for found in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                address = json.loads(found.read_text())["url"]
                urllib.request.urlopen(address + "api/status").close()
                return address
        time.sleep(0.2)
    raise TimeoutError("JupyterLab did not start")


@contextlib.contextmanager
def notebook(browser, folder, *sources):
    """Open a notebook of these cells, none of them executed; yields its page.

    Fails at the end if anything went wrong on it.
    """
    cells = [v4.new_code_cell(source.strip()) for source in sources]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(v4.new_notebook(cells=cells, metadata=spec), folder / "test.ipynb")
    with server(folder) as address:
        context = open_context(browser)
        context.set_default_timeout(1000 * SECONDS)
        page = context.new_page()
        watch = Watch(page, address)
        page.goto(address + "lab/tree/test.ipynb")
        page.locator(".jp-CodeCell").first.wait_for()
        page.get_by_text("Python 3").first.wait_for()
        # A cell that is run before the kernel listens may never be.
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
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
    errors = cell.locator("[data-mime-type='application/vnd.jupyter.stderr']")
    assert errors.all_inner_texts() == []
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
