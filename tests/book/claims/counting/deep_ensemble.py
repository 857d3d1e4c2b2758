"""What *What is inside a deep ensemble?* claims, by counts and by small arrays."""

import numpy as np

from ensedu import counting
from tests.book.claiming import Claims

CLAIMS = Claims(
    "counting/deep-ensemble",
    unclaimed={
        "and two members predict 1 and 4": "the example",
        "units the weights 1 and -1": "the example",
        "in the other order, -1 and 1": "the example",
        "Unit 7 of one member has as": "an example of a name",
    },
)
says = CLAIMS.says
TRUTH, TWO = 2.0, np.array([1.0, 4.0])
MEAN = TWO.mean()
FIRST, LAST = np.array([[[1.0, -1.0]], [[-1.0, 1.0]]]), np.ones((2, 2, 1))


def total(sizes: list[int], members: int) -> int:
    return counting.mlp(sizes, "deep_ensemble", members).total


def predicted(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return what networks with two hidden units predict from -3 to 3."""
    x = np.linspace(-3, 3, 61)[:, None]
    return (np.maximum(x @ first, 0) @ last)[..., 0]


def decomposed() -> bool:
    """Say whether an average's error is the members' minus their distance, for random numbers."""
    y, truth = np.random.default_rng(0).standard_normal((2, 7, 100))
    left = (y.mean(axis=0) - truth[0]) ** 2
    right = ((y - truth[0]) ** 2).mean(axis=0) - y.var(axis=0)
    return np.allclose(left, right) and bool((y.var(axis=0) >= 0).all())


CURVE, DIGITS = [1, 50, 50, 1], [784, 100, 10]
says("store 4 · 2,701 = 10,804 parameters, and", lambda: (4, total(CURVE, 1), total(CURVE, 4)))
says("a fifth one costs 2,701 more", lambda: total(CURVE, 5) - total(CURVE, 4))
says("errors are 1 and 4, so 2.5 on",
     lambda: [*(TWO - TRUTH) ** 2, ((TWO - TRUTH) ** 2).mean()])  # fmt: skip
says("predictions is 2.5, and its squared error is", lambda: MEAN)
says("squared error is only 0.25", lambda: (MEAN - TRUTH) ** 2)
says("gained, 2.25, is exactly the square of 1.5",
     lambda: (((TWO - TRUTH) ** 2).mean() - (MEAN - TRUTH) ** 2, MEAN - TWO[0]))  # fmt: skip
says("average is never worse than a member is", decomposed)
says("Their predictions agree everywhere", lambda: np.array_equal(*predicted(FIRST, LAST)))
says("and this network answers 0 to everything",
     lambda: np.abs(predicted(FIRST.mean(axis=0), LAST.mean(axis=0))).max())  # fmt: skip
says("weights are 0 and 0, and this network", lambda: FIRST.mean(axis=0)[0])
says("= 79{,}510 parameters", lambda: total(DIGITS, 1))
says("Five have 397{,}550, and the sixth", lambda: total(DIGITS, 5))
says("the sixth costs another 79{,}510", lambda: total(DIGITS, 6) - total(DIGITS, 5))
