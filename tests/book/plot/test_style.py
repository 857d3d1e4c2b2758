"""The house style: colors that all can tell apart, letters, numbers, ticks; figures shown once."""

import itertools
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font

from ensedu.methods import METHODS
from tests.book.looking import LIGHT, contrast, linear
from workshop import plot
from workshop.page.frames import compact, in_dark, renderings
from workshop.plot import house_style, panels, rendering, style
from workshop.plot.panels import (
    decimal,
    ends_room,
    name_curves,
    number,
    ticks,
)  # fmt: skip
from workshop.plot.style import DARK, LOOKS, PALETTE, Look
from workshop.plot.text_layout import FONTS, number_in_words

WHITE, NIGHT = "#ffffff", (18 / 255,) * 3
SEEN = {"light": to_rgb, "dark": DARK.get}
# How the three kinds of cones see linear RGB: everyone; protanopia and deuteranopia after
# Machado, Oliveira and Fernandes (2009), severity 1.
VISION = [
    np.eye(3),
    np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
]  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def test_a_method_without_a_style_is_named(monkeypatch):
    monkeypatch.setitem(METHODS, "new", METHODS["single"])
    with pytest.raises(ValueError, match=r"STYLES of .*, got none for \['new'\]"):
        runpy.run_path(style.__file__)


def lab(color, vision):
    xyz = TO_XYZ @ np.clip(vision @ linear(color), 0, 1) / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("shown", SEEN)
def test_colors_stand_out_and_can_be_told_apart(shown):
    ground, least = (WHITE, 3) if shown == "light" else (NIGHT, 4.5)  # letters glow on a dark page
    told = PALETTE | {"doubt": style.DOUBT}
    for color in (*told.values(), style.SHARED, style.INK, style.MUTED):
        assert contrast(SEEN[shown](color), ground) >= least
    for vision in VISION:
        labs = {key: lab(SEEN[shown](color), vision) for key, color in told.items()}
        pairs = itertools.combinations(labs.values(), 2)
        assert min(np.linalg.norm(a - b) for a, b in pairs) > 13  # a difference of 2 is just seen
        # Nothing but color tells nodes of a shared body from a member's; where areas of both meet,
        # a gap is between them.
        shared = lab(SEEN[shown](style.SHARED), vision)
        for key, own in labs.items():
            head = key in METHODS and METHODS[key].body
            assert np.linalg.norm(own - shared) > (13 if head else 11)


def test_each_method_has_its_own_look():
    for table in (PALETTE, plot.LABELS, plot.MARKERS, plot.LINES):
        assert tuple(table) == tuple(METHODS)
        assert len(set(map(str, table.values()))) == len(METHODS)
    # Or a color that was exchanged would be exchanged once more.
    assert not set(DARK) & set(DARK.values()) and set(PALETTE.values()) < set(DARK)


@pytest.mark.parametrize("dark", [False, True])
def test_the_color_maps_tell_signs_apart_on_their_page(dark):
    page = NIGHT if dark else WHITE
    with style.rendering(Look(dark=dark)):
        low, middle, high = (style.heat_colors()(value)[:3] for value in (0.0, 0.5, 1.0))
        tint = style.tint(PALETTE["rank1"])
    assert contrast(middle, page) < 1.25 and contrast(low, page) > 3 < contrast(high, page)
    assert low[2] > low[0] and high[0] > high[2]  # blue, and red
    assert all(np.linalg.norm(lab(low, eyes) - lab(high, eyes)) > 40 for eyes in VISION)
    assert contrast(tint(0.0)[:3], page) < 1.1
    end = DARK[PALETTE["rank1"]] if dark else PALETTE["rank1"]
    np.testing.assert_allclose(tint(1.0)[:3], to_rgb(end), atol=0.01)


