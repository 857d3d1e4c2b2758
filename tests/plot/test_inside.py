"""The figure of the introduction shows every stored number, and nothing as stored that is not."""

import itertools
from functools import cache

import numpy as np
import pytest
from matplotlib.colors import to_hex

from ensedu import counting, plot
from ensedu.counting import Count
from ensedu.methods import ROLE_LABELS, size_option
from ensedu.plot import style
from ensedu.plot.inside import SHAPES
from ensedu.plot.style import LOOKS, Look
from tests.plot.looks import LIGHT, drawn, readable, readable_figure
from tests.plot.meshes import corner, meshes, size, words

M, m, n = 5, 3, 7
COUNTS = {key: counting.mlp([1, 50, 50, 1], key, **size_option(key, 4)) for key in SHAPES}


def parts(M=M, m=m, n=n, seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"M": M, "m": m, "n": n}
    return {
        method: {
            name: rng.uniform(0.1, 1, [sizes[letter] for letter in shape])
            for name, shape in shapes.items()
        }
        for method, shapes in SHAPES.items()
    }


def inside(given=None, counts=COUNTS):
    return plot.inside(given or parts(), counts)


def some(*methods, **sizes):
    return {key: parts(**sizes)[key] for key in methods}, {key: COUNTS[key] for key in methods}


@cache
def given_and_drawn(look):
    """What is shown by default, and its axes, which tests only read."""
    given = parts()
    (axes,) = drawn(lambda: inside(given), look).axes
    return given, axes


@cache
def of_sizes(look, sizes):
    """A figure of these sizes, which tests only read."""
    return drawn(lambda: inside(parts(*sizes)), look)


@pytest.mark.parametrize("look", LIGHT)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 3, 4), (8, 1, 8), (8, 8, 8)])
def test_readable(sizes, look):
    readable_figure(of_sizes(look, sizes), look)


@pytest.mark.parametrize("method", SHAPES)
def test_readable_alone(method):
    readable(lambda: plot.inside(*some(method, M=3, n=5)))


@pytest.mark.parametrize("total", [0, 10**60])
def test_readable_with_large_counts(total):
    counts = {key: Count(total, biases=2 * total) for key in SHAPES}
    readable(lambda: inside(parts(M=1), counts))


@pytest.mark.parametrize("look", LOOKS)
def test_inside_draws_what_it_is_given(look):
    (given, axes), kept = given_and_drawn(look), parts()
    found = {np.asarray(mesh.get_array()).tobytes() for mesh in meshes(axes)}
    for method, arrays in given.items():
        for name, values in arrays.items():
            np.testing.assert_array_equal(values, kept[method][name])
            members = values if "M" in SHAPES[method][name] else [values]
            assert all(np.ascontiguousarray(member).tobytes() in found for member in members), name
    W = given["batch_ensemble"]["weight"]
    for r, s in zip(given["batch_ensemble"]["r"], given["batch_ensemble"]["s"], strict=True):
        assert (W * np.outer(r, s)).tobytes() in found
    # Besides the stored arrays only what BatchEnsemble, rank-1 and mean-field compute.
    stored = 2 + 2 * M + (1 + 3 * M) + (1 + 5 * M) + 4
    assert len(meshes(axes)) == stored + 3 * M


def computed(given):
    """The bytes of all matrices that are computed."""
    matrices = [*given["mean_field"]["samples"]]
    for key, end in (("batch_ensemble", ""), ("rank1", "_mean")):
        arrays = given[key]
        matrices += [
            arrays["weight"] * np.outer(r, s)
            for r, s in zip(arrays[f"r{end}"], arrays[f"s{end}"], strict=True)
        ]
    return [matrix.tobytes() for matrix in matrices]


def frames(axes):
    """The frames with a line, and the hatched margins without one, as (box, color, hatch)."""
    boxes = [(patch.get_bbox().extents.round(6), patch) for patch in axes.patches]
    return [
        (tuple(box), to_hex(patch.get_edgecolor()), patch.get_hatch(), patch.get_linewidth())
        for box, patch in boxes
        if patch.get_gid() is None and patch.get_facecolor()[3] == 0
    ]


