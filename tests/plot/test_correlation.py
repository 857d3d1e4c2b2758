"""Correlations of the entries of a matrix: those of the draws, row by row."""

import numpy as np
import pytest

from ensedu import plot
from ensedu.plot import style
from ensedu.plot.style import LOOKS, Look
from tests.errors import check_error
from tests.plot.looks import readable, repeats
from tests.plot.meshes import corner, meshes, size, words


def draws(S=11, m=3, n=5, seed=0):
    return np.random.default_rng(seed).normal(size=(S, m, n))


def named(count, **sizes):
    names = ["rank1", "mean_field", "mine", "a name that is longer than its panel is wide"]
    return {name: draws(seed=i, **sizes) for i, name in enumerate(names[:count])}


@pytest.mark.parametrize("look", LOOKS)
def test_correlation_is_that_of_each_two_entries(look):
    values = named(2)
    kept = {name: array.copy() for name, array in values.items()}
    with style.rendering(look):
        (axes,) = plot.correlation(values).axes
    for mesh, drawn in zip(meshes(axes), values.values(), strict=True):
        found = mesh.get_array()
        assert found.shape == (15, 15)
        assert mesh.get_clim() == (-1, 1)
        assert mesh.get_cmap() == (style.DARK_HEAT if look.dark else style.HEAT)
        np.testing.assert_allclose(np.diag(found), 1)
        for a, b, c, d in [(0, 1, 0, 4), (0, 1, 2, 1), (2, 3, 1, 0)]:
            expected = np.corrcoef(drawn[:, a, b], drawn[:, c, d])[0, 1]
            np.testing.assert_allclose(found[5 * a + b, 5 * c + d], expected)
    for name, array in kept.items():
        np.testing.assert_array_equal(values[name], array)
    titles = {t.get_text(): t.get_color() for t in axes.texts if t.get_weight() == "bold"}
    assert titles == {plot.LABELS[name]: plot.PALETTE[name] for name in values}
    assert {"−1", "1", "correlation"} <= set(words(axes))


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e90])
def test_the_unit_of_the_draws_does_not_matter(unit):
    pictures = [plot.correlation({"mine": k * draws() + k}) for k in (1.0, unit)]
    one, other = (meshes(picture.axes[0])[0].get_array() for picture in pictures)
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_entries_that_share_a_factor_move_together():
    row = np.random.default_rng(1).normal(size=(1000, 3, 1))
    (axes,) = plot.correlation({"rank1": np.repeat(row, 2, axis=2)}).axes
    blocks = meshes(axes)[0].get_array().reshape(3, 2, 3, 2)
    for k in range(3):
        np.testing.assert_allclose(blocks[k, :, k, :], 1)
    assert np.abs(blocks[0, :, 1, :]).max() < 0.2


@pytest.mark.parametrize("narrow", [False, True])
def test_panels_stand_beside_each_other_or_below(narrow):
    with style.rendering(Look(narrow)):
        (axes,) = plot.correlation(named(2)).axes
    (x, y), (right, below) = map(corner, meshes(axes))
    assert (right > x, below > y) == (not narrow, narrow)
    for mesh in meshes(axes):
        np.testing.assert_allclose(*size(mesh))


def test_rows_are_parted_and_named():
    (axes,) = plot.correlation(named(1)).axes
    (mesh,) = meshes(axes)
    (x, y), (side, _) = corner(mesh), size(mesh)
    lines = [np.array(line.get_data()) for line in axes.lines]
    for k, (across, down) in enumerate(zip(lines[::2], lines[1::2], strict=True), start=1):
        np.testing.assert_allclose(across, [[x, x + side], [y + k * side / 3] * 2])
        np.testing.assert_allclose(down, [[x + k * side / 3] * 2, [y, y + side]])
    assert len(lines) == 4
    assert [w for w in words(axes) if w.startswith("row ")] == [
        f"row {k}" for k in (1, 2, 3) for _ in "xy"
    ]
    places = [t.get_position()[1] for t in axes.texts if t.get_text() == "row 2"]
    assert min(places) == pytest.approx(y + side / 2)


def test_many_entries_are_an_image():
    values = draws(m=2, n=11)
    (axes,) = plot.correlation({"mine": values}).axes
    image, _ = axes.images  # and the scale
    np.testing.assert_allclose(image.get_array(), np.corrcoef(values.reshape(11, 22).T))


@pytest.mark.parametrize(
    "count, m, n",
    [(1, 1, 1), (2, 3, 5), (2, 7, 1), (3, 5, 3), (3, 1, 7), (4, 11, 2), (4, 3, 5), (4, 16, 16)],
)
def test_correlation_is_readable(count, m, n):
    readable(lambda: plot.correlation(named(count, m=m, n=n)))


def test_the_same_input_gives_the_same_picture():
    repeats(lambda: plot.correlation(named(2)))


BAD = [
    (lambda: plot.correlation(draws()), TypeError, ("values", "mapping", "draws of a matrix")),
    (lambda: plot.correlation({}), ValueError, ("values", "at least one")),
    (lambda: plot.correlation({1: draws()}), TypeError, ("values", "key 1")),
    (lambda: plot.correlation({"a": [[1.0]]}), TypeError, ("values['a']", "(S, m, n)", "list")),
    (lambda: plot.correlation({"a": draws()[0]}), ValueError, ("values['a']", "(3, 5)")),
    (
        lambda: plot.correlation({"a": draws(), "b": draws(m=2)}), ValueError,
        ("values['b']", "(11, 2, 5)", "(S, 3, 5)", "values['a']"),
    ),
    (lambda: plot.correlation({"a": draws(S=1)}), ValueError, ("values['a']", "2 draws", "1")),
    (
        lambda: plot.correlation({"a": draws() * np.array([1, 1, 0, 1, 1])}), ValueError,
        ("values['a']", "random", "[0, 2]"),
    ),
    (lambda: plot.correlation({"a": np.full((7, 2, 3), 0.1)}), ValueError, ("random", "[0, 0]")),
    (lambda: plot.correlation({"a": draws(m=17)}), ValueError, ("values['a'] has m = 17", "16")),
    (lambda: plot.correlation({"a": draws(n=17)}), ValueError, ("values['a'] has n = 17", "16")),
    (
        lambda: plot.correlation({name: draws() for name in "abcde"}), ValueError,
        ("values has 5 names", "1 to 4"),
    ),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
