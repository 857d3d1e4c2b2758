"""The box at the top of a chapter: what it must hold, how it is set, how long a page is read."""

import subprocess
import sys

import pytest
from bs4 import BeautifulSoup

from book._ext.reading import read

GOALS = "1. Count.\n2. Write.\n3. Say."
BEFORE = "**Before you start**: [another page](other.md)."
PREDICT = "**Predict.** How many?"
ANSWER = "::::{dropdown} Answer\nTwo words.\n::::"
SOUND = (GOALS, BEFORE, PREDICT, ANSWER)
# Bodies of an opening, and what is said of them.
FAULTS = {
    "no-goals": (SOUND[1:], "must have a numbered list of 3 to 5 goals, got none"),
    "two-goals": (("1. Count.\n2. Say.", *SOUND[1:]), "of 3 to 5 goals, got 2"),
    "six-goals": (("\n".join(f"{i}. Go." for i in range(1, 7)), *SOUND[1:]), "goals, got 6"),
    "no-before": ((GOALS, PREDICT, ANSWER), "begins with **Before you start**"),
    "late-words": (
        (GOALS, "Well: **Before you start**: x.", PREDICT, ANSWER),
        "begins with **Before you start**",
    ),
    "no-predict": ((GOALS, BEFORE, ANSWER), "begins with **Predict.**"),
    "no-answer": ((GOALS, BEFORE, PREDICT), "must fold its answer"),
    "order": ((BEFORE, GOALS, PREDICT, ANSWER), "in this order"),
    "between": ((GOALS, "Words.", BEFORE, PREDICT, ANSWER), "nothing between them"),
}
CONF = """
import sys
sys.path.insert(0, {folder!r})
extensions = ["myst_parser", "sphinx_design", "opening"]
myst_enable_extensions = ["colon_fence"]
"""


HEAD = ":::::{admonition} You will be able to\n:class: opening\n\n"
OTHER = ":::{admonition} A word\n:class: note\nOf warning.\n:::\n"


def page(body, head=HEAD):
    return f"# Title\n\n{head}" + "\n\n".join(body) + "\n:::::\n\n" + "word " * 250


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    """A small book with one sound page and one a fault; its folder, and what was said."""
    source = tmp_path_factory.mktemp("book")
    pages = {"sound": SOUND, **{name: body for name, (body, _) in FAULTS.items()}}
    for name, body in pages.items():
        (source / f"{name}.md").write_text(page(body))
    (source / "other.md").write_text(f"# Other\n\n{OTHER}")
    (source / "titled.md").write_text(page(SOUND, HEAD.replace("You will", "You may")))
    listed = "\n".join(["other", "titled", *pages])
    (source / "index.md").write_text(f"# Book\n\n```{{toctree}}\n{listed}\n```\n")
    (source / "conf.py").write_text(CONF.format(folder=str(root / "book" / "_ext")))
    command = [sys.executable, "-m", "sphinx", "-q", "-E", source, source / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return source / "html", done.stderr


def test_box_holds_goals_time_and_question(built):
    box = BeautifulSoup((built[0] / "sound.html").read_text(), "html.parser").aside
    assert box["aria-label"] == "About this chapter"
    goals, predict = box.find_all("div", recursive=False)
    assert [item.get_text(strip=True) for item in goals.find_all("li")] == [
        "Count.",
        "Write.",
        "Say.",
    ]
    # 4 + 3 + 9 + 4 + 250 words: 2 minutes.
    assert goals.find_all("p")[-1].get_text() == (
        "Reading time 2 minutes · Before you start: another page."
    )
    assert goals.a["href"] == "other.html"
    assert predict.p.get_text() == "Predict. How many?"
    assert "Two words." in predict.details.get_text()
    assert box.find(["h1", "h2", "h3"]) is None


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_said_with_their_place(built, name):
    said = [line for line in built[1].splitlines() if f"{name}.md:" in line]
    assert len(said) == 1
    assert f"{name}.md:3: " in said[0]
    assert FAULTS[name][1] in said[0]


def test_other_admonitions_stay(built):
    page = BeautifulSoup((built[0] / "other.html").read_text(), "html.parser")
    box = page.select_one("div.admonition.note")
    assert [part.get_text() for part in box.select("p")] == ["A word", "Of warning."]
    assert page.aside is None


def test_another_title_is_an_error(built):
    (said,) = [line for line in built[1].splitlines() if "titled.md:" in line]
    assert "must have the title 'You will be able to', got 'You may be able to'" in said


def test_nothing_else_is_said(built):
    assert len(built[1].strip().splitlines()) == len(FAULTS) + 1


FIGURE = (
    '<figure><div class="ensedu-explorer">no words</div><figcaption>One two</figcaption></figure>'
)


@pytest.mark.parametrize(
    ("html", "counted"),
    [
        ("<p>One two, <em>three</em>. – 4</p>", (4, 0, 0)),
        ("<h2>One<a class='headerlink'>#</a></h2>", (1, 0, 0)),
        ("<details><summary>no</summary><p>no</p><pre>no</pre></details><p>One</p>", (1, 0, 0)),
        ("<details open=''><summary>One</summary><p>two</p></details>", (2, 0, 0)),
        ("<div class='admonition dropdown'><p>no</p></div>", (0, 0, 0)),
        ("<div class='admonition note'><p>One</p></div>", (1, 0, 0)),
        (FIGURE, (2, 1, 0)),
        (f"<details>{FIGURE}</details>", (0, 0, 0)),
        ("<div class='cell_input'><pre>a = 1\n\nb = 2\n</pre></div>", (0, 0, 2)),
        ("<div class='cell_output'><pre>one two\nthree\n</pre></div>", (3, 0, 0)),
        (
            "<div class='cell_input'><pre>x</pre></div><div class='cell_output'><pre>x</pre></div>",
            (1, 0, 1),
        ),
        ("<p>If <span class='math'>\\(a + b\\)</span>, so</p>", (3, 0, 0)),
        ("<div class='math'>\\[a + b\\]</div>", (5, 0, 0)),
        ("<div class='citation-list'>no</div><script>no</script>", (0, 0, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_what_is_read(html, counted):
    found = read(html)
    assert (found.words, found.figures, found.code) == counted


def test_numbers_are_words_with_a_digit():
    found = read("<p>In 2 of 1,804 cases – x1 too – <em>70%</em> and four</p><pre>5 = 5</pre>")
    assert (found.words, found.numbers) == (10, 4)


@pytest.mark.parametrize(
    ("words", "figures", "code", "minutes"),
    [(200, 0, 0, 1), (201, 0, 0, 2), (0, 3, 0, 1), (0, 3, 1, 2), (100, 1, 5, 1), (1000, 3, 31, 8)],
)
def test_minutes_are_rounded_up(words, figures, code, minutes):
    html = "<p>" + "word " * words + "</p>" + FIGURE.replace("One two", "") * figures
    assert read(html + "<pre>" + "x\n" * code + "</pre>").minutes == minutes


def test_one_minute_is_one(monkeypatch, root):
    monkeypatch.syspath_prepend(root / "book" / "_ext")  # as Sphinx finds what it imports
    from book._ext.opening import TIME, tell_time

    context = {"body": f"<p>{TIME} word</p>"}
    tell_time(None, "page", "page.html", context, None)
    assert BeautifulSoup(context["body"], "html.parser").span.get_text() == "1 minute"
