"""A page with claims says where they are, above its references; no other page says so."""

import ast
import re
import subprocess
import sys

import pytest
from bs4 import BeautifulSoup

from tests.book.conftest import NOTEBOOKS, ROOT, read

CONF = """
import sys
sys.path.insert(0, {folder!r})
extensions = ["myst_parser", "sphinx_design", "checked"]
myst_enable_extensions = ["colon_fence"]
"""
REFERENCES = "\n\n:::{dropdown} References\nHansen 1990\n:::\n"
PAGES = {
    "index": "# Book\n\n```{toctree}\n:glob:\n\nbook/*\nbook/*/*\n```\n",
    "book/guide": "# Guide\n\n(how-a-number-is-checked)=\n## How a number is checked\n",
    "book/pond/two-ponds": f"# A\n\n## B\n\n:::{{dropdown}} C\nD\n:::{REFERENCES}",
    "book/pond/lake": "# A\n\n## B\n\nThe end.\n",
    "book/pond/other": f"# A\n\n## B\n{REFERENCES}",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    source = tmp_path_factory.mktemp("book")
    for name, text in PAGES.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / f"{name}.md").write_text(text)
    claims = source / "tests" / "book" / "claims" / "pond"
    claims.mkdir(parents=True)
    for name in ("two_ponds", "lake"):
        (claims / f"{name}.py").touch()
    (source / "conf.py").write_text(CONF.format(folder=str(ROOT / "book" / "_ext")))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", source, source / "html"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return source / "html" / "book" / "pond"


def line(site, name):
    return BeautifulSoup((site / f"{name}.html").read_text(), "html.parser").select_one(
        "p.ensedu-checked"
    )


def test_a_page_with_claims_says_where_they_are(site):
    told = line(site, "two-ponds")
    assert told.get_text() == (
        "How each number is checked; what this page claims: tests/book/claims/pond/two_ponds.py"
    )
    assert told.a["href"] == "../guide.html#how-a-number-is-checked"
    assert told.find_next_sibling("details").summary.get_text(strip=True) == "References"
    assert told.find_previous_sibling("details").summary.get_text(strip=True) == "C"


def test_a_page_without_references_ends_with_it(site):
    told = line(site, "lake")
    assert told.find_previous_sibling("p").get_text() == "The end."
    assert told.find_next_sibling() is None


def test_other_pages_have_none(site):
    assert line(site, "other") is None


def test_each_module_of_claims_has_its_line():
    """The extension finds the modules that the tests do."""
    from book._ext.checked import CLAIMS, module

    files = {file.relative_to(ROOT).as_posix() for file in (ROOT / CLAIMS).rglob("[a-z]*.py")}
    assert files
    assert files <= {module(page) for page in NOTEBOOKS}


def test_the_guide_shows_a_claim_of_the_book():
    text = "\n".join(cell.source for cell in read("book/reading-guide").cells)
    (block,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    (shown,) = ast.parse(block).body
    (decorator,) = map(ast.unparse, shown.decorator_list)
    (claimed,) = (
        claim
        for file in (ROOT / "tests/book/claims").rglob("*.py")
        for claim in ast.parse(file.read_text(encoding="utf-8")).body
        if decorator in map(ast.unparse, getattr(claim, "decorator_list", []))
    )
    assert {*map(ast.unparse, shown.body)} <= {*map(ast.unparse, claimed.body)}
