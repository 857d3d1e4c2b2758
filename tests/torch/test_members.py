"""No conversion is silently wrong: what mixes members is an error, and a member taken out is one.

Each model here came out wrong without a word, or with one that helped nobody, in a library that
repeats the batch and hopes.
"""

import copy
import math
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from ensedu import counting
from ensedu.methods import METHODS, size_option
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatLayer

M, B, S = 3, 5, 2
FLAT = ("batch_ensemble", "rank1", "mean_field")
OPTIONS = {
    "deep_ensemble": {},
    "batch_ensemble": {"init": "normal"},
    "rank1": {"init_std": 0.3, "posterior_std": 0.2},
    "mean_field": {"posterior_std": 0.1},
    "mc_dropout": {},
    "last_layer": {"head": "2"},
}


def numbers(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7))


def seeded(number=0):
    return torch.Generator().manual_seed(number)


class Siamese(nn.Module):
    """Two inputs through one layer, one behind the other in one batch."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 11)

    def forward(self, x, y):
        a, b = self.fc(torch.cat([x, y])).chunk(2)
        return a * b


class SequenceFirst(nn.Module):
    """(B, L, m) -> (B, n) through a layer that sees (L, B, m)."""

    def __init__(self):
        super().__init__()
        self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 2)

    def forward(self, x):
        return self.head(self.fc(x.transpose(0, 1)).mean(0))


class Centered(nn.Module):
    """Takes the mean of the batch away, in eval mode too."""

    def __init__(self):
        super().__init__()
        self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 2)

    def forward(self, x):
        x = self.fc(x)
        return self.head(x - x.mean(0))


class FixedWindows(nn.Module):
    """Cuts the whole batch into a number of windows that does not depend on it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 7)

    def forward(self, x):
        B, L, m = x.shape
        windows = x.reshape(B, L // 4, 4, m).transpose(0, 2).reshape(4, -1, m)
        return self.fc(windows).reshape(4, L // 4, B, m).transpose(0, 2).reshape(B, L, m)


class Noisy(nn.Module):
    """Draws in eval mode."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(7, 2)

    def forward(self, x):
        return F.dropout(self.fc(x), 0.5)


MIXED = {
    "siamese": (Siamese, lambda: (numbers(B, 7), 1 - numbers(B, 7)), 4),
    "sequence first, one example": (SequenceFirst, lambda: (numbers(1, 8, 7),), 4),
    "sequence first, two examples": (SequenceFirst, lambda: (numbers(2, 8, 7),), 4),
    "centered": (Centered, lambda: (numbers(B, 7),), M),
    "windows": (FixedWindows, lambda: (numbers(1, 8, 7),), 4),
}
FIRST = {"siamese": "fc", "centered": "head", "windows": "fc"}


@pytest.mark.parametrize("method", FLAT)
@pytest.mark.parametrize("name", MIXED)
def test_what_mixes_members_is_an_error_in_each_of_three_places(name, method):
    build, make, number = MIXED[name]
    torch.manual_seed(0)
    model, inputs = build(), make()
    first = FIRST.get(name, "fc")
    with pytest.raises(ValueError, match=rf"is off by .* first at {first}, a nn\.Linear"):
        et.ensemble(model, method, **size_option(method, number), example=inputs)
    net = et.ensemble(model, method, **size_option(method, number))
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        et.check_members(net, *inputs)
    for _ in range(2):  # it does not pass the second time
        with pytest.raises(ValueError, match="the ensemble is not its members"):
            net(*inputs)
    copied = et.ensemble(model, "deep_ensemble", number, example=inputs)
    assert copied(*inputs).shape[:2] == (number, len(inputs[0]))


@pytest.mark.parametrize("method", FLAT)
def test_a_mix_up_shows_where_members_are_nearly_equal(method):
    close = {"init": "normal", "init_std": 1e-6} if method == "batch_ensemble" else {}
    close |= {"init_std": 1e-6, "posterior_std": 1e-6} if method == "rank1" else {}
    close |= {"posterior_std": 1e-6} if method == "mean_field" else {}
    net = et.ensemble(Siamese(), method, **size_option(method, M), **close)
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        net(numbers(B, 7), numbers(B, 7))


def test_a_lost_batch_of_another_length_is_named_as_before():
    net = et.ensemble(SequenceFirst(), "batch_ensemble", 4)
    with pytest.raises(ValueError, match=r"fc: got an input of shape \(8, 12, 7\) inside"):
        net(numbers(3, 8, 7))


def test_the_comparison_leaves_nothing_behind():
    model = nn.Sequential(nn.Linear(7, 11), nn.BatchNorm1d(11), nn.Dropout(0.3), nn.Linear(11, 2))
    net = et.ensemble(model, "rank1", M)
    net.model[1].eval()
    modes = [part.training for part in net.modules()]
    before = copy.deepcopy(net.state_dict())
    x = numbers(B, 7)
    torch.manual_seed(0)
    y = net(x)
    assert net.seen
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    torch.manual_seed(0)
    assert torch.equal(net(x), y)  # it drew nothing from the global generator
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in net.parameters())


def test_the_comparison_is_made_once_and_can_be_skipped():
    class Counts(nn.Linear):
        calls = 0

        def forward(self, x):
            Counts.calls += 1
            return super().forward(x)

    model = nn.Sequential(Counts(7, 7), nn.Linear(7, 2))
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    net(numbers(B, 7))
    assert Counts.calls == 1 + M + 1
    net(numbers(B, 7))
    assert Counts.calls == 1 + M + 2
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    net.comparing, Counts.calls = False, 0
    net(numbers(B, 7))
    assert Counts.calls == 1
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    seen = []
    handle = net.model[1].register_forward_hook(lambda *_: seen.append(1))
    net(numbers(B, 7))
    assert len(seen) == 1 and net.seen  # a hook sees the passes that its owner asked for
    handle.remove()
    net(numbers(B, 7))
    assert len(seen) == 1
    model[0].register_forward_hook(_doubled)  # the model's own are a part of it
    net = et.ensemble(model, "batch_ensemble", M, shared=["0"])
    net(numbers(B, 7))
    assert net.seen


def _doubled(module, inputs, output):
    return 2 * output


class Mix(nn.Module):
    """Examples look at each other, somewhere before the head."""

    def __init__(self, gain=1.0):
        super().__init__()
        self.fc, self.norm, self.head = nn.Linear(7, 11), nn.LayerNorm(11), nn.Linear(11, 3)
        nn.init.constant_(self.norm.weight, gain)

    def mixed(self, x):
        h = self.fc(x)
        return self.head(self.norm(torch.tanh(h - h.mean(0))))

    def forward(self, x):
        return self.mixed(x)


class ZeroHead(Mix):
    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.head.weight)


class Masked(Mix):
    def forward(self, x):
        y = self.mixed(x)
        return y.masked_fill(torch.tensor([True, False, False]), -1e9)


class BesideLarge(Mix):
    def forward(self, x):
        return torch.cat([self.mixed(x), 640 * x], dim=1)


class Number(Mix):
    """A Python number that is one over all members."""

    def forward(self, x):
        y = self.head(self.fc(x))
        return {"y": y, "loss": y.square().mean().item()}


class Optional(Mix):
    """Right without its second input."""

    def forward(self, x, y=None):
        return self.head(self.fc(x)) if y is None else self.mixed(x + y)


class LateTime(Mix):
    """Right for one step of time."""

    def forward(self, x):
        rows = x.transpose(0, 1).flatten(0, 1)
        return self.head(self.fc(rows)).unflatten(0, x.shape[1::-1]).transpose(0, 1)


MIX = (Mix, ZeroHead, Masked, BesideLarge, Number, lambda: Mix(1e-6))


@pytest.mark.parametrize("build", MIX)
@pytest.mark.parametrize("method", FLAT)
def test_nothing_small_hides_a_mix_up(build, method):
    torch.manual_seed(0)
    net = et.ensemble(build(), method, **size_option(method, M))
    with pytest.raises(ValueError, match="the ensemble is not its members"):
        net(numbers(B, 7))


def test_rounding_alone_in_an_output_is_no_mix_up():
    class Rounds(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 11)

        def forward(self, x):
            y = self.fc(x)
            return {"y": torch.complex(y, y), "error": y.softmax(-1).sum(-1) - 1, "none": None}

    for dtype in (torch.float32, torch.float64):
        net = et.ensemble(Rounds().to(dtype), "batch_ensemble", M, example=numbers(B, 7).to(dtype))
        assert net(numbers(B, 7).to(dtype))["y"].shape == (M, B, 11)


@pytest.mark.parametrize("short", [torch.bfloat16, torch.float16])
def test_short_numbers_hide_no_mix_up(short):
    x = numbers(32, 7)
    net = et.ensemble(Mix(), "batch_ensemble", M)
    with torch.autocast("cpu", dtype=short), pytest.raises(ValueError, match="is not its members"):
        net(x)
    net = et.ensemble(Mix().to(short), "batch_ensemble", M)
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(ValueError, match="is not its members"):
        net(x.to(short))
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    assert all(parameter.dtype == short for parameter in net.parameters())


def test_each_kind_of_pass_is_compared():
    x = numbers(B, 7)
    net = et.ensemble(Optional(), "batch_ensemble", M)
    net(x)
    with pytest.raises(ValueError, match="is not its members"):
        net(x, 1 - x)
    net = et.ensemble(LateTime(), "batch_ensemble", M)
    net(numbers(B, 1, 7))
    with pytest.raises(ValueError, match="is not its members"):
        net(numbers(B, 4, 7))
    net = et.ensemble(Mix(), "batch_ensemble", M)
    net(x[:0])
    net(x * torch.nan)
    with pytest.raises(ValueError, match="is not its members"):
        net(x)
    with pytest.raises(ValueError, match="outputs hold no number"):
        et.check_members(et.ensemble(Mix(), "batch_ensemble", M), x[:0])


def test_models_that_count_or_keep_what_they_saw_can_be_compared():
    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 7)
            self.register_buffer("count", torch.ones(()))
            self.state, self.last = None, [None]

        def forward(self, x):
            self.state = self.fc(x) * self.count
            self.last[0] = self.state
            self.count += 1
            return self.state

    torch.manual_seed(0)
    model, x = Keeps().double(), numbers(B, 7).double()
    net = et.ensemble(model, "batch_ensemble", M)
    net(x)
    assert net.seen and net.model.count == 2  # the comparison did not count
    assert net.member(0).state.shape == (M * B, 7)
    model(x)  # leaves tensors with a graph, which deepcopy alone refuses
    for method in ("deep_ensemble", *FLAT):
        assert et.ensemble(model, method, **size_option(method, M))(x).shape == (M, B, 7)


def test_gradients_inside_a_model_work():
    class Force(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.head = nn.Linear(7, 11), nn.Linear(11, 1)

        def forward(self, x):
            x = x.requires_grad_(True)
            energy = self.head(torch.tanh(self.fc(x))).sum()
            return torch.autograd.grad(energy, x, create_graph=True)[0]

    net = et.ensemble(Force().double(), "rank1", M)
    x = numbers(B, 7).double()
    noise = net.noise(seeded(), x)
    torch.testing.assert_close(net(x, noise=noise)[1], net.member(1, noise)(x))


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "mean_field", "mc_dropout"])
def test_a_checkpoint_inside_a_model_draws_the_same_again_or_says_why_not(method):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop, self.head = nn.Linear(7, 11), nn.Dropout(0.3), nn.Linear(11, 2)

        def part(self, x):
            return self.drop(torch.tanh(self.fc(x)))

        def forward(self, x):
            part = torch.utils.checkpoint.checkpoint(self.part, x, use_reentrant=False)
            return self.head(part)

    net = et.ensemble(Checkpointed().double(), method, **size_option(method, M)).eval()
    x = numbers(B, 7).double()

    def gradients(run):
        net.zero_grad()
        torch.manual_seed(0)
        run().square().sum().backward()
        return [p.grad for p in net.parameters() if p.grad is not None]

    drawn = gradients(lambda: net(x))
    plain = torch.utils.checkpoint.checkpoint
    try:
        torch.utils.checkpoint.checkpoint = lambda part, x, use_reentrant: part(x)
        expected = gradients(lambda: net(x))
    finally:
        torch.utils.checkpoint.checkpoint = plain
    for one, other in zip(drawn, expected, strict=True):
        torch.testing.assert_close(one, other)
    if method != "batch_ensemble":
        with pytest.raises(RuntimeError, match="is called outside of a pass, after one that was"):
            net(x, noise=net.noise(seeded(), x)).sum().backward()


def test_a_model_that_draws_cannot_be_compared():
    net = et.ensemble(Noisy(), "batch_ensemble", M)
    with pytest.warns(UserWarning, match="not compared with its members: it draws at random"):
        assert net(numbers(B, 7)).shape == (M, B, 2)
    net(numbers(B, 7))  # and says so once
    with pytest.raises(ValueError, match="draws at random in eval mode"):
        et.check_members(net, numbers(B, 7))


@pytest.mark.bad_input
def test_check_members_takes_what_ensemble_returns():
    with pytest.raises(TypeError, match=r"net must be what ensedu\.torch\.ensemble returns"):
        et.check_members(nn.Linear(7, 2), numbers(B, 7))
    with pytest.raises(TypeError, match="example must be a tensor, a tuple of arguments or a dict"):
        et.ensemble(nn.Linear(7, 2), "batch_ensemble", M, example=[numbers(B, 7)])
    net = et.ensemble(
        Siamese(), "deep_ensemble", M, example={"x": numbers(B, 7), "y": numbers(B, 7)}
    )
    assert et.check_members(net, numbers(B, 7), y=numbers(B, 7)) is None


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_rounding_is_no_mix_up(low):
    model = models.wide_resnet(10, 1)
    net = et.ensemble(model, "batch_ensemble", M)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net(numbers(B, 3, 8, 8))
    net = et.ensemble(
        nn.Sequential(nn.Linear(7, 101), nn.ReLU(), nn.Linear(101, 2)).to(low), "rank1", M
    )
    net(numbers(B, 7).to(low))
    assert net.seen


# What is taken out


class Reuses(nn.Module):
    """One dropout for inputs of two shapes, one that no pass calls, and channels that drop."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 5, 3)
        self.channels, self.drop, self.idle = nn.Dropout2d(0.4), nn.Dropout(0.3), nn.Dropout(0.2)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        x = self.channels(self.drop(self.conv(x)).relu())
        return self.drop(self.head(x.mean((-1, -2))))


def grouped():
    return nn.Sequential(
        nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2, padding_mode="circular"),
        nn.Flatten(), nn.Linear(6 * 4 * 5, 7, bias=False),
    )  # fmt: skip


TAKEN = {
    "grouped convolution": (grouped, (B, 4, 7, 8)),
    "LeNet-5": (models.lenet5, (B, 1, 28, 28)),
    "WRN-10-1": (lambda: models.wide_resnet(10, 1), (B, 3, 8, 8)),
    "tokens": (lambda: nn.Sequential(nn.Linear(7, 11), nn.Tanh(), nn.Linear(11, 2)), (B, 3, 7)),
}


@pytest.mark.parametrize("method", [key for key in METHODS if key not in ("single", "mc_dropout")])
@pytest.mark.parametrize("name", TAKEN)
def test_a_member_taken_out_equals_the_member_inside(name, method):
    build, shape = TAKEN[name]
    torch.manual_seed(0)
    model, x = build().double(), numbers(*shape).double()
    heads = {"LeNet-5": "11", "WRN-10-1": "head.2"}
    options = OPTIONS[method] | ({"head": heads.get(name, "2")} if method == "last_layer" else {})
    net = et.ensemble(model, method, **size_option(method, M), **options).eval()
    drawn = [net.noise(seeded())] if METHODS[method].stochastic else []
    y = net(x, noise=drawn[0]) if drawn else net(x)
    assert not torch.allclose(y[0], y[1])
    for i in range(M):
        member = net.member(i, *drawn)
        kinds = {type(part).__module__.partition(".")[0] for part in member.modules()}
        assert "ensedu" not in kinds or name == "WRN-10-1"  # whose blocks are of this package
        assert not any(isinstance(part, FlatLayer) for part in member.modules())
        torch.testing.assert_close(member(x), y[i], rtol=1e-12, atol=1e-12)
        assert sum(p.numel() for p in member.parameters()) == sum(
            p.numel() for p in model.parameters()
        )
        with torch.no_grad():
            for parameter in member.parameters():
                parameter.zero_()
    y_again = net(x, noise=drawn[0]) if drawn else net(x)
    assert torch.equal(y_again, y)  # it shared no memory


def test_a_sample_of_a_member_is_taken_out_by_both_indices():
    model = nn.Sequential(nn.Linear(7, 11), nn.ReLU(), nn.Linear(11, 2)).double()
    net = et.ensemble(model, "rank1", M, samples=S, posterior_std=0.3).eval()
    x, noise = numbers(B, 7).double(), net.noise(seeded())
    y = net(x, noise=noise)
    for s in range(S):
        for i in range(M):
            own = net.member((s, i), noise)(x)
            torch.testing.assert_close(own, y[s, i], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("training", [False, True])
def test_a_sample_of_dropout_is_taken_out_with_its_masks(training):
    torch.manual_seed(0)
    net = et.ensemble(Reuses().double(), "mc_dropout", samples=M).train(training)
    x = numbers(B, 2, 6, 5).double()
    noise = net.noise(seeded(), x)
    assert set(noise) == {"channels.mask", "drop.mask", "drop.mask1"}
    y = net(x, noise=noise)
    assert torch.equal(net(x, noise=noise), y)
    assert not torch.allclose(y[0], y[1])
    for i in range(M):
        member = net.member(i, noise)
        for _ in range(2):
            torch.testing.assert_close(member(x), y[i], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match="noise has no mask for a dropout that this member calls"):
        net.member(0, {})(x)


def test_noise_for_inputs_is_what_a_pass_would_draw():
    model = nn.Sequential(nn.Linear(7, 11), nn.ReLU(), nn.Linear(11, 2)).double()
    x = numbers(B, 7).double()
    for method, options, shapes in (
        ("rank1", {"per_example": True}, {"0.r": (M, B, 7), "2.s": (M, B, 2)}),
        ("rank1", {}, {"0.r": (M, 7), "2.s": (M, 2)}),
        ("mean_field", {"estimator": "local"}, {"0.output": (M, B, 11), "2.output": (M, B, 2)}),
        ("mean_field", {}, {"0.weight": (M, 7, 11), "2.bias": (M, 2)}),
    ):
        net = et.ensemble(model, method, **size_option(method, M), **options)
        noise = net.noise(seeded(3), x)
        assert {name: tuple(noise[name].shape) for name in shapes} == shapes
        assert torch.equal(net(x, noise=noise), net(x, noise=noise))
        again = net.noise(seeded(3), x)
        assert all(torch.equal(again[name], value) for name, value in noise.items())
    local = et.ensemble(model, "mean_field", samples=M, estimator="local")
    noise = local.noise(seeded())  # of the weights: one function for all examples
    y = local(x, noise=noise)
    torch.testing.assert_close(local.member(1, noise)(x), y[1], rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r'0: noise\["output"\] makes another function for each'):
        local.member(1, local.noise(seeded(), x))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("method", "index", "noise", "error", "words"),
    [
        ("batch_ensemble", M, None, ValueError, "index must be below the leading axes (3,), got 3"),
        ("batch_ensemble", -1, None, ValueError, "index must be an integer from 0 up, got -1"),
        ("batch_ensemble", 1.0, None, TypeError, "index must be an integer from 0 up, got 1.0"),
        ("batch_ensemble", (0, 1), None, ValueError, "index must be an integer for leading axes"),
        ("deep_ensemble", 0, {"r": 1}, ValueError, "noise must be left out where nothing is drawn"),
        ("deep_ensemble", M, None, ValueError, "index must be below the leading axes (3,), got 3"),
        ("rank1", 0, None, ValueError, "noise must be given for a method that draws"),
        ("rank1", 0, {}, ValueError, "noise has nothing for 0, accepted is what net.noise()"),
        ("rank1", 0, {"7.r": 1}, ValueError, "noise has the key '7.r', accepted are those of"),
    ],
)  # fmt: skip
def test_a_member_that_is_none_is_named(method, index, noise, error, words):
    net = et.ensemble(nn.Sequential(nn.Linear(7, 2)), method, M)
    with pytest.raises(error) as raised:
        net.member(index, noise)
    assert words in str(raised.value)


# How a deep ensemble starts


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
    for given, error, words in (
        (lambda: nn.Linear(7, 101), ValueError, "initialize() must return a model of the same arr"),
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

    nodes, edges = numbers(B, 7), torch.tensor([[0, 1, 2], [1, 2, 4]])
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

    images = [numbers(3, 4, 5), numbers(3, 6, 7)]
    outputs = et.ensemble(Images(), "deep_ensemble", M)(images)
    assert [one["mean"].shape for one in outputs] == [(M, 2), (M, 2)]
    for method in FLAT:
        net = et.ensemble(Images(), method, **size_option(method, M))
        with pytest.raises(ValueError, match=r"look like images \(C, H, W\); accepted are images"):
            net(images)


def test_flat_ensembles_pass_on_what_has_no_batch_axis():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)

        def forward(self, x, mask, scale):
            return self.fc(x * mask) * scale

    net = et.ensemble(Masked().double(), "batch_ensemble", M)
    x, mask = numbers(B, 7).double(), (numbers(1, 7) > 0).double()
    scale = torch.tensor(3.0, dtype=torch.float64)
    y = net(x, mask, scale)
    torch.testing.assert_close(y[2], net.member(2)(x, mask, scale), rtol=1e-12, atol=1e-12)
    assert net(x[:1], mask, scale).shape == (M, 1, 2)


# What would go on using the original


def test_functions_that_hold_the_model_are_named():
    class Closure(nn.Module):
        def __init__(self, wrap):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.act = wrap(lambda x: self.fc(x).relu())

        def forward(self, x):
            return self.act(x)

    class Bound(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.act = self.double_fc  # copied with its object

        def double_fc(self, x):
            return 2 * self.fc(x)

        def forward(self, x):
            return self.act(x)

    class Hidden(nn.Module):
        """Keeps a module where nobody sees it: in an object that copies as itself."""

        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            self.act = Same(self.fc)

        def forward(self, x):
            return self.act.module(x)

    class Same:
        def __init__(self, module):
            self.module = module

        def __deepcopy__(self, memo):
            return self

    class Method(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(7, 2)
            one = self.one
            self.act = lambda x: one(x)

        def one(self, x):
            return self.fc(x)

        def forward(self, x):
            return self.act(x)

    def outer(function):
        return lambda x: function(x) + 1

    keeps = nn.Sequential(nn.Linear(7, 2))
    keeps.register_forward_hook(lambda module, x, y, kept=keeps[0]: kept(x[0]))
    for method in ("deep_ensemble", *FLAT):
        for model, name in (
            (Closure(lambda f: f), "act"),
            (Closure(outer), "act"),
            (Closure(partial), "act"),
            (Closure(lambda f: partial(map, f)), "act"),
            (Method(), "act"),
            (Closure(lambda f: {"later": [f]}), "act"),
            (keeps, "_forward_hooks"),
        ):
            with pytest.raises(ValueError, match=rf"{name} is a function that holds a "):
                et.ensemble(model, method, **size_option(method, M))
        net = et.ensemble(Hidden(), method, **size_option(method, M))
        for _ in range(2):
            with pytest.raises(ValueError, match="of the model that was converted, which"):
                net(numbers(B, 7))
        net = et.ensemble(Bound(), method, **size_option(method, M), **OPTIONS[method])
        y = net(numbers(B, 7))
        assert not torch.allclose(y[0], y[1])


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_models_are_named():
    inside = nn.Sequential(torch.compile(nn.Linear(7, 2)))
    for model in (torch.compile(nn.Linear(7, 2)), inside):
        with pytest.raises(ValueError, match=r"is compiled .* accepted is the model itself"):
            et.ensemble(model, "batch_ensemble", M)


@pytest.mark.bad_input
def test_sizes_follow_from_the_parameters():
    net = et.ensemble(nn.Linear(7, 2), "mean_field", samples=4)
    with pytest.raises(AttributeError, match="another number of samples"):
        net.ensemble_size = 8
    net.samples = 8
    y = net(numbers(B, 7))
    assert y.shape == (8, B, 2) and net.leading == (8,)
    assert len(torch.unique(y[:, 0, 0])) == 8  # eight answers are eight draws
    for value, error in ((0, ValueError), (None, TypeError), (True, TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="samples must be"):
            net.samples = value
    both = et.ensemble(nn.Linear(7, 2), "rank1", M)
    both.samples = S
    assert both(numbers(B, 7)).shape == (S, M, B, 2)
    both.samples = None
    assert both(numbers(B, 7)).shape == (M, B, 2)
    for method in ("batch_ensemble", "deep_ensemble"):
        fixed = et.ensemble(nn.Linear(7, 2), method, M)
        assert fixed.ensemble_size == M
        with pytest.raises(AttributeError, match="ensemble_size cannot be set, got 8; accepted is"):
            fixed.ensemble_size = 8
    with pytest.raises(ValueError, match="samples must be left out where nothing is drawn"):
        et.ensemble(nn.Linear(7, 2), "batch_ensemble", M).samples = 8
    layer = et.BatchEnsembleLinear(7, 2, M)
    with pytest.raises(AttributeError, match="ensemble_size follows from the shapes"):
        layer.ensemble_size = 8
    assert layer.ensemble_size == M


@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "mean_field", "mc_dropout"])
@pytest.mark.parametrize("masked", [False, True])
def test_torchs_transformer_works_in_eval_mode(method, masked):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(6, 2, 11, batch_first=True, dropout=0.1)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=masked).double()
    options = {"shared": [nn.MultiheadAttention]} if method != "mc_dropout" else {}
    net = et.ensemble(model, method, **size_option(method, M), **options)
    x = numbers(B, 4, 6).double()
    keys = {}
    if masked:
        hidden = torch.zeros(B, 4, dtype=torch.bool)
        hidden[1, 2:] = True
        keys = {"src_key_padding_mask": hidden}
    net.train()(x, **keys).sum().backward()
    fast = torch.backends.mha.get_fastpath_enabled()
    with torch.no_grad():
        noise = {"noise": net.noise(seeded(), x, **keys)} if method != "batch_ensemble" else {}
        y = net.eval()(x, **keys, **noise)
        for i in range(M):
            member = net.member(i, *noise.values()).train()
            for part in member.modules():  # the plain way through, without dropout
                if isinstance(part, nn.Dropout):
                    part.p = 0.0
                if isinstance(part, nn.MultiheadAttention):
                    part.dropout = 0.0
            torch.testing.assert_close(member(x, **keys), y[i], rtol=1e-10, atol=1e-10)
    assert torch.backends.mha.get_fastpath_enabled() == fast


# What is swapped, and what is shared


class SameConv(nn.Conv2d):
    """Pads as TensorFlow's "same" does, by the size of the image."""

    def forward(self, x):
        sides = []
        for i in (1, 0):
            size, s, k, d = x.shape[2 + i], self.stride[i], self.kernel_size[i], self.dilation[i]
            total = max((math.ceil(size / s) - 1) * s + (k - 1) * d + 1 - size, 0)
            sides += [total // 2, total - total // 2]
        return F.conv2d(
            F.pad(x, sides), self.weight, self.bias, self.stride, 0, self.dilation, self.groups
        )


class ClampedLinear(nn.Linear):
    """A product only where it is small."""

    def forward(self, x):
        return super().forward(x).clamp(-80, 80)


class ScaledGradient(nn.Linear):
    """The product, with another gradient."""

    def forward(self, x):
        y = super().forward(x)
        return 10 * y - 9 * y.detach()


class MaskedInPlace(nn.Conv2d):
    """Changes its own weight as it runs."""

    def forward(self, x):
        self.weight.data[:, :, -1] = 0
        return super().forward(x)


class CastLinear(nn.Linear):
    """Casts its weight to the input."""

    def forward(self, x):
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return F.linear(x, self.weight.to(x.dtype), bias)


class StandardizedConv(nn.Conv2d):
    """Does more than the product."""

    def forward(self, x):
        weight = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


class DoubleInTraining(nn.Linear):
    def forward(self, x):
        return super().forward(x) * (2 if self.training else 1)


class OtherArrays(nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.gain = nn.Parameter(torch.ones(()))


@pytest.mark.parametrize("method", FLAT)
@pytest.mark.parametrize("geometry", [{}, {"stride": 2}, {"stride": (3, 2), "dilation": (1, 2)}])
def test_subclasses_that_pad_or_cast_are_swapped(method, geometry):
    torch.manual_seed(0)
    model = nn.Sequential(
        SameConv(2, 4, (3, 5), **geometry), SameConv(4, 4, 4, groups=2), nn.Flatten(1),
        nn.LazyLinear(7), CastLinear(7, 2),
    )  # fmt: skip
    x = numbers(B, 2, 7, 8)
    model(x)
    model, x = model.double(), x.double()
    net = et.ensemble(model, method, **size_option(method, M), **OPTIONS[method], example=x)
    assert sum(isinstance(part, FlatLayer) for part in net.modules()) == 4
    noise = [] if method == "batch_ensemble" else [net.noise(seeded())]
    y = net(x, **({"noise": noise[0]} if noise else {}))
    for i in range(M):
        member = net.member(i, *noise)
        assert type(member[0]) is SameConv and type(member[4]) is CastLinear
        torch.testing.assert_close(member(x), y[i], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "layer",
    [
        StandardizedConv(2, 3, 3),
        DoubleInTraining(7, 2),
        OtherArrays(7, 2),
        ClampedLinear(7, 2),
        ScaledGradient(7, 2),
        MaskedInPlace(2, 3, 3),
    ],
)
def test_subclasses_that_do_more_are_named_with_their_path(layer):
    before, weight = layer.training, layer.weight.detach().clone()
    with pytest.raises(ValueError) as raised:
        et.ensemble(nn.Sequential(layer, nn.Linear(2, 2)), "batch_ensemble", M)
    assert f"0 (tests.torch.test_members.{type(layer).__name__}" in str(raised.value) or (
        f"0.gain (a parameter of tests.torch.test_members.{type(layer).__name__}"
        in str(raised.value)
    )
    assert "list it as shared" in str(raised.value)
    assert layer.training == before and torch.equal(layer.weight, weight)
    net = et.ensemble(nn.Sequential(layer, nn.Linear(2, 2)), "batch_ensemble", M, shared=["0"])
    assert type(net.model[0]) is type(layer)


@pytest.mark.bad_input
def test_shared_takes_patterns_and_types():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attn, self.mlp = nn.MultiheadAttention(6, 2), nn.Linear(6, 6)

    def count(shared):
        net = et.ensemble(
            nn.Sequential(Block(), Block(), nn.LSTM(6, 5)), "batch_ensemble", M, shared=shared
        )
        return sum(isinstance(part, FlatLayer) for part in net.modules())

    attention = nn.MultiheadAttention
    assert (
        count([attention, "2"]) == count(["*.attn", nn.LSTM]) == count([attention, nn.RNNBase]) == 2
    )
    assert count(["?.attn", "2", "1.mlp"]) == 1
    with pytest.raises(ValueError, match=r"shared must hold names .* got '\*\.nothing'"):
        count(["*.nothing"])
    with pytest.raises(
        ValueError, match=r"types of modules, got <class 'torch\.nn\.modules\.rnn\.GRU'>"
    ):
        count([nn.GRU])
    with pytest.raises(TypeError, match="shared must hold names, patterns and types, got 3"):
        count([3])


@dataclass
class Output(OrderedDict):
    """As the outputs of transformers and diffusers are: a dict and a dataclass."""

    logits: torch.Tensor
    states: tuple | None = None

    def __post_init__(self):
        self["logits"] = self.logits


@pytest.mark.parametrize("method", ["deep_ensemble", *FLAT])
def test_dataclasses_come_out_as_they_are(method):
    class Model(nn.Module):
        def __init__(self, cache=None):
            super().__init__()
            self.fc, self.cache = nn.Linear(7, 2), cache

        def forward(self, x):
            y = self.fc(x)
            return Output(logits=y, states=(self.cache if self.cache else y + 1,))

    y = et.ensemble(Model().double(), method, **size_option(method, M))(numbers(B, 7).double())
    assert type(y) is Output
    assert y.logits.shape == y.states[0].shape == (M, B, 2)
    assert y["logits"] is y.logits
    with pytest.raises(TypeError, match=r"is a builtins\.object, accepted .* use_cache=False"):
        et.ensemble(Model(object()), method, **size_option(method, M))(numbers(B, 7))


# What a user does next


@pytest.mark.bad_input
def test_weight_decay_pulls_on_weights_alone():
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))
    x = numbers(B, 1, 6, 6)
    for method in ("deep_ensemble", *FLAT, "last_layer"):
        options = OPTIONS[method] | ({"head": "3"} if method == "last_layer" else {})
        net = et.ensemble(model, method, **size_option(method, M), **options)
        groups = et.parameter_groups(net, weight_decay=0.5)
        given = {id(p): group["weight_decay"] for group in groups for p in group["params"]}
        assert (
            len(given)
            == sum(len(group["params"]) for group in groups)
            == len(list(net.parameters()))
        )
        for name, parameter in net.named_parameters():
            own = name.rpartition(".")[2]
            norm = name.endswith(".1.weight")
            assert given[id(parameter)] == (0.5 if own == "weight" and not norm else 0.0), name
    # One step without a gradient: AdamW alone moves, and only weights.
    net = et.ensemble(model, "batch_ensemble", M)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    optimizer = torch.optim.AdamW(et.parameter_groups(net, weight_decay=0.5), lr=0.1)
    (0 * net(x).sum()).backward()
    optimizer.step()
    for name, parameter in net.named_parameters():
        kept = torch.equal(parameter, before[name])
        assert kept != (name.endswith("weight") and ".1." not in name), name
    net.model[0].layer.weight.requires_grad_(False)
    groups = et.parameter_groups(net, weight_decay=0.0)
    assert all(p is not net.model[0].layer.weight for group in groups for p in group["params"])
    for bad, error in ((-1, ValueError), ("1", TypeError), (float("nan"), ValueError)):
        with pytest.raises(error, match="weight_decay must be"):
            et.parameter_groups(net, weight_decay=bad)
    with pytest.raises(TypeError, match=r"net must be a torch\.nn\.Module, got list"):
        et.parameter_groups([net], weight_decay=0)
    # A number of another package is one of Python's in the group, as a checkpoint keeps it.
    group = et.parameter_groups(net, weight_decay=0, fast_lr=torch.tensor(0.25).numpy()[()])[2]
    assert type(group["lr"]) is float


@pytest.mark.parametrize("make", ["converted", "layers"])
@pytest.mark.parametrize("method", ["batch_ensemble", "rank1", "deep_ensemble", "mean_field"])
def test_fast_weights_may_have_a_learning_rate(method, make):
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 2))
    net = et.ensemble(model, method, **size_option(method, M))
    if make == "layers":
        net = et.mlp([7, 5, 2], method, **size_option(method, M))
    two = et.parameter_groups(net, weight_decay=0.5)
    three = et.parameter_groups(net, weight_decay=0.5, fast_lr=0.25)
    assert len(two) == 2
    assert [sorted(group) for group in three[:2]] == 2 * [["params", "weight_decay"]]
    assert three[2] | {"params": None} == {"params": None, "weight_decay": 0.0, "lr": 0.25}
    names = {id(p): name.rpartition(".")[2] for name, p in net.named_parameters()}
    fast = [names[id(p)] for p in three[2]["params"]]
    expected = {
        "batch_ensemble": ["r", "s"],
        "rank1": ["r_mean", "r_rho", "s_mean", "s_rho"],
    }.get(method, [])
    assert fast == 2 * expected
    # All else is where it was, and nothing twice or nowhere.
    for group, other in zip(two, three, strict=False):
        kept = [p for p in group["params"] if names[id(p)] not in expected]
        assert list(map(id, kept)) == list(map(id, other["params"]))
    assert sum(len(group["params"]) for group in three) == len(names)


