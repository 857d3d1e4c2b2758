"""Claims are found on a page, and fail when the page or a table says something else."""

import functools
import json

import pytest

from ensedu.book import measured
from ensedu.book.experiments.contest import mixes, reading
from tests.book import claiming
from tests.book.claiming import Change, Claims, changed, needless, place, plain, sentences, unsaid

PAGE = r"""# Seven ponds, 7 of them

A pond **B** is [1.70 times](other.md) as *deep* as its neighbor {cite:p}`hansen1990`. It is
clearer, and {term}`frogs <frog>` like it better.

:::::{admonition} You will be able to
:class: opening

1. Count 5 ponds.

**Predict.** Are 3 enough?

::::{dropdown} Answer 9
Yes.
::::
:::::

(below-2)=
- MNIST-5000 and `width=50` are no numbers, and neither is $x_1 = 2$, or [500](set:fig-a?width=500).
- The depth is $-0.25$ m.

$$
x = \sqrt{3}
= 4
$$
$$x = 5$$
\begin{align}
x &= \sqrt{6} \\
&= 7
\end{align}

```python
depth = 4
```

## Exercises

```{exercise}
:label: ex-8
How deep are 6 ponds?
```

:::{dropdown} References
Hansen 1990
:::
"""
DUE = {
    "A pond B is 1.70 times as deep as its neighbor.",
    "It is clearer, and frogs like it better.",
    "Are 3 enough?",
    "The depth is -0.25 m.",
}
TABLE = {"rows": [{"pond": "A", "m": [2.0, 2.0]}, {"pond": "B", "m": [3.4, 3.4]}], "shore": 0.25}


def cells(*sources):
    return [{"cell_type": "markdown", "source": source} for source in sources]


@functools.cache
def depth(pond):
    (low, high) = measured.row(measured.load("ponds")["rows"], pond=pond)["m"]
    return (low + high) / 2


def deeper():
    assert round(depth("B") / depth("A"), 2) == 1.70


@pytest.fixture
def tables(monkeypatch):
    """Two small tables, read in place of the book's."""
    texts = {"lakes": "{}", "ponds": json.dumps(TABLE)}
    monkeypatch.setattr(measured, "names", lambda: [*texts])
    monkeypatch.setattr(measured, "_text", texts.__getitem__)
    claiming.forget("ponds")
    yield
    claiming.forget("ponds")


def test_what_must_be_claimed_is_numbers_and_words_of_the_prose():
    page = sentences(cells(PAGE))
    assert {sentence.text for sentence in page if sentence.due} == DUE
    assert "MNIST-5000 and width=50 are no numbers, and neither is x_1 = 2, or 500." in [
        sentence.text for sentence in page
    ]
    assert not [sentence for sentence in page if "= " in sentence.text.replace("x_1 =", "")]


def test_code_cells_say_nothing():
    assert not sentences([{"cell_type": "code", "source": "# 5 ponds are better."}])


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("**1 unit**, as *large*", "1 unit, as large"),
        ("a  \n b", "a b"),
        ("in {numref}`fig-a`, and {ref}`here <there>`", "in fig-a, and here"),
        ("others {cite:t}`a,b`.", "others."),
        ("$0.5$ of `a_b` [here](there.md#x)", "0.5 of a_b here"),
        ("minus − is not -", "minus − is not -"),
    ],
)
def test_markup_is_ignored(markup, text):
    assert plain(markup) == text


def test_a_fragment_stands_in_one_place():
    page = sentences(cells(PAGE, "Shores are 11.7 m, or 1.70 times as long."))
    for fragment in ("1.70 times as deep", "[1.70 times](a.md) as **deep**"):
        assert place(fragment, page).text == "A pond B is 1.70 times as deep as its neighbor."
    with pytest.raises(AssertionError, match="stands in 2 places:\n- A pond B"):
        place("1.70 times", page)
    with pytest.raises(AssertionError, match=r"Nearest to it is:\nA pond B is 1\.70 times"):
        place("1.80 times as deep as", page)
    with pytest.raises(AssertionError, match=r"does not say '1\.7 m'"):
        place("1.7 m", page)
    with pytest.raises(AssertionError, match="more than 8 words"):
        place("It is clearer, and frogs like it better. So", page)


def test_each_number_is_claimed_or_excused():
    claims = Claims("ponds", unclaimed={"Are 3 enough": "a question"})
    claims.says("deeper", "1.70 times as deep")(deeper)
    claims.says("better", "like it better")(deeper)
    page = sentences(cells(PAGE))
    assert unsaid(claims, page) == ["The depth is -0.25 m."]
    assert not needless(claims, page)
    claims.says("shore", "−0.25 m")(deeper)
    with pytest.raises(AssertionError, match=r"Nearest to it is:\nThe depth is -0\.25 m\."):
        unsaid(claims, page)


@pytest.mark.parametrize(
    ("fragment", "why"), [("Are 3 enough", ""), ("MNIST-5000", "a name"), ("like it better", "x")]
)
def test_a_needless_excuse_is_named(fragment, why):
    claims = Claims("ponds", unclaimed={fragment: why})
    claims.says("better", "like it better")(deeper)
    assert needless(claims, sentences(cells(PAGE))) == [fragment]


def test_a_key_is_used_once():
    claims = Claims("ponds")
    claims.says("deeper", "1.70 times")(deeper)
    with pytest.raises(ValueError, match="key must be new, got 'deeper' again"):
        claims.says("deeper", "as deep")


@pytest.mark.parametrize(
    "change",
    [
        Change("ponds", "rows", {"pond": "B"}, "m", times=1.1),
        Change("ponds", "rows", {"pond": "B"}, "m", 0, to=3.7),
        Change("ponds", "rows", 0, "m", to=[1.0, 2.0]),
    ],
    ids=str,
)
def test_a_changed_table_breaks_its_claim(tables, change):
    deeper()
    with changed(change):
        assert measured.names() == ["lakes", "ponds"]
        with pytest.raises(AssertionError):
            deeper()
    deeper()
    assert measured.load("ponds") == TABLE


def test_what_a_claim_does_not_read_does_not_break_it(tables):
    with changed(Change("ponds", "rows", {}, "m", times=2)):
        deeper()
    with changed(Change("ponds", "shore", times=2)):
        deeper()
        assert measured.load("ponds")["shore"] == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change("ponds", "shore", times=1), "ponds: shore times 1: changes nothing"),
        (Change("ponds", "rows", {"pond": "C"}, "m", times=2), "no row has these values"),
        (Change("lake", "shore", times=2), "there is no such table"),
    ],
)
def test_a_change_that_changes_nothing_is_an_error(tables, change, message):
    with pytest.raises(AssertionError, match=message), changed(change):
        pass


@pytest.mark.parametrize(
    ("way", "became"), [((), {"to": 1}), (("a",), {}), (("a", {"b": 1}), {"times": 2})]
)
def test_a_change_says_where_and_what(way, became):
    with pytest.raises(ValueError, match="a change needs a way"):
        Change("ponds", *way, **became)


def test_modules_that_keep_the_contest_read_nothing_else(monkeypatch):
    found = []
    load = measured.load
    monkeypatch.setattr(measured, "load", lambda name: found.append(name) or load(name))
    claiming.forget(claiming.ITS_TABLES)
    assert reading.compared()
    assert mixes.intervals("single").shape == (2, 6)
    assert reading.costs("single")
    assert found
    assert all(name.startswith(claiming.ITS_TABLES) for name in found)
