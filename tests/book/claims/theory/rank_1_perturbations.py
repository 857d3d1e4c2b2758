"""What *Rank-1 perturbations* claims: of covariances, by hand, and of trained networks."""

from itertools import product

import numpy as np
import torch

from ensedu.book import measured
from ensedu.book.experiments import perturbed
from ensedu.theory.perturbations import separable
from ensedu.torch import models
from tests.book.claiming import Change, Claims

CLAIMS = Claims(
    "theory/rank-1-perturbations",
    unclaimed={
        "scales every entry by a number near": "what a perturbation is",
        "It is full if Z is drawn": "a definition",
        "Let L have bounded third derivatives, as": "a proposition",
        "be 1 plus or minus a number": "an example",
        "Let r and s be independent with": "a proposition",
        "with probability 1 all entries of a": "a proposition",
        "Subtract the means' product": "a proof",
        "has variance 0": "a proof",
        "Then an entry's second moment": "a proof",
        "a local minimum is sure": "a theorem",
        "with mean 1.1.": "the name of a row",
        "Perturbations of mean 0 and equal": "a proposition",
    },
)


def summed(kind: str, size: float, key: str = "mean", state: str = "minimum"):
    """Return an entry of the summary: a mean over seven networks, or whether it is resolved."""
    rows = measured.load("perturbed")["summary"][state]["distances"]
    return measured.row(rows, kind=kind, scale=size)[key]


def summary(kind: str, size: float, key: str = "mean", *, times=None, to=None) -> Change:
    """Return a change of such an entry."""
    where = {"kind": kind, "scale": size}
    return Change(
        "perturbed", "summary", "minimum", "distances", where, key, times=times, to=to
    )  # fmt: skip


def averaged(kind: str, part: str, size: float, state: str = "minimum") -> float:
    """Return the average of what the rows of a state have, distances or means."""
    rows, i = measured.load("perturbed")["rows"], perturbed.SCALES.index(size)
    return float(np.mean([row[part][kind][i] for row in rows if row["state"] == state]))


def rows(kind: str, part: str, times: float, state: str = "minimum") -> Change:
    """Return a change of what the rows of a state have."""
    return Change("perturbed", "rows", {"state": state}, part, kind, times=times)


@CLAIMS.says("entries", "number near 1 of its own, 2,500")
@CLAIMS.says("vectors", "if you draw only 100 numbers, one")
@CLAIMS.says("matched", "full perturbations that 100 numbers do match")
def _() -> None:
    assert 50 * 50 == 2500 and 50 + 50 == 100


@CLAIMS.says("draws", "only 16 equally likely draws")
@CLAIMS.says("hand", "become uncorrelated only if p is 0")
def _() -> None:
    p, q = 0.25, 0.0625
    draws = np.array([
        np.outer(1 + p**0.5 * np.array(signs[:2]), 1 + q**0.5 * np.array(signs[2:])).ravel() - 1
        for signs in product([-1, 1], repeat=4)
    ])  # fmt: skip
    assert draws.shape == (16, 4)
    assert (draws.T @ draws / 16)[0].tolist() == [p + q + p * q, p, q, 0]


@CLAIMS.says("directions", "at most m + n - 1 directions")
def _() -> None:
    leading = separable(*perturbed.variances(np.ones((7, 5)), 1e-4)).reshape(35, 35) / 1e-8
    assert (np.linalg.eigvalsh(leading) > 1e-3).sum() == 7 + 5 - 1


@CLAIMS.says("network", "trained on 256 digits to a local")
@CLAIMS.says(
    "sample", "and 5,000 draws of each kind",
    Change("perturbed", "settings", "draws", to=4000),
)  # fmt: skip
def _() -> None:
    assert perturbed.SIZES == (64, 7, 5, 10)
    x, _ = perturbed.digits_of_part(0)
    score = perturbed.first_score("minimum")
    assert (len(x), score.weight.shape) == (256, (7, 5))
    table = measured.load("perturbed")
    assert table["settings"]["draws"] == 5000
    assert len({row["number"] for row in table["rows"]}) == 7


@CLAIMS.says(
    "unclear", "same law drawn again is unclear",
    summary("rank1", 0.1, "resolved", to=True), summary("rank1", 0.03, "resolved", to=True),
)  # fmt: skip
def _() -> None:
    told = [summed("rank1", size, "resolved") for size in perturbed.SCALES]
    assert told == [False, False, False, True, True]


@CLAIMS.says("left", "is 5% at size 0.1 and 41%", summary("coupled", 0.3, times=1.1))
@CLAIMS.says("apart", "5% apart at size 0.1, and 41%", summary("coupled", 0.1, times=1.2))
@CLAIMS.says("ninth", "third of the size, it falls to", summary("coupled", 0.01, times=1.3))
def _() -> None:
    small, larger, tenth, third = (summed("coupled", size) for size in perturbed.SCALES[:4])
    assert [f"{value:.0%}" for value in (tenth, third)] == ["5%", "41%"]
    assert 8.5 < larger / small < 9.5


