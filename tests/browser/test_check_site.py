"""The check of the book finds each fault, in each visit that meets it, and no other."""

import random
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from scripts.check_site import by_kind, check_pages, serve

SCRIPT = Path(__file__).parents[2] / "scripts" / "check_site.py"
THEMED = "<script>document.documentElement.dataset.theme = localStorage.theme</script>"
PAGE = (
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
    '<meta name="viewport" content="width=device-width"><style>'
    "html[data-theme=dark] {{ background: black; color: white }} .x {{ overflow: hidden }}"
    "</style>{head}</head><body><main><article>{title}{body}</article></main></body></html>"
)


def html(body="", head=THEMED, title="<h1>A title</h1>"):
    return PAGE.format(body=body, head=head, title=title)


def styled(rule, body="<div class=x>words</div>"):
    return html(body, f"{THEMED}<style>{rule}</style>")


CLICKED = ("bd-sidebar", "bd-header", "bd-header-article", "prev-next-footer")
BOTH, PLAIN = ("light", "dark"), ("light", "folder")
SERVED = (*BOTH, "no scripts")
ALL = (*SERVED, "folder")
PALE, HEAVY = "axe color-contrast", "more than 400 kB: 5…"
# A page, and what is wrong with it: text, and the visits that find it.
FAULTS = {
    "sound": (html("<p>Words.</p><details><summary>More</summary><p>Words.</p></details>"), {}),
    # Fits
    "wide": (styled(".x {width: 2000px}"), {
        "scrolls sideways: 320 px": BOTH, "scrolls sideways: 360 px": ["light"],
        "scrolls sideways: 768 px": ["light"],
        "scrolls sideways: 1280 px": BOTH, "scrolls sideways: on paper": ["light"],
    }),
    "wide-phone": (
        styled(".x {width: 500px}"),
        {"scrolls sideways: 320 px": BOTH, "scrolls sideways: 360 px": ["light"]},
    ),
    "wide-tablet": (
        styled("@media (width: 768px) {.x {width: 900px}}"),
        {"scrolls sideways: 768 px": ["light"]},
    ),
    "wide-dark": (
        styled("html[data-theme=dark] .x {width: 500px}"), {"scrolls sideways: 320 px": ["dark"]},
    ),
    "two-titles": (
        html("<h1>Another</h1>"), {"shows not one title: but 2": SERVED},
    ),
    "no-title": (html("<p>Words.</p>", title=""), {"shows not one title: but 0": SERVED}),
    # Theme
    "no-theme": (html(head=""), {"another theme than chosen: None": (*BOTH, "folder")}),
    "only-light": (
        html(head="<script>document.documentElement.dataset.theme = 'light'</script>"),
        {"another theme than chosen: light": ["dark"]},
    ),
    # Paper
    "paper-wide": (
        styled("@media print {.x {width: 2000px}}"), {"scrolls sideways: on paper": ["light"]},
    ),
    "paper-narrow": (
        styled("@media print {article {width: 640px}}"),
        {"narrow on paper: 50% of the width": ["light"]},
    ),
    "paper-clicked": (
        html("".join(f'<div class="{part}">Click</div>' for part in CLICKED)),
        {f"printed, but can only be clicked: .{part}": ["light"] for part in CLICKED},
    ),
    # Whole
    "empty-picture": (
        html('<img src="empty.png" alt="">'),
        {"picture without pixels: …empty.png": [*PLAIN, "no scripts"]},
    ),
    "formula-unset": (
        html(r'<span class="math notranslate">\(x\)</span>'),
        {r'formula not set: <span class="math notranslate">\(x\)</span>': PLAIN},
    ),
    "formula-wrong": (
        html("<p><mjx-merror>x</mjx-merror></p>"),
        {"formula not set: <mjx-merror>x</mjx-merror>": PLAIN},
    ),
    "formula-focused": (
        html("<p><mjx-container tabindex=0>x</mjx-container><mjx-container>y</mjx-container></p>"),
        {'formula in a line takes focus: <mjx-container tabindex="0">x</mjx-container>': PLAIN},
    ),
    "formula-alone": (
        html("<p><mjx-container display=true tabindex=0>x</mjx-container></p>"), {},
    ),
    # Without scripts
    "hidden": (
        html(
            "<p id=p hidden>Words.</p><p id=q style='opacity: 0'>Words.</p>"
            "<script>p.hidden = false; q.style = ''</script>"
        ),
        {
            'hidden without scripts: <p id="p" hidden="">Words.</p>': ["no scripts"],
            'hidden without scripts: <p id="q" style="opacity: 0">Words.</p>': ["no scripts"],
        },
    ),
    "hidden-title": (
        html("<script>t.hidden = false</script>", title="<h1 id=t hidden>A title</h1>"),
        {
            "shows not one title: but 0": ["no scripts"],
            'hidden without scripts: <h1 id="t" hidden="">A title</h1>': ["no scripts"],
        },
    ),
    # Requests and errors
    "foreign": (
        html('<link rel="stylesheet" href="http://127.0.0.1:9/x.css">'),  # no browser asks port 9
        {
            "asks for http://127.0.0.1:9/x.css": ALL,
            "net::ERR_UNSAFE_PORT: http://127.0.0.1:9/x.css": ALL,
            "console: Failed to load resource: net::ERR_UNSAFE_PORT": ALL,
        },
    ),
    "absolute": (  # right on a server
        html('<link rel="stylesheet" href="/style.css">'),
        {
            "asks for file:///style.css": ["folder"],
            "net::ERR_FILE_NOT_FOUND: file:///style.css": ["folder"],
            "console: Failed to load resource: net::ERR_FILE_NOT_FOUND": ["folder"],
        },
    ),
    "missing": (
        html('<link rel="stylesheet" href="missing.css">'),
        {
            "status 404: missing.css": SERVED,
            "console: Failed to load resource: the server responded with a status of 404 "
            "(Not Found)": SERVED,
            "net::ERR_FILE_NOT_FOUND: missing.css": ["folder"],
            "console: Failed to load resource: net::ERR_FILE_NOT_FOUND": ["folder"],
        },
    ),
    "logged": (
        html("<script>console.error('no')</script>"), {"console: no": (*BOTH, "folder")},
    ),
    "thrown": (
        html("<script>throw new Error('no')</script>"), {"page error: no": (*BOTH, "folder")},
    ),
    "heavy": (html('<link rel="stylesheet" href="heavy.css">'), {HEAVY: ["light"]}),
    # Axe
    "pale": (html("<p style='color: #888; background: #999'>Words.</p>"), {PALE: BOTH}),
    "pale-dark": (styled("html[data-theme=dark] .x {color: #333}"), {PALE: ["dark"]}),
    "pale-folded": (
        html(
            "<details><summary>More</summary>"
            "<p style='color: #888; background: #999'>Words.</p></details>"
        ),
        {PALE: BOTH},
    ),
    "no-alt": (html('<img src="card.svg">'), {"axe image-alt": ["light"]}),
    "small-target": (
        styled(
            "@media (width: 360px) {button {padding: 0; border: 0; width: 9px; height: 9px}}",
            "<button>A</button><button>B</button>",
        ),
        {"axe target-size": ["light"]},
    ),
}  # fmt: skip


