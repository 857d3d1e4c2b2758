"""What *What moves when you train* claims: by hand, by its cells, and by its table."""

from functools import cache

import numpy as np

from tests.book.claiming import Claims, reader
from workshop.experiments import gradient_flow as small

CLAIMS = Claims("theory/gradient-flow", unclaimed={
    "a definition": ["ten steps of 0.1 take a time"],
    "a product of two gradients": ["The 1 comes from"],
    "an example": ["a target of 0 at", "to a target that lies 1 above"],
    "published by others": ["large steps and weight decay break"],
})  # fmt: skip
says, run = CLAIMS.says, reader("gradient-flow", "rows", by="width")
HALF = 0.5
SPEEDS = np.linalg.eigvalsh([[2, 1], [1, 2]])


def stretched(*pattern: float) -> list[float]:
    """Return by how much the kernel of the line at both points stretches a pattern of them."""
    kernel = 1 + np.outer([-HALF, HALF], [-HALF, HALF])
    return [*{*kernel @ pattern / pattern}]


@cache
def line(rate: float, time: float) -> np.ndarray:
    """Return the outputs of a line at both points of the page at a time, in steps from 0."""
    slopes, weights = np.array([[1, 1], [-HALF, HALF]]), np.zeros(2)
    for _ in range(round(time / rate)):
        weights -= rate * slopes @ (weights @ slopes - [0, 2]) / 2
    return weights @ slopes


def comes_back() -> bool:
    """Say whether the left output goes astray, and is mostly back at time 10, not before 6."""
    left = [line(0.01, time)[0] for time in range(11)]
    return 0.4 < max(left) < 0.5 and 0 < left[10] < 0.2 * max(left) < left[6]


@cache
def grown(weight: float) -> tuple[float, float]:
    """Return the kernel of two weights in a row before and after training."""
    w = np.full(2, float(weight))
    for _ in range(4000):
        w -= 0.001 * (w.prod() - weight**2 - 1) * w[::-1]
    return 2 * weight**2, w @ w


def miss(width: int) -> float:
    """Return how far the dashes are off at most when the training ends."""
    output, _, foreseen, _ = small.trained(width)[-1]
    return np.abs(output - foreseen).max()


@cache
def turned(sign: int) -> list[float]:
    """Return the angles of both highest points, and of the strongest unit (-1: lowest, least)."""
    angles, adds = (own[-1] for own in small.trails(16))
    return [*small.ANGLES[np.argsort(sign * small.TARGETS)[-2:]], angles[np.argmax(sign * adds)]]


# fmt: off
says("At width 256 they still lie close", lambda: miss(256) < 0.2 < 0.5 < miss(16))
says("takes until time 10 to come most", comes_back)
says("into 2 times itself, and", lambda: stretched(-1, -1))
says("\\frac12 times itself", lambda: stretched(1, -1) == [0.5])
says("the rates are 1 and", lambda: stretched(-1, -1)[0] / 2)
says("the line learns its level fast and its",
     lambda: np.allclose(line(1e-3, 3), [[0, 2] + np.array([1, -1]) * np.exp(-3 / 4) - np.exp(-3)],
                         atol=1e-3))
says("From weights of 1 the kernel doubles", lambda: round(grown(1)[1] / grown(1)[0], 2) == 2)
says("the kernel only grows from 32 to 34", lambda: grown(4))
says("to 1,024, which is 64 times as wide", lambda: (1024, small.WIDTHS[-1] / small.WIDTHS[0]))
says("falls from 0.47 to 0.05, about", lambda: [run(h, "weights") for h in (16, 1024)])
says("from 54% of its size to 2%", lambda: [run(h, "kernel") for h in (16, 1024)])
says("wide networks miss by 0.02 on average", lambda: run(1024, "apart"))
says("those of the narrow ones by 0.23", lambda: run(16, "apart"))
says("points, at 30° and 90°, and grows", lambda: sorted(turned(1)[:2]))
says("unit turns to between the two highest", lambda: sorted(turned(1))[1] == turned(1)[2])
says("most turns to between the two lowest", lambda: sorted(turned(-1))[1] == turned(-1)[2])
says("all three set out at a speed",
     lambda: all(np.mean((1 + at * np.array([0, 2])) * [1, 0]) == 0.5 for at in (0, 2, -1)))
says("or 22%", lambda: np.exp(-SPEEDS[1] / 2))
says("or 61%", lambda: np.exp(-SPEEDS[0] / 2))
