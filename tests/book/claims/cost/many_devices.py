"""What *Many devices* claims: by the table of measured steps, by its cells, and by algebra."""

import itertools
from functools import cache
from typing import Any

import numpy as np

import ensedu.numpy as reference
from ensedu import counting
from ensedu.book import measured
from ensedu.book.figures.many_devices import Steps
from ensedu.torch.train.distributed import members_of
from tests.book.claiming import Change, Claims
from tests.book.conftest import ran

CLAIMS = Claims(
    "cost/many-devices",
    unclaimed={
        "with 25 million weights": "a question",
        "25 million numbers, at every step": "the question's number",
    },
)
METHODS = DEEP, SHARED, RANK1 = ("deep_ensemble", "batch_ensemble", "rank1")


def times(scaling: str, width: int, method: str) -> float:
    """Return how many times as long a step takes on two processes, in the median."""
    return Steps(measured.load("scaling")["rows"]).ratio(scaling, width, method)[1]


def row(scaling: str, width: int, method: str, processes: int) -> dict[str, Any]:
    """Return what was measured of a step."""
    where = {"scaling": scaling, "width": width, "method": method, "processes": processes}
    return measured.row(measured.load("scaling")["rows"], **where)


def of(scaling: str, width: int, method: str, factor: float, *way: str) -> Change:
    """Return a change of a step on two processes."""
    where = {"scaling": scaling, "width": width, "method": method, "processes": 2}
    return Change("scaling", "rows", where, *(way or ("step_ms", "median")), times=factor)


@cache
def cell() -> dict[str, Any]:
    """Return what the cell with the formula defines."""
    return ran(f"book/{CLAIMS.chapter}", "def left(", np=np, measured=measured)


def left(R: int, latency: float = 1e-5, way: str = "in a ring") -> int:
    """Return what the formula leaves with 1 GB a second, in percent."""
    return round(100 * cell()["left"](R, 1e9, latency, way))


@CLAIMS.says("half", "it saves almost half of the time", of("strong", 1024, DEEP, 1.2))
@CLAIMS.says(
    "third", "that share a weight save a third",
    of("strong", 1024, SHARED, 1.15), of("strong", 1024, RANK1, 1.15),
)  # fmt: skip
@CLAIMS.says(
    "nothing", "they save nothing, and at width 64",
    of("strong", 256, SHARED, 0.8), of("strong", 256, RANK1, 0.8),
)  # fmt: skip
@CLAIMS.says(
    "slower", "even slower on two processes than on one",
    of("strong", 64, SHARED, 0.5), of("strong", 64, RANK1, 0.5),
)  # fmt: skip
def _() -> None:
    assert 0.5 < times("strong", 1024, DEEP) < 0.6
    for method in (SHARED, RANK1):
        assert 0.6 < times("strong", 1024, method) < 0.7
        assert 1 <= times("strong", 256, method) < 1.1
        assert times("strong", 64, method) > 1.5


@CLAIMS.says("weak", "each process with a BatchEnsemble keeps 49%", of("weak", 256, SHARED, 1.05))
@CLAIMS.says("weak-deep", "with a deep ensemble 78%", of("weak", 256, DEEP, 1.05))
@CLAIMS.says("measured", "We measured 49", of("weak", 256, SHARED, 0.95))
@CLAIMS.says("fifth", "lost a fifth of its speed", of("weak", 256, DEEP, 1.1))
@CLAIMS.says(
    "gains-less",
    "gains less from a second device",
    of("weak", 256, SHARED, 0.5),
    of("strong", 1024, SHARED, 0.8),
)
def _() -> None:
    found = {method: 100 / times("weak", 256, method) for method in (SHARED, DEEP)}
    assert [round(value) for value in found.values()] == [49, 78]
    for scaling, width in itertools.product(("weak", "strong"), (64, 256, 1024)):
        assert times(scaling, width, SHARED) > times(scaling, width, DEEP)


@CLAIMS.says("sends-nothing", "so it sends nothing")
@CLAIMS.says("summary-nothing", "A deep ensemble sends nothing")
@CLAIMS.says("bytes", "The bytes are right", of("weak", 256, SHARED, 2, "payload_bytes"))
def _() -> None:
    for method in METHODS:
        for width in (64, 256, 1024):
            sent = row("weak", width, method, 2)["payload_bytes"]
            assert sent == 4 * counting.mlp([64, width, width, 10], method, 1).shared
            assert (sent == 0) == (method == DEEP)


