"""What *What does a prediction not know?* claims, by tables, exact posteriors and by hand."""

import numpy as np
from scipy.stats import chi2

from ensedu.book import measured
from ensedu.book.experiments import digit_networks, dropout
from ensedu.book.experiments import disentangling as trained
from ensedu.book.experiments import running_example as example
from ensedu.book.experiments.contest import mixes
from ensedu.book.experiments.exact import CENTERS, GRID, exact
from ensedu.book.page.digit import EXAMPLES
from ensedu.book.page.digit import stored_networks as stored
from ensedu.book.page.digit.drawings import LETTERS, seen
from ensedu.data import gap
from ensedu.uncertainty import ece, entropy_parts, holm, paired
from tests.book.claiming import Change, Claims

MEANING = "what a word or a number means"
CLAIMS = Claims(
    "learning/uncertainty",
    unclaimed={
        "0.69 nats, for a fair coin": "log 2",
        "1 bit is 0.69 nats": MEANING,
        "let one say 99 to 1": "an example, whose cell follows",
        "Suppose it rains on 70": "an example",
        "70% of the days on which you": MEANING,
        "A density may exceed 1": MEANING,
        "It is 0 only if you state": "a property of the divergence, in the glossary",
        "the mixed term is": "the proof itself",
    },
)
#: Of the grid: among the points, and in the gap.
AMONG, INSIDE = (int(np.abs(GRID - x).argmin()) for x in (-2.5, 0.25))
SHARES = "digit-splits", "summary", "means"


def cells(place: str, part: str, number: int | None = None) -> np.ndarray:
    """Return means of the figure, for each σ and each number of points, or for one number."""
    numbers = trained.NUMBERS if number is None else [number]
    return np.array(
        [[trained.summary_cell(place, n, s)[part][1] for n in numbers] for s in trained.SIGMAS]
    )


def cell(place: str, number: int, sigma: float, *way: str | int, **change: float) -> Change:
    """Return a change of a mean of the figure."""
    where = {"place": place, "number": number, "sigma": sigma}
    return Change("disentangling", "summary", "cells", where, *way, **change)


def contrast(ratio: str, place: str, sigma: float, number: int | None = None) -> dict:
    """Return a ratio, low, mean and high, and its p-value after Holm."""
    return trained.summary_contrast(ratio, place, number, sigma)


def members_of(method: str, drawing: str) -> np.ndarray:
    """Return what each member gives to each digit, (M, 1, 10)."""
    row = measured.row(measured.load("digit-networks")["rows"], method=method)
    arrays = stored.unpacked(method, row["arrays"])
    return stored.probabilities(method, arrays, seen(EXAMPLES[drawing][1])[None])[0]


def says(method: str, drawing: str) -> tuple[list[int], np.ndarray, list[float]]:
    """Return the digit of each member, the mean probabilities, and the bits in both parts."""
    p = members_of(method, drawing)
    parts = entropy_parts(p)
    bits = [part.item() / np.log(2) for part in (parts.expected, parts.mutual_information)]
    return p.argmax(-1).ravel().tolist(), p.mean(0)[0], bits


def sure(method: str, kind: str) -> int:
    """Return the percent of drawings of which a method is sure."""
    return round(100 * measured.load("digit-splits")["summary"]["means"][method][kind]["sure"])


@CLAIMS.says("among", "falls from 0.42 to 0.03")
@CLAIMS.says("halves", "middle of the gap it only halves")
def _() -> None:
    few, many = (exact(number, 0.2, "bumps").unknown for number in (4, 256))
    assert (round(few[AMONG], 2), round(many[AMONG], 2)) == (0.42, 0.03)
    assert 0.4 < many[INSIDE] / few[INSIDE] < 0.6


@CLAIMS.says("four-times", "as much as four times the points")
def _() -> None:
    for number in (32, 64):
        half = exact(number, 0.1, "bumps").unknown[AMONG]
        more = exact(4 * number, 0.2, "bumps").unknown[AMONG]
        assert abs(np.log(half / more)) < np.log(1.35)
    assert abs(half / more - 1) < 0.05


@CLAIMS.says("bumps", "are sums of 17 bumps")
def _() -> None:
    assert len(CENTERS) == 17


