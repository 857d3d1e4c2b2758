"""One letter for one thing: each formula of the book uses the letters of the reading guide."""

import re
from collections import defaultdict

import pytest

from tests.book.conftest import NOTEBOOKS, read

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


def letters(formula):
    """Return the letters of a formula in their order, words and commands left out."""
    formula = re.sub(r"\\(?:text|operatorname|begin|end)\{[^{}]*\}", " ", formula)
    tokens = re.findall(r"\\[A-Za-z]+|[A-Za-z]", formula)
    return [token for token in tokens if token in GREEK or token[0] != "\\"]


def words(page):
    """Return the text of a notebook."""
    cells = read(page).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


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


@pytest.fixture
def formulas(page, root):
    """The formulas in the text of a page."""
    if page in NOTEBOOKS:
        return FORMULA.findall(words(page))
    return FORMULA.findall((root / f"{page}.md").read_text(encoding="utf-8"))


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


def test_within_a_section_a_letter_differs_by_its_index(symbols):
    for section, found in symbols.items():
        if section != MADE:
            bare = [
                symbol for symbol in found if len(letters(symbol)) == 1 and not {*"_^"} & {*symbol}
            ]
            assert len(bare) == len({letters(symbol)[0] for symbol in bare}), section


def test_every_letter_is_explained(formulas, known):
    unknown = {
        letter: formula
        for formula in formulas
        for letter in letters(formula)
        if letter not in known
    }
    assert not unknown


def test_every_index_is_explained(formulas, symbols):
    used = {
        letter: formula
        for formula in formulas
        for match in INDEXED.findall(re.sub(r"\\[A-Za-z]+", " ", formula))
        for letter in "".join(match).replace("'", "")
    }
    assert not {letter: used[letter] for letter in used if letter not in symbols["Indices"]}


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (r"$\mu_{r_i} + \text{bytes}\, W_{aj'}$", ["\\mu", "r", "i", "W", "a", "j"]),
        (r"$\operatorname{Var}(x) \in \R$", ["x"]),
    ],
)
def test_the_reader_of_formulas(formula, found):
    assert letters(formula) == found
