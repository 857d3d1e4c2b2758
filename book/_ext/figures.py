"""Figures on pages: numbered, with their frames beside the page.

An explorer, or a figure that stands still, comes as HTML from the notebook
that drew it. Here it becomes a figure of the book: with a number, a caption,
and a name that other pages can refer to. A link such as
`[500](set:NAME?width=500)` sets its sliders. What a reader guesses, of
`workshop.figures.guesses`, stands in the first box of a chapter.
"""

import json
import os
import posixpath
import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

import workshop.page.explore
from chapter import is_dropdown
from ensedu.common import book_build
from workshop.figures.guesses import CHOICES, GUESSES
from workshop.page import computed, digit, xray
from workshop.page.live import trainer_state
from workshop.page.live.trainer_scripts import BUNDLE as TRAINER
from workshop.page.scripts import HERE

LOG = logging.getLogger(__name__)
SCRIPT = "explore.js"
KEY = re.compile(r"_static/frames/([0-9a-f]{16})")
LINK = "ensedu-set"  # the class of a link that sets sliders
EXPLORER = '<div class="ensedu-explorer"'
# How the HTML of what becomes a figure begins.
FIGURES = (
    EXPLORER,
    '<div class="ensedu-trainer"',
    '<div class="ensedu-digit"',
    '<div class="ensedu-xray"',
)
# What lives on some pages, by the class of its HTML: what changes its options,
# its script, and how it looks. Pages without it load nothing.
LIVE_STYLE = HERE / "live" / "live.css"
CONTROLS = HERE / "common" / "controls.css"
COMPUTED = (computed.SCRIPT, computed.STYLE)
BUNDLES = {
    "live.js": TRAINER,
    SCRIPT: workshop.page.explore.BUNDLE,
    computed.SCRIPT: computed.BUNDLE,
}
CHANGES = {"ensedu-trainer": trainer_state.changed, "ensedu-xray": xray.changed}
APPS = {
    "ensedu-trainer": ("live.js", LIVE_STYLE),
    "ensedu-digit": ("live.js", LIVE_STYLE),
    "ensedu-computed": COMPUTED,
    "ensedu-guess": COMPUTED,
}
# How a page looks around some of them, by how their HTML begins.
TRIES = r'trainer"[^>]* data-tries='
FULL_FORM = r'trainer"(?![^>]* data-small)'
AROUND = {
    "wide.css": re.compile(rf'<div class="ensedu-(xray" data-wide|{FULL_FORM}|{TRIES})'),
    "tries.css": re.compile(rf'<div class="ensedu-{TRIES}'),
}


BOX = '<div class="ensedu-predict">'  # what holds a chapter's question


def frames_folder(app):
    """Return the folder of frames; it goes when the notebooks' cache goes."""
    return Path(app.outdir).parent / ".jupyter_cache" / "frames"


class NumberFigures(SphinxTransform):
    """Make a figure of each explorer, before figures get their numbers."""

    default_priority = 300

    def apply(self, **options):
        """Put each explorer's HTML, its caption and its name into a figure."""
        for bundle in list(self.document.findall(nodes.container)):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            html = next(filter(is_figure, bundle.findall(nodes.raw)), None)
            if html is not None:
                bundle.replace_self(self.figure(html))

    def figure(self, html):
        """Return the figure node of this HTML."""
        root = BeautifulSoup(html.astext(), "html.parser").div
        figure = nodes.figure("", html, align="default")
        if caption := root.get("data-caption"):
            figure += nodes.caption(caption, caption)
        if name := root.get("data-name"):
            figure["names"].append(name)
            self.document.note_explicit_target(figure)
        return figure


def is_figure(node):
    """Whether this is HTML that becomes a figure."""
    return node.astext().startswith(FIGURES)


def settable(doctree):
    """Return by name what sliders of a page can be, and how its apps change."""
    known, apps = {}, {}
    for html in filter(is_figure, doctree.findall(nodes.raw)):
        root = BeautifulSoup(html.astext(), "html.parser").div
        name = root.get("data-name")
        if change := CHANGES.get(root["class"][0]):
            apps[name] = change, json.loads(root.script.string)
        elif name and root.script and html.astext().startswith(EXPLORER):
            controls = root.select(".ensedu-control")
            values = json.loads(root.script.string)["values"]
            names = [control["data-name"] for control in controls]
            known[name] = dict(zip(names, values, strict=True))
    return known, apps


