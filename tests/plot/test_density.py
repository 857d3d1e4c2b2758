"""One random weight: its density, its two numbers, and one stroke a draw."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from ensedu import plot
from tests.errors import check_error
from tests.plot.looks import readable
from tests.plot.meshes import words

NOISE = np.random.default_rng(0).normal(size=23)
FIXED = {"xlim": (-3, 3), "top": 1.7}


def density(mean=1.0, std=0.5, draws=None, **options):
    draws = mean + std * NOISE if draws is None else draws
    return plot.weight_density(mean, std, draws, **FIXED | options)


def strokes(axes):
    """Where the draws are, and the dotted line of the mean."""
    draws, mean = (c for c in axes.collections if isinstance(c, LineCollection))
    return [x for ((x, _), _) in draws.get_segments()], mean.get_segments()[0][0][0]


def test_density_is_that_of_the_normal_distribution():
    (axes,) = density(mean=0.75, std=0.25).axes
    x, y = axes.lines[0].get_data()
    expected = np.exp(-((x - 0.75) ** 2) / (2 * 0.25**2)) / np.sqrt(2 * np.pi * 0.25**2)
    np.testing.assert_allclose(y, expected, atol=1e-12)
    assert (x[0], x[-1]) == (-3, 3)
    assert y.max() == pytest.approx(0.3989422804 / 0.25)
    assert axes.lines[0].get_color() == plot.PALETTE["rank1"]


def test_each_draw_is_a_stroke():
    draws = np.array([0.2, -1.5, 2.25])
    kept = draws.copy()
    (axes,) = density(draws=draws).axes
    assert strokes(axes) == (list(kept), 1.0)
    np.testing.assert_array_equal(draws, kept)
    assert {"3 draws", "μ = 1", "σ = 0.5", "weight"} <= {*words(axes), axes.get_xlabel()}
    assert "1 draw" in words(density(draws=draws[:1]).axes[0])
    low, top = axes.get_ylim()
    assert low < 0 and top == 1.7


def test_one_standard_deviation_is_hatched():
    (axes,) = density(mean=0.5, std=0.25).axes
    (hatched,) = [c for c in axes.collections if isinstance(c, PolyCollection) and c.get_hatch()]
    x = np.concatenate([path.vertices[:, 0] for path in hatched.get_paths()])
    assert (x.min(), x.max()) == pytest.approx((0.25, 0.75), abs=0.02)
    (text,) = [t for t in axes.texts if t.get_text() == "σ = 0.25"]
    assert text.get_position()[0] > 0.75
    arrow, tip = axes.lines[2:4]
    np.testing.assert_allclose(arrow.get_xdata(), [0.5, 0.75])
    assert tip.get_xdata() == [0.75]


def test_the_standard_deviation_is_named_where_there_is_room():
    (axes,) = density(mean=2.9, std=0.5).axes
    (text,) = [t for t in axes.texts if t.get_text() == "σ = 0.5"]
    assert text.get_position()[0] < 2.4 and text.get_ha() == "right"
    assert axes.lines[3].get_xdata() == [2.4]


@pytest.mark.parametrize(
    ("mean", "std"),
    [
        (0.0, 0.25),
        (0.0, 1e-6),
        (2.9, 100.0),
        (2.9, 1e-6),
        (-2.95, 0.25),
        (-2.95, 100.0),
        (7.0, 3.0),
    ],
)
def test_density_is_readable(mean, std):
    readable(lambda: density(mean, std))


@pytest.mark.parametrize(
    ("mean", "unit"), [(0.0, 1e-90), (-321.0, 0.00123), (0.0, 12345.0), (-321.0, 1e90)]
)
def test_density_is_readable_with_any_numbers(mean, unit):
    ends = (mean - 4) * unit, (mean + 4) * unit
    readable(lambda: density(mean * unit, unit, xlim=ends, top=0.43 / unit))


BAD = [
    (lambda: density("1", draws=NOISE), TypeError, ("mean", "'1'")),
    (lambda: density(mean=float("nan")), ValueError, ("mean", "nan")),
    (lambda: density(std=0), ValueError, ("std", "above 1e-100", "0")),
    (lambda: density(std=-1.0), ValueError, ("std", "above 1e-100", "-1")),
    (lambda: density(draws=[1.0]), TypeError, ("draws", "(S,)", "list")),
    (lambda: density(draws=np.ones((2, 3))), ValueError, ("draws", "(2, 3)", "(S,)")),
    (lambda: density(draws=np.ones(0)), ValueError, ("draws", "(0,)")),
    (lambda: density(draws=np.ones(1001)), ValueError, ("draws has S = 1001", "1,000")),
    (lambda: density(draws=np.array([np.inf])), ValueError, ("draws", "inf")),
    (lambda: density(xlim=(3, -3)), ValueError, ("xlim", "rise", "(3, -3)")),
    (lambda: density(xlim=3), TypeError, ("xlim", "3")),
    (lambda: density(top=0), ValueError, ("top", "above 1e-100", "0")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
