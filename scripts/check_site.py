"""Open every page of the built book in Chromium, and list what is wrong.

    python scripts/check_site.py _build/html

A page is visited from a server in light and in dark, and without scripts; the largest of each kind
from a folder, too. It asks no other host for anything and logs no error; it fits phone, tablet,
desk and paper, shows its pictures and formulas, and hides nothing from a reader without scripts;
axe finds nothing against WCAG 2.2 AA, on a desk and on a phone, and no pale color in light or dark;
its own files are light; a chapter shows a figure, or a table, on its first screen.
"""

import os
import re
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from scripts.browsing import (
    DESK,
    PHONE,
    SHARED,
    SMALL,
    TABLET,
    Watch,
    chromium,
    open_context,
    packed,
    serve,
    site_of,
    visit,
)

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLORS = ("color-contrast", "link-in-text-block")
# Axe asks for stylesheets again, for a rule that is off, unless it is told what else to fetch.
AXE = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}
# What can only be clicked is left out on paper, where the article takes this share of the width.
CLICKED = (".bd-sidebar", ".bd-header", ".bd-header-article", ".prev-next-footer")
SHARE = 0.85
FRAMES = "_static/frames/"  # but for the pictures of one page
# Listings of code differ in nothing but their lines: the largest is visited in every way.
LISTINGS = "code/"

MAX_KB = 400
SHOWN = 4  # places of a fault that stand at many
CHAPTERS = ("book/counting/", "book/learning/", "book/theory/", "book/cost/")
SCREEN = {"width": 1280, "height": 900}
MAX_TOP = 700  # of the first figure, so that the first screen shows most of it
HEAVY = 5  # pages whose weight is shown
# What a page is made of: its scripts, and boxes such as a slider's.
PARTS = re.compile(r'<script[^>]* src="[^"]*?([\w.-]+\.js)|<div class="(ensedu-\w+)')

# What watches the sizes of boxes is told within a frame.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
THEME = "document.documentElement.dataset.theme"
SIDEWAYS = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
ARTICLE_SHARE = """() => {
  const article = document.querySelector("article, #search-results");
  return (article?.getBoundingClientRect().width ?? 0) / innerWidth;
}"""
# Of a picture with no pixels, only the words are shown.
EMPTY = """() => [...document.querySelectorAll("article img")]
  .filter((image) => image.complete && !image.naturalWidth)
  .map((image) => image.src.slice(0, 120))"""
UNSET = """() => {
  const wrong = "mjx-merror, [data-mjx-error], article .math.notranslate:not(:has(mjx-container))";
  return [...document.querySelectorAll(wrong)].map((formula) => formula.outerHTML.slice(0, 120));
}"""
# Only formulas on lines of their own may scroll, and so take the focus.
FOCUSED = """() => [...document.querySelectorAll("mjx-container:not([display])")]
  .filter((formula) => formula.tabIndex >= 0)
  .map((formula) => formula.outerHTML.slice(0, 120))"""
# But nothing of them is cut off on a phone, unless it is folded away.
TOO_WIDE = """() => [...document.querySelectorAll("mjx-container[display]")]
  .filter((formula) => formula.scrollWidth > formula.clientWidth + 1 && formula.clientWidth)
  .filter((formula) => !formula.closest("details:not([open])"))
  .map((formula) => formula.closest("section")?.id ?? "")"""
