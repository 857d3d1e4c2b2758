"""What *Width or members* claims: by its proposition, its cells, and the tables of its runs."""

import itertools

import numpy as np
import torch

from ensedu import counting
from ensedu.book import measured
from ensedu.book.experiments import width as runs
from ensedu.book.experiments.width import ALIKE, MEMBERS, TASKS, chosen_rate, examples, network
from ensedu.running.machine import one_thread
from ensedu.theory import ntk
from tests.book.claiming import Change, Claims

BATCH, DEEP = "batch_ensemble", "deep_ensemble"
WIDTHS = TASKS["digits"].widths
PROTOCOL = "the protocol, which the experiment's tests hold"

CLAIMS = Claims(
    "theory/width-and-ensemble-size",
    unclaimed={
        "with two hidden layers of width 16 has": "a question",
        "mean of k_a over units, not be 0": "a proposition",
        "over all signs the mean 0 and": "a proposition",
        "have mean 0 and variance 1, and any": "a proof",
        "has mean 0 and variance": "a proof",
        "1,797 images of 8 × 8, ten": PROTOCOL,
        "three splits of 4,000 and 1,000": PROTOCOL,
        "two of 3 × 3 and a head": PROTOCOL,
        "500 steps (convolutions 300) of SGD": PROTOCOL,
        "Rates are 0.02, 0.06 or 0.18": PROTOCOL,
        "at width 64 or 8 channels": PROTOCOL,
        "We dropped a fourth rate, 0.007": PROTOCOL,
        "Intervals are 95%, over splits": PROTOCOL,
        "from N(1, 0.1²) members start": "an initialization",
    },
)


def changed(method: str, width: int, score: str, members: int, times: float, task="digits"):
    """Return a change of a score of some ensembles, on all splits."""
    where = {"task": task, "method": method, "width": width}
    return Change("width", "rows", where, score, MEMBERS.index(members), times=times)


def gap(width: int, members: int, score: str) -> dict:
    """Return what a BatchEnsemble has more than a deep ensemble, on digits."""
    rows = measured.load("width")["summary"]["gap"]["digits"]
    return measured.row(rows, width=width, members=members, score=score)


def differs(width: int, members: int, score: str, key: str, **to) -> Change:
    """Return a change of such a difference."""
    where = {"width": width, "members": members, "score": score}
    return Change("width", "summary", "gap", "digits", where, key, **to)


def best(task: str, method: str) -> dict[int, int]:
    """Return widths to the number of members with the least NLL."""
    nll = runs.means("nll")
    return {
        width: min(MEMBERS, key=lambda m: nll[task, method, width][m])
        for width in TASKS[task].widths
    }


def kernel(width: int, seed: int):
    """Return products of the gradients of eight members by all shared weights, before training."""
    net = network("digits", BATCH, width, 8, seed)
    shared = [net[layer].weight for layer in (0, 2, 4)]
    outputs = net(examples("digits", 0)[0][0][[seed]])[:, 0, seed]
    rows = [torch.autograd.grad(f, shared, retain_graph=True) for f in outputs]
    g = torch.stack([torch.cat([part.ravel() for part in row]) for row in rows])
    return (g @ g.T).double().numpy()


@CLAIMS.says("exact", "With random signs and one hidden layer what")
def _() -> None:
    """All signs of three members and three units, at two inputs, by the kernel of the package."""
    x, W = np.array([[1.0, 2], [2, 1]]), np.array([[1, -2, 3], [2, 0.5, -1]])
    w = np.array([1.0, 2, 3])
    z = x @ W / np.sqrt(2)
    on = (z > 0).all(axis=0)
    assert on.tolist() == [True, False, True]
    k = np.maximum(z, 0).prod(axis=0) + on * w**2 * (x[0] @ x[1]) / 2
    added = []
    for signs in itertools.product([-1.0, 1.0], repeat=9):
        u = np.reshape(signs, (3, 3))
        net = ntk.EmbeddedEnsemble([W, w[:, None]], [np.zeros(3)], [u], [np.ones((3, 3))])
        found = ntk.tangent(net, x).shared[..., 0, 1]
        added.append((found[0, 1] + found[0, 2]) / found[0, 0])
    assert abs(np.mean(added)) < 1e-12
    factor = np.sqrt(np.mean(k**2)) / abs(k.mean())
    assert np.isclose(np.sqrt(np.mean(np.square(added))), factor * np.sqrt(2 / 3))


@CLAIMS.says("half", "They contribute 2, 5, 0, 5, 10 and")
@CLAIMS.says("twice", r"unit twice it is smaller by \sqrt 2")
def _() -> None:
    W, w = np.array([1, 2, -1, 1, 3, 2]), np.array([1, -1, 2, 2, 1, -1])
    k = np.maximum(W, 0) ** 2 + (W > 0) * w**2
    assert k.tolist() == [2, 5, 0, 5, 10, 5]
    sizes = []
    for own in (k, np.repeat(k, 2)):
        signs = np.array([*itertools.product([-1, 1], repeat=len(own))])
        sizes.append(np.sqrt(np.mean(((signs * own).mean(axis=1) / own.mean()) ** 2)))
    assert round(sizes[0], 1) == 0.5
    assert np.isclose(sizes[0] / sizes[1], np.sqrt(2))


