"""A distribution over matrices: what was given, in fixed scales; what is random is hatched."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ensedu import plot
from ensedu.plot import colored_cells, style
from ensedu.plot.style import LOOKS, Look
from tests.errors import check_error
from tests.plot.looks import limits, readable
from tests.plot.meshes import entries, frames, least_contrast, meshes, words


def distribute(mean, std, draws, method="rank1", value_range=2, std_range=3):
    return plot.distribution(
        mean, std, draws, method=method, value_range=value_range, std_range=std_range
    )


def given(S, m, n, unit=1.0):
    """The mean of a rank-1 layer, the standard deviations of its entries, and draws."""
    rng = np.random.default_rng(0)
    mean, r, s = rng.normal(size=(m, n)), rng.normal(size=(S, m)), rng.normal(size=(S, n))
    draws = mean * (1 + 0.5 * r[:, :, None]) * (1 + 0.5 * s[:, None, :])
    return unit * mean, unit * 0.75 * np.abs(mean), unit * draws


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_distribution_draws_what_it_is_given(method, look):
    mean, std, draws = given(5, 3, 7)
    kept = mean.copy(), std.copy(), draws.copy()
    with style.rendering(look):
        (axes,) = distribute(mean, std, draws, method=method).axes
    first, second, *rest = meshes(axes)
    for mesh, values in [(first, mean), *zip(rest[::2], draws, strict=True)]:
        np.testing.assert_array_equal(mesh.get_array(), values)
        assert mesh.get_clim() == (-2, 2)
    np.testing.assert_array_equal(second.get_array(), std)
    assert second.get_clim() == (0, 3)
    ends = [style.PAGE, plot.PALETTE[method]]
    ends = [style.DARK[color] for color in ends] if look.dark else ends
    assert [to_hex(second.get_cmap()(end)) for end in (0.0, 1.0)] == ends
    for one, other in zip((mean, std, draws), kept, strict=True):
        np.testing.assert_array_equal(one, other)
    names = ["mean", "standard deviations", *(f"draw {i}" for i in range(1, 6))]
    assert [w for w in words(axes) if w in names[:2]][:2] == names[:2]
    assert [w for w in words(axes) if w.startswith("draw ")] == names[2:]


@pytest.mark.parametrize("method, stored", [("rank1", False), ("mean_field", True)])
def test_frames_say_what_is_stored_and_what_is_random(method, stored):
    (axes,) = distribute(*given(3, 2, 5), method=method).axes
    own = plot.PALETTE[method]
    mean, spread, *draws = frames(axes)
    assert mean == ((style.SHARED, True) if stored else (style.MUTED, False))
    assert spread == (own, stored)
    # Of each draw the hatched frame, and the dashed one of how far it moved.
    assert draws == [(own, False), (style.MUTED, False)] * 3
    hatched = [patch for patch in axes.patches if patch.get_hatch()]
    assert len(hatched) == 1 + 3
    boxes = [mesh.get_coordinates() for mesh in (meshes(axes)[1], *meshes(axes)[2::2])]
    for patch, box in zip(hatched, boxes, strict=True):
        (left, top), (right, bottom) = box[0, 0], box[-1, -1]
        x, y = patch.get_xy()
        assert x < left and y < top
        assert x + patch.get_width() > right and y + patch.get_height() > bottom


def test_rows_of_a_rank1_layer_move_together():
    mean, std, _ = given(1, 5, 7)
    factor = np.array([1.75, 0.25, 1.0, 1.375, -0.5])
    (axes,) = distribute(mean, std, (mean * factor[:, None])[None]).axes
    change = meshes(axes)[-1]
    np.testing.assert_allclose(
        change.get_array(), np.repeat((factor[:, None] - 1) / 0.75, 7, axis=1), atol=1e-12
    )
    assert change.get_clim() == (-2, 2)


def test_distribution_without_spread_has_no_change():
    mean = np.array([[1.0, -2.0], [0.0, 3.0]])
    (axes,) = distribute(mean, 0 * mean, mean[None], value_range=4, std_range=1).axes
    first, second, draw, change = meshes(axes)
    assert first.get_clim() == draw.get_clim() == (-4, 4)
    assert second.get_clim() == (0, 1)
    np.testing.assert_array_equal(change.get_array(), 0 * mean)


def test_a_slider_keeps_the_scales():
    mean, std, draws = given(3, 5, 7)
    found = [limits(distribute(mean, k * std, k * draws)) for k in (0.1, 1, 5)]
    assert found[0] == found[1] == found[2]
    (axes,) = distribute(mean, std, draws).axes
    assert [mesh.get_clim() for mesh in meshes(axes)[:3]] == [(-2, 2), (0, 3), (-2, 2)]
    assert {"−2", "2", "0", "3"} <= set(words(axes))


def test_distribution_writes_entries_where_they_fit():
    mean, std, draws = given(3, 5, 5)
    expected = [f"{x:.2f}".replace("-", "−") for array in (mean, std) for x in array.ravel()]
    (axes,) = distribute(mean, std, draws).axes
    assert entries(axes) == expected
    (axes,) = distribute(*given(1, 5, 11)).axes
    assert entries(axes) == []
    with style.rendering(Look(narrow=True)):
        (axes,) = distribute(mean, std, draws).axes
    assert entries(axes) == []


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("method", ["rank1", "mean_field"])
def test_entries_can_be_read_in_their_cells(method, look):
    values = np.linspace(-1, 1, 9).reshape(3, 3)
    with style.rendering(look):
        (axes,) = distribute(values, (values + 1) / 2, values[None], method=method).axes
    assert len(entries(axes)) == 3 * 9
    assert least_contrast(axes) >= 4.5
    assert not set(colored_cells.INKS) & (set(style.DARK) | set(style.DARK.values()))


@pytest.mark.parametrize(("method", "sizes"), [
    ("rank1", (1, 1, 1)), ("mean_field", (1, 1, 1)), ("rank1", (3, 5, 5)),
    ("mean_field", (6, 16, 16)), ("rank1", (2, 16, 2)), ("mean_field", (5, 2, 16)),
    ("mean_field", (2, 1, 1)), ("rank1", (6, 1, 16)),
])  # fmt: skip
def test_distribution_is_readable(method, sizes):
    readable(lambda: distribute(*given(*sizes), method=method))


@pytest.mark.parametrize("unit", [1e-9, 0.00123, 12345.0, 1e90])
def test_distribution_is_readable_with_any_numbers(unit):
    readable(lambda: distribute(*given(2, 3, 5, unit), "mean_field", 2 * unit, 3 * unit))


def ones(*shape):
    return np.ones(shape)


def distribution(S=2, m=2, n=3, std=1.0, **options):
    return distribute(ones(m, n), np.full((m, n), std), ones(S, m, n), **options)


BAD = [
    (lambda: distribution(S=7), ValueError, ("draws has S = 7", "up to 6")),
    (lambda: distribution(m=17), ValueError, ("mean has m = 17", "up to 16")),
    (lambda: distribution(n=17), ValueError, ("mean has n = 17", "up to 16")),
    (lambda: distribution(std=-1.0), ValueError, ("std", ">= 0", "-1")),
    (lambda: distribution(method="single"), ValueError, ("method", "'single'", "'rank1'")),
    (lambda: distribution(value_range=float("nan")), ValueError, ("value_range", "nan")),
    (lambda: distribution(std_range=-1), ValueError, ("std_range", "-1")),
    (lambda: distribute(ones(2, 3), ones(3, 2), 1), ValueError, ("std", "(2, 3)")),
    (
        lambda: distribute(ones(2, 3), ones(2, 3), ones(2, 3)), ValueError,
        ("draws", "(S, 2, 3)"),
    ),
]  # fmt: skip


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    check_error(*BAD[case])
