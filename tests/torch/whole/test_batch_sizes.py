"""A batch for each member, or one for all."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS
from tests.torch.train.predicted_networks import DOUBLE, B, M, S, converted, m, numbers, rng


@pytest.mark.parametrize(
    ("method", "samples"), [*((key, None) for key in METHODS if METHODS[key].members), ("rank1", S)]
)
def test_own_batches_give_each_member_its_own(method, samples):
    net = converted(method, **({"samples": samples} if samples else {})).eval()
    net.own_batches = True
    x = numbers(M, B, 1, 3, 3)
    given = (net.noise(rng(), x),) if method == "rank1" else ()
    y = net(x, **{"noise": given[0]} if given else {})
    assert y.shape == (*((S,) if samples else ()), M, B, 2)
    for i in range(M):
        for place in [(s, i) for s in range(S)] if samples else [(i,)]:
            torch.testing.assert_close(y[place], net.member(place, *given)(x[i]), **DOUBLE)
    # The same batch for all of them is a batch for all.
    shared = x[:1].expand_as(x).contiguous()
    tiled = net(shared, **{"noise": given[0]} if given else {})
    net.own_batches = False
    torch.testing.assert_close(net(x[0], **{"noise": given[0]} if given else {}), tiled, **DOUBLE)


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble"])
def test_own_batches_of_a_model_that_works_in_place_leave_the_input(method):
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(m, 2)

        def forward(self, x, *, scale):
            return {"y": self.fc(x.mul_(2)) * scale}

    net = et.ensemble(InPlace().double(), method, M)
    net.own_batches = True
    x, scale = numbers(M, B, m), numbers(M, B, 1, seed=1)
    before = x.clone()
    y = net(x, scale=scale)["y"]
    assert torch.equal(x, before)
    for i in range(M):
        expected = net.member(i)(x[i].clone(), scale=scale[i])["y"]
        torch.testing.assert_close(y[i], expected, **DOUBLE)


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "rank1"])
def test_own_batches_of_other_shapes_are_named(method):
    net = converted(method)
    net.own_batches = True
    for shape in ((B, 1, 3, 3), (M + 1, B, 1, 3, 3), (M,), ()):
        with pytest.raises(ValueError, match=rf"with own_batches is \({M}, B, \.\.\.\)"):
            net(numbers(*shape))
    with pytest.raises(ValueError, match=r"shapes \{\}, accepted with own_batches"):
        net()
    # Inputs of other batches beside it, and predictions take one for all.
    with pytest.raises(ValueError, match="own_batches"):
        net(numbers(M, B, 1, 3, 3), numbers(M, B + 1, 1, 3, 3))
    assert et.predict(net, numbers(B, 1, 3, 3)).shape == (M, B, 2)
    assert net.own_batches


def test_inputs_of_two_batches_are_named_and_one_of_1_is_a_constant():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(m, 2)

        def forward(self, x, y):
            return self.fc(x) + y.sum()

    net = et.ensemble(Shifted().double(), "batch_ensemble", M)
    assert net(numbers(B, m), numbers(1, m)).shape == (M, B, 2)
    with pytest.raises(ValueError, match=rf"\({B}, {m}\).*\({B + 1}, {m}\).* one first axis"):
        net(numbers(B, m), numbers(B + 1, m))


@pytest.mark.parametrize("method", ["batch_ensemble", "deep_ensemble", "rank1"])
def test_members_are_compared_with_own_batches_too(method):
    class MixedUp(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(m, 2)

        def forward(self, x):
            return self.fc(x) - self.fc(x).mean(0)  # an example looks at the others

    x = numbers(M, B, m)
    net = et.ensemble(MixedUp().double(), method, M)
    net.own_batches = True
    if method == "deep_ensemble":  # has no batch in common
        assert net(x).shape == (M, B, 2)
    else:
        with pytest.raises(ValueError, match="no example may look at another"):
            net(x)
    good = et.ensemble(nn.Sequential(nn.Linear(m, 2)).double(), method, M, example=x[0])
    good.own_batches = True
    et.check_members(good, x[0])  # one batch for all, as ever
    assert good(x).shape == (M, B, 2)
    assert good.own_batches
