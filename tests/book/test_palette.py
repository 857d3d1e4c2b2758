"""The colors of pages are those of the figures, and words in them can be read."""

import os
import re
import subprocess
import sys

import pytest

from book._ext import palette
from ensedu.methods import METHODS
from tests.book.plot.looks import contrast
from workshop.plot.style import DARK, PAGE

# The theme's ground under what folds out, in light and dark.
GROUNDS = {"light": (PAGE, "#f3f4f5"), "dark": (DARK[PAGE], "#29313d")}


def blocks(sheet):
    """Return the variables of each rule that sets some."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", sheet)
    return [
        (selector.strip(), dict(re.findall(r"--ensedu-([\w]+): ([^;]+);", body)))
        for selector, body in rules
    ]


def themes():
    (root, light), (dark_root, dark), *_ = blocks(palette.style_sheet())
    assert (root, dark_root) == (":root", 'html[data-theme="dark"]')
    return {"light": light, "dark": dark}


def test_both_themes_name_every_color_and_paper_is_light():
    found = themes()
    names = [*METHODS, "shared", "ink", "muted", "doubt"]
    assert list(found["light"]) == list(found["dark"]) == names
    assert all(DARK[found["light"][name]] == found["dark"][name] for name in names)
    sheet = palette.style_sheet()
    paper = blocks(sheet[sheet.index("@media print {") + len("@media print {") :])
    assert paper[0] == ("html[data-theme]", found["light"])


def test_each_method_has_its_color():
    sheet = palette.style_sheet()
    for method in METHODS:
        rule = f'[data-method="{method}"] {{ --ensedu-own: var(--ensedu-{method}) }}'
        assert sheet.count(rule) == 1


@pytest.mark.parametrize("theme", GROUNDS)
def test_words_can_be_read_and_colors_be_seen(theme):
    for name, color in themes()[theme].items():
        for ground in GROUNDS[theme]:
            assert contrast(color, ground) >= (4.5 if name in ("ink", "muted") else 2.5), name
        assert contrast(color, GROUNDS[theme][0]) >= 3, name


def test_no_words_of_tables_have_the_color_of_a_method(root):
    css = (root / "book" / "_css" / "tables.css").read_text(encoding="utf-8")
    used = {name for _, name in re.findall(r"[^-]\bcolor: (var\(--([\w-]+)\))", css)}
    assert used == {"ensedu-muted"}
    assert not re.search(r"#[0-9a-f]{3}|rgb", css)


def test_a_build_writes_it_and_pages_name_it(tmp_path, root):
    source = tmp_path / "source"
    source.mkdir()
    (source / "conf.py").write_text("extensions = ['palette']\n")
    (source / "index.rst").write_text("Page\n====\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", str(source), str(tmp_path / "html")]
    paths = {"PYTHONPATH": f"{root / 'book' / '_ext'}:{root}"}
    subprocess.run(command, check=True, env=os.environ | paths)
    written = (tmp_path / "html" / "_static" / "palette.css").read_text(encoding="utf-8")
    assert written == palette.style_sheet()
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'href="_static/palette\.css\?v=[0-9a-f]{8}"', page)
