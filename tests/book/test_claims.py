"""What chapters claim in their prose is so, and what they say in numbers is claimed."""

from importlib import import_module
from pathlib import Path

import pytest

from tests.book import claiming
from tests.book.claiming import Claim, Claims, by_table, deaf, entry, needless, sentences, unsaid
from tests.book.conftest import read
from workshop import measured

FOLDER = Path(__file__).with_name("claims")
FILES = [file.relative_to(FOLDER).with_suffix("") for file in sorted(FOLDER.rglob("[a-z]*.py"))]
PAGES = {
    file.as_posix(): import_module(".".join(["tests.book.claims", *file.parts])).CLAIMS
    for file in FILES
}


@pytest.mark.parametrize("file", PAGES)
def test_it_is_so_and_would_fail_if_its_table_said_something_else(file):
    read_by = by_table(PAGES[file].all)
    wrong = [said for claim in read_by.pop("", []) if (said := claim.otherwise())]
    assert not wrong
    unheard = [claim.fragments for table, own in read_by.items() for claim in deaf(own, table)]
    assert not unheard


@pytest.mark.parametrize("file", PAGES)
def test_a_page_says_each_claim_once_and_nothing_unclaimed_and_excuses_what_must_be(file):
    claims = PAGES[file]
    assert file == claims.chapter.replace("-", "_")
    page = sentences(read(f"book/{claims.chapter}").cells)
    assert not unsaid(claims, page)
    assert not needless(claims, page)


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


def test_a_wrong_number_a_deaf_claim_and_what_nobody_claims_are_noticed(monkeypatch):
    monkeypatch.setattr(measured, "names", lambda: ["ponds"])
    monkeypatch.setattr(measured, "_tables", lambda _: {"ponds": TABLE})
    claims, page = (
        Claims("ponds", {"": ["like it better"], "names": ["no numbers"]}),
        sentences(CELLS),
    )
    claims.says("1.70 times as deep", lambda: depth("B") / depth("A"))
    claims.says("in 41% of the six", lambda: (0.4099, 6))
    assert unsaid(claims, page) == ["The shore is -0.25 m."]
    claims.reads("-0.25 m", "ponds", "shore")
    claims.says("Seven ponds", lambda: entry("ponds", "shore") - entry("ponds", "shore") + 7)
    assert not unsaid(claims, page) and not any(claim.otherwise() for claim in claims.all)
    assert needless(claims, page) == ["like it better", "no numbers"]
    read_by = by_table(claims.all)
    assert [*map(len, read_by.values())] == [3, 1]
    assert deaf(read_by["ponds"], "ponds") == claims.all[-1:]
    for value in ((0.4, 6), (0.41, 7), 0.416, (), False):
        assert "41%" in Claim(("in 41% of the six",), lambda value=value: value).otherwise()
    for fragment, words in {"1.7 m": "not say", "is": "places", "1 " * 9: "8 words"}.items():
        with pytest.raises(AssertionError, match=words):
            claiming.place(fragment, page)
