"""What *Width or members* claims: by its proposition, its cells, and the tables of its runs."""

from functools import cache
from itertools import product

import numpy as np
import torch

from ensedu import counting
from ensedu.theory import ntk
from tests.book.claiming import Claims, entry, every, reader
from tests.book.conftest import ran
from workshop.experiments import width as runs
from workshop.experiments.width import ALIKE, MEMBERS, WIDTHS, chosen_rate
from workshop.running.machine import one_thread

CLAIMS = Claims("theory/width-and-ensemble-size", unclaimed={
    "a question": ["with two hidden layers of width 16 has"],
    "a proof": ["have mean 0 and variance 1, and any", "has mean 0 and variance"],
    "the protocol, which the experiment's tests hold": ["1,797 images of 8 × 8, with",
        "Rates are 0.02, 0.06 or 0.18", "We dropped a fourth rate, 0.007",
        "Intervals are 95%, over splits"],
})  # fmt: skip
says, reads, RATES = CLAIMS.says, CLAIMS.reads, runs.RATES
gap = reader("width", "summary", "gap", by="width members score")
scored = reader("width", "rows", by="method width")
BATCH, DEEP = BOTH = "batch_ensemble", "deep_ensemble"
K = ran("book/theory/embedded-ensembles", "make the second row of u all ones")["by_unit"]


def mean(method: str, width: int, score: str, *members: int) -> list[float]:
    """Return means of a score on digits over all splits, by the number of members."""
    return [scored(method, width, score, MEMBERS.index(one)) for one in members]


def widths(members: int) -> list[int]:
    """Return the widths at which a BatchEnsemble has the least NLL with so many members."""
    nll = runs.means("nll")
    return [h for h in WIDTHS if min(MEMBERS, key=nll[BATCH, h].get) == members]


def survived(method: str, members: int, *widths: int) -> set[bool]:
    """Return whether ensembles survived a rate of 0.18 in tuning on digits."""
    where = {"method": method, "lr": 0.18}
    return {row["nll"][MEMBERS.index(members)] is not None
            for row in every("width-tuning", "rows", where)
            if row["width"] in (widths or WIDTHS)}  # fmt: skip


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
def parts(width: int) -> np.ndarray:
    """Return what seven others add, from all matrices and from the last; whose share of one's own.

    Before training, root mean squares over members of ten networks.
    """
    images, found = runs.examples(0)[0][0], []
    with one_thread():
        for seed in range(10):
            net = runs.network(BATCH, width, 8, seed)
            W = [net[layer].weight for layer in (0, 2, 4)]
            slopes = [torch.autograd.grad(f, W, retain_graph=True)
                      for f in net(images[[seed]])[:, 0, seed]]  # fmt: skip
            flat = (torch.stack(own).flatten(1).double() for own in zip(*slopes, strict=True))
            kernels = np.stack([(g @ g.T).numpy() for g in flat])
            own = kernels.diagonal(axis1=1, axis2=2)
            added = kernels.sum(-1) - own
            found.append(np.stack([added.sum(0), added[-1], own[-1]]) / own.sum(0))
    return np.sqrt(np.square(found).mean(axis=(0, 2)))


def total(method: str, width: int, members: int) -> int:
    return counting.mlp([64, width, width, 10], method, members).total


# fmt: off
says("hidden layer the answer is exact, at any", follows_the_proposition)
says("contribute 2, 5, 0, 5, 10 and 5", lambda: K)
says("square) half of a member's own", lambda: pushed(K))
says("unit twice it is smaller by \\sqrt 2",
     lambda: np.isclose(pushed(K) / pushed(np.repeat(K, 2)), np.sqrt(2)))
says("add a quarter of a member's own pull", lambda: 0.2 < parts(16)[0] < 0.3)
says("and 6% at width 256", lambda: (parts(256)[0], 256))
says("comes from the last matrix, which brings only",
     lambda: all(whole < 1.2 * last and 1 / 3 < own < 1 / 2
         for whole, last, own in map(parts, WIDTHS)))