def test_a_frozen_mean_has_a_frozen_spread():
    model = nn.Sequential(nn.Linear(7, 5), nn.Linear(5, 2))
    model[0].weight.requires_grad_(False)
    net = et.ensemble(model, "mean_field", samples=S)
    trains = {name: p.requires_grad for name, p in net.named_parameters()}
    frozen = {name for name, value in trains.items() if not value}
    assert frozen == {"model.0.layer.weight_mean", "model.0.layer.weight_rho"}
    member = net.member(0, net.noise(seeded()))
    assert [p.requires_grad for p in member.parameters()] == [False, True, True, True]


def test_kl_of_a_converted_model_is_that_of_its_layers():
    model = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 2))
    for method in ("rank1", "mean_field"):
        net = et.ensemble(model, method, **size_option(method, M))
        layers = [net.model[0].layer, net.model[2].layer]
        torch.testing.assert_close(et.kl(net), sum(layer.kl().mean() for layer in layers))
        assert et.kl(net) > 0
    assert et.kl(et.ensemble(model, "batch_ensemble", M)) == 0


@pytest.mark.parametrize("method", FLAT)
def test_a_trained_model_is_where_a_narrow_start_begins(method):
    torch.manual_seed(0)
    model, x = models.lenet5().double(), numbers(B, 1, 28, 28).double()
    narrow = {
        "batch_ensemble": lambda std: {"init": "normal", "init_std": std},
        "rank1": lambda std: {"init_std": std, "posterior_std": std},
        "mean_field": lambda std: {"posterior_std": std},
    }[method]

    def moved(std):
        torch.manual_seed(1)
        with torch.no_grad():
            y = et.ensemble(model, method, **size_option(method, M), **narrow(std))(x)
            return float((y - model(x)).norm() / model(x).norm())

    assert moved(1e-9) < 1e-6
    assert moved(1e-4) < moved(1e-2)


