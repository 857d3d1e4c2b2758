"""What *What is inside a fully connected layer?* claims, by counts, and by signals of layers."""

from math import factorial

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from scripts.source_lines import cells_of
from tests.book.claiming import Claims
from tests.book.conftest import read

CLAIMS = Claims(
    "counting/fully-connected",
    unclaimed={
        "input, two hidden layers of 50 units": "the box's question",
        "same with 1 in place of": "a step of a proof",
        "independent, with mean 0, so in the": "an assumption",
        "distribution is symmetric around 0": "the same assumption",
        "often negative as positive, and as": "it follows from the sentence before",
        "ReLU sets the negative half to 0": "what ReLU is",
    },
)
says = CLAIMS.says
CURVE, DIGITS = counting.mlp([1, 50, 50, 1]), counting.mlp([64, 64, 64, 10])
CELLS = cells_of(read("book/counting/fully-connected"))


def growth(activation, draws: int = 20) -> float:
    """Return by how much 20 layers of width 1,000 change the mean square, each on its own."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 1000))
    weights = (rng.uniform(-1, 1, (1000, 1000)) / 1000**0.5 for _ in range(draws))
    return float(np.mean([(activation(x @ W) ** 2).mean() for W in weights]))


def function_kept(scale: bool) -> bool:
    """Say whether a network computes the same when units change places, or trade a factor of 2."""
    net = en.mlp([1, 50, 50, 1], rng=np.random.default_rng(0))
    x, params = np.linspace(-4.6, 4.6, 185)[:, None], net.params
    kept, order = net(x), np.r_[1, 0, 2:50]
    for name in ("0.weight", "0.bias"):
        params[name][...] = 2 * params[name] if scale else params[name][..., order]
    params["2.weight"][...] = params["2.weight"] / 2 if scale else params["2.weight"][order]
    return np.allclose(net(x), kept, rtol=0, atol=1e-12)


says("It holds 2,701 numbers, and 2,550", lambda: (CURVE.total, CURVE.layers[1].total))
says("numbers, then 50 \\cdot 50 + 50 =", lambda: CURVE.layers[1].total == 50 * 50 + 50)
says("holds 2,701, and 94%", lambda: (CURVE.total, 2550 / 2701))
says(
    "one with every number at 0.02", lambda: sum("\nVALUE, grid = 0.02, " in c for c in CELLS) == 1
)
says("a layer divides it by \\sqrt3 \\approx 1.73", lambda: growth(np.asarray) ** -0.5)
says("multiplies the mean square by 6, and", lambda: 1 / growth(lambda y: np.maximum(y, 0)))
says("64 \\cdot 10 + 10 = 650: together", lambda: DIGITS.layers[2].total == 64 * 10 + 10 == 650)
says("Nothing changes, either way", lambda: function_kept(False) and function_kept(True))
says("The 50 units of one layer have", lambda: f"{factorial(50):.0e}" == "3e+64")
