"""The checks of the book find what is wrong with a page, and nothing on a sound one."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts import cheat_sheet

SCRIPTS = Path(__file__).parents[2] / "scripts"
PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
    '<meta name="viewport" content="width=device-width">'
    "<script>document.documentElement.dataset.theme = localStorage.theme</script>{head}</head>"
    "<body><main><article><h1>A title</h1>{body}</article></main></body></html>"
)
CHAPTER = "book/counting/comparison.html"
# What stands on a faulty chapter, and the faults that are then found.
HEAD = {
    "<style>.x {width: 330px}</style>": ["scrolls sideways"],
    '<link rel="stylesheet" href="missing.css">': [
        "status 404: book/counting/missing.css",
        "net::ERR_FILE_NOT_FOUND: book/counting/missing.css",
        "console: Failed to load resource: net::ERR_FILE_NOT_FOUND",
        "console: Failed to load resource: the server responded with a status of 404 (Not Found)",
    ],
    '<link rel="stylesheet" href="http://127.0.0.1:9/x.css">': [  # no browser asks port 9
        "asks for http://127.0.0.1:9/x.css", "net::ERR_UNSAFE_PORT: http://127.0.0.1:9/x.css",
        "console: Failed to load resource: net::ERR_UNSAFE_PORT",
    ],
    "<script>throw new Error('no')</script>": ["page error: no"],
}  # fmt: skip
BODY = {
    "<div class=x>words</div>": [], "<h1>Another</h1>": ["shows not one title"],
    '<img src="empty.png" alt="">': ["picture without pixels"],
    '<span class="math notranslate">x</span>': ["formula not set"],
    '<div class="bd-sidebar">Click</div>': ["printed, but can only be clicked"],
    "<p id=p hidden>Words.</p><script>p.hidden = false</script>": ["hidden without scripts"],
    "<details><summary>More</summary><p style='color: #888; background: #999'>Words.</p></details>":
        ["axe color-contrast"],
    '<img src="card.svg">': ["axe image-alt"],
    "": ["chapter without a figure"],
}  # fmt: skip


def run(script, *arguments):
    command = [sys.executable, SCRIPTS / script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_each_fault_of_a_page_is_listed_where_it_is_and_fails_the_command(browser, tmp_path):
    page = tmp_path / CHAPTER
    page.parent.mkdir(parents=True)
    page.write_text(PAGE.format(head="".join(HEAD), body="".join(BODY)))
    (page.parent / "empty.png").touch()
    (page.parent / "card.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9"/>')
    (tmp_path / "index.html").write_text(PAGE.format(head="", body="<p>Words.</p>"))
    done = run("check_site.py", tmp_path)
    assert done.returncode == 1
    faults = [line for line in done.stderr.splitlines() if line and line[0] != " "]
    wanted = [fault for faults in (HEAD | BODY).values() for fault in faults]
    assert {fault.partition(":")[0] if fault[:3] == "axe" else fault for fault in faults} == {
        *wanted
    }
    assert "index.html" not in done.stderr
    assert {line.split()[0] for line in done.stdout.splitlines()} >= {"index.html", CHAPTER}
    page.unlink()
    sound = run("check_site.py", tmp_path)
    assert (sound.returncode, sound.stderr) == (0, "")


@pytest.mark.parametrize("pages", [1, 2])
def test_a_cheat_sheet_takes_one_page_of_paper(browser, tmp_path, pages):
    file, target = tmp_path / cheat_sheet.PAGE, tmp_path / "new" / "out.pdf"
    file.parent.mkdir()
    file.write_text("<p style='break-after: page'>one</p>" * (pages - 1) + "<p>last</p>")
    done = run("cheat_sheet.py", tmp_path, target)
    assert done.returncode == pages - 1 and target.exists() == (pages == 1)
    assert pages == 1 or "takes 2 pages" in done.stderr
