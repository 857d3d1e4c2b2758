"""What *Rank-1 perturbations* draws is what it is given, and each sentence says one thing."""

import numpy as np

from ensedu.book.figures.rank_1_perturbations import CURVES, Apart, Clouds
from tests.plot.looks import LIGHT, drawn, texts

RNG = np.random.default_rng(0)
ROUND = RNG.standard_normal((40, 2))
ROUND = (ROUND - ROUND.mean(axis=0)) @ np.linalg.inv(
    np.linalg.cholesky(np.cov(ROUND, rowvar=False)).T
)  # mean 0 and covariance 1, exactly
TURN = np.array([[0.6, 0.8], [-0.8, 0.6]])
CLOUDS = Clouds({
    size: {
        "full": ROUND,
        "rank-1": ROUND,
        "independent entries": size * ROUND * [1.5, 0.5] @ TURN + 0.25,
    }
    for size in (0.1, 1.0)
})  # fmt: skip
SIZES = (0.01, 0.1, 1.0)
APART = Apart(SIZES, {
    network: {
        name: scale * (place + 1) * np.outer([0.9, 1, 1.1], [0.001, 0.01, 0.1])
        for place, name in enumerate(CURVES)
    }
    for network, scale in {"at the minimum": 1.0, "halfway down": 2.0}.items()
})  # fmt: skip
FIGURES = {"clouds": CLOUDS, "apart": APART}


def test_an_ellipse_is_two_standard_deviations_of_its_points():
    axes = drawn(lambda: CLOUDS.draw(1.0, "independent entries"), LIGHT[0]).axes[0]
    full, free = axes.patches
    np.testing.assert_allclose([full.width, full.height, *full.center], [4, 4, 0, 0], atol=1e-9)
    np.testing.assert_allclose([free.width, free.height, *free.center], [6, 2, 0.25, 0.25])
    # Its long axis points along the first row of the turn.
    np.testing.assert_allclose(np.tan(np.radians(free.angle)), 0.8 / 0.6)
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), ROUND)
    assert full.get_edgecolor() != free.get_edgecolor()
    assert CLOUDS.say(1.0, "independent entries") == (
        "Size 1: up and down, independent entries move the score by 1.24, full noise by 1.00."
    )
    assert CLOUDS.say(0.1, "rank-1") == (
        "Size 0.1: up and down, rank-1 moves the score by 1.00, full noise by 1.00."
    )


def test_a_curve_is_a_mean_in_its_band():
    figure = drawn(lambda: APART.draw("halfway down"), LIGHT[0])
    axes = figure.axes[0]
    own = APART.found["halfway down"]
    for line, band, (low, mean, high) in zip(
        axes.lines, axes.collections, own.values(), strict=True
    ):
        np.testing.assert_array_equal(line.get_xdata(), SIZES)
        np.testing.assert_array_equal(line.get_ydata(), mean)
        assert set(band.get_paths()[0].vertices[:, 1]) == {*low, *high}
    said = {" ".join(text.get_text().split()) for text in texts(figure)}
    assert set(CURVES) <= said
    # 2 (place + 1) 0.01
    assert APART.say("halfway down") == (
        "Halfway down, at size 0.1: rank-1 is 4% off, independent entries 8%."
    )
