"""Tables in a browser: no sideways scroll at any width, and stacked ones still tables."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from book._ext import palette
from ensedu import counting
from ensedu.book.page.method_table import method_table
from ensedu.methods import METHODS
from tests.book.page.tables import scores, totals

CSS = Path(__file__).parents[2] / "book" / "_css"
SEEN = """() => [...document.querySelectorAll(".ensedu-table-box")].map((box) => [
  [document.scrollingElement, box.parentElement, box].some((part) => part.scrollWidth > part.clientWidth)
    || [...box.querySelectorAll("table, table *:not(thead *)")]
      .some((part) => part.getBoundingClientRect().right > box.getBoundingClientRect().right + 0.5),
  getComputedStyle(box.querySelector("tbody tr")).display === "grid",
])"""


@pytest.fixture(scope="module")
def styles():
    """What a page of the book is styled with, in its order."""
    theme = (
        files(name) / "theme" / name / "static" / "styles" / f"{name.replace('_', '-')}.css"
        for name in ("pydata_sphinx_theme", "sphinx_book_theme")
    )
    own = (CSS / f"{name}.css" for name in ("house", "tables", "print"))
    texts = [path.read_text() for path in (*theme, *own)]
    return "\n".join([*texts[:2], palette.style_sheet(), *texts[2:]])


@pytest.fixture
def shown(browser, styles):
    """Show tables on a page whose column is as wide as that of the book."""
    with browser.new_context() as context:
        page = context.new_page()

        def shown(tables, width, mode="light"):
            page.set_viewport_size({"width": width, "height": 740})
            cells = "".join(
                f'<div class="cell_output"><div class="output text_html">{each.html()}</div></div>'
                for each in tables
            )
            page.set_content(
                f'<!doctype html><html data-theme="{mode}"><style>{styles}</style>'
                "<style>html body { display: block; margin: 0 24px }</style>"
                '<body><div class="bd-content"><div class="bd-article" style="padding: 0">'
                f"{cells}</div></div></body></html>"
            )
            return page

        yield shown


def of_many_sizes():
    """Tables of 1 to 9 columns of 1 to 13 letters, grouped, with what explains them or without."""
    rng = np.random.default_rng(0)
    for columns in range(1, 10):
        for digits in (1, 4, 7, 10):
            more = "1.41 ×" if digits % 2 else ""
            drawn = rng.integers(10 ** (digits - 1), 10**digits, (len(METHODS), columns))
            rows = {
                method: {
                    (f"width {i // 3}" if columns % 2 else "", f"M = {i}"): (f"{one:,}", more)
                    for i, one in enumerate(row)
                }
                for method, row in zip(METHODS, drawn, strict=True)
            }
            yield method_table(rows, caption="Numbers")


def books():
    return [totals(*METHODS), scores(), counting.mlp([1, 50, 50, 1], "rank1", 4)._as_table()]


@pytest.mark.parametrize("width", [320, 360, 440, 601, 740, 900])
def test_no_table_scrolls_sideways_and_it_stacks_where_it_must(shown, width):
    found = shown([*books(), *of_many_sizes()], width).evaluate(SEEN)
    assert not any(beyond for beyond, _ in found)
    stacked = [each for _, each in found]
    if width in (320, 740):
        assert stacked[:3] == [width == 320] * 3
    assert set(stacked) == {True, False} or width == 320


def test_a_stacked_table_is_a_table_to_a_screen_reader(shown):
    snapshot = shown([scores()], 360).locator("table").aria_snapshot()
    for words in (
        'columnheader "CIFAR-10"', 'columnheader "accuracy, %"', 'rowheader "deep ensemble"',
        'cell "−71 MB"', 'cell "Nado et al."',
    ):  # fmt: skip
        assert words in snapshot


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_method_has_its_color_beside_its_name(shown, mode):
    colors = shown([totals(*METHODS)], 740, mode).evaluate(
        "[...document.querySelectorAll('tbody th')]"
        ".map((name) => getComputedStyle(name, '::before').backgroundColor)"
    )
    wanted = [palette.DARK[own] if mode == "dark" else own for own in palette.PALETTE.values()]
    rgb = [tuple(int(own[i : i + 2], 16) for i in (1, 3, 5)) for own in wanted]
    assert colors == [f"rgb{each}" for each in rgb]
