"""Weight matrices as heat maps: what was given, as large as it fits, in all looks."""

import numpy as np
import pytest

from ensedu import plot
from ensedu.plot import style
from ensedu.plot.style import LOOKS, Look
from tests.errors import check_error
from tests.plot.looks import readable
from tests.plot.meshes import corner, entries, frames, meshes, size, words

M, m, n = 5, 3, 7


def heat(weights, value_range=3, **options):
    return plot.weight_matrices(weights, value_range=value_range, **options)


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("look", LOOKS)
def test_weight_matrices_show_the_arrays(look):
    weights = random(M, m, n)
    kept = weights.copy()
    with style.rendering(look):
        (axes,) = heat(weights).axes
    assert [w for w in words(axes) if "member" in w] == [f"member {i}" for i in range(1, M + 1)]
    assert axes.yaxis_inverted()  # input 1 on top
    for mesh, matrix in zip(meshes(axes), weights, strict=True):
        np.testing.assert_array_equal(mesh.get_array(), matrix)
        assert mesh.get_clim() == (-3, 3)
        assert mesh.get_cmap() == (style.DARK_HEAT if look.dark else style.HEAT)
        assert np.all(np.array(size(mesh)) > 0)
    np.testing.assert_array_equal(weights, kept)


def test_weight_matrices_write_small_matrices():
    matrix = np.array([[0.5, -0.25, 0.0], [1.0, -1.0, -0.001]])
    (axes,) = heat(matrix[None]).axes
    assert entries(axes) == ["0.50", "−0.25", "0.00", "1.00", "−1.00", "0.00"]
    (axes,) = heat(matrix[None], annotate=False).axes
    assert entries(axes) == []


@pytest.mark.parametrize(
    "narrow, shape, written",
    [
        (False, (2, 5, 5), True), (False, (4, 5, 5), False), (False, (1, 9, 2), True),
        (False, (1, 10, 2), False), (False, (1, 5, 8), False), (True, (1, 5, 5), True),
        (True, (2, 5, 5), False), (True, (4, 2, 2), True), (True, (4, 2, 4), False),
    ],
)  # fmt: skip
def test_entries_are_written_where_they_fit(narrow, shape, written):
    with style.rendering(Look(narrow)):
        (axes,) = heat(np.full(shape, 0.5)).axes
    assert entries(axes) == ["0.50"] * (np.prod(shape) if written else 0)


def test_weight_matrices_take_titles_and_a_range():
    (axes,) = heat(random(2, 3, 5), titles=["a", "b"], value_range=4).axes
    assert [w for w in words(axes) if w in "ab"] == ["a", "b"]
    assert all(mesh.get_clim() == (-4, 4) for mesh in meshes(axes))
    assert {"−4", "4", "weight"} <= set(words(axes))


def test_a_large_matrix_is_an_image():
    weights = random(2, 17, 3)
    (axes,) = heat(weights, value_range=4).axes
    assert meshes(axes) == []
    first, second, _ = axes.images  # and the scale
    for image, matrix in zip((first, second), weights, strict=True):
        np.testing.assert_array_equal(image.get_array(), matrix)
        assert image.get_clim() == (-4, 4)
        left, right, bottom, top = image.get_extent()
        assert left < right and top < bottom
        assert image.get_cmap() == style.HEAT


def test_only_what_is_stored_has_a_frame():
    (axes,) = heat(random(M, m, n)).axes
    assert frames(axes) == []
    (axes,) = heat(random(M, m, n), method="deep_ensemble").axes
    assert frames(axes) == [(plot.PALETTE["deep_ensemble"], True)] * M
    for mesh, patch in zip(meshes(axes), axes.patches, strict=False):
        np.testing.assert_allclose(patch.get_xy(), corner(mesh))
        np.testing.assert_allclose((patch.get_width(), patch.get_height()), size(mesh))


def test_rows_and_columns_are_numbered():
    (axes,) = heat(random(1, 2, 3), 2.5, annotate=False).axes
    numbers = [w for w in words(axes) if w.isdigit()]
    assert numbers == ["1", "2", "1", "2", "3"]
    (axes,) = heat(random(4, 13, 17), 2.5).axes
    assert [w for w in words(axes) if w.isdigit()] == ["1", "13"] + ["1", "17"] * 4
    (axes,) = heat(random(1, 1, 1), 2.5, annotate=False).axes
    assert [w for w in words(axes) if w.isdigit()] == ["1", "1"]


