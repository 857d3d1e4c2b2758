"""What *Which relatives do these methods have?* claims, by counts and the contest's tables."""

from ensedu import counting
from ensedu.book.experiments.contest import reading
from ensedu.book.experiments.contest.advice import price
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.theory.relatives import numbers
from tests.book.claiming import Change, Claims

PAPER = "how the method predicts, by its paper"
CLAIMS = Claims(
    "cost/relatives",
    unclaimed={
        "it gets the same input several times": PAPER,
        "wider layers are cut into members": PAPER,
        "a BatchEnsemble whose members have last": PAPER,
        "adds products of thin matrices to weights": PAPER,
        "where the learning rate has fallen": PAPER,
    },
)
NARROW, WIDE = [64, 64, 64, 10], [4096] * 4


def times(sizes: list[int], relative: str) -> float:
    """Return what four members keep, one network's parameters being 1."""
    return numbers(sizes, relative, 4).kept.total / counting.mlp(sizes).total


def row(task: str, contestant: str, *way: str, times: float) -> Change:
    """Return a change of a contestant's numbers in a task's table."""
    return Change(f"contest/{task}", "rows", {"contestant": contestant}, *way, times=times)


@CLAIMS.says("lora", "a layer they store 2.18 times as much")
@CLAIMS.says("lora-wide", "of 4,096 units a layer they store 2%")
@CLAIMS.says("lora-link", "four LoRA members add 2% to their")
def _() -> None:
    assert round(times(NARROW, "lora"), 2) == 2.18
    assert round(times(WIDE, "lora"), 2) == 1.02


@CLAIMS.says("rank", "matrices to them, here of rank 8")
@CLAIMS.says("thin", "of rank 8 has $8(m + n)$")
def _() -> None:
    """Four members of a layer add weights of rank 8, and nothing else."""
    for m, n in ((5, 11), (64, 10)):
        assert numbers([m, n], "lora", 4).trained.total == 4 * 8 * (m + n)
        parameters = counting.mlp([m, n], "batch_ensemble", 4).total
        assert parameters == m * n + 4 * (m + n) + 4 * n  # r and s, and a bias


@CLAIMS.says("swag", "so that it stores 22 times one")
@CLAIMS.says("summary-swag", "SWAG keeps 22 networks however wide")
def _() -> None:
    assert times(NARROW, "swag") == times(WIDE, "swag") == 1 + 1 + 20


@CLAIMS.says("tabm", "of these bring it to 1.37 times")
def _() -> None:
    assert round(times(NARROW, "tabm"), 2) == 1.37
    assert abs(times(WIDE, "tabm") - 2) < 0.01  # of three equal layers it has the last four times


@CLAIMS.says("covariance", "650² entries, so it stores 48 networks")
def _() -> None:
    assert 650 == 64 * 10 + 10
    assert numbers(NARROW, "laplace_last_layer", 4).kept.scales == 650**2
    assert round(times(NARROW, "laplace_last_layer")) == 48


@CLAIMS.says(
    "guide", "The guide has Laplace at 1.6, because",
    *(
        row(task, "laplace", "kept", times=8)
        for task in ("concrete", "wage", "credit", "digits", "leaves", "lenet")
    ),
)  # fmt: skip
def _() -> None:
    """Of one output the covariance of 51 parameters, of k Kronecker's factors, decomposed."""
    assert round(price("laplace").kept, 1) == 1.6
    for task in reading.tasks():
        own, single = (
            {row["kept"] for row in reading.rows(task) if row["contestant"] == name}
            for name in ("laplace", "single")
        )
        more = min(own) - min(single)
        assert max(own) - max(single) == more
        k = TASKS[task]().classes
        if not k:
            # The head of the variance, of 51 parameters, goes.
            assert more == 51**2 - 51
            continue
        width = {"mnist": 100, "lenet": 84}.get(task, 50)
        assert more == width * (width + 1) + 2 * k * (k + 1)


@CLAIMS.says("passes", "1 in all where only the last")
@CLAIMS.says("swag-passes", "fitted to the last steps of one training")
@CLAIMS.says("ivon-passes", "optimizer that keeps a variance for each")
def _() -> None:
    assert [price(name).passes for name in ("laplace", "swag", "ivon")] == [1, 32, 32]


@CLAIMS.says(
    "unclear",
    "each of them is unclear",
    row("mnist", "single", "scaled", "nll", times=0.5),
    row("lenet", "single", "scaled", "nll", times=0.5),
)
@CLAIMS.says(
    "summary-unclear", "contest knows three, and all are unclear",
    row("lenet", "laplace", "nll", times=2),
    row("lenet", "linear", "nll", times=2),
)  # fmt: skip
def _() -> None:
    found = reading.compared("nll", reading.SCALED)
    assert {found[name].word for name in ("swag", "laplace", "ivon")} == {"unclear"}
