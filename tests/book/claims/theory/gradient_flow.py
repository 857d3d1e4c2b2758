"""What *What moves when you train* claims: by hand, by its cells, and by its table."""

from functools import cache

import numpy as np

from ensedu.book import measured
from ensedu.book.experiments import gradient_flow as small
from ensedu.theory import ntk
from tests.book.claiming import Change, Claims

CLAIMS = Claims(
    "theory/gradient-flow",
    unclaimed={
        "Will they at width 16, too?": "a question",
        "ten steps of 0.1 take a time": "a definition",
        "The 1 comes from": "a product of two gradients",
        "a target of 0 at": "the points of an example",
        "to a target that lies 1 above": "an example",
        "outputs and start them near 0": "a published statement",
        "jointly Gaussian with mean 0, and each": "a theorem",
        "large steps and weight decay break": "published",
    },
)
HALF = 0.5


def row(width: int, score: str, times: float) -> Change:
    """Return a change of one score in all rows of a width."""
    return Change("gradient-flow", "rows", {"width": width}, score, times=times)


def mean(score: str) -> dict[int, float]:
    """Return a score's mean over initializations at each width."""
    rows = measured.load("gradient-flow")["rows"]
    return {
        width: float(np.mean([own[score] for own in rows if own["width"] == width]))
        for width in small.WIDTHS
    }


@cache
def line(rate: float, steps: int) -> list[float]:
    """Return the outputs of a line at both points of the page, after steps from 0."""
    x, y, weights = np.array([-HALF, HALF]), np.array([0.0, 2.0]), np.zeros(2)
    slopes = np.stack([np.ones(2), x])
    for _ in range(steps):
        weights -= rate * slopes @ (weights @ slopes - y) / 2
    return [*map(float, weights @ slopes)]


@CLAIMS.says("back", "takes until time 10 to come most")
def _() -> None:
    left = [line(0.01, round(100 * time))[0] for time in range(11)]
    assert left[0] == 0 and 0.4 < max(left) < 0.5 and 0 < left[10] < 0.2 * max(left) < left[6]


@CLAIMS.says("table", "-1) into 2 times itself")
@CLAIMS.says("rates", "the rates are 1 and")
def _() -> None:
    slopes = np.array([[1, -HALF], [1, HALF]])
    theta = slopes @ slopes.T
    assert theta.tolist() == [[5 / 4, 3 / 4], [3 / 4, 5 / 4]]
    assert (theta @ [-1, -1]).tolist() == [-2, -2]
    assert (theta @ [1, -1]).tolist() == [0.5, -0.5]
    # By hand, the way of both patterns is that of small steps.
    level, slope = np.exp(-3), np.exp(-3 / 4)
    assert np.allclose(line(1e-3, 3000), [slope - level, 2 - slope - level], rtol=0, atol=1e-3)


@CLAIMS.says("tenths", "left, or 0.35; in ever smaller steps")
def _() -> None:
    assert f"{0.9**10:.2f}" == "0.35"
    assert f"{(1 - 1e-6) ** 1_000_000:.2f}" == f"{np.exp(-1):.2f}" == "0.37"


@CLAIMS.says("doubles", "From weights of 1 the kernel doubles")
@CLAIMS.says("lazy", "the kernel only grows from 32 to 34")
def _() -> None:
    for weight, before, after in ((1, 2, 4), (4, 32, 34)):
        w = np.full(2, float(weight))
        assert w @ w == before
        for _ in range(4000):
            w -= 0.001 * (w.prod() - weight**2 - 1) * w[::-1]
        assert np.isclose(w @ w, after, rtol=1e-3)
        assert np.isclose(w.prod(), weight**2 + 1, rtol=1e-3)


@CLAIMS.says("close", "At width 256 they still lie close")
def _() -> None:
    """All around the circle, at the end, and much closer than at width 16."""
    ends = {width: small.trained(width)[-1] for width in (16, 256)}
    wide, narrow = (np.abs(ends[width][0] - ends[width][2]).max() for width in (256, 16))
    assert wide < 0.2 < 0.5 < narrow


