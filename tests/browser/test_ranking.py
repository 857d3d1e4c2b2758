"""A ranking in a browser: sorted by mouse, keys and choice, on a desk, a phone and paper."""

import pytest

from ensedu.book.page.ranking import BUNDLE
from scripts.browsing import DESK, PHONE, SMALL
from tests.book.page.verdicts import one_table, results
from tests.browser import verdict

DATA = results().data()
NAMES = [[row.name for row in part.rows] for part in results().parts]
SHOWN = """() => [...document.querySelectorAll(".ensedu-ranking section")]
  .filter((section) => section.checkVisibility())
  .map((section) => [...section.querySelectorAll("tbody th")]
    .map((name) => name.firstChild.textContent + (name.querySelector("wbr")
      ? name.childNodes[2].textContent : "")).map((name) => name.trim()))"""
# Whether each number of a row stands below its title, none beside another's.
BELOW = """() => {
  const table = document.querySelector(".ensedu-ranking section:not([hidden]) table");
  const heads = [...table.querySelectorAll("thead th")].map((th) => th.getBoundingClientRect());
  return [...table.querySelectorAll("tbody tr")].every((row) =>
    [...row.querySelectorAll("td")].every((cell, i) => {
      const { left, right, width, height } = cell.getBoundingClientRect();
      const own = Math.abs(left - heads[i].left) <= 1 && Math.abs(right - heads[i].right) <= 1;
      return own && width > 40 && height > 15 && cell.checkVisibility();
    }));
}"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranking") / "page.html"
    verdict.write(path, results(), BUNDLE)
    return path


@pytest.fixture
def opened(browser, path):
    with verdict.opening(browser, path) as open_one:
        yield open_one


def told(page):
    return page.locator(".ensedu-ranking [role=status]").text_content()


def title(page, name):
    return page.locator("section:visible").get_by_role("button", name=name)


def check(page, table, column, end):
    """The page shows a table in the order, and with the sentence, that Python gives."""
    data = DATA["tables"][table]
    place = data["by"].index(column)
    assert page.evaluate(SHOWN) == [[NAMES[table][i] for i in data["orders"][place][end]]]
    assert told(page) == data["said"][place][end]
    heads = page.locator("section:visible thead [aria-sort]")
    assert heads.count() == 1
    assert heads.get_attribute("aria-sort") == data["directions"][place][end]
    assert heads.text_content().endswith(f"{end} first")
    assert heads.text_content().startswith(column)


def test_each_title_sorts_and_turns(opened):
    page = opened()
    check(page, 0, "NLL", "best")
    for table, option in enumerate(("digits", "houses")):
        page.get_by_role("radio", name=option).check()
        for column in DATA["tables"][table]["by"]:
            title(page, column).click()
            check(page, table, column, "best")
            title(page, column).click()
            check(page, table, column, "worst")
            title(page, column).click()
            check(page, table, column, "best")


def test_a_table_without_the_column_has_its_own(opened):
    page = opened()
    title(page, "accuracy").click()
    page.get_by_role("radio", name="houses").check()
    check(page, 1, "NLL", "best")
    page.get_by_role("radio", name="digits").check()
    check(page, 0, "accuracy", "best")


def test_with_the_keyboard_alone(opened):
    page = opened()
    page.locator("article a").first.focus()
    seen = []
    for _ in range(6):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent.split(/\\s/)[0]"))
        outline = "getComputedStyle({}).outlineStyle"
        here = "document.activeElement"
        here += ".matches('input') ? document.activeElement.nextElementSibling : " + here
        assert page.evaluate(outline.format(here)) == "solid"
    assert seen == ["", "parameters", "accuracy", "NLL", "ECE", "AUROC"]
    page.keyboard.press("Enter")
    check(page, 0, "AUROC", "best")
    page.keyboard.press("Space")
    check(page, 0, "AUROC", "worst")
    assert page.evaluate("document.activeElement.textContent").startswith("AUROC")
    for _ in range(5):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    check(page, 1, "NLL", "worst")


def test_the_address_keeps_it(opened):
    page = opened()
    title(page, "ECE").click()
    title(page, "ECE").click()
    assert page.url.endswith("#fig-results:show=digits&by=ECE&first=worst")
    again = opened(at="#fig-results:show=digits&by=ECE&first=worst")
    check(again, 0, "ECE", "worst")
    again.evaluate("location.hash = '#fig-results:show=houses&by=RMSE&first=best'")
    again.wait_for_function("document.querySelector('[role=status]').textContent.includes('RMSE')")
    check(again, 1, "RMSE", "best")
    again.evaluate("location.hash = '#fig-results:show=moons&by=fun&first=last&x=y'")
    check(again, 1, "RMSE", "best")
    check(opened(at="#fig-other:by=ECE"), 0, "NLL", "best")


@pytest.mark.parametrize("viewport", [PHONE, SMALL], ids=["360", "320"])
def test_a_phone_shows_every_number_below_its_title(opened, viewport):
    page = opened(viewport=viewport)
    for column in DATA["tables"][0]["by"]:
        title(page, column).click()
        check(page, 0, column, "best")
        assert page.evaluate(BELOW)
        assert not page.evaluate(verdict.SIDEWAYS)
    for part in page.locator(".ensedu-toggle label, thead th:visible").all():
        assert part.bounding_box()["height"] >= 44


@pytest.mark.parametrize("width", [553, 601, 768, 1280])
def test_nothing_moves_when_it_is_sorted(opened, width):
    page = opened(viewport={"width": width, "height": 900})
    table = page.locator("table:visible")
    boxes = "(table) => [...table.querySelectorAll('thead th')].map((th) => th.offsetWidth)"
    heights, widths = set(), set()
    for column in DATA["tables"][0]["by"]:
        title(page, column).click()
        widths.add(tuple(table.evaluate(boxes)))
        assert not page.evaluate(verdict.SIDEWAYS)
        heights.add(round(table.bounding_box()["height"]))
    assert len(heights) == len(widths) == 1


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_titles_stay_in_sight_with_their_rows(opened, viewport):
    page = opened(viewport=viewport)
    table, head = page.locator("table:visible"), page.locator("thead th:visible").first
    end_at = "(one, y) => scrollBy(0, one.getBoundingClientRect().bottom - y)"
    table.evaluate(end_at, 260)
    box = head.bounding_box()
    assert 0 <= box["y"] <= 110
    on_top = "([x, y]) => !!document.elementFromPoint(x, y).closest('thead')"
    assert page.evaluate(on_top, [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    table.evaluate(end_at, 0)
    assert head.bounding_box()["y"] < 0


BARS = """() => [...document.querySelectorAll(".ensedu-bar")]
  .filter((bar) => bar.checkVisibility({ visibilityProperty: true }))
  .map((bar) => {
    const box = bar.getBoundingClientRect();
    const part = getComputedStyle(bar, "::before");
    const [left, width] = [parseFloat(part.left), parseFloat(part.width)];
    const zero = parseFloat(bar.style.getPropertyValue("--zero")) / 100;
    const ends = [left, left + width].map((end) => end / box.width - zero);
    const { column } = bar.closest("[data-column]").dataset;
    const cell = bar.closest("tr").cells[Number(column) + 1];
    return [cell.querySelector(".ensedu-between").textContent, ...ends, box.width];
  })"""


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_sorted_columns_differences_are_bars_on_one_scale(opened, viewport):
    page = opened(viewport=viewport)
    bars = page.evaluate(BARS)
    assert [words for words, *_ in bars] == [
        "[−0.053, −0.031]", "[−0.027, −0.005]", "[−0.021, 0.003]", "[−0.015, 0.007]",
        "[0.003, 0.031]",
    ]  # fmt: skip
    for words, low, high, width in bars:
        ends = [float(end.replace("−", "-")) for end in words.strip("[]").split(", ")]
        scale = 0.053 + 0.031  # from the lowest end to the highest
        assert [low * scale, high * scale] == pytest.approx(ends, abs=0.002 + 2.5 / width * scale)
        assert width >= (100 if viewport is PHONE else 120)
    if viewport is PHONE:
        return
    # A column that has none leaves those of the first that has some.
    title(page, "parameters").click()
    assert [words for words, *_ in page.evaluate(BARS)] == [
        "[−0.9, 0.4]", "[−0.2, 1.0]", "[−0.7, 0.5]", "[0.7, 1.5]", "[−0.3, 0.9]",
    ]  # fmt: skip
    page.emulate_media(media="print")
    assert page.locator(".ensedu-between:visible").count() == 19
    assert not page.locator(".ensedu-bar:visible").count()


def test_a_title_has_two_triangles_and_that_of_the_sorted_column_one(opened):
    page = opened()
    seen = """() => [...document.querySelectorAll("section:not([hidden]) .ensedu-sort")]
      .map((one) => ["::before", "::after"]
        .map((part) => getComputedStyle(one, part).visibility === "visible"))"""
    both, up, down = [True, True], [True, False], [False, True]
    assert page.evaluate(seen) == [both, both, up, both, both]
    title(page, "accuracy").click()
    assert page.evaluate(seen) == [both, down, both, both, both]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_above_the_bars_stands_what_they_are_of(opened, viewport):
    page = opened(viewport=viewport)
    scale = page.locator("section:visible thead [data-column]:visible")
    for column, named in (("NLL", "NLL"), ("AUROC", "AUROC"), ("parameters", "accuracy")):
        title(page, column).click()
        assert scale.locator(".ensedu-of").inner_text() == f"{named} difference"
        bar = page.locator("section:visible tbody .ensedu-bar:visible").first.bounding_box()
        box = scale.locator(".ensedu-scale").bounding_box()
        assert (box["x"], box["width"]) == pytest.approx((bar["x"], bar["width"]), abs=1)
        # On a phone, where names stand above numbers, it is on their line of the head.
        title_of_numbers = page.locator("section:visible thead th").first.bounding_box()
        assert (box["y"] + box["height"] <= title_of_numbers["y"]) == (viewport is PHONE)


def test_a_title_is_one_line_and_below_it_stand_its_unit_and_its_arrow(opened):
    for viewport in (DESK, PHONE):
        page = opened(viewport=viewport)
        for head in page.locator("thead button:visible").all():
            assert head.bounding_box()["height"] <= 42
            title, *others = head.locator("> :not(.ensedu-hear, .ensedu-sort)").all()
            box = title.bounding_box()
            for other in others:
                assert other.bounding_box()["y"] >= box["y"] + box["height"] - 1
        words = page.locator(".ensedu-press:visible").inner_text()
        assert "↑\N{NO-BREAK SPACE}higher is better" in words


def test_without_scripts_and_on_paper_all_is_there(opened):
    for viewport in (DESK, PHONE):
        bare = opened(viewport=viewport, java_script_enabled=False)
        assert bare.locator("table:visible").count() == 2
        assert bare.locator("button, .ensedu-choices:visible, select:visible").count() == 0
        for words in ("[−0.005, 0.005]", "[−0.20, 0.20]"):
            assert bare.get_by_text(words, exact=True).first.is_visible()
        assert bare.locator("thead th").first.text_content().startswith("parameters")
    page = opened()
    page.emulate_media(media="print")
    # The table that was chosen.
    assert page.locator("table:visible").count() == 1
    assert page.locator("caption:visible").count() == 1
    assert page.locator("thead button:visible").count() == 5
    assert page.locator(".ensedu-key").inner_text().startswith("↓\N{NO-BREAK SPACE}lower is better")
    assert page.locator(".ensedu-choices:visible, select:visible").count() == 0


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing(opened, mode, viewport):
    page = opened(mode, viewport)
    assert verdict.axe(page, ".ensedu-ranking") == []
    page.get_by_role("radio", name="houses").check()
    assert verdict.axe(page, ".ensedu-ranking") == []


def test_a_table_by_its_roles(opened):
    page = opened()
    snapshot = page.locator("section:visible table").aria_snapshot()
    for words in (
        'columnheader "NLL nats lower is better best first"',
        'button "NLL nats lower is better best first"',
        'rowheader "single network reference"',
        'cell "0.071 better [−0.053, −0.031]"',
    ):
        assert words in snapshot, snapshot


def test_one_table_alone(browser, tmp_path):
    path = tmp_path / "page.html"
    verdict.write(path, one_table(), BUNDLE)
    with verdict.opening(browser, path) as open_one:
        page = open_one(viewport=PHONE)
        assert told(page) == one_table().data()["tables"][0]["said"][3]["best"]
        assert page.locator(".ensedu-choices").count() == 0
        title(page, "ECE").click()
        assert "worst first" in told(page)
        assert page.url.endswith("#fig-one:show=&by=ECE&first=worst")