# In an article, what a reader without scripts can neither see nor unfold by hand.
HIDDEN = """() => {
  const seen = { opacityProperty: true, visibilityProperty: true };
  return [...document.querySelectorAll("article :is(h1, h2, h3, p, pre, table, figure, img)")]
    .filter((element) => element.tagName === "IMG" || element.textContent.trim())
    .filter((element) => !element.matches(".toggler")) // in an index, it folds by script
    .filter((element) => !element.closest(".ensedu-dark, .ensedu-axis")) // shown beside it
    .filter((element) => !element.parentElement.closest("details:not([open])"))
    .filter((element) => !element.checkVisibility(seen))
    .map((element) => element.outerHTML.slice(0, 120));
}"""
# Axe passes over what is folded away.
UNFOLD = """() => {
  document.querySelectorAll("article details").forEach((box) => (box.open = true));
  document.querySelectorAll("article button.toggle-button-hidden").forEach((b) => b.click());
}"""
# Axe looks long at each color. Text that looks like some before keeps its place, but is not seen.
ONCE = """() => {
  const grounds = new Map([[null, ""]]);
  const ground = (element) => {
    if (!grounds.has(element)) {
      const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity].join();
      const clear = own === "rgba(0, 0, 0, 0),none,1";
      grounds.set(element, ground(element.parentElement) + (clear ? "" : `/${own}`));
    }
    return grounds.get(element);
  };
  const look = (element) => {
    const own = getComputedStyle(element);
    const beside = getComputedStyle(element.parentElement).color;
    const parts = [own.color, own.fontSize, own.fontWeight, own.textDecorationLine, beside];
    return parts.join() + ground(element);
  };
  const holds = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const texts = [...document.body.querySelectorAll("*")]
    .filter((element) => [...element.childNodes].some(holds))
    .filter((element) => element.checkVisibility({ visibilityProperty: true }));
  const looks = texts.map(look);
  texts.forEach((element, i) => {
    element.style.visibility = looks.indexOf(looks[i]) === i ? "visible" : "hidden";
  });
}"""
# For all else axe looks as long at each part of a formula, which MathJax makes alike, and at each
# word of code, which has but a color of its own.
CUT = """() => {
  document.querySelectorAll("[style]").forEach((one) => one.style.removeProperty("visibility"));
  [...document.querySelectorAll("mjx-container")].slice(5).forEach((one) => one.replaceChildren());
  for (const word of document.querySelectorAll("article pre span:not([id], [tabindex])")) {
    word.replaceWith(...word.childNodes);
  }
}"""
# Else axe sees colors on their way from one to another.
STILL = "*, ::before, ::after { transition: none !important; animation: none !important }"
# Where the first figure or table of a page begins.
TOP = """() => {
  const kinds = ["explorer", "trainer", "digit", "xray"];
  const shown = kinds.map((kind) => `figure:has(.ensedu-${kind}), .ensedu-report`).join(", ");
  const first = [...document.querySelectorAll(`article :is(${shown}, .ensedu-table-box)`)]
    .find((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }));
  return first ? first.getBoundingClientRect().top + scrollY : null;
}"""


# Each of the next says what is wrong with an open page: what, and where on the page.


def fits(page, viewports=(SMALL, PHONE, TABLET, DESK)):
    """A page shows one title, and whole formulas, with no scrolling sideways, on any screen."""
    for viewport in viewports:
        page.set_viewport_size(viewport)
        page.evaluate(DRAWN)
        if page.evaluate(SIDEWAYS):
            yield "scrolls sideways", f"{viewport['width']} px"
        if viewport is PHONE:
            yield from (("cuts a formula off", place) for place in page.evaluate(TOO_WIDE))
    yield from one_title(page)


def narrow(page):
    """A page shows one title, and needs no scrolling sideways, on a small phone."""
    yield from fits(page, (SMALL, DESK))


def one_title(page):
    """A page shows one title."""
    titles = page.locator("h1:visible").count()
    if titles != 1:
        yield "shows not one title", f"but {titles}"


def on_paper(page):
    """A page on paper is its article."""
    page.emulate_media(media="print")
    for part in CLICKED:
        if page.locator(f"{part}:visible").count():
            yield "printed, but can only be clicked", part
    share = page.evaluate(ARTICLE_SHARE)
    if share <= SHARE:
        yield "narrow on paper", f"{share:.0%} of the width"
    if page.evaluate(SIDEWAYS):
        yield "scrolls sideways", "on paper"
    page.emulate_media(media="null")


def whole(page):
    """A page shows all its pictures and formulas, and no formula in a line is a stop of keys."""
    for source in page.evaluate(EMPTY):
        yield "picture without pixels", source
    for formula in page.evaluate(UNSET):
        yield "formula not set", formula
    page.evaluate(DRAWN)  # what MathJax sets takes focus, until a script of the book is told of it
    for formula in page.evaluate(FOCUSED):
        yield "formula in a line takes focus", formula


def opening(page):
    """A chapter shows a figure, or a table, on its first screen."""
    if not urlsplit(page.url).path.lstrip("/").startswith(CHAPTERS):
        return
    page.set_viewport_size(SCREEN)
    top = page.evaluate(TOP)
    page.set_viewport_size(DESK)
    if top is None:
        yield "chapter without a figure", ""
    elif top > MAX_TOP:
        yield f"first figure below {MAX_TOP} px", f"{top:.0f}"


def bare(page):
    """A page without scripts shows its title, text and pictures."""
    yield from one_title(page)
    for element in page.evaluate(HIDDEN):
        yield "hidden without scripts", element
    for source in page.evaluate(EMPTY):
        yield "picture without pixels", source


def violations(page, **options):
    """Return what axe finds, by rule and place."""
    found = {}
    for rule in page.evaluate("options => axe.run(options)", options | AXE)["violations"]:
        for node in rule["nodes"]:
            where = " ".join(map(str, node["target"]))
            reason = [*node["any"], *node["all"], *node["none"]][0]["message"]
            found[rule["id"], where] = f"axe {rule['id']}: {reason}", where
    return found


