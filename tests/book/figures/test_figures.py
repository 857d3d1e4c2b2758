"""Laws for every figure of every notebook: it can be read, stays where it is, is the house's, and
shows what it is given, and its sentence follows from that.

Whether dark pages show the colors of the house follows from those of light ones, which are
exchanged; a figure with a color map is drawn for dark pages as well.
"""

import re
from functools import partial

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from matplotlib.colors import to_hex

from ensedu import counting
from ensedu.contest.trainers.swag import draw_weights
from ensedu.data import gap
from ensedu.methods import METHODS, size_option
from ensedu.uncertainty.meta_analysis import Pooled
from tests.book.claiming import numbers, shows
from tests.book.conftest import NOTEBOOKS, ROOT
from tests.book.figures.shown import SHOWN
from tests.book.looking import (
    LIGHT,
    NARROW,
    WIDE,
    colors_of,
    drawn,
    figures,
    holds,
    of_the_house,
    readable,
    too_much,
)
from workshop import measured, plot
from workshop.experiments import bayes
from workshop.figures import cheat_sheet
from workshop.figures.cost import choosing
from workshop.figures.learning import deep_ensembles as deep
from workshop.figures.learning import more_from_one_network
from workshop.figures.learning import shootout as best
from workshop.figures.theory import rank_1_perturbations
from workshop.page.frames import color_mapped, ranges
from workshop.plot.style import MARKERS, PAGE, PALETTE, Look

SHOWING = [page for page in NOTEBOOKS if "explore(" in (ROOT / f"{page}.ipynb").read_text("utf-8")]

#: What is drawn below of numbers made up for it; the key has no numbers.
APART = {"fig-key", "fig-contest", "fig-dt-contest", "fig-contest-dot"}


def values(figure):
    """Return what lines and dots show along each axis that has numbers or names."""
    return [
        along
        for axes in figure.axes
        if axes.axison
        for line in axes.lines
        for along, axis in zip(line.get_xydata().T, (axes.xaxis, axes.yaxis), strict=True)
        if len(axis.get_ticklocs())
    ]


def follows(name, shown, state, figure):
    """Fail unless a figure shows what it was given, and its sentence follows from that."""
    said, given = SHOWN[name](shown.draw.__self__, **state)
    words = shown.said(state)
    if isinstance(said, str):
        assert said in words, (name, words)
    else:
        assert shows(numbers(words), [*map(float, said)]), (name, words, said)
    for values in given:
        assert holds(figure, values), (name, values)


@pytest.mark.parametrize("showing", SHOWING)
def test_figures_of_a_page(showing):
    for name, shown in figures(showing).items():
        first, *last = (partial(shown.draw, **state) for state in shown.states())
        wide, narrow = drawn(first, WIDE), drawn(first, NARROW)
        others = [drawn(draw, NARROW) for draw in last]
        readable(wide, WIDE)
        for figure in (narrow, *others):
            readable(figure, NARROW)
        for figure in (wide, narrow, *others):
            of_the_house(figure)
        for one, other in zip(values(wide), values(narrow), strict=True):
            np.testing.assert_allclose(one, other, err_msg=name)
        assert shown.rescale or all(ranges(other) == ranges(narrow) for other in others), name
        if color_mapped(narrow):
            dark = Look(True, dark=True)
            maps = ([a.get_cmap() for a in color_mapped(f)] for f in (narrow, drawn(first, dark)))
            pairs = zip(*maps, strict=True)
            assert all(one != two or one.name == "gray" for one, two in pairs), name
        assert name in SHOWN.keys() | APART
        for state, figure in zip(shown.states(), (wide, *others), strict=True):
            if name not in APART:
                follows(name, shown, state, figure)


@pytest.mark.parametrize("showing", SHOWING)
def test_sentences_of_a_page(showing):
    for name, shown in figures(showing).items():
        for state in shown.every():
            said = shown.said(state)
            assert said.endswith("."), (name, said)
            assert not re.search(r"\b(nan|None|inf)\b|[{}]", said), (name, said)
            assert not shown.choices or not too_much(said), (name, said)


def test_a_figure_of_another_color_is_told():
    (shown,) = figures("book/reading-guide").values()
    figure = drawn(shown.draw, WIDE)
    assert {color for color, *_ in colors_of(figure)} >= {PALETTE[key] for key in METHODS}
    figure.axes[0].texts[0].set_color("#123456")
    with pytest.raises(AssertionError, match="#123456"):
        of_the_house(figure)


