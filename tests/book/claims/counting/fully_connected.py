"""What *What is inside a fully connected layer?* claims, by counts, and by layers."""

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from tests.book.claiming import Claims

PROOF = "a step of a proof"
ASSUMED = "an assumption"
CLAIMS = Claims(
    "counting/fully-connected",
    unclaimed={
        "input, two hidden layers of 50 units": "the box's question",
        "which replaces each negative number by 0": "what ReLU is",
        "1-50-50-1 start at the same value": ASSUMED,
        "u has the mean 0 and the": PROOF,
        "two different weights is 0 on average": PROOF,
        "outputs above and below 0 hold half": PROOF,
        "sets those below to 0, and half": PROOF,
    },
)
says = CLAIMS.says
CURVE, DIGITS = counting.mlp([1, 50, 50, 1]), counting.mlp([64, 64, 64, 10])
FIRST, MIDDLE, LAST = CURVE.layers
W, b = np.array([[1.0, -1, 2], [3, 1, 1]]), np.array([0.0, 0, 1])


def raised(x: np.ndarray) -> np.ndarray:
    """Return how the outputs of the small layer change with its weight 3."""
    more = W.copy()
    more[1, 0] += 1
    return x @ more - x @ W


def equal_units() -> bool:
    """Say whether units that start equal are equal after ten steps."""
    net, rng = en.mlp([1, 50, 50, 1], rng=np.random.default_rng(0)), np.random.default_rng(1)
    for array in net.params.values():
        array[...] = 0.02
    x, optimizer = rng.standard_normal((20, 1)), en.Adam(net, lr=0.01)
    for _ in range(10):
        net.backward(en.half_squared_error(net(x), np.sin(x))[1])
        optimizer.step()
    enters, between = net.params["0.weight"], net.params["2.weight"]
    return all(np.allclose(own, own.ravel()[0], rtol=1e-9) for own in (enters, between))


def kept(activation) -> float:
    """Return the mean square behind 20 layers of width 1,000, each on its own, of 1 before it."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 1000))
    weights = (en.Linear(1000, 1000, rng=rng).params["weight"] for _ in range(20))
    return float(np.mean([(activation(x @ own) ** 2).mean() for own in weights]))


def exchanged() -> bool:
    """Say whether a network computes the same when units of a hidden layer change places."""
    net = en.mlp([1, 50, 50, 1], rng=np.random.default_rng(0))
    x, params = np.linspace(-4.6, 4.6, 185)[:, None], net.params
    before, order = net(x), np.r_[1, 0, 2:50]
    for name in ("0.weight", "0.bias"):
        params[name][...] = params[name][..., order]
    params["2.weight"][...] = params["2.weight"][order]
    return np.allclose(net(x), before, rtol=0, atol=1e-12)


def rescaled() -> bool:
    """Say whether a network computes the same when its hidden units are scaled, and scaled back."""
    net = en.mlp([1, 50, 50, 1], rng=np.random.default_rng(0))
    x, params = np.linspace(-4.6, 4.6, 185)[:, None], net.params
    before, c = net(x), np.random.default_rng(1).uniform(0.1, 10, 50)
    for name in ("0.weight", "0.bias"):
        params[name][...] *= c
    params["2.weight"][...] /= c[:, None]
    return np.allclose(net(x), before, rtol=0, atol=1e-12)


says("It has 2,701 parameters, and 2,550 of them",
     lambda: (CURVE.total, MIDDLE.total))  # fmt: skip
says(["which takes 50 \\cdot 50 weights", "Between the hidden layers, both sides have 50",
      "and 50 biases, and this one layer"],
     lambda: (MIDDLE.shared, MIDDLE.biases) == (50 * 50, 50))  # fmt: skip
says(["one output need only 50 weights each", "there are 1 \\cdot 50 weights and"],
     lambda: (FIRST.shared, FIRST.biases, LAST.shared, LAST.biases) == (50, 50, 50, 1))  # fmt: skip
says("1 + 2 \\cdot 3 = 7: it",
     lambda: (np.array([1.0, 2]) @ W + b)[0] == 1 * 1 + 2 * 3 == 7)  # fmt: skip
says("If you change the weight 3, only this",
     lambda: (raised(np.array([1.0, 2])) != 0).tolist() == [True, False, False])  # fmt: skip
says("twice as much as the weight, because the",
     lambda: raised(np.array([1.0, 2]))[0])  # fmt: skip
says("94% of all 2,701 parameters", lambda: (MIDDLE.total / CURVE.total, CURVE.total))
says(["Then the 50 units of a layer compute", "apart, so 50 of them are worth one"],
     equal_units)  # fmt: skip
says("x, and behind ReLU a sixth",
     lambda: abs(6 * kept(lambda y: np.maximum(y, 0)) - 1) < 0.02)  # fmt: skip
says("average over the weights, a third of the", lambda: abs(3 * kept(np.asarray) - 1) < 0.02)
says("6^{-8} is left, less than a millionth", lambda: 6.0**-8 < 1e-6)
says("has 2,701, of which 2,550 lie", lambda: (CURVE.total, MIDDLE.total))
says("= 4{,}160 in each of the first",
     lambda: [layer.total for layer in DIGITS.layers[:2]] == [4160, 4160])  # fmt: skip
says("= 650 in the last one, and 8{,}970",
     lambda: (DIGITS.layers[2].total, DIGITS.total))  # fmt: skip
says("Nothing happens, because the next layer", exchanged)
says("the network computes the same again", rescaled)
