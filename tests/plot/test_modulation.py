"""How BatchEnsemble makes its members: each product, aligned with its factors, stored once."""

import numpy as np
import pytest

from ensedu import plot
from ensedu.plot import style
from ensedu.plot.style import LOOKS, Look
from tests.errors import check_error
from tests.plot.looks import readable
from tests.plot.meshes import corner, entries, frames, meshes, size, words

OWN = plot.PALETTE["batch_ensemble"]


def modulate(weight, r, s, value_range=7, factor_range=11):
    return plot.modulation(weight, r, s, value_range=value_range, factor_range=factor_range)


def product(M, m, n, unit=1.0):
    rng = np.random.default_rng(0)
    return unit * rng.normal(size=(m, n)), rng.normal(size=(M, m)), rng.normal(size=(M, n))


def parts(axes):
    """W, and for each member r, s, r sᵀ and W ∘ r sᵀ, as they were drawn."""
    first, *rest = meshes(axes)
    return first, [rest[i : i + 4] for i in range(0, len(rest), 4)]


@pytest.mark.parametrize(
    ("look", "sizes"), [*zip(LOOKS, [(1, 2, 3), (2, 3, 5), (4, 8, 7), (3, 5, 2)], strict=True)]
)
def test_modulation_multiplies(sizes, look):
    W, r, s = product(*sizes)
    kept = W.copy(), r.copy(), s.copy()
    with style.rendering(look):
        (axes,) = modulate(W, r, s).axes
    factors, weights = 11, 7
    shared, members = parts(axes)
    expected = [(shared, W, weights)]
    for drawn, a, b in zip(members, r, s, strict=True):
        values = [a[:, None], b[None], np.outer(a, b), W * np.outer(a, b)]
        ends = [factors, factors, factors, weights]
        expected += list(zip(drawn, values, ends, strict=True))
    for mesh, values, limit in expected:
        np.testing.assert_allclose(mesh.get_array(), values)
        assert mesh.get_clim() == pytest.approx((-limit, limit))
        assert mesh.get_cmap() == (style.DARK_HEAT if look.dark else style.HEAT)
    for one, other in zip((W, r, s), kept, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_stored_has_a_solid_frame_and_what_is_computed_has_none():
    (axes,) = modulate(*product(2, 3, 5)).axes
    member = [(OWN, True), (OWN, True), (style.MUTED, False), (style.MUTED, False)]
    assert frames(axes) == [(style.SHARED, True), *member, *member]
    framed = [patch for patch in axes.patches if patch.get_edgecolor()[:3] != style.GRID]
    for mesh, patch in zip(meshes(axes), framed, strict=False):
        np.testing.assert_allclose(patch.get_xy(), corner(mesh))
        np.testing.assert_allclose((patch.get_width(), patch.get_height()), size(mesh))


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("sizes", [(2, 3, 5), (2, 2, 2), (4, 8, 7)])
def test_modulation_aligns_r_and_s_with_their_product(narrow, sizes):
    with style.rendering(Look(narrow)):
        (axes,) = modulate(*product(*sizes)).axes
    shared, members = parts(axes)
    for drawn in members:
        r, s, outer, own = (mesh.get_coordinates() for mesh in drawn)
        np.testing.assert_allclose(r[:, 0, 1], outer[:, 0, 1])
        np.testing.assert_allclose(s[0, :, 0], outer[0, :, 0])
        np.testing.assert_allclose(own[0, :, 0], outer[0, :, 0])
        assert r[..., 0].max() < outer[..., 0].min()
        assert s[..., 1].max() < outer[..., 1].min()
        assert outer[..., 1].max() < own[..., 1].min()
    grids = np.array([[mesh.get_coordinates() for mesh in drawn[2:]] for drawn in members])
    # Members stand side by side, all as large as W, which is there once: beside r sᵀ or above all.
    assert np.ptp(grids[..., 1], axis=0).max() < 1e-12
    assert np.all(np.diff(grids[:, 0, 0, 0, 0]) > size(shared)[0])
    np.testing.assert_allclose(size(members[-1][3]), size(shared))
    W = shared.get_coordinates()
    if narrow:
        assert W[..., 1].max() < grids[..., 1].min()
    else:
        np.testing.assert_allclose(W[..., 1], grids[0, 0, ..., 1])
        assert W[..., 0].max() < min(mesh.get_coordinates()[..., 0].min() for mesh in members[0])


def test_modulation_writes_names_once_and_entries_that_fit():
    W, r, s = product(2, 2, 3)
    (axes,) = modulate(W, r, s).axes
    for name in ("W, shared", "W ∘ r sᵀ", "∘", "=", "member 1", "member 2"):
        assert words(axes).count(name) == 1
    assert (words(axes).count("r"), words(axes).count("s")) == (2, 2)
    assert len(entries(axes)) == 2 * 3 + 2 * (2 * 2 * 3 + 2 + 3)
    assert f"{W[0, 1] * r[1, 0] * s[1, 1]:.2f}".replace("-", "−") in entries(axes)
    (axes,) = modulate(*product(2, 3, 5)).axes
    assert entries(axes) == []
    with style.rendering(Look(narrow=True)):
        assert len(entries(modulate(*product(1, 3, 5)).axes[0])) == 3 * 15 + 3 + 5
        assert entries(modulate(*product(2, 3, 3)).axes[0]) == []


def test_modulation_takes_ranges():
    W, r, s = product(2, 3, 5)
    (axes,) = modulate(W, r, s).axes
    ends = [mesh.get_clim()[1] for mesh in meshes(axes)]
    assert ends == [7, *[11, 11, 11, 7] * 2]
    assert {"−7", "7", "−11", "11"} <= set(words(axes))


@pytest.mark.parametrize("sizes", [
    (1, 1, 1), (1, 3, 5), (4, 8, 8), (2, 8, 2), (3, 2, 8), (4, 1, 1), (4, 8, 1), (1, 8, 8),
])  # fmt: skip
def test_modulation_is_readable(sizes):
    readable(lambda: modulate(*product(*sizes)))


@pytest.mark.parametrize("unit", [1e-9, 0.00123, 12345.0, 1e90])
def test_modulation_is_readable_with_any_numbers(unit):
    members = 1 if unit > 1 else 4
    readable(lambda: modulate(*product(members, 2, 3, unit), 7 * unit))


def ones(*shape):
    return np.ones(shape)


def modulation(M=2, m=2, n=3, **options):
    return modulate(ones(m, n), ones(M, m), ones(M, n), **options)


BAD = [
    (lambda: modulate([[1.0]], 1, 1), TypeError, ("weight", "(m, n)", "list")),
    (lambda: modulate(ones(2, 3), ones(4, 3), ones(4, 3)), ValueError, ("r", "(M, 2)")),
    (lambda: modulate(ones(2, 3), ones(4, 2), ones(5, 3)), ValueError, ("s", "(4, 3)")),
    (lambda: modulate(ones(2, 3), ones(4, 2), 7), TypeError, ("s", "int")),
    (lambda: modulation(M=5), ValueError, ("r has M = 5", "up to 4")),
    (lambda: modulation(m=9), ValueError, ("weight has m = 9", "up to 8")),
    (lambda: modulation(n=9), ValueError, ("weight has n = 9", "up to 8")),
    (lambda: modulation(value_range=-1), ValueError, ("value_range", "-1")),
    (lambda: modulation(factor_range=0), ValueError, ("factor_range", "0")),
    (lambda: modulation(factor_range="1"), TypeError, ("factor_range", "'1'")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