@CLAIMS.says("four-say", "Four members say 0.35 where 0.59 is right")
def _() -> None:
    """The same draws, by the normal distribution of one height of the curve in the gap."""
    known = exact(64, 0.2, "bumps")
    features = np.exp(-0.5 * ((known.x[:, None] - CENTERS) / 0.8) ** 2)
    here = np.exp(-0.5 * ((GRID[INSIDE] - CENTERS) / 0.8) ** 2)
    root = np.linalg.cholesky(np.linalg.inv(features.T @ features / 0.2**2 + np.eye(17)))
    heights = np.random.default_rng([0, 1]).standard_normal((4, 17)) @ root.T @ here
    assert round(heights.std(ddof=1), 2) == 0.35
    assert round(known.unknown[INSIDE], 2) == 0.59


@CLAIMS.says("typical", "about 40%, and one time in five")
@CLAIMS.says("with-64", "With 64 it is 9%")
@CLAIMS.says("summary-forty", "miss its standard deviation by about 40%")
def _() -> None:
    draws = np.random.default_rng(0).standard_normal((40_000, 64))
    for members, percent in ((4, 40), (64, 9)):
        own = draws[:, :members].std(axis=1, ddof=1)
        assert abs(100 * np.sqrt(((own - 1) ** 2).mean()) - percent) < 1
        assert abs(100 / np.sqrt(2 * (members - 1)) - percent) < 1
    beyond = chi2.cdf(3 * 0.5**2, 3) + chi2.sf(3 * 1.5**2, 3)
    assert abs(beyond - 1 / 5) < 0.025


@CLAIMS.says("all-noise", "the 0.69 nats of their average")
@CLAIMS.says("nearly-all", "nearly all of your 0.69 nats")
def _() -> None:
    for own, part in ((0.5, 0.0), (0.99, 0.92)):
        parts = entropy_parts(np.array([[[own, 1 - own]], [[1 - own, own]]]))
        assert round(parts.total.item(), 2) == 0.69
        assert abs(parts.mutual_information.item() / parts.total.item() - part) < 0.005


@CLAIMS.says(
    "networks", "learned from 1,200 small images of digits",
    Change("digit-networks", "settings", "train", to=1000),
)  # fmt: skip
def _() -> None:
    assert measured.load("digit-networks")["settings"]["train"] == 1200
    assert digit_networks.NETWORKS.settings["train"] == 1200
    assert len(dropout.split_digits(1200, 0)[0][1]) == 1200


@CLAIMS.says("x", "deep ensemble say 8, 2, 3 and 2")
@CLAIMS.says("e", "All four members say 5, and neither")
def _() -> None:
    assert says("deep_ensemble", "an X")[0] == [8, 2, 3, 2]
    digits, _, bits = says("deep_ensemble", "an E")
    assert digits == [5] * 4 and max(bits) < 0.01


@CLAIMS.says(
    "letters",
    "360 letters, and digits that no network",
    Change("digit-splits", "settings", "number", to=36),
)
def _() -> None:
    number = measured.load("digit-splits")["settings"]["number"]
    assert number == digit_networks.NUMBER == 360
    assert number % len(LETTERS) < len(LETTERS)
    assert len(digit_networks.drawings_of_kind("letters", 0, number)[0]) == 360


@CLAIMS.says(
    "half-of-letters", "sure of 90% of the digits",
    Change(*SHARES, "single", "test", "sure", times=0.98),
    Change(*SHARES, "single", "letters", "sure", times=1.05),
)  # fmt: skip
def _() -> None:
    assert (sure("single", "test"), sure("single", "letters")) == (90, 50)
    assert {row["split"] for row in measured.load("digit-splits")["rows"]} == {*range(10)}


@CLAIMS.says(
    "agree", "still sure of 49% of the letters",
    Change(*SHARES, "deep_ensemble", "letters", "sure", times=1.1),
)  # fmt: skip
def _() -> None:
    """Above 90% on average, each of four gives this digit at least 60%: more than any other."""
    assert sure("deep_ensemble", "letters") == 49
    assert 4 * stored.SURE - 3 > 0.5


@CLAIMS.says("ideal", "the error would be 1.2 times")
@CLAIMS.says("ideal-root", "and the root of 1.5 is 1.2")
def _() -> None:
    draws = np.random.default_rng(0).standard_normal((200_000, 6))
    error = (draws[:, :5].mean(axis=1) - draws[:, 5]) ** 2
    ratio = error.mean() / draws[:, :5].var(axis=1).mean()
    assert abs(ratio - 1.5) < 0.02 and round(1.5**0.5, 1) == 1.2


