"""What *What is inside a deep ensemble?* claims, by counts and by its tables."""

import numpy as np

from ensedu import counting
from ensedu.book import measured
from ensedu.book.experiments import averaging
from ensedu.book.experiments import running_example as example
from ensedu.data import gap
from tests.book.claiming import Change, Claims

CLAIMS = Claims(
    "counting/deep-ensemble",
    unclaimed={
        "The mixed term is 0, because": "a step of a proof",
        "independent and 0 on average": "the formula above",
        "and a band too narrow or": "how to read a score",
        "so unit 7 of one member has": "an example of a name",
    },
)


def kappa(place: str) -> float:
    """Return the mean product of two members' errors over the mean square of one."""
    return measured.load("averaging")["summary"][place]["correlation"]


def alike(place: str, times: float) -> Change:
    """Return a change of it."""
    return Change("averaging", "summary", place, "correlation", times=times)


def scored(name: str, place: str, part: str, times: float, score: str = "nll") -> Change:
    """Return a change of a contestant's score."""
    where = {"contestant": name, "place": place, "score": score}
    return Change("running-example", "summary", where, part, times=times)


def erring(name: str, times: float) -> Change:
    """Return a change of a contestant's error in the gap, in each run."""
    return Change("running-example", "rows", {"contestant": name}, "gap", "rmse", times=times)


def errors(name: str) -> np.ndarray:
    """Return a contestant's error in the gap, (data sets, starts)."""
    rows = measured.load("running-example")["rows"]
    return np.array([row["gap"]["rmse"] for row in rows if row["contestant"] == name])


def gains() -> np.ndarray:
    """Return what the ensemble's curve gains on each data set with the band of one network."""
    one, four = errors("single"), errors("deep_ensemble")
    return ((one**2 - four**2) / (2 * gap.noise**2)).mean(axis=1)


@CLAIMS.says("four", "hold 4 × 2,701 = 10,804 parameters")
def _() -> None:
    four, five = (counting.mlp([1, 50, 50, 1], "deep_ensemble", M).total for M in (4, 5))
    assert (four, five - four) == (10_804, 2701)


@CLAIMS.says("kappa", "Here \\kappa is about 0.8", alike("regions", 0.97), alike("gap", 1.04))
@CLAIMS.says("left", "Four members leave about 85% of the", alike("regions", 0.99))
def _() -> None:
    found = [kappa("regions"), kappa("gap")]
    assert [round(own, 1) for own in found] == [0.8, 0.8] and min(found) > 0.75
    four = [averaging.averaged_error(1.0, own, 4) for own in found]
    assert all(abs(own - 0.85) < 0.03 for own in four)


@CLAIMS.says("curve", "The curve is \\sin(1.5x) + 0.2x")
@CLAIMS.says("points", "Each data set has 60 points")
@CLAIMS.says("new", "New points are 400 in each")
@CLAIMS.says("recipe", "for 500 epochs with batches of 20")
@CLAIMS.says(
    "sets", "There are 20 data sets, with five",
    Change("running-example", "rows", {"data_seed": 3}, "data_seed", to=2),
)  # fmt: skip
@CLAIMS.says("runs", "in each of the 100 runs, and", erring("single", 1.1))
def _() -> None:
    x = np.linspace(-4, 4, 7)
    assert np.allclose(gap.truth(x), np.sin(1.5 * x) + 0.2 * x)
    assert gap.noise == 0.1
    inputs, _ = gap.sample(np.random.default_rng(0))
    regions = ((-4 <= inputs) & (inputs <= -1)) | ((1.5 <= inputs) & (inputs <= 4))
    assert len(inputs) == 60 and regions.all()
    settings = example.EXPERIMENT.settings
    assert (settings["epochs"], settings["batch_size"], settings["points"]) == (500, 20, 400)
    rows = [row for row in measured.load("running-example")["rows"] if row["contestant"] == "wide"]
    assert len({row["data_seed"] for row in rows}) == len(rows) == 20
    assert errors("single").shape == (20, 5)
    assert counting.mlp([1, 102, 102, 1]).total == example.parameters("wide")
    one, four = errors("single"), errors("deep_ensemble")
    assert [round(own.mean(), 2) for own in (one, four)] == [0.46, 0.45]


