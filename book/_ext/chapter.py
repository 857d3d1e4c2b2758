"""What a chapter begins and ends with: a box, and where its claims are.

The box holds goals, time, what to know, and a question.

```
:::::{admonition} You will be able to
:class: opening

1. A goal, and two to four more.

**Before you start**: [the chapter before](before.ipynb).

**Predict.** A question?

::::{dropdown} Answer
The answer.
::::
:::::
```

So JupyterLab, which knows admonitions, shows a box, too. The reading time is
measured on the finished page, where nothing is unfolded. A page with a module
of claims of its name says so above its references.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.parsers.rst.directives.admonitions import Admonition
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

GUIDE = "how-a-number-is-checked"  # a section of the reading guide
CLAIMS = "tests/book/claims"
GOALS = range(3, 6)
BEFORE, PREDICT = "Before you start", "Predict."
LABEL, TITLE = "About this chapter", "You will be able to"
TIME = '<span class="ensedu-minutes"></span>'  # until the page is finished
# Of code only its lines count: what colors its words need not be parsed.
CODE = re.compile(r"(<pre\b[^>]*>)(.*?)(?=</pre>)", flags=re.DOTALL)
COLORED = re.compile(r"</?span\b[^>]*>")
WORDS_A_MINUTE = 200
FIGURE_SECONDS = 20
CODE_SECONDS = 2  # a line
DISPLAYED = 5  # words; a formula inside a line is one word
FOLDED = "details:not([open]), .admonition.dropdown, .toggle"
# No text of the page: what one clicks, draws or hides, and the bibliography.
FIGURES = ", ".join(f".ensedu-{kind}" for kind in ("explorer", "trainer", "digit"))
OTHER = f"script, style, .headerlink, {FIGURES}, .citation-list"


class OpeningOrOther(SphinxDirective, Admonition):
    """An admonition; if its class is `opening`, a box of two columns.

    It holds goals, prerequisites and a question.
    """

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = Admonition.option_spec

    def run(self):
        """Lay out the box, or any other admonition."""
        if "opening" not in self.options.get("class", ()):
            return Admonition.run(self)
        if self.arguments[0] != TITLE:
            raise self.error(f"an opening must have the title {TITLE!r}, got {self.arguments[0]!r}")
        return self.box()

    def box(self):
        """Parse the body as text of the page, and lay it out."""
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        goals, before, question = self.parts(body.children)
        bold = next(before.findall(nodes.strong))
        bold.replace_self([html(f"Reading time {TIME} · "), nodes.Text(BEFORE)])
        return [
            html(f'<aside class="ensedu-opening" aria-label="{LABEL}">'),
            html('<div class="ensedu-goals">'),
            nodes.paragraph("", TITLE, classes=["ensedu-label"]),
            goals,
            before,
            html('</div><div class="ensedu-predict">'),
            *question,
            html("</div></aside>"),
        ]

    def parts(self, children):
        """Return the goals, what to know before, and the question's parts."""
        lists = [part for part in children if isinstance(part, nodes.enumerated_list)]
        if not lists or len(lists[0]) not in GOALS:
            raise self.error(
                f"an opening must have a numbered list of {GOALS[0]} to "
                f"{GOALS[-1]} goals, got {len(lists[0]) if lists else 'none'}"
            )
        places = [self.place(children, words) for words in (BEFORE, PREDICT)]
        order = [children.index(lists[0]), *places]
        if order != [0, 1, 2]:
            raise self.error(
                f"an opening must hold goals, {BEFORE!r} and {PREDICT!r} in "
                "this order, with nothing between them"
            )
        if not any(map(is_dropdown, children[2:])):
            raise self.error("an opening must fold its answer: a dropdown")
        return lists[0], children[1], children[2:]

    def place(self, children, words):
        """Return the place of the paragraph that begins with bold words."""
        for place, part in enumerate(children):
            bold = next(part.findall(nodes.strong), nodes.strong())
            if bold.astext() == words and part.astext().startswith(words):
                return place
        raise self.error(f"an opening must have a paragraph that begins with **{words}**")


def html(text):
    """Return a node that stands for itself."""
    return nodes.raw("", text, format="html")


def is_dropdown(node):
    """Whether this folds: a dropdown, or an admonition of that class."""
    return node.get("design_component") == "dropdown" or "dropdown" in node.get("classes", ())


@dataclass(frozen=True)
class Reading:
    """What a page shows before anything is unfolded."""

    words: int
    numbers: int  # words with a digit
    figures: int
    code: int  # lines

    @property
    def minutes(self):
        """Whole minutes, rounded up."""
        seconds = FIGURE_SECONDS * self.figures + CODE_SECONDS * self.code
        return math.ceil(self.words / WORDS_A_MINUTE + seconds / 60)


def read(html):
    """Count what a reader sees of a page, given its article as HTML."""
    plain = CODE.sub(lambda code: code[1] + COLORED.sub("", code[2]), html)
    page = BeautifulSoup(plain, "html.parser")
    for folded in page.select(FOLDED):
        folded.extract()
    figures = len(page.select(FIGURES))
    for other in page.select(OTHER):
        other.extract()
    # What code printed is among the words.
    code = page.select("pre:not(.cell_output *)")
    for block in code:
        block.extract()
    for formula in page.select(".math"):
        size = DISPLAYED if formula.name == "div" else 1
        formula.replace_with(" formula" * size + " ")
    words = [word for word in page.get_text(" ").split() if any(map(str.isalnum, word))]
    return Reading(
        words=len(words),
        numbers=sum(any(map(str.isdigit, word)) for word in words),
        figures=figures,
        code=sum(map(lines, code)),
    )


def lines(block):
    """Return how many lines of a block are not empty."""
    return sum(bool(line.strip()) for line in block.get_text().splitlines())


def tell_time(app, pagename, templatename, context, doctree):
    """Say in the box how long its page takes to read."""
    if TIME in context.get("body", ""):
        minutes = read(context["body"]).minutes
        words = f"{minutes} minute{'s' * (minutes != 1)}"
        context["body"] = context["body"].replace(TIME, TIME.replace("></", f">{words}</"))


def module(docname):
    """Return the file that would hold the claims of a page."""
    chapter = docname.removeprefix("book/").replace("-", "_")
    return f"{CLAIMS}/{chapter}.py"


def tell_claims(app, doctree):
    """Put the line above the references, or at the end of a page without."""
    docname = app.env.docname
    file = module(docname)
    if not (Path(app.srcdir) / file).exists():
        return
    line = nodes.paragraph(classes=["ensedu-checked"])
    link = addnodes.pending_xref(
        refdomain="std",
        reftype="ref",
        refdoc=docname,
        reftarget=GUIDE,
        refexplicit=True,
        refwarn=True,
    )
    link += nodes.inline("", "How each number is checked")
    line += [link, nodes.Text("; what this page claims: "), nodes.literal("", file)]
    folds = filter(is_references, doctree.findall(nodes.container))
    if fold := next(folds, None):
        fold.parent.insert(fold.parent.index(fold), line)
    else:
        [*doctree.findall(nodes.section)][-1].append(line)


def is_references(node):
    """Whether this is the dropdown of references."""
    title = next(node.findall(nodes.rubric), nodes.rubric())
    return node.get("design_component") == "dropdown" and title.astext() == "References"


def setup(app):
    """Register with Sphinx."""
    app.add_directive("admonition", OpeningOrOther, override=True)
    app.connect("doctree-read", tell_claims)
    app.connect("html-page-context", tell_time, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
