"""What *What is inside a fully connected layer?* claims, by counts, and by layers."""

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from tests.book.claiming import Claims

CLAIMS = Claims("counting/fully-connected", unclaimed={
    "the box's question": ["network above, 1-50-50-1, to 100"],
    "what ReLU is": ["which replaces each negative number by 0"],
    "an assumption": ["1-50-50-1 start at the same value"],
})  # fmt: skip
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


def reordered() -> bool:
    """Say whether a network computes the same when two units change places."""
    net, x = en.mlp([1, 50, 50, 1], rng=np.random.default_rng(0)), np.linspace(-4.6, 4.6, 185)
    before, order = net(x[:, None]), np.r_[1, 0, 2:50]
    for name, own in net.params.items():
        if name in ("0.weight", "0.bias", "2.weight"):
            own[...] = own[order] if name == "2.weight" else own[..., order]
    return np.allclose(net(x[:, None]), before, rtol=0, atol=1e-12)


# fmt: off
says("Nearly four times as many, 10,401 after 2,701",
     lambda: (counting.mlp([1, 100, 100, 1]).total, CURVE.total))
says("count goes from 2,701 to 10,401, because the",
     lambda: (CURVE.total, counting.mlp([1, 100, 100, 1]).total))
says("How many of these 2,701 parameters belong to", lambda: CURVE.total)
says("has 2,701, of which 2,550 lie", lambda: (CURVE.total, MIDDLE.total))
says("both sides have 50, so there are 50",
     lambda: (MIDDLE.shared, MIDDLE.biases) == (50 * 50, 50))
says("there are 1 \\cdot 50 weights and",
     lambda: (FIRST.shared, FIRST.biases, LAST.shared, LAST.biases) == (50, 50, 50, 1))
says("1 + 2 \\cdot 3 = 7: it", lambda: (np.array([1.0, 2]) @ W + b)[0] == 1 * 1 + 2 * 3 == 7)
says("If you change the weight 3, only this",
     lambda: (raised(np.array([1.0, 2])) != 0).tolist() == [True, False, False])
says("twice as much as the weight, because the", lambda: raised(np.array([1.0, 2]))[0])
says("2,550 of all 2,701 parameters, or 94%",
     lambda: (MIDDLE.total, CURVE.total, MIDDLE.total / CURVE.total))
says(["Then the 50 units of a layer compute", "50 of them compute no more than a"], equal_units)
says("After ReLU it is a sixth",
     lambda: abs(6 * kept(lambda y: np.maximum(y, 0)) - 1) < 0.02)
says("weights, is a third of q", lambda: abs(3 * kept(np.asarray) - 1) < 0.02)
says("6^{-8} is left, less than a millionth", lambda: 6.0**-8 < 1e-6)
says("= 4{,}160 in each of the first",
     lambda: [layer.total for layer in DIGITS.layers[:2]] == [4160, 4160])
says("= 650 in the last one, and 8{,}970", lambda: (DIGITS.layers[2].total, DIGITS.total))
says("Nothing happens, because the next layer",
     reordered)