def accessible(page, viewports=(PHONE, DESK)):
    """Axe finds nothing on a page, unfolded, on a desk and on a phone of the same colors."""
    page.set_viewport_size(viewports[-1])
    yield from colored(page)
    page.evaluate(CUT)
    found, rules = {}, {rule: {"enabled": False} for rule in COLORS}
    for viewport in viewports:
        page.set_viewport_size(viewport)
        page.evaluate(DRAWN)
        found |= violations(page, runOnly=RULES, rules=rules)
    yield from found.values()


def colored(page):
    """Axe finds no pale color on a page, unfolded."""
    from axe_playwright_python.sync_playwright import Axe

    page.add_style_tag(content=STILL)
    for script in (UNFOLD, Axe().axe_script, DRAWN):
        page.evaluate(script)
    page.evaluate(ONCE)
    yield from violations(page, runOnly=COLORS).values()


# What is checked of a page, in the order of its visits; axe comes last, as it changes the page.
WAYS = {
    "light": (fits, on_paper, opening, whole, accessible),
    "dark": (narrow, colored),
    "folder": (whole,),
    "no scripts": (bare,),
}


def pages(site):
    """List the pages of a site by address; not its templates, nor what only redirects."""
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [
        name
        for name in found
        if not name.startswith(SHARED)
        and 'http-equiv="refresh"' not in (site / name).read_text(encoding="utf-8").lower()
    ]


def by_kind(site, names):
    """Return the largest page of each kind: pages of one kind have the same scripts and boxes."""
    found = {}
    for name in sorted(names, key=lambda name: (site / name).stat().st_size):
        text = (site / name).read_text(encoding="utf-8")
        found[frozenset(PARTS.findall(text))] = name
    return list(found.values())


def check_pages(browser, site, home, names, copied=None):
    """Visit pages in every way; return how many kB each weighs, and what is wrong with them.

    Only those `copied`, or all, are read from a folder, and looked at by axe on a desk; of listings
    of code, only they are more than fitted on a phone.
    """
    weights, wrong = {}, defaultdict(list)
    for way, checks in WAYS.items():
        base = site.as_uri() + "/" if way == "folder" else home
        mode, scripts = "dark" if way == "dark" else "light", way != "no scripts"
        context = open_context(browser, mode, java_script_enabled=scripts)
        page = context.new_page()
        watch = Watch(page, base)
        for name in names:
            one_of_many = copied is not None and name not in copied
            listing = one_of_many and name.startswith(LISTINGS)
            if one_of_many and (way == "folder" or (listing and way != "light")):
                continue
            watch.clear()
            visit(page, base + name)
            found = []
            if way == "light":
                asked = [
                    one
                    for one in watch.asked
                    if one.startswith(FRAMES) or not one.startswith(SHARED)
                ]
                files = filter(Path.is_file, {site / one for one in asked})
                weights[name] = sum(len(packed(file)) for file in files) / 1000
                if weights[name] > MAX_KB:
                    found.append((f"more than {MAX_KB} kB", f"{weights[name]:.0f}"))
            if scripts and (theme := page.evaluate(THEME)) != mode:
                found.append(("another theme than chosen", str(theme)))
            for check in (narrow,) if listing else checks:
                # Its kind was seen on a desk.
                on_phone = check is accessible and one_of_many
                found += check(page, (PHONE,)) if on_phone else check(page)
            for text in [*(f"asks for {url}" for url in watch.foreign), *watch.errors]:
                found.append((text.replace(base, ""), ""))
            for text, where in found:
                wrong[text].append(f"{name} ({way}){where and ': '}{where}")
        context.close()
    return weights, wrong


def in_browser(*arguments):
    """Check pages with a browser of one's own."""
    with chromium() as browser:
        return check_pages(browser, *arguments)


def main(arguments=None):
    """Check a site; returns the exit status."""
    parser, site = site_of(__doc__, arguments)
    if not (site / "index.html").exists():
        parser.error(f"{site} holds no index.html: run `make book`")

    weights, wrong = {}, defaultdict(list)
    # Dealt out by size, so that all processors have about as much to do.
    names = sorted(pages(site), key=lambda name: -(site / name).stat().st_size)
    kinds, hands = by_kind(site, names), min(len(names), os.cpu_count())
    with serve(site) as home, ProcessPoolExecutor() as pool:
        shares = [names[i::hands] for i in range(hands)]
        visits = [pool.submit(in_browser, site, home, share, kinds) for share in shares]
        for seen, faults in (each.result() for each in visits):
            weights |= seen
            for text, where in faults.items():
                wrong[text] += where
    heavy = sorted(names, key=weights.get, reverse=True)[:HEAVY]
    print(f"{len(names)} pages of {len(kinds)} kinds; the heaviest:")
    print(*(f"  {weights[name]:.0f} kB  {name}" for name in heavy), sep="\n")
    for text, where in sorted(wrong.items()):
        more = f"\n  and {len(where) - SHOWN} more" if len(where) > SHOWN else ""
        print(f"\n{text}", *sorted(where)[:SHOWN], sep="\n  ", end=f"{more}\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
