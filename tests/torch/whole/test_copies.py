"""Members that are whole models start apart, as the model itself starts."""

import copy
import warnings
from functools import partial

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import size_option
from ensedu.torch import models
from tests.torch.whole.cases import FLAT, B, M, floats, numbers, warmed_up


@pytest.mark.parametrize("ensemble_size", [1, 2])
def test_everything_in_a_deep_ensemble_belongs_to_a_member(ensemble_size):
    net = et.ensemble(models.wide_resnet(10, 1), "deep_ensemble", ensemble_size)
    single = counting.count(models.wide_resnet(10, 1))
    expected = counting.Count(
        per_member=ensemble_size * single.shared, biases=ensemble_size * single.biases
    )
    assert counting.count(net) == expected
    assert counting.count(nn.Sequential(nn.Linear(2, 3), net)).shared == 6


def test_members_of_a_deep_ensemble_start_apart_as_new_models_do():
    torch.manual_seed(0)
    model = warmed_up(lambda: models.wide_resnet(10, 1), (numbers(B, 3, 8, 8),), {})
    net = et.ensemble(model, "deep_ensemble", M)
    for name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            own = [one.get_parameter(name) for one in net.members]
            assert not torch.equal(own[0], own[1])
            assert not torch.equal(own[0], parameter)
    for one in net.members:
        for norm in one.modules():
            if isinstance(norm, nn.BatchNorm2d):
                assert not norm.running_mean.any()