@pytest.mark.parametrize("look", LOOKS)
def test_what_is_stored_has_a_frame_and_what_is_computed_is_faint(look):
    given, axes = given_and_drawn(look)
    framed = {box: (color, hatch) for box, color, hatch, line in frames(axes) if line}
    faint = computed(given)
    for mesh in meshes(axes):
        (x, y), (width, height) = corner(mesh), size(mesh)
        box = tuple(np.round([x, y, x + width, y + height], 6))
        if np.asarray(mesh.get_array()).tobytes() in faint:
            low, high = (0.5, 0.7) if look.dark else (0.3, 0.5)  # dark pages need more
            assert low < mesh.get_alpha() < high and box not in framed
        else:
            assert mesh.get_alpha() is None and box in framed
    # Gray is the matrix of a method whose members share it, or that has none.
    gray = [box for box, (color, _) in framed.items() if color == style.SHARED]
    weights = [given[k]["weight"] for k in ("single", "batch_ensemble", "rank1")]
    weights.append(given["mean_field"]["weight_mean"])
    shown = {
        np.asarray(mesh.get_array()).tobytes()
        for mesh in meshes(axes)
        if tuple(np.round([*corner(mesh), *np.add(corner(mesh), size(mesh))], 6)) in gray
    }
    assert shown == {weight.tobytes() for weight in weights}
    # Hatched are standard deviations, and the margin of what is drawn.
    hatched = [box for box, (_, hatch) in framed.items() if hatch]
    assert len(hatched) == 2 * M + 2
    margins = [(color, hatch) for _, color, hatch, line in frames(axes) if not line]
    assert margins == [(style.PALETTE["mean_field"], "//////")] * M


@pytest.mark.parametrize(
    ("look", "sizes"),
    [
        (LIGHT[0], (1, 1, 1)), (LIGHT[1], (3, 3, 4)), (LIGHT[0], (8, 1, 8)), (LIGHT[1], (8, 8, 8)),
        (LIGHT[0], (8, 8, 8)), (LIGHT[1], (8, 2, 3)),
    ],
)  # fmt: skip
def test_arrays_and_bars_stand_apart(look, sizes):
    (axes,) = of_sizes(look, sizes).axes
    boxes = [(*corner(mesh), *np.add(corner(mesh), size(mesh))) for mesh in meshes(axes)]
    # The hatched margin of a draw stands around its squares.
    margins = [patch for patch in axes.patches if patch.get_hatch() and not patch.get_linewidth()]
    around = [tuple(patch.get_bbox().extents) for patch in margins]
    bars = [tuple(patch.get_bbox().extents) for patch in axes.patches if patch.get_gid()]
    assert len(around) == sizes[0] and bars
    for one, other in itertools.chain(
        itertools.combinations(boxes, 2), itertools.combinations(around + bars, 2)
    ):
        wide = min(one[2], other[2]) - max(one[0], other[0])
        high = min(one[3], other[3]) - max(one[1], other[1])
        assert wide < 1e-9 or high < 1e-9
    ends = np.array(boxes)
    assert ends[:, 0].min() >= 0.1 and ends[:, 2].max() <= look.width - 0.1


def test_members_stand_below_their_names():
    for look in LIGHT:
        (axes,) = drawn(lambda: inside(parts(M=3)), look).axes
        named = {t.get_text(): t.get_position()[0] for t in axes.texts}
        (own,) = [mesh for mesh in meshes(axes) if mesh.get_array().tobytes() == member(1)]
        assert named["member 2"] == pytest.approx(corner(own)[0] + size(own)[0] / 2)
        assert {"shared", "draw 1", "draw 3"} <= named.keys()


def member(i):
    return np.ascontiguousarray(parts(M=3)["deep_ensemble"]["weight"][i]).tobytes()


@pytest.mark.parametrize("look", LIGHT)
def test_inside_writes_the_counts(look):
    title = "numbers to train"
    (axes,) = drawn(inside, look).axes
    written = " ".join(" ".join(words(axes)).split())
    assert {f"{COUNTS[k].total:,}" for k in SHAPES} <= set(words(axes))
    assert f"Bars: {title}." in written if look.narrow else title in words(axes)
    bars = [patch for patch in axes.patches if patch.get_gid()]
    # Samples of roles are small; all bars of counts have one height.
    high = max(bar.get_height() for bar in bars)
    bars = [bar for bar in bars if bar.get_height() > 0.9 * high]
    first = [i for i, bar in enumerate(bars) if bar.get_x() == min(b.get_x() for b in bars)]
    rows = [bars[i:j] for i, j in itertools.pairwise([*first, len(bars)])]
    lengths = [row[-1].get_x() + row[-1].get_width() - row[0].get_x() for row in rows]
    totals = np.array([COUNTS[key].total for key in SHAPES])
    np.testing.assert_allclose(np.array(lengths) / max(lengths), totals / max(totals), atol=0.01)
    for row, key in zip(rows, SHAPES, strict=True):
        assert [bar.get_gid() for bar in row] == [r for r in ROLE_LABELS if getattr(COUNTS[key], r)]
        for one, other in itertools.pairwise(row):
            assert other.get_x() - one.get_x() - one.get_width() > 0.02


