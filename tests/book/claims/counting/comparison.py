"""What *Which ensemble holds how much?* claims, by counts and by what others published."""

import itertools

import pytest
import torch
from torch import nn

from ensedu import costs, counting
from ensedu import torch as et
from ensedu.book.figures import comparison
from ensedu.methods import size_option
from ensedu.torch import models
from tests.book.claiming import Claims

CLAIMS = Claims(
    "counting/comparison",
    unclaimed={
        "first layer, 1 channel to 6": "the cell below counts it",
        "which sets random units to": "what the method is",
        "so member 1 depends on member 2": "the folded check below shows it",
    },
)


def converted(model: nn.Module, method: str, members: int = 4) -> counting.Count:
    """Return the count of a model as a method."""
    size = size_option(method, members)
    return counting.count(et.ensemble(model, method, **size) if size else model)


def on_paper(maker, *sizes: int, **options) -> nn.Module:
    """Return a model without memory."""
    with torch.device("meta"):
        return maker(*sizes, **options)


@CLAIMS.says("million", "12,000,004 numbers against 14,000,012")
def _() -> None:
    for method, total in (("deep_ensemble", 12_000_004), ("batch_ensemble", 14_000_012)):
        assert counting.mlp([1, 10**6, 1], method, 4).total == total


@CLAIMS.says("counts", "10,804 numbers in a deep ensemble, 3,812")
def _() -> None:
    found = comparison.Totals().of(50, 2, 4)
    assert [found[name].total for name in comparison.SHARING] == [2701, 10_804, 3812, 4620]


@CLAIMS.says("sharing", "Sharing saves if and only if")
def _() -> None:
    """In 4,000 shapes; times M m n K², so that no division can round."""
    sizes = range(1, 11)
    for m, n, K, M in itertools.product(sizes, sizes, range(1, 6), (1, 2, 4, 16)):
        deep, *shared = (
            counting.layer(m, n, name, ensemble_size=M, kernel_size=K).total
            for name in ("deep_ensemble", "batch_ensemble", "rank1")
        )
        for times, own in enumerate(shared, 1):
            assert (own < deep) == (times * M * (m + n) < (M - 1) * m * n * K**2)


@CLAIMS.says("rounded", "102.4M is four times the rounded 25.6M")
@CLAIMS.says("shared", "share, 36,470,208, include the 8,976 scales")
def _() -> None:
    odd = []
    networks = {
        "ResNet-50": on_paper(models.resnet50), "WRN-28-10": on_paper(models.wide_resnet, 28, 10),
    }  # fmt: skip
    for name, published in comparison.PUBLISHED.items():
        for method, rounded in published.items():
            if rounded:
                digits = len(rounded.rstrip("M").partition(".")[2])
                ours = converted(networks[name], method).total / 1e6
                odd += [(name, method)] * (f"{ours:.{digits}f}M" != rounded)
    assert odd == [("ResNet-50", "deep_ensemble")]
    assert f"{4 * 25.6:.1f}" == "102.4"
    wide = networks["WRN-28-10"]
    norms = [each.weight.numel() for each in wide.modules() if isinstance(each, nn.BatchNorm2d)]
    weights = converted(wide, "mean_field").scales  # one for each weight
    assert sum(norms) == 8976
    assert converted(wide, "batch_ensemble").shared == 36_470_208 == weights + sum(norms)


@CLAIMS.says("component", "104,278 of 25,557,032 numbers or 0.41%")
def _() -> None:
    resnet = on_paper(models.resnet50)
    one = counting.count(resnet).total
    more = [converted(resnet, "rank1", M).total - one for M in (1, 10)]
    assert (one, more[0]) == (25_557_032, 104_278)
    assert [f"{100 * each / one:.2g}" for each in more] == ["0.41", "4.1"]


