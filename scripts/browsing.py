"""The built book in a browser: its pages, a server, Chromium, and what goes wrong meanwhile."""

import argparse
import functools
import gzip
import shutil
import sys
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# The first is Chromium without windows: pages load in half the time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
NO_BROWSER = f"no browser: install Chromium, so that one of {', '.join(BROWSERS)} is on the path"
SMALL, PHONE, TABLET, DESK = (
    {"width": width, "height": height}
    for width, height in ((320, 640), (360, 740), (768, 1024), (1280, 800))
)
# What all pages share: a reader fetches it once.
SHARED = ("_static/", "searchindex.js")
SETTLE = "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"


def find_browser():
    """Return the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def site_of(doc, arguments):
    """Return the parser of a script with this docstring, and the built book that it is given."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("site", type=Path, help="the folder of the built book")
    site = parser.parse_args(arguments).site.resolve()
    if not find_browser():
        parser.error(NO_BROWSER)
    return parser, site


@functools.cache
def packed(path):
    """Return the bytes of a file as a web server sends them."""
    return gzip.compress(path.read_bytes(), mtime=0)


class Handler(SimpleHTTPRequestHandler):
    """Sends every file gzipped, and says nothing."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/favicon.ico":  # the browser's own wish, not the page's
            self.send_response(204)
            self.end_headers()
            return
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.exists():
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(packed(path))))
        self.send_header("Cache-Control", "max-age=600")  # as GitHub Pages does
        self.end_headers()
        self.wfile.write(packed(path))

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    """A server whose readers may leave at any time."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve(site):
    """Serve a folder on a free port; yields the address, which ends in a slash."""
    with Server(("127.0.0.1", 0), functools.partial(Handler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextmanager
def chromium():
    """Start the browser that is installed."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser())
        yield browser
        browser.close()


def open_context(browser, mode="light", viewport=DESK, **options):
    """Open a browser's profile, empty but for the choice of light or dark."""
    context = browser.new_context(
        viewport=viewport, color_scheme=mode, reduced_motion="reduce", **options
    )
    # The theme keeps the reader's choice here, and sets html[data-theme] from it before it paints.
    context.add_init_script(
        f"for (const key of ['mode', 'theme']) localStorage.setItem(key, '{mode}')"
    )
    return context


class Watch:
    """What a page asks for, and what goes wrong, while it is open.

    Its homes are where the site is read from; all else is foreign.
    """

    def __init__(self, page, *homes):
        self.homes = homes
        self.clear()
        page.on("request", self.on_request)
        page.on("response", self.on_response)
        page.on("requestfailed", self.on_failure)
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))

    def clear(self):
        """Forget what was seen."""
        self.asked, self.foreign, self.errors = [], [], []

    def on_request(self, request):
        home = next(filter(request.url.startswith, self.homes), None)
        if home:
            self.asked.append(request.url.removeprefix(home).partition("?")[0])
        elif not request.url.startswith(("data:", "blob:", "about:")):
            self.foreign.append(request.url)

    def on_response(self, response):
        if response.status >= 400:
            self.errors.append(f"status {response.status}: {response.url}")

    def on_failure(self, request):
        # A page that is left while it loads aborts its requests; "csp": scripts are off.
        if request.failure not in ("net::ERR_ABORTED", "csp"):
            self.errors.append(f"{request.failure}: {request.url}")

    def on_console(self, message):
        if message.type == "error":
            self.errors.append(f"console: {message.text}")


def visit(page, address):
    """Open an address, and wait for its formulas and fonts."""
    page.goto(address)
    page.evaluate(SETTLE)
