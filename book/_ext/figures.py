"""Figures on pages: numbered, with their frames beside the page.

An explorer, or a figure that stands still, comes as HTML from the notebook
that drew it. Here it becomes a figure of the book: with a number, a caption,
and a name that other pages can refer to. A link such as
`[500](set:NAME?width=500)` sets its sliders.
"""

import json
import os
import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

import ensedu.page.explore
from ensedu.page import digit, live
from ensedu.page.frames import FRAMES
from ensedu.page.live import options, scripts

LOG = logging.getLogger(__name__)
SCRIPTS = ("explore.js", "playground.js")
KEY = re.compile(r"_static/frames/([0-9a-f]{16})")
LINK = "ensedu-set"  # the class of a link that sets sliders
EXPLORER = '<div class="ensedu-explorer"'
# How the HTML of what becomes a figure begins.
FIGURES = (
    EXPLORER,
    '<div class="ensedu-trainer"',
    '<div class="ensedu-digit"',
)
# What trains on a page, and on which pages: others do not pay for it.
LIVE_SCRIPT, LIVE_STYLE = "live.js", "live.css"
LIVE = re.compile(r'<div class="ensedu-(?:trainer|digit)"')
FULL = "book/live"  # the page that has all settings


def drawn(app):
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


def is_explorer(node):
    """Whether this is the HTML of an explorer."""
    return node.astext().startswith(EXPLORER)


def is_figure(node):
    """Whether this is HTML that becomes a figure."""
    return node.astext().startswith(FIGURES)


def check_links(app, doctree, docname):
    """Mend links that set sliders; warn of those to what no slider has."""
    known, trainers = {}, {}
    for html in filter(is_figure, doctree.findall(nodes.raw)):
        root = BeautifulSoup(html.astext(), "html.parser").div
        name = root.get("data-name")
        if "ensedu-trainer" in root["class"]:
            trainers[name] = json.loads(root.script.string)
        elif name and root.script and is_explorer(html):
            controls = root.select(".ensedu-control")
            values = json.loads(root.script.string)["values"]
            names = [control["data-name"] for control in controls]
            known[name] = dict(zip(names, values, strict=True))
    for link in doctree.findall(nodes.reference):
        if LINK not in link["classes"]:
            continue
        # The parser has escaped it, and the writer will do so once more.
        link["refuri"] = unescape(link["refuri"])
        name, _, setting = link["refuri"].lstrip("#").partition(":")
        pairs = parse_qsl(setting) or [("", "")]
        if name in trainers:
            right = takes(trainers[name], dict(pairs))
        else:
            values = known.get(name, {})
            right = all(value in values.get(key, ()) for key, value in pairs)
        if not right:
            LOG.warning(
                "link to %s: no such slider or value on this page",
                link["refuri"],
                location=docname,
            )


def takes(state, settings):
    """Whether a trainer's options can be set so, each value as text."""
    try:
        given = {
            key: json.loads(value) if value[:1].isdigit() else value
            for key, value in settings.items()
        }
        options.changed(state, given)
    except (TypeError, ValueError):
        return False
    return True


def point_to_frames(app, doctree, docname):
    """Write addresses of frames, and of a page, as seen from this page."""
    up = "../" * docname.count("/")
    for node in doctree.findall(nodes.raw):
        html = node.astext().replace(FRAMES, f"{up}_static/frames/")
        html = html.replace(live.FULL, f"{up}{FULL}.html")
        if html != node.astext():
            node.children = [nodes.Text(html)]


def load_live(app, pagename, templatename, context, doctree):
    """Load what trains, and how it looks, on pages where something does."""
    if doctree is not None and any(
        LIVE.match(node.astext()) for node in doctree.findall(nodes.raw)
    ):
        app.add_js_file(LIVE_SCRIPT, loading_method="async")
        app.add_css_file(LIVE_STYLE)


def copy_frames(app, exception):
    """Copy the scripts, and the frames that pages show; drop all others."""
    if exception is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        for script in SCRIPTS:
            source = Path(ensedu.page.explore.__file__).with_name(script)
            shutil.copy(source, static)
        text = scripts.classic()
        (static / LIVE_SCRIPT).write_text(text, encoding="utf-8")
        shutil.copy(Path(live.__file__).with_name(LIVE_STYLE), static)
        (static / digit.SCRIPT).write_text(digit.script(), encoding="utf-8")
        shown = {
            key
            for page in Path(app.outdir).rglob("*.html")
            for key in KEY.findall(page.read_text(encoding="utf-8"))
        }
        frames = static / "frames"
        shutil.rmtree(frames, ignore_errors=True)
        frames.mkdir()
        for frame in drawn(app).glob("*.svg"):
            if frame.name.partition("-")[0] in shown:
                shutil.copy(frame, frames)


def setup(app):
    """Register with Sphinx."""
    # explore() draws its page form when this is set; kernels inherit it.
    os.environ[ensedu.page.explore.BOOK] = str(drawn(app))
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="async")
    app.add_transform(NumberFigures)
    app.connect("doctree-resolved", check_links)
    app.connect("doctree-resolved", point_to_frames, priority=900)
    app.connect("html-page-context", load_live)
    app.connect("build-finished", copy_frames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
