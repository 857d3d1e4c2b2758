"""What a setting may be: Python checks by the same description that scripts are given."""

import json

import pytest

from ensedu.book.page.fields import Choice, RealNumber, WholeNumber
from tests.errors import check_error

CHOICE, OPTIONAL = Choice(("a", "b")), Choice(("a", "b"), optional=True)
WHOLE, REAL = WholeNumber(2, 7), RealNumber(-0.5, 1e9)


def test_what_is_accepted_is_returned():
    assert [CHOICE.checked("x", word) for word in "ab"] == ["a", "b"]
    assert OPTIONAL.checked("x", None) is None
    assert [WHOLE.checked("x", value) for value in (2, 7)] == [2, 7]
    found = REAL.checked("x", 1)
    assert found == 1.0 and isinstance(found, float)
    assert [REAL.checked("x", value) for value in (-0.5, 1e9)] == [-0.5, 1e9]


def test_scripts_are_given_the_same():
    told = json.loads(json.dumps([f.described() for f in (CHOICE, OPTIONAL, WHOLE, REAL)]))
    assert told == [
        {"choices": ["a", "b"]},
        {"choices": [None, "a", "b"]},
        {"whole": True, "low": 2, "high": 7},
        {"whole": False, "low": -0.5, "high": 1e9},
    ]


BAD = [
    (lambda: CHOICE.checked("x", "c"), ValueError, ("x", "'c'", "'a'", "'b'")),
    (lambda: CHOICE.checked("x", None), TypeError, ("x", "None")),
    (lambda: WHOLE.checked("x", 1), ValueError, ("x", "2 to 7", "1")),
    (lambda: WHOLE.checked("x", 8), ValueError, ("x", "2 to 7", "8")),
    (lambda: WHOLE.checked("x", 2.5), TypeError, ("x", "2.5")),
    (lambda: REAL.checked("x", -0.51), ValueError, ("x", "-0.5 to 1e+09", "-0.51")),
    (lambda: REAL.checked("x", float("nan")), ValueError, ("x", "nan")),
    (lambda: REAL.checked("x", "1"), TypeError, ("x", "'1'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
