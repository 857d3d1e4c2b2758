"""What *Bayes by Backprop* claims: by its tables, by what its cells find, and by its formulas."""

import math
from functools import cache
from typing import Any

import numpy as np
import torch

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import bayes, nuts, nuts_distances
from ensedu.book.experiments.contest import reading
from ensedu.book.figures import bayes_by_backprop as figures
from ensedu.common.training import minibatch_kl_weights
from ensedu.data import gap
from ensedu.numpy import variational
from ensedu.priors import Normal
from ensedu.torch import predict
from tests.book.claiming import Change, Claims
from tests.book.conftest import read

#: What stands in the cells that fit lines, and in the one that trains a network.
CELLS = ("def posterior(", "def bayes_by_backprop(", "def doubt(", "WIDTH, START =")

CLAIMS = Claims(
    "learning/bayes-by-backprop",
    unclaimed={
        "never negative, and 0 only if": "what a KL is",
        "Up to a constant": "a proof",
        "most steps away from a good fit": "that the misfit is least there",
        "Laplace on all layers predicts better": "a paper's own words",
        "made narrower on purpose, predicted better": "a paper's own words",
    },
)


@cache
def found() -> dict[str, Any]:
    """Return what the cells of the page find before they draw it."""
    band, points = bayes.shown()
    names = {"torch": torch, "figures": figures, "band": band, "points": points}
    for cell in read("book/learning/bayes-by-backprop").cells:
        if cell.cell_type == "code" and any(mark in cell.source for mark in CELLS):
            exec(cell.source.split("\nshown = ")[0], names)
    return names


def line(around: int = 3) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a line as it is drawn, the true deviations of its weights, and q's doubt by x."""
    own = found()["lines"][around]
    return own, np.sqrt(np.diag(own.covariance)), own.doubt[1] / own.doubt[0]


def at(x: float) -> int:
    """Return which x of a line this is."""
    return int(np.abs(found()["along"] - x).argmin())


def setting(place: str, score: str, **changed: Any) -> np.ndarray:
    """Return a score by data set, of the base or of a change; a score of all data has no place."""
    row = measured.row(measured.load("bayes")["rows"], **bayes.BASE | changed)
    return np.array(row[place][score] if place else row[score])


def gained(place: str, score: str, **changed: Any) -> uncertainty.Interval:
    """Return what a change does to a score."""
    return uncertainty.paired(setting(place, score, **changed) - setting(place, score))


def clear(name: str, place: str = "regions") -> bool:
    """Return whether a change is clear among all 16 comparisons: NLL, in the gap the distance."""
    planned = {"regions": "nll", "gap": "wasserstein"}
    p = [gained(*one, **own).p for one in planned.items() for own in bayes.CHANGES.values()]
    small = np.split(uncertainty.holm(p) < 0.05, 2)[[*planned].index(place)]
    return bool(small[[*bayes.CHANGES].index(name)])


def ratio(place: str, contestant: str = "mean_field") -> float:
    """Return a standard deviation over that of NUTS."""
    rows = measured.load("nuts-distances")["summary"]
    return measured.row(rows, contestant=contestant, place=place, score="std_ratio")["mean"]


def distance(place: str, contestant: str, times: float) -> Change:
    """Return a change of a ratio to NUTS."""
    row = {"contestant": contestant, "place": place, "score": "std_ratio"}
    return Change("nuts-distances", "summary", row, "mean", times=times)


def base(*way: str, times: float, **changed: Any) -> Change:
    """Return a change of a score of the base, or of a change of it."""
    return Change("bayes", "rows", bayes.BASE | changed, *way, times=times)


@CLAIMS.says("question", "You fit a line to 20 points")
@CLAIMS.says("points", "line do 20 noisy points come from")
@CLAIMS.says("made", "made with an intercept of 0.5")
def _() -> None:
    x, y = found()["line"](3)
    rng = np.random.default_rng(1)
    inputs, noise = rng.uniform(-1, 1, 20) + 3, 0.5 * rng.standard_normal(20)
    assert np.allclose(x.T, [np.ones(20), inputs])
    assert np.allclose(y, 0.5 - inputs + noise)


@CLAIMS.says("off", "more than one and a half standard deviations")
@CLAIMS.says("height-at-3", "the posterior says −2.49")
@CLAIMS.says("cancel", "The two errors cancel")
def _() -> None:
    x, y = found()["line"](3)
    mean, precision = found()["posterior"](x, y, noise=0.5)
    std = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert [*mean.round(2), *std.round(2)] == [-0.34, -0.72, 0.52, 0.18]
    truth, height = np.array([0.5, -1.0]), np.array([1, 3])
    assert (np.abs(mean - truth) > 1.5 * std).all()
    assert [round(height @ weights, 2) for weights in (mean, truth)] == [-2.49, -2.5]
    assert abs(height @ (mean - truth)) < 0.1 * np.sqrt(height @ np.linalg.inv(precision) @ height)


