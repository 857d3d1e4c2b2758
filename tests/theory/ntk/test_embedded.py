"""Embedded ensembles and their kernels: by members, Jacobians, steps, differential equation."""

import numpy as np
import pytest
import torch
from scipy import linalg, special
from torch.func import functional_call, jacrev

import ensedu.theory.ntk.torch as twin
from ensedu.theory import ntk

M, B, C, m = 3, 11, 7, 2
FUNCTIONS = {"relu": lambda z: np.maximum(z, 0), "erf": special.erf, "tanh": np.tanh}
KINDS = {"u": ntk.Modulation("normal", std=0.5), "v": ntk.Modulation("normal"), "bias_std": 0.3}


def both(activation="relu", sizes=(m, 17, 13, 1)):
    net = ntk.embedded(sizes, M, rng=np.random.default_rng(0), activation=activation, **KINDS)
    return net, twin.EmbeddedEnsemble(net)


def inputs(seed, number=B):
    x = np.random.default_rng(seed).standard_normal((number, m))
    return x, torch.from_numpy(x)


def alone(net, i, x):
    """The output of one member."""
    for weight, bias, u, v in zip(net.weights, net.biases, net.u, net.v, strict=False):
        z = x @ weight / x.shape[1] ** 0.5 + net.bias_std * bias
        x = u[i] * FUNCTIONS[net.activation](v[i] * z)
    return (x @ net.weights[-1])[:, 0] / x.shape[1] ** 0.5


def jacobians(module, x, *names):
    """Slopes of outputs, (M, B, P), in all parameters of these names."""
    found = jacrev(lambda values: functional_call(module, values, (x,)))(
        dict(module.named_parameters())
    )
    rows = [own.flatten(2) for key, own in found.items() if key.split(".")[0] in names]
    return torch.cat(rows, dim=2).detach().numpy()


@pytest.mark.parametrize("activation", FUNCTIONS)
@pytest.mark.parametrize("sizes", [(m, 19, 1), (m, 7, 13, 5, 1)])
def test_outputs_are_members_and_kernels_products_of_jacobians(activation, sizes):
    net, module = both(activation, sizes)
    (x, tx), (y, ty) = inputs(1), inputs(2, C)
    expected = np.stack([alone(net, i, x) for i in range(M)])
    np.testing.assert_allclose(net(x), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(module(tx).detach(), expected, rtol=0, atol=1e-13)
    shared, own = (
        np.einsum("ibp,jcp->ijbc", *(jacobians(module, one, *names) for one in (tx, ty)))
        for names in (("weights", "biases"), ("u", "v"))
    )
    for size in (1, 4, 1000):
        for found in (
            ntk.tangent(net, x, y, block_size=size),
            twin.tangent(module, tx, ty, block_size=size),
        ):
            np.testing.assert_allclose(found.shared, shared, rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.own, own[range(M), range(M)], rtol=0, atol=1e-12)
            for given, gamma in (((), 1), ((1.7,), 1.7)):
                total = gamma / M * shared + own
                np.testing.assert_allclose(found.total(*given), total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        ntk.tangent(net, x).shared, ntk.tangent(net, x, x).shared, atol=1e-13
    )
    with torch.no_grad():  # autograd is switched on where it is needed
        np.testing.assert_allclose(
            twin.tangent(module, tx).shared, ntk.tangent(net, x).shared, rtol=0, atol=1e-12
        )


def test_a_bar_counts_blocks(capsys):
    net, _ = both()
    ntk.tangent(net, inputs(3)[0], block_size=4)
    assert capsys.readouterr().err == ""
    ntk.tangent(net, inputs(3)[0], block_size=4, bar=True)
    assert "3/3" in capsys.readouterr().err


def test_a_step_is_that_of_sgd_on_the_sum():
    net, other = both()
    x, tx = inputs(5)
    y, rates = np.sin(x[:, 0]), {"gamma": 1.3, "modulation_lr": 0.02}
    optimizer = torch.optim.SGD(other.groups(0.1, **rates), lr=0.0)
    for _ in range(3):
        before = other(tx)
        optimizer.zero_grad()
        (0.5 * (before - torch.from_numpy(y)).square().mean(dim=1).sum()).backward()
        optimizer.step()
        given = net.step(x, y, 0.1, **rates)
        np.testing.assert_allclose(given, before.detach(), rtol=0, atol=1e-12)
    for name in ("weights", "biases", "u", "v"):
        for own, theirs in zip(getattr(net, name), getattr(other, name), strict=True):
            np.testing.assert_allclose(theirs.detach().numpy(), own, rtol=0, atol=1e-12)
    assert [group["lr"] for group in other.groups(0.1)] == [pytest.approx(0.1 / M), 0.1]


def test_the_twin_has_the_dtype_that_was_asked_for_and_arrays_of_its_own():
    (net, _), (x, tx) = both(), inputs(6)
    narrow = twin.EmbeddedEnsemble(net, dtype=torch.float32)
    found = twin.tangent(narrow, tx.float()).total(2.0)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, ntk.tangent(net, x).total(2.0), rtol=0, atol=1e-4)
    same = twin.EmbeddedEnsemble(net)
    with torch.no_grad():
        same.weights[0].zero_()
    assert net.weights[0].all()


