"""What our extensions of Sphinx make of a page, and the built pages: links, words, heads."""

import ast
import re
import subprocess
import sys
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import new_document
from sphinx.errors import ConfigError, ExtensionError

from book._ext import launch, site_head
from book._ext.chapter import CLAIMS, read
from book._ext.folding import FoldCells, changes, first_line, fold, shows
from book._ext.theme_repairs import COLUMN, LINE, stack_tables, tie
from ensedu.methods import METHODS
from tests.book import conftest
from tests.book.conftest import ROOT
from tests.book.looking import contrast
from workshop.page.method_table import method_table
from workshop.plot.style import DARK, PAGE

CONF = f"""
import sys
sys.path.insert(0, {str(ROOT / "book" / "_ext")!r})
extensions = ["myst_parser", "sphinx_design", "chapter"]
myst_enable_extensions = ["colon_fence"]
"""
GOALS = "1. Count.\n2. Write.\n3. Say."
BEFORE = "**Before you start**: [another page](lake.md)."
PREDICT = "**Predict.** How many?"
ANSWER = "::::{dropdown} Answer\nTwo words.\n::::"


def opening(*body, title="You will be able to"):
    """Return a page with an opening box."""
    parts = (f":::::{{admonition}} {title}\n:class: opening", *body, ":::::", "word " * 250)
    return "# Title\n\n" + "\n\n".join(parts)


# Pages with a fault in their third line, and what is said of it.
FAULTS = {
    "titled": (opening(GOALS, BEFORE, PREDICT, ANSWER, title="You may"), "got 'You may'"),
    "no-goals": (opening(BEFORE, PREDICT, ANSWER), "list of 3 to 5 goals, got none"),
    "two-goals": (opening("1. Go.\n2. Go.", BEFORE, PREDICT, ANSWER), "3 to 5 goals, got 2"),
    "six-goals": (opening("1. Go.\n" * 6, BEFORE, PREDICT, ANSWER), "goals, got 6"),
    "no-before": (opening(GOALS, PREDICT, ANSWER), "begins with **Before you start**"),
    "late-words": (opening(GOALS, f"Well: {BEFORE}", PREDICT, ANSWER), "with **Before you start**"),
    "no-answer": (opening(GOALS, BEFORE, PREDICT), "must fold its answer"),
    "order": (opening(BEFORE, GOALS, PREDICT, ANSWER), "in this order"),
    "between": (opening(GOALS, "Words.", BEFORE, PREDICT, ANSWER), "nothing between them"),
}
REFERENCES = "\n\n:::{dropdown} References\nHansen 1990\n:::\n"
SMALL = {
    "index": "# Book\n\n```{toctree}\n:glob:\n\nbook/*\nbook/*/*\n```\n",
    "book/guide": "# Guide\n\n(how-a-number-is-checked)=\n## How a number is checked\n",
    "book/pond/two-ponds": f"# A\n\n## B\n\n:::{{dropdown}} C\nD\n:::{REFERENCES}",
    "book/pond/lake": "# A\n\n:::{admonition} A word\n:class: note\nOf warning.\n:::\n\nThe end.\n",
    "book/pond/other": f"# A\n\n## B\n{REFERENCES}",
    "book/pond/sound": opening(GOALS, BEFORE, PREDICT, ANSWER),
    **{f"book/pond/{name}": text for name, (text, _) in FAULTS.items()},
}


