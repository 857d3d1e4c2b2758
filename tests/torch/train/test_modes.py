"""What a training or a validation leaves as it was."""

import pytest
import torch
from torch import nn

import ensedu.torch as et
from tests.torch.train.trained_networks import B, converted, data, network, numbers, same


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
