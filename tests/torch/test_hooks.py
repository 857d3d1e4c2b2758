"""Hooks and forward passes that a model has put on its modules, in an ensemble of it."""

import types

import pytest
import torch
from torch import nn

import ensedu.torch as et
from ensedu.methods import METHODS, size_option

M, B, m, n = 3, 7, 5, 11


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


def converted(method, at="norm"):
    torch.manual_seed(0)
    needs = {"last_layer": {"head": "head"}, "deep_ensemble": {"initialize": lambda: Keeps(at)}}
    net = et.ensemble(Keeps(at), method, **size_option(method, M), **needs.get(method, {}))
    x = torch.randn(B, m)
    noise = {"noise": net.noise(None, x)} if getattr(net, "draws", False) else {}
    return net.eval(), x, noise


@pytest.mark.parametrize("at", ["fc", "norm"])
@pytest.mark.parametrize("method", [key for key in METHODS if key != "single"])
def test_hooks_of_the_model_and_its_own_forward_passes_are_each_members(method, at):
    net, x, noise = converted(method, at)
    for given in (x, 2 * x):
        y = net(given, **noise)
        for i in range(M):
            torch.testing.assert_close(y[i], net.member(i, *noise.values())(given))
    assert not getattr(net, "in_turn", False)


@pytest.mark.parametrize("at", ["fc", "drop", "head", "norm"])
def test_later_hooks_see_what_one_member_sees_until_they_go(at):
    net, x, _ = converted("batch_ensemble")
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
    net, x, _ = converted("batch_ensemble")
    shapes = []
    net.model.get_submodule(at).register_full_backward_hook(
        lambda module, gradients, output: shapes.append(output[0].shape)
    )
    with pytest.warns(UserWarning, match=r"in turn, .* hooks of a backward pass"):
        y = net(x.requires_grad_())
    y.sum().backward()
    assert shapes == [(B, 2 if at == "head" else n)] * M
