"""A result stands with what it holds for: in the same paragraph, on each page."""

import re

import pytest

from tests.book.conftest import NOTEBOOKS, PAGES, read

BLOCK = re.compile(r"\n\s*\n|\n(?=- |\d+\. )")

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
    r"lucky. If we struck out three": ("rivals have fourteen chances",),
    r"lucky epochs at high rates won": ("test scores of two of the tables had been seen",),
    r"they are one more dot": ("If your data are like ours", "some thousand rows"),
}


@pytest.fixture(scope="module")
def paragraphs(root):
    """Each paragraph that a reader sees, and each cell of code: (page, text)."""
    found = []
    for page in PAGES:
        if page in NOTEBOOKS:
            for cell in read(page).cells:
                parts = BLOCK.split(cell.source) if cell.cell_type == "markdown" else [cell.source]
                found += [(page, part) for part in parts]
        else:
            source = (root / f"{page}.md").read_text(encoding="utf-8")
            found += [(page, part) for part in BLOCK.split(source)]
    return found


@pytest.mark.parametrize("said", BESIDE)
def test_a_result_stands_with_what_it_holds_for(paragraphs, said):
    stated = [(page, text) for page, text in paragraphs if re.search(said, text)]
    assert stated
    for page, text in stated:
        for needed in BESIDE[said]:
            assert re.search(needed, text), f"{page}: {needed!r} is missing in\n{text}"
