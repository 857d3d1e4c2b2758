"""What *What is inside a BatchEnsemble?* claims, by counts and by new layers."""

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

says = CLAIMS.says
BATCH, DEEP = "batch_ensemble", "deep_ensemble"
rank = np.linalg.matrix_rank


def layer(m: int, n: int, members: int, seed: int = 0, **start) -> en.BatchEnsembleLinear:
    """Return a layer from this seed."""
    return en.BatchEnsembleLinear(m, n, members, rng=np.random.default_rng(seed), **start)


def ranks(seed: int) -> list[int]:
    """Return the ranks of W, W_1, W_1 - W and W_1 - W_2, nine by eight, from N(1, σ²)."""
    own = layer(9, 8, 2, seed, init="normal")
    W, (V, U) = own.params["weight"], own.weight_matrices()
    return rank(np.stack([W, V, V - W, V - U])).tolist()


def sign_rank(r: np.ndarray, s: np.ndarray) -> int:
    """Return the rank of W ∘ r sᵀ − W for signs, by the formula."""
    return min((r > 0).sum(), (s < 0).sum()) + min((r < 0).sum(), (s > 0).sum())


def drawn() -> tuple[float, float]:
    """Return how often 50 and 50 random signs give full rank, and the mean rank."""
    signs = np.where(np.arange(50) < np.arange(51)[:, None], 1, -1)
    chance = np.array([comb(50, k) / 2**50 for k in range(51)])
    found = np.array([[sign_rank(r, s) for s in signs] for r in signs])
    return chance @ (found == 50) @ chance, chance @ found @ chance


def correlation(std: float) -> float:
    """Return how outputs of two members of a layer correlate, without biases; 0 is for signs."""
    start = {"init": "normal", "init_std": std} if std else {"init": "signs"}
    x, found = np.random.default_rng(1).standard_normal((64, 200)), []
    for seed in range(20):
        outputs = x @ layer(200, 200, 2, seed, **start).weight_matrices()
        found.append(np.corrcoef(*outputs.reshape(2, -1))[0, 1])
    return float(np.mean(found))


def more(h: int) -> int:
    """Return what a BatchEnsemble 1-h-1 of four members holds more than a deep ensemble."""
    return counting.mlp([1, h, 1], BATCH, 4).total - counting.mlp([1, h, 1], DEEP, 4).total


OWN, DRAWS = layer(50, 50, 1, init="normal"), [layer(9, 8, 1, seed) for seed in range(50)]
W, (V,), FAST = OWN.params["weight"], OWN.weight_matrices(), [OWN.params[name] for name in "rs"]
FIVE, SIX = (counting.mlp([784, 100, 10], BATCH, members) for members in (5, 6))
R, S = np.array([1, 1, -1]), np.array([1, -1])
says("All 2,500: entry", lambda: (V != W).sum())
says("But 100 numbers reach only the matrices", lambda: sum(own.size for own in FAST))
says(["is the same pattern, times one number", "W_i / W has rank 1"], lambda: rank(V / W))
says("a chance of probability 0", lambda: np.mean([ranks(k) != [8] * 4 for k in range(50)]))
says("W_i has not, and W_i - W", lambda: all(
    rank(own.weight_matrices() - own.params["weight"]) == sign_rank(*map(own.params.get, "rs"))
    for own in DRAWS
))  # fmt: skip
says("8% of draws, and rank 46 on average", drawn)
says("are 150, where a deep ensemble pays 2,550",
     lambda: [counting.one_more_member(50, 50, name).total for name in (BATCH, DEEP)])  # fmt: skip
says("a square layer is smaller from width 3",
     lambda: counting.break_even_width([None, None], BATCH, 4))  # fmt: skip
OUTPUTS = (0.1, 1.01**-2), (0.5, 1.25**-2), (0, 0)
says(["correlate by 1 / (1 + \\sigma^2)^2, from",
      "start uncorrelated from random signs, and correlate"],
     lambda: all(abs(correlation(std) - wanted) < 0.02 for std, wanted in OUTPUTS))  # fmt: skip
says("at least 1, so the layer is larger", lambda: more(1) > 0)
says("holds 2h + 8 numbers more than the", lambda: (more(2) - more(1), 2 * more(1) - more(2)))
says("1{,}104 in all; so much costs the", lambda: SIX.total - FIVE.total)
says("hold 79{,}400 + 5{,}520 = 84{,}920",
     lambda: (FIVE.shared, FIVE.per_member + FIVE.biases, FIVE.total))  # fmt: skip
says("\\min(1, 1) = 2, which is full", lambda: (
    (R < 0).sum(), (S > 0).sum(), rank(W[:3, :2] * np.outer(R, S) - W[:3, :2])
))  # fmt: skip