@CLAIMS.says("one", "In the gap one network has an", scored("single", "gap", "mean", 1.01))
@CLAIMS.says(
    "lower", "The ensemble's is 6.64 lower", scored("deep_ensemble", "gap", "difference", 1.01),
    scored("deep_ensemble", "gap", "high", -1),
)  # fmt: skip
@CLAIMS.says(
    "data", "data, the ensemble gains 0.08", scored("deep_ensemble", "regions", "difference", 1.2),
    scored("deep_ensemble", "regions", "high", -1),
)  # fmt: skip
@CLAIMS.says(
    "larger", "the four, gains 6.08 in the gap", scored("wide", "gap", "difference", 1.01),
    scored("wide", "gap", "high", -1),
)  # fmt: skip
@CLAIMS.says("summary", "four members gain 6.64 nats over one", erring("deep_ensemble", 0.9))
def _() -> None:
    assert round(example.summary_row("single", "gap", "nll")["mean"], 2) == 11.67
    for name, place, wanted in (
        ("deep_ensemble", "regions", -0.08), ("deep_ensemble", "gap", -6.64), ("wide", "gap", -6.08)
    ):  # fmt: skip
        row = example.summary_row(name, place, "nll")
        assert round(row["difference"], 2) == wanted and row["high"] < 0
    curve, doubt = example.gap_nll_parts("wide")
    assert curve.high < 0 and abs(doubt.mean) < 0.02
    assert round(example.gap_nll_parts("deep_ensemble")[1].mean, 2) == -5.06


@CLAIMS.says("unclear", "Whether its curve is better, too, is", erring("deep_ensemble", 0.8))
@CLAIMS.says("split", "Its NLL is 1.58 lower than one", erring("deep_ensemble", 1.02))
@CLAIMS.says("zero", "Its interval includes 0, so it is", erring("deep_ensemble", 0.8))
@CLAIMS.says("gain", "How can a curve gain 1.58 when its", erring("deep_ensemble", 0.96))
@CLAIMS.says("doubt", "The other 5.06 come from the wider", erring("single", 1.02))
@CLAIMS.says("squares", "Their averages are 0.2509 and 0.2193", erring("single", 0.99))
@CLAIMS.says("most", "On one data set the curve gains", erring("deep_ensemble", 0.98))
@CLAIMS.says("part", "it brings 0.68 of the 1.58", erring("single", 1.01))
@CLAIMS.says("others", "The other 19 bring 0.90", erring("deep_ensemble", 0.99))
def _() -> None:
    curve, doubt = example.gap_nll_parts("deep_ensemble")
    assert (round(curve.mean, 2), round(doubt.mean, 2)) == (-1.58, -5.06)
    assert curve.high > 0 > doubt.high
    squares = [round((errors(name) ** 2).mean(), 4) for name in ("single", "deep_ensemble")]
    assert squares == [0.2509, 0.2193] and round(gap.noise**2, 2) == 0.01
    found = gains()
    assert np.isclose(found.mean(), -curve.mean)
    assert round(found.max(), 1) == 13.7 and (found < 0).sum() == 8
    *others, most = np.sort(found)
    assert [round(most / 20, 2), round(sum(others) / 20, 2)] == [0.68, 0.90]
    assert [round(own, 1) for own in (others[0], others[8], others[-1])] == [-3.5, 0.6, 5.5]


@CLAIMS.says(
    "covers", "Its 95% interval holds 48% of new",
    scored("deep_ensemble", "gap", "mean", 1.1, "coverage"),
    scored("single", "gap", "mean", 1.1, "coverage"),
)  # fmt: skip
def _() -> None:
    for name, share in (("single", 0.32), ("deep_ensemble", 0.48)):
        assert round(example.summary_row(name, "gap", "coverage")["mean"], 2) == share


@CLAIMS.says("ex-count", "and the sixth costs another 79{,}510")
def _() -> None:
    five, six = (counting.mlp([784, 100, 10], "deep_ensemble", M) for M in (5, 6))
    assert five.total == 397_550 and six.total - five.total == 79_510
