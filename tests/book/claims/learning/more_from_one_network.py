"""What *More from one network* claims, by its tables, those of the contest, and by hand."""

from functools import cache

import numpy as np
import torch

from ensedu import data, uncertainty
from ensedu import torch as et
from ensedu.book import measured
from ensedu.book.experiments import one_run, table_one
from ensedu.book.experiments.contest import mixes, reading
from ensedu.book.experiments.contest.tasks import TASKS
from ensedu.contest.swag import SNAPSHOTS, WINDOW
from ensedu.contest.tasks import given
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.shootout import MEANING, clear, middle, row, word

CLAIMS = Claims(
    "learning/more-from-one-network",
    unclaimed={
        "A network that is 99% sure": MEANING,
    },
)
TABLE, CURVES = "one-run", "one-run-curves"
#: What the running example's figure shows, at the constant rate.
CONSTANT = {"schedule": "constant"}


def entry(own: str, score: str, beside: str) -> dict:
    """Return a comparison, each of both a schedule and what is made of it."""
    summary = measured.load(TABLE)["summary"]
    return table_one.difference(summary, "concrete", own, score, beside)


def gain(own: str, score: str = "nll", beside: str = "end", clear: bool = True) -> float:
    """Return by how much a score is lower than that of the run's end, and check if it is clear."""
    found = entry(own, score, f"{own.split()[0]} {beside}")
    assert (found["verdict"] == "better") == clear
    return -found["difference"]


def compared(own: str, beside: str, score: str, name: str = "difference", **change) -> Change:
    """Return a change of a comparison."""
    where = {"contestant": own, "reference": beside, "score": score}
    return Change(TABLE, "summary", where, name, **change)


def apart(schedule: str, place: str) -> np.ndarray:
    """Return how far apart one run's networks and five runs' are, by draw of the data, (20, 2)."""
    rows = [one for one in measured.load(CURVES)["rows"] if one["schedule"] == schedule]
    return np.array([[one[place]["one"], one[place]["five"]] for one in rows])


@cache
def digits():
    """Return logits (1797, 10) of the page's network, labels, and the rows of three parts."""
    images, labels = data.digits()
    order = np.random.default_rng(0).permutation(len(images))
    parts = np.split(order, [200, 400])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net, inputs = et.mlp([64, 64, 10]).double(), torch.tensor(images)
    et.fit(
        net, inputs[parts[0]], torch.tensor(labels[parts[0]]), et.softmax_cross_entropy,
        epochs=400, batch_size=200, lr=0.01, bar=False,
    )  # fmt: skip
    torch.set_num_threads(threads)
    return et.predict(net, inputs).numpy()[0], labels, parts


def told(part: int, temperature: float):
    """Return NLL, mean confidence and accuracy on a part of the digits."""
    logits, labels, parts = digits()
    rows = parts[part]
    p = uncertainty.softmax(logits[rows] / temperature)
    nll = uncertainty.categorical_nll(p[None], labels[rows]).mean()
    return float(nll), float(p.max(1).mean()), uncertainty.accuracy(p, labels[rows])


def line():
    """Return inputs (20, 2) with a column of ones, and targets."""
    rng = np.random.default_rng(0)
    x = np.stack([np.ones(20), rng.uniform(0, 2, 20)], axis=1)
    return x, x @ [0.5, -1.0] + 0.5 * rng.standard_normal(20)


@cache
def walked(rate: float):
    """Return the last 500 weights of 1,500 steps on minibatches of four."""
    x, y = line()
    w, seen = np.zeros(2), []
    for four in np.random.default_rng(1).integers(20, size=(1500, 4)):
        w = w - rate * (x[four] @ w - y[four]) @ x[four] / 4
        seen.append(w)
    return np.array(seen[-500:])


