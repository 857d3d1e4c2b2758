"""What *Rank-1 perturbations* claims: of covariances, by hand, and of trained networks."""

from itertools import product

import numpy as np

from ensedu.book import measured
from ensedu.book.experiments import perturbed
from ensedu.theory.perturbations import separable
from tests.book.claiming import Change, Claims

CLAIMS = Claims(
    "theory/rank-1-perturbations",
    unclaimed={
        "scales every entry by a number near": "what a perturbation is",
        "It is full if Z is drawn": "a definition",
        "Let L have bounded third derivatives, as": "a proposition",
        "be 1 plus or minus a number": "an example",
        "are independent with means 1 and finite": "a proposition",
        "then Z = 0 with probability 1": "a proposition",
        "with probability 1 all entries of a": "a proposition",
        "Subtract the means' product": "a proof",
        "has variance 0": "a proof",
        "and an entry's variance is 0": "a proof",
        "the mean is no longer near 0": "a proposition",
        "a mean of Z other than 0": "a proposition",
        "If Z has mean 0 and its fourth": "a proposition",
    },
)


def summed(kind: str, size: float, key: str = "mean", state: str = "minimum"):
    """Return an entry of the summary: a mean over seven networks, or whether it is resolved."""
    rows = measured.load("perturbed")["summary"][state]
    return measured.row(rows, kind=kind, scale=size)[key]


def summary(
    kind: str, size: float, key: str = "mean", *, state: str = "minimum", times=None, to=None
) -> Change:
    """Return a change of such an entry."""
    where = {"kind": kind, "scale": size}
    return Change("perturbed", "summary", state, where, key, times=times, to=to)


@CLAIMS.says("entries", "number near 1 of its own, 2,500")
@CLAIMS.says("vectors", "if you draw only 100 numbers, one")
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
@CLAIMS.says("still", "leaves the other 24 directions of V still")
def _() -> None:
    leading = separable(*perturbed.variances(np.ones((7, 5)), 1e-4)).reshape(35, 35) / 1e-8
    assert (np.linalg.eigvalsh(leading) > 1e-3).sum() == 7 + 5 - 1 == 35 - 24


@CLAIMS.says("hardly", "up and down, where rank-1 hardly does")
@CLAIMS.says("beyond", "to first order, and independent entries do")
def _() -> None:
    found = perturbed.clouds([0.03, 0.1])
    for own in found.values():
        full, pair, free = (points[:, 1].std() for points in own.values())
        assert max(full, pair) < 0.1 < 0.4 < free


@CLAIMS.says("network", "tanh, and noise moves the 7")
@CLAIMS.says("digits", "Each learned 256 digits down to a")
@CLAIMS.says(
    "sample", "and 5,000 draws of each kind",
    Change("perturbed", "settings", "draws", to=4000),
)  # fmt: skip
@CLAIMS.says(
    "minimum", "its 555 weights and biases has a norm",
    Change("perturbed", "rows", {"state": "minimum"}, "least", times=-1),
    Change("perturbed", "rows", {"state": "minimum"}, "gradient", to=1e-9),
)  # fmt: skip
def _() -> None:
    assert perturbed.SIZES == (64, 7, 5, 10)
    x, _ = perturbed.digits_of_part(0)
    score = perturbed.first_score("minimum")
    assert (len(x), score.weight.shape) == (256, (7, 5))
    assert len(perturbed.untrained_numbers(0)) == 555
    table = measured.load("perturbed")
    assert table["settings"]["draws"] == 5000
    assert len({row["number"] for row in table["rows"]}) == 7
    own = [row for row in table["rows"] if row["state"] == "minimum"]
    assert all(row["gradient"] < 1e-12 and row["least"] > 0 for row in own)


@CLAIMS.says(
    "halfway", "Halfway down, where the gradient is not",
    Change("perturbed", "rows", {"state": "halfway"}, "gradient", times=1e-9),
    summary("rank1", 0.1, "resolved", state="halfway", to=True),
)  # fmt: skip
def _() -> None:
    own = [row for row in measured.load("perturbed")["rows"] if row["state"] == "halfway"]
    assert all(row["gradient"] > 0.1 for row in own)
    told = [summed("rank1", size, "resolved", "halfway") for size in perturbed.SCALES]
    assert told == [False, False, False, True, True]


@CLAIMS.says(
    "unclear", "of full noise is: the difference is unclear",
    summary("rank1", 0.1, "resolved", to=True), summary("rank1", 0.03, "resolved", to=True),
)  # fmt: skip
def _() -> None:
    told = [summed("rank1", size, "resolved") for size in perturbed.SCALES]
    assert told == [False, False, False, True, True]


@CLAIMS.says("left", "is 5% at size 0.1 and 42%", summary("coupled", 0.3, times=1.1))
@CLAIMS.says("apart", "5% apart at size 0.1, and 42%", summary("coupled", 0.1, times=1.2))
@CLAIMS.says("ex-apart", "rank-1 and full were 5% and 42%")
def _() -> None:
    found = [summed("coupled", size) for size in (0.1, 0.3)]
    assert [f"{value:.0%}" for value in found] == ["5%", "42%"]


@CLAIMS.says("free", "over 100% off at the minima", summary("mean_field", 0.01, times=0.9))
@CLAIMS.says(
    "largest", "At size 1 neither is near",
    summary("rank1", 1.0, times=0.2), summary("mean_field", 1.0, times=0.2),
)  # fmt: skip
def _() -> None:
    assert min(summed("mean_field", size) for size in perturbed.SCALES[:4]) > 1
    assert min(summed(kind, 1.0) for kind in ("mean_field", "rank1")) > 0.3


@CLAIMS.says("priors", "Z has a size of 0.07 or")
def _() -> None:
    sizes = [
        separable(std**2 * np.eye(2), std**2 * np.eye(2))[0, 0, 0, 0] ** 0.5 for std in (0.05, 0.1)
    ]  # fmt: skip
    assert np.round(sizes, 2).tolist() == [0.07, 0.14]


@CLAIMS.says("ex-row", "a correlation of 0.20")
@CLAIMS.says("ex-size", "The size is 0.22, between 0.1 and")
def _() -> None:
    found = separable(0.01 * np.eye(3), 0.04 * np.eye(2))
    variance = found[0, 0, 0, 0]
    correlations = found[0, 0, 0, 1], found[0, 0, 1, 0], found[0, 0, 1, 1]
    assert round(variance, 4) == 0.0504 and round(variance**0.5, 2) == 0.22
    assert np.round(np.array(correlations) / variance, 2).tolist() == [0.2, 0.79, 0]


@CLAIMS.says("ex-dropout", "dropped entry has Z = -1 at every")
@CLAIMS.says("ex-tail", "its fourth moment is at least p")
def _() -> None:
    for p in (0.001, 0.01, 0.5):
        Z, chances = np.array([-1, 1 / (1 - p) - 1]), np.array([p, 1 - p])
        assert abs(chances @ Z) < 1e-15 and np.isclose(chances @ Z**2, p / (1 - p))
        assert chances @ Z**4 >= p