@pytest.fixture
def faulty(tmp_path):
    """A folder with the pages of the table above."""
    for name, (text, _) in FAULTS.items():
        (tmp_path / f"{name}.html").write_text(text)
    (tmp_path / "empty.png").touch()
    (tmp_path / "style.css").touch()
    (tmp_path / "heavy.css").write_text(f"/* {random.Random(0).randbytes(500_000).hex()} */")
    (tmp_path / "card.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9"/>')
    return tmp_path


def test_each_fault_is_found_and_no_other(browser, faulty):
    with serve(faulty) as home:
        rows, wrong = check_pages(browser, faulty, home, [f"{name}.html" for name in FAULTS])
    found = {name: defaultdict(set) for name in FAULTS}
    for text, places in wrong.items():
        for place in places:
            name, way, where = re.fullmatch(r"(\S+)\.html \(([\w ]+)\)(.*)", place, re.S).groups()
            fault = text.partition(":")[0] if text.startswith("axe ") else text + where
            fault = fault.replace(home, "…").replace(f"{faulty.as_uri()}/", "…")
            found[name][re.sub(r"kB: 5\d\d$", "kB: 5…", fault)].add(way)
    assert found == {
        name: {fault: set(ways) for fault, ways in faults.items()}
        for name, (_, faults) in FAULTS.items()
    }
    for name, (_, faults) in FAULTS.items():
        row = rows[f"{name}.html"]
        counted = row["others"] + row["errors"] + row["display"] + row["axe"]
        assert (counted > 0 or row["kB"] > 400) == bool(faults), name


def test_every_look_of_text_is_seen_once(browser, tmp_path):
    """Of text that looks alike, axe is shown the first; what differs, it is shown."""
    words = (
        '<span class="a">one</span> <span class="a">two</span> <span class="b">three</span>'
        '<span class="c"><span class="a">four</span></span> <span class="d">five</span>'
    )
    rule = ".a {color: #777} .b {color: #888} .c {background: #ddd} .d {color: black}"
    twice = f"<pre>{words}</pre><pre>{words}</pre><p class=e>{words}</p>"
    (tmp_path / "text.html").write_text(styled(f"{rule} .e {{background: #eee}}", twice))
    with serve(tmp_path) as home:
        _, wrong = check_pages(browser, tmp_path, home, ["text.html"])
    shown = {place for text, places in wrong.items() if PALE in text for place in places}
    words = (".a:nth-child(1)", ".b", ".c > .a")
    assert shown == {
        f"text.html ({mode}): {block} > {word}"
        for mode, block, seen in (
            ("light", "pre:nth-child(2)", words),
            ("dark", "pre:nth-child(2)", words[2:]),
            ("light", "p", words),
            ("dark", "p", words),
        )
        for word in seen
    }


def test_one_page_of_each_kind_is_the_largest(tmp_path):
    """Pages of one kind have the same scripts, wherever these are, and the same boxes."""
    script, box = '<script src="{}_static/{}.js?v=1"></script>', '<div class="ensedu-{}" id=a>'
    for name, *parts in (
        ("plain.html", script.format("", "a")),
        ("deep/longer.html", script.format("../", "a"), "words"),
        ("other.html", script.format("", "b")),
        ("box.html", script.format("", "a"), box.format("explorer")),
        ("boxes.html", script.format("", "a"), 2 * box.format("explorer")),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("".join(parts))
    names = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")]
    assert set(by_kind(tmp_path, names)) == {"deep/longer.html", "other.html", "boxes.html"}


def test_only_some_are_read_from_a_folder(browser, faulty):
    names = ["absolute.html", "missing.html"]
    with serve(faulty) as home:
        _, wrong = check_pages(browser, faulty, home, names, copied=["absolute.html"])
    places = [place for places in wrong.values() for place in places]
    assert "absolute.html (folder)" in places
    assert "missing.html (light)" in places
    assert not [place for place in places if place.startswith("missing.html (folder)")]


def test_of_listings_one_is_visited_in_every_way(browser, tmp_path):
    (tmp_path / "code").mkdir()
    names = [f"code/{name}.html" for name in ("long", "short")]
    for name in names:
        (tmp_path / name).write_text(FAULTS["pale"][0])
    (tmp_path / names[1]).write_text(FAULTS["wide"][0])
    with serve(tmp_path) as home:
        _, wrong = check_pages(browser, tmp_path, home, names, copied=names[:1])
    assert wrong == {
        next(text for text in wrong if PALE in text): [f"{names[0]} ({mode}): p" for mode in BOTH],
        "scrolls sideways": [f"{names[1]} (light): {width} px" for width in (320, 1280)],
    }


def test_a_fault_is_listed_and_fails_the_command(browser, tmp_path):
    # That the command ends well on sound pages, the book shows.
    for name, kind in (("index", "sound"), ("page", "wide-phone")):
        (tmp_path / f"{name}.html").write_text(FAULTS[kind][0])
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "\nscrolls sideways\n  page.html (dark): 320 px\n"
        "  page.html (light): 320 px\n  page.html (light): 360 px\n"
    )
    assert {line.split()[0] for line in done.stdout.splitlines()} >= {"index.html", "page.html"}
