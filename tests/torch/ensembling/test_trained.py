"""What a model has learned survives a start, or a warning says so, and which start keeps it."""

import re

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu.data import digits
from ensedu.methods import size_option
from ensedu.torch import models
from ensedu.torch.ensembling.model_checks import start_option, trained_part
from tests.torch.ensembling.models import METHODS, MODELS, M

ROWS = 1400


def perceptron(*middle):
    return nn.Sequential(nn.Linear(64, 50), *middle, nn.ReLU(), nn.Dropout(0.1), nn.Linear(50, 10))


def trained(model, steps=200, rate=0.1):
    x, y = map(torch.from_numpy, digits())
    optimizer = torch.optim.SGD(model.parameters(), rate, momentum=0.9)
    for _, rows in zip(range(steps), torch.randint(ROWS, (steps, 64)), strict=True):
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows].float()), y[rows]).backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="module")
def learned():
    torch.manual_seed(0)
    return [trained(perceptron()) for _ in range(M)]


@torch.no_grad()
def accuracy(net):
    x, y = map(torch.from_numpy, digits())
    logits = net.eval()(x[ROWS:].float())
    chances = logits.softmax(-1).mean(0) if logits.ndim > 2 else logits
    return float((chances.argmax(-1) == y[ROWS:]).double().mean())


@pytest.mark.parametrize("method", METHODS)
def test_a_start_keeps_what_was_learned_or_the_warning_names_one_that_does(learned, method):
    torch.manual_seed(0)
    model, own = learned[0], accuracy(learned[0])
    assert own > 0.85
    options = {"head": "3"} if method == "last_layer" else {}

    def convert(**start):
        return et.ensemble(model, method, **size_option(method, M), **options, **start)

    if not start_option(method):
        assert accuracy(convert()) > 0.95 * own  # warnings are errors here
        return
    with pytest.warns(UserWarning, match="looks trained") as seen:
        assert accuracy(convert()) < 0.3
    assert len(seen) == 1
    words = re.search(r"kept by (.*); (.*) says", str(seen[0].message))
    known = {"networks": [*learned], "Net": perceptron}
    kept, anew = (eval(f"dict({one.partition(', of')[0]})", known) for one in words.groups())
    assert accuracy(convert(**kept)) > 0.95 * own
    assert accuracy(convert(**anew)) < 0.3


def started(weights, biases=None):
    """A perceptron that starts in a way of its own."""
    model = perceptron(nn.LayerNorm(50))
    for layer in (model[0], model[-1]):
        weights(layer.weight)
        if biases is not None:
            nn.init.constant_(layer.bias, biases)
    return model


FRESH = {
    **{name: entry.model for name, entry in MODELS.items()},
    "LeNet-5": models.lenet5,
    "Wide ResNet": lambda: models.wide_resnet(10, 1),
    "Xavier": lambda: started(nn.init.xavier_uniform_),
    "He": lambda: started(nn.init.kaiming_normal_, 0.0),
    "rare class": lambda: started(lambda weight: nn.init.trunc_normal_(weight, std=0.02), -4.6),
    "half": lambda: perceptron().bfloat16(),
}


@pytest.mark.parametrize("name", FRESH)
def test_no_new_model_looks_trained(name):
    for seed in range(3):
        torch.manual_seed(seed)
        assert not trained_part(FRESH[name](), ())


@pytest.mark.parametrize("name", ["Xavier", "He", "half", "GRU cell", "groups of channels"])
def test_a_model_that_moved_a_little_looks_trained(name):
    model = FRESH[name]()
    moves = [value for value in model.parameters() if value.ndim == 1]
    with torch.no_grad():
        for value in moves:
            value.add_(torch.empty_like(value).uniform_(-1, 1))
    assert trained_part(model, ())
    assert not trained_part(model, tuple(dict(model.named_children())))


@pytest.mark.bad_input  # under the import hook the caller is one frame further
def test_a_new_head_on_a_trained_body_is_nothing_lost(learned):
    model = nn.Sequential(*learned[0][:-1], nn.Linear(50, 3))
    et.ensemble(model, "last_layer", M, head="3")  # warnings are errors here
    nn.init.zeros_(model[-1].bias)
    nn.init.xavier_normal_(model[-1].weight)
    et.ensemble(model, "last_layer", M, head="3")
    et.ensemble(model, "batch_ensemble", M, shared=["0"])
    for method in ("batch_ensemble", "deep_ensemble"):
        with pytest.warns(UserWarning, match=r"looks trained \(0\.bias") as seen:
            et.ensemble(model, method, M)
        assert [one.filename for one in seen] == [__file__]
