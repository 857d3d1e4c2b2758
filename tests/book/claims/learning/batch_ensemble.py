"""What *Training a BatchEnsemble* claims, by its tables, by those of the contest, and by hand."""

from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ensedu import counting
from ensedu.book import measured
from ensedu.book.experiments import training_batch_ensemble as training
from ensedu.book.experiments.contest import mixes, reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.contestants import CONTESTANTS
from ensedu.torch import fit, mlp, predict
from ensedu.torch.train.losses import half_squared_error, softmax_cross_entropy
from ensedu.uncertainty import chance_disagreement, disagreement
from scripts.source_lines import cells_of
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import lower, middle, row, scaled, word
from tests.book.conftest import read

BATCH, STARTS = "batch_ensemble", ("near", "normal", "signs")
TWINS = {"signs": "signs_mixture", "normal": "normal_mixture", "deep_ensemble": "deep_mixture"}

MEANING = "what a word or a number means"
CLAIMS = Claims(
    "learning/batch-ensemble",
    unclaimed={
        "by the toss of a coin": "what random signs are",
        "1 unit is how far luck": MEANING,
    },
)


def table() -> dict:
    """Return the table of the chapter's own networks."""
    return measured.load("batch-ensemble-training")


def average(name: str, score: str, data: str = "digits") -> float:
    """Return the mean of a score over splits and initializations."""
    rows = table()["rows"]
    return np.mean([r[score] for r in rows if (r["data"], r["contestant"]) == (data, name)])


def ratio(name: str, data: str = "digits") -> float:
    """Return the disagreement over that of independent errors."""
    return average(name, "disagreement", data) / average(name, "chance", data)


def score(name: str, of: str, times: float, data: str = "digits") -> Change:
    """Return a change of a score of the chapter's networks."""
    where = {"data": data, "contestant": name}
    return Change("batch-ensemble-training", "rows", where, of, times=times)


def pair(name: str, than: str) -> dict:
    """Return how the NLLs of two contestants differ on digits."""
    return measured.row(table()["summary"], contestant=name, than=than)


def told(name: str, verdict: str) -> Change:
    """Return a change of the word of a pair."""
    where = {"contestant": name}
    return Change("batch-ensemble-training", "summary", where, "verdict", to=verdict)


def tried(name: str, lr: float) -> list:
    """Return the NLLs at a learning rate, on three splits."""
    rows = measured.load("batch-ensemble-training-tuning")["rows"]
    return [r["nll"] for r in rows if (r["contestant"], r["lr"]) == (name, lr)]


def wide(method: str) -> np.ndarray:
    """Return how wide the intervals of the six mixes are."""
    low, high = mixes.intervals(method)
    return high - low


def predicted(contestant: str, part: str, times: float) -> Change:
    """Return a change of what a contestant predicts of concrete."""
    return Change(mixes.TABLE, "rows", {"contestant": contestant}, part, times=times)


@cache
def surviving(layer: int) -> dict[str, float]:
    """Return how much of a member's own gradient of W is in the average, before training."""
    x, y = training.examples("digits", 0)[0]
    found = {}
    for name in STARTS:
        net = training.network("digits", name, 0)
        own = np.stack(
            [
                torch.autograd.grad(cross_entropy(f, y), net[layer].weight, retain_graph=True)[0]
                for f in net(x)
            ]
        )
        along = np.einsum("imn,imn->i", np.broadcast_to(own.mean(0), own.shape), own)
        found[name] = (along / (own**2).sum((1, 2))).mean()
    return found


@CLAIMS.says("predict", "almost three times as much", score("signs", "disagreement", 1.3))
@CLAIMS.says("apart", "disagree on 8.4% of the images", score("signs_mixture", "disagreement", 1.1))
@CLAIMS.says("summary-mixture", "and yet the ensemble is worse", told("signs_mixture", ""))
def _() -> None:
    signs, mixture = (average(name, "disagreement") for name in ("signs", "signs_mixture"))
    assert [round(100 * one, 1) for one in (signs, mixture)] == [2.9, 8.4]
    assert 2.75 < mixture / signs < 3
    assert average("signs_mixture", "members_nll") > 5 * average("signs", "members_nll")
    assert pair("signs_mixture", "signs")["verdict"] == "worse"


