"""What a reader needs who does not see, point or move as most do."""

import pytest

from scripts.browsing import DESK, visit
from scripts.check_site import accessible

BATCH = "book/counting/batch-ensemble.html"
# Where the keyboard stands, and whether one sees it.
FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const shown = element.matches(".ensedu-toggle input") ? element.nextElementSibling : element;
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(shown);
  return {
    place: element.closest("header, .bd-header-article, .bd-sidebar-primary, article, footer")
      ?.className ?? "",
    html: element.outerHTML.slice(0, 400),
    formula: element.matches("mjx-container:not([display]), span.math, span.math *"),
    outline: outlineStyle === "none" ? 0 : parseFloat(outlineWidth),
    color: outlineColor,
  };
}"""
MOVING = """() => [...document.querySelectorAll("*")]
  .filter((element) => {
    const { transitionDuration, animationDuration } = getComputedStyle(element);
    return [transitionDuration, animationDuration].some((time) => parseFloat(time) > 0.01);
  })
  .map((element) => element.outerHTML.slice(0, 80))"""
LOADED = """(frame) => [...frame.querySelectorAll("img")]
  .some((image) => image.checkVisibility() && image.complete && image.naturalWidth)"""


def stops(page):
    """List where the tab key leads, once through the page."""
    found = []
    for _ in range(400):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None or (found and stop["html"] == found[0]["html"]):
            return found
        found.append(stop)
    raise AssertionError("more than 400 tab stops")


def test_every_tab_stop_is_seen_and_no_formula_in_a_line_is_one(page, server):
    visit(page, server + BATCH)
    found = stops(page)
    assert len(found) > 20
    assert not [stop["html"] for stop in found if stop["formula"]]
    assert not [stop for stop in found if stop["outline"] < 2]
    assert any("bd-header-article" in stop["place"] for stop in found)
    assert any("Download this page" in stop["html"] for stop in found)


@pytest.mark.parametrize(("system", "stored"), [("light", "dark"), ("dark", "light")])
def test_forced_colors_follow_the_system(browser, server, system, stored):
    context = browser.new_context(color_scheme=system, forced_colors="active")
    context.add_init_script(
        f"for (const key of ['mode', 'theme']) localStorage.setItem(key, '{stored}')"
    )
    page = context.new_page()
    visit(page, server + BATCH)
    frames = page.locator(".ensedu-frame").all()
    assert frames
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 18, 18)"}
    for frame in frames:
        frame.scroll_into_view_if_needed()
        page.wait_for_function(LOADED, arg=frame.element_handle())
        shown = [image for image in frame.locator("img").all() if image.is_visible()]
        (image,) = shown
        assert image.evaluate("(image) => image.currentSrc").endswith(f"-{system}.svg")
        color = image.evaluate("(image) => getComputedStyle(image).backgroundColor")
        assert color == ground[system]
    context.close()


def test_nothing_moves_for_a_reader_who_asks_for_it(page, server):
    visit(page, server + BATCH)
    assert page.evaluate(MOVING) == []
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"


@pytest.mark.parametrize("name", ["live", "playground", "learning/shootout"])
def test_axe_finds_nothing_in_forced_colors(open_page, server, name):
    page = open_page(forced_colors="active")
    visit(page, f"{server}book/{name}.html")
    assert list(accessible(page, (DESK,))) == []
