"""The built book in a browser: one server and one browser a worker, a new page a test."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.browsing import NO_BROWSER, chromium, find_browser, serve
from tests.browser import small

SITE = Path(__file__).parents[2] / "_build" / "html"


def missing(reason):
    """Skip; but fail where a browser and the book must be there."""
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def site():
    """The folder of the built book."""
    if not (SITE / "index.html").exists():
        missing("the book is not built: run `make book`")
    return SITE


@pytest.fixture(scope="session")
def server(site):
    """The address of the book on a local server; it ends in a slash."""
    with serve(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """A running Chromium."""
    if not find_browser():
        missing(NO_BROWSER)
    with chromium() as browser:
        yield browser


@pytest.fixture
def folder(site):
    """The address of the book without a server; it ends in a slash."""
    return site.as_uri() + "/"


@pytest.fixture
def open_page(browser, server, folder):
    """Open pages with options of your own; at the end, none may have gone wrong."""
    with small.watched(browser, server, folder) as open_page:
        yield open_page


@pytest.fixture
def page(open_page):
    """A new page, in light mode, as wide as a desk."""
    return open_page()


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page without the book, for scripts on their own; one for all tests of a file."""
    with small.watched(browser) as open_page:
        yield open_page()


@pytest.fixture
def opened(browser, tmp_path):
    """Open an X-ray, which asks for nothing: ``with opened(picture, "#members=8") as page``."""

    @contextmanager
    def opened(picture, address="", **options):
        path = picture.save(tmp_path / "xray.html")
        with small.opening(browser, path.as_uri()) as open_one:
            page = open_one(address, **options)
            page.set_default_timeout(120_000)
            yield page

    return opened
