"""What the page counts is what `ensedu.counting` counts, by formula and in the arrays of models."""

import random
import warnings

import torch
from torch import nn

from ensedu import counting, xray
from ensedu.methods import METHODS, ROLES, size_option
from ensedu.torch import models
from ensedu.torch.whole.members import without_values
from ensedu.xray.conversion import converted
from ensedu.xray.picture import HERE

NUMBERS = (*ROLES, "frozen")


def counted(blank, cases):
    """Return what the page's script counts: of each case, an X-ray's data, a method and M."""
    code = (HERE / "counts.js").read_text(encoding="utf-8")
    counts = blank.evaluate(
        "([code, pictures, cases]) => { const known = pictures.map((data) =>"
        "new Function('DATA', `${code}; return (method, M) => countAll(GIVEN, method, M)`)(data));"
        "return cases.map(([at, method, M]) => known[at](method, M)) }",
        [code, *cases],
    )
    return [counting.Count(**{key: count[key] for key in NUMBERS}) for count in counts]


def test_sizes_count_as_by_formula(blank):
    """500 networks, methods and numbers of members."""
    draw = random.Random(0)
    pictures, cases, expected = [], [], []
    for i in range(500):
        sizes = [draw.randint(1, 2000) for _ in range(draw.randint(2, 14))]
        method, M = draw.choice(list(METHODS)), draw.randint(1, 64)
        picture = xray(sizes, M)
        pictures.append(picture.data())
        cases.append([i, method, M])
        expected.append(counting.mlp(sizes, method, **size_option(method, M)))
        assert picture.counts[method] == expected[-1]
    assert counted(blank, [pictures, cases]) == expected


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 5), nn.Linear(5, 5, bias=False)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.ones(7))


class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.ones(5, n)) for n in (7, 3))
        self.norm, self.last = nn.LayerNorm(7), nn.Linear(7, 2)


class Branching(nn.Module):
    """Layers of several kinds, as chance has them."""

    def __init__(self, seed):
        super().__init__()
        draw = random.Random(seed)

        def size():
            return draw.choice((2, 3, 5, 7, 11))

        self.parts = nn.ModuleList(
            draw.choice(
                (
                    lambda: nn.Linear(size(), size(), bias=draw.random() < 0.5),
                    lambda: nn.Conv2d(
                        6, 6 * size(), draw.choice((1, 3)), groups=draw.choice((1, 3))
                    ),
                    lambda: nn.ConvTranspose1d(4, 6, size(), groups=2),
                    lambda: nn.GRU(size(), size(), draw.choice((1, 2)), bidirectional=True),
                    lambda: nn.MultiheadAttention(6, 3, kdim=draw.choice((None, 5))),
                    lambda: nn.Sequential(nn.BatchNorm1d(size()), nn.Dropout(0.5)),
                    lambda: nn.utils.parametrizations.weight_norm(nn.Linear(size(), size())),
                    lambda: nn.Bilinear(size(), size(), size()),
                    lambda: nn.Embedding(size(), size()),
                )
            )()
            for _ in range(6)
        )


def half_frozen():
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))
    model[0].weight.requires_grad_(False)
    model[1].bias.requires_grad_(False)
    return model


MODELS = {
    "a layer": (lambda: nn.Linear(5, 7), {}),
    "LeNet-5": (models.lenet5, {}),
    "tied": (Tied, {}),
    "partly frozen": (half_frozen, {}),
    "own matrices": (Matrices, {}),
    "own matrices, shared": (Matrices, {"shared": ["second", "last.bias"], "modulated": ["first"]}),
    "a named head": (models.lenet5, {"head": "7"}),
    "recurrent": (lambda: nn.LSTM(5, 7, 2, proj_size=3), {}),
    "a transformer": (lambda: nn.Transformer(6, 2, 1, 1, 13), {}),
    **{f"chance {seed}": (lambda seed=seed: Branching(seed), {}) for seed in range(20)},
    "no product": (lambda: nn.LayerNorm(5), {}),
}


def test_models_count_as_their_arrays(blank):
    pictures, cases, expected = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for build, given in MODELS.values():
            model = build()
            picture = xray(model, 5, **given)
            pictures.append(picture.data())
            assert picture.counts.keys() | picture.refused.keys() == METHODS.keys()
            for method, count in picture.counts.items():
                head = next((layer.name for layer in picture.layers if layer.head), None)
                names = {"head": head} | given
                net = converted(without_values(model), method, 5, **names)
                real = counting.count(net)
                assert count == counting.Count(**{key: getattr(real, key) for key in NUMBERS})
                cases.append([len(pictures) - 1, method, 5])
                expected.append(count)
    found = counted(blank, [pictures, cases])
    assert found == expected
    assert len(expected) > 4 * len(MODELS)


def test_published_counts_come_out(blank):
    with torch.device("meta"):
        pictures = [xray(build()) for build in (models.resnet50, models.wide_resnet)]
    names = ("single", "batch_ensemble", "rank1", "deep_ensemble")
    found = counted(
        blank,
        [[one.data() for one in pictures], [[at, name, 4] for at in (0, 1) for name in names]],
    )
    assert [count.total for count in found] == [
        25_557_032, 25_768_588, 25_977_144, 102_228_128,
        36_479_194, 36_557_548, 36_635_872, 145_916_776,
    ]  # fmt: skip
    assert len(pictures[0].layers) == 107