@CLAIMS.says(
    "multiple", "error is 1.5 to 3.5 times the spread",
    cell("gap", 480, 0.2, "error", 1, times=1.1), cell("regions", 120, 0.1, "error", 1, times=0.6),
)  # fmt: skip
@CLAIMS.says("squares", "it is at least twice the squared spread")
@CLAIMS.says("far-smaller", "at most seven tenths of the error")
def _() -> None:
    squares = np.concatenate([cells(p, "error") / cells(p, "spread") for p in trained.PLACES])
    ratios = np.sqrt(squares)
    assert abs(ratios.min() - 1.5) < 0.05 and abs(ratios.max() - 3.5) < 0.1
    assert squares.min() >= 2 and 0.65 < 1 / ratios.min() < 0.7


@CLAIMS.says(
    "common", "other seven eighths all five have in common",
    cell("regions", 120, 0.1, "spread", 1, times=1.2),
)  # fmt: skip
def _() -> None:
    """Members with seeds of their own leave V / 5 in the error, and show 4 V / 5 on average."""
    draws = np.random.default_rng(0).standard_normal((200_000, 5))
    own = (draws.mean(axis=1) ** 2).mean()
    assert abs(own - 1 / 5) < 0.005
    assert abs(own / draws.var(axis=1).mean() - 1 / 4) < 0.005
    for place in trained.PLACES:
        assert (cells(place, "error") / cells(place, "spread")).min() >= 2
        assert (1 - cells(place, "spread") / 4 / cells(place, "error")).min() >= 7 / 8


@CLAIMS.says("predict", "You train five networks on 30 points")
@CLAIMS.says("then-480", "train five others on 480 points")
@CLAIMS.says("answer", "They agree far more")
@CLAIMS.says(
    "gap", "From 30 to 480 points the spread",
    *(Change("disentangling", "summary", "contrasts",
             {"ratio": "spread, more data", "place": "gap", "sigma": sigma}, "mean", to=0.5)
      for sigma in trained.SIGMAS),
)  # fmt: skip
def _() -> None:
    assert (trained.NUMBERS[0], trained.NUMBERS[-1], trained.SETTINGS["members"]) == (30, 480, 5)
    for sigma in trained.SIGMAS:
        own = contrast("spread, more data", "gap", sigma)
        assert 0.4 < own["mean"] ** 0.5 < 0.6 and own["adjusted"] < 0.05


@CLAIMS.says("no-change", "But their error does not clearly fall")
@CLAIMS.says("afterwards", "interval of its logarithm includes no change")
@CLAIMS.says("although", "from 0.60 to 0.44", cell("gap", 480, 0.4, "error", 1, times=1.05))
@CLAIMS.says("alone", "this alone would be clear (p = 0.03")
def _() -> None:
    falls = [round(np.sqrt(cells("gap", "error", number)[-1, 0]), 2) for number in (30, 480)]
    assert (trained.SIGMAS[-1], falls) == (0.4, [0.60, 0.44])
    rows = measured.load("disentangling")["rows"]
    for sigma in trained.SIGMAS:
        few, many = (
            np.log([r["gap"]["error"] for r in rows if (r["number"], r["sigma"]) == (n, sigma)])
            for n in (30, 480)
        )
        found, squares = paired(many - few), paired(np.exp(many) - np.exp(few))
        assert found.low < 0 < found.high
        assert (round(squares.p, 2) == 0.03) if sigma == 0.4 else squares.p > 0.3


@CLAIMS.says(
    "where", "2 to 4 times as large as among",
    cell("gap", 480, 0.1, "spread", 1, times=1.2), cell("gap", 30, 0.1, "spread", 1, times=0.8),
)  # fmt: skip
@CLAIMS.says("summary-hint", "larger where data are missing")
def _() -> None:
    wider = np.sqrt(cells("gap", "spread") / cells("regions", "spread"))
    assert abs(wider.min() - 2.3) < 0.05 and abs(wider.max() - 4.3) < 0.05