def of(page, name):
    """Return what draws a figure of a page."""
    return figures(page)[name].draw.__self__


def lines(figure, marker):
    return [line for axes in figure.axes for line in axes.lines if line.get_marker() == marker]


def test_ellipses_are_two_standard_deviations_around_their_centers():
    walks = of("book/learning/more-from-one-network", "fig-more-walks")
    seen, own = walks.walks["0.2"], of("book/learning/bayes-by-backprop", "fig-bbb-ellipses")
    _, exactly, cloud, *_ = drawn(lambda: walks.draw("0.2")).axes[0].lines
    true, ours = drawn(lambda: own.draw(3)).axes[0].lines
    covariance = own.line(3).covariance
    apart = 1 / np.diag(np.linalg.inv(covariance))  # what is left, given the other weight
    for curve, center, wanted in (
        (exactly, walks.best, walks.covariance),
        (cloud, seen.mean(0), more_from_one_network.swag_covariance(seen)),
        (true, 0, covariance), (ours, 0, np.diag(apart)),
    ):  # fmt: skip
        away = curve.get_xydata() - center
        lengths = np.einsum("bi,ij,bj->b", away, np.linalg.inv(wanted), away)
        np.testing.assert_allclose(lengths, 4)
    clouds = of("book/theory/rank-1-perturbations", "fig-r1p-clouds")
    found = drawn(lambda: clouds.draw(1.0)).axes[0].patches
    for one, law in zip(found, rank_1_perturbations.LAWS, strict=True):
        points = clouds.found[1.0][law]
        angle, half = np.radians(one.angle), np.array([one.width, one.height]) / 4
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        np.testing.assert_allclose(turn * half**2 @ turn.T, np.cov(points.T), atol=1e-9)
        np.testing.assert_allclose(one.center, points.mean(axis=0), atol=1e-9)


def test_what_is_unclear_is_hollow():
    settings = of("book/learning/bayes-by-backprop", "fig-bbb-settings")
    regret = of("book/learning/pruning-and-mushrooms", "fig-bandit")
    gaps = of("book/theory/width-and-ensemble-size", "fig-we-gap")
    unsure = [(title, name) not in settings.sure
              for title, own in settings.effects.items() for name in own]  # fmt: skip
    near = [one.low <= 0 <= one.high for one in regret.against.values()]
    middles = [x for x in drawn(regret.draw).axes[0].lines if len(x.get_xdata()) == 1]
    for found, hollow in ((lines(drawn(settings.draw), "v"), unsure), (middles, near)):
        assert [to_hex(one.get_markerfacecolor()) == PAGE for one in found] == hollow
    for members in gaps.choices["members"]:
        found = lines(drawn(lambda m=members: gaps.draw(m)), MARKERS["batch_ensemble"])
        full = [one for one in found if one.get_markerfacecolor() == PALETTE["batch_ensemble"]]
        assert len(full) == sum(map(len, gaps.clear[members].values()))


def test_ten_images_of_a_kind_are_picked_and_none_twice():
    plane = of("book/learning/bayesian-cnn", "fig-cnn-plane")
    assert {len(set(plane.picked(own))) for own in plane.known.values()} == {10}


TEMPERED = "one network, with a temperature"


def test_a_value_at_the_end_of_its_interval_is_inside():
    one = np.array([2.0])
    assert deep.NewRows("y", one - 1, one, one + 1, one + 1).say().startswith("1 of 1 ")
    assert deep.NewRows("y", one - 1, one, one + 1, one - 1.5).say().startswith("0 of 1 ")


def test_the_covariance_is_that_of_the_contests_swag():
    seen = np.random.default_rng(3).standard_normal((7, 2)) @ [[2.0, 1.0], [0.0, 1.0]]
    given, generator = torch.tensor(seen).float(), torch.Generator().manual_seed(0)
    samples = np.array([draw_weights(given, generator).numpy() for _ in range(5_000)])
    np.testing.assert_allclose(
        np.cov(samples.T), more_from_one_network.swag_covariance(seen), 0.1, 0.1
    )