def test_inner_modules_are_initialized_before_outer_ones():
    class Ones(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(7, 2)

        def reset_parameters(self):
            nn.init.ones_(self.inner.weight)

        forward = nn.Identity.forward

    net = et.ensemble(Ones(), "deep_ensemble", M)
    assert all((one.inner.weight == 1).all() for one in net.members)
    assert not torch.equal(net.members[0].inner.bias, net.members[1].inner.bias)


def test_initialize_sets_how_members_start():
    class Token(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Parameter(torch.zeros(7))

        def forward(self, x):
            return x + self.token

    net = et.ensemble(
        Token(), "deep_ensemble", M, initialize=lambda one: nn.init.normal_(one.token)
    )
    starts = torch.stack([one.token for one in net.members])
    assert starts.std(dim=0).min() > 1e-3
    assert net(numbers(B, 7).float()).shape == (M, B, 7)


@pytest.mark.parametrize("build", [lambda: nn.MultiheadAttention(6, 2), lambda: nn.LSTM(6, 5)])
def test_deep_ensembles_take_what_cannot_be_swapped(build):
    net = et.ensemble(build(), "deep_ensemble", M)
    first, second = (next(iter(one.parameters())) for one in net.members[:2])
    assert not torch.equal(first, second)


def test_shared_parts_keep_their_values_when_outer_modules_initialize_them():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(7, 5), nn.Linear(5, 2)

        def reset_parameters(self):
            nn.init.zeros_(self.body.weight)

        def forward(self, x):
            return self.head(self.body(x))

    model = Outer()
    net = et.ensemble(model, "deep_ensemble", M, shared=["body"])
    assert torch.equal(net.members[1].body.weight, model.body.weight)


@pytest.mark.bad_input
def test_a_factory_starts_each_member_as_the_model_starts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(7, 101), nn.Linear(101, 2)
            nn.init.normal_(self.body.weight, std=3.0)
            nn.init.constant_(self.head.bias, -4.6)
            self.register_buffer("fixed", torch.randn(2), persistent=False)

        def forward(self, x):
            return self.head(self.body(x)) + self.fixed

    torch.manual_seed(0)
    model = Net().double()
    for given in (Net, lambda: Net(), partial(Net)):
        net = et.ensemble(model, "deep_ensemble", M, initialize=given)
        weights = torch.stack([one.body.weight for one in net.members])
        assert abs(weights.std() - 3) < 0.2
        assert not torch.equal(weights[0], weights[1]) and not torch.equal(
            weights[0], model.body.weight
        )
        assert all(
            torch.allclose(one.head.bias + 4.6, torch.zeros(2).double(), atol=1e-6)
            for one in net.members
        )
        assert all(one.body.weight.dtype == torch.float64 for one in net.members)
        assert not torch.equal(net.members[0].fixed, net.members[1].fixed)
    shared = et.ensemble(model, "deep_ensemble", M, initialize=Net, shared=["body"])
    assert all(one.body is shared.members[0].body for one in shared.members)
    assert torch.equal(shared.members[1].body.weight, model.body.weight)

    class More(Net):
        def __init__(self):
            super().__init__()
            self.tail = nn.Linear(2, 3)

    for given, error, words in (
        (lambda: nn.Linear(7, 101), ValueError, "initialize() must return a model of the same arr"),
        (More, ValueError, "of the same arrays, got tail.bias (3,), accepted is none"),
        (lambda: Net, TypeError, "initialize() must return a model, got type"),
        (3, TypeError, "initialize must be a function that returns a new model, or one of a"),
    ):
        with pytest.raises(error) as raised:
            et.ensemble(model, "deep_ensemble", M, initialize=given)
        assert words in str(raised.value)


def _shifted(one):
    with torch.no_grad():
        for parameter in one.parameters():
            parameter.add_(torch.rand(()))


@pytest.mark.bad_input
def test_another_start_than_the_models_own_is_said():
    def he(model):
        for part in model.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
        return model

    embedding = nn.Sequential(nn.Embedding(101, 13), nn.Linear(13, 2))
    nn.init.normal_(embedding[0].weight, std=0.02)
    focal = nn.Sequential(nn.Conv2d(5, 101, 3))
    nn.init.constant_(focal[0].bias, -4.6)
    for model, words in (
        (he(models.wide_resnet(10, 1)), r"block1_1\.body\.0\.weight 0\.\d+ -> 0\.\d+"),
        (embedding, r"0\.weight 0\.0\d+ -> (0\.9|1)"),
        (focal, r"0\.bias 4\.6 -> 0\.0\d+"),
    ):
        with pytest.warns(UserWarning, match=words) as seen:
            et.ensemble(model, "deep_ensemble", M)
        assert len(seen) == 1
        assert "initialize=lambda: Net()" in str(seen[0].message)
        assert seen[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            et.ensemble(model, "deep_ensemble", M, initialize=_shifted)
    with pytest.warns(UserWarning, match="members 1 and 2 start equal"):
        et.ensemble(model, "deep_ensemble", M, initialize=lambda: model)


@pytest.mark.parametrize("seed", range(5))
def test_torchs_own_start_is_no_news(seed):
    torch.manual_seed(seed)
    for model in (models.lenet5(), models.wide_resnet(10, 1), nn.LSTM(6, 5), nn.Linear(4, 4)):
        et.ensemble(model, "deep_ensemble", M)  # warnings are errors here


def test_a_deep_ensemble_needs_no_batch_axis():
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)

        def forward(self, nodes, edges, keep, scale):
            return (
                torch.zeros(len(nodes), 2).index_add(0, edges[1], self.fc(nodes)[edges[0]]) * scale
            )

    nodes, edges = floats(B, 7), torch.tensor([[0, 1, 2], [1, 2, 4]])
    net = et.ensemble(Graph(), "deep_ensemble", M)
    arguments = (nodes, edges, torch.ones(1, B, dtype=torch.bool), torch.tensor(2.0))
    y = net(*arguments)
    assert torch.equal(y[1], net.members[1](*arguments))

    class Images(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 2, 1)

        def forward(self, images):
            return [{"mean": self.conv(image).mean((1, 2))} for image in images]

    images = [floats(3, 4, 5), floats(3, 6, 7)]
    outputs = et.ensemble(Images(), "deep_ensemble", M)(images)
    assert [one["mean"].shape for one in outputs] == [(M, 2), (M, 2)]
    for method in FLAT:
        net = et.ensemble(Images(), method, **size_option(method, M))
        with pytest.raises(ValueError, match=r"look like images \(C, H, W\); accepted are images"):
            net(images)


def test_a_call_of_the_converted_model_is_found_in_later_passes_too():
    class Same:
        """Copies as itself, and hides a module."""

        def __init__(self, module):
            self.module = module

        def __deepcopy__(self, memo):
            return self

    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.kept = Same(self.fc)

        def forward(self, x):
            return (self.fc if x.sum() > 0 else self.kept.module)(x)

    x = floats(B, 7).abs()
    net = et.ensemble(Hidden(), "deep_ensemble", M)
    net(x)
    for _ in range(2):  # it does not pass the second time
        with pytest.raises(ValueError, match="of the model that was converted, which"):
            net(-x)
    twin = copy.deepcopy(net)
    for one in (net, twin):
        one(x)
        assert one(-x).shape == (M, B, 2)  # the third is not looked at
        with pytest.raises(ValueError, match="of the model that was converted, which"):
            one(-x)