@CLAIMS.says("twenty", "20 data sets, each with its own")
@CLAIMS.says(
    "recipe",
    "learning rate 0.005, batches of 20",
    Change("disentangling", "settings", "lr", to=0.01),
)
@CLAIMS.says("steps", "from 300 to 3,000, was chosen")
@CLAIMS.says("inputs", "over 400 new inputs in each place")
def _() -> None:
    found = measured.load("disentangling")
    assert found["settings"] == trained.EXPERIMENT.settings == trained.SETTINGS
    wanted = {"members": 5, "lr": 0.005, "batch_size": 20, "points": 400}
    assert found["settings"] == wanted
    assert {row["data_seed"] for row in found["rows"]} == {*range(20)}
    assert len(found["rows"]) == 20 * len(trained.CHOSEN)
    assert trained.WIDTHS == (1, 50, 50, 2)
    tuning = measured.load("disentangling-tuning")["rows"]
    assert len({row["data_seed"] for row in tuning}) == 3
    assert not {row["data_seed"] for row in tuning} & {*range(20)}
    assert (min(trained.TRIES), max(trained.TRIES)) == (300, 3000)


@CLAIMS.says("above", "In all 18 cases the 95% interval")
@CLAIMS.says("holm", "by Holm's correction over 60 ratios")
def _() -> None:
    contrasts = measured.load("disentangling")["summary"]["contrasts"]
    assert len(contrasts) == 60
    adjusted = holm([one["p"] for one in contrasts])
    assert np.allclose(adjusted, [one["adjusted"] for one in contrasts], rtol=1e-3, atol=1e-12)
    own = [one for one in contrasts if one["ratio"] == "error / spread"]
    assert len(own) == 18
    assert all(one["low"] > 1.5 and one["adjusted"] < 0.05 for one in own)


@CLAIMS.says(
    "stated", "they state 0.058 with 30 points where 0.01",
    cell("regions", 30, 0.1, "noise", 1, times=1.1),
    cell("regions", 480, 0.1, "noise", 1, times=1.1),
)  # fmt: skip
def _() -> None:
    found = [round(cells("regions", "noise", number)[0, 0], 3) for number in (30, 480)]
    assert found == [0.058, 0.014]
    assert trained.SIGMAS[0] ** 2 < 0.0101


def rain(stated: float) -> tuple[float, float]:
    """Return the expected NLL, and how often the likelier answer is right; it rains on 70%."""
    nll = -0.7 * np.log(stated) - 0.3 * np.log(1 - stated)
    return nll, 0.7 if stated > 0.5 else 0.3


@CLAIMS.says("right", "this forecaster is as good as one")
@CLAIMS.says("honest", "The honest 70% costs 0.61 nats")
@CLAIMS.says("twice", "To say 99% costs more than twice")
def _() -> None:
    (honest, right), (sure_of, same) = rain(0.7), rain(0.99)
    assert right == same == 0.7
    assert round(honest, 2) == 0.61
    assert 2 < sure_of / honest < 2.5
    assert round(-np.log(0.01), 1) == 4.6
    assert all(rain(stated)[0] > honest for stated in (0.01, 0.3, 0.6, 0.69, 0.71, 0.8, 0.9))


@CLAIMS.says("sky", "You are calibrated, and nobody knows")
@CLAIMS.says("each-day", "say 70% each day, without a look")
def _() -> None:
    days = np.repeat([0, 1], [30, 70])
    assert ece(np.tile([0.3, 0.7], (100, 1)), days) < 1e-9


def scored(contestant: str, place: str, score: str = "nll", key: str = "mean") -> float:
    """Return a mean of the running example, or a part of its difference from one network."""
    return example.summary_row(contestant, place, score)[key]


def change(contestant: str, place: str, score: str, key: str, times: float) -> Change:
    """Return a change of it."""
    where = {"contestant": contestant, "place": place, "score": score}
    return Change("running-example", "summary", where, key, times=times)


@CLAIMS.says(
    "gap-costs", "the gap is expensive, 11.67 nats",
    change("single", "gap", "nll", "mean", 1.1), change("single", "regions", "nll", "mean", 1.1),
)  # fmt: skip
@CLAIMS.says("most", "pay far less", change("rank1", "gap", "nll", "mean", 4))
def _() -> None:
    assert [round(scored("single", place), 2) for place in ("gap", "regions")] == [11.67, -0.57]
    less = [scored(name, "gap") < 0.5 * scored("single", "gap") for name in example.CONTESTANTS]
    assert less.count(False) == 2  # one network, and the last-layer ensemble