@CLAIMS.says("weights", "For the 61 weights of the network above")
def _() -> None:
    """The band is that of this network, and lies behind its figure."""
    assert nuts.NUMBER == 3 * nuts.MODEL["width"] + 1 == 61
    band, points = bayes.shown()
    row = measured.row(measured.load("nuts")["rows"], data_seed=bayes.TYPICAL)
    assert band["label"] == "NUTS"
    assert band["std"] == row["std"]
    assert np.array_equal(points, np.hstack(gap.sample(np.random.default_rng(bayes.TYPICAL))))


@CLAIMS.says("limit", "it grows without limit")
def _() -> None:
    """A tenth of a standard deviation costs a weight log 10 nats more, again and again."""
    rho = np.array([variational.inverse_softplus(10.0**-k) for k in range(3, 9)])
    costs = variational.kl(np.zeros(6), rho, Normal(0.0, 1.0))
    assert np.allclose(np.diff(costs), np.log(10), atol=1e-4)


@CLAIMS.says("third", "each of three minibatches bears a third")
def _() -> None:
    assert np.allclose(minibatch_kl_weights(3), 1 / 3)


@CLAIMS.says("small", "The standard deviations are far too small")
@CLAIMS.says("fifth", "a fifth of the true one")
@CLAIMS.says("answer", "seems less certain")
def _() -> None:
    """More training does not help: what is trained is the theorem's optimum already."""
    own, true, wider = line()
    best = 1 / np.sqrt(np.diag(np.linalg.inv(own.covariance)))
    assert np.allclose(own.sigma, best, rtol=0.05)
    assert (np.abs(own.apart) < 0.1 * true).all()
    assert (own.sigma / true).round(1).tolist() == [0.2, 0.2]
    assert wider[at(3)] > 1.3


@CLAIMS.says("correlated", "just two weights, correlated by 0.8")
def _() -> None:
    precision = np.linalg.inv([[1, 0.8], [0.8, 1]])
    assert np.allclose(1 / np.sqrt(np.diag(precision)), 0.6)


@CLAIMS.says("height", "tell you how high the line is")
@CLAIMS.says("hardly", "They hardly tell you the intercept")
@CLAIMS.says("thin", "a thin ellipse that leans")
@CLAIMS.says("turns", "its height at 3 stays")
def _() -> None:
    own, true, _ = line()
    exactly = own.doubt[0]
    assert exactly[at(3)] < 0.13 < 0.5 < exactly[at(0)]
    assert own.covariance[0, 1] / true.prod() < -0.97
    longest = np.linalg.eigh(own.covariance)[1][:, -1]
    assert abs(longest @ [1, 3]) < 0.1 < 0.9 < abs(longest[0])
    assert exactly[at(3)] < 0.25 * min(true[0], 3 * true[1])


@CLAIMS.says("away", "lines are only a fifth as far apart")
def _() -> None:
    """And nowhere left of the points further than they should."""
    own, _, wider = line()
    assert own.inputs.min() > 2
    assert round(1 / wider[at(0)]) == 5
    assert (wider[: at(2) + 1] < 1).all()


@CLAIMS.says("moved", "both errors almost vanish")
@CLAIMS.says("upright", "so the exact ellipse stands upright by itself")
def _() -> None:
    own, true, wider = line(0)
    assert np.allclose(own.sigma, true, rtol=0.05)
    assert np.allclose(wider, 1, atol=0.11)
    assert abs(own.covariance[0, 1]) < 0.15 * true.prod()
    assert abs(own.covariance[0, 1] / own.covariance[1, 1]) < 0.1


@CLAIMS.says("twenty", "with 20 inputs instead of one")
@CLAIMS.says("doubles", "the doubt at the data doubles")
@CLAIMS.says("last", "both versions are far below NUTS")
def _() -> None:
    cells = found()
    precision, grid = cells["precision"], torch.tensor(cells["band"]["x"])[:, None]
    hidden = predict(cells["net"][:-1], grid)[0].numpy() / nuts.WIDTH**0.5
    curve, exact = np.insert(hidden, 0, 1, axis=1), np.array(cells["band"]["std"])
    each = precision, np.diag(np.diag(precision))
    last, apart = (cells["doubt"](curve, own) for own in each)
    assert len(precision) == 1 + 20  # and a bias
    assert (np.diag(precision) ** -0.5 < np.sqrt(np.diag(np.linalg.inv(precision)))).all()
    places = nuts.inputs_by_place(nuts.grid())
    near, between = ([(own / exact)[places[k]] for own in (last, apart)] for k in nuts.PLACES[:2])
    assert 1.9 < near[1].mean() / near[0].mean() < 2.1
    assert max(map(np.max, between)) < 0.5
    assert max(map(np.mean, between)) < 0.15


