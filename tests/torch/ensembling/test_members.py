"""Every model of the table times every method: the law holds, or an error says why; and hooks."""

import itertools
import types
import warnings

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import size_option
from tests.torch.ensembling.law import DROPOUT, check_pass, converted, places
from tests.torch.ensembling.models import FAST, METHODS, MODELS, B, M, S, m, n


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_each_member_is_what_it_is_alone(name, method, training):
    entry = MODELS[name]
    if method == "last_layer" and entry.head is None:
        pytest.skip("has no layer to be the head")
    if entry.draws and training:
        pytest.skip("draws: test_ensemble.py")
    if method == "mc_dropout" and not any(isinstance(x, DROPOUT) for x in entry.model().modules()):
        with pytest.raises(ValueError, match="no dropout to keep active"):
            converted(entry, method)
        return
    net = converted(entry, method, **({"samples": S} if method == "rank1" else {})).train(training)
    alones = [entry.model().train(training) for _ in places(net)]
    if method != "mc_dropout":  # what members drop differs: test_ensemble.py
        for part in itertools.chain(net.modules(), *(alone.modules() for alone in alones)):
            if isinstance(part, DROPOUT):
                part.eval()
    if entry.refused:
        with pytest.raises((TypeError, ValueError), match=entry.refused):
            net(*entry.batch())
        return
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check_pass(entry, net, alones, method, 0)
        with torch.no_grad():
            check_pass(entry, net, alones, method, 1)
    turns = method in entry.turns or (training and method in entry.turns_in_training)
    seen = [str(one.message) for one in seen if "performance drop" not in str(one.message)]
    assert ["in turn" in words for words in seen] == [True] * turns, seen
    assert getattr(net, "in_turn", False) is turns


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("name", [name for name, x in MODELS.items() if x.shared or x.modulated])
def test_what_a_model_needs_is_named(name, method):
    entry = MODELS[name]
    with pytest.raises(ValueError, match=r"list .* as shared") as raised:
        converted(entry, method, shared=(), modulated=())
    for need in (*entry.shared, *entry.modulated):
        assert isinstance(need, type) or need in str(raised.value)


class Keeps(nn.Module):
    """Answers from what a hook has kept, twice as large, of one of its modules."""

    def __init__(self, at):
        super().__init__()
        self.fc, self.norm, self.drop = nn.Linear(m, n), nn.LayerNorm(n), nn.Dropout()
        self.head = nn.Linear(n, 2)
        self.norm.forward = types.MethodType(halved, self.norm)
        getattr(self, at).register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.kept = 2 * output

    def forward(self, x):
        self.norm(torch.tanh(self.fc(x)))
        return self.head(self.drop(self.kept))


def halved(self, x):
    return nn.LayerNorm.forward(self, x) / 2


def hooked(method, at="norm"):
    torch.manual_seed(0)
    needs = {"last_layer": {"head": "head"}, "deep_ensemble": {"initialize": lambda: Keeps(at)}}
    net = et.ensemble(Keeps(at), method, **size_option(method, M), **needs.get(method, {}))
    x = torch.randn(B, m)
    noise = {"noise": net.noise(None, x)} if getattr(net, "draws", False) else {}
    return net.eval(), x, noise


@pytest.mark.parametrize("at", ["fc", "norm"])
@pytest.mark.parametrize("method", METHODS)
def test_hooks_of_the_model_and_its_own_forward_passes_are_each_members(method, at):
    net, x, noise = hooked(method, at)
    for given in (x, 2 * x):
        y = net(given, **noise)
        for i in range(M):
            torch.testing.assert_close(y[i], net.member(i, *noise.values())(given))
    assert not getattr(net, "in_turn", False)


@pytest.mark.parametrize("at", ["fc", "drop", "head", "norm"])
def test_later_hooks_see_what_one_member_sees_until_they_go(at):
    net, x, _ = hooked("batch_ensemble")
    expected, shapes = net(x), []

    def double(module, inputs, options, output):
        shapes.append(inputs[0].shape)
        return 2 * output

    hook = net.model.get_submodule(at).register_forward_hook(double, with_kwargs=True)
    assert torch.equal(net(x), expected) == (at == "norm")  # what was kept is from before
    assert shapes == [(B, m if at == "fc" else n)]
    hook.remove()
    assert torch.equal(net(x), expected) and len(shapes) == 1


@pytest.mark.parametrize("at", ["fc", "drop", "head"])
def test_hooks_of_a_backward_pass_run_for_each_member_in_turn(at):
    net, x, _ = hooked("batch_ensemble")
    shapes = []
    net.model.get_submodule(at).register_full_backward_hook(
        lambda module, gradients, output: shapes.append(output[0].shape)
    )
    with pytest.warns(UserWarning, match=r"in turn, .* hooks of a backward pass"):
        y = net(x.requires_grad_())
    y.sum().backward()
    assert shapes == [(B, 2 if at == "head" else n)] * M