@CLAIMS.says("no-latency", "79% of each device's speed are left")
@CLAIMS.says("ring", "a ring leaves 11%")
@CLAIMS.says("waits", "it has to wait 2,046 times")
@CLAIMS.says("halves", "By halves it waits only 20 times")
@CLAIMS.says("halves-left", "and 74% are left")
def _() -> None:
    assert [left(1024, latency=0), left(1024), left(1024, way="by halves")] == [79, 11, 74]
    assert (2 * 1023, 2 * np.log2(1024)) == (2046, 20)


@CLAIMS.says("full-speed", "a step takes 2.5 milliseconds on one process")
@CLAIMS.says(
    "ours",
    "where ours took 4.3",
    Change(
        "scaling",
        "rows",
        {"scaling": "weak", "width": 256, "method": SHARED, "processes": 1},
        "step_ms",
        "median",
        times=1.05,
    ),
)
@CLAIMS.says("projection", "says that a BatchEnsemble keeps 88%")
@CLAIMS.says("grew", "On two processes it took 4.5 more", of("weak", 256, SHARED, 1.1))
@CLAIMS.says(
    "reduce", "The all-reduce took 1.6 of them",
    of("weak", 256, SHARED, 1.1, "all_reduce_ms", "median"),
)  # fmt: skip
@CLAIMS.says("formula", "of them, where the formula says 0.36")
@CLAIMS.says("other", "The other 2.9 are not in the formula", of("weak", 256, SHARED, 1.05))
def _() -> None:
    assert left(2) == 88
    one, two = (row("weak", 256, SHARED, processes) for processes in (1, 2))
    grew, reduce = (
        two["step_ms"]["median"] - one["step_ms"]["median"],
        two["all_reduce_ms"]["median"],
    )
    assert [round(value, 1) for value in (grew, reduce, grew - reduce)] == [4.5, 1.6, 2.9]
    assert round(one["step_ms"]["median"], 1) == 4.3
    assert round(1e3 * cell()["operations"] / cell()["PEAK"], 1) == 2.5
    sending = 1e3 * (2 * 1e-5 + cell()["gradient"] / 1e9)
    assert round(sending, 2) == 0.36
    assert 4 < reduce / sending < 5


@CLAIMS.says("sum", "so the gradient by a shared weight is")
@CLAIMS.says("stays", "What belongs to one member stays where")
@CLAIMS.says("summary-sum", "so sums of parts add up to it")
@CLAIMS.says("clipped", "is that of one process's members, not")
@CLAIMS.says("fewer", "A member would have to be split")
def _() -> None:
    """With the reference layer and parts of its members; a clipped norm sees its part alone."""
    rng = np.random.default_rng(0)
    M, B, m, n = 4, 5, 2, 3
    whole = reference.BatchEnsembleLinear(m, n, M, rng=rng, init="normal")
    x, grad = rng.standard_normal((M, B, m)), rng.standard_normal((M, B, n)) / M

    def gradients_on(members: range) -> dict[str, np.ndarray]:
        part = reference.BatchEnsembleLinear(m, n, len(members), rng=rng)
        own = slice(members.start, members.stop)
        part.params = {
            name: value if name == "weight" else value[own] for name, value in whole.params.items()
        }
        part.forward(x[own])
        part.backward(grad[own])
        return part.grads

    whole.forward(x)
    whole.backward(grad)
    for R in (2, 3, 4):
        parts = [gradients_on(members_of(rank, R, M)) for rank in range(R)]
        summed = sum(part["weight"] for part in parts)
        assert np.allclose(summed, whole.grads["weight"], rtol=0, atol=1e-13)
        for name in ("r", "s", "bias"):
            together = np.concatenate([part[name] for part in parts])
            assert np.allclose(together, whole.grads[name], rtol=0, atol=1e-13)
    vectors = whole.grads["r"]
    limit = np.linalg.norm(vectors) / 2
    clipped = [
        np.concatenate(
            [part * min(1, limit / np.linalg.norm(part)) for part in np.split(vectors, k)]
        )
        for k in (1, 2)
    ]
    assert not np.allclose(*clipped, rtol=0.01)
    try:
        members_of(rank=0, ranks=8, ensemble_size=4)
    except ValueError as error:
        assert "one member for each of 8 processes" in str(error)
    else:
        raise AssertionError("spread further than one a device")


@CLAIMS.says("ex-bytes", "= 7 MB in 14 messages")
@CLAIMS.says("ex-members", "The number of members does not matter")
def _() -> None:
    G, R = 4 * counting.batch_ensemble(1000, 1000, ensemble_size=8).shared, 8
    assert G == 4 * counting.batch_ensemble(1000, 1000, ensemble_size=16).shared
    assert (G, 2 * (R - 1) * G // R, 2 * (R - 1)) == (4_000_000, 7_000_000, 14)
    assert np.isclose(14 * 1e-5 + 7e6 / 1e9, 7.14e-3)
