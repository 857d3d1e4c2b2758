"""Scores of validation: the mean of members, and what is made of all predictions."""

import math

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import ensedu.torch as et
from tests.torch.train.nets import M, N, converted, data, network, numbers
from tests.torch.train.tools import same, train

S = 5


def probabilities(net, x, samples):
    """The mean over draws and members, each draw a pass by itself."""
    net.eval()
    with torch.no_grad():
        draws = [net(x).softmax(-1).reshape(-1, len(x), 2) for _ in range(samples)]
    return torch.cat(draws).mean(0)


CASES = [
    (network, "single", 1), (network, "batch_ensemble", 1), (network, "rank1", S),
    (converted, "last_layer", 1), (converted, "deep_ensemble", 1),
]  # fmt: skip


@pytest.mark.parametrize(("make", "method", "samples"), CASES)
def test_the_mixture_is_the_nll_of_mean_probabilities(make, method, samples):
    """By the generator as the training has left it, in the order of passes by hand."""
    x, y = data(make)
    net, states = make(method, **({"posterior_std": 0.9} if samples > 1 else {})), []
    held = et.Validation(x, y, score="mixture", samples=samples)
    look = {"callback": lambda row: states.append(torch.get_rng_state())}
    rows = train(net, x, y, lr=0.1, validation=held, **look)
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(states[0])
        expected = -probabilities(net, x, samples)[torch.arange(N), y].log().mean()
    assert rows[0]["validation"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("stream", [False, True])
def test_a_function_gets_all_predictions_and_targets(stream):
    (x, y), found = data(), []

    def score(predictions, targets):
        assert predictions.shape == (S * M, N, 2) and not predictions.requires_grad
        assert len(predictions[:, 0, 0].unique()) == S * M and torch.equal(targets, y)
        hits = predictions.softmax(-1).mean(0).argmax(-1) == targets
        found.append(-float(hits.double().mean()))
        return found[-1]

    held = (DataLoader(TensorDataset(x, y), 5), None) if stream else (x, y)
    held = et.Validation(*held, score=score, samples=S)
    rows = train(network("rank1"), x, y, epochs=2, validation=held)
    assert [row["validation"] for row in rows] == found


@pytest.mark.parametrize("method", ["rank1", "mc_dropout"])
def test_a_score_does_not_change_the_training(method):
    """Nor does a stream that it shuffles."""
    x, y = data()
    shuffled = DataLoader(TensorDataset(x, y), 5, shuffle=True)
    plain = None
    for held in (
        None,
        (x, y),
        et.Validation(shuffled),
        et.Validation(x, y, score="mixture", samples=S),
        et.Validation(shuffled, score="mixture", samples=S),
    ):
        net = network(method)
        train(net, x, y, epochs=3, validation=held)
        plain = plain or net.state_dict()
        assert same(net.state_dict(), plain)


def test_targets_without_an_axis_meet_their_predictions():
    x, y = numbers(N, 5), numbers(N, seed=1)
    torch.manual_seed(5)
    net = et.mlp([5, 7, 1], "batch_ensemble", M, dtype=torch.float64)
    held = et.Validation(x, y, score="mixture")
    rows = train(net, x, y, et.half_squared_error, validation=held)
    losses = 0.5 * (net(x)[..., 0] - y).square().detach()
    expected = (math.log(M) - torch.logsumexp(-losses, 0)).mean()
    assert rows[0]["validation"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_score_that_is_not_finite_is_named(value):
    x, y = data()
    held = et.Validation(x, y, score=lambda predictions, y: value)
    with pytest.raises(FloatingPointError, match=f"validation is {value} at step 4"):
        train(network("single"), x, y, validation=held)