@CLAIMS.says("quarter", "At width 16 seven others add about")
@CLAIMS.says("sixteenth", "sixteen times the width it is about")
def _() -> None:
    size = {}
    with one_thread():
        for width in (16, 256):
            found = [kernel(width, seed) for seed in range(10)]
            added = [own.sum(axis=1) / own.diagonal() - 1 for own in found]
            size[width] = np.sqrt(np.mean(np.square(added)))
    assert 0.2 < size[16] < 0.3
    assert 3 < size[16] / size[256] < 6


@CLAIMS.says("question", "rises from 0.153 to 0.208", changed(BATCH, 16, "nll", 2, 1.05))
@CLAIMS.says("fits", "only 92.9% of its training images rightly",
             changed(BATCH, 16, "train_accuracy", 8, 1.01))  # fmt: skip
@CLAIMS.says("number", "members classify 98.4%, 96.2% and 92.9% of",
             changed(BATCH, 16, "train_accuracy", 4, 0.99),
             changed(BATCH, 16, "lr", 4, 3))  # fmt: skip
def _() -> None:
    nll = runs.means("nll")["digits", BATCH, 16]
    assert [round(nll[m], 3) for m in (2, 8)] == [0.153, 0.208]
    fits = runs.means("train_accuracy")["digits", BATCH, 16]
    assert [round(100 * fits[m], 1) for m in (2, 4, 8)] == [98.4, 96.2, 92.9]
    rates = runs.means("lr")["digits", BATCH, 16]
    assert np.allclose([rates[m] for m in (2, 4, 8)], 0.02)


@CLAIMS.says("training", "classifies 6.0 points fewer of its training",
             differs(16, 8, "train_accuracy", "difference", times=1.1),
             differs(16, 8, "train_accuracy", "verdict", to="unclear"))  # fmt: skip
@CLAIMS.says("summary", "width 16 are 6.0 points worse on their")
@CLAIMS.says("new", "On new images it is 6.2 points",
             differs(16, 8, "members_accuracy", "difference", times=0.9),
             differs(16, 8, "members_accuracy", "verdict", to=""))  # fmt: skip
@CLAIMS.says("ensemble", "ensemble's NLL is higher by 0.086",
             differs(16, 8, "nll", "difference", times=1.1),
             differs(32, 8, "nll", "verdict", to="worse"))  # fmt: skip
def _() -> None:
    for score, points in (("train_accuracy", -6.0), ("members_accuracy", -6.2)):
        row = gap(16, 8, score)
        assert (round(100 * row["difference"], 1), row["verdict"]) == (points, "worse")
    assert round(gap(16, 8, "nll")["difference"], 3) == 0.086
    rows = measured.load("width")["summary"]["gap"]["digits"]
    assert len(rows) == 80
    assert {(r["width"], r["members"], r["score"]) for r in rows if r["verdict"]} == {
        (16, 8, "members_accuracy"), (16, 8, "train_accuracy"),
    }  # fmt: skip


@CLAIMS.says("eighty", "Holm's correction over all 80 differences")
def _() -> None:
    scores = {row["score"] for row in measured.load("width")["summary"]["gap"]["digits"]}
    assert scores == {"accuracy", "nll", "members_accuracy", "train_accuracy"}
    assert len(WIDTHS) * len(MEMBERS) * len(scores) == 80


@CLAIMS.says("differ", "eight disagree 0.76 times as often",
             changed(BATCH, 16, "diversity", 8, 0.9), changed(DEEP, 16, "diversity", 8, 1.1),
             changed(BATCH, 16, "members_accuracy", 8, 1.1))  # fmt: skip
def _() -> None:
    # One member has none.
    rows = measured.load("width")["rows"]
    found = {
        method: np.mean([
            row["diversity"][-1] for row in rows
            if (row["task"], row["method"], row["width"]) == ("digits", method, 16)
        ])
        for method in (BATCH, DEEP)
    }  # fmt: skip
    assert {method: round(value, 2) for method, value in found.items()} == {BATCH: 0.76, DEEP: 0.52}
    single = runs.means("members_accuracy")
    assert single["digits", BATCH, 16][8] < single["digits", DEEP, 16][8]


@CLAIMS.says("wide", "classify more than 99.9% of their training",
             changed(BATCH, 128, "train_accuracy", 8, 0.999))  # fmt: skip
@CLAIMS.says("little", "From width 128 on there is little")
@CLAIMS.says("summary-little", "From width 128 on little is left",
             differs(128, 8, "train_accuracy", "difference", to=-0.02))  # fmt: skip
def _() -> None:
    fits = runs.means("train_accuracy")
    for width in (128, 256):
        assert min(fits["digits", method, width][8] for method in (BATCH, DEEP)) > 0.999
        assert abs(gap(width, 8, "train_accuracy")["difference"]) < 0.001
        assert not gap(width, 8, "nll")["verdict"]


