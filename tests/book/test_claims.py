"""What chapters claim in their prose is so, and what they say in numbers is claimed."""

import functools
from importlib import import_module
from pathlib import Path

import pytest

from tests.book.claiming import changed, needless, sentences, unsaid
from tests.book.conftest import read

FOLDER = Path(__file__).with_name("claims")
LEAST_CHANGES = 10
FILES = [file.relative_to(FOLDER).with_suffix("") for file in sorted(FOLDER.rglob("[a-z]*.py"))]
PAGES = {
    file.as_posix(): import_module(".".join(["tests.book.claims", *file.parts])).CLAIMS
    for file in FILES
}
CLAIMS = [
    pytest.param(claim, id=f"{claims.chapter}: {claim.fragment}")
    for claims in PAGES.values()
    for claim in claims.all
]
CHANGES = [
    pytest.param(claim, change, id=f"{claims.chapter}: {claim.fragment}: {change}")
    for claims in PAGES.values()
    for claim in claims.all
    for change in claim.changes
]


@functools.cache
def page_of(chapter):
    return sentences(read(f"book/{chapter}").cells)


@pytest.mark.parametrize("file", PAGES)
def test_a_module_is_named_after_its_chapter(file):
    assert file == PAGES[file].chapter.replace("-", "_")


@pytest.mark.parametrize("claim", CLAIMS)
def test_it_is_so(claim):
    claim.holds()


@pytest.mark.parametrize(("claim", "change"), CHANGES)
def test_it_would_fail_otherwise(claim, change):
    with changed(change), pytest.raises(AssertionError):
        claim.holds()


def reads_tables(file):
    cells = read(f"book/{PAGES[file].chapter}").cells
    return any("table=" in cell.source for cell in cells if cell.cell_type == "code")


@pytest.mark.parametrize("file", [*filter(reads_tables, PAGES)])
def test_ten_changes_are_noticed(file):
    changes = {str(change) for claim in PAGES[file].all for change in claim.changes}
    assert len(changes) >= LEAST_CHANGES


@pytest.mark.parametrize("file", PAGES)
def test_the_page_says_each_claim_once_and_nothing_unclaimed(file):
    claims = PAGES[file]
    assert not unsaid(claims, page_of(claims.chapter))


@pytest.mark.parametrize("file", PAGES)
def test_only_what_needs_it_is_excused(file):
    claims = PAGES[file]
    assert not needless(claims, page_of(claims.chapter))
