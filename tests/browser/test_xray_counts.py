"""What the page of an X-ray counts is what Python counts, of sizes and of models."""

import random
import warnings

import pytest
import torch
from torch import nn

from ensedu import counting, xray
from ensedu.counting import formula_table
from ensedu.methods import METHODS, size_option
from ensedu.torch import models
from ensedu.torch.ensembling.member_weights import WEIGHT_CLASSES, layer_options
from ensedu.xray.picture import HERE
from tests.test_xray import MODELS, NUMBERS


def script(*parts):
    return "\n".join((HERE / f"{part}.js").read_text(encoding="utf-8") for part in parts)


def counted(blank, cases):
    """Return what the page's script counts of each case: an X-ray, a method and M."""
    code = script("counts")
    counts = blank.evaluate(
        "([code, cases]) => cases.map(([data, method, M]) => new Function('DATA', 'method', 'M',"
        "`${code}; return countAll(GIVEN, method, M)`)(data, method, M))",
        [code, [(picture.data(), method, M) for picture, method, M in cases]],
    )
    return [counting.Count(**{key: count[key] for key in NUMBERS}) for count in counts]


def test_sizes_count_as_by_formula(blank):
    draw, cases, expected = random.Random(0), [], []
    for _ in range(40):
        sizes = [draw.randint(1, 2000) for _ in range(draw.randint(2, 14))]
        method, M = draw.choice(list(METHODS)), draw.randint(1, 64)
        cases.append((xray(sizes), method, M))
        expected.append(counting.mlp(sizes, method, **size_option(method, M)))
    assert counted(blank, cases) == expected


def test_models_count_as_in_python(blank):
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        pictures = [xray(build(), 5, **given) for build, given in MODELS.values()]
        pictures += [xray(build(), 5) for build in (models.resnet50, models.wide_resnet)]
    cases = [(picture, method, 5) for picture in pictures for method in picture.counts]
    assert counted(blank, cases) == [picture.counts[method] for picture, method, _ in cases]


def test_an_area_is_a_number_of_parameters_whatever_its_shape(blank):
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        pictures = [xray(build(), **given) for build, given in MODELS.values()]
        pictures += [xray(build()) for build in (models.resnet50, models.lenet5)]
        pictures.append(xray(nn.Sequential(nn.Embedding(5000, 7), nn.Linear(7, 3000))))
    found = blank.evaluate(
        "([code, all]) => all.map((data) => new Function('DATA', `${code};"
        "const { tiles, side } = tilesOf(GIVEN);"
        "return [side, tiles.map(({ size, w, h }) => [size, w, h])]`)(data))",
        [script("counts", "values", "layout"), [picture.data() for picture in pictures]],
    )
    for picture, (side, tiles) in zip(pictures, found, strict=True):
        assert sum(size for size, _, _ in tiles) == picture.counts["single"].weights
        for size, w, h in tiles:
            assert w * h == pytest.approx(size)
            assert max(w, h) <= 2 * side * 1.01


def test_a_thin_layer_alone_is_a_line(blank):
    found = blank.evaluate(
        "([code, data]) => new Function('DATA', `${code}; return [0, 2].map((layer) =>"
        "tilesOf(GIVEN, { layer, matrix: 0 }).tiles.map(({ w, h }) => [w, h]))`)(data)",
        [script("counts", "values", "layout"), xray("1-50-50-1").data()],
    )
    assert found == [[[50, 1]], [[1, 50]]]


@pytest.mark.parametrize("ends", [False, True])
def test_equal_blocks_are_equal_cells_of_one_grid(ends, blank):
    """Each tile has the area of its numbers, if that can be seen, and none lies over another."""
    block = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, device="meta")
    model = nn.TransformerEncoder(block, 24)
    if ends:
        head = nn.Linear(768, 3, device="meta")
        model = nn.ModuleDict(
            {
                "embed": nn.Embedding(5000, 768, device="meta"),
                "blocks": model.layers,
                "norm": model.layers[0].norm1,
                "head": head,
            }
        )
    found = blank.evaluate(
        "([code, data]) => new Function('DATA', `${code};"
        "return portraitOf(tilesOf(GIVEN), 1).places.map(({ tile, x, y, w, h, name }) =>"
        "[tile.size, x, y, x + w, y + h, name])`)(data)",
        [
            script("counts", "state", "values", "layout"),
            xray(model).data(),
        ],
    )
    assert [name for *_, name in found if name] == [f"block {k}" for k in range(24)]
    blocks = found[ends:][:96]
    cells = [[one[1:5] for one in blocks[at : at + 4]] for at in range(0, 96, 4)]
    corners = [tuple(map(round, cell[0][:2])) for cell in cells]
    assert corners == sorted(corners, key=lambda corner: corner[::-1])
    assert [len(set(along)) for along in zip(*corners, strict=True)] == [4, 6]
    shapes = [[(x - left, y - top) for left, top, x, y in cell] for cell in cells]
    for shape in shapes:
        for sides, first in zip(shape, shapes[0], strict=True):
            assert sides == pytest.approx(first)
    for k, (size, left, top, right, bottom, _) in enumerate(found):
        area = (right - left) * (bottom - top)
        assert area == pytest.approx(size, rel=0.01) or (area > size and bottom - top <= 3)
        for _, x, y, right_of, below, _ in found[:k]:
            assert right <= x or right_of <= left or bottom <= y or below <= top


