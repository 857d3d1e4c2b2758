"""An X-ray counts the arrays of converted models, of all kinds, without converting them."""

import random
import warnings

import pytest
import torch
from torch import nn

from ensedu import counting, xray
from ensedu.methods import METHODS, ROLES
from ensedu.torch import models
from ensedu.torch.by_method import convert
from ensedu.torch.ensembling.copies import meta_copy

NUMBERS = (*ROLES, "frozen")


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
    **{f"chance {seed}": (lambda seed=seed: Branching(seed), {}) for seed in range(12)},
    "no product": (lambda: nn.LayerNorm(5), {}),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_count_as_their_arrays(name):
    build, given = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = build()
        picture = xray(model, 5, **given)
        assert picture.counts.keys() | picture.refused.keys() == METHODS.keys()
        head = next((layer.name for layer in picture.layers if layer.head), None)
        for method, count in picture.counts.items():
            net = convert(meta_copy(model), method, 5, **{"head": head} | given)
            real = counting.count(net)
            assert count == counting.Count(**{key: getattr(real, key) for key in NUMBERS})
