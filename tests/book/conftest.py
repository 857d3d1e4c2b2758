"""The book as the tests see it: pages of the table of contents, their notebooks, what is built."""

import re
from functools import cache, lru_cache
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]


def toc_files(entry):
    """Return the file names in a table of contents, in reading order."""
    own = [entry[key] for key in ("root", "file") if key in entry]
    below = [child for key in ("parts", "chapters", "sections") for child in entry.get(key, [])]
    return own + [name for child in below for name in toc_files(child)]


TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = toc_files(TOC)
NOTEBOOKS = [page for page in PAGES if (ROOT / f"{page}.ipynb").exists()]
# Those of numbered parts, each in the folder of its part, follow a template; the introduction, side
# trips, the cheat sheet and others do not.
NUMBERED = [page for part in TOC["parts"] if part.get("numbered") for page in toc_files(part)]
CHAPTERS = [page for page in NUMBERED if page in NOTEBOOKS and page.count("/") == 2]


def pytest_generate_tests(metafunc):
    """Give a test that asks for a page, a notebook or a chapter each of them in turn.

    Each is read once: with a scope of the session, all tests of a page follow each other.
    """
    for name, values in (("page", PAGES), ("notebook", NOTEBOOKS), ("chapter", CHAPTERS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values, indirect=name != "page", scope="session")


PYTHON = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks(file):
    """Return the programs in Python that a page shows."""
    return PYTHON.findall(file.read_text(encoding="utf-8"))


@cache
def read(page):
    """Return the notebook of a page."""
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def ran(page, *marks, **names):
    """Return what the cells of a page that hold these marks, one each, leave before they draw."""
    sources = [cell.source for cell in read(page).cells if cell.cell_type == "code"]
    found = [source for source in sources if any(mark in source for mark in marks)]
    assert len(found) == len(marks), (marks, found)
    for source in found:
        exec(re.split(r"\n(?:shown = |explore\()", source)[0], names)
    return names


# Half of a page's elements are words of code, which no test looks at.
CODE = re.compile(r"(<pre\b[^>]*>).*?(?=</pre>)", flags=re.DOTALL)


@lru_cache(maxsize=1)
def parsed(file):
    return BeautifulSoup(CODE.sub(r"\1", file.read_text(encoding="utf-8")), "html.parser")


@pytest.fixture(scope="session")
def html(root):
    """The folder of the built book."""
    folder = root / "_build" / "html"
    if not (folder / "index.html").exists():
        pytest.skip("the book is not built: run `make book`")
    return folder


@pytest.fixture
def built(html, page):
    """The file of a page of the built book, and what it holds."""
    file = html / f"{page}.html"
    assert file.exists(), f"{page} is in the table of contents, not in the build"
    return file, parsed(file)


@pytest.fixture(scope="session")
def notebook(request):
    """The notebook of one page."""
    return read(request.param)


@pytest.fixture(scope="session")
def chapter(request):
    """The notebook of one chapter."""
    return read(request.param)


@pytest.fixture(scope="session")
def root():
    """The folder of the repository."""
    return ROOT


@pytest.fixture(autouse=True)
def no_book(monkeypatch):
    """No test knows of a book that is being built, unless it says so."""
    monkeypatch.delenv("ENSEDU_BOOK", raising=False)