@CLAIMS.says("same", "Four members are at work there")
def _() -> None:
    """What starts the same stays the same, with Adam as in the figure."""
    x = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None]
    torch.manual_seed(0)
    net = mlp([1, 20, 1], BATCH, 4).double()
    with torch.no_grad():
        for name, array in net.named_parameters():
            if not name.endswith("weight"):
                array[:] = array[0].clone()
    before = predict(net, x)
    fit(net, x, torch.sin(3 * x), half_squared_error, epochs=20, batch_size=5, lr=0.01, bar=False)
    after = predict(net, x)
    assert (after - before).abs().max() > 0.1
    assert (after - after[0]).abs().max() < 1e-12


@CLAIMS.says("first-row", "pulls its second entry by 7")
@CLAIMS.says("agree", "pull W nearly the same way")
def _() -> None:
    """By hand: (x ∘ r)ᵀ ((f - y) ∘ s) for both, with the numbers of the cell."""
    W, x = np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2)
    own, pulls, signs = [], [], []
    for r, s in (([1, 1], [1, -1]), ([1, -1], [1, 1])):
        signs.append(np.outer(r, s))
        f = x @ (W * signs[-1])
        own.append(np.outer(x, f - x))
        pulls.append(own[-1] * signs[-1])
    assert (pulls[0][0, 1], pulls[1][0, 1]) == (7, -3)
    assert own[0][0, 1] * own[1][0, 1] > 0 > signs[0][0, 1] * signs[1][0, 1]
    code = "\n".join(cells_of(read(f"book/{CLAIMS.chapter}")))
    assert "W = np.array([[1.0, 2.0], [3.0, 4.0]])" in code
    assert "x=np.ones(2), y=np.ones(2)" in code
    assert surviving(0)["near"] > 0.75


@CLAIMS.says("ends", "The ratio is 0 for two copies")
def _() -> None:

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=100_000)
    wrong = rng.random((2, len(y))) < 0.2
    said = np.where(wrong, (y + rng.integers(1, 3, size=wrong.shape)) % 3, y)
    p = np.eye(3)[said]
    assert abs(disagreement(p) / chance_disagreement(p, y) - 1) < 0.02
    assert disagreement(p[[0, 0]]) == 0


@CLAIMS.says("twentieth", "disagree a twentieth as often", score("near", "disagreement", 1.3))
@CLAIMS.says("one", "on average has an NLL of 0.122", score("near", "members_nll", 1.02))
@CLAIMS.says("quarter", "the ratio is a quarter, and from", score("normal", "chance", 1.2))
@CLAIMS.says("half", "random signs it is more than half", score("signs", "disagreement", 0.85))
@CLAIMS.says("reach", "but 0.58, hardly more", score("deep_ensemble", "disagreement", 1.1))
@CLAIMS.says("summary-near", "they differ little if their fast weights")
def _() -> None:
    ratios = {name: round(ratio(name), 2) for name in (*STARTS, "deep_ensemble")}
    assert ratios == {"near": 0.05, "normal": 0.26, "signs": 0.56, "deep_ensemble": 0.58}
    assert ratio("deep_ensemble") - ratio("signs") < 0.03
    assert [round(average("near", k), 3) for k in ("members_nll", "nll")] == [0.122, 0.120]


@CLAIMS.says("all-three", "were the same in all three")
def _() -> None:
    rows = [training.CONTESTANTS[name] for name in STARTS]
    assert {one.lr("digits") for one in rows} == {0.01}
    assert len({(one.method, one.loss, one.optimizer, one.split, one.wide) for one in rows}) == 1


@CLAIMS.says("mnist", "a deep ensemble has only 0.23", score("signs", "chance", 1.1, "mnist5000"))
def _() -> None:
    found = [round(ratio(name, "mnist5000"), 2) for name in ("deep_ensemble", "signs")]
    assert found == [0.23, 0.30]


