"""The colors of pages are those of the figures, and words in them can be read."""

import re

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


@pytest.mark.parametrize("theme", GROUNDS)
def test_words_can_be_read_and_colors_be_seen(theme):
    for name, color in themes()[theme].items():
        for ground in GROUNDS[theme]:
            assert contrast(color, ground) >= (4.5 if name in ("ink", "muted") else 2.5), name
        assert contrast(color, GROUNDS[theme][0]) >= 3, name
