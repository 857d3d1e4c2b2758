"""Open every page of the built book in Chromium, print a table, and list what is wrong.

    python scripts/check_site.py _build/html

A page asks no other host for anything and logs no error, from a server and from a folder; axe finds
nothing against WCAG 2.2 AA, in light and dark, on a desk and on a phone; its own files are light;
it answers soon on a slow processor and on a slow line. Times are shown, and marked where they miss
their aim, but fail nothing: they are as much this machine's as the site's.
"""

import argparse
import functools
import gzip
import shutil
import sys
import threading
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = f"no browser: install Chromium, so that one of {', '.join(BROWSERS)} is on the path"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
# What all pages share: a reader fetches it once.
SHARED = ("_static/", "searchindex.js")

MAX_KB = 400
MAX_MS = 1000  # until interactive, on a processor SLOWER times as slow
SLOWER = 4
MAX_S = 5.0  # until interactive, on the line below, with nothing cached
LINE = {"latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 1.6e6 / 8}
# Only so many pages are opened on the slow line, which takes seconds each.
ON_LINE = 4
SHOWN = 4  # places of a fault that stand at many
TRIES = 3  # of which the fastest counts: other work on the machine only adds

SETTLE = "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"
# Axe passes over what is folded away.
UNFOLD = """() => {
  document.querySelectorAll("article details").forEach((box) => (box.open = true));
  document.querySelectorAll("article button.toggle-button-hidden").forEach((b) => b.click());
}"""
# Else axe sees colors on their way from one to another.
STILL = "*, ::before, ::after { transition: none !important; animation: none !important }"
TIMES = """() => {
  const [page] = performance.getEntriesByType("navigation");
  const sliders = performance.getEntriesByName("ensedu-sliders")[0]?.startTime ?? 0;
  return [Math.max(page.domInteractive, sliders), page.loadEventEnd];
}"""


def find_browser():
    """Return the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def pages(site):
    """List the pages of a site by address; not its templates, nor what only redirects."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [
        name
        for name in found
        if not name.startswith(SHARED)
        and 'http-equiv="refresh"' not in (site / name).read_text(encoding="utf-8").lower()
    ]


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


def violations(page):
    """Return what axe says against an open page, unfolded, on a desk and on a phone."""
    from axe_playwright_python.sync_playwright import Axe

    page.add_style_tag(content=STILL)
    page.evaluate(UNFOLD)
    found = {}
    for viewport in (DESK, PHONE):
        page.set_viewport_size(viewport)
        # Contrast takes most of the time, and a phone shows the same colors.
        rules = {"color-contrast": {"enabled": viewport is DESK}}
        options = {"runOnly": RULES, "rules": rules, "resultTypes": ["violations"]}
        for rule in Axe().run(page, options=options).response["violations"]:
            for node in rule["nodes"]:
                where = " ".join(map(str, node["target"]))
                reason = [*node["any"], *node["all"], *node["none"]][0]["message"]
                found[rule["id"], where] = f"axe {rule['id']}: {reason}", where
    page.set_viewport_size(DESK)
    return list(found.values())


def check_content(site, home, names):
    """Return each page's requests to others, errors and kB, and what is wrong."""
    rows, wrong = {name: {"others": 0, "errors": 0} for name in names}, defaultdict(list)
    with chromium() as browser:
        for base in (home, site.as_uri() + "/"):
            page = open_context(browser).new_page()
            watch = Watch(page, base)
            for name, row in rows.items():
                watch.clear()
                visit(page, base + name)
                row["others"] += len(watch.foreign)
                row["errors"] += len(watch.errors)
                for text in [*(f"asks for {url}" for url in watch.foreign), *watch.errors]:
                    wrong[text.replace(base, "")].append(name)
                if base == home:
                    own = {asked for asked in watch.asked if not asked.startswith(SHARED)}
                    row["kB"] = sum(len(packed(site / asked)) for asked in own) / 1000
                    if row["kB"] > MAX_KB:
                        wrong[f"more than {MAX_KB} kB"].append(name)
    return rows, wrong


