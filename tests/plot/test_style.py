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
# hue-rotate(180deg) of the CSS filter, from its definition
HUE_ROTATE = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])


def linear(color):
    rgb = np.array(to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    low, high = sorted(float(linear(c) @ TO_XYZ[1]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def dark_mode(color):
    return tuple(np.clip(HUE_ROTATE @ (0.89 - 0.78 * np.array(to_rgb(color))), 0, 1))


def lab(rgb):
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("color", [*style.PALETTE.values(), style.SHARED, style.INK, style.MUTED])
def test_colors_stand_out_on_both_pages(color):
    assert contrast(color, WHITE) >= 3
    assert contrast(dark_mode(color), DARK_PAGE) >= 3


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("seen", [to_rgb, dark_mode], ids=["light", "dark"])
def test_colors_can_be_told_apart(vision, seen):
    labs = {k: lab(VISION[vision] @ linear(seen(c))) for k, c in style.PALETTE.items()}
    closest = min(np.linalg.norm(labs[a] - labs[b]) for a, b in itertools.combinations(labs, 2))
    assert closest > 13  # a difference of about 2 is just seen
    # Nodes of a shared body are gray, and nothing but color tells them from a member's.
    shared = lab(VISION[vision] @ linear(seen(style.SHARED)))
    heads = [key for key, method in METHODS.items() if method.body]
    assert heads and min(np.linalg.norm(labs[key] - shared) for key in heads) > 13


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
