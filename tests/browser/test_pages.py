"""What leads from page to page: the front door, search, the choice of light or dark.

Page by page, `scripts/check_site.py` looks at the book.
"""

from urllib.parse import unquote, urlsplit

from scripts.check_site import THEME, open_context, visit


def test_the_front_door_leads_to_the_first_page(page, folder):
    page.goto(folder + "index.html")
    page.wait_for_url(folder + "book/intro.html")
    assert page.locator("article h1").inner_text().startswith("The Weights of Uncertainty")


def search(page, home, site):
    """Search for a term, and follow the first link."""
    page.goto(f"{home}search.html?q=fast+weights")
    results = page.locator("#search-results ul.search > li > a")
    results.first.wait_for()
    for link in results.all():
        assert (site / unquote(urlsplit(link.get_attribute("href")).path)).is_file()
    results.first.click()
    page.locator("article h1").wait_for()
    assert "fast weight" in page.locator("article").inner_text().lower()


def test_search_finds_fast_weights(page, server, site):
    search(page, server, site)


def test_search_finds_fast_weights_in_a_folder(browser, folder, site):
    # Not on watch: a folder gives no summaries of what is found, and the browser logs that.
    with open_context(browser) as context:
        search(context.new_page(), folder, site)


def test_the_switch_of_light_and_dark_is_remembered(browser, server):
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    visit(page, server + "book/intro.html")
    assert page.evaluate(THEME) == "dark"  # as the reader's system has it
    while page.evaluate(THEME) == "dark":
        page.locator("button.theme-switch-button:visible").first.click()
    visit(page, server + "book/glossary.html")
    assert page.evaluate(THEME) == "light"
    context.close()
