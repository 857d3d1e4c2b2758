"""What *What is inside a BatchEnsemble?* claims, by counts and by new layers."""

from itertools import product
from math import comb

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from tests.book.claiming import Claims

PROOF = "a step of a proof"
CLAIMS = Claims(
    "counting/batch-ensemble",
    unclaimed={
        "Multiply each row of a 50 × 50": "the box's question",
        "How many of the 2,500 entries can": "the box's question",
        "the default, each entry is +1 or": "what a start is",
        "comes from a normal distribution around 1": "what a start is",
        "entry (a, j) of W_i - W is": PROOF,
        "So what is not 0 stands in": PROOF,
        "independent entries of W of mean 0": "an assumption",
        "and each that remains carries": PROOF,
        "For a member with itself it is": PROOF,
        "so it pulls them to 0": "what weight decay is",
    },
)


def layer(m: int, n: int, members: int, seed: int = 0, **start) -> en.BatchEnsembleLinear:
    """Return a layer from this seed."""
    return en.BatchEnsembleLinear(m, n, members, rng=np.random.default_rng(seed), **start)


@CLAIMS.says("entries", "All 2,500: entry")
@CLAIMS.says("reached", "But 100 numbers reach only the matrices")
@CLAIMS.says("ratio", "each of its rows is the same")
@CLAIMS.says("ratio-again", "The ratio W_i / W has rank")
def _() -> None:
    own = layer(50, 50, 1, init="normal", init_std=0.5)
    assert own.params["r"].size + own.params["s"].size == 100
    W, V = own.params["weight"], own.weight_matrices()[0]
    assert (V != W).sum() == 2500
    assert np.linalg.matrix_rank(V / W) == 1


@CLAIMS.says("full", "except by a chance of probability 0")
@CLAIMS.says("full-again", "W_i has not, and W_i - W")
def _() -> None:
    """And the formula for signs, also of two members."""
    rank = np.linalg.matrix_rank
    for seed in range(50):
        own = layer(9, 8, 2, seed, init="normal")
        W, V = own.params["weight"], own.weight_matrices()
        assert {rank(matrix) for matrix in (W, V[0], V[0] - W, V[0] - V[1])} == {8}
        own = layer(9, 8, 2, seed)
        W, r, s = (own.params[name] for name in ("weight", "r", "s"))
        V = own.weight_matrices()
        assert rank(V[0] - W) == sign_rank(r[0], s[0])
        assert rank(V[0] - V[1]) == sign_rank(r[0] * r[1], s[0] * s[1])


def sign_rank(r: np.ndarray, s: np.ndarray) -> int:
    """Return the rank of W ∘ r sᵀ − W for signs, by the formula."""
    plus, minus = (r == 1).sum(), (r == -1).sum()
    return min(plus, (s == -1).sum()) + min(minus, (s == 1).sum())


@CLAIMS.says("draws", "A 50 × 50 difference has full rank")
def _() -> None:
    chance = [comb(50, k) / 2**50 for k in range(51)]  # of k signs of +1
    ranks = {(p, q): min(p, 50 - q) + min(50 - p, q) for p, q in product(range(51), repeat=2)}
    mean = sum(chance[p] * chance[q] * rank for (p, q), rank in ranks.items())
    full = sum(chance[p] * chance[q] for (p, q), rank in ranks.items() if rank == 50)
    assert round(mean) == 46 and round(full, 2) == 0.08


@CLAIMS.says("first", "square layer is smaller from width 3")
def _() -> None:
    saved = []
    for width in range(1, 100):
        batch, deep = (
            counting.layer(width, width, method, 4).total
            for method in ("batch_ensemble", "deep_ensemble")
        )
        saved.append(1 - batch / deep)
    assert saved[1] < 0 < saved[2] and (np.diff(saved) > 0).all()


@CLAIMS.says("member", "For 50 → 50 these are 150, where")
@CLAIMS.says("smaller", "the left side of prop-be-smaller is at")
def _() -> None:
    """And the proposition itself, in 864 shapes."""
    for method, more in (("batch_ensemble", 150), ("deep_ensemble", 2550)):
        assert counting.one_more_member(50, 50, method).total == more
    for m, n, members in product(range(1, 13), range(1, 13), range(1, 7)):
        batch, deep = (
            counting.layer(m, n, method, members).total
            for method in ("batch_ensemble", "deep_ensemble")
        )
        assert (batch < deep) == (members * (m + n) < (members - 1) * m * n)
        assert batch > deep or min(m, n) > 1


@CLAIMS.says("correlate", "as if each had a matrix of")
@CLAIMS.says("correlate-again", "start uncorrelated from random signs, and correlate")
def _() -> None:
    """Of 20 layers, on random inputs."""
    for std in (0.1, 0.5, None):
        start = {"init": "normal", "init_std": std} if std else {"init": "signs"}
        found = []
        for seed in range(20):
            own = layer(200, 200, 2, seed, **start)
            own.params["bias"][...] = 0
            x = np.random.default_rng([seed, 1]).standard_normal((64, 200))
            found.append(np.corrcoef(*own.forward(x).reshape(2, -1))[0, 1])
        assert abs(np.mean(found) - ((1 + std**2) ** -2 if std else 0)) < 0.02


@CLAIMS.says("thin", "of four members holds 2h + 8 numbers")
def _() -> None:
    for width in (1, 10, 1000):
        deep, batch = (
            counting.mlp([1, width, 1], method, 4).total
            for method in ("deep_ensemble", "batch_ensemble")
        )
        assert batch - deep == 2 * width + 8


@CLAIMS.says("twice", "halving r and s leaves a quarter")
def _() -> None:
    own = layer(5, 3, 2)
    before = own.weight_matrices()
    for name in ("r", "s"):
        own.params[name] *= 0.5
    assert np.array_equal(own.weight_matrices(), before / 4)


@CLAIMS.says("ex-count", "1{,}104 in all; so much costs the")
@CLAIMS.says("ex-five", "+ 5{,}520 = 84{,}920")
@CLAIMS.says("ex-rank", "The rank is \\min(2, 1)")
def _() -> None:
    five, six = (counting.mlp([784, 100, 10], "batch_ensemble", M) for M in (5, 6))
    assert (five.shared, five.total) == (79_400, 84_920)
    assert (five.per_member, five.biases) == (5 * 994, 5 * 110)
    assert six.total - five.total == 1104 == 994 + 110
    r, s = np.array([1, 1, -1]), np.array([1, -1])
    W = np.random.default_rng(0).standard_normal((3, 2))
    assert sign_rank(r, s) == 2 == np.linalg.matrix_rank(W * np.outer(r, s) - W)