LONG = "a title of so many words that no panel is as wide"


@pytest.mark.parametrize("shape", [
    (1, 1, 1), (2, 5, 5), (4, 2, 2), (9, 7, 7), (16, 16, 16), (3, 100, 2), (3, 2, 100),
    (1, 784, 300), (16, 1, 50),
])  # fmt: skip
def test_weight_matrices_are_readable(shape):
    readable(lambda: heat(random(*shape)))


@pytest.mark.parametrize(
    "members, unit, between",
    [(1, 1e90, " "), (2, 1e6, "_"), (4, 1e-9, " "), (11, 1.0, " "), (11, 1.0, "_")],
)
def test_weight_matrices_are_readable_with_any_numbers_and_titles(members, unit, between):
    titles = [f"{LONG} {i}".replace(" ", between) for i in range(members)]
    readable(lambda: heat(unit * random(members, 5, 5), 3 * unit, titles=titles))


@pytest.mark.parametrize("look", LOOKS)
def test_a_member_stands_at_its_place_however_many_others_are_there(look):
    with style.rendering(look):
        figures = [heat(random(k, 3, 5), places=4) for k in range(1, 5)]
    corners = [[corner(mesh) for mesh in meshes(figure.axes[0])] for figure in figures]
    for k, found in enumerate(corners, 1):
        np.testing.assert_allclose(found, corners[-1][:k])
    assert len({figure.get_figheight() for figure in figures}) == 1
    # The places of the others are frames, and have no names.
    (axes,) = figures[1].axes
    wide = size(meshes(axes)[0])[0]
    empty = [patch.get_xy() for patch in axes.patches if np.isclose(patch.get_width(), wide)]
    np.testing.assert_allclose(empty, corners[-1][2:])
    assert [w for w in words(axes) if "member" in w] == ["member 1", "member 2"]
    readable(lambda: heat(random(2, 3, 5), places=4))


def matrices(M, **options):
    return heat(np.ones((M, 2, 3)), **options)


NAN = float("nan")
FORMULA = r"$\frac$"  # that lacks its arguments
BAD = [
    (lambda: heat([[1.0]]), TypeError, ("weights", "(M, m, n)", "list")),
    (lambda: heat(np.ones((2, 3))), ValueError, ("weights", "(2, 3)", "(M, m, n)")),
    (lambda: heat(np.ones((1, 2, 3), int)), TypeError, ("weights", "int64")),
    (lambda: heat(np.ones((0, 2, 3))), ValueError, ("weights", "(0, 2, 3)")),
    (lambda: heat(np.full((1, 2, 3), NAN)), ValueError, ("weights", "nan")),
    (lambda: heat(np.full((1, 2, 3), 1e308)), ValueError, ("weights", "1e+308")),
    (lambda: heat(np.ma.ones((1, 2, 3))), TypeError, ("weights", "MaskedArray")),
    (lambda: matrices(17), ValueError, ("weights", "17", "1 to 16")),
    (lambda: matrices(2, titles=["a"]), ValueError, ("titles", "2", "1")),
    (lambda: matrices(2, titles="ab"), TypeError, ("titles", "'ab'")),
    (lambda: matrices(1, titles=[7]), TypeError, ("titles[0]", "7")),
    (lambda: matrices(1, titles=[FORMULA]), ValueError, ("titles[0]", "formula", "frac")),
    (lambda: matrices(1, annotate=1), TypeError, ("annotate", "1")),
    (lambda: matrices(1, value_range=0), ValueError, ("value_range", "0")),
    (lambda: matrices(1, value_range=1e308), ValueError, ("value_range", "1e+308")),
    (lambda: matrices(1, value_range=10**400), TypeError, ("value_range", "1000")),
    (lambda: matrices(1, method="rank1"), ValueError, ("method", "'rank1'", "'deep_ensemble'")),
    (lambda: matrices(1, method=1), TypeError, ("method", "1", "'deep_ensemble'")),
    (lambda: matrices(3, places=2), ValueError, ("places", "2", "3 to 16")),
    (lambda: matrices(3, places=17), ValueError, ("places", "17", "3 to 16")),
    (lambda: matrices(1, places=1.5), TypeError, ("places", "1.5")),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
