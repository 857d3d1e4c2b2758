"""What the page of an X-ray counts is what Python counts, of sizes and of models."""

import random
import warnings

import torch

from ensedu import counting, xray
from ensedu.methods import METHODS, size_option
from ensedu.torch import models
from ensedu.xray.picture import HERE
from tests.counting.test_xray_counts import MODELS, NUMBERS


def counted(blank, cases):
    """Return what the page's script counts of each case: an X-ray, a method and M."""
    code = (HERE / "counts.js").read_text(encoding="utf-8")
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
