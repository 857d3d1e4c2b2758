"""A minibatch of one example under BatchNorm is named, with the sizes that work."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import ensedu.torch as et

M = 3


def model():
    return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 2))


def train(number, size, split=False, net=None, **more):
    net = net or et.ensemble(model(), "batch_ensemble", M)
    x, y = torch.randn(number, 5), torch.randn(number, 2)
    return et.fit(net, x, y, et.half_squared_error, epochs=1, batch_size=size, split=split, **more)


@pytest.mark.bad_input
@given(number=st.integers(1, 13), size=st.integers(1, 13), split=st.booleans())
def test_an_error_names_what_works(number, size, split):
    """By hand: which examples are dealt out together; without a split, all to each member."""
    members = M if split else 1
    size = max(1, min(number, size) // members) * members
    if size > number:
        return
    deals = [len(range(i, min(i + size, number))) // members for i in range(0, number, size)]
    if 1 not in deals:
        train(number, size, split)
        return
    with pytest.raises(
        ValueError, match=r"batch_size must leave BatchNorm, at '.*1', no mini"
    ) as e:
        train(number, size, split)
    words = str(e.value)
    assert f"got {size} of {number} examples; accepted " in words
    assert ("for each of 3 members" in words) == split
    left_out = "drop_last=True" in words
    assert left_out == (size > members)
    if left_out:
        train(number, size, split, drop_last=True)
    *_, accepted = words.partition("accepted ")
    for other in map(int, re.findall(r"\d+", accepted)):
        assert abs(other - size) % members == 0
        train(number, other, split)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("number", "size", "split", "accepted"),
    [
        (25, 6, False, "is 5, or 7, or drop_last=True"),
        (25, 1, False, "is 5"),
        (1, 1, False, "are more examples"),
        (22, 6, True, "is 12, or drop_last=True"),
    ],
)
def test_the_words(number, size, split, accepted):
    for net in (None, *([] if split else [model()])):
        with pytest.raises(ValueError, match=r"no minibatch of 1 example") as raised:
            train(number, size, split, net)
        assert str(raised.value).endswith(f"got {size} of {number} examples; accepted {accepted}")
        assert "more than 1 value per channel" in str(raised.value.__cause__)


@pytest.mark.bad_input
def test_a_stream_is_told_of_its_own_setting():
    batches = [(torch.randn(n, 5), torch.randn(n, 2)) for n in (3, 1)]
    with pytest.raises(ValueError, match=r"x must give BatchNorm, at '1', no .* drop_last=True"):
        et.fit(model(), batches, nll=et.half_squared_error, epochs=1, num_examples=4)


class Narrowing(nn.Module):
    """Looks at one example alone, whatever the minibatch."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(x[:1])


@pytest.mark.bad_input
def test_an_error_of_another_cause_stays_what_it_is():
    with pytest.raises(ValueError, match=r"^Expected more than 1 value per channel"):
        train(24, 6, net=Narrowing())
    with pytest.raises(ValueError, match="a loss of one's own"):
        et.fit(model(), torch.ones(25, 5), torch.ones(25, 2), refuse, epochs=1, batch_size=6)


def refuse(outputs, targets):
    raise ValueError("a loss of one's own")
