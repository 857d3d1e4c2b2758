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
def test_layers_of_a_block_stand_together(ends, blank):
    """Each with the area of its numbers, but for a gap round the block, and none over another."""
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
        "return portraitOf(tilesOf(GIVEN), 1).places.map(({ tile, x, y, w, h, group }) =>"
        "[tile.size, x, y, x + w, y + h, group?.name])`)(data)",
        [
            script("counts", "state", "values", "layout"),
            xray(model).data(),
        ],
    )
    assert [name for *_, name in found if name] == [f"block {k}" for k in range(24)]
    for k, (size, left, top, right, bottom, _) in enumerate(found):
        assert (right - left) * (bottom - top) == pytest.approx(size, rel=0.01)
        for _, x, y, right_of, below, _ in found[:k]:
            assert right <= x or right_of <= left or bottom <= y or below <= top


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