@CLAIMS.says("just", "From random signs it is 0.25")
@CLAIMS.says("both", "near 1, the average does not slow")
@CLAIMS.says("near", "0.78 of a pull is left")
@CLAIMS.says("three-times", "then W moves about three times too")
def _() -> None:
    """From signs a quarter in each layer, near 1 more than half."""
    assert [round(one, 2) for one in surviving(0).values()] == [0.78, 0.38, 0.25]
    assert round(4 * surviving(0)["near"]) == 3
    for layer in (0, 2, 4):
        assert abs(surviving(layer)["signs"] - 0.25) < 0.03
        assert surviving(layer)["near"] > 0.5


def trained(reduction: str, lr: float, epochs: int = 20, **options: Any) -> dict[str, torch.Tensor]:
    """Return how far the parameters of a small BatchEnsemble move, a step an epoch."""
    torch.manual_seed(0)
    net = mlp([5, 7, 3], BATCH, 4).double()
    start = {name: p.detach().clone() for name, p in net.named_parameters()}
    x, y = torch.randn(11, 5, dtype=torch.float64), torch.arange(11) % 3
    loss = partial(softmax_cross_entropy, reduction=reduction)
    fit(net, x, y, loss, epochs=epochs, batch_size=11, lr=lr, bar=False, **options)
    return {name: p.detach() - start[name] for name, p in net.named_parameters()}


SGD = {
    "optimizer": partial(torch.optim.SGD, momentum=0.9),
    "weight_decay": 0.0,
    "member_gradient_factor": 1.0,
}


@CLAIMS.says("cancels", "a factor in front of all gradients cancels")
@CLAIMS.says("sum", "who use SGD, not Adam, and it means")
def _() -> None:
    """With Adam weights move by 0.2, and the ε moves them by less than a hundredth of that."""
    total, average, slower = (
        trained(*how, **SGD) for how in (("sum", 0.01), ("mean", 0.04), ("mean", 0.01))
    )
    adam, other = (trained(kind, 0.01) for kind in ("sum", "mean"))
    for name in total:
        torch.testing.assert_close(total[name], average[name], rtol=0, atol=1e-12)
        torch.testing.assert_close(adam[name], other[name], rtol=0, atol=1e-3)
        assert not torch.allclose(total[name], slower[name])


@CLAIMS.says("factor", "comes to the same, for all but")
def _() -> None:
    """In one step: on the sum W and the biases move four times as far."""
    total = trained("sum", 0.01, 1, **SGD)
    for name, moved in trained("mean", 0.01, 1, fast_lr_factor=4.0, **SGD).items():
        times = 4 if name.endswith(("weight", "bias")) else 1
        torch.testing.assert_close(total[name], times * moved, rtol=0, atol=1e-12)


@CLAIMS.says("split", "the NLL is 0.023 higher", told("split", "worse"))
def _() -> None:
    found = [pair(name, "signs") for name in ("split", "split_longer")]
    assert [round(one["difference"], 3) for one in found] == [0.023, 0.011]
    assert not any(one["verdict"] for one in found)
    longer = training.CONTESTANTS["split_longer"]
    assert (longer.split, longer.longer) == (True, 4)


@CLAIMS.says("lesson", "probability of 0.6, and the three others")
@CLAIMS.says("summary-best", "the member that knows an image best gets")
def _() -> None:
    p = torch.tensor([0.6, 0.2, 0.2, 0.2], dtype=torch.float64)
    nll = (-p.log()).requires_grad_()
    (-(-nll).exp().mean().log()).backward()
    assert np.allclose(nll.grad, [1 / 2, 1 / 6, 1 / 6, 1 / 6])
    assert round(np.log(4), 1) == 1.4


@CLAIMS.says("dots", "members differ more and more", score("normal", "nll", 1.3))
def _() -> None:
    for name, sign in (("disagreement", 1), ("nll", -1)):
        assert (sign * np.diff([average(start, name) for start in STARTS]) > 0).all()


