"""Modes and other flags of modules that several threads run at once."""

import copy
from contextlib import contextmanager
from threading import Event, current_thread

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import ensedu.torch as et
from tests.torch.threads import PATIENCE, Meet, at_once
from tests.torch.train.trained_networks import B, M, data, m, n, numbers

NAMED = "accepted is a copy for each thread"


class Functional(nn.Module):
    """Reads its own mode, behind the last module that it calls."""

    def __init__(self):
        super().__init__()
        self.meet, self.fc = Meet(), nn.Linear(m, n)

    def forward(self, x):
        return F.dropout(self.meet(self.fc(x)), 0.5, self.training)


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
    assert not any(part._forward_pre_hooks for part in net.modules())


@pytest.mark.parametrize("build", [plain, lambda: Functional().double()])
def test_a_prediction_leaves_a_training_pass_of_another_thread_alone(monkeypatch, build):
    net, x = build(), numbers(B, m)
    torch.manual_seed(1)
    expected = copy.deepcopy(net)(x)

    def train():
        torch.manual_seed(1)
        return net(x)

    with pausing(monkeypatch, train, lambda: et.predict(net, x)) as (trained, predicted):
        assert torch.equal(trained, expected)
        assert "a pass of another thread" in predicted and NAMED in predicted
    assert all(modes(net))
    assert et.predict(net, x).shape[:2] == (1, B)  # that thread is through


def test_a_training_pass_is_refused_while_another_thread_predicts(monkeypatch):
    net, x = plain(), numbers(B, m)
    expected, before = et.predict(net, x), copy.deepcopy(net.state_dict())
    with pausing(monkeypatch, lambda: et.predict(net, x), lambda: net(x)) as (predicted, trained):
        assert torch.equal(predicted, expected)
        assert "Sequential" in trained and NAMED in trained
    for key, value in net.state_dict().items():
        assert torch.equal(value, before[key])
    assert all(modes(net)) and net(x).requires_grad


def test_a_net_in_eval_mode_runs_in_all_threads(monkeypatch):
    net, x = plain().eval(), numbers(B, m)
    expected = et.predict(net, x)
    with pausing(monkeypatch, lambda: et.predict(net, x), lambda: net(x)) as (a, b):
        assert torch.equal(a, expected) and torch.equal(b, expected[0])
    with pausing(monkeypatch, lambda: net(x), lambda: et.predict(net, x)) as (a, b):
        assert torch.equal(a, expected[0]) and torch.equal(b, expected)


def test_no_thread_trains_what_another_predicts_nor_the_other_way_round(monkeypatch):
    net, (x, y) = plain(), data()

    def fit():
        return et.fit(net, x, y, et.softmax_cross_entropy, epochs=1, batch_size=11)

    def predict():
        return et.predict(net, x)

    with pausing(monkeypatch, fit, predict) as (rows, refused):
        assert rows[-1]["step"] == 2
        assert "training mode by another thread" in refused and NAMED in refused
    with pausing(monkeypatch, predict, fit) as (outputs, refused):
        assert outputs.shape == (1, len(x), 2)
        assert "eval mode by another thread" in refused and NAMED in refused
    assert fit()[-1]["step"] == 2


def test_predictions_at_once_leave_a_batch_for_each_member(monkeypatch):
    net, x = et.ensemble(plain(), "batch_ensemble", M).eval(), numbers(B, m)
    expected, net.own_batches = et.predict(net, x), True
    with pausing(monkeypatch, lambda: et.predict(net, x), lambda: et.predict(net, x)) as (a, b):
        assert torch.equal(a, expected) and torch.equal(b, expected)
    assert net.own_batches
    own = x.expand(M, *x.shape)
    with pausing(monkeypatch, lambda: et.predict(net, x), lambda: net(own)) as (a, b):
        assert torch.equal(a, expected) and NAMED in b
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
    assert all(modes(net)) and not any(part._forward_pre_hooks for part in net.modules())


@pytest.mark.compiled
def test_a_compiled_net_is_predicted_by_the_graphs_it_has(monkeypatch):
    monkeypatch.setattr("threading.active_count", lambda: 2)
    net, x = plain()[1:], numbers(B, m)
    whole = torch.compile(net, backend="eager", fullgraph=True)
    expected, _ = et.predict(whole, x), whole(x)
    with torch.compiler.set_stance("fail_on_recompile"):
        whole(x)
        assert et.predict(whole, x).shape == expected.shape
    assert all(modes(net)) and not any(part._forward_pre_hooks for part in net.modules())