def test_a_look_and_a_style_end_with_their_blocks_and_settings_of_users_change_nothing():
    before, picture = dict(mpl.rcParams), plot.png(plot.figure_key())
    with plot.rendering(Look(narrow=True)), plot.house_style():
        assert plot.look() == Look(narrow=True) and plot.Figure().get_figwidth() == 4.0
        assert mpl.rcParams["svg.hashsalt"] == "ensedu"
    assert plot.look() == Look() and dict(mpl.rcParams) == before
    with mpl.rc_context({"font.size": 30, "figure.dpi": 50, "lines.linewidth": 9}):
        assert plot.png(plot.figure_key()) == picture


def test_a_notebook_shows_a_figure_once_and_in_its_full_size():
    figure = plot.figure_key()
    data, sizes = figure._repr_mimebundle_()
    width, height = figure.get_size_inches()
    assert data == {"image/png": plot.png(figure), "text/plain": repr(figure)}
    assert sizes["image/png"] == {"width": round(100 * width), "height": round(100 * height)}
    assert plt.get_fignums() == []  # or each cell's end would show it once more


def test_numbers_on_logarithmic_axes_have_no_raised_digits():
    figure, axes = style.canvas(3.0, 2.0)
    axes.axis("on")
    axes.set(
        xscale="log", xlim=(1e-6, 1e4), yscale="log", ylim=(0.15, 0.9), xticks=[1e-6, 0.01, 1e4]
    )
    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1e−6", "0.01", "1e4"]
    # Less than a decade: Matplotlib writes some ticks between its powers.
    minor = [text.get_text() for text in axes.get_yticklabels(minor=True)]
    assert "0.2" in minor and not any("$" in words for words in minor)


COLOR = re.compile(r"(?:fill|stroke): (#[0-9a-f]{6})")


def plain():
    figure = plot.Figure(figsize=(5, 3))
    axes, rng = figure.add_subplot(), np.random.default_rng(3)
    axes.plot(np.linspace(0, 1, 997), rng.random(997).cumsum(), color=PALETTE["rank1"])
    axes.fill_between([0, 0.5, 1], [0, 7, 0], [3, 9, 11], alpha=0.3, color="#123456")
    axes.set_title("two words, $r_i$")
    return figure


def mapped():
    figure = plot.Figure()
    colors = {"cmap": style.heat_colors(), "vmin": -1, "vmax": 1}
    figure.add_subplot().pcolormesh(np.array([[-1.0, 1.0]]), **colors)
    return figure


@pytest.mark.parametrize(("draw", "times"), [(plain, 2), (mapped, 4)])
def test_a_figure_is_drawn_once_a_width_and_once_more_for_a_color_map(draw, times):
    seen = []

    def noted():
        seen.append(plot.look())
        with plot.house_style():
            return draw()

    found = renderings(noted)
    assert tuple(found) == LOOKS and len(seen) == times == len(set(seen))
    assert found == renderings(noted)  # to the byte
    for narrow in (False, True):
        light, dark = found[Look(narrow)], found[Look(narrow, dark=True)]
        assert (light.width, light.height) == (dark.width, dark.height)
        before, after = COLOR.findall(light.svg), COLOR.findall(dark.svg)
        assert not set(after) & set(DARK)
        assert times == 4 or [DARK.get(color, color) for color in before] == after
        for svg, look in ((light.svg, Look()), (dark.svg, Look(dark=True))):
            with plot.rendering(look):
                ends = [mpl.colors.to_hex(style.heat_colors()(end)) for end in (0.0, 1.0)]
            assert times == 2 or all(end in svg for end in ends)


def test_in_the_dark_black_has_a_color_and_an_id_that_looks_like_one_stays():
    color = PALETTE["single"]
    svg = f'<svg width="1"><use href="{color}" style="fill: {color}"/><a id="x: {color}y"/></svg>'
    expected = svg.replace("<svg ", f'<svg fill="{DARK["#222222"]}" ')
    assert in_dark(svg) == expected.replace(f"fill: {color}", f"fill: {DARK[color]}")


