"""Arrays as squares of color: entries that can be read, and scales as wide as they say."""

import numpy as np
import pytest

from ensedu.plot import colored_cells, style
from tests.plot.meshes import contrast


@pytest.mark.parametrize(
    ("value", "words"), [(0.0, "0.00"), (-0.004, "0.00"), (-1.236, "−1.24"), (12.5, "12.50")]
)
def test_entries_have_two_decimals_and_what_rounds_to_zero_no_sign(value, words):
    assert colored_cells.entry_text(value) == words


@pytest.mark.parametrize("color", ["#000000", "#ffffff", "#0173b2", "#787878"])
def test_an_entry_has_the_ink_of_more_contrast(color):
    dark, light = colored_cells.INKS
    rgba = np.array([*(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)), 1.0])
    bright = colored_cells.luminance(rgba) >= colored_cells.MIDDLE
    assert bright == (contrast(color, dark) > contrast(color, light))


@pytest.mark.parametrize("words", ["", "standard deviations"])
def test_a_scale_is_as_wide_as_it_says(words):
    with style.house_style():
        figure, axes = style.canvas(6.0, 1.0)
        colored_cells.draw_scale(axes, (0.5, 0.5), -1234.5, 0.25, style.heat_colors(), words)
        figure.draw_without_rendering()
        right = max(text.get_window_extent().x1 for text in axes.texts) / figure.dpi
    width = colored_cells.scale_width(-1234.5, 0.25, words)
    assert right - 0.5 == pytest.approx(width, abs=0.04)