def test_a_member_begins_each_pass_with_its_first_mask():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop = nn.Linear(7, 7), nn.Dropout(0.5)

        def forward(self, x, deep=True):
            x = self.drop(self.fc(input=x))
            return self.drop(input=self.fc(x)) if deep else x

    x = numbers(B, 7).double()
    net = et.ensemble(Twice().double(), "mc_dropout", samples=S)
    noise = net.noise(seeded(), x)
    member, y = net.member(0, noise), net(x, noise=noise)[0]
    member(x, deep=False)
    torch.testing.assert_close(member(x), y)


def test_one_module_of_two_names_is_no_tie():
    torch.manual_seed(0)
    fc = nn.Linear(7, 7)
    net = et.ensemble(nn.Sequential(fc, nn.Tanh(), fc).double(), "batch_ensemble", M)
    x = numbers(B, 7).double()
    torch.testing.assert_close(net(x)[2], net.member(2)(x), rtol=1e-12, atol=1e-12)
    tied = nn.Sequential(nn.Linear(7, 7), nn.Linear(7, 7))
    tied[1].weight = tied[0].weight
    with pytest.raises(ValueError, match=r"tied weights: list 0, 1 as shared"):
        et.ensemble(tied, "batch_ensemble", M)


def test_what_is_shared_is_shared_by_all_its_names():
    model = nn.Sequential(OrderedDict(a=nn.Linear(7, 7), b=nn.Linear(7, 2)))
    model.also_a = model.a
    net = et.ensemble(model, "deep_ensemble", M, shared=["also_a"])
    assert net.members[0].a is net.members[1].a
    assert counting.count(net).shared == 49


@pytest.mark.parametrize("method", ["deep_ensemble", "batch_ensemble"])
def test_a_model_in_eval_mode_is_an_ensemble_in_eval_mode(method):
    net = et.ensemble(nn.Sequential(nn.Linear(7, 2)).eval(), method, M)
    assert not any(part.training for part in net.modules())
    groups = et.parameter_groups(nn.Sequential(nn.LayerNorm([3, 4])), weight_decay=0.1)
    assert groups[0]["params"] == []
