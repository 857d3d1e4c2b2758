"""What *Width or members* claims: by its proposition, its cells, and the tables of its runs."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np

from ensedu import counting
from ensedu.theory import ntk
from tests.book.claiming import Change, Claims
from tests.book.conftest import ran, read
from workshop import measured
from workshop.experiments import width as runs
from workshop.experiments.width import ALIKE, MEMBERS, TASKS, chosen_rate
from workshop.running.machine import one_thread

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
says, reads = CLAIMS.says, CLAIMS.reads
K = ran("book/theory/embedded-ensembles", "make the second row of u all ones")["by_unit"]


def way(method: str, width: int, score: str, members: int, task: str = "digits") -> tuple[Any, ...]:
    """Return the way to a score of some ensembles, on all splits."""
    where = {"task": task, "method": method, "width": width}
    return "width", "rows", where, score, MEMBERS.index(members)


def gap(width: int, members: int, score: str) -> tuple[Any, ...]:
    """Return the way to what a BatchEnsemble has more than a deep ensemble, on digits."""
    where = {"width": width, "members": members, "score": score}
    return "width", "summary", "gap", "digits", where, "difference"


def told() -> set[tuple[int, int, str]]:
    """Return the widths, members and scores of the differences that are clear."""
    rows = measured.load("width")["summary"]["gap"]["digits"]
    return {(row["width"], row["members"], row["score"]) for row in rows if row["verdict"]}


def carried(task: str = "digits") -> dict[int, int]:
    """Return widths to the number of members with which a BatchEnsemble has the least NLL."""
    nll = runs.means("nll")
    return {h: min(MEMBERS, key=nll[task, BATCH, h].get) for h in TASKS[task].widths}


def less(found: float) -> float:
    """Return points of accuracy."""
    return -100 * found


def alike() -> list[str]:
    """Return the words of the differences with as many parameters."""
    return [row["verdict"] for row in measured.load("width")["summary"]["equal"]]


def survived(method: str, members: int, *widths: int) -> set[bool]:
    """Return whether ensembles survived a rate of 0.18 in tuning on digits."""
    where = {"task": "digits", "method": method, "lr": 0.18}
    rows = measured.load("width-tuning")["rows"]
    return {row["nll"][MEMBERS.index(members)] is not None for row in rows
            if where.items() <= row.items() and row["width"] in (widths or WIDTHS)}  # fmt: skip


def lost(method: str, members: int, width: int) -> Change:
    """Return that they did."""
    where = {"task": "digits", "method": method, "lr": 0.18, "width": width}
    return Change("width-tuning", "rows", where, "nll", MEMBERS.index(members), to=0.1)


def follows_the_proposition() -> bool:
    """Say whether it holds for all signs of three members and three units, at two inputs."""
    x, W = np.array([[1.0, 2], [2, 1]]), np.array([[1, -2, 3], [2, 0.5, -1]])
    w, z, added = np.array([1.0, 2, 3]), x @ W / np.sqrt(2), []
    k = np.maximum(z, 0).prod(axis=0) + (z > 0).all(axis=0) * w**2 * (x[0] @ x[1]) / 2
    for signs in product([-1.0, 1.0], repeat=9):
        layers = [W, w[:, None]], [np.zeros(3)], [np.reshape(signs, (3, 3))], [np.ones((3, 3))]
        found = ntk.tangent(ntk.EmbeddedEnsemble(*layers), x).shared[0, :, 0, 1]
        added.append(found[1:].sum() / found[0])
    size = np.sqrt(np.mean(k**2)) / abs(k.mean()) * np.sqrt(2 / 3)
    return np.allclose([np.mean(added), np.std(added)], [0, size])


def pushed(k: np.ndarray) -> float:
    """Return what one other member adds, root mean square over all signs."""
    signs = np.array([*product([-1, 1], repeat=len(k))])
    return np.sqrt(np.mean(((signs * k).mean(axis=1) / k.mean()) ** 2))


@cache
def others(width: int) -> float:
    """Return what seven others add before training, by the page's own kernel."""
    cells = [cell.source for cell in read(f"book/{CLAIMS.chapter}").cells]
    names: dict[str, Any] = {"runs": runs, "np": np}
    exec(next(cell for cell in cells if "\ndef kernel(" in cell), names)
    with one_thread():
        found = [names["others"](names["kernel"](width, seed), 8) for seed in range(10)]
    return np.sqrt(np.mean(np.square(found)))


def total(method: str, width: int, members: int) -> int:
    return counting.mlp([64, width, width, 10], method, members).total


says("hidden layer the answer is exact, at any", follows_the_proposition)
says("contribute 2, 5, 0, 5, 10 and 5", lambda: K)
says("square) half of a member's own", lambda: pushed(K))
says("unit twice it is smaller by \\sqrt 2",
     lambda: np.isclose(pushed(K) / pushed(np.repeat(K, 2)), np.sqrt(2)))  # fmt: skip
says(["At width 16 seven others add about", "sixteen times the width it is about"],
     lambda: 0.2 < others(16) < 0.3 and 3 < others(16) / others(256) < 6)  # fmt: skip
reads("rises from 0.153", *way(BATCH, 16, "nll", 2))
reads("to 0.208", *way(BATCH, 16, "nll", 8))
says("where each of two had 98.4%", lambda: runs.means("train_accuracy")["digits", BATCH, 16][2])
says("members classify 98.4%, 96.2% and 92.9% of",
     lambda: [runs.means("train_accuracy")["digits", BATCH, 16][m] for m in (2, 4, 8)],
     Change(*way(BATCH, 16, "train_accuracy", 4), times=0.99))  # fmt: skip
