"""The glossary: in order, and each term is a word of some page."""

import json
import re

import pytest

TERM = re.compile(r"^(?![ :#%])(.+)$", flags=re.MULTILINE)


@pytest.fixture(scope="module")
def terms(root):
    return TERM.findall((root / "book" / "glossary.md").read_text(encoding="utf-8"))


def test_terms_stand_in_the_order_of_the_alphabet_and_once(terms):
    small = [re.sub("[^a-z]", "", term.lower()) for term in terms]  # letter by letter
    assert small == sorted(set(small)) and len(terms) > 50


def test_each_term_is_a_word_of_a_page(terms, root):
    words = {
        path: " ".join(text(path).lower().split())
        for path in [*(root / "book").rglob("*.ipynb"), *(root / "book").rglob("*.md")]
        if path.name != "glossary.md"
    }
    unused = [term for term in terms if not any(term.lower() in page for page in words.values())]
    assert not unused


def text(path):
    """Return what a page says and runs."""
    words = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return words
    return "\n".join("".join(cell["source"]) for cell in json.loads(words)["cells"])
