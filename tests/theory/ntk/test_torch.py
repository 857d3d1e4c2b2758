"""The Torch twin of embedded ensembles: NumPy's numbers, by autograd's slopes."""

import copy

import numpy as np
import pytest
import torch

import ensedu.theory.ntk.torch as twin
from ensedu.theory import ntk

M, B, C, m = 3, 11, 7, 2
SETTINGS = {"u": ntk.Modulation("normal", std=0.5), "v": ntk.Modulation("signs"), "bias_std": 0.3}


def both(activation="relu", sizes=(m, 17, 13, 1), seed=0):
    net = ntk.embedded(sizes, M, rng=np.random.default_rng(seed), activation=activation, **SETTINGS)
    return net, twin.EmbeddedEnsemble(net)


def inputs(seed, number=B):
    x = np.random.default_rng(seed).standard_normal((number, m))
    return x, torch.from_numpy(x)


@pytest.mark.parametrize("activation", ["relu", "erf", "tanh"])
@pytest.mark.parametrize("sizes", [(m, 19, 1), (m, 7, 13, 5, 1)])
def test_outputs_and_kernels_are_those_of_numpy(activation, sizes):
    net, other = both(activation, sizes)
    (x, tx), (y, ty) = inputs(1), inputs(2, C)
    np.testing.assert_allclose(other(tx).detach().numpy(), net(x), rtol=0, atol=1e-13)
    for own, theirs in (
        (ntk.tangent(net, x), twin.tangent(other, tx)),
        (ntk.tangent(net, x, y, block_size=4), twin.tangent(other, tx, ty, block_size=3)),
    ):
        np.testing.assert_allclose(theirs.shared.numpy(), own.shared, rtol=0, atol=1e-12)
        np.testing.assert_allclose(theirs.own.numpy(), own.own, rtol=0, atol=1e-12)
        np.testing.assert_allclose(theirs.total(1.7).numpy(), own.total(1.7), rtol=0, atol=1e-12)


@pytest.mark.parametrize("block_size", [1, 4, B, 1000])
def test_blocks_do_not_change_a_kernel(block_size, capsys):
    net, other = both()
    (x, tx), (y, _) = inputs(3), inputs(4, C)
    for given in (None, y):
        whole, parts = ntk.tangent(net, x, given), ntk.tangent(net, x, given, block_size=block_size)
        np.testing.assert_allclose(parts.shared, whole.shared, rtol=0, atol=1e-13)
        np.testing.assert_allclose(parts.own, whole.own, rtol=0, atol=1e-13)
    assert capsys.readouterr().err == ""
    ntk.tangent(net, x, block_size=block_size, bar=True)
    assert f"{-(-B // block_size)}/{-(-B // block_size)}" in capsys.readouterr().err
    found = twin.tangent(other, tx, block_size=block_size).shared
    np.testing.assert_allclose(found, whole_of(net, x), rtol=0, atol=1e-12)


def whole_of(net, x):
    return ntk.tangent(net, x).shared


def test_a_step_of_sgd_on_the_sum_is_numpys_step():
    net, other = both()
    x, tx = inputs(5)
    y = np.sin(x[:, 0])
    rates = {"gamma": 1.3, "modulation_lr": 0.02}
    optimizer = torch.optim.SGD(other.groups(0.1, **rates), lr=0.0)
    for _ in range(3):
        loss = 0.5 * (other(tx) - torch.from_numpy(y)).square().mean(dim=1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        net.step(x, y, 0.1, **rates)
    for name in ("weights", "biases", "u", "v"):
        for own, theirs in zip(getattr(net, name), getattr(other, name), strict=True):
            np.testing.assert_allclose(theirs.detach().numpy(), own, rtol=0, atol=1e-12)
    assert [group["lr"] for group in other.groups(0.1)] == [pytest.approx(0.1 / M), 0.1]


def test_it_copies_moves_and_loads_as_modules_do():
    net, other = both()
    x, tx = inputs(6)
    again = copy.deepcopy(other)
    with torch.no_grad():
        again.weights[0].zero_()
    assert not torch.equal(again(tx), other(tx))
    again.load_state_dict(other.state_dict())
    assert torch.equal(again(tx), other(tx))
    np.testing.assert_array_equal(other.weights[0].detach().numpy(), net.weights[0])
    narrow = twin.EmbeddedEnsemble(net, dtype=torch.float32)
    found = twin.tangent(narrow, tx.float()).total(2.0)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, ntk.tangent(net, x).total(2.0), rtol=0, atol=1e-4)
    with torch.no_grad():  # autograd is switched on where it is needed
        assert twin.tangent(other, tx).shared.shape == (M, M, B, B)


@pytest.mark.bad_input
def test_bad_input_is_named():
    net, other = both()
    x, tx = inputs(7)
    for call, words in (
        (lambda: twin.EmbeddedEnsemble(3), "net must be"),
        (lambda: twin.EmbeddedEnsemble(net, dtype=torch.int64), "dtype must be"),
        (lambda: other(tx.float()), "float32"),
        (lambda: other(tx[:, :1]), r"x has shape \(11, 1\), accepted is \(B, 2\)"),
        (lambda: other(x), "x must be"),
        (lambda: other.groups(0.0), "lr must be"),
        (lambda: other.groups(0.1, gamma=0), "gamma must be"),
        (lambda: other.groups(0.1, modulation_lr=-1), "modulation_lr must be"),
        (lambda: twin.tangent(net, tx), "net must be"),
        (lambda: twin.tangent(other, tx, block_size=0), "block_size must be"),
        (lambda: ntk.tangent(net, x, block_size=2.0), "block_size must be"),
        (lambda: ntk.tangent(net, x, bar="yes"), "bar must be"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            call()
