"""What *More from one network* claims, by its tables, those of the contest, and by its cells."""

from functools import cache
from typing import Any

import numpy as np

from ensedu.contest.trainers.swag import SNAPSHOTS
from tests.book.claiming import Claims, entry, every
from tests.book.claims.learning.deep_ensembles import adjusted
from tests.book.claims.learning.shootout import DEEP, TEMPERED, beside
from tests.book.conftest import ran
from workshop.experiments import deep_ensembles
from workshop.experiments import more_from_one_network as trained
from workshop.experiments.contest import reading

CLAIMS = Claims("learning/more-from-one-network", unclaimed={
    "what a word means": ["A network that is 99% sure"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
TABLE, CURVES = "more-from-one-network", "more-from-one-network-curves"
CELLS = ("EPOCHS = 400", "TRIED =", "said = {T:", "STEPS = 1500", "rates = {")


@cache
def found() -> dict[str, Any]:
    return ran(f"book/{CLAIMS.chapter}", *CELLS)


def between(own: str, score: str = "nll", other: str = "end") -> dict[str, Any]:
    """Return a comparison, by default with the last network of the same run."""
    other = other if " " in other else f"{own.split()[0]} {other}"
    return deep_ensembles.difference(entry(TABLE, "summary"), "concrete", own, score, other)


def gain(*way: str) -> float:
    return -between(*way)["difference"]


def clear(*way: str) -> bool:
    return between(*way)["verdict"] == "better"


def gains(said: str, *way: str) -> None:
    """Claim by how much a score is lower, and that this is clear."""
    says(said, lambda: gain(*way) if clear(*way) else 0)


def unclear(said: str, *way: str) -> None:
    says(said, lambda: between(*way)["verdict"] == "")


def curves(place: str) -> list[np.ndarray]:
    """Return how far apart networks are at the constant rate, by draw: of one run, and of five."""
    where = {"schedule": "constant"}
    return [np.array(every(CURVES, "rows", where, place, who)) for who in ("one", "five")]


def nearer(place: str) -> float:
    """Return how far apart one run's networks are, in parts of five runs'."""
    return np.divide(*(own.mean() for own in curves(place)))


# fmt: off
says("by about 0.1 nats a row",
     lambda: all(0.085 < gain(f"{rate} five") < 0.115 for rate in ("constant", "falls")))
gains("gain 0.08 nats over the last network", "constant epochs")
gains("apart gain 0.10, so", "constant five")
says("the five epochs gain most of", lambda: gain("constant epochs") > 0.8 * gain("constant five"))
says("Both SWAG and five networks",
     lambda: clear("constant swag") and abs(gain("constant swag") - gain("constant five")) < 0.01)
says("last five epochs gain 0.001", lambda: gain("falls epochs"))
unclear("they gain next to nothing", "falls epochs")
unclear("what SWAG gains is unclear", "falls swag")
gains("Five networks gain 0.09", "falls five")
gains("SWAG gains 0.08 nats on the one", "holds swag")
says("moves, and 0.02 on the other", lambda: gain("falls swag"))
says("because the run still moves", lambda: clear("holds swag", "change", "falls swag"))
says("practically one network, though one with a lower",
     lambda: clear("falls end", "rmse", "constant end")
         and gain("falls end", "nll", "constant end") > 0)
says(["more than half of what five networks gain", "last third gives about half of what"],
     lambda: clear("holds swag", "nll", "falls end")
         and 0.5 < gain("holds swag", "nll", "falls end") / gain("falls five") < 0.6)
says("lowers it by a quarter of a", lambda: 0.24 < gain("falls end", "rmse", "constant end") < 0.26)
says("Averaging along that run does not lower",
     lambda: max(gain(f"falls {made}", "rmse") for made in ("epochs", "weights", "swag")) < 0.002)
says("error (RMSE) of 6.07 megapascals (MPa), and",
     lambda: between("restarts epochs", "rmse", "constant end")["mean"])
says("whose rate falls once has 5.74",
     lambda: between("falls end", "rmse", "constant end")["mean"])
says("further, and five networks do", lambda: clear("falls five", "rmse"))
reads("The constant rate is 0.01", TABLE, "settings", "lr")
says("with five runs on each split", lambda: trained.KEPT)
says(["SWAG looks 20 times", "20 deviations of every weight"], lambda: SNAPSHOTS)
says("averages 32 weight samples", lambda: trained.PASSES)
reads("test of these comparisons, here 37", TABLE, "summary", of=adjusted)
says("over 20 draws of the data", lambda: len({*every(CURVES, "rows", {}, "data_seed")}))
says("they differ at least as much as separate", lambda: 1.05 < nearer("regions") < 1.2)
says("a sixth as far apart, on average", lambda: abs(6 * nearer("gap") - 1) < 0.05)
says("towards its own 20 points", lambda: trained.CURVES.settings["batch_size"])
says("this network is 96% sure on average", lambda: found()["sure"][1])
says("and 94% of its answers are right", lambda: found()["right"])
says("At 1.5 the two agree",
     lambda: min(found()["sure"], key=lambda T: abs(found()["sure"][T] - found()["right"])))
says("There SWAG gains a third of a unit", lambda: round(3 * beside("swag").middle) == -1)
says("the word for a temperature alone is unclear", lambda: beside(TEMPERED).word == "unclear")
says("a temperature and SWAG are both unclear",
     lambda: {beside(name).word for name in (TEMPERED, "swag")} == {"unclear"})
says("four networks are better than one", lambda: beside(DEEP).word == "better")
says(["stores 22 times as", "SWAG needs the memory of 22"],
     lambda: reading.costs("swag")["num_stored"])
says("makes 32 passes for a prediction", lambda: reading.passes("swag"))
says("as fast as one network", lambda: abs(reading.costs("swag")["train_seconds"] - 1) < 0.02)
says("by four of the 20 points", lambda: len(found()["x"]))
says("although the 20 points are the same",
     lambda: 0.4 < (found()["rates"]["0.05"].std(0) / found()["rates"]["0.2"].std(0)).mean() < 0.6)
says("SWA keeps the mean, 1.1, and SWAG", lambda: np.mean([1.0, 1.4, 0.8, 1.2]))
says("keeps a standard deviation of 0.22", lambda: np.std([1.0, 1.4, 0.8, 1.2]))
