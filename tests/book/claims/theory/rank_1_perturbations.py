"""What *Rank-1 perturbations* claims: of covariances, by hand, and of trained networks."""

import numpy as np

from ensedu.theory.perturbations import hessian, sample_covariance, separable
from tests.book.claiming import Claims, entry, every
from tests.book.conftest import ran
from workshop.experiments import perturbed

CLAIMS = Claims("theory/rank-1-perturbations", unclaimed={
    "an example": ["be 1 plus or minus a number", "with z either 0.1 or", "is 6 + 0.6 or",
        "from a normal distribution with standard"],
    "a proof": ["Subtract the means' product", "and an entry's variance is 0"],
    "a theorem": ["has mean 0 and fourth moments of"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
CELL = ran(f"book/{CLAIMS.chapter}", "variances of entries of r, and of s")


def summed(kind: str, *sizes: float, key: str = "mean", state: str = "minimum") -> list:
    """Return means over seven networks at these sizes, or whether they are resolved."""
    return [
        entry("perturbed", "summary", state, {"kind": kind, "scale": one}, key) for one in sizes
    ]


def of_rows(state: str, key: str) -> list[float]:
    return every("perturbed", "rows", {"state": state}, key)


def differs(state: str = "minimum") -> list[bool]:
    return summed("rank1", *perturbed.SCALES, key="resolved", state=state)


def apart(size: float, straight: bool = False) -> float:
    """Return how far rank-1 is from its twin at the first minimum, or under its tangent."""
    score = perturbed.first_score("minimum")
    slope = hessian(score, score.weight)
    found = [
        np.cov((V - score.weight).reshape(len(V), -1) @ slope, rowvar=False)
        if straight else sample_covariance(score(V))
        for V in perturbed.coupled_draws(score.weight, size, np.random.default_rng(0), 1000)
    ]  # fmt: skip
    return perturbed.distance(found[1], found[0])


def still() -> int:
    """Return how many of 35 directions small noise in rows and columns does not reach."""
    leading = separable(*perturbed.variances(np.ones((7, 5)), 1e-4)).reshape(35, 35) / 1e-8
    return (np.linalg.eigvalsh(leading) < 1e-3).sum()


def moments(p: float, q: float) -> list[float]:
    """Return an entry's size, and how it correlates with its row, its column and others."""
    found = separable(p * np.eye(2), q * np.eye(2))[0, 0].ravel()
    return [found[0] ** 0.5, *found[1:] / found[0]]


# fmt: off
says("of its own, 2,500 in all", lambda: 50 * 50)
says("if you draw only 100 numbers, one for", lambda: 50 + 50)
says(["up and down, where rank-1 hardly does", "to first order, but independent entries do"],
     lambda: all(max(full, pair) < 0.1 < 0.4 < free for full, pair, free in (
         [points[:, 1].std() for points in own.values()]
         for own in perturbed.clouds([0.03, 0.1]).values())), "so it is with any weights")
says("only 16 equally likely draws", lambda: len(CELL["Z"]))
says("of a column only if q is 0",
     lambda: [*CELL["C"][0, 1:]] == [CELL["p"], CELL["q"], 0])
says("V in m + n - 1 directions", lambda: 7 + 5 - (35 - still()))
says("it is 99 directions of 2,500", lambda: (50 + 50 - 1, 50 * 50))
says("The other 24 directions of V stand", still)
says("networks are 64-7-5-10 with tanh", lambda: perturbed.SIZES)
says("Each was trained on 256 digits, down", lambda: len(perturbed.digits_of_part(0)[0]))
says("all 555 weights and biases has a norm", lambda: len(perturbed.untrained_numbers(0)))
says("and all eigenvalues of the Hessian are above",
     lambda: max(of_rows("minimum", "gradient")) < 1e-12 and min(of_rows("minimum", "least")) > 0)
says("Now take seven networks, on parts of", lambda: len({*of_rows("minimum", "number")}))
reads("There are 5,000 draws of each kind", "perturbed", "settings", "draws")
says("difference is unclear, at the minima and halfway",
     lambda: differs() == differs("halfway") == [False, False, False, True, True])
says(["by 5% at size 0.1, and by 42%", "5% apart at size 0.1, and 42%"],
     lambda: (*summed("coupled", 0.1), 0.1, *summed("coupled", 0.3)))
says("twin were 5% and 42% apart there", lambda: summed("coupled", 0.1, 0.3))
says("s typically miss 1 by 0.07",
     lambda: (1, perturbed.variances(np.ones((7, 5)), 0.1)[0][0, 0] ** 0.5))
says("+ 0.07 + 0.07 + 0.005, rounded", lambda: (*np.sqrt([0.005, 0.005]), 0.07**2))
says("straight line this would change nothing, because",
     lambda: all(apart(size, straight=True) < 0.1 * apart(size) for size in (0.1, 0.3)),
     "so it is with any weights")
says("with three times the size, about nine times",
     lambda: 7 < np.divide(*summed("coupled", 0.3, 0.1)) < 10)
says("not zero, the two are even closer",
     lambda: min(of_rows("halfway", "gradient")) > 0.1 and all(np.less(
         *(summed("coupled", *perturbed.SCALES, state=one) for one in ("halfway", "minimum")))))
says("over 100% off at the minima", lambda: min(summed("mean_field", *perturbed.SCALES[:4])) > 1)
says("size 1, far from small, rank-1 is further",
     lambda: summed("coupled", 1.0) > summed("mean_field", 1.0))
says("Z has a size of 0.07 or 0.14", lambda: [moments(s**2, s**2)[0] for s in (0.05, 0.1)])
says("a correlation of 0.20; in a column", lambda: moments(0.1**2, 0.2**2)[1])
says("or 0.79; elsewhere 0", lambda: moments(0.1**2, 0.2**2)[2:])
says("The size is 0.22, between 0.1 and 0.3",
     lambda: np.sort([moments(0.1**2, 0.2**2)[0], *perturbed.SCALES])[[3, 2, 4]])
