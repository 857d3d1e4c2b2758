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
from workshop.experiments.contest.reading import compared as contest
from workshop.figures.counting import comparison

CLAIMS = Claims("counting/comparison", unclaimed={
    "the cell below counts it": ["writes 6, with kernels of 5 × 5"],
})  # fmt: skip
says = CLAIMS.says
DEEP, BATCH, RANK1 = SHARING = comparison.SHARING[1:]
RESNET, WIDE = comparison.PUBLISHED
NETWORKS = {RESNET: models.resnet50, WIDE: partial(models.wide_resnet, 28, 10)}


@cache
def counted(name: str, method: str = "single", members: int = 4) -> counting.Count:
    """Return the count of a network, without its memory, as a method."""
    with torch.device("meta"):
        model, size = NETWORKS[name](), size_option(method, members)
        return counting.count(et.ensemble(model, method, **size) if size else model)


def more(name: str, method: str, members: int = 4) -> float:
    """Return what a method stores more than one network, as a part of that."""
    return counted(name, method, members).total / counted(name).total - 1


def totals(sizes: list[int], members: int = 4) -> list[int]:
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


def largest(depths: range) -> bool:
    """Say whether the deep ensemble is the largest at the chart's widths."""
    chart = [totals([1, *[h] * depth, 1]) for h in (50, 500, 1000) for depth in depths]
    return all(own[0] > max(own[1:]) for own in chart)


def at_the_end(method: str) -> float:
    """Return what nine hidden layers of 1,000 units store, as a multiple of one network."""
    sizes = [1, *[1000] * 9, 1]
    return counting.mlp(sizes, method, 4).total / counting.mlp(sizes).total


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


# fmt: off
says("10,804 parameters as a deep ensemble, 4,620 as",
     lambda: [totals([1, 50, 50, 1])[k] for k in (0, 2)])
says("and 3,812 as a BatchEnsemble: press", lambda: totals([1, 50, 50, 1])[1])
says("12,000,004 parameters against 14,000,012", lambda: totals([1, 10**6, 1])[:2])
says("is the smallest of the three at every",
     lambda: all(deep < min(others)
         for deep, *others in (totals([1, h, 1]) for h in range(1, 999))))
says("deep ensemble becomes the largest of the three", lambda: largest(range(2, 10)))
says("store 1.01 times what one network stores", lambda: at_the_end(BATCH))
says("With 1,000 units and nine hidden layers", lambda: 1000)
says("in groups, sharing saves if and only if", follow_the_rule)
says("count of a ResNet-50 is 102.2 million", lambda: counted(RESNET, DEEP).total / 1e6)
says("published 102.4 is four times 25.6, so",
     lambda: (4 * round(counted(RESNET).total / 1e6, 1), counted(RESNET).total / 1e6))
says("published counts but one agree with ours", rounded_otherwise)
says("has a little less than twice the parameters",
     lambda: all(0.99 < counted(name, "mean_field").total / counted(name).total / 2 < 1
         for name in NETWORKS))
says("cost 300% more as a deep ensemble, and", lambda: more(WIDE, DEEP))
says("and 0.2% more as a BatchEnsemble, because", lambda: more(WIDE, BATCH))
says("precision takes 4 bytes to store", lambda: trained_bytes()[0])
says("train it with Adam takes 16: the parameter", lambda: trained_bytes()[1])
says("takes 4 bytes to store, and 16 to", trained_bytes)
says("a rank-1 BNN of four runs 64, and", lambda: 4 * 16)
says("or a BatchEnsemble of four runs 4", lambda: 4)
says("take as many operations as those of a",
     lambda: len({costs.layer(50, 50, name, 4, batch_size=32).product_flops for name in (DEEP,
         BATCH)}) == 1)
says("small networks learned from 18 sources of data", lambda: len(contest()[DEEP].sources))
says("members were better than one network, both as",
     lambda: {contest()[name].word for name in (DEEP, BATCH)} == {"better"})
says("a rank-1 BNN it is unclear", lambda: contest()[RANK1].word == "unclear")
says("10,804 parameters as a deep ensemble, 3,812 as", lambda: totals([1, 50, 50, 1])[:2])
says("and 4,620 as a rank-1 BNN", lambda: totals([1, 50, 50, 1])[2])
says("One network has 2,701", lambda: counting.mlp([1, 50, 50, 1]).total)
says("of the deep ensemble, here 0.375",
     lambda: np.divide(*(counting.layer(100_000, 8, name, 4, bias=False).total for name in (BATCH,
         DEEP))))
says("Four members of a deep ensemble fit, 666", lambda: fitting()[:2])
says("or 399 of a rank-1 BNN", lambda: fitting()[2])