@CLAIMS.says(
    "eight", "the network becomes 64 times as wide", row(1024, "weights", 2)
)  # fmt: skip
@CLAIMS.says(
    "weights", "moves by 0.47 in the narrow networks",
    row(16, "weights", 1.1), row(16, "weights", 0.9),
    row(1024, "weights", 1.2), row(1024, "weights", 0.8),
)  # fmt: skip
def _() -> None:
    found = mean("weights")
    assert [f"{found[width]:.2f}" for width in (16, 1024)] == ["0.47", "0.05"]
    assert 1024 / 16 == 64 == 8**2
    assert 7 < found[16] / found[1024] < 9


@CLAIMS.says(
    "kernel", "from 54% of its size to 2%",
    row(16, "kernel", 1.1), row(16, "kernel", 0.9),
    row(1024, "kernel", 1.6), row(1024, "kernel", 0.5),
)  # fmt: skip
def _() -> None:
    found = mean("kernel")
    assert [f"{found[width]:.0%}" for width in (16, 1024)] == ["54%", "2%"]
    assert found[1024] < found[16] / 8
    assert [*found.values()] == sorted(found.values(), reverse=True)


@CLAIMS.says(
    "foreseen", "wide networks miss by 0.02 on average",
    row(16, "apart", 1.1), row(16, "apart", 0.9), row(1024, "apart", 2), row(1024, "apart", 0.5),
)  # fmt: skip
def _() -> None:
    found = mean("apart")
    assert [f"{found[width]:.2f}" for width in (1024, 16)] == ["0.02", "0.23"]


@CLAIMS.says("size", "over initializations is 1 at every width")
def _() -> None:
    """Of units x W / √2 and w / √h, by what each half of the weights adds, on average."""
    here = small.X[[small.AT]]
    rng = np.random.default_rng(5)
    z = here[0] @ rng.standard_normal((2, 400_000)) / 2**0.5
    last, first = np.mean(np.maximum(z, 0) ** 2), np.mean(z > 0) * np.sum(here**2) / 2
    assert np.isclose(last + first, 1, rtol=0, atol=0.01)
    same = ntk.limit(here, hidden_layers=1, u=small.ONES).shared[0]
    assert np.isclose(same[0, 0], 1)
    for width in (16, 64):
        own = [small.kernel(small.network(width, seed), here)[0, 0] for seed in range(400)]
        assert abs(np.mean(own) - 1) < 4 * np.std(own) / 20
        # Usual weights: h times as much from the last layer, m = 2 times from the first.
        assert np.isclose(width * last + 2 * first, width / 2 + 1, rtol=0.02)


@CLAIMS.says("turns", "between the two highest points, at 30°")
def _() -> None:
    turned, added = (own[-1] for own in small.trails(16))
    high, low = turned[np.argmax(added)], turned[np.argmin(added)]
    assert {*np.argsort(small.TARGETS)[-2:]} == {3, 4}
    assert small.ANGLES[[3, 4]].tolist() == [30, 90]
    assert {*np.argsort(small.TARGETS)[:2]} == {1, 2}
    assert 30 < high < 90 and -80 < low < -20


@CLAIMS.says("ex-pull", "all three set out at a speed")
@CLAIMS.says("ex-left", "or 22%")
@CLAIMS.says("ex-other", "or 61%")
def _() -> None:
    x, goal = np.array([0.0, 2.0]), np.array([1.0, 0.0])
    assert [-np.mean((1 + at * x) * (0 - goal)) for at in (0, 2, -1)] == [0.5] * 3
    theta = np.array([[2.0, 1.0], [1.0, 2.0]])
    for pattern, left in (([1.0, 1.0], "22%"), ([1.0, -1.0], "61%")):
        after = ntk.flow(theta[None, None], np.array([pattern]), np.zeros(2), [1.0])[0, 0]
        assert np.allclose(after / after[0], pattern) and f"{after[0]:.0%}" == left
