"""What the first page claims, by the counts and the contest of its chapters."""

import numpy as np

from ensedu import counting
from ensedu.data import gap
from tests.book.claiming import Claims, entry
from tests.book.claims.counting.comparison import BATCH, DEEP, WIDE, counted, more
from tests.book.claims.learning.shootout import TASKS

CLAIMS = Claims("intro", unclaimed={
    "a name": ["from 1-50-50-1 to ResNet-50"],
    "a plan": ["three lessons of 45 minutes"],
})  # fmt: skip
says = CLAIMS.says


def costs_always(method: str) -> set[float]:
    """Return what four members cost more than one network, of networks of many sizes."""
    sizes = [[1, width, *[width] * depth, 1] for width in (2, 5, 50) for depth in (0, 1, 3)]
    ones = (counting.mlp(own, "single").total for own in sizes)
    return {
        counting.mlp(own, method, 4).total / one - 1 for own, one in zip(sizes, ones, strict=True)
    }


def apart(contestant: str, *, in_gap: bool = True) -> float:
    """Return how far four learned curves lie apart on average, in the gap or where points are."""
    table = "running-example-curves"
    x = np.linspace(*(entry(table, "settings", key) for key in ("low", "high", "number")))
    ((low, high),) = gap.gaps
    curves = np.array(entry(table, "rows", {"contestant": contestant}, "members"))
    where = (low < x) & (x < high)
    if not in_gap:
        seed = entry(table, "settings", "data_seed")
        points = gap.sample(np.random.default_rng(seed))[0]
        where = ~where & (points.min() <= x) & (x <= points.max())
    return curves[:, where].std(axis=0).mean()


says(
    "these curves lie nearer to each other",
    lambda: apart("batch_ensemble_normal") < 0.5 * apart("deep_ensemble"),
)
says(
    "one about as much as in the gap",
    lambda: 0.9 < apart("mean_field") / apart("mean_field", in_gap=False) < 1.1,
)
says(
    "two stops the curves spread more at the",
    lambda: (
        min(apart(name, in_gap=False) for name in ("rank1", "mean_field"))
        > 1.2 * max(apart(name, in_gap=False) for name in (DEEP, "batch_ensemble_normal"))
    ),
)
FIRST = 1, 50
says("With 50 hidden units r and s are", lambda: FIRST[1])
says(
    "51 numbers there, the matrix that they",
    lambda: counting.layer(*FIRST, BATCH, 1, bias=False).total - np.prod(FIRST),
)
says(
    "that they replace has 50, and W comes",
    lambda: counting.layer(*FIRST, "single", bias=False).total,
)
says("always costs 300% more parameters", lambda: [*costs_always(DEEP)])
says("wide matrices and 36.5 million parameters, a", lambda: counted(WIDE).total / 1e6)
says("of four costs 0.2% more", lambda: more(WIDE, BATCH))
says(
    "than the deep ensemble, at every width",
    lambda: all(
        np.less(*(counting.mlp([1, width, 1], name, 4).total for name in (DEEP, BATCH)))
        for width in range(1, 999)
    ),
)
says("methods on data from 18 sources", lambda: len({task().source for task in TASKS.values()}))
