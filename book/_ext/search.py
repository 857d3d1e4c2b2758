"""Search finds the chapter first: pages are ordered by how often they say it.

Sphinx knows which pages have a word, and not how often; and it reads what
stands in the menus of figures as if it were text. Here menus are left out, the
words and pairs of words of each page are counted, and a page that says most
often what was asked for comes first. `search.js` puts them in order.
"""

import json
import re
from collections import Counter
from contextlib import contextmanager
from html import unescape
from itertools import pairwise
from pathlib import Path

from docutils import nodes

from figures import FIGURES, is_figure

SCRIPTS = ("search-counts.js", "search.js")
OFTEN = 0.5  # of all pages: a word on more of them tells none from another
LEAST = 3  # what a page says less often it only mentions
# Not the menus of a page, nor what its figures and code say.
ASIDE = re.compile(
    r"<(script|style|pre|button|select|nav)\b.*?</\1>"
    rf"|(?:{'|'.join(FIGURES)})(?:(?!</figure>).)*?</script></div>",
    flags=re.DOTALL,
)
ARTICLE = re.compile(r"<article\b.*</article>", flags=re.DOTALL)
TAG = re.compile(r"<[^>]*>")
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# As in search.js: a plural is its singular.
PLURAL = re.compile(r"(?<=\w{3})(?<!s)s$")


def words(text):
    """Return the words of a text as they are counted."""
    return [PLURAL.sub("", word) for word in WORD.findall(text.lower())]


def counted(html):
    """Return how often a page says each word and each pair of words."""
    article = ARTICLE.search(html)
    text = unescape(TAG.sub(" ", ASIDE.sub(" ", article[0] if article else "")))
    said = words(text)
    pairs = map(" ".join, pairwise(said))
    return Counter(said) + Counter(pairs)


def write_counts(app, exception):
    """Save what pages say often, by word, then by page."""
    if exception is not None or app.builder.format != "html":
        return
    often = {}
    for name in sorted(app.env.found_docs):
        page = Path(app.outdir) / f"{name}.html"
        for phrase, count in counted(page.read_text(encoding="utf-8")).items():
            if count >= LEAST and not phrase.isdecimal():
                often.setdefault(phrase, {})[name] = count
    most = OFTEN * len(app.env.found_docs)
    often = {phrase: by for phrase, by in often.items() if len(by) <= most}
    found = {"COUNTS": often, "NUMBERED": numbered(app.env)}
    file = Path(app.outdir) / "_static" / SCRIPTS[0]
    lines = (
        f"globalThis.SEARCH_{name} = "
        f"{json.dumps(data, ensure_ascii=False, separators=(',', ':'))};\n"
        for name, data in found.items()
    )
    file.write_text("".join(lines), encoding="utf-8")


def numbered(env):
    """Return the pages with a number: chapters, and not their side trips."""
    return sorted(page for page, found in env.toc_secnumbers.items() if found)


@contextmanager
def unread(doctree):
    """Let the index pass over the HTML of figures."""
    figures = [node for node in doctree.findall(nodes.raw) if is_figure(node)]
    for node in figures:
        node["format"] = "figure"
    yield
    for node in figures:
        node["format"] = "html"


def pass_over_menus(app):
    """Index pages without what their figures are set by."""
    if app.builder.format != "html":
        return
    index = app.builder.index_page

    def index_page(pagename, doctree, title):
        with unread(doctree):
            index(pagename, doctree, title)

    app.builder.index_page = index_page


def load(app, pagename, templatename, context, doctree):
    """Load the order, and what cleans summaries, on the page of results."""
    if pagename == "search":
        for script in SCRIPTS:
            app.add_js_file(script)


def setup(app):
    """Register with Sphinx."""
    app.connect("builder-inited", pass_over_menus)
    app.connect("html-page-context", load)
    app.connect("build-finished", write_counts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