@CLAIMS.says("parts", "the members have 0.144 nats on average", score("signs", "members_nll", 1.1))
@CLAIMS.says("ten", "ten times as much by differing", score("signs_mixture", "members_nll", 1.1))
def _() -> None:
    members, gain = [], []
    for name in ("signs", "signs_mixture"):
        members.append(average(name, "members_nll"))
        gain.append(members[-1] - average(name, "nll"))
    assert [round(one, 3) for one in members] == [0.144, 0.836]
    assert np.allclose(gain, [0.070, 0.702], rtol=0, atol=0.0006)
    assert round(gain[1] / gain[0]) == 10


@CLAIMS.says("others", "but for them it is unclear", told("deep_mixture", "worse"))
@CLAIMS.says(
    "no-more", "do not even differ more", score("deep_mixture", "disagreement", 1.2)
)  # fmt: skip
def _() -> None:
    for name in ("normal", "deep_ensemble"):
        found = pair(TWINS[name], name)
        assert found["difference"] > 0
        assert not found["verdict"]
    assert average("deep_mixture", "disagreement") <= average("deep_ensemble", "disagreement")


@CLAIMS.says(
    "higher", "the mixture has the higher NLL",
    Change("batch-ensemble-training-tuning", "rows",
           {"contestant": "signs", "lr": 0.003, "split": 1001}, "nll", times=1.1),
)  # fmt: skip
@CLAIMS.says("lower-rate", "best rate is a lower one on the")
def _() -> None:
    for lr in training.RATES["adam"]:
        both = zip(tried("signs", lr), tried("signs_mixture", lr), strict=True)
        assert [one < other for one, other in both] == [True] * 3
    signs, mixture = (training.CONTESTANTS[k].lr("digits") for k in ("signs", "signs_mixture"))
    assert mixture < signs


@CLAIMS.says("sizes", "1,797 images of 8 × 8")
@CLAIMS.says("rates", "and 0.03 for the deep ensemble")
@CLAIMS.says(
    "larger", "784-128-128-10, 15 epochs",
    Change("batch-ensemble-training", "settings", "budgets", "mnist5000", "epochs", to=[16]),
)  # fmt: skip
@CLAIMS.says("holm", "over all 11 pairs that we compare")
def _() -> None:
    found = table()
    (x, _), (test, _) = training.examples("digits", 0)
    assert (len(x), len(test), x.shape[1]) == (1344, 453, 64)
    budgets = found["settings"]["budgets"]
    assert {k: budgets["digits"][k] for k in ("starts", "batch_size")} == {
        "starts": 3, "batch_size": 48
    }  # fmt: skip
    assert budgets["digits"]["epochs"][-1] == 40
    assert (budgets["mnist5000"]["starts"], budgets["mnist5000"]["epochs"]) == (1, [15])
    assert training.sizes("digits") == (64, 64, 64, 10)
    assert training.sizes("mnist5000") == (784, 128, 128, 10)
    for data in ("digits", "mnist5000"):
        assert {row["split"] for row in found["rows"] if row["data"] == data} == {*range(10)}
    for name, own in training.CONTESTANTS.items():
        if own.chosen is None:
            continue
        assert own.lr("mnist5000") == 0.001
        if own.optimizer == "adam" and own.loss == "mean" and not (own.split or own.wide):
            assert own.lr("digits") == (0.03 if name == "deep_ensemble" else 0.01)
    assert len(found["summary"]) == 11


@CLAIMS.says("eighteen", "methods on data from 18 sources")
@CLAIMS.says("from-signs", "its BatchEnsembles start from random signs")
def _() -> None:
    assert len({task().source for task in TASKS.values()}) == 18
    own = CONTESTANTS[BATCH]
    assert not {"init", "init_std"} & {key for one in own.tries for key in one}
    net = mlp([5, 7, 3], BATCH, 4)
    assert {*torch.cat([net[0].r.ravel(), net[0].s.ravel()]).tolist()} == {-1.0, 1.0}


