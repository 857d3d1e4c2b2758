"""What *What is inside a BatchEnsemble?* claims, by counts, by its tables, and by new layers."""

from itertools import product
from math import comb

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from ensedu.book import measured
from ensedu.book.experiments import averaging
from ensedu.book.experiments import running_example as example
from ensedu.uncertainty import paired
from tests.book.claiming import Change, Claims

PROOF, EXAMPLE = "a step of a proof", "an example in two numbers"
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
        "enter only L_1, so each of": "the slope of an average",
        "Say that member 1 alone would give": EXAMPLE,
        "If member 2 wants the same, g_2": EXAMPLE,
        "Set the starts to N(1, 0.1²)": "what a reader tries",
        "is in nats for a new point": "how to read a score",
        "report 95.31% correct for one network": "what others published",
        "TabM, which builds on BatchEnsemble, reports better": "what others published",
        "so it pulls them to 0": "what weight decay is",
    },
)
SIGNS, NEAR = "batch_ensemble_signs", "batch_ensemble_normal"


def layer(m: int, n: int, members: int, seed: int = 0, **start) -> en.BatchEnsembleLinear:
    """Return a layer from this seed."""
    return en.BatchEnsembleLinear(m, n, members, rng=np.random.default_rng(seed), **start)


def scored(name: str, place: str, part: str = "difference", times: float = 1.2) -> Change:
    """Return a change of a contestant's NLL beside one network's."""
    where = {"contestant": name, "place": place, "score": "nll"}
    return Change("running-example", "summary", where, part, times=times)


def run(name: str, place: str, times: float, score: str = "nll") -> Change:
    """Return a change of a contestant's score in each run."""
    return Change("running-example", "rows", {"contestant": name}, place, score, times=times)


def lower(name: str, place: str) -> float:
    """Return how much lower its NLL is than one network's, surely."""
    row = example.summary_row(name, place, "nll")
    assert row["high"] < 0
    return -round(row["difference"], 2)


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
@CLAIMS.says("fast", "sum moves W nearly four times too")
def _() -> None:
    """Of eight layers: correlations of outputs, and what an average leaves of a gradient of W."""
    for std, left in ((0.1, 0.94), (0.5, None), (None, 1 / 4)):
        start = {"init": "normal", "init_std": std} if std else {"init": "signs"}
        begun = []
        for seed in range(8):
            rng = np.random.default_rng(seed)
            net = en.mlp([200, 200, 10], "batch_ensemble", 4, rng=rng, **start)
            begun.append(averaging.begun(net, seed))
        correlation, kept = np.mean(begun, axis=0)
        assert abs(correlation - ((1 + std**2) ** -2 if std else 0)) < 0.03
        assert left is None or abs(kept - left) < 0.01


@CLAIMS.says("starts", "from random signs and from N(1, 0.25²)")
def _() -> None:
    for name, init, std in ((SIGNS, "signs", None), (NEAR, "normal", 0.25)):
        recipe = example.CONTESTANTS[name]
        options = recipe.options(recipe.setting)
        assert options["init"] == init and options.get("init_std") == std


@CLAIMS.says(
    "gap", "it gains 8.84 nats over one network", scored(SIGNS, "gap"), scored(NEAR, "gap"),
    scored(SIGNS, "gap", "high", -1), run(SIGNS, "gap", 1.02, "rmse"),
    run(NEAR, "gap", 1.02, "rmse"),
)  # fmt: skip
@CLAIMS.says(
    "data", "Where there are data it gains 0.10", scored(SIGNS, "regions"),
    scored(NEAR, "regions"), scored(NEAR, "regions", "high", -1),
)  # fmt: skip
def _() -> None:
    assert [lower(name, "gap") for name in (SIGNS, NEAR)] == [8.84, 8.04]
    assert [lower(name, "regions") for name in (SIGNS, NEAR)] == [0.10, 0.04]
    for name, wanted in ((SIGNS, (-4.53, -4.31)), (NEAR, (-2.49, -5.54))):
        parts = example.gap_nll_parts(name)
        assert tuple(round(part.mean, 2) for part in parts) == wanted
        assert all(part.high < 0 for part in parts)


@CLAIMS.says(
    "beside", "which gains 6.64 with 2.8 times", scored("deep_ensemble", "gap"),
    run(SIGNS, "gap", 1.1), run(NEAR, "gap", 1.1),
)  # fmt: skip
@CLAIMS.says(
    "pairs", "On each of the 20 data sets",
    Change("running-example", "rows", {"data_seed": 3}, "data_seed", to=2),
)  # fmt: skip
@CLAIMS.says(
    "first", "the first is lower by 0.01, the", run(SIGNS, "regions", 1.1),
    run("deep_ensemble", "regions", 1.1),
)  # fmt: skip
def _() -> None:
    assert lower("deep_ensemble", "gap") == 6.64
    deep, own = map(example.parameters, ("deep_ensemble", SIGNS))
    assert own == 3812 and round(deep / own, 1) == 2.8
    rows = measured.load("running-example")["rows"]
    assert len({row["data_seed"] for row in rows}) == 20
    for name, place, wanted in (
        (SIGNS, "gap", -2.21), (NEAR, "gap", -1.40), (SIGNS, "regions", -0.01),
        (NEAR, "regions", 0.04),
    ):  # fmt: skip
        batch, deep = (
            np.array([row[place]["nll"] for row in rows if row["contestant"] == who])
            for who in (name, "deep_ensemble")
        )
        found = paired(batch - deep)
        assert round(found.mean, 2) == wanted and found.low * found.high > 0


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
