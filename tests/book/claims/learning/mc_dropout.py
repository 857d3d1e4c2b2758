"""What *MC dropout* claims: by algebra, by its cells and tables, and by the contest's."""

from functools import cache, partial
from typing import Any

import numpy as np
import torch

from ensedu import torch as et
from ensedu.contest.trainers.networks import DROPOUT_P
from tests.book.claiming import Claims, entry, every, reader
from tests.book.claims.learning.shootout import DEEP, beside, lower, units
from tests.book.conftest import ran
from workshop.experiments import mc_dropout as dropout
from workshop.experiments import running_example as example
from workshop.experiments.contest import reading

CLAIMS = Claims("learning/mc-dropout", unclaimed={
    "what dropout is": ["sets every hidden unit to 0 with"],
    "what a word means": ["the rows of the missing units are 0", "that pulls the weights toward 0"],
    "the mean of a mask": ["entry of the mask has the mean"],
    "a theorem": ["average of passes is never worse"],
})  # fmt: skip
says, MC, TABLE = CLAIMS.says, "mc_dropout", "mc-dropout"
#: Where the running example's curves are drawn, and in which gap.
GRID = np.linspace(-4.6, 4.6, 93)
GAP = (GRID > -1) & (GRID < 1.5)
RATES = (0.02, 0.05, 0.1, 0.2, 0.5)


@cache
def found(mark: str) -> dict[str, Any]:
    return ran(f"book/{CLAIMS.chapter}", mark, np=np, torch=torch, et=et)


hand, line, net = (partial(found, mark) for mark in ("P, S =", "RATE = 0.2", "WIDTH, START,"))

#: A mean over data of the running example at a rate, where data lies or in the gap.
curve = reader("mc-dropout-curve", "summary", by="p", method=MC, number=60)


#: The same of a deep ensemble.
MEMBERS = reader("mc-dropout-curve", "summary", by="", method=DEEP, number=60)


def best(place: str) -> float:
    return min(RATES, key=lambda p: curve(p, place, "nll"))


def many(p: float, *keys: str) -> list[float]:
    """Return what sixteen times as many points do to passes, or to members without a rate."""
    where = {"method": MC if p else DEEP, "p": p, "number": 960}
    return [entry("mc-dropout-curve", "summary", where, key) for key in keys]


def steps(digits: int, key: str = "difference") -> dict[str, float]:
    """Return by step what it does to the NLL, or how clearly."""
    way = TABLE, "summary", str(digits), "steps"
    return {one: entry(*way, {"step": one}, key) for one in ("training", "averaging", "decay")}


def above(passes: int) -> list[bool]:
    """Say at each rate, for both numbers of digits, whether so many passes lose to masks off."""
    found = []
    for digits in dropout.EPOCHS:
        own = entry(TABLE, "rows", {"train": digits}, "by_passes")
        off = entry(TABLE, "summary", str(digits), "settings", "off")
        found += (own[:, dropout.PASSES.index(passes)] > off).tolist()
    return found


def parts() -> list[int]:
    """Return how many digits train at most, choose and test."""
    return [len(labels) for _, labels in dropout.split_digits(max(dropout.EPOCHS), 0)]


def best_weight() -> float:
    """Return the weight with the least squares, on average over masks, of many that are tried."""
    x, y, tried = line()["x"], line()["y"], np.linspace(1, 2.5, 1501)
    squares = (y**2).sum() - 2 * tried * (x @ y) + tried**2 * (x @ x)
    return tried[(squares + 0.25 * (x @ x) * tried**2).argmin()]


def wider_in_the_gap(method: str) -> float:
    """Return the spread in the gap over that at the data, in the running example."""
    own = (example.summary_row(method, place, "spread")["mean"] for place in ("gap", "regions"))
    return np.divide(*own)


def surest_in_the_gap() -> bool:
    """Say whether the square of the page's curve is convex, and least in the middle of the gap."""
    one, grid = net()["one"], net()["grid"]
    with torch.no_grad():
        x = torch.tensor(grid[:, None]).repeat(4000, 1, 1)
        passes = net()["net"][1:](x).numpy()[..., 0]
    convex = np.diff(one**2, 2).min() > -1e-9 and np.allclose(passes.std(axis=0), one, rtol=0.1)
    return convex and abs(grid[one.argmin()] - GRID[GAP].mean()) < 0.5


def hump(method: str) -> float:
    """Return the largest spread in the gap of the running example's figure."""
    spread = entry("running-example-curves", "rows", {"contestant": method}, "spread")
    return np.array(spread)[GAP].max()


