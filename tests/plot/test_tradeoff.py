"""Scores over sizes: where points stand, which are resolved, what joins them, and their words."""

import functools

import numpy as np
import pytest

from ensedu.plot import tradeoff
from ensedu.plot.style import MARKERS, PAGE, PALETTE
from tests.plot.looks import LIGHT, drawn, readable, texts

POINTS = {
    "single": [("", 1.0, (0.0, 0.0, 0.0))],
    "batch_ensemble": [
        ("½", 0.5, (0.011, 0.02, 0.03)), ("2×", 3.3, (-0.03, -0.017, -0.005)),
        ("", 1.2, (-0.02, -0.007, 0.003)),
    ],
    "deep_ensemble": [("", 4.0, (-0.031, -0.023, -0.013))],
    "Laplace": [("", 1.5, (-0.003, 0.013, 0.02))],
}  # fmt: skip
DRAW = functools.partial(
    tradeoff, POINTS, xlabel="numbers kept", ylabel="NLL (nats)", level="one network",
    colors={"Laplace": "single"},
)  # fmt: skip


def lines_of(axes):
    """Return intervals and markers, in the order of the points, and what joins them."""
    vertical, marks, joins = [], [], []
    for line in axes.lines:
        x, y = line.get_xdata(), line.get_ydata()
        if line.get_marker() != "None":
            marks.append(line)
        elif len(x) == 2 and x[0] == x[1]:
            vertical.append((x[0], *y))
        elif line.get_linestyle() == ":":
            joins.append(np.stack([x, y], axis=1).tolist())
    return vertical, marks, joins


@pytest.mark.parametrize("look", LIGHT)
def test_each_point_shows_its_interval_and_its_mean(look):
    (axes,) = drawn(DRAW, look).axes
    vertical, marks, joins = lines_of(axes)
    every = [(name, *point) for name, found in POINTS.items() for point in found]
    np.testing.assert_allclose(vertical, [(at, low, high) for _, _, at, (low, _, high) in every])
    for mark, (name, _, at, (low, mean, high)) in zip(marks, every, strict=True):
        method = "single" if name == "Laplace" else name
        assert (*mark.get_xdata(), *mark.get_ydata()) == pytest.approx((at, mean))
        assert mark.get_color() == PALETTE[method] and mark.get_marker() == MARKERS[method]
        resolved = low > 0 or high < 0
        assert mark.get_markerfacecolor() == (PALETTE[method] if resolved else PAGE)
    assert len(joins) == 1
    np.testing.assert_allclose(joins[0], [(0.5, 0.02), (1.2, -0.007), (3.3, -0.017)])
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize("look", LIGHT)
def test_every_point_is_named_and_no_two_names_touch(look):
    readable(DRAW)
    (axes,) = drawn(DRAW, look).axes
    found = {text.get_text(): text.get_window_extent() for text in axes.texts}
    names = {"single network", "½", "2×", "BatchEnsemble", "deep ensemble", "Laplace"}
    assert found.keys() == names | {"one network"}
    boxes = list(found.values())
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize("look", LIGHT)
def test_points_of_one_size_stand_side_by_side(look):
    one = {name: [("", 2.0, (-1.0, 0.5, 1.0))] for name in ("single", "rank1", "mean_field")}
    far = {"deep_ensemble": [("", 20.0, (0.0, 1.0, 2.0))]}
    (axes,) = drawn(lambda: tradeoff(one | far, xlabel="x", ylabel="y"), look).axes
    x = [float(mark.get_xdata()[0]) for mark in lines_of(axes)[1]]
    middle = np.sort(x[:3])
    at = axes.transData.transform([(each, 0.0) for each in middle])[:, 0]
    assert np.diff(at) == pytest.approx(2 * [8 / 72 * axes.figure.dpi], rel=1e-6)
    assert middle[1] == pytest.approx(2.0) and x[3] == pytest.approx(20.0)


@pytest.mark.parametrize("look", LIGHT)
def test_what_is_resolved_can_be_said(look):
    figure = drawn(lambda: DRAW(resolved={"batch_ensemble": ["", "2×"]}), look)
    faces = [mark.get_markerfacecolor() for mark in lines_of(figure.axes[0])[1]]
    own = PALETTE["batch_ensemble"]
    assert faces == [PAGE, PAGE, own, own, PAGE, PAGE]


def test_names_stay_inside_given_ends():
    (axes,) = DRAW(ylim=(-0.02, 0.01)).axes
    assert axes.get_ylim() == (-0.02, 0.01)
    box = axes.get_window_extent()
    for text in axes.texts:
        own = text.get_window_extent()
        assert box.y0 - 1 <= own.y0 and own.y1 <= box.y1 + 1


def test_all_is_seen_where_no_ends_are_given():
    low, high = DRAW().axes[0].get_ylim()
    assert low < -0.031 and high > 0.03


def test_words_say_the_unit():
    figure = DRAW()
    words = [text.get_text() for text in texts(figure)]
    assert {"numbers kept", "NLL (nats)"} <= set(words)


ONE = ("", 1.0, (-1.0, 0.0, 1.0))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"points": {"single": []}}, ValueError, r"points\['single'\] must be at least one"),
        ({"points": {"single": "no"}}, TypeError, r"points\['single'\] must be at least one"),
        ({"points": {"single": [(1.0, (0, 0, 0))]}}, TypeError, r"must be \(words, size"),
        ({"points": {"single": [("", 0.0, (0, 0, 0))]}}, ValueError, r"\[0\]\[1\]"),
        ({"points": {"single": [("", 1.0, (0, 0))]}}, TypeError, r"\(low, mean, high\)"),
        ({"points": {"single": [("", 1.0, (1, 0, 2))]}}, ValueError, "low <= mean <= high"),
        ({"points": {"single": [("", 1.0, (0, np.nan, 2))]}}, ValueError, "finite"),
        ({"points": {"single": [ONE, ONE]}}, ValueError, "other words at each point"),
        ({"resolved": {"rank1": [""]}}, ValueError, "resolved must be one of 'single'"),
        ({"resolved": {"single": ["2×"]}}, ValueError, r"resolved\['single'\] must be one of"),
        ({"resolved": {"single": 3}}, TypeError, r"resolved\['single'\] must be a list of words"),
        ({"colors": {"rank1": "single"}}, ValueError, "colors must name entries of points"),
        ({"ylim": (1.0, 0.0)}, ValueError, "ylim must rise"),
        ({"xlabel": 3}, TypeError, "xlabel must be a string"),
        ({"level": None}, TypeError, "level must be a string"),
    ],
)
def test_bad_input_is_named(change, error, words):
    given = {"points": {"single": [ONE]}, "xlabel": "x", "ylabel": "y"} | change
    with pytest.raises(error, match=words):
        tradeoff(**given)
