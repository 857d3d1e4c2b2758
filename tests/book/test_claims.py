"""What chapters claim in their prose is so, and what they say in numbers is claimed."""

import functools
import json
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest

from tests.book import claiming
from tests.book.claiming import Change, Claims, changed, needless, place, sentences, unsaid
from tests.book.conftest import read
from workshop import measured
from workshop.experiments.contest import mixes, reading

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


PAGE = r"""# Seven ponds, 7 of them

A pond **B** is [1.70 times](other.md) as *deep* as its neighbor {cite:p}`hansen1990`. It is
clearer, and {term}`frogs <frog>` like it better in 41% of the six years.

:::::{admonition} You will be able to
1. Count 5 ponds.
:::::

MNIST-5000, `width=50`, $x_1 = 2$ and [500](set:fig-a?width=500) are no numbers. The shore is
$-0.25$ m.

$$
x = \sqrt{3}
$$

## Exercises

How deep are 6 ponds?
"""
CELLS = [{"cell_type": "markdown", "source": PAGE}, {"cell_type": "code", "source": "# 5 better"}]
TABLE = {"rows": [{"pond": "A", "m": [2.0, 2.0]}, {"pond": "B", "m": [3.4, 3.4]}], "shore": -0.25}


def depth(pond):
    (low, high) = measured.row(measured.load("ponds")["rows"], pond=pond)["m"]
    return (low + high) / 2


@pytest.fixture
def tables(monkeypatch):
    """A small table, read in place of the book's."""
    texts = {"ponds": json.dumps(TABLE)}
    monkeypatch.setattr(measured, "names", lambda: [*texts])
    monkeypatch.setattr(measured, "_text", texts.__getitem__)
    claiming.forget("ponds")
    yield
    claiming.forget("ponds")


def test_a_page_says_what_is_claimed_and_a_wrong_number_or_table_is_noticed(tables):
    claims, page = Claims("ponds"), sentences(CELLS)
    deeper = Change("ponds", "rows", {"pond": "B"}, "m", times=1.1)
    claims.says("1.70 times as deep", lambda: depth("B") / depth("A"), deeper)
    claims.says("in 41% of the six", lambda: (0.4099, 6))
    due = [sentence.text for sentence in page if sentence.due]
    assert unsaid(claims, page) == due[2:] == ["The shore is -0.25 m."]
    claims.reads("-0.25 m", "ponds", "shore")
    claims.says("The shore is", lambda: measured.load("ponds")["shore"] < 0)
    assert not unsaid(claims, page)
    for claim in claims.all:
        claim.holds()
    with changed(deeper), pytest.raises(AssertionError, match=r"1.70 .* something else than \[1.8"):
        claims.all[0].holds()
    claims.all[0].holds()
    claiming.Claim("1-50-1, below -3", lambda: (1, 50, 1, -3), ()).holds()
    for value in ((0.4, 6), (0.41, 7), 0.416, (), False):
        with pytest.raises(AssertionError, match="41%"):
            claiming.Claim("in 41% of the six", lambda value=value: value, ()).holds()
    wrong = {"1.7 m": "not say", "0 times": "not say", "is": "places", "1 " * 9: "8 words"}
    for fragment, words in wrong.items():
        with pytest.raises(AssertionError, match=words):
            place(fragment, page)
    for change in (
        Change("ponds", "shore", times=1),
        Change("ponds", "rows", {"pond": 0}, "m", to=1),
    ):
        with pytest.raises(AssertionError), changed(change):
            pass
    excused = {"The shore is": "", "no numbers": "names", "like it better": "claimed"}
    claims = Claims("ponds", unclaimed=excused)
    claims.says("in 41% of the six", lambda: 0.41)
    assert needless(claims, page) == [*excused]


def test_modules_that_keep_the_contest_read_nothing_else(monkeypatch):
    found, load = [], measured.load
    monkeypatch.setattr(measured, "load", lambda name: found.append(name) or load(name))
    claiming.forget(claiming.ITS_TABLES)
    assert chain(reading.compared(), mixes.intervals("single"), reading.costs("single"))
    assert found
    assert all(name.startswith(claiming.ITS_TABLES) for name in found)