def check_links(app, doctree, docname):
    """Mend links that set sliders; warn of those to what no slider has.

    Before the name of a figure may stand the page that has it, as this one
    calls it: `set:counting/comparison/NAME?width=500`.
    """
    pages = {docname: settable(doctree)}
    for link in doctree.findall(nodes.reference):
        if LINK not in link["classes"]:
            continue
        # The parser has escaped it, and the writer will do so once more.
        link["refuri"] = unescape(link["refuri"])
        place, _, setting = link["refuri"].lstrip("#").partition(":")
        folder, _, name = place.rpartition("/")
        page = docname
        if folder:
            page = posixpath.join(posixpath.dirname(docname), folder)
        if page not in pages and page in app.env.found_docs:
            pages[page] = settable(app.env.get_doctree(page))
        if folder and page in pages:  # a link like others, with a setting
            link["classes"].remove(LINK)
            address = app.builder.get_relative_uri(docname, page)
            link["refuri"] = f"{address}#{name}:{setting}"
        known, apps = pages.get(page, ({}, {}))
        pairs = parse_qsl(setting) or [("", "")]
        if name in apps:
            right = accepts(*apps[name], dict(pairs))
        else:
            values = known.get(name, {})
            right = all(value in values.get(key, ()) for key, value in pairs)
        if not right:
            LOG.warning(
                "link to %s: no such slider or value on %s", link["refuri"], page, location=docname
            )


def accepts(change, state, settings):
    """Whether an app's options can be set so, each value as text."""
    given = {}
    try:
        for key, value in settings.items():
            *outer, inner = key.split(".")  # other.method: of a second network
            options = given.setdefault(outer[0], {}) if outer else given
            options[inner] = json.loads(value) if value[:1].isdigit() else value
        change(state, given)
    except (TypeError, ValueError):
        return False
    return True


def insert_guess(app, doctree):
    """Put what a reader draws, or chooses, into the box of its chapter."""
    page = app.env.docname
    if page not in GUESSES and page not in CHOICES:
        return
    box = next(one for one in doctree.findall(nodes.raw) if BOX in one.astext())
    place = box.parent.index(box) + 1
    if page in GUESSES:
        text = computed.guess_html(GUESSES[page], page, frames_folder(app))
    else:
        _, options, right = CHOICES[page]
        text = computed.choices(options, right)
        place += next(k for k, one in enumerate(box.parent[place:]) if is_dropdown(one))
    box.parent.insert(place, nodes.raw("", text, format="html"))


def load_apps(app, pagename, templatename, context, doctree):
    """Load what lives on a page, and how it looks, where it does."""
    raws = doctree.findall(nodes.raw) if doctree is not None else ()
    htmls = [node.astext() for node in raws]
    loaded = {}
    for name, (script, *styles) in APPS.items():
        if any(f'<div class="{name}"' in html for html in htmls):
            loaded |= dict.fromkeys((script, *(style.name for style in styles)))
    for style, begins in AROUND.items():
        if any(map(begins.match, htmls)):
            loaded[style] = None
    for file in loaded:
        if Path(file).suffix == ".js":
            app.add_js_file(file, loading_method="async")
        else:
            app.add_css_file(file)


def copy_frames(app, exception):
    """Copy the scripts, and the frames that pages show; drop all others."""
    if exception is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        for file, bundle in BUNDLES.items():
            (static / file).write_text(bundle.classic(), encoding="utf-8")
        for style in (CONTROLS, LIVE_STYLE, computed.STYLE):
            shutil.copy(style, static)
        (static / digit.SCRIPT).write_text(digit.script(), encoding="utf-8")
        shown = {
            key
            for page in Path(app.outdir).rglob("*.html")
            for key in KEY.findall(page.read_text(encoding="utf-8"))
        }
        frames = static / "frames"
        shutil.rmtree(frames, ignore_errors=True)
        frames.mkdir()
        for frame in frames_folder(app).glob("*.*"):
            if frame.name.partition("-")[0] in shown:
                shutil.copy(frame, frames)


def setup(app):
    """Register with Sphinx."""
    # explore() draws its page form when this is set; kernels inherit it.
    os.environ[book_build.VARIABLE] = str(frames_folder(app))
    app.add_js_file(SCRIPT, loading_method="async")
    app.add_css_file(CONTROLS.name)
    app.add_transform(NumberFigures)
    app.connect("doctree-read", insert_guess)
    app.connect("doctree-resolved", check_links)
    app.connect("html-page-context", load_apps)
    app.connect("build-finished", copy_frames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
