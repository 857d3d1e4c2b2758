"""The cheat sheet: one page of paper with every method on it, and a phone's page of no more width.

What its numbers must be, other tests say; here they are read from the page.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ensedu import counting
from ensedu.methods import METHODS, size_option
from scripts import cheat_sheet
from scripts.browsing import PHONE, visit
from scripts.check_site import SIDEWAYS

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "cheat_sheet.py"
A4 = b"/MediaBox [0 0 59"  # 595 points wide, and not a letter's 612
# Rows whose parts reach beyond the table, or run into each other.
CROWDED = """() => [...document.querySelectorAll(".ensedu-sheet tbody tr")].filter((row) => {
  const boxes = [...row.children].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  });
  const all = row.closest("table").getBoundingClientRect();
  return boxes.some((a, i) => a.right > all.right + 0.5 || boxes.some((b, j) => j > i
    && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2));
}).map((row) => row.innerText)"""


@pytest.fixture
def sheet(page, server, site):
    """The page, open on a desk."""
    assert (site / cheat_sheet.PAGE).is_file()
    visit(page, server + cheat_sheet.PAGE)
    return page


def test_every_method_is_on_it_with_its_count(sheet):
    rows = sheet.locator(".ensedu-sheet tbody tr")
    assert [row.get_attribute("data-method") for row in rows.all()] == list(METHODS)
    for row, (key, method) in zip(rows.all(), METHODS.items(), strict=True):
        assert row.locator("th").inner_text() == method.label
        cells = row.locator("td").all_inner_texts()
        count = counting.mlp([1, 50, 50, 1], key, **size_option(key, 4))
        assert cells[3:5] == [f"{count.layers[1].total:,}", f"{count.total:,}"]
        assert all(cells)


def test_nothing_scrolls_sideways_or_overlaps(sheet):
    for width in (320, PHONE["width"], 430, 700, 768, 1024, 1280):
        sheet.set_viewport_size({"width": width, "height": 740})
        assert not sheet.evaluate(SIDEWAYS), width
        assert sheet.evaluate(CROWDED) == [], width


def test_a_phone_shows_when_below_the_name(sheet):
    sheet.set_viewport_size(PHONE)
    row = sheet.locator(".ensedu-sheet tbody tr").first
    name, when = row.locator("th").bounding_box(), row.locator("td").first.bounding_box()
    assert name["y"] + name["height"] <= when["y"] + 1
    assert when["width"] > 0.9 * row.bounding_box()["width"]


def test_paper_takes_one_page(site, tmp_path):
    target = tmp_path / "new" / "cheat-sheet.pdf"
    subprocess.run([sys.executable, SCRIPT, site, target], check=True)
    pdf = target.read_bytes()
    assert cheat_sheet.pages(pdf) == 1
    assert A4 in pdf
    assert len(pdf) < 300_000


def test_more_than_one_page_is_told(site, tmp_path):
    file = tmp_path / cheat_sheet.PAGE
    file.parent.mkdir()
    file.write_text("<p>one</p><p style='break-before: page'>two</p>")
    target = tmp_path / "out.pdf"
    command = [sys.executable, SCRIPT, tmp_path, target]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "takes 2 pages" in told.stderr
    assert not target.exists()


def test_a_book_without_it_is_told(tmp_path, capsys):
    with pytest.raises(SystemExit):
        cheat_sheet.main([str(tmp_path), str(tmp_path / "out.pdf")])
    assert "run `make book`" in capsys.readouterr().err