@CLAIMS.says("better", "the BatchEnsemble is better than one network")
@CLAIMS.says("all", "the lower one on all 18 sources", row("digits", BATCH, 1.5))
@CLAIMS.says("three", "on two of them by about three", row("churn", BATCH, 1.2))
@CLAIMS.says("tempered", "it stays better, on 17 of 18", scaled("wage", BATCH, 1.5))
@CLAIMS.says("beside", "Compared with a deep ensemble it is unclear")
@CLAIMS.says("ten-of-18", "on ten of 18 sources", row("cells", BATCH, 1.5))
@CLAIMS.says("summary", "A BatchEnsemble is better than one network, on")
def _() -> None:
    own = reading.compared()[BATCH].sources
    assert word(BATCH) == word(BATCH, tempered=True) == "better"
    assert (lower(BATCH), lower(BATCH, tempered=True), len(own)) == (18, 17, 18)
    assert round(middle(BATCH), 1) == -0.7
    assert [round(d) for d in sorted(own.values())[:3]] == [-3, -3, -2]
    assert {word(BATCH, "deep_ensemble", tempered) for tempered in (True, False)} == {"unclear"}
    assert lower(BATCH, "deep_ensemble") == 10


@CLAIMS.says("stores", "it stores 1.27 times", Change("contest/concrete", "rows",
             {"contestant": BATCH}, "kept", times=2))  # fmt: skip
@CLAIMS.says("slow", "takes only 1.4 times as long", Change("contest/digits", "rows",
             {"contestant": "deep_ensemble"}, "train_seconds", times=3))  # fmt: skip
@CLAIMS.says("no-time", "the contest's small networks it saves no time")
def _() -> None:
    own, deep = reading.costs(BATCH), reading.costs("deep_ensemble")
    assert (round(own["kept"], 2), round(deep["kept"], 2)) == (1.27, 4)
    assert (round(own["train_seconds"], 1), round(deep["train_seconds"], 1)) == (2.0, 1.4)


@CLAIMS.says("wide", "It does save time in wide layers", Change("speed-cpu", "headline",
             {"m": 1024, "B": 1}, "forward", BATCH, "ratio", times=2))  # fmt: skip
@CLAIMS.says("summary-wide", "that see few examples at once it does")
def _() -> None:
    """Also beside four networks that are stacked."""
    passed = measured.row(measured.load("speed-cpu")["headline"], m=1024, B=1)["forward"]
    shared, stacked = (passed[name]["ratio"][1] for name in (BATCH, "deep_ensemble"))
    assert 2 * shared < min(1, stacked)


@CLAIMS.says("wider", "for all but the weak one", predicted(BATCH, "std", 0.8))
def _() -> None:
    factors = wide(BATCH) / wide("single")
    names = [mix.name for mix in mixes.chosen()]
    assert [name for name, one in zip(names, factors, strict=True) if one <= 1] == ["weak"]


@CLAIMS.says("ex-alike", "Together this is 5.90%, of which")
def _() -> None:
    assert [round(both, 4) for both in (2 * 0.97 * 0.03, 0.03**2 * 8 / 9)] == [0.0582, 0.0008]
    labels = np.arange(1000) % 10
    p = np.tile(np.eye(10)[labels], (4, 1, 1))
    for i in range(4):  # each wrong in 30 of 1,000
        p[i, 30 * i : 30 * i + 30] = np.roll(p[i, 30 * i : 30 * i + 30], 1, axis=1)
    chance = chance_disagreement(p, labels)
    assert round(chance, 4) == 0.0590 and round(0.012 / chance, 2) == 0.20


@CLAIMS.says("ex-price", "124,304 and 473,128, so the BatchEnsemble stores 1.05")
def _() -> None:
    sizes = [784, 128, 128, 10]
    batch, deep = (counting.mlp(sizes, f"{kind}_ensemble", 4).total for kind in ("batch", "deep"))
    assert (batch, deep) == (124_304, 473_128)
    assert round(batch / counting.mlp(sizes).total, 2) == 1.05
