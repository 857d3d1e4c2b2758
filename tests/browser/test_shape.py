"""The shape of a chapter, as the check of the book finds it, and the table of all chapters."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.browsing import DESK, open_context, serve, visit
from scripts.shape import shapely
from scripts.source_lines import count

SCRIPT = Path(__file__).parents[2] / "scripts" / "shape.py"
FIGURE = (
    '<figure style="height: {}px; margin: 0"><div class="ensedu-explorer"></div>'
    "<figcaption>Three more words</figcaption></figure>"
)
PAGE = (
    '<!DOCTYPE html><html lang="en"><head><title>A</title><style>body {{margin: 0}}</style></head>'
    '<body><article><div style="height: {before}px">Two words</div>{figures}'
    '<div style="height: {after}px"></div></article></body></html>'
)


def page(before, *heights, after=0, folded=""):
    figures = "".join(map(FIGURE.format, heights)) + folded
    return PAGE.format(before=before, figures=figures, after=after)


TABLE = '<div class="ensedu-table-box" style="height: 300px"></div>'
FOLDED = f"<details><summary>More</summary>{FIGURE.format(5000)}</details>"
HIDDEN = f'<div style="visibility: hidden">{FIGURE.format(600)}</div>'
LATE = "first figure below 700 px"
# A page, and what is wrong with its shape.
SHAPES = {
    "sound": (page(700, 500, after=300), []),
    "two": (page(100, 300, 300, after=1100), []),
    "late": (page(701, 900), [(LATE, "701")]),
    "few": (page(100, 400, after=1000), []),
    "folded": (page(900, folded=FOLDED), [("chapter without a figure", "")]),
    "hidden": (page(701, 300, folded=HIDDEN), [(LATE, "701")]),
    "table": (page(300, folded=TABLE), []),
    "none": (page(900), [("chapter without a figure", "")]),
}
BOOK = "book/counting"


@pytest.fixture
def book(tmp_path):
    """A folder with the pages of the table above, as chapters, and one that is none."""
    (tmp_path / BOOK).mkdir(parents=True)
    for name, (text, _) in SHAPES.items():
        (tmp_path / BOOK / f"{name}.html").write_text(text)
    (tmp_path / "book" / "intro.html").write_text(SHAPES["none"][0])
    return tmp_path


def test_each_fault_of_shape_is_found_and_no_other(browser, book):
    context = open_context(browser)
    page = context.new_page()
    with serve(book) as home:
        for name, (_, faults) in SHAPES.items():
            visit(page, f"{home}{BOOK}/{name}.html")
            assert list(shapely(page)) == faults, name
            assert page.viewport_size == DESK
        visit(page, f"{home}book/intro.html")
        assert list(shapely(page)) == []
    context.close()


def test_table_has_a_line_a_chapter(browser, tmp_path):
    (tmp_path / BOOK).mkdir(parents=True)
    chapters = {"comparison": "two", "deep-ensemble": "none"}  # whose code is counted
    for chapter, shape in chapters.items():
        (tmp_path / BOOK / f"{chapter}.html").write_text(SHAPES[shape][0])
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split()[0] == "chapter"
    table = {line.split()[0]: line.split()[1:] for line in lines}
    assert set(table) == {f"{BOOK}/{chapter}.html" for chapter in chapters}
    # Words, numbers in 100 of them, minutes, height, top of the first figure, then lines of code.
    two, none = (table[f"{BOOK}/{chapter}.html"] for chapter in chapters)
    assert two[:5] == ["8", "0.0", "1", "1,800", "100"]
    assert none[:5] == ["2", "0.0", "1", "900", "–"]
    assert two[5:] == [f"{value:,}" for value in count(f"{BOOK}/comparison")]


def test_a_site_without_chapters_is_refused(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert "holds no chapter: run `make book`" in done.stderr
