"""What the figures of *Learning* and of the side trips are given they draw, and what they say."""

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from ensedu.contest.swag import draw_weights
from ensedu.data import gap
from ensedu.theory import conjugate
from ensedu.uncertainty import Interval, paired
from tests.book.looking import LIGHT, check, drawn, holds, words
from workshop import measured, plot
from workshop.experiments import bayes, exact
from workshop.experiments.bayesian_cnn_images import Known, Seen
from workshop.experiments.contest.mixes import Mix
from workshop.experiments.images_out import METHODS as MAKERS
from workshop.experiments.images_out import TEST, Crop
from workshop.figures.learning import batch_ensemble as signs
from workshop.figures.learning import bayes_by_backprop as bbb
from workshop.figures.learning import bayesian_cnn as cnn
from workshop.figures.learning import deep_ensembles as deep
from workshop.figures.learning import images_out, next_task, uncertainty
from workshop.figures.learning import mc_dropout as dropout
from workshop.figures.learning import more_from_one_network as one_run
from workshop.figures.learning import pruning_and_mushrooms as pruning
from workshop.figures.learning import shootout as best
from workshop.page.frames import ranges
from workshop.plot.style import PAGE

RNG = np.random.default_rng(3)
SCALED = "one network, with a temperature"
X = np.linspace(-4.6, 4.6, 47)

# Uncertainty.
CURVE = uncertainty.Curve(exact.exact, exact.every_point(), exact.CHOICES)
FOUND = exact.exact(64, 0.2, "bumps")
DOUBT = np.sqrt(FOUND.unknown**2 + 0.2**2)
SAMPLES = FOUND.mean + FOUND.unknown * RNG.standard_normal((11, 1))
DRAWS = uncertainty.Members(FOUND, {(11, 1): SAMPLES})
BELIEFS = {
    name: plot.Belief(method, np.sin(X) + shift, np.full(47, 0.1 + shift))
    for name, method, shift in (
        ("one network", "single", 0.0), ("one larger network", "single", 0.1),
        ("BatchEnsemble from N(1, σ²)", "batch_ensemble", 0.2),
    )
}  # fmt: skip
PAID = dict(zip(BELIEFS, [(-0.5, 12.0), (-0.6, 7.0), (-0.25, 14.0)], strict=True))
METHODS = uncertainty.Methods(X, BELIEFS, PAID, gap.sample(np.random.default_rng(0)))
RANGES = {
    place: {part: np.outer([0.8, 1, 1.3], mean) for part, mean in parts.items()}
    for place, parts in {
        "regions": {"error": [0.05, 0.008, 0.006], "spread": [0.01, 0.003, 0.002]},
        "gap": {"error": [0.3, 0.2, 0.21], "spread": [0.1, 0.05, 0.03]},
    }.items()
}
STRENGTHS = np.array([11.0, 37.0, 61.0, 29.0, 23.0, 31.0])
NAMES = "weak", "medium", "strong", "little water", "cement and water", "much water"
AROUND = np.stack([STRENGTHS - 5, STRENGTHS + 7])
SHIFTED = AROUND + np.array([0, 0, 0, 0, 13, 0])
MIXES = uncertainty.Mixes(
    [Mix(name, "usual", i, STRENGTHS[i], 0.5) for i, name in enumerate(NAMES)],
    {"single": AROUND, "mc_dropout": SHIFTED, "swag": AROUND - 1},
)

# Deep ensembles, one run, and dropout.
SIZES = np.arange(1, 11)
MEAN, LAW = 5.78 + 0.24 / SIZES, 5.77 + 0.24 / SIZES
NEW = np.array([7.0, 3.0, 5.0, 11.0])
OWN = deep.Own("strength", NEW - 2.5, NEW, NEW + 1.5, NEW + np.array([1, -2, 2, -3]))
APART = np.array([-2, -1, 0, 1, 2])[:, None]
CURVES = np.stack([np.sin(X) + 0.01 * APART, np.sin(X) + 0.1 * APART])
COVARIANCE = np.array([[0.04, -0.03], [-0.03, 0.03]])
BEST = np.array([0.7, -1.1])
SEEN = BEST + 0.05 * np.random.default_rng(0).standard_normal((101, 2)) + 0.01
WALKS = one_run.Walks({"0.2": SEEN}, BEST, COVARIANCE)
RATES = "constant", "holds", "falls to zero"
SCORES = {
    "last network": [3.1, 3.09, 3.06], "last five epochs": [3.02, 3.03, 3.058],
    "SWAG": [3.0, 3.01, 3.04], "five networks": [2.999, 2.98, 2.97],
}  # fmt: skip
RUNS = {"NLL": {name: dict(zip(RATES, own, strict=True)) for name, own in SCORES.items()}}
INSIDE = (-1 < X) & (X < 1.5)
DROPPED = {
    "dropout in 1 layer": ("mc_dropout", np.where(INSIDE, 0.04, 0.1)),
    "dropout in 2 layers": ("mc_dropout", np.where(INSIDE, 0.18, 0.09)),
    "deep ensemble": ("deep_ensemble", np.where(INSIDE, 0.3, 0.06)),
}

