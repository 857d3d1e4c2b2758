"""Each relative's numbers are those of arrays that stand here in full."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensedu import counting
from ensedu.counting import Count
from ensedu.theory.relatives import RELATIVES, numbers
from tests.errors import check_error

# Distinct primes; gamma divides the outputs, and M gamma divides alpha times each hidden width.
M, ALPHA, GAMMA, K, RANK = 3, 14, 7, 11, 2
SIZES = [5, 3, 6, 7]
CHOSEN = {"alpha": ALPHA, "gamma": GAMMA, "columns": K, "rank": RANK}


def plain(sizes):
    """Return the arrays of one network, biases last."""
    return [np.zeros(shape) for m, n in pairwise(sizes) for shape in ((m, n), (n,))]


def mimo():
    first, *hidden, last = SIZES
    arrays = plain([M * first, *hidden, M * last])
    return arrays, arrays


def packed():
    """Every group of every layer by itself, as a slow reader would hold it."""
    groups, arrays = M * GAMMA, []
    for i, (m, n) in enumerate(pairwise(SIZES)):
        wide = m if i == 0 else ALPHA * m // groups  # the first layer's groups read all inputs
        out = (M * n if i == len(SIZES) - 2 else ALPHA * n) // groups
        for _ in range(groups):
            arrays += [np.zeros((wide, out)), np.zeros(out)]
    return arrays, arrays


def tabm():
    arrays = []
    for m, n in pairwise(SIZES[:-1]):
        arrays += [np.zeros((m, n)), np.zeros((M, m)), np.zeros((M, n)), np.zeros((M, n))]
    m, n = SIZES[-2:]
    arrays += [np.zeros((M, m, n)), np.zeros((M, n))]
    return arrays, arrays


def lora():
    thin = [
        np.zeros(shape)
        for m, n in pairwise(SIZES)
        for _ in range(M)
        for shape in ((m, RANK), (RANK, n))
    ]
    return thin, plain(SIZES) + thin


def snapshot():
    return plain(SIZES), [array for _ in range(M) for array in plain(SIZES)]


def swag():
    """Mean, mean of squares, and a column a deviation, of all weights in one vector."""
    vector = np.concatenate([array.ravel() for array in plain(SIZES)])
    return plain(SIZES), [vector, vector**2, np.zeros((vector.size, K))]


def laplace_last_layer():
    last = sum(array.size for array in plain(SIZES[-2:]))
    return plain(SIZES), [*plain(SIZES), np.zeros((last, last))]


def laplace_kronecker():
    factors = [np.zeros((side, side)) for m, n in pairwise(SIZES) for side in (m, n, n)]
    return plain(SIZES), plain(SIZES) + factors


def laplace_diagonal():
    return plain(SIZES), plain(SIZES) + plain(SIZES)


ARRAYS = {
    "mimo": mimo,
    "packed": packed,
    "tabm": tabm,
    "lora": lora,
    "snapshot": snapshot,
    "swag": swag,
    "laplace_last_layer": laplace_last_layer,
    "laplace_kronecker": laplace_kronecker,
    "laplace_diagonal": laplace_diagonal,
    "ivon": laplace_diagonal,
}
# Trained, kept: 1-50-50-1, four members, and what is chosen where nothing is.
FACTS = {
    "mimo": (3004, 3004),
    "packed": (2904, 2904),
    "tabm": (3758, 3758),
    "lora": (6464, 9165),
    "snapshot": (2701, 10804),
    "swag": (2701, 22 * 2701),
    "laplace_last_layer": (2701, 2701 + 51**2),
    "laplace_kronecker": (2701, 2701 + (1 + 50**2 + 50**2) + 3 * 50**2 + (50**2 + 1 + 1)),
    "laplace_diagonal": (2701, 5402),
    "ivon": (2701, 5402),
}


@pytest.mark.parametrize("key", RELATIVES)
def test_formula_equals_arrays(key):
    held = [sum(array.size for array in arrays) for arrays in ARRAYS[key]()]
    assert [part.total for part in numbers(SIZES, key, M, **CHOSEN)] == held


@pytest.mark.parametrize("key", RELATIVES)
def test_the_example_of_the_book(key):
    assert tuple(part.total for part in numbers([1, 50, 50, 1], key, 4)) == FACTS[key]


@pytest.mark.parametrize("key", RELATIVES)
def test_layers_add_up(key):
    names = [f"{m} → {n}" for m, n in pairwise(SIZES)]
    for part in numbers(SIZES, key, M, **CHOSEN):
        assert [layer.name for layer in part.layers] == names
        assert sum(part.layers, start=Count()) == part


def test_roles():
    def of(key, m, n, **chosen):
        return numbers([m, n], key, M, **chosen).kept

    assert of("swag", 5, 7, columns=2) == Count(35, scales=3 * 35, biases=4 * 7)
    assert of("lora", 5, 7, rank=2) == Count(35, 3 * 2 * 12, biases=7, frozen=42)
    assert of("laplace_last_layer", 5, 7) == Count(35, scales=42**2, biases=7)
    assert of("laplace_kronecker", 5, 7) == Count(35, scales=25 + 49, biases=7 + 49)
    hidden = numbers([5, 7, 7, 2], "mimo", M).kept.layers[1]
    assert hidden == counting.linear(7, 7)


@given(
    sizes=st.lists(st.integers(1, 23), min_size=2, max_size=5),
    members=st.integers(1, 7),
    columns=st.integers(1, 7),
)
def test_what_follows_from_the_definitions(sizes, members, columns):
    one = counting.mlp(sizes)
    for key in ("mimo", "tabm", "snapshot"):
        assert numbers(sizes, key, 1).trained.total >= one.total
    assert numbers(sizes, "mimo", 1).kept.total == one.total
    assert numbers(sizes, "packed", members, alpha=members).kept.total == members * one.total
    assert numbers(sizes, "snapshot", members).kept == counting.mlp(sizes, "deep_ensemble", members)
    assert numbers(sizes, "ivon", members).kept == counting.mlp(sizes, "mean_field")
    more, fewer = (numbers(sizes, "swag", members, columns=k).kept for k in (columns + 1, columns))
    assert more.total - fewer.total == one.total
    # A rank of one adds b aᵀ where BatchEnsemble multiplies by r sᵀ: as many numbers.
    thin = numbers(sizes, "lora", members, rank=1)
    assert thin.trained.total == counting.mlp(sizes, "batch_ensemble", members).per_member
    assert thin.kept.frozen == one.total == thin.kept.total - thin.trained.total


def test_every_row_says_what_it_is():
    for row in RELATIVES.values():
        assert row.label
        assert row.how.endswith(".")
        assert str(row.year) in row.citation


def test_every_paper_is_in_the_bibliography(request):
    text = (request.config.rootpath / "book/references.bib").read_text(encoding="utf-8")
    for row in RELATIVES.values():
        assert f"{{{row.citation},\n" in text


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "error", "expected"),
    [
        (lambda: numbers([1], "swag", 4), ValueError, ["sizes", "[1]", "at least two"]),
        (lambda: numbers([1, 2], "swa", 4), ValueError, ["relative", "'swa'", "'swag'"]),
        (lambda: numbers([1, 2], 4, 4), TypeError, ["relative", "4", "'mimo'"]),
        (lambda: numbers([1, 2], "ivon", None), TypeError, ["ensemble_size", "None", "positive"]),
        (lambda: numbers([1, 2], "swag", 4, columns=0), ValueError, ["columns", "0", "positive"]),
        (lambda: numbers([1, 2], "lora", 4, rank=1.5), TypeError, ["rank", "1.5", "positive"]),
        (lambda: numbers([1, 50, 1], "packed", 3), ValueError, ["ensemble_size", "3", "100"]),
        (lambda: numbers([1, 50, 3], "packed", 2, gamma=2), ValueError, ["gamma", "outputs", "4 "]),
    ],
)  # fmt: skip
def test_bad_input(call, error, expected):
    check_error(call, error, expected)