# fmt: off
says("they are 1.02 times as far apart", lambda: many(0.2, "ratio"))
says("interval 0.94 to 1.11", lambda: many(0.2, "low", "high"))
says("0.67 times as far apart (0.48 to 0.86)", lambda: many(0.0, "ratio", "low", "high"))
says("From rate 0.02 to 0.5 passes move",
     lambda: 1.8 < curve(0.5, "regions", "spread") / curve(0.02, "regions", "spread") < 2.4)
says("that stay it would be seven times",
     lambda: np.sqrt((0.5 / 0.5) / (0.02 / 0.98)).round() == 7)
says("the two, at four of our five",
     lambda: (2, sum(curve(p, "gap", "nll") < MEMBERS("gap", "nll") for p in RATES), len(RATES)))
says("a higher rate moves the passes apart",
     lambda: np.all(np.diff([curve(p, "regions", "spread") for p in RATES]) > 0))
says("over ten data sets", lambda: len({*every("mc-dropout-curve", "rows", {}, "data_seed")}))
says("three units contribute 1, 4 and −3", lambda: hand()["x"][0] * hand()["W"][:, 0])
says("the factor $p/(1-p)$ is 1", lambda: hand()["P"] / (1 - hand()["P"]))
says("the variance is 1 + 16", lambda: (hand()["x"][0] * hand()["W"][:, 0])[:2] ** 2)
says("100,000 points the slope is known to 0.003", lambda: (line()["number"], line()["known"]))
says("the best weight is 1.6", best_weight)
says("still have a standard deviation of 0.8", lambda: line()["apart"])
says("drop the input with probability 0.2", lambda: line()["RATE"])
says("takes part with 32 passes at rate 0.1", lambda: (reading.passes(MC), DROPOUT_P))
says(["is unclear: its NLL", "dropout is unclear compared"], lambda: beside(MC).word == "unclear")
says("data from 18 sources by their", lambda: len(units(MC)))
says("13 of the 18 sources", lambda: (lower(MC), len(units(MC))))
says("but much higher on one", lambda: units(MC)[-1] > 5 * units(MC)[-2])
says("lowers the NLL by 0.019 nats", lambda: -steps(1200)["training"])
says("For each number of digits three steps were",
     lambda: {len(entry(TABLE, "summary", n, "steps")) for n in ("400", "1200")} == {3})
says("Only the −0.019 is clear", lambda: [own for n in (400, 1200)
     for name, own in steps(n).items() if steps(n, "adjusted")[name] < 0.05])
says("with a corrected p-value of 0.042", lambda: steps(1200, "adjusted")["training"])
says("among all six would be 0.084", lambda: 2 * steps(1200, "adjusted")["training"])
says("among all our tests it is not", lambda: 2 * steps(1200, "adjusted")["training"] > 0.05)
says("What passes add to it is unclear",
     lambda: min(steps(n, "adjusted")["averaging"] for n in (1200, 400)) > 0.05)
says("tested 32 of them; the figure shows 64",
     lambda: (dropout.REPORTED, dropout.PASSES[-1]))
says("in four of our eight cases 64", lambda: (sum(above(64)), len(above(64)), dropout.PASSES[-1]))
says("The average must make up for this first", lambda: all(above(1)))
says("1,797 digits in 10 splits", lambda: (sum(parts()), len({*every(TABLE, "rows", {}, "split")})))
says("300 to test on, 297 to choose on", lambda: parts()[:0:-1])
says("and 400 or 1,200 of the rest", lambda: sorted({*every(TABLE, "rows", {}, "train")}))
says("Networks 64-64-64-10", lambda: dropout.SIZES)
says("3 initializations", lambda: entry(TABLE, "settings", "starts"))
says("1,500 steps of AdamW",
     lambda: all(1500 <= own * -(-n // 32) <= 1560 for n, own in dropout.EPOCHS.items()))
says("learning rate of 0.002", lambda: entry(TABLE, "settings", "lr"))
says("among 0.05, 0.1, 0.2 and 0.5", lambda: entry(TABLE, "settings", "rates"))
says("of five rates, 0.02 has", lambda: (len(RATES), best("regions")))
says("at the data and 0.2 in the gap", lambda: best("gap"))
says("surest in the middle of the gap", surest_in_the_gap)
says("there is a flat hump in the", lambda: 0.4 < hump(MC) / hump(DEEP) < 0.6)
says("less than in a deep ensemble, as", lambda: wider_in_the_gap(MC) < wider_in_the_gap(DEEP))
says("two hidden layers the proposition no longer", lambda: example.SIZES == (1, 50, 50, 1))
says("The passes have a standard deviation of", lambda: round(0.05 * 2 / (1 + 1 / 400), 2) == 0.1)
says("= 1.995", lambda: 2 / (1 + 1 / 400))