@pytest.fixture(scope="module")
def small_book(tmp_path_factory):
    """A small book: how to open a page of it, and what was said while it was built."""
    source = tmp_path_factory.mktemp("book")
    for name, text in SMALL.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / f"{name}.md").write_text(text)
    (source / "tests/book/claims/pond").mkdir(parents=True)
    for name in ("two_ponds", "lake"):
        (source / f"tests/book/claims/pond/{name}.py").touch()
    (source / "conf.py").write_text(CONF)
    command = [sys.executable, "-m", "sphinx", "-q", "-E", source, source / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

    def page(name):
        file = source / "html" / "book" / "pond" / f"{name}.html"
        return BeautifulSoup(file.read_text(), "html.parser")

    return page, done.stderr.strip().splitlines()


def test_an_opening_box_holds_goals_time_and_question(small_book):
    box = small_book[0]("sound").aside
    assert box["aria-label"] == "About this chapter"
    goals, predict = box.find_all("div", recursive=False)
    assert [
        item.get_text(strip=True) for item in goals.find_all("li")
    ] == "Count. Write. Say.".split()
    # 4 + 3 + 9 + 4 + 250 words: 2 minutes.
    said = "Reading time 2 minutes · Before you start: another page."
    assert goals.find_all("p")[-1].get_text() == said
    assert goals.a["href"] == "lake.html"
    assert predict.p.get_text() == "Predict. How many?"
    assert "Two words." in predict.details.get_text()
    assert box.find(["h1", "h2", "h3"]) is None


def test_each_fault_of_a_box_is_said_with_its_place_and_nothing_else(small_book):
    assert len(small_book[1]) == len(FAULTS)
    for name, (_, words) in FAULTS.items():
        (said,) = (line for line in small_book[1] if f"{name}.md:3: " in line)
        assert words in said


def test_a_page_with_claims_says_where_they_are_and_no_other_does(small_book):
    told, end, none = (
        small_book[0](name).select_one("p.ensedu-checked")
        for name in ("two-ponds", "lake", "other")
    )
    assert told.get_text() == (
        "How each number is checked; what this page claims: tests/book/claims/pond/two_ponds.py"
    )
    assert told.a["href"] == "../guide.html#how-a-number-is-checked"
    assert told.find_next_sibling("details").summary.get_text(strip=True) == "References"
    assert told.find_previous_sibling("details").summary.get_text(strip=True) == "C"
    assert end.find_previous_sibling("p").get_text() == "The end."
    assert end.find_next_sibling() is None is none


def test_the_guide_shows_a_claim_of_the_book():
    guide = "\n".join(cell.source for cell in conftest.read("book/reading-guide").cells)
    ((shown,),) = (ast.parse(block).body for block in conftest.PYTHON.findall(guide))
    files = (ROOT / CLAIMS).rglob("*.py")
    claimed = (ast.parse(file.read_text(encoding="utf-8")).body for file in files)
    assert ast.unparse(shown) in {ast.unparse(one) for claims in claimed for one in claims}


def cell(source):
    return nodes.container("", nodes.container("", nodes.literal_block(source, source)))


@pytest.mark.parametrize(("tag", "source", "line"), [
    ("check", "# Checked: 1 = 1.\nassert 1 == 1", "Checked: 1 = 1."),
    ("yours", "# Yours: the loop.\nreturn ...", "Try it in Jupyter: the loop."),
])  # fmt: skip
def test_a_tagged_cell_folds_to_its_first_line_which_it_must_have(tag, source, line):
    assert first_line(cell(source), tag) == line
    with pytest.raises(ExtensionError, match=f"with the tag '{tag}' must begin with '# .*got 'x'"):
        first_line(cell("x"), tag)
    assert "&lt;b&gt;" in fold(tag, "a <b>", [])[0].astext()


def test_what_a_page_cannot_change_stands_below_its_code_as_for_jupyter():
    asked = cell("import a\n# Change this: b, to 3 < c.\n# What is left?\nb = 2\n")
    (said,) = changes(asked, "book/theory/page")
    assert asked.astext() == "import a\nb = 2\n"
    assert 'href="../../_sources/book/theory/page.ipynb" download' in said.astext()
    assert said.astext().endswith(": b, to 3 &lt; c. What is left?</p>")
    assert not changes(asked, "book/theory/page")
    (said,) = changes(cell("# Change this: b.\n"))
    assert said.astext().endswith(">Change: b.</p>")


def test_the_code_of_tables_and_figures_steps_back():
    table = nodes.raw("", method_table({"a": {"b": 1}}).html(), format="html")
    for more, stepped in (((), False), ((table,), True), ((nodes.figure(),), True)):
        assert shows(nodes.container("", cell("x"), *more)) == stepped


MENU = '<ul class="ensedu-sources"><li>a</li>\n<li>b</li></ul>'


@pytest.mark.parametrize(("menu", "title"), [("", "Code"), (MENU, "Data and code")])
def test_a_figure_stands_before_one_fold_of_its_sources_and_its_code(menu, title):
    document = new_document("page")
    code = nodes.container("", nodes.literal_block("x", "x"))
    figure = nodes.figure("", nodes.raw("", f"<div>F{menu}</div>", format="html"))
    box = nodes.container("", code, figure, nb_element="cell_code", cell_metadata={})
    box["hide_mode"] = "input"
    document += box
    FoldCells(document).apply()
    assert "hide_mode" not in box
    shown, head, *listed, end = (child.astext() for child in box.children)
    assert (shown, listed, end) == ("<div>F</div>", [menu, "x"][not menu :], "</details>")
    assert "<details " in head and f"<summary>{title}</summary>" in head


GITHUB, GITLAB = "https://github.com/owner/the-book", "https://gitlab.com/owner/the-book"


@pytest.mark.parametrize("address", [GITHUB, f" {GITHUB}.git/ ", GITLAB])
def test_buttons_open_what_the_host_can_and_commands_name_the_branch(address):
    options = launch.theme_options(address, "edition-2")
    on_github = "github" in address
    own = GITHUB if on_github else GITLAB
    assert (options["repository_url"], options["repository_branch"]) == (own, "edition-2")
    colab = {"colab_url": "https://colab.research.google.com"} if on_github else {}
    assert options["use_repository_button"] and options["launch_buttons"] == colab | {
        "notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org",
    }  # fmt: skip
    source = f"git+{GITHUB}.git@edition-2"
    workshop = f'"ensedu-workshop @ {source}#subdirectory=book"'
    pip = f'%pip install "ensedu[torch] @ {source}" {workshop}'
    assert [command for _, command in launch.how_to_run(options) if command] == [
        f"git clone --branch edition-2 {own}.git\ncd the-book\nmake lab", *[pip][: on_github]
    ]  # fmt: skip
    assert launch.theme_options("", "") == {}
    assert launch.theme_options(address, "")["repository_branch"] == "main"


@pytest.mark.parametrize("address", [
    "owner/the-book", "git@github.com:owner/the-book.git", "http://github.com/owner/the-book",
    "https://github.com/owner", f"{GITHUB}/tree/main", "https://example.org/owner/the-book",
    "https://github.com/owner/the book",
])  # fmt: skip
def test_an_address_that_no_button_could_open(address):
    with pytest.raises(ConfigError, match="accepted is https://github"):
        launch.theme_options(address, "")


FIGURE = (
    '<figure><div class="ensedu-explorer">no words</div><figcaption>One two</figcaption></figure>'
)


@pytest.mark.parametrize(("html", "counted"), [
    ("<p>In 2 of 1,804 – x1 too – <em>70%</em></p><pre>5 = 5</pre>", (7, 0, 1, 4)),
    ("<details><summary>no</summary><p>no</p><pre>no</pre></details><p>One</p>", (1, 0, 0)),
    ("<div class='admonition dropdown'><p>no</p></div>", (0, 0, 0)),
    (FIGURE, (2, 1, 0)), (f"<details>{FIGURE}</details>", (0, 0, 0)),
    ("<div class='cell_input'><pre>a = 1\n\nb = 2\n</pre></div>", (0, 0, 2)),
    ("<pre>x</pre><div class='cell_output'><pre>one two\nthree\n</pre></div>", (3, 0, 1)),
    ("<p>If <span class='math'>\\(a + b\\)</span>, so</p>", (3, 0, 0)),
    ("<div class='citation-list'>no</div><script>no</script>", (0, 0, 0)),
])  # fmt: skip
def test_what_is_read(html, counted):
    found = read(html)
    assert (found.words, found.figures, found.code) == counted[:3]
    assert found.numbers == sum(counted[3:])


WORDS = "as long as a cell gets before it wraps"


def table(*rows, head=True):
    """Return the tree of a page with one table."""
    options = "\n   :header-rows: 1" if head else ""
    lines = [
        f"   {'*' if not place else ' '} - {cell}" for row in rows for place, cell in enumerate(row)
    ]
    return publish_doctree(f".. list-table::{options}\n\n" + "\n".join(lines))


def stacked(tree):
    """Return the texts of all cells, and whether a phone stacks them."""
    stack_tables(None, tree)
    (found,) = tree.findall(nodes.table)
    cells = [entry.astext() for entry in found.findall(nodes.entry)]
    return cells, "ensedu-stacked" in found["classes"]


def test_of_words_each_cell_begins_with_its_title_and_what_is_missing_is_left_out():
    rows = ["SWAG", WORDS, "32"], ["IVON", WORDS, ""], ["MC dropout", WORDS, "–"]
    tree = table(["method", "source", "passes"], *rows)
    cells, stacks = stacked(tree)
    assert stacks and cells[3:9] == ["SWAG", f"source {WORDS}", "passes 32", "IVON", cells[4], ""]
    titles = [one for one in tree.findall(nodes.inline) if "ensedu-title" in one["classes"]]
    assert [one.astext() for one in titles] == ["source", "passes", "source", "source", "passes"]
    found = [entry["classes"] for entry in tree.findall(nodes.entry)]
    assert found == [[]] * 11 + [["ensedu-missing"]]


def test_what_fits_on_a_line_and_what_has_no_head_stays_a_table():
    for more in (0, 1):
        cells, stacks = stacked(
            table(["m", "n"], ["x" * (LINE - COLUMN + more), "y" * (COLUMN + 5)])
        )
        assert stacks == bool(more) and cells[0] == "m"
    cells, stacks = stacked(table(["you have", "take"], [WORDS, WORDS]))
    assert stacks and cells[2:] == [WORDS, WORDS]  # of two columns the second needs no title
    assert not stacked(table([WORDS, WORDS], [WORDS, WORDS], head=False))[1]


# The theme's ground under what folds out, in light and dark.
GROUNDS = {"light": (PAGE, "#f3f4f5"), "dark": (DARK[PAGE], "#29313d")}


def rules(sheet):
    """Return the variables of each rule that sets some."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", sheet)
    return [
        (selector.strip(), dict(re.findall(r"--ensedu-([\w]+): ([^;]+);", body)))
        for selector, body in rules
    ]


def test_both_themes_name_every_color_that_can_be_seen_and_paper_is_light():
    sheet = site_head.style_sheet()
    (root, light), (dark_root, dark), *_ = rules(sheet)
    assert (root, dark_root) == (":root", 'html[data-theme="dark"]')
    assert list(light) == list(dark) == [*METHODS, "shared", "ink", "muted", "doubt"]
    assert all(DARK[light[name]] == dark[name] for name in light)
    paper = rules(sheet[sheet.index("@media print {") + len("@media print {") :])
    assert paper[0] == ("html[data-theme]", light)
    for theme, colors in {"light": light, "dark": dark}.items():
        for name, color in colors.items():
            page, folded = (contrast(color, ground) for ground in GROUNDS[theme])
            assert page >= 3 and folded >= 2.5, name
            assert name not in ("ink", "muted") or min(page, folded) >= 4.5, name


def test_description_is_the_first_paragraph_of_the_text():
    note = nodes.note("", nodes.paragraph("", "Not this."))
    section = nodes.section("", nodes.title("", "Title"), note, nodes.paragraph("", "word " * 100))
    words = site_head.describe(nodes.section("", section))
    assert words.startswith("word word")
    assert words.endswith(" …")
    assert len(words) <= 200
    assert site_head.describe(nodes.section()) == ""


@cache
def anchors(file):
    """Return what links can name in a file, found without its tree."""
    return {*re.findall(r'\bid="([^"]*)"', file.read_text(encoding="utf-8"))}


def test_internal_links_resolve(built):
    file, soup = built
    broken = []
    for link in soup.find_all("a", href=True):
        address = urlsplit(link["href"])
        if address.scheme or address.netloc:
            continue
        target = (file.parent / unquote(address.path)).resolve() if address.path else file
        if not target.exists():
            broken.append(link["href"])
        elif address.fragment and target.suffix == ".html":
            # A link that sets a slider names the figure, and after a colon the setting.
            if unquote(address.fragment).partition(":")[0] not in anchors(target):
                broken.append(link["href"])
    assert not broken


def told(element):
    """The pictures that are told to a reader who hears the page: not a cut-out that repeats one.

    Nor axes in a template, which a script takes out to draw on, and tells by its own words.
    """
    images = [image for image in element.find_all("img") if not image.find_parent("template")]
    return [image for image in images if not image.find_parent(attrs={"aria-hidden": "true"})]


def test_figures_have_a_number_a_caption_and_words(built):
    article = built[1].find("article")
    living = ", ".join(f".ensedu-{kind}" for kind in ("explorer", "trainer", "digit"))
    for figure in article.select(f"figure:has({living})"):
        caption = figure.find("figcaption")
        assert re.match(r"Fig\. \d+(\.\d+)? ", caption.get_text(" ", strip=True)), figure["id"]
        assert len(caption.get_text().split()) >= 7, f"a caption says what it means: {figure['id']}"
        for image in told(figure):
            assert len(image["alt"].split()) >= 8, f"alt text says what is seen: {figure['id']}"
    assert all(image.get("alt", "").strip() for image in told(article))
    assert not article.select(".cell_output img:not(figure img):not(.ensedu-still img)")


def content(head, name):
    found = head.find_all("meta", attrs={"property" if ":" in name else "name": name})
    assert len(found) == 1, name
    return found[0]["content"]


def test_each_page_says_what_it_is(built):
    file, page = built
    soup = page.head
    assert content(soup, "og:title") in soup.title.get_text()
    assert content(soup, "og:description") == content(soup, "description")
    assert not re.search(r"[<\\]", content(soup, "description"))
    icons = soup.find_all("link", rel="icon")
    assert len(icons) == 1
    assert (file.parent / icons[0]["href"]).exists()
    card = soup.find("meta", property="og:image")
    assert card is None or card["content"].startswith("https://")


@pytest.mark.parametrize("marks", [",", ").", "?!", ")", ";"])
def test_all_marks_after_a_formula_stay_with_it(marks):
    m, n = (f'<span class="math">{letter}</span>' for letter in "mn")
    page = BeautifulSoup(f"({m}{marks} or {n} so", "html.parser")
    tie(page)
    assert str(page) == f'(<span class="ensedu-tied">{m}{marks}</span> or {n} so'