@CLAIMS.says("ratios", "1.7 times as uncertain", distance("regions", "mean_field", 1.1))
@CLAIMS.says("half", "and in the gap about half as uncertain", distance("gap", "mean_field", 1.2))
@CLAIMS.says("factor", "no single factor", distance("gap", "mean_field", 2.3))
def _() -> None:
    assert round(ratio("regions"), 1) == 1.7
    assert 0.4 < ratio("gap") < 0.5


@CLAIMS.says(
    "r-hat", "at most 1.001", Change("nuts", "rows", {"data_seed": 3}, "r_hat", times=1.01)
)
@CLAIMS.says("paths", "1,023 steps", Change("nuts", "rows", {"data_seed": 2}, "steps", times=0.9))
def _() -> None:
    used = {row["data_seed"] for row in measured.load("nuts-distances")["rows"]}
    table = measured.load("nuts")
    rows = [row for row in table["rows"] if row["data_seed"] in used]
    assert table["settings"]["chains"] == 4
    assert 4 * table["settings"]["draws"] == 8000
    assert max(row["r_hat"] for row in rows) <= 1.001
    assert min(row["effective_draws"] for row in rows) > 6000
    assert all(1022 <= row["steps"] <= 1023 for row in rows)


@CLAIMS.says("others", "The other four methods of the figure")
@CLAIMS.says(
    "means", "on each of 5 data sets", Change("nuts-distances", "settings", "starts", to=4)
)
def _() -> None:
    table = measured.load("nuts-distances")
    others = [own for name, own in nuts_distances.CONTESTANTS.items() if name != "mean_field"]
    assert len(others) == 4
    assert nuts.PRIOR not in [own.options.get("prior") for own in others]
    settings, rates = table["settings"], table["settings"]["rates"]
    assert len({row["data_seed"] for row in table["rows"]}) == settings["starts"] == 5
    assert sum(settings["steps"]) == 3000
    assert rates == sorted(rates, reverse=True)
    assert nuts_distances.SAMPLES == 32


@CLAIMS.says("one-at-a-time", "changed one thing at a time")
def _() -> None:
    assert all(len(change) == 1 for change in bayes.CHANGES.values())
    assert [bayes.BASE[name] for name in ("beta", "std", "steps", "samples")] == [1, 0.1, 3000, 1]


@CLAIMS.says("drowns", "may drown in that noise", base("regions", "nll", std=1.0, times=0.1))
def _() -> None:
    """At the start the gradient is mostly noise, and curves differ by more than the data's size."""
    x, y = (torch.from_numpy(part.T) for part in gap.sample(np.random.default_rng(0)))
    seeded = torch.Generator().manual_seed(0)
    noise = torch.randn(100, 1, nuts.NUMBER, generator=seeded, dtype=torch.float64)
    told, spread = {}, {}
    for std in (0.1, 1.0):
        q = bayes.started([0], std)
        losses = [bayes.loss(q, one[None], x, y, nuts.PRIOR, 0.0).sum() for one in noise]
        slopes = torch.stack([torch.autograd.grad(one, q.mean)[0] for one in losses])
        told[std] = float(slopes.mean(0).norm() / slopes.var(0).sum().sqrt())
        spread[std] = float(bayes.curve(q.draw(noise), x).detach().std(0).mean())
    assert told[1.0] < 0.5 < 3 < told[0.1]
    assert spread[1.0] > float(y.std())
    assert gained("regions", "nll", std=1.0).mean > 0.9
    assert clear("initial σ 1")


@CLAIMS.says(
    "no-kl", "the fit is just as bad", base("regions", "nll", beta=0.0, std=1.0, times=0.8)
)
def _() -> None:
    bad, grown, free = (
        setting("regions", "nll", std=1.0, **own).mean()
        for own in ({}, {"anneal": 0.5}, {"beta": 0.0})
    )
    assert np.allclose([grown, free], bad, atol=0.02)


