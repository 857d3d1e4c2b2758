"""What *Which ensemble holds how much?* claims, by counts and by what others published."""

from functools import cache, partial
from itertools import product

import numpy as np
import torch
from torch import nn

from ensedu import costs, counting
from ensedu import torch as et
from ensedu.methods import size_option
from ensedu.torch import models
from tests.book.claiming import Claims
from workshop.figures.counting import comparison

CLAIMS = Claims(
    "counting/comparison",
    unclaimed={
        "first layer, 1 channel to 6": "the cell below counts it",
        "which sets random units to": "what the method is",
        "so member 1 depends on member 2": "the folded check below shows it",
    },
)
says = CLAIMS.says
DEEP, BATCH, RANK1 = SHARING = comparison.SHARING[1:]
ROWS = comparison.cifar()
IMPROVED, CAUCHY, COPIES = (
    ROWS[name] for name in ("MC dropout, improved", "rank-1 BNN, Cauchy", "deep ensemble")
)
RESNET, WIDE = comparison.PUBLISHED
NETWORKS = {
    RESNET: models.resnet50,
    WIDE: partial(models.wide_resnet, 28, 10),
    "CIFAR-100": partial(models.wide_resnet, 28, 10, classes=100),
}


@cache
def counted(name: str, method: str = "single", members: int = 4) -> counting.Count:
    """Return the count of a network, without its memory, as a method."""
    with torch.device("meta"):
        model, size = NETWORKS[name](), size_option(method, members)
        return counting.count(et.ensemble(model, method, **size) if size else model)


def more(name: str, method: str, members: int = 4) -> tuple[int, int, float]:
    """Return what a method holds more than one network, that one, and their ratio."""
    one = counted(name).total
    added = counted(name, method, members).total - one
    return added, one, added / one


def totals(sizes: list[int], members: int = 4) -> list[int]:
    """Return what ensembles of these sizes hold."""
    return [counting.mlp(sizes, name, members).total for name in SHARING]


def rounded_otherwise() -> int:
    """Return how many published counts are not ours, rounded."""
    return sum(
        f"{counted(name, method).total / 1e6:.{len(known.partition('.')[2][:-1])}f}M" != known
        for name, published in comparison.PUBLISHED.items()
        for method, known in published.items()
        if known
    )


def follow_the_rule() -> bool:
    """Say whether sharing saves in those of 4,000 layers that the proposition names."""
    sizes, members = range(1, 11), (1, 2, 4, 16)
    for m, n, K, M in product(sizes, sizes, range(1, 6), members):
        deep, *others = (counting.layer(m, n, name, M, kernel_size=K).total for name in SHARING)
        left, right = M * (m + n), (M - 1) * m * n * K**2  # times M m n K², so nothing is rounded
        if [own < deep for own in others] != [left < right, 2 * left < right]:
            return False
    return True


def trained_bytes() -> tuple[float, float]:
    """Return the bytes of a number, and those that Adam keeps of it."""
    weight = nn.Parameter(torch.ones(7))
    adam = torch.optim.Adam([weight])
    weight.sum().backward()
    adam.step()
    held = [weight, weight.grad, *(v for v in adam.state[weight].values() if v.shape == (7,))]
    return weight.element_size(), sum(own.nbytes for own in held) / 7


def fitting() -> np.ndarray:
    """Return how many members of each ensemble fit into the exercise's 20 MB."""
    one, two = (np.array(totals([1, 1000, 1000, 1], members)) for members in (1, 2))
    return (20_000_000 // 4 - (2 * one - two)) // (two - one)


says("12,000,004 numbers against 14,000,012", lambda: totals([1, 10**6, 1])[:2])
says("Sharing saves if and only if", follow_the_rule)
says("published figures but one: 102.4M", lambda: (
    rounded_otherwise(), 4 * round(counted(RESNET).total / 1e6, 1)
))  # fmt: skip
says("four times the rounded 25.6M", lambda: counted(RESNET).total / 1e6)
says("104,278 of 25,557,032 numbers or 0.41%", lambda: more(RESNET, RANK1, 1))
says("ten add 4.1%", lambda: more(RESNET, RANK1, 10)[2])
says("share, 36,470,208, include the 8,976 scales", lambda: (
    counted(WIDE, BATCH).shared, counted(WIDE, BATCH).shared - counted(WIDE, "mean_field").scales
))  # fmt: skip
says("from 0.875 to 0.690 with 0.2% more", lambda: (
    ROWS["deterministic"]["NLL"], ROWS["BatchEnsemble"]["NLL"], more("CIFAR-100", BATCH)[2]
))  # fmt: skip
says("the deep ensemble to 0.666 with four", lambda: (COPIES["NLL"], COPIES["millions"] / 36.5))
says("do not rank 0.689, 0.690 and 0.692", lambda: sorted({
    row["NLL"] for row in ROWS.values() if 0.688 < row["NLL"] < 0.693
}))  # fmt: skip
says("MC dropout, improved, has the lowest NLL", lambda: ROWS[comparison.best("NLL")] == IMPROVED)
says("0.637, with one network's numbers, but 30 passes", lambda: (
    IMPROVED["NLL"], IMPROVED["millions"] / ROWS["deterministic"]["millions"], IMPROVED["passes"]
))  # fmt: skip
says("takes 16, the deep ensemble 4", lambda: (CAUCHY["passes"], COPIES["passes"]))
says("lower NLL and a higher accuracy than", lambda: (
    CAUCHY["c-NLL"] < COPIES["c-NLL"] and CAUCHY["c-accuracy"] > COPIES["c-accuracy"]
))  # fmt: skip
says("is right: 0.142 against 0.138", lambda: (CAUCHY["c-error"], COPIES["c-error"]))
says(["4 bytes to store and, with Adam, 16", "4 bytes to store and 16 to train"], trained_bytes)
says("as many operations as a deep ensemble's, 640,000", lambda: [
    *{costs.layer(50, 50, name, 4, batch_size=32).product_flops for name in (DEEP, BATCH)}
])  # fmt: skip
says("10,804 numbers in a deep ensemble, 3,812", lambda: totals([1, 50, 50, 1])[:2])
says("4,620 in a rank-1 BNN", lambda: totals([1, 50, 50, 1])[2])
says("one network has 2,701", lambda: counting.mlp([1, 50, 50, 1]).total)
says("of the deep ensemble, 0.375 here", lambda: np.divide(*(
    counting.layer(100_000, 8, name, 4, bias=False).total for name in (BATCH, DEEP)
)))  # fmt: skip
says("Four members of a deep ensemble, 666 of", lambda: fitting()[:2])
says("399 of a rank-1 BNN", lambda: fitting()[2])