reads("only 92.9% of its training images rightly", *way(BATCH, 16, "train_accuracy", 8))
says("happen to train at the same rate, so",
     lambda: np.ptp([runs.means("lr")["digits", BATCH, 16][m] for m in (2, 4, 8)]) < 1e-9,
     Change(*way(BATCH, 16, "lr", 4), times=3))  # fmt: skip
for words in "classifies 6.0 points fewer of its training", "are 6.0 points worse on their":
    reads(words, *gap(16, 8, "train_accuracy"), of=less, times=1.1)
reads("On new images it is 6.2 points", *gap(16, 8, "members_accuracy"), of=less)
reads("ensemble's NLL is higher by 0.086", *gap(16, 8, "nll"), times=1.1)
says(["a deep ensemble, and this is clear", "which is clear, too",
      "is every other difference in our list"],
     lambda: told() == {(16, 8, "train_accuracy"), (16, 8, "members_accuracy")},
     Change(*gap(16, 8, "train_accuracy")[:-1], "verdict", to=""),
     Change(*gap(32, 8, "nll")[:-1], "verdict", to="worse"))  # fmt: skip
says(["Holm's correction over all 80 differences", "which is unclear among 80 differences"],
     lambda: len(measured.load("width")["summary"]["gap"]["digits"]))  # fmt: skip
reads("eight disagree 0.76 times as often", *way(BATCH, 16, "diversity", 8))
reads("members of a deep ensemble only 0.52 times", *way(DEEP, 16, "diversity", 8))
says("they differ more, and each is worse",
     lambda: 0 < np.subtract(*(Change(*way(kind, 16, "members_accuracy", 8), to=0).before()
                               for kind in (DEEP, BATCH))),
     Change(*way(BATCH, 16, "members_accuracy", 8), times=1.1))  # fmt: skip
says("classify more than 99.9% of their training", lambda: min(
    runs.means("train_accuracy")["digits", kind, h][8] for kind in (BATCH, DEEP) for h in (128, 256)
) > 0.999, Change(*way(BATCH, 128, "train_accuracy", 8), times=0.999))  # fmt: skip
says(["From width 128 on there is little", "From width 128 on little is left"],
     lambda: all(abs(Change(*gap(h, 8, "train_accuracy"), to=0).before()) < 0.001
                 for h in (128, 256)),
     Change(*gap(128, 8, "train_accuracy"), to=-0.02))  # fmt: skip
says("two members at widths 16 and 32, of", lambda: [h for h, m in carried().items() if m == 2])
says("of four at 64, and of eight", lambda: [h for h, m in carried().items() if m == 4],
     Change(*way(BATCH, 64, "nll", 4), times=1.05))  # fmt: skip
says("eight at 128 and 256, where", lambda: [h for h, m in carried().items() if m == 8],
     Change(*way(BATCH, 256, "nll", 8), times=1.2))  # fmt: skip
says("Four members at width 32 are nearly as",
     lambda: 1 < np.divide(*(runs.means("nll")["digits", BATCH, 32][m] for m in (4, 2))) < 1.02,
     Change(*way(BATCH, 32, "nll", 4), times=1.05))  # fmt: skip
says("deep ensemble gains with every doubling, at every", lambda: all(
    (np.diff([*nll.values()]) < 0).all() for key, nll in runs.means("nll").items() if DEEP in key
), Change(*way(DEEP, 64, "nll", 8), times=1.2))  # fmt: skip
says("take the part of the width, look",
     lambda: all([*found] == sorted(found) and min(found) < max(found)
                 for task in ("mnist5000", "convolution")
                 for found in [carried(task).values()]))  # fmt: skip
says("on three splits and without a test", lambda: TASKS["mnist5000"].splits)
says("as many parameters, to 1%, split by", lambda: all(
    abs(total(DEEP, own, members) / total(BATCH, width, 4) - 1) < 0.01
    for width, both in ALIKE.items() for own, members in zip(both, (1, 4), strict=True)
))  # fmt: skip
says(["NLL all eight differences are unclear", "Which is better is unclear here, and"],
     lambda: alike() == [""] * 8,
     Change("width", "summary", "equal", 3, "verdict", to="worse"))  # fmt: skip
says("width 256 need 3.8 times as many",
     lambda: (256, np.divide(*(h * (64 + h + 10) for h in (256, ALIKE[256][1])))))  # fmt: skip
says("separate networks of width 117 that have", lambda: ALIKE[256][1])
says(["no BatchEnsemble of eight survived a rate", "Every deep ensemble did, and"],
     lambda: survived(BATCH, 8) == {False} and survived(DEEP, 8) == {True},
     lost(BATCH, 8, 64))  # fmt: skip
says("from width 128 on this rate was chosen",
     lambda: all(chosen_rate("digits", DEEP, h, m) == 0.18
                 for h in (128, 256) for m in MEMBERS))  # fmt: skip
says("at widths 16 and 32 not even", lambda: survived(BATCH, 1, 16, 32) == {False},
     lost(BATCH, 1, 32))  # fmt: skip
reads("is 1.3 points of accuracy below one", *gap(256, 1, "accuracy"), of=less)
says("tuning gave it the smallest rate, and the",
     lambda: [chosen_rate("digits", kind, 256, 1) for kind in (BATCH, DEEP)]
     == [min(runs.RATES), max(runs.RATES)])  # fmt: skip
says("and h = 149.3: take 150", lambda: (7 * 64 / 3, round(7 * 64 / 3, -1)))
says("eight members have 41,472 parameters, nearly four", lambda: total(BATCH, 150, 8))
