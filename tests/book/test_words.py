"""The words and letters of all pages: one for one thing, each explained, none without its scope."""

import re
from collections import defaultdict
from functools import cache

import pytest

from tests.book.conftest import NOTEBOOKS, PAGES, ROOT, read

GREEK = {
    f"\\{name}"
    for name in (
        "alpha", "beta", "gamma", "varepsilon", "eta", "kappa", "lambda", "mu", "rho", "sigma",
        "tau", "phi", "chi", "Sigma", "Theta",
    )
}  # fmt: skip
FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$]+\$", re.DOTALL)
INDEXED = re.compile(r"[A-Za-z]'?_(?:([a-z])|\{([a-z']+)\})")
# What is made of letters that stand in the other sections.
MADE = "Operations"
BLOCK = re.compile(r"\n\s*\n|\n(?=- |\d+\. )")
TERM = re.compile(r"^(?![ :#%])(.+)$", flags=re.MULTILINE)
#: What is said, as a pattern, and what must stand beside it wherever it is.
BESIDE = {
    # Networks of another kind, such as most of ours, may do otherwise.
    "coker2022": ("fully connected", "odd", "(Gaussian|normal) noise"),
    r"sure of 50% of the letters": (r"90% of the digits",),
    # Results of splits move together because what was learned from is partly the same.
    r"wider than Student": (r"share (training )?images", "nadeau2003"),
    r"\{prf:theorem\} Wide embedded": ("locally Lipschitz",),
    # Adam divides its gradient by its size.
    r"[Tt]rain on the sum": ("SGD", "Adam"),
    # The authors' own configuration weakens the KL.
    r"and the whole KL\. One of ten networks": ("a tenth",),
    r"The authors' configuration has": ("a tenth", "softplus"),
    # What decided the words, and what had been seen before.
    r"lucky. If we struck out three": ("rivals have fifteen chances",),
    r"lucky epochs at high rates won": ("test scores of two of the tables had been seen",),
    r"they are one more dot": ("If your data are like ours", "some thousand rows"),
}


@cache
def parts(page):
    """Return what a reader sees of a page: ("markdown" or "code", text) of each cell."""
    if page in NOTEBOOKS:
        return [(cell.cell_type, cell.source) for cell in read(page).cells]
    return [("markdown", (ROOT / f"{page}.md").read_text(encoding="utf-8"))]


def words(page):
    """Return the text of a page, without code."""
    return "\n\n".join(source for kind, source in parts(page) if kind == "markdown")


def letters(formula):
    """Return the letters of a formula in their order, words and commands left out."""
    formula = re.sub(r"\\(?:text|operatorname|begin|end)\{[^{}]*\}", " ", formula)
    tokens = re.findall(r"\\[A-Za-z]+|[A-Za-z]", formula)
    return [token for token in tokens if token in GREEK or token[0] != "\\"]


@pytest.fixture(scope="module")
def guide():
    """The tables of letters."""
    return words("book/reading-guide").partition("\n## The letters\n")[2]


@pytest.fixture(scope="module")
def symbols(guide):
    """The symbols that each table explains."""
    return {
        section.partition("\n")[0]: [
            symbol.strip()
            for cell in re.findall(r"^\| (\$[^|]+) \|", section, flags=re.MULTILINE)
            for formula in FORMULA.findall(cell)
            for symbol in formula.strip("$").split(",")
        ]
        for section in guide.split("\n### ")[1:]
    }


@pytest.fixture(scope="module")
def known(guide):
    """Every letter of the tables."""
    return {letter for formula in FORMULA.findall(guide) for letter in letters(formula)}


def test_no_letter_has_two_meanings(symbols):
    assert {"Sizes", "Indices", MADE} < symbols.keys()
    sections = defaultdict(set)
    for section, found in symbols.items():
        assert len(found) == len(set(found)), section
        if section != MADE:
            for symbol in found:
                sections[letters(symbol)[0]].add(section)
    assert len(sections) > 20
    assert not {letter: where for letter, where in sections.items() if len(where) > 1}


def test_every_letter_and_every_index_is_explained(page, known, symbols):
    indices = symbols["Indices"]
    for formula in FORMULA.findall(words(page)):
        assert not [letter for letter in letters(formula) if letter not in known], formula
        for match in INDEXED.findall(re.sub(r"\\[A-Za-z]+", " ", formula)):
            assert not [one for one in "".join(match).replace("'", "") if one not in indices], (
                formula
            )


def test_terms_of_the_glossary_stand_in_order_once_and_are_words_of_a_page():
    terms = TERM.findall((ROOT / "book" / "glossary.md").read_text(encoding="utf-8"))
    small = [re.sub("[^a-z]", "", term.lower()) for term in terms]  # letter by letter
    assert small == sorted(set(small)) and len(terms) > 50
    said = "\n".join(
        source for page in PAGES for _, source in parts(page) if "glossary" not in page
    )
    said = " ".join(said.lower().split())
    assert not [term for term in terms if term.lower() not in said]


@pytest.mark.parametrize("said", BESIDE)
def test_a_result_stands_with_what_it_holds_for(said):
    stated = [
        (page, text)
        for page in PAGES
        for kind, source in parts(page)
        for text in (BLOCK.split(source) if kind == "markdown" else [source])
        if re.search(said, text)
    ]
    assert stated
    for page, text in stated:
        for needed in BESIDE[said]:
            assert re.search(needed, text), f"{page}: {needed!r} is missing in\n{text}"
