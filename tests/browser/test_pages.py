"""From page to page: the front door, search, light or dark, keys, and what stands below figures."""

import csv
import io
import re
from urllib.parse import quote, unquote, urlsplit

import pytest

from ensedu import counting
from ensedu.methods import METHODS, size_option
from scripts import pdf
from scripts.browsing import DESK, PHONE, SMALL, serve, visit
from scripts.check_site import THEME, accessible, check_pages, open_context
from workshop.figures.intro import TRIES

BATCH = "book/counting/batch-ensemble.html"
CONTEST = "book/learning/shootout.html"
COUNTS = "book/counting/comparison.html"
TOUCH = {"viewport": PHONE, "has_touch": True, "is_mobile": True}


def test_the_front_door_leads_to_the_first_page_and_search_works_in_a_folder(browser, folder, site):
    # Not on watch: a folder gives no summaries of what is found, and the browser logs that.
    with open_context(browser) as context:
        page = context.new_page()
        page.goto(folder + "index.html")
        page.wait_for_url(folder + "book/intro.html")
        page.goto(f"{folder}search.html?q=fast+weights")
        results = page.locator("#search-results ul.search > li > a")
        results.first.wait_for()
        for link in results.all():
            assert (site / unquote(urlsplit(link.get_attribute("href")).path)).is_file()
        results.first.click()
        page.locator("article h1").wait_for()
        assert "fast weight" in page.locator("article").inner_text().lower()


FIRST = {
    "KL weight": "book/learning/bayes-by-backprop",
    "MC dropout": "book/learning/mc-dropout",
    "rank-1 perturbations": "book/theory/rank-1-perturbations",
    "conformal_quantile": "book/api/uncertainty",
}


def test_search_finds_the_chapter_first_and_no_menu(page, server):
    for query, chapter in FIRST.items():
        page.goto(f"{server}search.html?q={quote(query)}")
        results = page.locator("#search-results ul.search > li")
        results.first.wait_for()
        link = results.first.locator("> a").get_attribute("href")
        assert link.partition(".html")[0] == chapter
    for words in page.locator("#search-results p.context").all_inner_texts():
        assert "Contents" not in words


def test_a_first_visit_follows_the_system_and_the_switch_is_remembered(browser, server):
    context = browser.new_context(color_scheme="dark")
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append((message.type, message.text)))
    visit(page, server + "book/intro.html")
    assert page.evaluate(THEME) == "dark"
    assert [text for kind, text in said if kind in ("error", "warning")] == []
    while page.evaluate(THEME) == "dark":
        page.locator("button.theme-switch-button:visible").first.click()
    visit(page, server + "book/glossary.html")
    assert page.evaluate(THEME) == "light"
    context.close()


# For readers who do not see, point or move as most do.