@cache
def scatter(rate: float) -> np.ndarray:
    """Return the standard deviations (2,) and the correlation of weights that circle for ever.

    Exact: the covariance C solves C = E[(1 - rate A) C (1 - rate A)] + rate² E[g gᵀ], with A and g
    of a random minibatch of four.
    """
    x, y = line()
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    outer = x[:, :, None] * x[:, None]  # (20, 2, 2)
    pull = x * (x @ best - y)[:, None]
    mean, four = outer.mean(0), 4
    both = np.einsum("aij,akl->ikjl", outer, outer) / 20
    second = both / four + (1 - 1 / four) * np.einsum("ij,kl->ikjl", mean, mean)
    eye = np.eye(2)
    moved = (
        np.einsum("ij,kl->ikjl", eye, eye)
        - rate * (np.einsum("ij,kl->ikjl", mean, eye) + np.einsum("ij,kl->ikjl", eye, mean))
        + rate**2 * second
    ).reshape(4, 4)
    # of minibatches A and g are dependent, but at the mean, 0, their mixed term is 0
    noise = rate**2 * (pull.T @ pull / 20 / four).ravel()
    found = np.linalg.solve(np.eye(4) - moved, noise).reshape(2, 2)
    std = np.sqrt(np.diag(found))
    return np.array([*std, found[0, 1] / std.prod()])


@CLAIMS.says(
    "predict", "about 0.1 nats a row", compared("constant five", "constant end", "nll", times=1.6)
)
def _() -> None:
    for schedule in ("constant", "falls"):
        assert abs(gain(f"{schedule} five") - 0.1) < 0.015


@CLAIMS.says("answer", "the five epochs gain most of it")
@CLAIMS.says(
    "constant", "gain 0.08 nats over the last network",
    compared("constant epochs", "constant end", "nll", times=1.1),
)  # fmt: skip
@CLAIMS.says(
    "constant-swag", "Both SWAG and five networks",
    compared("constant swag", "constant end", "nll", "verdict", to=""),
)  # fmt: skip
@CLAIMS.says("constant-five", "trained apart gain 0.10")
def _() -> None:
    found = [gain(f"constant {made}") for made in ("epochs", "swag", "five")]
    assert [round(one, 2) for one in found] == [0.08, 0.10, 0.10]
    assert min(found) > 0.8 * found[-1]


@CLAIMS.says("next-to-nothing", "they gain next to nothing")
@CLAIMS.says(
    "cooled", "last five epochs gain 0.001",
    compared("falls epochs", "falls end", "nll", times=3),
)  # fmt: skip
@CLAIMS.says(
    "cooled-swag", "what SWAG gains is unclear",
    compared("falls swag", "falls end", "nll", "verdict", to="better"),
)  # fmt: skip
@CLAIMS.says(
    "cooled-five", "Five networks gain 0.09", compared("falls five", "falls end", "nll", times=1.1)
)
def _() -> None:
    assert round(gain("falls epochs", clear=False), 3) == 0.001
    assert gain("falls swag", clear=False) > 0
    assert round(gain("falls five"), 2) == 0.09


@CLAIMS.says(
    "because", "SWAG gains 0.05 nats more",
    compared("holds swag", "falls swag", "change", times=1.2),
    compared("holds swag", "falls swag", "change", "verdict", to=""),
)  # fmt: skip
def _() -> None:
    found = entry("holds swag", "change", "falls swag")
    assert (round(found["difference"], 2), found["verdict"]) == (-0.05, "better")
    steps = 400
    rates = [
        [one_run.rate(name, step, steps, 0.01) for step in range(steps)]
        for name in ("holds", "falls")
    ]
    same = np.isclose(*rates)
    assert same[:268].all() and not same[269:].any()


@CLAIMS.says("better-one", "practically one network, though one with a lower")
@CLAIMS.says(
    "half", "last third brings about half of what five",
    compared("holds swag", "falls end", "nll", times=1.3),
)  # fmt: skip
@CLAIMS.says("summary-half", "last third gives about half of what")
@CLAIMS.says(
    "holding", "more than half of what five networks gain",
    compared("holds swag", "falls end", "nll", times=0.7),
    compared("holds swag", "falls end", "nll", "verdict", to=""),
    compared("falls five", "falls end", "nll", times=1.3),
)  # fmt: skip
def _() -> None:
    assert entry("falls end", "rmse", "constant end")["verdict"] == "better"
    assert entry("falls end", "nll", "constant end")["difference"] < 0
    five = entry("falls five", "nll", "falls end")["difference"]
    swag = entry("holds swag", "nll", "falls end")
    assert swag["verdict"] == "better"
    assert 0.5 < swag["difference"] / five < 0.6


