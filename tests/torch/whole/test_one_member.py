"""A member taken out is the member inside."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option
from ensedu.torch import models
from ensedu.torch.whole.flat_parts import FlatLayer
from tests.torch.threads import Meet, at_once, meeting
from tests.torch.whole.cases import OPTIONS, B, M, S, floats, seeded


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
    model, x = build().double(), floats(*shape).double()
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
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):  # that start equal
            nn.init.normal_(parameter)
    x, noise = floats(B, 7).double(), net.noise(seeded())
    y = net(x, noise=noise)
    for s in range(S):
        for i in range(M):
            own = net.member((s, i), noise)(x)
            torch.testing.assert_close(own, y[s, i], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("training", [False, True])
def test_a_sample_of_dropout_is_taken_out_with_its_masks(training):
    torch.manual_seed(0)
    net = et.ensemble(Reuses().double(), "mc_dropout", samples=M).train(training)
    x = floats(B, 2, 6, 5).double()
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


def test_a_member_begins_each_pass_with_its_first_mask():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop = nn.Linear(7, 7), nn.Dropout(0.5)

        def forward(self, x, deep=True):
            x = self.drop(self.fc(input=x))
            return self.drop(input=self.fc(x)) if deep else x

    x = floats(B, 7).double()
    net = et.ensemble(Twice().double(), "mc_dropout", samples=S)
    noise = net.noise(seeded(), x)
    member, y = net.member(0, noise), net(x, noise=noise)[0]
    member(x, deep=False)
    torch.testing.assert_close(member(x), y)


def test_a_member_gives_each_thread_its_masks_in_turn(monkeypatch):
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc, self.drop, self.meet = nn.Linear(7, 7), nn.Dropout(0.5), Meet()

        def forward(self, x):
            return self.drop(self.fc(self.meet(self.drop(x))))

    x = floats(B, 7).double()
    net = et.ensemble(Twice().double(), "mc_dropout", samples=S)
    member = net.member(0, net.noise(seeded(), x))
    expected = member(x)
    meeting(monkeypatch, 2)
    for y in at_once(lambda: member(x), lambda: member(x)):
        assert torch.equal(y, expected)