@CLAIMS.says("cifar", "0.875 to 0.690 with 0.2% more")
@CLAIMS.says("seeds", "do not rank 0.689, 0.690 and 0.692")
@CLAIMS.says("passes", "MC dropout, improved, has the lowest NLL")
@CLAIMS.says("passes-of-others", "takes 16, the deep ensemble 4")
def _() -> None:
    rows = comparison.cifar()
    nll = {name: row["NLL"] for name, row in rows.items()}
    names = ("deterministic", "BatchEnsemble", "deep ensemble")
    assert [nll[name] for name in names] == [0.875, 0.690, 0.666]
    wide = on_paper(models.wide_resnet, 28, 10, classes=100)
    more = converted(wide, "batch_ensemble").total / counting.count(wide).total - 1
    assert f"{more:.1%}" == "0.2%"
    near = [nll[name] for name in nll if 0.688 < nll[name] < 0.693]
    assert {*near} == {0.689, 0.690, 0.692}
    assert min(nll, key=nll.get) == "MC dropout, improved"
    lowest = rows["MC dropout, improved"]
    assert (lowest["NLL"], lowest["passes"]) == (0.637, 30)
    assert lowest["millions"] == rows["deterministic"]["millions"]
    assert rows["rank-1 BNN, Cauchy"]["passes"] == 16
    assert rows["deep ensemble"]["passes"] == 4


@CLAIMS.says("corrupted", "0.142 against 0.138, and 0.090 against")
def _() -> None:
    """Corrupted images of CIFAR-100, and as published of CIFAR-10."""
    rows = comparison.cifar()
    pairs = [
        [[rows[name][f"c-{score}"] for score in ("NLL", "accuracy", "error")]
         for name in ("rank-1 BNN, Cauchy", "deep ensemble")],
        [[0.74, 80.5, 0.090], [0.81, 77.9, 0.087]],
    ]  # fmt: skip
    assert [row[2] for row in pairs[0]] == [0.142, 0.138]
    for ours, deep in pairs:
        assert ours[0] < deep[0] and ours[1] > deep[1] and ours[2] > deep[2]


@CLAIMS.says("bytes", "with Adam, 16 to train: itself")
@CLAIMS.says("bytes-again", "16 to train with Adam")
def _() -> None:
    weight = nn.Parameter(torch.ones(7))
    adam = torch.optim.Adam([weight])
    weight.sum().backward()
    adam.step()
    held = [weight, weight.grad, *(v for v in adam.state[weight].values() if v.shape == (7,))]
    assert weight.element_size() == 4
    assert sum(each.nbytes for each in held) == 16 * 7


@CLAIMS.says("operations", "640,000 for 50 → 50, four members")
def _() -> None:
    for method in ("deep_ensemble", "batch_ensemble"):
        assert costs.layer(50, 50, method, 4, batch_size=32).product_flops == 640_000


@CLAIMS.says("refused", "Ours raises an error instead, which names")
def _() -> None:
    model = nn.Sequential(nn.ParameterList([torch.ones(8, 8)]), nn.Linear(8, 8))
    with pytest.raises(ValueError, match="0.0 .*shared.*modulated"):
        et.ensemble(model, "batch_ensemble", 4)


@CLAIMS.says("ex-thin", "of the deep ensemble, 0.375 here")
@CLAIMS.says("ex-eighth", "it is never below an eighth")
def _() -> None:
    for M, ratio in ((4, 0.375), (10_000, 0.1251)):
        deep, batch = (
            counting.layer(100_000, 8, method, M, bias=False).total
            for method in ("deep_ensemble", "batch_ensemble")
        )
        assert round(batch / deep, 4) == ratio > 1 / 8


@CLAIMS.says("ex-fit", "666 of a BatchEnsemble, 399 of a rank-1")
def _() -> None:
    for method, most in (("deep_ensemble", 4), ("batch_ensemble", 666), ("rank1", 399)):
        last, more = (
            4 * counting.mlp([1, 1000, 1000, 1], method, M).total for M in (most, most + 1)
        )
        assert last <= 20_000_000 < more
    assert counting.mlp([1, 1000, 1000, 1]).total == 1_004_001
