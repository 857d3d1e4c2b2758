"""Four looks of one figure: colors are exchanged, color maps drawn anew, all else is the same."""

import re

import numpy as np
import pytest

from ensedu import plot
from ensedu.plot.renderings import in_dark, renderings
from ensedu.plot.style import DARK, LOOKS, PALETTE, Look

COLOR = re.compile(r"(?:fill|stroke): (#[0-9a-f]{6})")


def plain():
    with plot.house_style():
        figure = plot.Figure()
        axes = figure.add_subplot()
        axes.plot([0, 1], [2, 3], color=PALETTE["rank1"])
        axes.text(0, 2, "black", color="black")
        axes.axhspan(2, 2.5, color="#123456")
    return figure


def mapped():
    with plot.house_style():
        figure = plot.Figure()
        figure.add_subplot().pcolormesh(
            np.array([[-1.0, 1.0]]), cmap=plot.style.heat_colors(), vmin=-1, vmax=1
        )
    return figure


def test_a_figure_is_drawn_once_a_width_and_its_colors_are_exchanged():
    looks = []

    def draw():
        looks.append(plot.look())
        return plain()

    drawn = renderings(draw)
    assert tuple(drawn) == LOOKS
    assert looks == [Look(), Look(narrow=True)]
    for narrow, width in ((False, 720), (True, 400)):
        light, dark = drawn[Look(narrow)], drawn[Look(narrow, dark=True)]
        assert light.width == dark.width == width
        assert light.height == dark.height == 400
        assert f'width="{72 * width / 100:g}' in light.svg
        before, after = COLOR.findall(light.svg), COLOR.findall(dark.svg)
        assert PALETTE["rank1"] in before and "#123456" in before
        assert [DARK.get(color, color) for color in before] == after
        assert not set(after) & set(DARK)
        assert f'<svg fill="{DARK["#222222"]}"' in dark.svg  # for what is black


def test_a_figure_with_a_color_map_is_drawn_once_more():
    looks = []

    def draw():
        looks.append(plot.look())
        return mapped()

    drawn = renderings(draw)
    assert looks == [Look(), Look(dark=True), Look(narrow=True), Look(narrow=True, dark=True)]
    light, dark = (COLOR.findall(drawn[Look(dark=dark)].svg) for dark in (False, True))
    for value in (0.0, 1.0):
        for colors, look in ((light, Look()), (dark, Look(dark=True))):
            with plot.rendering(look):
                color = plot.style.heat_colors()(value)
                red, green, blue = (round(255 * part) for part in color[:3])
            assert f"#{red:02x}{green:02x}{blue:02x}" in colors


def test_an_id_that_looks_like_a_color_stays():
    color = PALETTE["single"]
    svg = f'<svg width="1"><use href="{color}" style="fill: {color}"/><a id="x: {color}y"/></svg>'
    expected = svg.replace("<svg ", f'<svg fill="{DARK["#222222"]}" ')
    assert in_dark(svg) == expected.replace(f"fill: {color}", f"fill: {DARK[color]}")


def test_the_same_figure_gives_the_same_bytes():
    for draw in (plain, mapped):
        assert renderings(draw) == renderings(draw)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_names_and_widths(look):
    assert look.name == f"{'narrow' if look.narrow else 'wide'}-{'dark' if look.dark else 'light'}"
    assert look.width == (4.0 if look.narrow else 7.2)