@CLAIMS.says(
    "larger", "narrow a band, and a curve that errs", change("wide", "gap", "rmse", "high", -1)
)
@CLAIMS.says(
    "doubts", "hardly at the data", change("deep_ensemble", "regions", "spread", "mean", 3)
)
@CLAIMS.says(
    "everywhere", "pays more at the data", change("mc_dropout", "regions", "nll", "low", -1)
)
def _() -> None:
    """The noise, which is known, is wider than what a deep ensemble doubts at the data."""
    assert scored("wide", "gap", "rmse", "high") < 0
    assert example.CONTESTANTS["wide"].method == "single"
    deep = [scored("deep_ensemble", place, "spread") for place in example.PLACES]
    assert deep[0] < gap.noise / 2 and deep[1] > 5 * deep[0]
    assert scored("mc_dropout", "regions", "spread") > 2 * deep[0]
    assert scored("mc_dropout", "regions", "nll", "low") > 0


@CLAIMS.says("running", "with 60 points in [-4, -1]")
@CLAIMS.says("known-noise", "Their noise has \\sigma = 0.1")
@CLAIMS.says("running-sizes", "are 1-50-50-1 (the larger one 1-102-102-1)")
@CLAIMS.says(
    "running-means", "means over 20 data sets, 5 random",
    Change("running-example", "settings", "seeds", to=3),
)  # fmt: skip
def _() -> None:
    assert (gap.number, gap.regions, gap.noise) == (60, ((-4.0, -1.0), (1.5, 4.0)), 0.1)
    assert np.allclose(gap.truth(GRID), np.sin(1.5 * GRID) + 0.2 * GRID)
    assert (example.SIZES, example.WIDE) == ((1, 50, 50, 1), (1, 102, 102, 1))
    found = measured.load("running-example")
    assert found["settings"] == example.EXPERIMENT.settings
    assert (len({row["data_seed"] for row in found["rows"]}), found["settings"]["seeds"]) == (20, 5)


def one(contestant: str, index: int, **change: float) -> Change:
    """Return a change of the mean that a contestant predicts for one of the six."""
    where = {"contestant": contestant}
    return Change(mixes.TABLE, "rows", where, "mean", mixes.chosen()[index].row, **change)


@CLAIMS.says("nine-in-ten", "so a 90% interval")
@CLAIMS.says("ordinary", "lies at the upper end of both", one("single", 0, times=2.0))
def _() -> None:
    assert mixes.LEVEL == 0.9
    strengths = np.array([mix.strength for mix in mixes.chosen()])
    for method in ("single", "deep_ensemble"):
        low, high = mixes.intervals(method)
        assert ((low < strengths) & (strengths < high))[:2].all()
        assert abs(strengths[2] - high[2]) < 0.04 * (high[2] - low[2])
        assert (strengths[2] > high[2]) == (method == "deep_ensemble")


@CLAIMS.says(
    "too-strong", "It bore 24 megapascals", one("single", 4, times=0.9),
    one("deep_ensemble", 4, times=0.9),
)  # fmt: skip
@CLAIMS.says("others-miss", "their intervals miss this strength", one("swag", 4, times=0.7))
def _() -> None:
    mix = mixes.chosen()[4]
    for method in ("batch_ensemble", "rank1", "mc_dropout", "swag"):
        assert mixes.intervals(method)[0, 4] > mix.strength
    assert (mix.name, mix.kind, round(mix.strength)) == ("cement and water", "unusual", 24)
    assert all(mixes.intervals(method)[0, 4] > 31 for method in ("single", "deep_ensemble"))


@CLAIMS.says(
    "no-longer", "its interval is not wider than",
    Change(mixes.TABLE, "rows", {"contestant": "deep_ensemble"}, "std",
           mixes.chosen()[4].row, times=1.1),
)  # fmt: skip
@CLAIMS.says("all-four", "and all four expect too much")
def _() -> None:
    """Of four numbers none is farther from their mean than √3 of their standard deviations."""
    low, high = mixes.intervals("deep_ensemble")
    lengths = high - low
    assert lengths[4] <= lengths[2]
    std = lengths[4] / (2 * 1.6449)
    assert (low[4] + high[4]) / 2 - np.sqrt(3) * std > mixes.chosen()[4].strength + 5


@CLAIMS.says("ex-count", "twice the \\sigma needs 4 times the points")
@CLAIMS.says("ex-draws", "= 0.1 follows M = 51")
def _() -> None:
    at = np.abs(GRID + 2.5).argmin()
    once, twice = (exact(*one, "bumps").unknown[at] for one in ((64, 0.1), (256, 0.2)))
    assert abs(twice / once - 1) < 0.05
    assert np.isclose(1 / np.sqrt(2 * (51 - 1)), 0.1)