# BatchEnsemble, Bayes, rank 1, images.
ENDS = {
    "N(1, 0.5²)": [signs.Trained(0.011, 0.097), signs.Trained(0.032, 0.144)],
    "random signs": [signs.Trained(0.029, 0.074), signs.Trained(0.084, 0.133)],
    "deep ensemble": [signs.Trained(0.033, 0.079)],
}
RATIOS = {
    "single": {"regions": 2.0, "gap": 1.2, "outside": 0.0},
    "deep_ensemble": {"regions": 0.15, "gap": 0.49, "outside": 0.58},
    "mean_field": {"regions": 1.7, "gap": 0.45, "outside": 0.36},
}
CALLED = {"single": "one network", "deep_ensemble": "deep ensemble", "mean_field": "mean-field BNN"}


def line(correlation):
    covariance = np.array([[0.25, 0.1 * correlation], [0.1 * correlation, 0.04]])
    both = np.linspace(0.1, 0.7, 7), np.full(7, 0.3)
    return bbb.Line(np.array([2.0, 3.5]), np.linalg.inv(covariance), both)


LINES = bbb.Lines(np.linspace(-1, 4, 7), lambda around: line(-0.8 if around else 0.0), 0.5)
EFFECTS = {
    name: Interval(mean, mean - 0.1, mean + 0.2, 10, 0.01)
    for name, mean in (("KL weight 10", -2.0), ("12,000 steps", -0.34), ("initial σ 1", 0.96))
}
SETTINGS = bbb.Settings(EFFECTS, [*EFFECTS][1:], 0.1)
PIXELS = RNG.random((40, 28, 28))
TORN = np.eye(10)[[2, 8] * 8]
IMAGES = cnn.Images(
    [Seen("digit", "3", PIXELS[0], np.eye(10)[[3] * 16], (0.0, 0.0))] * 4
    + [Seen("letter", "x", PIXELS[1], TORN, (0.1, 0.4))] * 4
)
WINDOWS = cnn.Windows(
    np.eye(5, dtype=int), np.eye(9, dtype=int), np.arange(9) % 3, np.arange(9) % 3
)
WHOLE = np.linspace(0.1, 0.6, 40)
EPISTEMIC = WHOLE * (0.3 + 0.1 * np.sin(np.arange(40)))
KNOWN = Known(PIXELS, np.stack([WHOLE - EPISTEMIC, EPISTEMIC]), np.zeros(40, bool))
SHARE = (EPISTEMIC / WHOLE)[WHOLE > 0.2].mean()
TRUTH = np.full((20, 20), 100.0)
MADE = TRUTH + np.eye(20)
MADE[:2] = 104
WRONG = np.abs(MADE - TRUTH)
STD = np.where(np.arange(20)[:, None] < 2, 5.0, 1.0) * np.ones(20)
CROPS = images_out.Crops({(k, method): Crop(TRUTH, MADE, STD) for k in TEST for method in MAKERS})

# Side trips.
ERRORS = {
    "one network": np.array([6.0, 7, 11, 29]),
    "N(0, 0.1²)": np.array([14.0, 13, 15, 25]),
    "N(0, 1)": np.array([6.0, 7, 9, 50]),
    "scale mixture": np.array([5.0, 6, 10, 40]),
}
SPLITS = {name: [own, own - 0.5, own + 0.7] for name, own in ERRORS.items()}
CUTS = pruning.Cuts([0, 50, 90, 98], {1: SPLITS, 0.1: SPLITS}, {0: 1.2, 50: 1.3, 98: 1.5})
GREEDY = np.array([2000.0, 2400.0, 2700.0])
AGAINST = {
    "5% random": paired(np.array([2500.0, 2900, 3300]) - GREEDY),
    "BNN": paired(np.array([2000.0, 2100, 2400]) - GREEDY),
    "BNN, whole KL": paired(np.array([2200.0, 2700, 2800]) - GREEDY),
}
LEAST = AGAINST["BNN"]
LATER = {"fast weights (514)": (0.003, 0.011, 0.019), "one network (130)": (-0.1, -0.06, -0.03)}


