"""What chapters claim in their prose is so, and what they say in numbers is claimed."""

import functools
import json
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest

from tests.book import claiming
from tests.book.claiming import Claim, Claims, by_table, deaf, entry, needless, sentences, unsaid
from tests.book.conftest import read
from workshop import measured
from workshop.experiments.contest import mixes, reading

FOLDER = Path(__file__).with_name("claims")
FILES = [file.relative_to(FOLDER).with_suffix("") for file in sorted(FOLDER.rglob("[a-z]*.py"))]
PAGES = {
    file.as_posix(): import_module(".".join(["tests.book.claims", *file.parts])).CLAIMS
    for file in FILES
}


@functools.cache
def page_of(chapter):
    return sentences(read(f"book/{chapter}").cells)


@pytest.mark.parametrize("file", PAGES)
def test_a_module_is_named_after_its_chapter(file):
    assert file == PAGES[file].chapter.replace("-", "_")


@pytest.mark.parametrize("file", PAGES)
def test_it_is_so_and_would_fail_if_its_table_said_something_else(file):
    read_by = by_table(PAGES[file].all)
    wrong = [said for claim in read_by.pop("", []) if (said := claim.otherwise())]
    assert not wrong
    unheard = [claim.fragments for table, own in read_by.items() for claim in deaf(own, table)]
    assert not unheard


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
    return sum(entry("ponds", "rows", {"pond": pond}, "m")) / 2


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
    claims.says("1.70 times as deep", lambda: depth("B") / depth("A"))
    claims.says("in 41% of the six", lambda: (0.4099, 6))
    due = [sentence.text for sentence in page if sentence.due]
    assert unsaid(claims, page) == due[2:] == ["The shore is -0.25 m."]
    claims.reads("-0.25 m", "ponds", "shore")
    claims.says("The shore is", lambda: entry("ponds", "shore") < 0)
    claims.says("Seven ponds", lambda: entry("ponds", "shore") - entry("ponds", "shore") + 7)
    assert not unsaid(claims, page)
    assert {table: len(own) for table, own in by_table(claims.all).items()} == {"ponds": 4, "": 1}
    assert deaf(by_table(claims.all)["ponds"], "ponds") == [claims.all[-1]]
    assert not any(claim.otherwise() for claim in claims.all)
    assert "else than [3.4]" in Claim(("1.70 times",), lambda: 3.4).otherwise()
    assert not Claim(("1-50-1, below -3",), lambda: (1, 50, 1, -3)).otherwise()
    for value in ((0.4, 6), (0.41, 7), 0.416, (), False):
        assert "41%" in Claim(("in 41% of the six",), lambda value=value: value).otherwise()
    wrong = {"1.7 m": "not say", "0 times": "not say", "is": "places", "1 " * 9: "8 words"}
    for fragment, words in wrong.items():
        with pytest.raises(AssertionError, match=words):
            claiming.place(fragment, page)
    excused = {"": ["The shore is"], "names": ["no numbers"], "claimed": ["like it better"]}
    claims = Claims("ponds", unclaimed=excused)
    claims.says("in 41% of the six", lambda: 0.41)
    assert needless(claims, page) == ["The shore is", "no numbers", "like it better"]


def test_modules_that_keep_the_contest_read_nothing_else(monkeypatch):
    found, load = [], measured.load
    monkeypatch.setattr(measured, "load", lambda name: found.append(name) or load(name))
    claiming.forget(claiming.ITS_TABLES)
    assert chain(reading.compared(), mixes.intervals("single"), reading.costs("single"))
    assert found
    assert all(name.startswith(claiming.ITS_TABLES) for name in found)