def test_roles_are_named_in_the_colors_of_those_that_have_them():
    _, axes = given_and_drawn(LIGHT[0])
    assert list(ROLE_LABELS.values()) == words(axes)[-4:]
    named = {}
    for patch in axes.patches:
        if patch.get_gid() and patch.get_width() < 0.12 and patch.get_height() < 0.14:
            ink = patch.get_facecolor() if patch.get_facecolor()[3] else patch.get_edgecolor()
            named.setdefault(patch.get_gid(), []).append(to_hex(ink))
    own = {role: [k for k in SHAPES if getattr(COUNTS[k], role)] for role in ROLE_LABELS}
    expected = {role: [style.PALETTE[key] for key in keys] for role, keys in own.items()}
    assert named == expected | {"shared": [style.SHARED]}
    (axes,) = plot.inside(*some("single")).axes
    assert words(axes)[-2:] == ["shared", "biases"]


def test_inside_takes_some_methods_and_one_member():
    for methods in (("single", "rank1"), ("mean_field",)):
        (axes,) = plot.inside(*some(*methods, M=1)).axes
        names = [text for text in words(axes) if text in style.LABELS.values()]
        assert names == [style.LABELS[key] for key in methods]


def test_letters_stand_beside_squares_that_are_large_enough():
    for look, sizes, shown in [(LIGHT[0], (3, 3, 4), True), (LIGHT[1], (3, 3, 4), True),
                               (LIGHT[1], (8, 8, 8), False)]:  # fmt: skip
        (axes,) = of_sizes(look, sizes).axes
        letters = [word for word in words(axes) if word in ("W", "r", "s")]
        assert letters == (["W", *["r", "s"] * 3] * 2 if shown else [])


@pytest.mark.parametrize("look", [Look(), Look(dark=True)])
def test_color_maps_are_those_of_the_page(look):
    _, axes = given_and_drawn(look)
    dark = style.DARK.get if look.dark else str
    found = [mesh.get_cmap() for mesh in meshes(axes)]
    assert {cmap.name for cmap in found} == {"dark heat" if look.dark else "heat", "tint"}
    ends = {(to_hex(cmap(0.0)), to_hex(cmap(1.0))) for cmap in found if cmap.name == "tint"}
    assert ends == {(dark(style.PAGE), dark(style.PALETTE[k])) for k in ("rank1", "mean_field")}


def test_one_scale_for_each_kind_of_number():
    given, axes = given_and_drawn(LIGHT[0])
    by_kind = {"weights": [], "vectors": []}
    for arrays in given.values():
        for name, values in arrays.items():
            if not name.endswith("_std"):
                by_kind["vectors" if name[0] in "rs" and name != "samples" else "weights"].append(
                    np.abs(values).max()
                )
    expected = {(-max(found), max(found)) for found in by_kind.values()}
    shown = {mesh.get_clim() for mesh in meshes(axes) if mesh.get_cmap().name != "tint"}
    assert shown == expected


def changed(method, name, value):
    result = parts()
    result[method][name] = value
    return result


BAD = [
    (lambda: plot.inside({}, {}), ("parts", "at least one")),
    (lambda: plot.inside({"swag": {}}, {}), ("parts", "'swag'", "'rank1'")),
    (lambda: plot.inside(parts(), {}), ("counts", "at least one")),
    (
        lambda: inside(counts=COUNTS | {"mc_dropout": Count(1)}),
        ("counts", "'mc_dropout'", "'single'"),
    ),
    (lambda: inside(changed("single", "r", np.ones(m))), ("parts['single']", "'r'")),
    (lambda: inside(changed("rank1", "s_mean", np.ones((M, m)))), ("s_mean", "(5, 7)")),
    (lambda: inside(changed("rank1", "s_std", -np.ones((M, n)))), ("s_std", "-1")),
    (lambda: inside(parts(m=9)), ("m = 9", "up to 8")),
]


@pytest.mark.bad_input
@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input(case):
    call, expected = BAD[case]
    with pytest.raises(ValueError) as raised:
        call()
    for part in expected:
        assert part in str(raised.value)
