"""What *Bayes by Backprop* claims: by its tables, by what its cells find, and by its formulas."""

from functools import cache
from typing import Any

import numpy as np
import torch

from ensedu import uncertainty
from ensedu.book import measured
from ensedu.book.experiments import bayes, nuts, nuts_distances, running_example
from ensedu.book.experiments.contest import reading
from ensedu.book.figures import bayes_by_backprop as figures
from ensedu.common.training_plan import minibatch_kl_weights
from ensedu.data import gap
from ensedu.numpy import variational
from ensedu.priors import Normal
from tests.book.claiming import Change, Claims
from tests.book.conftest import read

#: What stands in the cells that fit lines, and in the one that trains a network.
CELLS = ("def posterior(", "def bayes_by_backprop(", "def doubt(", "WIDTH, START =")

CLAIMS = Claims(
    "learning/bayes-by-backprop",
    unclaimed={
        "never negative, and 0 only if": "what a KL is",
        "Up to a constant": "a proof",
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


def quiet(part: str, way: str) -> np.ndarray:
    """Return the variance of a gradient by batch size, over that of weight samples."""
    rows = measured.load("bayes-noise")["rows"]
    own, theirs = (np.mean([row[k][part] for row in rows], axis=0) for k in (way, "weights"))
    return own / theirs


def distance(place: str, contestant: str, times: float) -> Change:
    """Return a change of a ratio to NUTS."""
    row = {"contestant": contestant, "place": place, "score": "std_ratio"}
    return Change("nuts-distances", "summary", row, "mean", times=times)


def base(*way: str, times: float, **changed: Any) -> Change:
    """Return a change of a score of the base, or of a change of it."""
    return Change("bayes", "rows", bayes.BASE | changed, *way, times=times)


@CLAIMS.says("question", "You fit a line to 20 points")
@CLAIMS.says("points", "Here are 20 noisy points")
@CLAIMS.says("made", "made with an intercept of 0.5")
def _() -> None:
    x, y = found()["line"](3)
    rng = np.random.default_rng(1)
    inputs, noise = rng.uniform(-1, 1, 20) + 3, 0.5 * rng.standard_normal(20)
    assert np.allclose(x.T, [np.ones(20), inputs])
    assert np.allclose(y, 0.5 - inputs + noise)


@CLAIMS.says("exact", "−0.34, give or take 0.52")
@CLAIMS.says("far", "far from all points")
def _() -> None:
    x, y = found()["line"](3)
    mean, precision = found()["posterior"](x, y, noise=0.5)
    std = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert [*mean.round(2), *std.round(2)] == [-0.34, -0.72, 0.52, 0.18]
    assert x[:, 1].min() > 2


@CLAIMS.says("weights", "for the 61 weights of the network above")
def _() -> None:
    """The band is that of this network, and lies behind its figure."""
    assert nuts.NUMBER == 3 * nuts.MODEL["width"] + 1 == 61
    band, points = bayes.shown()
    row = measured.row(measured.load("nuts")["rows"], data_seed=bayes.TYPICAL)
    assert band["label"] == "NUTS"
    assert band["std"] == row["std"]
    assert np.array_equal(points, np.hstack(gap.sample(np.random.default_rng(bayes.TYPICAL))))


@CLAIMS.says("limit", "charges without limit")
def _() -> None:
    """A tenth of a standard deviation costs a weight log 10 nats more, again and again."""
    rho = np.array([variational.inverse_softplus(10.0**-k) for k in range(3, 9)])
    costs = variational.kl(np.zeros(6), rho, Normal(0.0, 1.0))
    assert np.allclose(np.diff(costs), np.log(10), atol=1e-4)


@CLAIMS.says("third", "each of three minibatches bears a third")
@CLAIMS.says("shares", "gives the first more than the last")
def _() -> None:
    assert np.allclose(minibatch_kl_weights(3), 1 / 3)
    assert np.allclose(minibatch_kl_weights(3, "geometric"), [4 / 7, 2 / 7, 1 / 7])


@CLAIMS.says("small", "The standard deviations are far too small")
@CLAIMS.says("fifth", "a fifth of its true standard deviation")
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
@CLAIMS.says("steeper", "the slope is 0.1 larger")
@CLAIMS.says("cancel", "at 3 their errors nearly cancel")
def _() -> None:
    own, true, _ = line()
    exactly = own.doubt[0]
    assert exactly[at(3)] < 0.13 < 0.5 < exactly[at(0)]
    assert own.covariance[0, 1] / true.prod() < -0.97
    assert round(0.1 * own.covariance[0, 1] / own.covariance[1, 1], 1) == -0.3
    assert exactly[at(3)] < 0.25 * min(true[0], 3 * true[1])


@CLAIMS.says("alone", "either error alone would spread")
@CLAIMS.says("unrelated", "1.4 times as far")
def _() -> None:
    own, _, wider = line()
    alone = own.sigma * [1, 3] / own.doubt[0][at(3)]
    assert np.allclose(alone, 1, atol=0.05)
    assert round(wider[at(3)], 1) == 1.4


@CLAIMS.says("ends", "at 2 they spread 0.7 times")
@CLAIMS.says("sixth", "−1 they spread a sixth")
def _() -> None:
    own, _, wider = line()
    assert own.inputs.min() > 2
    assert own.inputs.max() < 4
    assert (wider[: at(2) + 1] < 1).all()
    assert wider[at(4)] < 1
    assert round(wider[at(2)], 1) == 0.7
    assert own.doubt[1].argmin() == at(0)
    assert round(1 / wider[at(-1)]) == 6


@CLAIMS.says("moved", "both faults are all but gone")
def _() -> None:
    own, true, wider = line(0)
    assert np.allclose(own.sigma, true, rtol=0.05)
    assert np.allclose(wider, 1, atol=0.11)


@CLAIMS.says("twenty", "with 20 inputs instead of one")
@CLAIMS.says("doubles", "the doubt at the data doubles")
@CLAIMS.says("last", "both curves fall far below NUTS")
def _() -> None:
    cells = found()
    precision, (exact, last, apart) = cells["precision"], cells["stds"]
    assert len(precision) == 1 + 20  # and a bias
    assert (np.diag(precision) ** -0.5 < np.sqrt(np.diag(np.linalg.inv(precision)))).all()
    places = nuts.inputs_by_place(nuts.grid())
    near, between = ([(own / exact)[places[k]] for own in (last, apart)] for k in nuts.PLACES[:2])
    assert 1.9 < near[1].mean() / near[0].mean() < 2.1
    assert max(map(np.max, between)) < 0.5
    assert max(map(np.mean, between)) < 0.15


@CLAIMS.says("ratios", "1.70 times as uncertain", distance("regions", "mean_field", 1.02))
@CLAIMS.says("errors", "the two errors of the line", distance("gap", "mean_field", 2.5))
@CLAIMS.says("factor", "would make one of the two worse", distance("gap", "mean_field", 2.3))
def _() -> None:
    assert [round(ratio(place), 2) for place in nuts.PLACES[:2]] == [1.70, 0.45]


@CLAIMS.says("nobody", "nobody else in the figure", distance("regions", "deep_ensemble", 3))
@CLAIMS.says("as-near", "comes about as near", distance("gap", "deep_ensemble", 1.1))
def _() -> None:
    """One network has no doubt at all, and the right shape would be one ratio everywhere."""
    for name in nuts_distances.CONTESTANTS:
        own = [ratio(place, name) for place in nuts.PLACES]
        assert max(own) == 0 if name == "single" else max(own) > 3 * min(own)
    assert round(ratio("gap", "deep_ensemble"), 2) == 0.49
    assert abs(ratio("gap", "deep_ensemble") - ratio("gap")) < 0.05
    assert "prior" not in nuts_distances.CONTESTANTS["deep_ensemble"].options


@CLAIMS.says(
    "weaker", "shows a weaker form", Change("nuts", "rows", {"data_seed": 8}, "std", to=[0.05] * 93)
)
def _() -> None:
    """Mean-field is less sure in the gap, too, but by much less than NUTS."""
    places = nuts.inputs_by_place(nuts.grid())
    band, _ = bayes.shown()
    curves = setting("", "spread"), np.array(band["std"])
    ours, exact = (own[places["gap"]].mean() / own[places["regions"]].mean() for own in curves)
    assert 1 < ours < exact / 3


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
    assert min(row["effective_draws"] for row in rows) == 6190
    assert all(1022 <= row["steps"] <= 1023 for row in rows)


@CLAIMS.says("others", "The other four methods of the figure")
@CLAIMS.says(
    "means", "Means over 5 data sets", Change("nuts-distances", "settings", "starts", to=4)
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


@CLAIMS.says("one-at-a-time", "We changed one hyperparameter at a time")
def _() -> None:
    assert all(len(change) == 1 for change in bayes.CHANGES.values())
    assert [bayes.BASE[name] for name in ("beta", "std", "steps", "samples")] == [1, 0.1, 3000, 1]


@CLAIMS.says("drowns", "drowns in that noise", base("regions", "nll", std=1.0, times=0.1))
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
    assert clear("initial std 1")


@CLAIMS.says(
    "no-kl", "the fit is just as bad", base("regions", "nll", beta=0.0, std=1.0, times=0.8)
)
@CLAIMS.says(
    "win-back", "16 of them win back", base("regions", "nll", std=1.0, samples=16, times=1.3)
)
def _() -> None:
    good, bad, grown, free, averaged = (
        setting("regions", "nll", **own).mean()
        for own in (
            {}, {"std": 1.0}, {"std": 1.0, "anneal": 0.5}, {"std": 1.0, "beta": 0.0},
            {"std": 1.0, "samples": 16},
        )
    )  # fmt: skip
    assert np.allclose([grown, free], bad, atol=0.02)
    assert bad - averaged > 0.5 * (bad - good) > 0


@CLAIMS.says("grows", "does gain a little", base("regions", "nll", anneal=0.5, times=-3))
def _() -> None:
    for std in (0.01, 0.1):
        grown = setting("regions", "nll", std=std, anneal=0.5) - setting("regions", "nll", std=std)
        assert -0.15 < grown.mean() < -0.05
    assert clear("KL grows slowly")


@CLAIMS.says("longer", "Four times as many steps", base("regions", "nll", steps=12000, times=1.1))
@CLAIMS.says("energy", "from 165 to 115", base("free_energy", steps=12000, times=1.1))
def _() -> None:
    assert 4 * bayes.BASE["steps"] == 12000
    assert round(gained("regions", "nll", steps=12000).mean, 2) == -0.34
    assert clear("12,000 steps")
    energies = [setting("", "free_energy", **own).mean() for own in ({}, {"steps": 12000})]
    assert list(map(round, energies)) == [165, 115]


@CLAIMS.says("tenth", "A tenth of the KL", base("regions", "nll", beta=0.1, times=1.2))
@CLAIMS.says("kept-up", "the KL was what kept", base("gap", "std_ratio", beta=0.1, times=1.2))
@CLAIMS.says("costs", "A small KL weight costs the doubt", base("sigma", beta=0.1, times=3))
def _() -> None:
    assert round(gained("regions", "nll", beta=0.1).mean, 2) == -0.32
    assert clear("KL weight 0.1")
    assert setting("", "sigma", beta=0.1).mean() < 0.5 * setting("", "sigma").mean()
    widths = [setting("gap", "std_ratio", **own).mean() for own in ({}, {"beta": 0.1})]
    assert [f"{one:.2f}" for one in widths] == ["0.52", "0.28"]


@CLAIMS.says(
    "about-twice", "about twice as wide", base("regions", "std_ratio", samples=16, times=2)
)
@CLAIMS.says("shape", "Nothing mends the shape", base("gap", "std_ratio", beta=0.1, times=3))
def _() -> None:
    rows = measured.load("bayes")["rows"]
    near, between = (
        np.array([np.mean(row[place]["std_ratio"]) for row in rows]) for place in nuts.PLACES[:2]
    )
    usual = np.array([row["beta"] == 1 and row["std"] < 1 for row in rows])
    assert (np.abs(near[usual] - 1.95) < 0.1).all()
    assert (np.abs(between[usual] - 0.48) < 0.05).all()
    assert f"{ratio('regions'):.1f}" == "1.7"
    assert (near > 2.4 * between).all()


@CLAIMS.says("fit", "more samples make a fit", base("regions", "nll", std=0.01, times=-2))
def _() -> None:
    for name in ("initial std 0.01", "12,000 steps", "16 samples a step"):
        assert gained("regions", "nll", **bayes.CHANGES[name]).mean < 0
        assert clear(name)


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


@CLAIMS.says(
    "batch",
    "at 512 examples both tricks leave",
    Change("bayes-noise", "rows", {}, "local", "mean", times=1.3),
)
@CLAIMS.says(
    "quieter",
    "local reparameterization is quieter",
    Change("bayes-noise", "rows", {}, "flipout", "rho", times=1.2),
)
def _() -> None:
    table = measured.load("bayes-noise")
    assert table["settings"]["sizes"][-1] == 512
    for way in bayes.ESTIMATORS[1:]:
        variances = np.mean([row[way]["mean"] for row in table["rows"]], axis=0)
        assert (np.diff(variances) < 0).all()
        assert round(quiet("mean", way)[-1], 2) == 0.04
    assert quiet("rho", "local").max() < 0.1
    assert 0.95 < quiet("rho", "flipout")[0] < 1
    assert round(quiet("rho", "flipout")[-1], 2) == 0.08


@CLAIMS.says(
    "gap",
    "8.71 nats a point against 6.64",
    Change(
        "running-example",
        "summary",
        {"contestant": "mean_field", "place": "gap", "score": "nll"},
        "difference",
        times=0.9,
    ),
)
def _() -> None:
    ours, deep = (
        running_example.summary_row(k, "gap", "nll") for k in ("mean_field", "deep_ensemble")
    )
    assert [round(own["difference"], 2) for own in (ours, deep)] == [-8.71, -6.64]
    loss = running_example.summary_row("mean_field", "regions", "nll")
    assert 0 < loss["low"] < loss["difference"] < 0.3


@CLAIMS.says(
    "contest",
    "its gain over one network unclear",
    Change("contest/gpa2", "rows", {"contestant": "mean_field"}, "nll", times=2),
)
def _() -> None:
    ours = reading.compared()["mean_field"]
    assert len(ours.sources) == 18
    assert ours.word == "unclear"
    assert ours.interval.mean < 0
