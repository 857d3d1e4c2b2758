"""What *Bayesian CNNs* draws is what it is given, and each sentence says one thing."""

import numpy as np
import pytest

from ensedu.book.experiments.bayesian_cnn_images import Known, Seen
from ensedu.book.figures.bayesian_cnn import (
    PARTS,
    PINK,
    Images,
    Plane,
    Sigmas,
    Windows,
)
from tests.plot.looks import LIGHT, drawn

rng = np.random.default_rng(0)
PIXELS = rng.random((40, 28, 28))
SURE, TORN = np.eye(10)[[3] * 16], np.eye(10)[[2, 8] * 8]
IMAGES = Images(
    [Seen("digit", "3", PIXELS[0], SURE, (0.0, 0.0))] * 4
    + [Seen("letter", "x", PIXELS[1], TORN, (0.1, 0.4))] * 4
)
WINDOWS = Windows(np.eye(5, dtype=int), np.eye(9, dtype=int), np.arange(9) % 3, np.arange(9) % 3)


def cloud(share, number=40):
    whole = np.linspace(0.1, 0.6, number)
    own = share + 0.1 * np.sin(np.arange(number))
    parts = np.stack([whole * (1 - own), whole * own])
    return Known(PIXELS[:number], parts, np.zeros(number, bool))


PLANE = Plane({"digits": cloud(0.3), "letters": cloud(0.35)})
EPOCHS = (0, 3, 6)
SIGMAS = Sigmas(
    EPOCHS,
    {
        "N(0, 1)": np.array([[0.01, 0.02, 0.031]] * 5),
        "N(0, 0.1²)": np.array([[0.01, 0.015, 0.02]] * 5),
    },
    dict.fromkeys(["N(0, 1)", "N(0, 0.1²)"], np.array([[0.9, 0.2, 0.1], [0.001, 0.01, 0.02]])),
    dict.fromkeys(["N(0, 1)", "N(0, 0.1²)"], np.array([0.01, 0.02, 0.033])),
)
CHOSEN = [
    *((IMAGES, one) for one in IMAGES.choices["image"]),
    *((WINDOWS, one) for one in WINDOWS.choices["window"]),
    *((SIGMAS, one) for one in SIGMAS.choices["trained"]),
]


@pytest.mark.parametrize("image", [1, 8])
def test_images_hang_their_parts_and_show_the_samples_of_one(image):
    seen = IMAGES.seen[image - 1]
    sheet, bars, samples = drawn(lambda: IMAGES.draw(image), LIGHT[0]).axes
    np.testing.assert_allclose(
        [bar.get_height() for bar in bars.patches], seen.p.mean(axis=0), atol=1e-12
    )
    np.testing.assert_array_equal(samples.images[0].get_array(), seen.p)
    assert len(sheet.images) == 9  # all, and the chosen one again
    heights = [patch.get_height() * 1.1 for patch in sheet.patches if patch.get_facecolor()[3]]
    np.testing.assert_allclose(heights, [0.0, 0.0] * 4 + [0.1, 0.4] * 4)


def test_an_image_says_both_parts():
    assert IMAGES.say(1) == "The digit 3: 0.00 of its doubt is aleatoric, 0.00 epistemic."
    assert IMAGES.say(8) == "The letter x: 0.10 of its doubt is aleatoric, 0.40 epistemic."


@pytest.mark.parametrize("window", [1, 6])
def test_a_frame_stands_at_the_window_its_row_and_its_output(window):
    row, column = divmod(window - 1, 3)
    figure = drawn(lambda: WINDOWS.draw(window), LIGHT[0])
    corners = [axes.patches[0].get_xy() for axes in figure.axes if axes.patches]
    assert corners == [(column, row), (0, window - 1), (column, row)]
    wanted = f"Pixels of ink that window {window} and the kernel share: {(window - 1) % 3}."
    assert WINDOWS.say(window) == wanted


def test_the_plane_holds_all_images_and_one_line_for_their_share():
    figure = drawn(PLANE.draw, LIGHT[0])
    for axes, own in zip(figure.axes[:2], PLANE.known.values(), strict=True):
        dots, ray = axes.lines
        np.testing.assert_array_equal(dots.get_xydata(), own.parts.T)
        share = (own.parts[1] / own.whole)[own.whole > 0.2].mean()
        np.testing.assert_allclose(ray.get_xydata(), [[0, 0], [1 - share, share]])
    assert len(figure.axes[2].images) == 20
    for own in PLANE.known.values():
        assert len(set(PLANE.picked(own))) == 10


def test_sigmas_stand_beside_a_clock():
    left, right = drawn(lambda: SIGMAS.draw("N(0, 1)"), LIGHT[0]).axes
    *layers, clock = left.lines
    assert len(layers) == 5
    for line, y in zip(layers, SIGMAS.sigmas["N(0, 1)"], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), y)
        assert line.get_color() == PINK
    np.testing.assert_array_equal(clock.get_ydata(), SIGMAS.alone["N(0, 1)"])
    assert [line.get_color() for line in right.lines[:2]] == [*PARTS.values()]
    assert SIGMAS.say("N(0, 0.1²)") == (
        "σ ends at 0.020 to 0.020; a weight that no digit touches, at 0.033."
    )
