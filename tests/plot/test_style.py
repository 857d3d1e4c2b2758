"""The palette can be told apart by every reader, on both pages; figures are shown once."""

import itertools

import matplotlib as mpl
import nbformat
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from nbclient import NotebookClient

from ensedu import plot
from ensedu.methods import METHODS
from ensedu.plot import style
from ensedu.plot.style import Look

WHITE, DARK_PAGE = "#ffffff", (18 / 255,) * 3

# How the three kinds of cones see linear RGB: everyone; protanopia and deuteranopia after
# Machado, Oliveira and Fernandes (2009), severity 1.
VISION = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(linear(c) @ TO_XYZ[1]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def dark(color):
    return style.DARK[color]


def lab(rgb):
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize(
    "color", [*style.PALETTE.values(), style.SHARED, style.INK, style.MUTED, style.DOUBT]
)
def test_colors_stand_out_on_both_pages(color):
    assert contrast(color, WHITE) >= 3
    assert contrast(dark(color), DARK_PAGE) >= 4.5  # small letters glow on a dark page


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("seen", [to_rgb, dark], ids=["light", "dark"])
def test_colors_can_be_told_apart(vision, seen):
    told = style.PALETTE | {"doubt": style.DOUBT}
    labs = {k: lab(VISION[vision] @ linear(seen(c))) for k, c in told.items()}
    closest = min(np.linalg.norm(labs[a] - labs[b]) for a, b in itertools.combinations(labs, 2))
    assert closest > 13  # a difference of about 2 is just seen
    # Nodes of a shared body are gray, and nothing but color tells them from a member's; where
    # areas of both meet, a gap is between them.
    shared = lab(VISION[vision] @ linear(seen(style.SHARED)))
    assert min(np.linalg.norm(color - shared) for color in labs.values()) > 11
    heads = [key for key, method in METHODS.items() if method.body]
    assert heads and min(np.linalg.norm(labs[key] - shared) for key in heads) > 13


def test_dark_colors_are_no_light_ones():
    # Or a color that was exchanged, or that a color map gave, would be exchanged once more.
    assert not set(style.DARK) & set(style.DARK.values())
    assert set(style.PALETTE.values()) < set(style.DARK)


def test_the_color_maps_tell_signs_apart_on_their_page():
    for page, name in ((WHITE, "light"), (DARK_PAGE, "dark")):
        with style.rendering(Look(dark=name == "dark")):
            low, middle, high = (style.heat_colors()(value)[:3] for value in (0.0, 0.5, 1.0))
            tint = style.tint(style.PALETTE["rank1"])
        assert contrast(middle, page) < 1.25
        assert contrast(low, page) > 3 and contrast(high, page) > 3
        assert low[2] > low[0] and high[0] > high[2]  # blue, and red
        for vision in VISION.values():
            assert np.linalg.norm(lab(vision @ linear(low)) - lab(vision @ linear(high))) > 40
        assert contrast(tint(0.0)[:3], page) < 1.1
        end = style.PALETTE["rank1"] if name == "light" else dark(style.PALETTE["rank1"])
        assert np.allclose(tint(1.0)[:3], to_rgb(end), atol=0.01)


def test_a_look_ends_with_its_block():
    wide = plot.network([2, 3])
    with plot.rendering(Look(narrow=True)):
        assert plot.look() == Look(narrow=True)
        with plot.house_style():
            assert plot.Figure().get_figwidth() == 4.0
    assert plot.look() == Look()
    assert plot.png(plot.network([2, 3])) == plot.png(wide)


@pytest.mark.bad_input
def test_bad_looks():
    with pytest.raises(TypeError, match="look must be a Look, got 'dark'"):
        with plot.rendering("dark"):
            pass
    with pytest.raises(TypeError, match="narrow must be True or False, got 1"):
        Look(narrow=1)


def test_each_method_has_its_own_look():
    for table in (plot.PALETTE, plot.LABELS, plot.MARKERS, plot.LINES):
        assert tuple(table) == tuple(METHODS)
        assert len(set(table.values())) == len(METHODS)


def test_house_style_ends_with_its_block():
    before = dict(mpl.rcParams)
    with plot.house_style():
        assert mpl.rcParams["svg.hashsalt"] == "ensedu"
    plot.network([2, 3])
    assert dict(mpl.rcParams) == before


def test_use_style_sets_it_for_good():
    with mpl.rc_context():
        plot.use_style()
        assert mpl.rcParams["savefig.transparent"]
        assert not mpl.rcParams["axes.spines.top"]


def test_user_settings_change_nothing():
    expected = plot.png(plot.network([2, 3]))
    with mpl.rc_context({"font.size": 30, "figure.dpi": 50, "lines.linewidth": 9}):
        assert plot.png(plot.network([2, 3])) == expected


def test_a_notebook_shows_a_figure_once():
    show = "plot.network([2, 3])"
    cells = [
        "from ensedu import plot",
        show,
        "import matplotlib.pyplot as plt\nplt.figure();",
        show,
    ]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(nb, timeout=120, kernel_name="python3").execute()
    width, height = plot.network([2, 3]).get_size_inches() * 200
    for cell in nb.cells[1], nb.cells[3]:
        (output,) = cell.outputs
        assert output.output_type == "execute_result"
        assert set(output.data) == {"image/png", "text/plain"}
        assert output.data["text/plain"] == f"<Figure size {width:g}x{height:g} with 1 Axes>"


@pytest.mark.bad_input
def test_only_figures_become_pictures():
    with pytest.raises(TypeError, match="figure must be a Matplotlib figure, got None"):
        plot.png(None)


def test_numbers_on_logarithmic_axes_have_no_raised_digits():
    figure, axes = style.canvas(3.0, 2.0)
    axes.axis("on")
    axes.set(
        xscale="log", xlim=(1e-6, 1e4), yscale="log", ylim=(0.15, 0.9), xticks=[1e-6, 0.01, 1e4]
    )
    figure.draw_without_rendering()
    written = [text.get_text() for text in axes.get_xticklabels()]
    assert written == ["1e−6", "0.01", "1e4"]
    # Less than a decade: Matplotlib writes some ticks between its powers.
    minor = [text.get_text() for text in axes.get_yticklabels(minor=True)]
    assert "0.2" in minor and not any("$" in words for words in minor)
