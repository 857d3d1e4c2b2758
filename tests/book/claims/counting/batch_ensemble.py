"""What *What is inside a BatchEnsemble?* claims, by counts and by layers."""

from collections.abc import Sequence

import numpy as np

from ensedu import costs, counting
from ensedu import numpy as en
from tests.book.claiming import Claims

CLAIMS = Claims("counting/batch-ensemble", unclaimed={
    "no measured number": ["every weight that is not 0"],
    "the box's question": ["A weight matrix has 50 rows and"],
    "what rank 1 is": ["A matrix has rank 1 if all"],
})  # fmt: skip
says = CLAIMS.says
BATCH, DEEP = METHODS = "batch_ensemble", "deep_ensemble"
x, r, s = np.array([1.0, 2]), np.array([2.0, -1]), np.array([1, 0.5, 1])
SMALL = np.array([[1.0, -1, 2], [3, 1, 1]])
OWN = SMALL * np.outer(r, s)
rank = np.linalg.matrix_rank
ROWS = np.array([[1.0, 0], [0, 1], [2, 3]])


def layer(m: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return W, the matrix of a member, and its fast weights, as a layer makes them."""
    own = en.BatchEnsembleLinear(m, n, 1, rng=np.random.default_rng(seed), init="normal")
    return own.params["weight"], own.weight_matrices()[0], [own.params[name] for name in "rs"]


def differ(h: int, *at: int) -> int:
    """Return what a BatchEnsemble 1-h-h-1 of four stores more than a deep ensemble, in layers."""
    layers = (counting.mlp([1, h, h, 1], method, 4).layers for method in METHODS)
    return np.subtract(*(sum(own[i].total for i in at or range(3)) for own in layers))


def smaller(m: int, n: int, M: int) -> bool:
    return np.less(*(counting.layer(m, n, method, M).total for method in METHODS))


def third(rows: Sequence[float] = (1, 1, 1), columns: Sequence[float] = (1, 1)) -> np.ndarray:
    """Return which multiples of the first two rows add up to the third, all of them scaled."""
    first, second, last = ROWS * np.outer(rows, columns)
    return np.linalg.solve(np.transpose([first, second]), last)


def free(m: int, n: int) -> int:
    """Return in how many directions the fast weights of a layer move a member's matrix."""
    W, _, (r, s) = layer(m, n)
    by_r = [W * np.outer(one, s) for one in np.eye(m)]
    return rank([own.ravel() for own in (*by_r, *(W * np.outer(r, one) for one in np.eye(n)))])


W, V, FAST = layer(50, 50)
SIGNS = en.BatchEnsembleLinear(50, 50, 4, rng=np.random.default_rng(0), init="signs").params["r"]
FIVE, SIX = (counting.mlp([784, 100, 10], BATCH, members) for members in (5, 6))


# fmt: off
says("You can change all 2,500, because the weight", lambda: (V != W).sum())
says("But 100 numbers are too few to reach", lambda: sum(own.size for own in FAST))
says("x = (1, 2) becomes (2, -2), then", lambda: (x * r).tolist() == [2, -2])
says("then (-4, -4, 2), then (-4, -2, 2)", lambda: [*(x * r) @ SMALL, *((x * r) @ SMALL) * s])
says("W by 2 and by -1, and its", lambda: r)
says("(2, -1, 4) and (-3, -\\frac12, -1)",
     lambda: np.array_equal(OWN, [[2, -1, 4], [-3, -0.5, -1]]))
says("So W_1 has rank 2, like W", lambda: rank(OWN) == rank(SMALL) == 2)
says("the rows (1, 0), (0, 1) and (2,", lambda: ROWS[[0, 1]].tolist() == [[1, 0], [0, 1]])
says("and (2, 3) the third is twice the", lambda: (*ROWS[2], third()[0]))
says("left, so the rank is 2", lambda: rank(ROWS) == 2)
says("columns by numbers other than 0", lambda: all(rank(own) == rank(shared) == 8
    for shared, own, _ in (layer(9, 8, k) for k in range(50))))
says("(1, 0), (0, 5) and (2, 15), and", lambda: (ROWS * [1, 5]).ravel())
says("15), and the third is still twice the",
     lambda: third(columns=[1, 5]).tolist() == third().tolist())
says("the first row, now (4, 0), it is", lambda: 4 * ROWS[0])
says("it is half of that row plus three",
     lambda: third(rows=[4, 1, 1]).tolist() == [0.5, 3])
says("(2, 1, 2) in the first row and",
     lambda: np.array_equal(OWN / SMALL, [[2, 1, 2], [-1, -0.5, -1]]))
says("random sign, 1 or -1 with equal chance", lambda: np.unique(SIGNS)[::-1])
says(["What has rank 1 is the factor", "The factor r_i s_i^\\top has rank 1"],
     lambda: rank(np.outer(*FAST)))
says("only m + n - 1 are free",
     lambda: all(free(m, n) == m + n - 1 for m in range(1, 8) for n in range(1, 8)))
says("rank of W, as long as no fast", lambda: rank(V) == rank(W))
says("W, is not of rank 1 either", lambda: rank(OWN - SMALL) != 1)
says("takes exactly as many multiplications as the",
     lambda: len({costs.layer(50, 50, name, 4, batch_size=32).product_flops for name in METHODS})
         == 1)
says("member costs 150 parameters, where a deep ensemble",
     lambda: counting.one_more_member(50, 50, BATCH).total)
says("where a deep ensemble pays 2,550", lambda: counting.one_more_member(50, 50, DEEP).total)
says("two vectors, 100 numbers in all, which are", lambda: sum(own.size for own in FAST))
says("which are 4% of a matrix", lambda: sum(own.size for own in FAST) / W.size)
says("1 - 1/4 = 3/4 of a matrix",
     lambda: counting.layer(50, 50, DEEP, 4, bias=False).total - W.size == 3 * W.size)
says("It is smaller than a deep ensemble's if",
     lambda: all(smaller(m, n, M) == (M * (m + n) < (M - 1) * m * n)
         for m in range(1, 20) for n in range(1, 20) for M in (1, 2, 3, 4, 16)))
says("stays below 1, however many members there are",
     lambda: not any(smaller(1, 50, M) for M in range(1, 1000)))
says("each of them stores 54 parameters more than",
     lambda: {differ(50, 0), differ(50, 2)} == {54})
says("between them stores 7,100 fewer, so the", lambda: -differ(50, 1))
says("3,812 parameters, and the deep ensemble 10,804",
     lambda: [counting.mlp([1, 50, 50, 1], method, 4).total for method in METHODS])
says("narrow, and the thin layers win", lambda: differ(3) > 0)
says("= 79{,}400 weights", lambda: FIVE.shared)
says("which makes 1{,}104, and this is", lambda: SIX.total - FIVE.total)
says("= 84{,}920", lambda: FIVE.total)
