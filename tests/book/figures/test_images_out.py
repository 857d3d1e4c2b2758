"""What *Images out* draws is what it is given, and its sentence says one thing."""

import numpy as np
import pytest

from ensedu.book.experiments.images_out import METHODS, TEST, Crop
from ensedu.book.figures.images_out import MOST, Crops
from ensedu.plot.style import Look
from tests.plot.looks import drawn

TRUTH = np.full((20, 20), 100.0)
MADE = TRUTH + np.eye(20)
MADE[:2] = 104
DOUBT = np.where(np.arange(20)[:, None] < 2, 5.0, 1.0) * np.ones(20)
ONE = Crop(TRUTH, MADE, DOUBT)
SHOWN = Crops({(name, method): ONE for name in TEST for method in METHODS})


def test_every_choice_is_a_readable_figure():
    assert SHOWN.choices == {"photograph": list(TEST), "method": list(METHODS.values())}


@pytest.mark.parametrize("look", [Look(), Look(narrow=True)])
def test_panels_are_what_was_given_made_doubted_and_wrong(look):
    figure = drawn(lambda: SHOWN.draw("cat", "mean-field"), look)
    given, made, doubt, wrong = (axes.images[0] for axes in figure.axes)
    np.testing.assert_array_equal(given.get_array(), np.full((10, 10), 100.0))
    np.testing.assert_array_equal(made.get_array(), MADE)
    np.testing.assert_array_equal(doubt.get_array(), DOUBT)
    np.testing.assert_array_equal(wrong.get_array(), np.abs(MADE - TRUTH))
    assert [image.get_clim() for image in (given, made)] == [(0, 255)] * 2
    assert [image.get_clim() for image in (doubt, wrong)] == [(0, MOST)] * 2
    assert [axes.get_title() for axes in figure.axes] == ["given", "made", "σ", "error"]
    # The scale of these colors stands below them.
    scales = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert scales == [[], [], ["0", f"≥ {MOST}"], ["0", f"≥ {MOST}"]]
    for axes in figure.axes[2:]:
        (strip,) = axes.child_axes
        assert strip.images[0].get_cmap() == axes.images[0].get_cmap()
        assert strip.get_window_extent().y1 < axes.get_window_extent().y0


def test_it_says_what_the_doubted_pixels_hold():
    said = SHOWN.say("cat", "mean-field")
    share = 40 * 16 / (40 * 16 + 18)
    assert said == (
        f"Cat, mean-field: the tenth of these pixels with the largest σ holds {share:.0%} of the "
        "squared error."
    )