@pytest.mark.parametrize(("path", "found"), [
    ("M 1.234 5 \nL 2.236 4 \nz\nL 1.23 6 \n", "M1.23 5\nl1.01 -1\nz\nl0 1"),
    ("M 0 0 \nC 1 1 2 2 3 0.004 \nQ 4 4 5 5", "M0 0\nc1 1 2 2 3 0\nq1 4 2 5"),
    ("M -0.001 1 \nM 2 3 \nL 2 3", "M0 1\nM2 3\nl0 0"),
])  # fmt: skip
def test_a_compact_path_goes_on_from_where_it_is_and_nothing_else_changes(path, found):
    head = '<?xml version="1.0"?>\n'
    svg = f'<svg a="b">\n  <metadata>m</metadata><!--no--><g d="{path}"/>\n words </svg>'
    assert compact(head + svg) == f'<svg a="b">\n<g d="{found}"/>\nwords </svg>'


def test_figures_are_written_in_the_packages_own_letters():
    needed = "".join(method.label for method in METHODS.values()) + "−×±·√²σμᵀᵢ…≤≥0123456789"
    for weight, slant, file in (
        ("normal", "normal", "Regular"), ("bold", "normal", "Bold"),
        ("normal", "italic", "Italic"), ("bold", "italic", "BoldItalic"),
    ):  # fmt: skip
        with plot.house_style():
            found = findfont(FontProperties(weight=weight, style=slant))
        assert Path(found) == FONTS / f"Roboto-{file}.ttf"
        assert set(map(ord, needed)) <= set(FT2Font(found).get_charmap())


def signed(value):
    return decimal(value, 2, "+")


@pytest.mark.parametrize("write, value, expected", [
    (number_in_words, 0, "0"), (number_in_words, -0.25, "−0.25"), (number_in_words, 0.3, "0.3"),
    (number_in_words, 999999, "999,999"), (number_in_words, 1e6, "1 million"),
    (number_in_words, 2.5e9, "2.5 billion"), (number_in_words, -3e12, "−3 trillion"),
    (number_in_words, 1e15, "10¹⁵"), (number_in_words, 2.5e60, "2.5·10⁶⁰"),
    (number_in_words, -2e-7, "−2·10⁻⁷"), (number, -1.5, "−1.5"),
    (signed, -0.25, "−0.25"), (signed, 1234.5, "+1,234.50"), (signed, -0.004, "0.00"),
])  # fmt: skip
def test_numbers_in_few_letters(write, value, expected):
    assert write(value) == expected


def test_ticks_are_round_numbers_within_the_ends():
    assert ticks((-0.3, 1.2), 4) == {0.0: "0", 0.5: "0.5", 1.0: "1"}
    assert ticks((-4.6, 4.6), 5) == {-4: "−4", -2: "−2", 0: "0", 2: "2", 4: "4"}
    assert list(ticks((1, 3), 9, whole=True).values()) == ["1", "2", "3"]
    assert list(ticks((0.1, 0.3), 2)) == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("look", LIGHT)
def test_curves_are_named_where_they_end(look, scale):
    with rendering(look), house_style():
        figure, (axes,) = panels(1, height=2.0, right=ends_room(["rising"]))
        axes.plot([0, 5], [1, 3], color="C1", label="rising")
        axes.plot([0, 5], [2, 1], color="C2")
        axes.plot([0, 5], [2, 2], "o", label="points")
        axes.set(ylim=(1, 9), yscale=scale)
        name_curves(figure, axes)
    (name,) = figure.texts
    assert (name.get_text(), name.get_color()) == ("rising", "C1")
    box, (_, y) = axes.get_position(), name.get_position()
    part = {"linear": 1 / 4, "log": 1 / 2}[scale]
    assert y / figure.get_figheight() == pytest.approx(box.y0 + box.height * part)