says("width 256 the others' 6% can hardly", lambda: (256, parts(256)[0]))
says("rises from 0.153", lambda: mean(BATCH, 16, "nll", 2))
says("to 0.208", lambda: mean(BATCH, 16, "nll", 8))
says("where each of two had 98.4%", lambda: mean(BATCH, 16, "train_accuracy", 2))
says("members classify 98.4%, 96.2% and 92.9%", lambda: mean(BATCH, 16, "train_accuracy", 2, 4, 8))
says("only 92.9% of its training images rightly", lambda: mean(BATCH, 16, "train_accuracy", 8))
says("happen to train at the same rate, so", lambda: np.ptp(mean(BATCH, 16, "lr", 2, 4, 8)) < 1e-9)
says(["classifies 6.0 points fewer of its training", "are 6.0 points worse on their"],
     lambda: -100 * gap(16, 8, "train_accuracy", "difference"))
says("On new images it is 6.2 points", lambda: -100 * gap(16, 8, "members_accuracy", "difference"))
says("ensemble's NLL is higher by 0.086", lambda: gap(16, 8, "nll", "difference"))
says(["a deep ensemble, and this is clear", "which is clear, too",
      "is every other difference in our list"],
     lambda: {(row["width"], row["members"], row["score"])
         for row in entry("width", "summary", "gap") if row["verdict"]}
         == {(16, 8, "train_accuracy"), (16, 8, "members_accuracy")})
says(["Holm's correction over all 80 differences", "which is unclear among 80 differences"],
     lambda: len(entry("width", "summary", "gap")))
says("eight disagree 0.76 times as often", lambda: mean(BATCH, 16, "diversity", 8))
says("members of a deep ensemble only 0.52 times", lambda: mean(DEEP, 16, "diversity", 8))
says("they differ more, and each is worse",
     lambda: np.less(*(mean(kind, 16, "members_accuracy", 8) for kind in BOTH)).all())
says("classify more than 99.9% of their training",
     lambda: min(mean(kind, h, "train_accuracy", 8) for kind in BOTH for h in (128, 256)) > [0.999])
says("From width 128 on little is left",
     lambda: all(abs(gap(h, 8, "train_accuracy", "difference")) < 0.001 for h in (128, 256)))
says("two members at widths 16 and 32, of", lambda: widths(2))
says("of four at 64, and of eight", lambda: widths(4))
says("eight at 128 and 256, where", lambda: widths(8))
says("Four members at width 32 are nearly as",
     lambda: 1 < np.divide(*mean(BATCH, 32, "nll", 4, 2)) < 1.02)
says("deep ensemble gains with every doubling, at every",
     lambda: all((np.diff([*nll.values()]) < 0).all()
         for key, nll in runs.means("nll").items() if DEEP in key))
says("as many parameters, to 1%, split by",
     lambda: all(abs(total(DEEP, own, members) / total(BATCH, width, 4) - 1) < 0.01
         for width, both in ALIKE.items() for own, members in zip(both, (1, 4), strict=True)))
says(["NLL all eight differences are unclear", "Which is better is unclear here, and"],
     lambda: every("width", "summary", "equal", {}, "verdict") == [""] * 8)
says("width 256 need 3.8 times as many",
     lambda: (256, np.divide(*(h * (64 + h + 10) for h in (256, ALIKE[256][1])))))
says("separate networks of width 117 that have", lambda: ALIKE[256][1])
says(["no BatchEnsemble of eight survived a rate", "Every deep ensemble did, and"],
     lambda: survived(BATCH, 8) == {False} and survived(DEEP, 8) == {True})
says("from width 128 on this rate was chosen",
     lambda: {RATES.index(0.18)} == {
         i for h in ("128", "256") for i in entry("width-tuning", "summary", DEEP, h)})
says("at widths 16 and 32 not even", lambda: survived(BATCH, 1, 16, 32) == {False})
says("is 1.3 points of accuracy below one", lambda: -100 * gap(256, 1, "accuracy", "difference"))
says("tuning gave it the smallest rate, and the",
     lambda: [chosen_rate(kind, 256, 1) for kind in BOTH] == [min(RATES), max(RATES)])
says("and h = 149.3: take 150", lambda: (7 * 64 / 3, round(7 * 64 / 3, -1)))
says("eight members have 41,472 parameters, nearly four", lambda: total(BATCH, 150, 8))
