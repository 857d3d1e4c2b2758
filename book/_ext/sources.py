"""What stands below figures: pages of code, and copies of measured tables.

A line below a figure links the code that draws it, the table that its rows
come from, and the experiment that computed that. Of what any page links, the
site has a page or a copy, so it works without a network.
"""

import re
import shutil
from html import escape
from importlib.resources import files
from pathlib import Path

from docutils import nodes

from ensedu.book.experiments import LOCATIONS
from ensedu.book.page.sources import (
    EXPERIMENT,
    PAGES,
    RESULTS,
    SITE,
    Code,
    lines_of_names,
    source,
)

CODE = re.compile(rf'href="(?:\.\./)*{PAGES}([a-z0-9_/]+)\.html#')
TABLE = re.compile(rf'href="(?:\.\./)*{RESULTS}([A-Za-z0-9_/-]+)\.json"')
LINE = re.compile(r' id="line-(\d+)"')
EXPERIMENTS = re.compile(rf'(?<="){EXPERIMENT}([^"]+)')


def code_of_experiment(table):
    """Return where the experiment of a table stands."""
    module, _, name = LOCATIONS[table].partition(".")
    return Code(f"ensedu.book.experiments.{module}", name)


def point_to_sources(app, doctree, docname):
    """Write addresses of code and tables as seen from this page."""
    up = "../" * docname.count("/")
    for node in doctree.findall(nodes.raw):
        html = EXPERIMENTS.sub(
            lambda found: code_of_experiment(found[1]).address, node.astext()
        ).replace(SITE, up)
        if html != node.astext():
            node.children = [nodes.Text(html)]


def linked(app, pattern):
    """Return in order what the pages of the site link in this way."""
    return sorted(
        {
            name
            for page in Path(app.outdir).rglob("*.html")
            for name in pattern.findall(page.read_text(encoding="utf-8"))
        }
    )


def named(code, lines):
    """Give a line on which a name begins that name as its id, others none."""
    names = {str(line): name for name, line in lines.items()}

    def anchor(found):
        name = names.get(found[1])
        return f' id="{name}"' if name else ""

    return LINE.sub(anchor, code)


def pages_of_code(app):
    """Yield a page for each module that is linked, with an anchor a name."""
    if app.builder.format != "html":
        return
    shutil.rmtree(Path(app.outdir) / PAGES, ignore_errors=True)
    for path in linked(app, CODE):
        module = path.replace("/", ".")
        text = source(module)
        code = app.builder.highlighter.highlight_block(
            text, "python", linespans="line"
        )
        code = named(code, lines_of_names(text))
        # A phone is narrow.
        title = re.sub(r"([._])", r"\1<wbr>", escape(module))
        body = f'<h1>{title}</h1><div class="ensedu-code">{code}</div>'
        yield PAGES + path, {"title": module, "body": body}, "page.html"


def copy_tables(app, exception):
    """Copy the measured tables that pages link; drop all others."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / RESULTS
        shutil.rmtree(folder, ignore_errors=True)
        for name in linked(app, TABLE):
            file = folder / f"{name}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            table = files("ensedu.book") / "results" / f"{name}.json"
            file.write_bytes(table.read_bytes())


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", point_to_sources, priority=900)
    app.connect("html-collect-pages", pages_of_code)
    app.connect("build-finished", copy_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
