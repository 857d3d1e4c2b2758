"""Small pages with one app and nothing else, and fingers on them."""

import contextlib

from scripts.browsing import Watch, open_context

STYLE = """
  body { font-family: sans-serif; margin: 1rem auto; max-width: 47rem; padding: 0 1rem }
  body { color: #222; background: #fff }
  [data-theme=dark] { --pst-color-background: #121212; --pst-color-text-base: #ddd }
  [data-theme=dark] { --pst-color-border: #444; --pst-color-text-muted: #aaa }
  [data-theme=dark] { --pst-color-primary: #79b3f2 }
  [data-theme=dark] body { color: #ddd; background: #121212 }
"""
TALL = '<div style="height: 3000px"></div>'
EMPTY = '<div class="space"></div><div id="root"></div><div class="space"></div>'
# A page that scrolls keeps the next touch for itself, too.
AT_REST = """new Promise((rest) => {
  let [last, still] = [scrollY, 0];
  const look = () => {
    still = scrollY === last ? still + 1 : 0;
    last = scrollY;
    if (still === 30) rest();
    else requestAnimationFrame(look);
  };
  look();
})"""


def write(path, title, body, css, *scripts):
    """Write a page whose article has a title and this body."""
    texts = "".join(f"<script>{script}</script>" for script in scripts)
    path.write_text(
        '<!DOCTYPE html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}{css}</style></head><body><main><article>"
        f"<h1>{title}</h1>{body}</article></main>{texts}</body></html>",
        encoding="utf-8",
    )


@contextlib.contextmanager
def watched(browser, *homes):
    """Yield what opens pages that may ask these; at the end, nothing has gone wrong on them."""
    contexts, watches = [], []

    def open_page(mode="light", **options):
        contexts.append(open_context(browser, mode, **options))
        page = contexts[-1].new_page()
        watches.append(Watch(page, *homes))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not [url for watch in watches for url in watch.foreign], "asked of another host"
    assert not [error for watch in watches for error in watch.errors]


@contextlib.contextmanager
def opening(browser, home):
    """Yield what opens the pages below `home`."""
    with watched(browser, home) as open_page:

        def open_one(file="empty.html", mode="light", motion="reduce", **options):
            page = open_page(mode, **options)
            page.emulate_media(reduced_motion=motion)
            page.goto(home + file)
            page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
            return page

        yield open_one


def swipe(page, start, end):
    """Put a finger down at one place, and lift it at another."""
    session = page.context.new_cdp_session(page)

    def touch(kind, *places):
        points = [{"x": x, "y": y} for x, y in places]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", start)
    for share in (0.1, 0.25, 0.5, 0.75, 1):
        touch("touchMove", [a + share * (b - a) for a, b in zip(start, end, strict=True)])
    touch("touchEnd")
