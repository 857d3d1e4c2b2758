"""Tables in a browser: no sideways scroll on any page, stacked ones still tables."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from book._ext import palette
from ensedu import counting
from ensedu.book.experiments.contest import reading
from ensedu.book.figures import choosing
from ensedu.book.page.method_table import method_table
from ensedu.contest.contestants import CONTESTANTS
from ensedu.contest.statistics import Pooled
from ensedu.methods import METHODS
from tests.book.page.tables import scores, totals

CSS = Path(__file__).parents[2] / "book" / "_css"


@pytest.fixture(scope="module")
def styles():
    """What a page of the book is styled with, in its order."""
    theme = (
        files(name) / "theme" / name / "static" / "styles" / f"{name.replace('_', '-')}.css"
        for name in ("pydata_sphinx_theme", "sphinx_book_theme")
    )
    own = (CSS / f"{name}.css" for name in ("house", "tables", "print"))
    return "\n".join(
        [
            *(path.read_text() for path in theme),
            palette.style_sheet(),
            *(path.read_text() for path in own),
        ]
    )


@pytest.fixture
def open_tables(browser, styles):
    """Open a page of tables; its column is as wide as that of the book."""
    opened = []

    def open_tables(tables, width, mode="light"):
        page = browser.new_page(viewport={"width": width, "height": 740})
        opened.append(page)
        cells = "".join(
            f'<div class="cell_output"><div class="output text_html">{each.html()}</div></div>'
            for each in tables
        )
        page.set_content(
            f'<!doctype html><html data-theme="{mode}"><style>{styles}</style>'
            "<style>html body { display: block; margin: 0 24px }</style>"
            f'<body><div class="bd-content"><div class="bd-article" style="padding: 0">{cells}'
            "</div></div></body></html>"
        )
        return page

    yield open_tables
    for page in opened:
        page.close()


SEEN = """() => [...document.querySelectorAll(".ensedu-table-box")].map((box) => ({
  scrolls: [document.scrollingElement, box.parentElement, box]
    .some((part) => part.scrollWidth > part.clientWidth),
  beyond: [...box.querySelectorAll("table, table *:not(thead *)")]
    .filter((part) => part.getBoundingClientRect().right > box.getBoundingClientRect().right + 0.5)
    .map((part) => part.outerHTML.slice(0, 99)),
  stacked: getComputedStyle(box.querySelector("tbody tr")).display === "grid",
}))"""


def of_many_sizes():
    """Tables of 1 to 9 columns of 1 to 13 letters, grouped, with what explains them or without."""
    rng = np.random.default_rng(0)
    for columns in range(1, 10):
        for digits in (1, 4, 7, 10):
            rows = {}
            for method in METHODS:
                low, high = 10 ** (digits - 1), 10**digits
                numbers = [f"{number:,}" for number in rng.integers(low, high, columns)]
                rows[method] = {
                    (f"width {i // 3}" if columns % 2 else "", f"M = {i}"): (
                        number,
                        "1.41 ×" if digits % 2 else "",
                    )
                    for i, number in enumerate(numbers)
                }
            yield method_table(rows, caption="Numbers")


def prices():
    """What *Choosing* shows, with the widest words and numbers."""
    one = {"kept": 22.0, "train_seconds": 3.73, "predict_seconds": 34.2, "passes": 32}
    said = Pooled(
        middle=-0.5, low=-1.09, high=-0.27, sources={}, tasks=(), p=0.01, adjusted=0.03,
        word="practically equal",
    )  # fmt: skip
    names = [reading.SCALED, *CONTESTANTS]
    return choosing.table(dict.fromkeys(names[2:], said), dict.fromkeys(names, one))


@pytest.mark.parametrize("width", [320, 360])
def test_no_table_scrolls_sideways_on_a_phone(open_tables, width):
    small = method_table({method: {"numbers": 13 * (i + 1)} for i, method in enumerate(METHODS)})
    shown = [
        small,
        totals(*METHODS),
        scores(),
        counting.mlp([1, 50, 50, 1], "rank1", 4)._as_table(),
        prices(),
        *of_many_sizes(),
    ]
    found = open_tables(shown, width).evaluate(SEEN)
    assert not [each for each in found if each["scrolls"] or each["beyond"]]
    assert [each["stacked"] for each in found[:5]] == [width < 360, True, True, True, True]


@pytest.mark.parametrize("width", [440, 601, 660, 740, 900])
def test_a_table_fits_where_it_does_not_stack(open_tables, width):
    found = open_tables([prices(), *of_many_sizes()], width).evaluate(SEEN)
    assert not [each for each in found if each["scrolls"] or each["beyond"]]
    assert {each["stacked"] for each in found} == {False, True}


def test_where_there_is_room_a_table_is_one(open_tables):
    shown = [
        totals(*METHODS),
        counting.mlp([1, 50, 50, 1], "rank1", 4)._as_table(),
        scores(),
    ]
    assert not any(each["stacked"] for each in open_tables(shown, 740).evaluate(SEEN))


def test_a_stacked_table_is_a_table_to_a_screen_reader(open_tables):
    page = open_tables([scores()], 360)
    assert page.evaluate(SEEN)[0]["stacked"]
    snapshot = page.locator("table").aria_snapshot()
    assert "- columnheader" in snapshot.replace('"', "")
    for words in (
        'columnheader "CIFAR-10"',
        'columnheader "accuracy, %"',
        'rowheader "deep ensemble"',
        'cell "−71 MB"',
        'cell "Nado et al."',
    ):
        assert words in snapshot
    title = "getComputedStyle(document.querySelector('tbody td'), '::before').content"
    assert "CIFAR-10, NLL" in page.evaluate(title)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_method_has_its_color_beside_its_name(open_tables, mode):
    colors = open_tables([totals(*METHODS)], 740, mode).evaluate(
        "[...document.querySelectorAll('tbody th')]"
        ".map((name) => getComputedStyle(name, '::before').backgroundColor)"
    )
    wanted = [palette.DARK[own] if mode == "dark" else own for own in palette.PALETTE.values()]
    rgb = [tuple(int(own[i : i + 2], 16) for i in (1, 3, 5)) for own in wanted]
    assert colors == [f"rgb{each}" for each in rgb]