@CLAIMS.says("carries", "two members at widths 16 and 32, of",
             changed(BATCH, 64, "nll", 4, 1.05), changed(BATCH, 256, "nll", 8, 1.2))  # fmt: skip
@CLAIMS.says("near", "Four members at width 32 are nearly as",
             changed(BATCH, 32, "nll", 4, 1.05))  # fmt: skip
@CLAIMS.says("doubling", "deep ensemble gains with every doubling, at every",
             changed(DEEP, 64, "nll", 8, 1.2))  # fmt: skip
def _() -> None:
    assert best("digits", BATCH) == {16: 2, 32: 2, 64: 4, 128: 8, 256: 8}
    nll = runs.means("nll")
    assert 0 < nll["digits", BATCH, 32][4] / nll["digits", BATCH, 32][2] - 1 < 0.02
    for (_, method, _), own in nll.items():
        if method == DEEP:
            assert [own[m] for m in MEMBERS] == sorted(own.values(), reverse=True)


@CLAIMS.says("alike", "take the part of the width, look",
             changed(BATCH, 16, "nll", 8, 0.8, "mnist5000"),
             changed(BATCH, 4, "nll", 8, 0.4, "convolution"))  # fmt: skip
def _() -> None:
    assert best("mnist5000", BATCH) == {16: 4, 64: 8, 256: 8}
    assert best("convolution", BATCH) == {4: 2, 8: 2, 16: 4}
    for task in ("mnist5000", "convolution"):
        assert TASKS[task].splits == 3
        assert not any(row["verdict"] for row in measured.load("width")["summary"]["gap"][task])


@CLAIMS.says("same", "as many parameters, to 1%, split by")
@CLAIMS.says("equal", "NLL all eight differences are unclear",
             Change("width", "summary", "equal", 0, "verdict", to="better"))  # fmt: skip
@CLAIMS.says("unclear", "Which is better is unclear here, and",
             Change("width", "summary", "equal", 3, "verdict", to="worse"))  # fmt: skip
def _() -> None:
    rows = measured.load("width")["summary"]["equal"]
    assert len(rows) == 8
    assert not any(row["verdict"] for row in rows)
    assert {(row["width"], row["than_members"]) for row in rows} == {
        (width, members) for width in (64, 256) for members in (1, 4)
    }
    for width, own in ALIKE.items():
        total = counting.mlp([64, width, width, 10], BATCH, 4).total
        for other, members in zip(own, (1, 4), strict=True):
            count = members * counting.mlp([64, other, other, 10]).total
            assert abs(count / total - 1) < 0.01


@CLAIMS.says("bill", "at width 256 need 3.8 times as many")
def _() -> None:
    assert ALIKE[256][1] == 117
    products = {h: 64 * h + h * h + 10 * h for h in (117, 256)}
    assert round(products[256] / products[117], 1) == 3.8


def survived(method: str, width: int) -> list[list[bool]]:
    """Return which numbers of members a rate of 0.18 left, a list a split."""
    rows = measured.load("width-tuning")["rows"]
    return [
        [value is not None for value in row["nll"]]
        for row in rows
        if (row["task"], row["method"], row["width"], row["lr"]) == ("digits", method, width, 0.18)
    ]


AT = {"task": "digits", "lr": 0.18}


@CLAIMS.says("high", "no BatchEnsemble of eight survived a rate",
             Change("width-tuning", "rows", AT | {"method": BATCH, "width": 64}, "nll", 3,
                    to=0.1))  # fmt: skip
@CLAIMS.says("every", "and from width 128 on this rate")
@CLAIMS.says("single", "at widths 16 and 32 not even",
             Change("width-tuning", "rows", AT | {"method": BATCH, "width": 32}, "nll", 0,
                    to=0.2))  # fmt: skip
def _() -> None:
    for width in WIDTHS:
        assert [own[-1] for own in survived(BATCH, width)] == [False, False]
        assert survived(DEEP, width) == [[True] * 4] * 2
    for width in (16, 32):
        assert [own[0] for own in survived(BATCH, width)] == [False, False]
    assert {chosen_rate("digits", DEEP, h, m) for h in (128, 256) for m in MEMBERS} == {0.18}


@CLAIMS.says("one", "is 1.3 points of accuracy below one",
             differs(256, 1, "accuracy", "difference", times=1.1),
             differs(256, 1, "accuracy", "verdict", to="worse"))  # fmt: skip
def _() -> None:
    row = gap(256, 1, "accuracy")
    assert (round(100 * row["difference"], 1), row["verdict"]) == (-1.3, "")
    rates = chosen_rate("digits", BATCH, 256, 1), chosen_rate("digits", DEEP, 256, 1)
    assert rates == (min(runs.RATES), max(runs.RATES))


@CLAIMS.says("ex-rule", "and h = 149.3: take 150")
@CLAIMS.says("ex-many", "eight members have 41,472 parameters, nearly four")
def _() -> None:
    assert round(7 * 64 / 3, 1) == 149.3
    assert counting.mlp([64, 150, 150, 10], "batch_ensemble", 8).total == 41_472
    assert counting.mlp([64, 64, 64, 10], "batch_ensemble", 4).total == 10_704