def life(clear):
    titles = "later tasks", "earlier tasks"
    methods = dict(zip(LATER, ("batch_ensemble", "single"), strict=True))
    return next_task.Life(
        dict.fromkeys(titles, LATER), {title: clear for title in titles},
        dict.fromkeys(titles, 0.975), methods,
    )  # fmt: skip


def signed(value):
    return f"{value:+.0f}".replace("-", "−")


CASES = {
    "both parts": (
        CURVE, (64, 0.2, "bumps"), "σ 0.2; what is not known has "
        f"{FOUND.unknown[uncertainty.AMONG]:.2f} among the points, "
        f"{FOUND.unknown[uncertainty.INSIDE]:.2f} in the gap.", FOUND.mean, FOUND.unknown,
        FOUND.mean + 2 * FOUND.unknown, FOUND.mean - 2 * FOUND.unknown, FOUND.mean + 2 * DOUBT,
    ),
    "members with their standard deviation": (
        DRAWS, (11, 1), f"{SAMPLES[:, uncertainty.INSIDE].std(ddof=1):.2f}", *SAMPLES,
        SAMPLES.std(axis=0, ddof=1),
    ),
    "a worse method": (
        METHODS, ("BatchEnsemble from N(1, σ²)",), "pays 0.25 nats more than one network at the "
        "data, and 2.00 more in the gap.", gap.truth(X),
    ),
    "error and spread": (
        uncertainty.Trained((30, 120, 480), {0.1: RANGES}), (0.1,), "With 480 points the error is "
        "3.0 times the spread among them, 7.0 times in the gap.", RANGES["gap"]["error"][0],
        *(RANGES[place][part][1] for place in RANGES for part in ("error", "spread")),
    ),
    "a mix outside": (
        MIXES, ("MC dropout",), "Not in the interval of MC dropout: cement and water.", *AROUND,
        *SHIFTED, STRENGTHS,
    ),
    "members": (  # 5.78 + 0.24 / M
        deep.Members({"concrete": {"RMSE": deep.BySize(MEAN, LAW)}}), ("concrete",),
        "five members have RMSE 5.83 instead of 6.02, ten 5.80.", MEAN, LAW,
    ),
    "new rows, in the order of their predictions": (
        OWN, (), "2 of 4 intervals hold the true value.", [3, 5, 7, 11], [1, 7, 8, 8],
        [0.5, 2.5, 4.5, 8.5], [4.5, 6.5, 8.5, 12.5],
    ),
    "one run and five": (
        one_run.Paths(X, RNG.uniform(-1, 1, (13, 2)), {"constant": CURVES}), ("constant",),
        "networks of one run lie 0.01 apart, those of five runs 0.14.", *CURVES[0], *CURVES[1],
    ),
    "made of a run": (
        one_run.Runs(RUNS | {"RMSE": RUNS["NLL"]}), (), "gain 0.08 at a constant rate, and 0.00",
        *SCORES.values(),
    ),
    "a walk": (
        WALKS, ("0.2",), "moves its intercept by 0.05; the data leave 0.20 open.", *SEEN.T,
        *SEEN.mean(0)[:, None], *BEST[:, None],
    ),
    "rates and numbers": (
        dropout.Spread(
            {0.02: 0.07, 0.1: 0.11, 0.5: 0.175},
            {"rate 0.2": ("mc_dropout", {60: 0.12, 240: 0.118, 960: 0.126})},
        ), (), "2.5 times as far apart; from fewest to most points: 1.1 times.",
        [0.07, 0.11, 0.175], [0.12, 0.118, 0.126],
    ),
    "doubt in the gap": (
        dropout.Doubt(X, np.array([-3.5, 3.9]), DROPPED), (), "dropout in 1 layer 0.4, dropout in "
        "2 layers 2.0, deep ensemble 5.0.", *(own for _, own in DROPPED.values()), [-3.5, 3.9],
    ),
    "an arrow leads from the average to the mixture": (
        signs.Diversity(ENDS, 0.118), (), "disagreement 8.4% instead of 2.9%, and a higher NLL.",
        [1.1, 0.097, 3.2, 0.144], [2.9, 0.074, 8.4, 0.133], [0.079], [3.3],
    ),
    "correlated weights": (  # √(1 − 0.8²)
        LINES, (3,), "around 3 each weight has 0.60 of its true standard deviation.",
        *LINES.line(3).doubt, [2.0, 3.5],
    ),
    "distances": (
        bbb.Distances(RATIOS, CALLED), (), "2 of 3 are less sure than NUTS at the data, 1 in the",
        *([*own.values()] for own in RATIOS.values()),
    ),
    "settings": (
        SETTINGS, (), "gained by 12,000 steps, most lost by initial σ 1: 0.96 nats a point.",
        [0.96], [-0.44, -0.14],
    ),
    "a letter": (
        IMAGES, (8,), "The letter x: 0.10 of its doubt is aleatoric, 0.40 epistemic.",
        TORN.mean(axis=0), TORN,
    ),
    "a window": (WINDOWS, (6,), "that window 6 and the kernel share: 2."),
    "all images": (
        cnn.Plane({"digits": KNOWN, "letters": KNOWN}), (), f"{SHARE:.0%} of a digit's doubt is "
        f"epistemic on average, and {SHARE:.0%}", *KNOWN.parts, [0, SHARE], [0, 1 - SHARE],
    ),
    "a photograph": (
        CROPS, ("cat", "mean-field"), f"largest σ holds {40 * 16 / (40 * 16 + 18):.0%} of the",
        MADE, STD, WRONG, np.full((10, 10), 100.0),
    ),
    "the flat curve": (
        CUTS, (0.1,),
        "With N(0, 0.1²) as the prior, 14% errors with all weights, 15% with a tenth.",
        *ERRORS.values(), ERRORS["one network"] + 0.7, [1.2, 1.3, 1.5], [100, 50, 10, 2],
    ),
    "least regret": (
        pruning.Regret(AGAINST, GREEDY.mean()), (), "Least has the BNN: 200 below greedy, with an "
        f"interval from {signed(LEAST.low)} to {signed(LEAST.high)}.", [LEAST.low, LEAST.high],
    ),
    "an unclear gain": (life([]), (), "fast weights (514): +0.011 in accuracy, unclear.", [0.011]),
    "a clear gain": (life(["fast weights (514)"]), (), "in accuracy, clear.", [0.003, 0.019]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_figure_says_and_draws_what_it_is_given(case):
    check(*CASES[case])


def test_a_value_at_the_end_of_its_interval_is_inside():
    one = np.array([2.0])
    assert deep.Own("y", one - 1, one, one + 1, one + 1).say().startswith("1 of 1 ")
    assert deep.Own("y", one - 1, one, one + 1, one - 1.5).say().startswith("0 of 1 ")


def test_ellipses_are_two_standard_deviations_around_their_centers():
    _, exactly, cloud, *_ = drawn(lambda: WALKS.draw("0.2")).axes[0].lines
    true, ours = drawn(lambda: LINES.draw(3)).axes[0].lines
    own = LINES.line(3)
    for curve, center, covariance in (
        (exactly, BEST, COVARIANCE), (cloud, SEEN.mean(0), one_run.swag_covariance(SEEN)),
        (true, 0, own.covariance), (ours, 0, np.diag(own.sigma**2)),
    ):  # fmt: skip
        away = curve.get_xydata() - center
        lengths = np.einsum("bi,ij,bj->b", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(lengths, 4)


def test_the_covariance_is_that_of_the_contests_swag():
    seen = torch.tensor(RNG.standard_normal((7, 2)) @ [[2.0, 1.0], [0.0, 1.0]]).float()
    generator = torch.Generator().manual_seed(0)
    samples = np.array([draw_weights(seen, generator).numpy() for _ in range(5_000)])
    np.testing.assert_allclose(np.cov(samples.T), one_run.swag_covariance(seen.numpy()), rtol=0.12)


def test_the_part_of_a_standard_deviation_is_the_theorems():
    features, targets = np.split(RNG.normal([1.0, 2.0, 0.0], size=(11, 3)), [2], axis=1)
    known, zero = conjugate.posterior(features, targets, noise_std=0.5), np.zeros(2)
    one = bbb.Line(zero, known.precision, (zero, zero))
    part = (known.mean_field_std / known.std)[0]
    np.testing.assert_allclose(one.sigma, known.mean_field_std)
    assert f"{part:.2f}" in bbb.Lines(zero, lambda _: one, 0.5).say(3)


def test_the_band_of_nuts_and_its_data_are_of_one_draw():
    band, points = bayes.shown()
    row = measured.row(measured.load("nuts")["rows"], data_seed=bayes.TYPICAL)
    assert (band["mean"], band["std"], band["label"]) == (row["mean"], row["std"], "NUTS")
    np.testing.assert_array_equal(points, np.hstack(gap.sample(np.random.default_rng(8))))


def test_what_is_unclear_is_hollow():
    (axes,) = drawn(SETTINGS.draw).axes
    faces = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "v"]
    assert [to_hex(face) == PAGE for face in faces] == [True, False, False]
    regret = drawn(pruning.Regret(AGAINST, GREEDY.mean()).draw).axes[0].lines[1:-1:2]
    hollow = [to_hex(mean.get_markerfacecolor()) == PAGE for mean in regret]
    assert hollow == [one.low <= 0 <= one.high for one in AGAINST.values()]


def test_frames_stand_at_the_window_its_row_and_its_output():
    figure = drawn(lambda: WINDOWS.draw(6))
    corners = [axes.patches[0].get_xy() for axes in figure.axes if axes.patches]
    assert corners == [(2, 1), (0, 5), (2, 1)]


def test_two_images_of_a_kind_are_picked_from_each_part_of_the_range():
    assert len(set(cnn.Plane({"digits": KNOWN, "letters": KNOWN}).picked(KNOWN))) == 10


def effect(mean, word, method=None):
    return plot.PooledEffect((mean - 0.1, mean, mean + 0.2), [mean - 0.3, mean + 0.3], word, method)


def rows(*words):
    """Contestants with these words, the best last."""
    return {f"rival with number {i}": effect(1.9 - 0.76 * i, word) for i, word in enumerate(words)}


def test_a_forest_says_who_is_better_on_one_axis():
    forest = best.Forest({
        "without": rows("unclear", "worse", "better", "better by little"),
        "with": rows(*["better"] * 4),
        "nobody": rows("unclear", "worse", "practically equal"),
    })  # fmt: skip
    for look in LIGHT:
        figures = [drawn(lambda c=c: forest.draw(c), look) for c in forest.choices["temperature"]]
        assert all(ranges(one) == ranges(figures[0]) for one in figures)
        assert len({one.get_figheight() for one in figures}) == 1
    assert forest.say("without") == (
        "Without one, better than one network: rival with number 3, rival with number 2."
    )
    assert forest.say("with") == (
        "With a temperature for all, 4 of 4 are better than one network; rival with number 3 leads."
    )
    nobody = best.Forest({"without": rows("unclear", "worse", "practically equal")})
    assert nobody.say("without") == "Without one, nobody is better than one network for sure."


def test_luck_shows_each_comparison_and_a_gain_beside_a_unit():
    differences = np.array([[-0.3, 0.1, -0.2], [-0.1, -0.2, 0.1]])
    shown = best.Luck("rank1", differences, 0.3, "loans")
    figure = drawn(shown.draw)
    assert all(holds(figure, values) for values in (*differences, [-0.1, 0], [-0.3, 0]))
    assert {"split 1", "split 2", "gain: 0.10", "1 unit: 0.30"} <= {*words(figure)}
    assert shown.say() == "On loans the rank-1 BNN wins 67% of all comparisons."


def test_a_data_set_is_one_dot_a_row():
    effects = {"a": effect(-0.5, "better", "rank1"), SCALED: effect(0.4, "unclear", "single")}
    dots = best.Dots(
        effects, {"tumors": {"a": -1.5, SCALED: 0.25}, "loans": {"a": -3.1, SCALED: -4.0}}
    )
    for data, wanted in (("tumors", {-1.5, 0.25}), ("loans", set())):
        (axes,) = drawn(lambda data=data: dots.draw(data)).axes
        lines = [line for line in axes.lines if line.get_label().endswith(", sources")]
        assert {float(x) for line in lines for x in line.get_xdata()} == wanted
    assert dots.say("tumors") == "Of these 2, a has the lowest NLL on tumors."
    # Beyond three units, too, the lower one is named.
    assert dots.say("loans") == "Of these 2, temperature alone has the lowest NLL on loans."