@CLAIMS.says(
    "rmse", "lowers it by a quarter of a megapascal",
    compared("falls end", "constant end", "rmse", times=1.2),
)  # fmt: skip
@CLAIMS.says(
    "no-lower", "averaging after that does not lower",
    compared("falls swag", "falls end", "rmse", times=-1),
)  # fmt: skip
def _() -> None:
    found = entry("falls end", "rmse", "constant end")
    assert (round(found["difference"], 2), found["verdict"]) == (-0.25, "better")
    for made in ("epochs", "weights", "swag"):
        found = entry(f"falls {made}", "rmse", "falls end")
        assert -0.002 < found["difference"] < 0.02
        assert found["verdict"] == ("" if made == "epochs" else "worse")
    assert round(entry("falls weights", "rmse", "falls end")["difference"], 2) == 0.01


@CLAIMS.says(
    "snapshots", "lies 0.28 megapascals (MPa) above",
    compared("restarts epochs", "constant five", "rmse", times=1.1),
    compared("restarts epochs", "constant five", "rmse", "verdict", to=""),
)  # fmt: skip
@CLAIMS.says(
    "snapshots-nll", "the NLL of snapshots is unclear",
    compared("restarts epochs", "constant end", "nll", "verdict", to="better"),
)  # fmt: skip
def _() -> None:
    found = entry("restarts epochs", "rmse", "constant five")
    assert (round(found["difference"], 2), found["verdict"]) == (0.28, "worse")
    assert entry("restarts epochs", "nll", "constant end")["verdict"] == ""


@CLAIMS.says("rate", "The constant rate is 0.01", Change(TABLE, "settings", "lr", to=0.02))
@CLAIMS.says("splits", "20 splits, three seeds and five runs")
@CLAIMS.says("looks", "SWAG looks 20 times")
def _() -> None:
    found = measured.load(TABLE)
    assert found["settings"] == {"seeds": 3, "epochs": 40, "batch_size": 100, "lr": 0.01}
    assert {one["split"] for one in found["rows"]} == {*range(20)}
    assert one_run.KEPT == table_one.CONTESTANTS["single"].networks == 5
    assert (SNAPSHOTS, one_run.PASSES, round(3 * WINDOW)) == (20, 32, 1)
    assert one_run.rate("falls", 0, 400, 0.01) == 0.02


@CLAIMS.says(
    "holm", "All 37 comparisons share one correction",
    Change(TABLE, "summary", {"contestant": "holds end"}, "adjusted", times=0.5),
)  # fmt: skip
def _() -> None:
    summary = measured.load(TABLE)["summary"]
    assert len(summary) == sum(len(own) * len(of) for _, own, of in one_run.COMPARISONS) == 37
    adjusted = uncertainty.holm([one["p"] for one in summary])
    assert np.allclose(adjusted, [one["adjusted"] for one in summary], rtol=1e-3)


@CLAIMS.says(
    "swa", "gain 0.09 nats at the constant rate",
    compared("constant weights", "constant end", "nll", times=1.1),
    compared("falls weights", "falls end", "nll", "verdict", to="better"),
)  # fmt: skip
def _() -> None:
    found = [gain(f"{schedule} weights") for schedule in ("constant", "holds")]
    assert [round(one, 2) for one in found] == [0.09, 0.06]
    gain("falls weights", clear=False)


@CLAIMS.says(
    "points", "over 20 draws of the data",
    Change(CURVES, "rows", CONSTANT, "regions", "five", times=1.3),
)  # fmt: skip
@CLAIMS.says(
    "sixth", "a sixth as far apart, on average",
    Change(CURVES, "rows", CONSTANT, "gap", "one", times=1.3),
)  # fmt: skip
@CLAIMS.says("own-points", "towards its own 20 points")
def _() -> None:
    near, between = (apart("constant", place).mean(0) for place in ("regions", "gap"))
    assert len(apart("constant", "gap")) == one_run.CURVES.settings["batch_size"] == 20
    assert 1.05 < near[0] / near[1] < 1.2
    assert round(6 * between[0] / between[1], 1) == 1.0
    assert (apart("constant", "gap")[:, 0] < 0.5 * apart("constant", "gap")[:, 1]).all()
    for place in ("regions", "gap"):
        assert apart("falls", place)[:, 0].max() < 0.001
    snapshots = apart("restarts", "gap").mean(0)
    assert 2 * between[0] < snapshots[0] < 0.8 * snapshots[1]