# Where the keyboard stands, and whether one sees it.
FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  // An X-ray has tests of its own.
  if (element.matches("iframe")) return [element.outerHTML.slice(0, 400), true];
  const shown = element.matches(".ensedu-toggle input") ? element.nextElementSibling : element;
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  return [element.outerHTML.slice(0, 400), seen];
}"""
MOVING = """() => [...document.querySelectorAll("*")].filter((element) => {
  const { transitionDuration, animationDuration } = getComputedStyle(element);
  return [transitionDuration, animationDuration].some((time) => parseFloat(time) > 0.01);
}).map((element) => element.outerHTML.slice(0, 80))"""


def test_every_tab_stop_is_seen_and_nothing_moves_by_itself(page, server):
    visit(page, server + BATCH)
    assert page.evaluate(MOVING) == []
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    found = []
    for _ in range(400):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        if stop is None or stop in found[:1]:
            break
        found.append(stop)
    assert 20 < len(found) < 400
    assert [html for html, outlined in found if not outlined] == []
    assert any("Download this page" in html for html, _ in found)


def test_forced_colors_follow_the_system_and_show_what_is_chosen(browser, open_page, server):
    context = browser.new_context(color_scheme="dark", forced_colors="active")
    context.add_init_script("for (const key of ['mode', 'theme']) localStorage[key] = 'light'")
    page = context.new_page()
    visit(page, server + "book/counting/comparison.html")
    for frame in page.locator(".ensedu-frame").all():
        frame.scroll_into_view_if_needed()
        images = frame.locator("img:visible")
        images.first.wait_for()  # an image without its file has no size
        sources = images.evaluate_all("all => all.map((image) => image.currentSrc)")
        assert len(sources) == 1 and sources[0].endswith("-dark.svg")
    look = """(toggle) => [...toggle.querySelectorAll("input")].map((input) => [
      input.checked, getComputedStyle(input.nextElementSibling).backgroundColor])"""
    colors = dict(page.locator(".ensedu-explorer .ensedu-toggle").first.evaluate(look))
    assert colors[True] != colors[False]
    context.close()
    page = open_page(forced_colors="active")
    visit(page, server + "book/live.html")
    assert list(accessible(page, (DESK,))) == []


# Below figures.


def test_numbers_code_and_tables_below_figures_lead_somewhere(page, server):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    visit(page, server + CONTEST)
    assert asked and not [url for url in asked if url.endswith((".csv", ".json"))]
    links = page.locator(".ensedu-sources a").evaluate_all("all => all.map((link) => link.href)")
    kinds = {re.sub(r".*(csv|html#|json).*", r"\1", address) for address in links}
    assert kinds == {"csv", "html#", "json"}
    assert {page.request.get(address).status for address in {*links}} == {200}
    visit(page, server + COUNTS)
    fold = page.locator(".cell:has([data-name=fig-co-depth]) details.ensedu-menu")
    fold.locator("summary").click()
    with page.expect_download() as download:
        fold.get_by_text("Numbers (CSV)").click()
    assert download.value.suggested_filename == "fig-co-depth.csv"
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    methods = {METHODS[method].label: method for method in METHODS}
    assert len({(row["width"], row["x"]) for row in rows}) == 27
    for row in rows:
        sizes = [1, *[int(row["width"])] * int(row["x"]), 1]
        method = methods[row["series"]]
        total = counting.mlp(sizes, method, **size_option(method, 4)).total
        assert float(row["y"]) == pytest.approx(total / counting.mlp(sizes).total, rel=1e-5)
    fold.get_by_text("Drawing code").click()
    page.wait_for_url("**/code/workshop/figures/counting/comparison.html#Depths.draw")
    assert page.locator(":target").text_content().strip().startswith("def draw(")
    assert page.locator(":target").bounding_box()["y"] < DESK["height"]


def test_a_stacked_table_is_a_table_to_a_screen_reader(open_page, server):
    page = open_page(viewport=SMALL)
    visit(page, server + COUNTS)
    table = page.locator("table.ensedu-table").last
    grid = "(row) => getComputedStyle(row).display"
    assert table.locator("tbody tr").first.evaluate(grid) == "grid"
    kinds = {line.split()[1] for line in table.aria_snapshot().splitlines() if line.split()[1:]}
    assert {"columnheader", "rowheader", "cell"} <= {kind.rstrip(":") for kind in kinds}


# The first page.

BAND = "document.querySelector('p.ensedu-t-control strong').textContent"
LAST = "Try 4 of 4: Add a point where there was none."


@pytest.fixture(params=[{}, TOUCH], ids=["desk", "phone"])
def intro(open_page, server, request):
    page = open_page(**request.param)
    visit(page, server + "book/intro.html")
    page.evaluate("document.getElementById('fig-doubt').scrollIntoView()")
    page.wait_for_function(BAND)
    return page


def place_in_figure(part):
    """Return how far it stands below the top of its figure, wherever a click scrolls."""
    return part.evaluate("""(one) => {
      const [own, figure] = [one, one.closest("figure")].map((box) => box.getBoundingClientRect());
      return own.top - figure.top;
    }""")


def test_what_to_try_is_in_view_with_the_trainer_and_ticked_when_it_is_done(intro):
    asked, band = (
        intro.locator(".ensedu-t-try [role=status]"),
        intro.locator("p.ensedu-t-control strong"),
    )
    members, plot = (
        intro.get_by_role("slider", name="members"),
        intro.locator("canvas[role=application]"),
    )
    for part in (asked, members, band, plot):
        box = part.bounding_box()
        assert 0 <= box["y"] and box["y"] + box["height"] <= intro.viewport_size["height"]
    place, undo = place_in_figure(members), intro.get_by_role("button", name="Undo")
    same, different = (
        intro.get_by_role("radio", name=name) for name in ("all the same", "different")
    )
    first, second, third = TRIES
    same.check()  # before it is asked for
    assert asked.inner_text() == f"Try 1 of 4: {first['ask']}"
    different.check()
    members.press("Home")
    assert asked.inner_text() == f"✓ {first['answer']}\nTry 2 of 4: {second['ask']}"
    intro.wait_for_function(f"{BAND}.endsWith('0.00')")
    undo.click()  # an answer stands as long as it holds
    assert asked.inner_text() == f"Try 2 of 4: {second['ask']}"
    members.press("End")  # what has not learned yet has no answer
    assert asked.inner_text() == f"Try 2 of 4: {second['ask']}"
    intro.get_by_role("button", name="Play").click()
    told = f"✓ {second['answer']}\nTry 3 of 4: {third['ask']}"
    own = "words => document.querySelector('.ensedu-t-try [role=status]').innerText === words"
    intro.wait_for_function(own, arg=told)
    intro.wait_for_function(f"!{BAND}.endsWith('0.00')")
    same.check()
    assert asked.inner_text() == f"✓ {third['answer']}\n{LAST}"
    assert place_in_figure(members) == place
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] / 2, "y": box["height"] / 3})
    assert asked.inner_text() == "✓ Your point is set: watch the members learn it.\nNow read on."


def test_what_to_try_can_be_skipped_and_leads_to_where_reading_starts(intro):
    skip = intro.get_by_role("button", name="skip")
    for _ in TRIES:
        skip.click()
    assert intro.locator(".ensedu-t-try [role=status]").inner_text() == LAST
    skip.press("Enter")
    on, first = intro.get_by_role("link", name="Now read on."), intro.locator(".ensedu-first")
    assert on.evaluate("one => one === document.activeElement")
    foot = intro.locator(".right-next")
    for link in (on, foot):
        assert link.evaluate("one => one.href") == first.evaluate("one => one.href")


# The cheat sheet.


def test_the_cheat_sheet_has_every_method_with_its_count_and_prints_on_one_page(page, server):
    visit(page, server + pdf.SHEET)
    for block in page.locator(".ensedu-sheet section").all():
        key = block.get_attribute("data-method")
        assert block.locator("p > b").inner_text() == METHODS[key].label
        count = counting.mlp([1, 50, 50, 1], key, **size_option(key, 4))
        assert block.locator("strong").inner_text() == f"{count.total:,}"
    assert page.locator(".ensedu-sheet section").count() == 5
    _, sheet = pdf.printed(page.context.browser, server + pdf.SHEET)
    assert len(sheet.pages) == 1


def test_a_printed_book_counts_its_pages_and_its_links_lead_from_one_to_another(browser, site):
    parts = {None: ["book/glossary.html"], "Part I": ["book/learning/bayes-by-backprop.html"]}
    book = pdf.bound(browser, site, parts)
    front, part, (chapter,) = book.outline
    assert (front["/Title"], part["/Title"]) == ("Glossary", "Part I")
    texts = [page.extract_text() for page in book.pages]
    assert [text.split()[0] for text in texts] == [str(n + 1) for n in range(len(texts))]
    first = book.get_page_number(chapter["/Page"].get_object())
    ids = {page.indirect_reference.idnum: number for number, page in enumerate(book.pages)}
    aims = {
        ids[link.get_object()["/A"]["/D"][0].idnum]
        for page in book.pages[first:]
        for link in page.annotations or ()
        if "/A" in link.get_object()
    }
    assert any("NUTS" in texts[aim] for aim in aims)
    assert max(aims) < first


# The check of all pages finds what is wrong with one, and nothing on a sound one.

SHEET = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
    '<meta name="viewport" content="width=device-width">'
    "<script>document.documentElement.dataset.theme = localStorage.theme</script>{head}</head>"
    "<body><main><article><h1>A title</h1>{body}</article></main></body></html>"
)
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
    "<mjx-container display style='display: block; width: 9px'>xyz</mjx-container>":
        ["cuts a formula off"],
    '<div class="bd-sidebar">Click</div>': ["printed, but can only be clicked"],
    "<p id=p hidden>Words.</p><script>p.hidden = false</script>": ["hidden without scripts"],
    "<details><summary>More</summary><p style='color: #888; background: #999'>Words.</p></details>":
        ["axe color-contrast"],
    '<img src="card.svg">': ["axe image-alt"],
    "": ["chapter without a figure"],
}  # fmt: skip


def test_each_fault_of_a_page_is_found_where_it_is_and_no_other(browser, tmp_path):
    page = tmp_path / COUNTS
    page.parent.mkdir(parents=True)
    page.write_text(SHEET.format(head="".join(HEAD), body="".join(BODY)))
    (page.parent / "empty.png").touch()
    (page.parent / "card.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9"/>')
    (tmp_path / "sound.html").write_text(SHEET.format(head="", body="<p>Words.</p>"))
    with serve(tmp_path) as home:
        weights, wrong = check_pages(browser, tmp_path, home, ["sound.html", COUNTS])
    assert {place.split()[0] for places in wrong.values() for place in places} == {COUNTS}
    found = {text.partition(":")[0] if text.startswith("axe") else text for text in wrong}
    assert found == {fault for faults in (HEAD | BODY).values() for fault in faults}
    assert weights.keys() == {"sound.html", COUNTS}