def test_the_sheet_of_standard_deviations_has_no_hole(blank):
    with torch.device("meta"):
        model = nn.Sequential(nn.Embedding(900, 70), *(nn.Linear(70, 70) for _ in range(20)))
    found = blank.evaluate(
        "([code, data]) => new Function('DATA', `${code}; const frame = { width: 1000, head: 52,"
        "above: 22, height: 450, words: 200, curves: 0 };"
        "return [...compose(tilesOf(GIVEN), 'mean_field', 4, 0.3, frame).boxes.keys()]`)(data)",
        [script("counts", "state", "values", "layout"), xray(model).data()],
    )
    parts = [box.split(".") for box in found]
    means, spreads = ([at for letter, *at in parts if letter in of] for of in ("W", "ZN"))
    assert [at[:2] for at in means if at[2:] == ["0"]] == spreads and "N.0.0" in found


@pytest.mark.parametrize("frame", [(1120, 52, 22, 448), (640, 52, 22, 380), (323, 30, 22, 560)])
def test_all_members_and_all_samples_fit_at_first(frame, blank):
    width, head, above, height = frame
    sizes = {"width": width, "head": head, "above": above, "height": height, "words": 0.2 * width}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        pictures = [xray("1-50-50-1"), xray(models.resnet50()), xray(models.lenet5())]
    found = blank.evaluate(
        "([code, all, frame]) => all.flatMap((data) => [1, 4, 16].flatMap((M) => new Function("
        "'DATA', 'M', 'frame', `${code}; const content = tilesOf(GIVEN);"
        "const unit = fitting(content, M, frame); return STOPS.map((method) => {"
        "const { high, wide, ghosts } = roomsOf(content, method, M, unit, frame);"
        "return [high <= frame.height, wide <= frame.width + 1, ghosts || M] })`)"
        "(data, M, frame).map((one) => [M, ...one])))",
        [
            script("counts", "state", "values", "layout", "curves"),
            [picture.data() for picture in pictures],
            sizes,
        ],
    )
    assert found == [[M, True, True, M] for _ in pictures for M in (1, 4, 16) for _ in range(4)]


def test_the_factors_of_an_entry_are_those_of_the_layer(blank):
    """Also of groups, and of the three projections of an attention."""
    for (n, part, *kernel), groups in (((6, 5), 1), ((21, 7), 3), ((10, 3, 2, 2), 5)):
        options = layer_options("batch_ensemble") | {"ensemble_size": 1, "bias": False}
        made = WEIGHT_CLASSES["batch_ensemble"]((n, part, *kernel), groups=groups, **options)
        r, s = 1 + torch.arange(groups * part).double(), 100 * (1 + torch.arange(n)).double()
        ones = torch.ones(n, part, *kernel).double()
        expected = made.modulated_weights(ones, r[None], s[None])[0].movedim(1, 0).flatten(1)
        matrix = {"m": groups * part, "n": n, "size": ones.numel(), "kernel": kernel}
        data = {"sizes": [1, 1], "table": formula_table()}
        places = blank.evaluate(
            "([code, data, matrix]) => new Function('DATA', 'matrix', `${code};"
            "return Array.from({ length: rowsOf(matrix) }, (_, a) =>"
            "Array.from({ length: columnsOf(matrix) }, (_, b) => placesOf(matrix, a, b)))`)"
            "(data, matrix)",
            [script("counts", "values"), data, matrix],
        )
        found = [[float(r[i] * s[k]) for i, k in row] for row in places]
        assert found == expected.tolist()