def test_the_band_of_nuts_and_its_data_are_of_one_draw():
    band, points = bayes.shown()
    row = measured.row(measured.load("nuts")["rows"], data_seed=bayes.TYPICAL)
    assert (band["mean"], band["std"], band["label"]) == (row["mean"], row["std"], "NUTS")
    np.testing.assert_array_equal(points, np.hstack(gap.sample(np.random.default_rng(8))))


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
        "Without a temperature, better than one network: rival with number 3, rival with number 2."
    )
    assert forest.say("with") == (
        "With a temperature for all, 4 of 4 are better than one network; rival with number 3 leads."
    )
    nobody = best.Forest({"without": rows("unclear", "worse", "practically equal")})
    assert (
        nobody.say("without")
        == "Without a temperature, nobody is better than one network for sure."
    )


def test_a_data_set_is_one_dot_a_row():
    effects = {"a": effect(-0.5, "better", "rank1"), TEMPERED: effect(0.4, "unclear", "single")}
    dots = best.Dots(
        effects, {"tumors": {"a": -1.5, TEMPERED: 0.25}, "loans": {"a": -3.1, TEMPERED: -4.0}}
    )
    for data, wanted in (("tumors", {-1.5, 0.25}), ("loans", set())):
        (axes,) = drawn(lambda data=data: dots.draw(data)).axes
        lines = [line for line in axes.lines if line.get_label().endswith(", sources")]
        assert {float(x) for line in lines for x in line.get_xdata()} == wanted
    assert dots.say("tumors") == "On tumors a has the lowest NLL of the 2 methods shown."
    # Beyond three units, too, the lower one is named.
    said = "On loans temperature alone has the lowest NLL of the 2 methods shown."
    assert dots.say("loans") == said


@pytest.mark.parametrize("method", cheat_sheet.WORDS)
def test_the_cheat_sheets_areas_are_the_count(method):
    """Of a square layer whose sides are those of the picture; what is computed is not stored.

    Strips are drawn thicker than they are.
    """
    drawn = BeautifulSoup(cheat_sheet.picture(method, 3), "html.parser").find_all("rect")
    sides = [
        (int(one["width"]), int(one["height"])) for one in drawn if one["class"] != ["computed"]
    ]
    thick = cheat_sheet.THICK * cheat_sheet.UNIT
    areas = [w * h / (cheat_sheet.THICK if thick in (w, h) else 1) for w, h in sides]
    counted = counting.layer(*2 * [cheat_sheet.SIDE], method, **size_option(method, 3))
    assert sum(areas) == counted.total * cheat_sheet.UNIT**2


@pytest.mark.parametrize("method", [key for key in METHODS if not METHODS[key].body])
def test_the_cheat_sheets_formula_is_the_count(method):
    said = re.sub(r"(?<=[Mmn\d])(?=[Mmn(])", "*", cheat_sheet.formula(method))
    counted = counting.layer(5, 7, method, **size_option(method, 3))
    assert eval(said, {"M": 3, "m": 5, "n": 7}) == counted.total


def test_a_budget_pays_for_whom_no_price_is_above_it():
    words = {"swag": "unclear", "deep_ensemble": "better", "linear": "worse", "rank1": "better"}
    prices = {"swag": (22, 1, 32), "deep_ensemble": (4, 1.41, 4), "linear": (0.01, 0.02, None),
              "rank1": (1.48, 3.73, 32)}  # fmt: skip
    of = {
        name: dict(zip(("num_stored", "train_seconds", "passes"), prices[name], strict=True))
        for name in words
    }
    beside = {
        name: Pooled(middle=k, low=k - 1, high=k + 1, p=0.01, adjusted=0.03, word=word, sources={},
                     tasks=())
        for k, (name, word) in enumerate(words.items())
    }  # fmt: skip
    budget = choosing.Budget(beside, of)
    for limits, left, better in (
        ((1, 1, 1), 1, "none for sure"), ((4, 2, 4), 2, "deep ensemble"),
        ((1.5, 4, 32), 2, "rank-1 BNN"), ((22, 6.5, 32), 4, "deep ensemble, rank-1 BNN"),
    ):  # fmt: skip
        state = dict(zip(budget.choices, limits, strict=True))
        assert budget.say(*limits) == f"{left} of 4 remain; better than one:\n{better}."
        figure = drawn(lambda state=state: budget.draw(**state))
        lines = [line for axes in figure.axes for line in axes.lines]
        struck = {one.get_ydata()[0] for one in lines if one.get_label() == "_struck"}
        struck = {y for y in struck if y == y}
        rows = {one.get_ydata()[0] for one in lines if one.get_label().endswith("middle")}
        assert len(struck) == 4 - left and min(rows - struck) > max(struck, default=-np.inf)
