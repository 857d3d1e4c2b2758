"""A running Chromium, and pages of X-rays in it that must neither fail nor ask for anything."""

from contextlib import contextmanager

import pytest

from scripts.browsing import DESK, NO_BROWSER, Watch, chromium, find_browser, open_context


@pytest.fixture(scope="session")
def browser():
    pytest.importorskip("playwright")
    if not find_browser():
        pytest.skip(NO_BROWSER)
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def scripts(browser):
    """An empty page, where scripts run on their own."""
    context = open_context(browser)
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open an X-ray from a folder: ``with opened(picture, "#M=8") as page``."""

    @contextmanager
    def opened(picture, address="", **options):
        path = picture.save(tmp_path / "xray.html")
        context = open_context(browser, **({"viewport": DESK} | options))
        page = context.new_page()
        page.set_default_timeout(120_000)
        watch = Watch(page, "file:")
        page.goto(path.as_uri() + address)
        yield page
        context.close()
        assert watch.asked == [path.as_uri().removeprefix("file:")]
        assert not watch.foreign and not watch.errors

    return opened