@CLAIMS.says("sure", "this network is 96% sure on average")
@CLAIMS.says("agree", "At 1.5 the two agree")
def _() -> None:
    nll, sure, right = told(2, 1)
    assert (round(100 * sure), round(100 * right)) == (96, 94)
    tried = {T: told(2, T) for T in (0.5, 0.7, 1, 1.5, 2, 3, 4)}
    assert abs(tried[1.5][1] - right) < 0.01
    assert tried[1.5][0] < 1.03 * min(one[0] for one in tried.values()) < nll
    assert {one[2] for one in tried.values()} == {right}
    assert told(0, 1)[2] == 1


@CLAIMS.says("temperature", "a temperature gains less than a tenth")
def _() -> None:
    assert -0.1 < middle(reading.SCALED) < 0
    assert word(reading.SCALED) == "unclear"
    for name in reading.tasks():
        own = given(TASKS[name](), 0)
        assert len(own.calibrate[0]) <= 400


@CLAIMS.says("still-better", "a deep ensemble and a BatchEnsemble are better")
def _() -> None:
    assert clear(True) == {"deep_ensemble": "better", "batch_ensemble": "better"}


@CLAIMS.says("swag", "There SWAG gains a third of a unit")
@CLAIMS.says("summary", "a temperature and SWAG are both unclear")
def _() -> None:
    assert (round(3 * middle("swag"), 0), word("swag")) == (-1, "unclear")
    assert word(reading.SCALED) == "unclear"


@CLAIMS.says("ensemble", "four networks are better than one", row("wage", "deep_ensemble", 2))
def _() -> None:
    assert word("deep_ensemble") == "better"


@CLAIMS.says("stores", "stores 22 times as much")
@CLAIMS.says("predicts", "takes more than 12 times as long")
@CLAIMS.says("summary-memory", "SWAG needs the memory of 22 networks")
def _() -> None:
    own, four = reading.costs("swag"), reading.costs("deep_ensemble")
    assert round(own["kept"], 6) == 2 + SNAPSHOTS == 22
    assert 12 < own["predict_seconds"] < 13
    assert abs(own["train_seconds"] - 1) < 0.02
    assert (round(four["kept"], 6), round(four["predict_seconds"], 1)) == (4, 1.4)


@CLAIMS.says("four-of", "by four of the 20 points")
@CLAIMS.says("same-points", "although the 20 points are the same")
def _() -> None:
    """Of an endless run, exactly, and of the run that is shown."""
    x, y = line()
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    assert 0.4 < (walked(0.05).std(0) / walked(0.2).std(0)).mean() < 0.6
    assert np.allclose(scatter(0.05)[:2] / scatter(0.2)[:2], 0.47, atol=0.03)
    off = np.linalg.norm(walked(0.2) - best, axis=1)
    assert np.linalg.norm(walked(0.2).mean(0) - best) < 0.25 * np.median(off)
    posterior = 0.25 * np.linalg.inv(x.T @ x)
    std = np.sqrt(np.diag(posterior))
    assert posterior[0, 1] / std.prod() < -0.8 and abs(scatter(0.2)[2]) < 0.2
    assert (scatter(0.2)[:2] < std / 3).all()


@CLAIMS.says("wider", "SWAG is less sure than one network of")
@CLAIMS.says(
    "further-off", "its wider interval lies further off",
    Change(mixes.TABLE, "rows", {"contestant": "swag"}, "mean", times=0.9),
    Change(mixes.TABLE, "rows", {"contestant": "swag"}, "std", times=0.7),
)  # fmt: skip
def _() -> None:
    unusual = [mix.kind == "unusual" for mix in mixes.chosen()]
    (at,) = (i for i, mix in enumerate(mixes.chosen()) if mix.name == "cement and water")
    one, swag = (mixes.intervals(name) for name in ("single", "swag"))
    assert ((swag[1] - swag[0]) > (one[1] - one[0]))[unusual].all()
    assert mixes.chosen()[at].strength < one[0, at] < swag[0, at]


@CLAIMS.says("ex-walk", "SWA keeps the mean, 1.1, and SWAG")
def _() -> None:
    four = np.array([1.0, 1.4, 0.8, 1.2])
    assert (round(four.mean(), 1), round(four.std(), 2)) == (1.1, 0.22)
