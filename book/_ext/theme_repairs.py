"""What this book changes in the tools that build it, and in the theme's pages.

Pages ask no other host for anything, signatures stay readable; keyboards,
screen readers and slow lines get what they need.
"""

import importlib.util
import re
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString
from docutils import nodes
from numpy.typing import DTypeLike
from sphinx.util.fileutil import copy_asset
from sphinx.util.typing import stringify_annotation

# The script, its fonts, and the TeX packages that a formula may need.
MATHJAX_PARTS = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")


# The extensions for proofs and exercises give these to each box of a page.
DOUBLED_IDS = {"proof", "proof-content", "exercise-content", "solution-content"}


def number_doubled_ids(app, doctree):
    """Number ids that several elements of a page have."""
    boxes = [
        node for node in doctree.findall(nodes.Element) if DOUBLED_IDS.intersection(node["ids"])
    ]
    for number, node in enumerate(boxes, start=1):
        node["ids"] = [f"{name}-{number}" for name in node["ids"]]


# A column needs its longest cell, but at most so many letters: longer ones
# are words, which wrap. A phone has room for the letters of a line.
COLUMN, LINE = 24, 34
MISSING = "–"  # stands in a cell that has nothing to say


def stack_tables(app, doctree):
    """Mark tables that a phone has no room for, and name what is in a cell.

    There each row is a block: a column's name stands before its cell.
    """
    for table in doctree.findall(nodes.table):
        rows = [
            [entry.astext() for entry in row.findall(nodes.entry)]
            for row in table.findall(nodes.row)
        ]
        columns = zip(*rows, strict=False)
        needs = (min(COLUMN, max(map(len, cells))) for cells in columns)
        if not table.next_node(nodes.thead) or sum(needs) <= LINE:
            continue
        table["classes"].append("ensedu-stacked")
        for row in table.next_node(nodes.tbody).findall(nodes.row):
            named = [*zip(rows[0], row.findall(nodes.entry), strict=False)]
            # Of two, the second needs no name below the first.
            for title, entry in named[1:] if len(named) > 2 else []:
                if entry.astext() == MISSING:
                    entry["classes"].append("ensedu-missing")
                if title and (text := entry.next_node(nodes.paragraph)):
                    label = nodes.inline("", title, classes=["ensedu-title"])
                    text.insert(0, [label, nodes.Text(" ")])


def copy_mathjax(app, exception):
    """Copy what the pages use of MathJax out of the installed package."""
    if exception is None and app.builder.format == "html":
        package = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
        for part in MATHJAX_PARTS:
            source, target = (
                package / "static/mathjax" / part,
                app.outdir / "_static/mathjax" / part,
            )
            copy_asset(source, target if source.is_dir() else target.parent)


def drop_thebe(app, pagename, templatename, context, doctree):
    """Drop Thebe: declared twice, it throws an error and names another host."""
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "thebe" not in f"{script.filename} {script.attributes.get('body', '')}".lower()
    ]


def shorten(app, what, name, obj, options, signature, returns):
    """Write `DTypeLike`, which autodoc spells out as a union of eight types.

    And `...` for a default that a function makes: `<factory>` is no Python.
    """
    if signature:
        long = stringify_annotation(DTypeLike, "smart")
        signature = signature.replace(long, "DTypeLike")
        signature = signature.replace("<factory>", "...")
    return signature, returns


# A link in the sidebar, and the button that unfolds what lies below it.
FOLD = re.compile(r"(<a [^>]*>)([^<]+)(</a><details[^>]*>)<summary>")
# The theme draws its icons twice: by a font, and by half a megabyte of script.
# At a first visit nothing is stored yet, of which the theme's script complains.
STORED = 'localStorage.getItem("mode") || ""'
ICONS = re.compile(r"<script[^>]*scripts/fontawesome\.js[^>]*></script>")
# Code, and what stands for it while the rest of a page is parsed: half of a
# page's elements are words of code, and nothing in it is mended.
CODE = re.compile(r"(<pre\b[^>]*>)(.*?)(?=</pre>)", flags=re.DOTALL)
# What must not begin a line after a formula.
MARKS = re.compile(r"[.,;:!?)]+")


def tie(soup):
    """Keep each formula on one line with the marks that follow it."""
    for formula in soup.select("span.math"):
        after = formula.next_sibling
        if isinstance(after, NavigableString) and (marks := MARKS.match(after)):
            tied = soup.new_tag("span", attrs={"class": "ensedu-tied"})
            formula.wrap(tied).append(marks[0])
            after.replace_with(NavigableString(after[marks.end() :]))


def split_names(soup):
    """Let a name in a table break behind its underscores, and nowhere else."""
    for name in soup.select("table code .pre"):
        parts = name.get_text().split("_")
        if len(parts) > 1 and not name.find(True):
            name.clear()
            for part in parts[:-1]:
                name.extend([f"{part}_", soup.new_tag("wbr")])
            name.append(parts[-1])


def mend_body(app, pagename, templatename, context, doctree):
    """Mend roles that are outdated, lists that are none, and line breaks."""
    if "body" not in context:
        return
    code = []

    def set_aside(block):
        code.append(block[2])
        return f"{block[1]}{len(code) - 1}"

    body = CODE.sub(set_aside, context["body"])
    soup = BeautifulSoup(body, "html.parser")
    for entry in soup.select(".citation-list, .citation-list > .citation"):
        del entry["role"]
    for lines in soup.select("dt.sig > dl"):
        lines.name = "span"
        lines["class"] = "sig-lines"
        for line in lines.find_all("dd", recursive=False):
            line.name = "span"
    tie(soup)
    split_names(soup)
    context["body"] = CODE.sub(lambda block: block[1] + code[int(block[2])], str(soup))


def mend_pages(app, exception):
    """Name the sidebar's buttons and the first theme; icons are a font's."""
    if exception is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            html = page.read_text(encoding="utf-8")
            mended = FOLD.sub(r'\1\2\3<summary aria-label="Pages of \2">', html)
            mended = ICONS.sub("", mended)
            mended = mended.replace(STORED, STORED.replace('""', '"auto"'))
            if mended != html:
                page.write_text(mended, encoding="utf-8")


def lead_on(app, pagename, templatename, context, doctree):
    """Let a page's foot lead where its text says that reading starts."""
    for link in doctree.findall(nodes.reference) if doctree else ():
        if "ensedu-first" in link["classes"]:
            # In the sidebar pages to play on come first.
            context["next"] = {"link": link["refuri"], "title": link.astext()}


def setup(app):
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.add_js_file("access.js", loading_method="defer")
    app.connect("doctree-read", number_doubled_ids)
    app.connect("doctree-read", stack_tables)
    app.connect("autodoc-process-signature", shorten)
    app.connect("html-page-context", drop_thebe, priority=900)
    app.connect("html-page-context", lead_on)
    app.connect("html-page-context", mend_body)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
