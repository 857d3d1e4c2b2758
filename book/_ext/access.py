"""What the theme's pages lack: for keyboards, screen readers and slow lines."""

import re
from pathlib import Path

from bs4 import BeautifulSoup, NavigableString

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
    context["body"] = CODE.sub(
        lambda block: block[1] + code[int(block[2])], str(soup)
    )


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


def setup(app):
    """Register with Sphinx."""
    app.add_js_file("access.js", loading_method="defer")
    app.connect("html-page-context", mend_body)
    app.connect("build-finished", mend_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