@CLAIMS.says(
    "longer", "four times as many steps help", base("regions", "nll", steps=12000, times=-1)
)
@CLAIMS.says("averaged", "16 weight samples a step", base("regions", "nll", samples=16, times=-1))
def _() -> None:
    assert 4 * bayes.BASE["steps"] == bayes.CHANGES["12,000 steps"]["steps"]
    for name in ("12,000 steps", "16 samples a step"):
        assert gained("regions", "nll", **bayes.CHANGES[name]).high < 0
        assert clear(name)


@CLAIMS.says(
    "tenth", "A tenth of it fits the data better", base("regions", "nll", beta=0.1, times=-1)
)
@CLAIMS.says("keeps", "the KL is what keeps", base("sigma", beta=0.1, times=3))
@CLAIMS.says(
    "shrinks", "half of what NUTS says to 0.28", base("gap", "std_ratio", beta=0.1, times=1.2)
)
def _() -> None:
    assert gained("regions", "nll", beta=0.1).high < 0
    assert clear("KL weight 0.1")
    assert setting("", "sigma", beta=0.1).mean() < 0.5 * setting("", "sigma").mean()
    widths = [setting("gap", "std_ratio", **own).mean() for own in ({}, {"beta": 0.1})]
    assert [f"{one:.2f}" for one in widths] == ["0.52", "0.28"]


@CLAIMS.says("stay", "KL weight should not be smaller", base("free_energy", beta=0.1, times=0.8))
def _() -> None:
    """With less or more F ends higher, and more does not improve the fit."""
    for name in ("KL weight 0.1", "KL weight 10"):
        assert gained("", "free_energy", **bayes.CHANGES[name]).low > 0
    assert gained("regions", "nll", beta=10.0).mean > 0


@CLAIMS.says("fit", "You can improve the fit", base("regions", "nll", std=0.01, times=-2))
@CLAIMS.says("shape", "None of these changes gives", base("gap", "std_ratio", beta=0.1, times=3))
def _() -> None:
    """Over the band of NUTS each is three times as wide at the data as in the gap, or more."""
    for name in ("initial σ 0.01", "12,000 steps", "16 samples a step"):
        assert gained("regions", "nll", **bayes.CHANGES[name]).mean < 0
        assert clear(name)
    for own in ({}, *bayes.CHANGES.values()):
        near, between = (setting(place, "std_ratio", **own).mean() for place in nuts.PLACES[:2])
        assert near > 3 * between


@CLAIMS.says(
    "model", "Model and data are those of NUTS", Change("bayes", "settings", "starts", to=5)
)
@CLAIMS.says(
    "adam", "400 weight samples for a prediction", Change("bayes", "settings", "lr", to=0.1)
)
@CLAIMS.says("holm", "by Holm over 16 comparisons")
def _() -> None:
    settings, seeds = (measured.load("bayes")["settings"], measured.load("nuts")["rows"])
    assert settings["data"] == [row["data_seed"] for row in seeds] == [*range(10)]
    assert [settings[k] for k in ("starts", "lr", "batch_size", "passes")] == [4, 0.01, 20, 400]
    assert nuts.SIZES == (1, 20, 1)
    assert bayes.PRIORS[bayes.BASE["prior"]] == nuts.PRIOR == Normal(0.0, 2.0)
    assert nuts.MODEL["activation"] == "tanh"
    assert nuts.MODEL["parametrization"] == "ntk"
    assert 2 * len(bayes.CHANGES) == 16


@CLAIMS.says(
    "unequal", "The paper's unequal shares", base("regions", "nll", share="geometric", times=1.3)
)
def _() -> None:
    for place in nuts.PLACES[:2]:
        assert abs(gained(place, "nll", share="geometric").mean) < 0.01


@CLAIMS.says("contest", "a mean-field network over one network unclear")
def _() -> None:
    ours = reading.compared()["mean_field"]
    assert len(ours.sources) == 18
    assert ours.word == "unclear"
    assert ours.middle < 0


@CLAIMS.says("ex-free", "The difference, 0.403 nats, is the KL")
def _() -> None:
    free = 0.5 * math.log(2 * math.pi) + 0.5 * (1 + 1)  # E (1 − w)² = 1 + 1
    evidence = 0.5 * math.log(2 * math.pi * 2) + 0.5 * 1**2 / 2  # y ~ N(0, 2)
    posterior = 0.5 * (1 / 0.5 + 0.5**2 / 0.5 - 1 - math.log(1 / 0.5))  # N(0.5, 0.5)
    assert [round(nats, 3) for nats in (free, evidence, posterior)] == [1.919, 1.516, 0.403]
    assert math.isclose(free - evidence, posterior)