def some_kernel(seed):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((M * B, M * B))
    return (root @ root.T).reshape(M, B, M, B).transpose(0, 2, 1, 3).copy()


def test_flow_solves_its_equation():
    kernel, rng = some_kernel(0), np.random.default_rng(1)
    start, y, times = rng.standard_normal((M, B)), rng.standard_normal(B), [0.0, 0.3, 2.0]
    found = ntk.flow(kernel, start, y, times)
    matrix = kernel.transpose(0, 2, 1, 3).reshape(M * B, M * B)
    for outputs, time in zip(found, times, strict=True):
        expected = y + (linalg.expm(-matrix * time / B) @ (start - y).ravel()).reshape(M, B)
        np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("ratio", [-0.4, 0.0, 0.3, 1.0])
def test_modes_are_eigenvalues(ratio):
    gamma = 1.7
    matrix = gamma / M * (ratio * np.ones((M, M)) + (1 - ratio) * np.eye(M))
    together, difference = ntk.modes(M, ratio, gamma)
    expected = sorted([together] + [difference] * (M - 1))
    np.testing.assert_allclose(np.linalg.eigvalsh(matrix), expected, atol=1e-14)


NET, TWIN = both()
X, TX = inputs(7)
KERNEL, START, DROPPED = some_kernel(0), np.zeros((M, B)), ntk.Modulation("bernoulli", p=0.5)


def embedded(sizes=(2, 3, 1), **options):
    options = {"rng": np.random.default_rng(0)} | options
    return lambda: ntk.embedded(sizes, 2, **options)


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: twin.EmbeddedEnsemble(3), "net must be"),
        (lambda: twin.EmbeddedEnsemble(NET, dtype=torch.int64), "dtype must be"),
        (lambda: TWIN(TX.float()), "float32"),
        (lambda: TWIN(TX[:, :1]), r"x has shape \(11, 1\), accepted is \(B, 2\)"),
        (lambda: TWIN(X), "x must be"),
        (lambda: TWIN.groups(0.0), "lr must be"),
        (lambda: TWIN.groups(0.1, gamma=0), "gamma must be"),
        (lambda: TWIN.groups(0.1, modulation_lr=-1), "modulation_lr must be"),
        (lambda: twin.tangent(NET, TX), "net must be"),
        (lambda: twin.tangent(TWIN, TX, block_size=0), "block_size must be"),
        (lambda: ntk.tangent(3, np.zeros((2, 2))), "net must be"),
        (lambda: ntk.flow(KERNEL, START, START[0, :-1], [0.0]), "targets"),
        (
            lambda: ntk.flow(KERNEL + np.arange(B), START, START[0], [0.0]),
            "kernel must be symmetric",
        ),
        (lambda: ntk.flow(KERNEL, START, START[0], [-1.0]), r"times\[0\]"),
        (lambda: ntk.flow(KERNEL, START, START[0], 3.0), "times must be"),
        (lambda: ntk.modes(3, -0.6), "ratio must be"),
        (lambda: ntk.modes(0, 0.1), "ensemble_size"),
        (lambda: ntk.limit(X, hidden_layers=1, bias_std=1e200), "bias_std must have a finite squ"),
        (lambda: ntk.limit(X, hidden_layers=1, v=DROPPED), "v must not be"),
        (embedded((2, 3, 2)), "sizes must"),
        (embedded(u="signs"), "u must be"),
        (embedded(v=[]), "v must be"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
