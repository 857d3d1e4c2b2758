"""What *What is inside a deep ensemble?* claims, by counts, and by arrays and networks."""

from functools import cache

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from tests.book.claiming import Claims

CLAIMS = Claims("counting/deep-ensemble", unclaimed={
    "an example": ["and two members predict 19 and 23", "units the weights 1 and -1",
        "in the other order, -1 and 1", "four members of 1-50-50-1 learn a sine from",
        "of a network that always answers 0", "unit 7 of one member may do",
        "unit 7 stays unit 7"],
})  # fmt: skip
says = CLAIMS.says
TRUTH, TWO = 20.0, np.array([19.0, 23.0])
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


@cache
def learned() -> tuple[np.ndarray, float, float]:
    """Return errors, over those of 0, of members, averaged predictions and averaged weights."""
    rng = np.random.default_rng(0)
    x = np.linspace(-3, 3, 64)[:, None]
    y = np.sin(2 * x)
    four = en.mlp([1, 50, 50, 1], "deep_ensemble", 4, rng=rng)
    optimizer, one = en.Adam(four, lr=0.01), en.mlp([1, 50, 50, 1], rng=rng)
    for _ in range(500):
        four.backward(en.half_squared_error(four(x), y)[1])
        optimizer.step()
    for name, own in four.params.items():
        one.params[name][...] = own.mean(axis=0)
    error = [((own - y) ** 2).mean() / (y**2).mean() for own in (*four(x), four(x).mean(0), one(x))]
    return np.array(error[:4]), error[4], error[5]


CURVE, DIGITS = [1, 50, 50, 1], [784, 100, 10]
# fmt: off
says("store 4 · 2,701 = 10,804 parameters, and", lambda: (4, total(CURVE, 1), total(CURVE, 4)))
says("a fifth one costs 2,701 more", lambda: total(CURVE, 5) - total(CURVE, 4))
says("errors are 1 and 9, so a member's", lambda: (TWO - TRUTH) ** 2)
says("error is 5 on average", lambda: ((TWO - TRUTH) ** 2).mean())
says("says 0.8, together they say 0.7", lambda: [0.8, np.mean([0.6, 0.8])])
says("You get 21, and the squared error of", lambda: MEAN)
says("of this one prediction is only 1", lambda: (MEAN - TRUTH) ** 2 == 1)
says("The gain is 5 - 1 = 4", lambda: 5 - 1 == ((TWO - TRUTH) ** 2).mean() - (MEAN - TRUTH) ** 2)
says("and the square of 2 is 4", lambda: set((TWO - MEAN) ** 2) == {2**2})
says("of the average is never larger than the", decomposed)
says("Their predictions agree everywhere", lambda: np.array_equal(*predicted(FIRST, LAST)))
says("and this network answers 0 to everything",
     lambda: np.abs(predicted(FIRST.mean(axis=0), LAST.mean(axis=0))).max())
says("weights are 0 and 0, and this network", lambda: FIRST.mean(axis=0)[0])
says("Each of the four has learned the curve", lambda: max(learned()[0]) < 0.01)
says("averaged weights are about as wrong as if", lambda: 0.8 < learned()[2] < 1.25)
says("predictions are less wrong than the members are",
     lambda: learned()[1] < learned()[0].mean())
says("although the best of them is less wrong", lambda: min(learned()[0]) < learned()[1])
says("= 78{,}500 parameters", lambda: total([784, 100], 1))
says("= 1{,}010", lambda: total([100, 10], 1))
says("That makes 79{,}510", lambda: total(DIGITS, 1))
says("Five networks have 397{,}550, and the sixth", lambda: total(DIGITS, 5))
says("the sixth costs another 79{,}510", lambda: total(DIGITS, 6) - total(DIGITS, 5))
