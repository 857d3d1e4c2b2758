"""Laws for every figure of every notebook: it can be read, stays where it is, is the house's, and
shows what it is given, and its sentence follows from that.

Whether dark pages show the colors of the house follows from those of light ones, which are
exchanged; a figure with a color map is drawn for dark pages as well.
"""

import re
from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ensedu.methods import METHODS
from tests.book.claiming import numbers, shows
from tests.book.conftest import NOTEBOOKS, ROOT
from tests.book.figures.shown import SHOWN
from tests.book.looking import (
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
from workshop.figures.learning import more_from_one_network
from workshop.figures.theory import rank_1_perturbations
from workshop.page.frames import ranges
from workshop.plot.renderings import color_mapped
from workshop.plot.style import MARKERS, PAGE, PALETTE, Look

SHOWING = [page for page in NOTEBOOKS if "explore(" in (ROOT / f"{page}.ipynb").read_text("utf-8")]

#: What `test_arithmetic.py` draws; the key has no numbers.
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