def check_access(mode, home, names):
    """Return each page's number of violations in light or in dark, and what they are."""
    rows, wrong = {}, defaultdict(list)
    with chromium() as browser:
        page = open_context(browser, mode).new_page()
        for name in names:
            visit(page, home + name)
            found = violations(page)
            rows[name] = {mode: len(found)}
            for text, where in found:
                wrong[text].append(f"{name} ({mode}): {where}")
    return rows, wrong


def check_processor(browser, home, names, slow):
    """Return milliseconds until interactive and loaded, when the processor is slow."""
    times = {}
    context = open_context(browser)
    page = context.new_page()
    visit(page, home + names[0])  # from now on what all pages share is cached
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    for name in names:
        for _ in range(TRIES):
            page.goto(home + name)
            times[name] = min(times.get(name, [float("inf")]), page.evaluate(TIMES))
            if times[name][0] < MAX_MS:
                break
        else:
            slow[f"not interactive within {MAX_MS} ms, processor ×{SLOWER} slower"].append(name)
    context.close()
    return times


def check_line(browser, home, names, slow):
    """Return seconds until interactive and loaded, on a slow line with nothing cached."""
    times = {}
    for name in names:
        context = open_context(browser)
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", {"offline": False, **LINE})
        page.goto(home + name, timeout=60_000)
        times[name] = [value / 1000 for value in page.evaluate(TIMES)]
        if times[name][0] >= MAX_S:
            slow[f"not interactive within {MAX_S:g} s at 1.6 Mbit/s"].append(name)
        context.close()
    return times


def table(rows, processor, line):
    """Return the table, a page a line."""
    width = max(map(len, rows))
    slow, far = f"ms, processor ×{SLOWER}", "s, 1.6 Mbit/s"
    text = [f"{'':{width}}  others  errors  axe light  axe dark  kB gz  {slow}  {far}"]
    text += [f"{'page':{width}}{'interactive / loaded':>78}"]
    for name, row in rows.items():
        slow = "{:.0f} / {:.0f}".format(*processor[name])
        far = "{:.1f} / {:.1f}".format(*line[name]) if name in line else "–"
        text.append(
            f"{name:{width}}  {row['others']:6}  {row['errors']:6}  {row['light']:9}"
            f"  {row['dark']:8}  {row['kB']:5.0f}  {slow:>16}  {far:>13}"
        )
    return "\n".join(text)


def main(arguments=None):
    """Check a site; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the folder of the built book")
    site = parser.parse_args(arguments).site.resolve()
    if not find_browser():
        parser.error(NO_BROWSER)
    if not (site / "index.html").exists():
        parser.error(f"{site} holds no index.html: run `make book`")

    wrong, slow, names = defaultdict(list), defaultdict(list), pages(site)
    rows = {name: {} for name in names}
    with serve(site) as home:
        with ProcessPoolExecutor() as pool:
            checks = [
                pool.submit(check_access, "light", home, names),
                pool.submit(check_access, "dark", home, names),
                pool.submit(check_content, site, home, names),
            ]
            for check in checks:
                seen, faults = check.result()
                for name, row in seen.items():
                    rows[name] |= row
                for text, where in faults.items():
                    wrong[text] += where
        # Times are taken with nothing beside them.
        with chromium() as browser:
            heavy = sorted(names, key=lambda name: -rows[name]["kB"])[:ON_LINE]
            line = check_line(browser, home, heavy, slow)
            processor = check_processor(browser, home, names, slow)
    print(table(rows, processor, line))
    print(f"The line is tried with the {len(heavy)} heaviest pages.")
    for text, where in [*slow.items(), *wrong.items()]:
        more = f"\n  and {len(where) - SHOWN} more" if len(where) > SHOWN else ""
        print(f"\n{text}", *where[:SHOWN], sep="\n  ", end=f"{more}\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
