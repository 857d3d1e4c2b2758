"""What validates: scores of an epoch, in which mode networks run meanwhile, and afterwards."""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import ensedu.torch as et
from ensedu.torch.train.modes import predicting
from tests.torch.train.tools import B, M, N, converted, data, m, n, network, numbers, same, train

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


@pytest.mark.parametrize("split", [False, True])
def test_validation_runs_in_eval_mode_on_one_batch_for_all_and_changes_nothing(split):
    x, y = data(converted)
    plain, net = converted("batch_ensemble"), converted("batch_ensemble")
    for module in (*plain.modules(), *net.modules()):
        if isinstance(module, nn.Dropout):
            module.p = 0.0  # draws, and validation does not: else the two runs would differ
    held = numbers(13, 1, 4, 4, seed=2), torch.arange(13) % 2
    settings = {"epochs": 3, "lr": 0.05, "split": split}
    train(plain, x, y, **settings)
    history = train(net, x, y, validation=held, **settings)
    assert same(plain.state_dict(), net.state_dict())
    expected = et.softmax_cross_entropy(net.eval()(held[0]), held[1]).detach()
    assert history[-1]["validation"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("failing", [False, True])
def test_what_is_not_trained_is_as_it_was(monkeypatch, failing):
    x, y = data(converted)
    net = converted("rank1").eval()
    net.model[1].train()
    net.own_batches = True
    before, state, seeded, during = modes(net), torch.get_rng_state(), [], []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)

    def nll(outputs, targets):
        during.append((torch.is_grad_enabled(), net.own_batches, net.model[4].training))
        if failing and len(during) > 5:
            raise KeyboardInterrupt
        return et.softmax_cross_entropy(outputs, targets)

    with pytest.raises(KeyboardInterrupt) if failing else nullcontext():
        train(net, x, y, nll, epochs=2, validation=(x, y))
    assert set(during) == {(True, False, True), (False, False, False)}
    assert torch.equal(torch.get_rng_state(), state) and not seeded
    assert modes(net) == before and net.own_batches and torch.is_grad_enabled()


def plain():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(m, n), nn.BatchNorm1d(n), nn.Dropout(0.5), nn.Linear(n, 2))
    return net.double()


def modes(net):
    return [part.training for part in net.modules()]


@pytest.mark.parametrize("partly", [False, True])
def test_the_last_of_predictions_at_once_gives_the_modes_back(partly):
    """The one that began first ends first."""
    net = plain()
    net[2].train(not partly)
    own, first, second = modes(net), predicting(net), predicting(net)
    with ThreadPoolExecutor(1) as pool:
        first.__enter__()
        pool.submit(second.__enter__).result()
        first.__exit__(None, None, None)
        assert not any(modes(net))
        pool.submit(second.__exit__, None, None, None).result()
    assert modes(net) == own


def test_no_thread_trains_what_another_predicts_nor_the_other_way_round():
    net, (x, y), refused = plain(), data(), []

    def during(call, *args):
        with ThreadPoolExecutor(1) as pool:
            refused.append(str(pool.submit(call, *args).exception()))
        return x

    train(net, x, y, batch_size=11, callback=lambda row: during(et.predict, net, x))
    assert "training mode by another thread" in refused[0]
    outputs = et.predict(net, (during(train, net, x, y) for _ in range(1)))
    assert "eval mode by another thread" in refused[1]
    assert torch.equal(outputs, et.predict(net, x)) and all(modes(net))


@pytest.mark.parametrize("own", [False, True])
def test_predictions_at_once_leave_a_batch_for_each_member(own):
    net, x, others = et.ensemble(plain(), "batch_ensemble", M).eval(), numbers(B, m), []
    expected, net.own_batches = et.predict(net, x), own

    def stream():
        with ThreadPoolExecutor(1) as pool:
            others.append(pool.submit(et.predict, net, x).result())
        yield x

    assert torch.equal(et.predict(net, stream()), expected) and torch.equal(others[0], expected)
    assert net.own_batches is own
