"""What *What does a prediction not know?* claims, by tables, exact posteriors and by hand."""

from typing import Any

import numpy as np
from scipy.stats import chi

from ensedu import counting
from ensedu.data import gap
from ensedu.uncertainty import EntropyParts, MeanDifference, ece, entropy_parts, paired
from tests.book.claiming import Claims, entry, every, reader
from tests.book.conftest import ran
from workshop import drawn_digits as drawn
from workshop.experiments import exact
from workshop.experiments import running_example as example
from workshop.experiments import uncertainty as trained
from workshop.page.digit import EXAMPLES

CLAIMS = Claims("learning/uncertainty", unclaimed={
    "log 2": ["0.69 nats, for a fair coin"],
    "what a word means": ["is as good as one who says",
        "a density may exceed 1"],
    "an example": ["let one say 99 to 1", "Suppose it rains on 70"],
    "a property of the divergence, in the glossary": ["It is 0 only if you state"],
    "a proof": ["average of five draws from a sixth is"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
cell = reader("uncertainty", "summary", "cells", by="place number sigma")
score = reader("running-example", "summary", by="contestant place score")
TABLE, NUMBERS, SIGMAS = "uncertainty", trained.NUMBERS, trained.SIGMAS
SURE, FEW, MANY = ("digit-networks-splits", "summary"), NUMBERS[0], NUMBERS[-1]
STORED = "weights are stored as text, and another text is no network"
DEEP = "deep_ensemble"
#: What pays less than a deep ensemble in the gap.
CHEAPER = ("batch_ensemble_normal", "mean_field", "batch_ensemble_signs", "mc_dropout", "rank1")


def unknown(number: int, x: float = -2.5, noise: float = 0.2) -> float:
    """Return what is not known of the curve, given so many points."""
    return exact.exact(number, noise, "bumps").unknown[np.abs(exact.GRID - x).argmin()]


def four() -> tuple[float, float]:
    """Return what the page's four draws say about the curve in the gap, and what is right."""
    own = ran("book/learning/uncertainty", "AT, MEMBERS", exact=exact)
    return (own["ideal"](4) @ own["here"]).std(ddof=1), unknown(64, own["AT"])


def miss(members: int) -> float:
    """Return by how much the deviation of so many normal numbers misses, in root mean square."""
    return np.sqrt(2 - 2 * chi.mean(members - 1) / np.sqrt(members - 1))


def split(own: float) -> EntropyParts:
    """Split what two members say of two classes, each the other's opposite."""
    return entropy_parts(np.array([[[own, 1 - own]], [[1 - own, own]]]))


def members(drawing: str) -> np.ndarray:
    """Return what each member of the deep ensemble gives to each digit, (M, 1, 10)."""
    arrays = entry("digit-networks", "rows", {"method": DEEP}, "arrays")
    x = drawn.seen(EXAMPLES[drawing][1])[None]
    return drawn.probabilities(DEEP, drawn.unpacked(DEEP, arrays), x)[0]


def five() -> tuple[float, float]:
    """Return, over the squared spread of five draws, the squared error: for a sixth, and for 0."""
    draws = np.random.default_rng(0).standard_normal((200_000, 6))
    mean, spread = draws[:, :5].mean(axis=1), draws[:, :5].var(axis=1).mean()
    return ((mean - draws[:, 5]) ** 2).mean() / spread, (mean**2).mean() / spread


def cells(place: str, part: str) -> np.ndarray:
    """Return root mean squares of the figure, a row for each σ."""
    return np.sqrt(
        [[cell(place, number, sigma, part, 1) for number in NUMBERS] for sigma in SIGMAS]
    )


def ratios() -> np.ndarray:
    """Return error over spread, everywhere."""
    return np.array([cells(place, "error") / cells(place, "spread") for place in trained.PLACES])


def wider() -> np.ndarray:
    return cells("gap", "spread") / cells("regions", "spread")


def halves(sigma: float) -> bool:
    """Say whether more points about halve the spread in the gap, clearly."""
    asked = {"ratio": "spread, more data", "place": "gap", "number": None, "sigma": sigma}
    own = entry(TABLE, "summary", "contrasts", asked)
    return 0.4 < own["mean"] ** 0.5 < 0.6 and own["adjusted"] < 0.05


def grows(sigma: float, of: Any = np.log) -> MeanDifference:
    """Return how much more points add to the squared error in the gap, or to its logarithm."""
    few, many = (of(every(TABLE, "rows", {"number": number, "sigma": sigma}, "gap", "error"))
                 for number in (FEW, MANY))  # fmt: skip
    return paired(many - few)


def different(table: str, key: str = "data_seed") -> set[int]:
    """Return which draws of data, or splits, a table has."""
    return {*every(table, "rows", {}, key)}


def paid(name: str) -> np.ndarray:
    """Return the NLL in the gap of each draw of data, in their order."""
    rows = every("running-example", "rows", {"contestant": name})
    rows.sort(key=lambda row: row["data_seed"])
    return np.array([np.mean(row["gap"]["nll"]) for row in rows])


def rain(stated: float) -> float:
    """Return the expected NLL of a forecast; it rains on 70%."""
    return -0.7 * np.log(stated) - 0.3 * np.log(1 - stated)


# fmt: off
says("falls from 0.42 to 0.03", lambda: (unknown(4), unknown(256)))
says("middle of the gap it only halves", lambda: 0.4 < unknown(256, 0.25) / unknown(4, 0.25) < 0.6)
says(["as much as four times the points", r"twice the \sigma needs 4 times the points"],
     lambda: abs(unknown(64, noise=0.1) / unknown(256, noise=0.2) - 1) < 0.05)
says("are sums of 17 bumps", lambda: len(exact.CENTERS))
says("Four members say 0.35 where 0.59 is right", four)
says(["that is about 40%", "standard deviation by about 40%"], lambda: miss(4))
says("it is 9%", lambda: miss(64))
says("follows M = 51", lambda: 1 + 1 / (2 * 0.1**2))
says("the 0.69 nats of their average", lambda: split(0.5).total)
says("average are all noise", lambda: split(0.5).mutual_information[0] < 1e-9)
says("0.69 nats come from", lambda: split(0.99).total)
says("nearly all of your", lambda: split(0.99).mutual_information[0] > 0.9 * split(0.99).total[0])
reads("learned from 1,200 small images", "digit-networks", "settings", "train")
says("deep ensemble say 8, 2, 3 and 2", lambda: members("an X").argmax(-1).ravel(), STORED)
says("All four members say 5", lambda: np.unique(members("an E").argmax(-1)), STORED)
says("neither part holds a hundredth of a nat",
     lambda: entropy_parts(members("an E")).total[0] < 0.01, STORED)
reads("360 letters", "digit-networks-splits", "settings", "number")
says("over ten splits", lambda: len(different("digit-networks-splits", "split")))
reads("sure of 90% of the digits", *SURE, "single", "test")
reads("still sure of 50%", *SURE, "single", "letters")
reads("still sure of 49%", *SURE, "deep_ensemble", "letters")
says("on these its four members agree", lambda: 4 * drawn.SURE - 3 > 0.5)
says(["the error would be 1.2 times", "The root of the ratio is 1.2"], lambda: five()[0] ** 0.5)
says("error is 1.5 to 3.5 times the spread", lambda: (ratios().min(), ratios().max()))
says("be half the spread, and not 1.5", lambda: (five()[1] ** 0.5, ratios().min()))
says("the error is at least 1.5 times as", lambda: ratios().min())
says("train five networks on 30 points", lambda: (trained.SETTINGS["members"], FEW))
says("five others on 480 points", lambda: (trained.SETTINGS["members"], MANY))
says(["They agree far more", "From 30 to 480 points the spread"], lambda: all(map(halves, SIGMAS)))
says(["But their error does not clearly fall", "interval of its logarithm includes no change"],
     lambda: all(grows(sigma).low < 0 < grows(sigma).high for sigma in SIGMAS))
says("from 0.60 to 0.44", lambda: cells("gap", "error")[-1, [0, -1]])
says("alone would be clear (p = 0.03", lambda: grows(0.4, np.array).p)
says("2 to 4 times as large as among", lambda: (wider().min(), wider().max()))
says("larger where data are missing", lambda: wider().min() > 1)
says("20 data sets, each", lambda: len(different(TABLE)))
says("Networks 1-50-50-2", lambda: trained.WIDTHS)
reads("learning rate 0.005", TABLE, "settings", "lr")
reads("batches of 20", TABLE, "settings", "batch_size")
says("from 300 to 3,000", lambda: (min(trained.TRIES), max(trained.TRIES)))
says("three other data sets", lambda: len(different("uncertainty-tuning") - different(TABLE)))
says("In all 18 cases",
     lambda: sum(one["low"] > 1.5 and one["adjusted"] < 0.05
         for one in every(TABLE, "summary", "contrasts", {"ratio": "error / spread"})))
says("over 60 ratios", lambda: len(entry(TABLE, "summary", "contrasts")))
says("To say 99% costs more than twice", lambda: 2 < rain(0.99) / rain(0.7) < 2.5)
says("each dry day costs 4.6", lambda: -np.log(1 - 0.99))
says("So honesty is cheapest",
     lambda: all(rain(one) > rain(0.7) for one in (0.01, 0.3, 0.6, 0.69, 0.71, 0.8, 0.9)))
says("say 70% each day, without a look",
     lambda: ece(np.tile([0.3, 0.7], (100, 1)), np.repeat([0, 1], [30, 70])) < 1e-9)
for name, said in {
    "single": "| 11.67 | −0.57", "last_layer": "| 11.04 | −0.57", "wide": "| 5.59 | −0.57",
    DEEP: "| 5.03 | −0.66", "batch_ensemble_normal": "| 3.63 | −0.62",
    "mean_field": "| 2.96 | −0.30", "batch_ensemble_signs": "| 2.82 | −0.67",
    "mc_dropout": "| 2.00 | −0.25", "rank1": "| 1.98 | −0.49",
}.items():
    says(said, lambda name=name: [score(name, at, "nll", "mean") for at in ("gap", "regions")])
says("pays hardly less than one larger", lambda: abs(paid(DEEP).mean() - paid("wide").mean()) < 0.7)
says("and more than all that stand below it",
     lambda: max(paid(name).mean() for name in CHEAPER) < paid(DEEP).mean())
says("pay least there, on all 20 data", lambda: sum(
    (paid("mc_dropout") < paid(DEEP)) & (paid("rank1") < paid(DEEP))))
says("about a third of its parameters",
     lambda: 0.3 < counting.mlp(example.SIZES, "batch_ensemble", 4).total
         / counting.mlp(example.SIZES, DEEP, 4).total < 0.37)
says("less in the gap on 17 of 20",
     lambda: (sum(paid("batch_ensemble_signs") < paid(DEEP)), len(paid(DEEP))))
says("and on average no more at the data",
     lambda: score("batch_ensemble_signs", "regions", "nll", "mean")
         <= score(DEEP, "regions", "nll", "mean"))
says("of its curve and only errs less", lambda: score("wide", "gap", "rmse", "high") < 0)
says("and hardly at the data", lambda: score(DEEP, "regions", "spread", "mean") < gap.noise / 2)
says("For this they doubt the curve everywhere",
     lambda: min(score(name, "regions", "spread", "mean") for name in ("mc_dropout", "rank1"))
         > 2 * score(DEEP, "regions", "spread", "mean"))
says("and pay more at the data",
     lambda: min(score(name, "regions", "nll", "low") for name in ("mc_dropout", "rank1")) > 0)
says("σ = 0.25", lambda: example.RECIPES["batch_ensemble_normal"].setting["init_std"])
says(r"\sin(1.5x) + 0.2x",
     lambda: np.allclose(gap.truth(exact.GRID), np.sin(1.5 * exact.GRID) + 0.2 * exact.GRID))
says("with 60 points in [-4, -1]", lambda: (gap.number, *gap.regions[0]))
says("and [1.5, 4]", lambda: gap.regions[1])
says(r"Their noise has \sigma = 0.1", lambda: gap.noise)
says("are 1-50-50-1 (the larger one 1-102-102-1)", lambda: (*example.SIZES, *example.WIDE))
says("means over 20 data sets", lambda: len(different("running-example")))
reads("5 random seeds each", "running-example", "settings", "seeds")
