"""What the menus of figures link: pages of code, and copies of measured tables.

Of what any page links, the site has a page or a copy, so it works without a
network.
"""

import ast
import re
import shutil
from html import escape
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes

from workshop import measured
from workshop.experiments import location
from workshop.page.explorer_page import Code
from workshop.page.frames import SITE
from workshop.running.json_files import json_text

PAGES, RESULTS = "code/", "_static/results/"
CODE = re.compile(rf'href="(?:\.\./)*{PAGES}([a-z0-9_/]+)\.html#')
TABLE = re.compile(rf'href="(?:\.\./)*{RESULTS}([A-Za-z0-9_/-]+)\.json"')
TABLES = re.compile(r"<li data-tables>(.*?)</li>")
# What computes the tables that no experiment does.
OTHERS = {"speed-cpu": "make bench", "whole-models": "make bench", "zoo": "make test-others"}


def computed(tables):
    """Return a line for each experiment, with the tables that it computes."""
    found = {}
    for name in tables:
        place = name if name in OTHERS else location(name)
        found.setdefault(place, []).append(name)
    return "".join(map(line, found.values()))


def line(names):
    """Return links to tables, and what computes them."""
    address = f'<a href="{SITE}{RESULTS}{{0}}.json">{{0}}</a>'
    links = ", ".join(map(address.format, names))
    first, *more = names
    if first in OTHERS:
        by, command = "a script", OTHERS[first]
    else:
        module, name = location(first)
        experiment = Code(f"workshop.experiments.{module}", name)
        by = experiment.link("this experiment")
        command = f"make results NAME={'…' if more else first}"
    tables = f"Table{'s' * bool(more)} {links}, computed by {by}"
    return f"<li>{tables}: <code>{command}</code></li>"


def point_to_site(app, doctree, docname):
    """Say what computes tables; write addresses as seen from this page."""
    for node in doctree.findall(nodes.raw):
        html = TABLES.sub(lambda f: computed(f[1].split()), node.astext())
        html = html.replace(SITE, "../" * docname.count("/"))
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


def text_of(module):
    """Return the text of a module."""
    return Path(find_spec(module).origin).read_text(encoding="utf-8")


def lines_of_names(statements, before=""):
    """Return on which line each function, class, method and value begins."""
    found = {}
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[before + node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            found |= lines_of_names(node.body, f"{before}{node.name}.")
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            assigned = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {before + ast.unparse(name): node.lineno for name in assigned}
    return found


def pages_of_code(app):
    """Yield a page for each module that is linked, with an anchor a name."""
    if app.builder.format != "html":
        return
    shutil.rmtree(Path(app.outdir) / PAGES, ignore_errors=True)
    for path in linked(app, CODE):
        module = path.replace("/", ".")
        text = text_of(module)
        code = app.builder.highlighter.highlight_block(text, "python", linespans="line")
        for name, line in lines_of_names(ast.parse(text).body).items():
            code = code.replace(f'id="line-{line}"', f'id="{name}"')
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
            text = json_text(measured.load(name)) + "\n"
            file.write_text(text, encoding="utf-8")


def setup(app):
    """Register with Sphinx."""
    app.connect("doctree-resolved", point_to_site, priority=900)
    app.connect("html-collect-pages", pages_of_code)
    app.connect("build-finished", copy_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
