"""Whether new rows are like those that calibrated: a bet against it, which may be read any time."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.random import Generator

from ensedu.common.array_checks import check_rng
from ensedu.uncertainty import score_checks

#: From which wealth on rows are said to differ: at most one in so many watches ever gets there.
ALARM = 20.0
#: Which part of its money a bet moves to the others before each row: a player for each of these.
JUMPS = (1e-4, 1e-3, 1e-2, 1e-1)
#: Of which intervals a bet watches how many they hold, and which share is then outside.
BET_LEVEL, OUTSIDE = 0.9, 0.1
#: What a p-value multiplies a bet by, on average by 1: on large scores, on none, on small ones, and
#: on scores outside of intervals.
BETS: tuple[Callable[[float], float], ...] = (
    lambda p: 1.5 - p, lambda p: 1.0, lambda p: 0.5 + p,
    lambda p: BET_LEVEL + (p <= OUTSIDE),
)  # fmt: skip
#: Above this, money is given away: enough is proved, and floats end.
LARGEST_STAKES = 1e9


@dataclass(frozen=True)
class ExchangeabilityTest:
    """A conformal test martingale: what a bet of 1 against exchangeable rows has become.

    Each new score has a rank among all n until then, itself among them, as a conformal p-value with
    ties broken by a draw U: ``p = (#{s_i > s_n} + U #{s_i = s_n}) / n``. As long as scores are
    exchangeable, these are independent and uniform (Vovk et al. 2003). Bets share the money, and
    before each row each gives a part J of its own to all: the *simple jumper* (Vovk et al. 2021,
    alg. 1), here the mean over J from 0.0001 to 0.1, so that quiet times cost little. A row
    multiplies a bet by ``1 + ε (p - 1/2)``, for each of ε = -1, 0, 1, and one more, which is ours,
    by 1.9 where p is at most 0.1, outside of a 90% interval, else by 0.9. Over exchangeable rows
    this is a martingale, and by Ville's inequality its wealth **ever** reaches c with a probability
    of at most 1 / c: look after each row, stop or go on, the bound stays.

    It sees whether scores become larger or smaller, not whether inputs differ where scores do not.
    New rows join those they are compared with, so that of few scores it learns little.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> start = ExchangeabilityTest.fit(rng.exponential(size=100))
    >>> same = start.update(rng.exponential(size=200), rng)
    >>> other = same.update(3 * rng.exponential(size=200), rng)
    >>> same.alarm, other.alarm, other.rows
    (False, True, 400)
    """

    #: The wealth after each new row.
    path: tuple[float, ...] = field(default=(), repr=False)
    #: Of how many new rows the score was inside a 90% interval.
    held: int = 0
    scores: tuple[float, ...] = field(default=(), repr=False)
    stakes: Sequence[Sequence[float]] = field(
        default=((1 / len(JUMPS) / len(BETS),) * len(BETS),) * len(JUMPS), repr=False
    )

    @classmethod
    def fit(cls, scores: Float[Any, " n"]) -> "ExchangeabilityTest":
        """Begin with n scores of rows that calibrated; larger is stranger."""
        scores = score_checks.floats("scores", scores, ("n",))
        return cls(scores=tuple(sorted(scores.tolist())))

    def update(self, scores: Float[Any, " B"], rng: Generator) -> "ExchangeabilityTest":
        """Return what comes of B more scores, in the order in which they came.

        `rng` breaks ties, and must be another one for each update.
        """
        scores = score_checks.floats("scores", scores, ("B",))
        check_rng("rng", rng)
        known, path, held = [*self.scores], [*self.path], self.held
        stakes, jumps = np.array(self.stakes), np.array(JUMPS)[:, None]
        for score, draw in zip(scores.tolist(), rng.random(len(scores)).tolist(), strict=True):
            low, high = bisect_left(known, score), bisect_right(known, score)
            known.insert(high, score)
            p = (len(known) - 1 - high + draw * (high - low + 1)) / len(known)
            # Before each row a player's bets give to all of them alike.
            stakes = (1 - jumps) * stakes + jumps * stakes.mean(axis=1, keepdims=True)
            stakes *= [bet(p) for bet in BETS]
            stakes /= max(1.0, stakes.sum() / LARGEST_STAKES)
            path.append(float(stakes.sum()))
            held += p > OUTSIDE
        left = tuple(map(tuple, stakes.tolist()))
        return replace(self, path=tuple(path), held=held, scores=tuple(known), stakes=left)

    def __repr__(self) -> str:
        return f"ExchangeabilityTest({self.rows:,} rows, p = {self.p:.2g}, alarm = {self.alarm})"

    @property
    def rows(self) -> int:
        """How many new rows it has seen."""
        return len(self.path)

    @property
    def wealth(self) -> float:
        """What the bet of 1 is now."""
        return self.path[-1] if self.path else 1.0

    @property
    def p(self) -> float:
        """A bound of the p-value, whenever one looks: 1 over the most that the wealth has been."""
        return 1 / max(1.0, *self.path) if self.path else 1.0

    @property
    def alarm(self) -> bool:
        """Whether the wealth has ever been `ALARM`, so that the p-value is at most 1 / `ALARM`."""
        return self.p <= 1 / ALARM

    @property
    def words(self) -> str:
        """What it says, in a sentence or two."""
        held = self.held / max(1, self.rows)
        share = f"{BET_LEVEL:.0%} intervals or sets hold about {held:.0%} of"
        if not self.alarm:
            return (
                f"{share} {self.rows:,} new rows, which is no sign that the promise is broken "
                f"(anytime p-value {self.p:.2g})."
            )
        odds = f"rows like the old ones would ever say so once in {min(1e6, 1 / self.p):,.0f} times"
        if self.held < BET_LEVEL * self.rows:
            return (
                f"The promise no longer stands: {share} {self.rows:,} new rows ({odds}, or more "
                "seldom). Calibrate again, or train anew, on rows like these."
            )
        return (
            f"Rows have changed ({odds}, or more seldom), but the promise stands: {share} "
            f"{self.rows:,} new rows. They may be larger than they need to be."
        )

    def data(self) -> dict[str, Any]:
        """Return what it says as JSON can hold it."""
        names = ("rows", "held", "wealth", "p", "alarm", "words")
        return {name: getattr(self, name) for name in names}
