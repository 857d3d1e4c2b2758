"""How members start: from what a model has learned, or a warning says so, or apart as it does."""

import re
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu import counting
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


class Own(nn.Module):
    """Starts as its own constructor says, and has a parameter and a buffer of its own."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(7, 101), nn.Linear(101, 2)
        self.token = nn.Parameter(torch.randn(7))
        nn.init.normal_(self.body.weight, std=3.0)
        nn.init.constant_(self.head.bias, -4.6)
        self.register_buffer("fixed", torch.randn(2), persistent=False)

    def forward(self, x):
        return self.head(self.body(x + self.token)) + self.fixed


@pytest.mark.parametrize("ensemble_size", [1, 2])
def test_everything_belongs_to_a_member_that_starts_anew(ensemble_size):
    model = models.wide_resnet(10, 1)
    model(torch.randn(5, 3, 8, 8))
    net, single = et.ensemble(model, "deep_ensemble", ensemble_size), counting.count(model)
    known = counting.Count(
        per_member=ensemble_size * single.shared, biases=ensemble_size * single.biases
    )
    assert counting.count(net) == known
    assert counting.count(nn.Sequential(nn.Linear(2, 3), net)) == known + counting.Count(6, 0, 0, 3)
    for name, value in model.named_parameters():
        if value.ndim > 1:
            starts = [value, *(one.get_parameter(name) for one in net.members)]
            assert not torch.equal(*starts[-2:])
    for name, value in net.members.named_buffers():
        assert not value.any() or "mean" not in name


def test_inner_modules_start_before_outer_ones_and_what_is_shared_stays():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(7, 5), nn.Linear(5, 2)
            self.reset_parameters()

        def reset_parameters(self):
            nn.init.ones_(self.body.weight)

        def forward(self, x):
            return self.head(self.body(x))

    model = Outer()
    net = et.ensemble(model, "deep_ensemble", M)
    assert all((one.body.weight == 1).all() for one in net.members)
    assert not torch.equal(net.members[0].body.bias, net.members[1].body.bias)
    model.also_body = model.body
    nn.init.normal_(model.body.weight)
    net = et.ensemble(model, "deep_ensemble", M, shared=["also_body"])
    assert torch.equal(net.members[1].body.weight, model.body.weight)
    assert len({id(one.body) for one in net.members}) == 1
    assert len({id(one.head) for one in net.members}) == M
    head = counting.layer(5, 2, "deep_ensemble", M)
    assert counting.count(net) == head + counting.Count(shared=35, biases=5)
    tied = nn.ModuleList([nn.Embedding(19, 7), nn.Linear(7, 19, bias=False)])
    tied[1].weight = tied[0].weight
    one, other, *_ = et.ensemble(tied, "deep_ensemble", M).members
    assert one[0].weight is one[1].weight is not other[0].weight


@pytest.mark.bad_input
def test_a_factory_or_a_function_starts_each_member():
    torch.manual_seed(0)
    model = Own().double()
    for given in (Own, lambda: Own(), partial(Own)):
        one, other, *_ = et.ensemble(model, "deep_ensemble", M, initialize=given).members
        assert abs(torch.stack([one.body.weight, other.body.weight]).std() - 3) < 0.2
        assert one.body.weight.dtype == torch.float64
        for name in ("body.weight", "token"):
            values = [part.get_parameter(name) for part in (one, other, model)]
            assert not torch.equal(values[0], values[1]) and not torch.equal(values[0], values[2])
        torch.testing.assert_close(
            one.head.bias, torch.full((2,), -4.6).double(), rtol=1e-6, atol=0
        )
        assert not torch.equal(one.fixed, other.fixed)
    net = et.ensemble(model, "deep_ensemble", M, initialize=lambda one: nn.init.normal_(one.token))
    assert torch.stack([one.token for one in net.members]).std(dim=0).min() > 1e-3
    shared = et.ensemble(model, "deep_ensemble", M, initialize=Own, shared=["body"])
    assert torch.equal(shared.members[1].body.weight, model.body.weight)

    class More(Own):
        def __init__(self):
            super().__init__()
            self.tail = nn.Linear(2, 3)

    for given, error, words in (
        (lambda: nn.Linear(7, 101), ValueError, "initialize() must return a model of the same arr"),
        (More, ValueError, "of the same arrays, got tail.bias (3,), accepted is none"),
        (lambda: Own, TypeError, "initialize() must return a model, got type"),
        (3, TypeError, "initialize must be a function that returns a new model, or one of a"),
        (None, ValueError, "parameters that nothing initializes anew: token"),
    ):
        with pytest.raises(error) as raised:
            et.ensemble(model, "deep_ensemble", M, initialize=given)
        assert words in str(raised.value)
    model.body.weight.requires_grad_(False)
    with pytest.raises(ValueError, match=r"frozen parameters, body\.weight, .* listed in shared"):
        et.ensemble(model, "deep_ensemble", M, initialize=Own)


@pytest.mark.bad_input
def test_another_start_than_the_models_own_is_said():
    def shift(one):
        for parameter in one.parameters():
            parameter.data += torch.rand(())

    embedding, focal = nn.Embedding(101, 13), nn.Conv2d(5, 101, 3)
    nn.init.normal_(embedding.weight, std=0.02)
    nn.init.constant_(focal.bias, -4.6)
    for layer, words in (
        (embedding, r"0\.weight 0\.0\d+ -> (0\.9|1).* initialize=lambda: Net\(\)"),
        (focal, r"0\.bias 4\.6 -> 0\.0\d+"),
    ):
        model = nn.Sequential(layer)
        with pytest.warns(UserWarning, match=words) as seen:
            et.ensemble(model, "deep_ensemble", M)
        assert len(seen) == 1 and seen[0].filename == __file__
        et.ensemble(model, "deep_ensemble", M, initialize=shift)  # warnings are errors here
    with pytest.warns(UserWarning, match="members 1 and 2 start equal"):
        et.ensemble(model, "deep_ensemble", M, initialize=lambda: model)
    for seed in range(5):  # Torch's own start is no news
        torch.manual_seed(seed)
        for model in (models.lenet5(), nn.LSTM(6, 5), nn.Linear(4, 4)):
            et.ensemble(model, "deep_ensemble", M)