@CLAIMS.says("line", "is 35% off at size 0.1, where", summary("first_order", 0.1, times=1.1))
@CLAIMS.says("free", "over 100% off at the minima", summary("mean_field", 0.01, times=0.9))
@CLAIMS.says("wide", "than rank-1, 34% against 68%, but", summary("rank1", 1.0, times=0.9))
def _() -> None:
    assert f"{summed('first_order', 0.1):.0%}" == "35%"
    assert min(summed("mean_field", size) for size in perturbed.SCALES[:4]) > 1
    found = [f"{summed(kind, 1.0):.0%}" for kind in ("mean_field", "rank1")]
    assert found == ["34%", "68%"]


@CLAIMS.says("priors", "gives Z a size of 0.07 or")
def _() -> None:
    sizes = [
        separable(std**2 * np.eye(2), std**2 * np.eye(2))[0, 0, 0, 0] ** 0.5 for std in (0.05, 0.1)
    ]  # fmt: skip
    assert np.round(sizes, 2).tolist() == [0.07, 0.14]


@CLAIMS.says(
    "minima", "the least eigenvalue is at least 0.00009",
    Change("perturbed-minima", "rows", 3, "least", times=0.1),
    Change("perturbed-minima", "rows", 3, "gradient", "minimum", to=1e-9),
)  # fmt: skip
def _() -> None:
    found = measured.load("perturbed-minima")["rows"]
    assert len(found) == 7
    assert all(row["gradient"]["minimum"] < 1e-12 for row in found)
    assert all(row["least"] > 9e-5 for row in found)
    (stored,) = measured.load("perturbed-network")["rows"]
    assert len(stored["minimum"]) == 555


@CLAIMS.says("saved", "and 489 times fewer for ResNet-50")
@CLAIMS.says("spent", "more numbers from 123 examples on than")
def _() -> None:
    with torch.device("meta"):
        net = models.resnet50()
    kinds = torch.nn.Linear, torch.nn.Conv2d
    shapes = [part.weight.shape for part in net.modules() if isinstance(part, kinds)]
    full = sum(shape.numel() for shape in shapes)
    pair = sum(n + m for n, m, *_ in shapes)
    assert round(full / pair) == 489 and 4 * 122 * pair < full < 4 * 123 * pair
    assert 50 * 50 / (50 + 50) == 25


@CLAIMS.says("mean", "score is 13 standard deviations long", rows("rank1", "means", 1.1, "halfway"))
def _() -> None:
    assert round(averaged("rank1", "means", 0.03, "halfway")) == 13


@CLAIMS.says("shifted", "The covariance is 46% off, and", rows("shifted", "distances", 1.1))
def _() -> None:
    found = [averaged("shifted", "distances", size) for size in (0.01, 0.03)]
    assert [f"{value:.0%}" for value in found] == ["46%", "46%"]


@CLAIMS.says("additive", "to every entry, is over 100% off", rows("additive", "distances", 0.8))
def _() -> None:
    assert averaged("additive", "distances", 0.03) > 1
    assert averaged("mean_field", "distances", 0.03) > 1


@CLAIMS.says(
    "law", "64% off there, and normal r and",
    rows("two_values", "distances", 1.1), rows("rank1", "distances", 0.9),
)  # fmt: skip
def _() -> None:
    found = [averaged(kind, "distances", 0.3) for kind in ("two_values", "rank1")]
    assert [f"{value:.0%}" for value in found] == ["64%", "43%"]


@CLAIMS.says("ex-row", "a correlation of 0.20")
@CLAIMS.says("ex-size", "The size is 0.22, between 0.1 and")
def _() -> None:
    found = separable(0.01 * np.eye(3), 0.04 * np.eye(2))
    variance = found[0, 0, 0, 0]
    correlations = found[0, 0, 0, 1], found[0, 0, 1, 0], found[0, 0, 1, 1]
    assert round(variance, 4) == 0.0504 and round(variance**0.5, 2) == 0.22
    assert np.round(np.array(correlations) / variance, 2).tolist() == [0.2, 0.79, 0]


@CLAIMS.says("ex-moment", "its covariances more than half")
def _() -> None:
    half = perturbed.first_score("halfway")
    kinds = perturbed.perturbation_laws(half.weight, 0.03, np.random.default_rng(3), 1000)
    g = [half(kinds[name]()).reshape(1000, -1) for name in ("mean_field", "rank1")]
    assert perturbed.distance(*(own.T @ own for own in g)) < 0.01
    assert perturbed.distance(*(np.cov(own, rowvar=False) for own in g)) > 0.5
