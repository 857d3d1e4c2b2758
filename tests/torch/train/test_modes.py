"""What a training, a validation or a prediction leaves as it was, alone and in several threads."""

from contextlib import contextmanager
from threading import Event, current_thread

import pytest
import torch
from torch import nn

import ensedu.torch as et
from tests.torch.threads import PATIENCE, Meet, at_once
from tests.torch.train.trained_networks import B, M, converted, data, m, n, network, numbers, same


def test_validation_runs_in_eval_mode_and_changes_nothing():
    x, y = data(images=True)
    plain, net = converted("batch_ensemble"), converted("batch_ensemble")
    for part in (plain, net):
        for module in part.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # draws, and validation does not: else the two runs would differ
    held = numbers(13, 1, 4, 4, seed=2), torch.arange(13) % 2
    settings = {"epochs": 3, "batch_size": B, "lr": 0.05}
    et.fit(plain, x, y, et.softmax_cross_entropy, **settings)
    history = et.fit(net, x, y, et.softmax_cross_entropy, validation=held, **settings)
    assert same(plain.state_dict(), net.state_dict())
    expected = et.softmax_cross_entropy(et.predict(net, held[0]), held[1])
    assert history[-1]["validation"] == pytest.approx(float(expected), rel=1e-12)
    # Without a patience the net is that of the last epoch.
    assert len(history) == 3


def test_split_training_is_validated_on_one_batch_for_all():
    x, y = data(images=True)
    net = converted("batch_ensemble")
    rows = et.fit(
        net, x, y, et.softmax_cross_entropy, epochs=2, batch_size=B, split=True, validation=(x, y)
    )
    expected = et.softmax_cross_entropy(net.eval()(x), y).detach()
    assert rows[-1]["validation"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("failing", [False, True])
def test_what_is_not_trained_is_as_it_was(monkeypatch, failing):
    x, y = data(images=True)
    net = converted("rank1").eval()
    net.model[1].train()
    net.own_batches = True
    modes = [part.training for part in net.modules()]
    state, seeded = torch.get_rng_state(), []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    during = []

    def nll(outputs, targets):
        during.append((torch.is_grad_enabled(), net.own_batches, net.model[4].training))
        if failing and len(during) > 5:
            raise KeyboardInterrupt
        return et.softmax_cross_entropy(outputs, targets)

    def run():
        et.fit(net, x, y, nll, epochs=2, batch_size=B, validation=(x, y))

    if failing:
        with pytest.raises(KeyboardInterrupt):
            run()
    else:
        run()
    assert set(during) == {(True, False, True), (False, False, False)}
    assert torch.equal(torch.get_rng_state(), state)
    assert not seeded
    assert [part.training for part in net.modules()] == modes
    assert net.own_batches
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("method", ["rank1", "mc_dropout", "batch_ensemble"])
def test_validation_does_not_change_the_training(method):
    x, y = data()
    nets = network(method), network(method)
    for net, held in zip(nets, (None, (x[:9], y[:9])), strict=True):
        et.fit(net, x, y, et.softmax_cross_entropy, epochs=3, batch_size=B, validation=held)
    assert same(nets[0].state_dict(), nets[1].state_dict())


def plain():
    torch.manual_seed(0)
    net = nn.Sequential(Meet(), nn.Linear(m, n), nn.BatchNorm1d(n), nn.Dropout(0.5))
    return net.append(nn.Linear(n, 2)).double()


@contextmanager
def pausing(monkeypatch, first, then):
    """Run `first` until a `Meet`, then all of `then`, then the rest of `first`."""
    inside, done = Event(), Event()

    def pause():
        if current_thread().name == "first" and not inside.is_set():
            inside.set()
            assert done.wait(PATIENCE)

    def run_first():
        current_thread().name = "first"
        return outcome(first)

    def run_then():
        assert inside.wait(PATIENCE)
        try:
            return outcome(then)
        finally:
            done.set()

    def outcome(run):
        try:
            return run()
        except RuntimeError as error:
            return str(error)

    with monkeypatch.context() as patch:
        patch.setattr(Meet, "during", staticmethod(pause))
        yield at_once(run_first, run_then)


def modes(net):
    return [part.training for part in net.modules()]


@pytest.mark.parametrize("partly", [False, True])
def test_the_last_of_predictions_at_once_gives_the_modes_back(monkeypatch, partly):
    """The one that began first ends first."""
    net, x = plain(), numbers(B, m)
    if partly:
        net[3].eval()
    expected, own = et.predict(net, x), modes(net)
    entered, left, ys = Event(), Event(), {}

    def during():
        if current_thread().name == "second":
            entered.set()
            assert left.wait(PATIENCE)
        else:
            assert entered.wait(PATIENCE)

    def first():
        ys[1] = et.predict(net, x)
        ys["between"] = any(modes(net))
        left.set()

    def second():
        current_thread().name = "second"
        ys[2] = et.predict(net, x)

    monkeypatch.setattr(Meet, "during", staticmethod(during))
    at_once(first, second)
    assert torch.equal(ys[1], expected) and torch.equal(ys[2], expected)
    assert not ys["between"] and modes(net) == own


def test_no_thread_trains_what_another_predicts_nor_the_other_way_round(monkeypatch):
    net, (x, y) = plain(), data()

    def fit():
        return et.fit(net, x, y, et.softmax_cross_entropy, epochs=1, batch_size=11)

    def predict():
        return et.predict(net, x)

    with pausing(monkeypatch, fit, predict) as (rows, refused):
        assert rows[-1]["step"] == 2
        assert "training mode by another thread" in refused
    with pausing(monkeypatch, predict, fit) as (outputs, refused):
        assert outputs.shape == (1, len(x), 2)
        assert "eval mode by another thread" in refused
    assert fit()[-1]["step"] == 2


def test_predictions_at_once_leave_a_batch_for_each_member(monkeypatch):
    net, x = et.ensemble(plain(), "batch_ensemble", M).eval(), numbers(B, m)
    expected, net.own_batches = et.predict(net, x), True
    with pausing(monkeypatch, lambda: et.predict(net, x), lambda: et.predict(net, x)) as (a, b):
        assert torch.equal(a, expected) and torch.equal(b, expected)
    assert net.own_batches
    net.own_batches = False
    with pausing(
        monkeypatch,
        lambda: et.predict(net, x, batch_size=2),
        lambda: et.predict(net, x),
    ) as (a, b):
        assert torch.equal(b, expected)
        torch.testing.assert_close(a, expected)


def test_a_hold_that_ends_in_an_error_ends():
    net = nn.Sequential(nn.Linear(m, n), nn.BatchNorm1d(n)).double()
    with pytest.raises(RuntimeError, match="dtype"):
        et.predict(net, numbers(B, m).float())
    assert all(modes(net))
