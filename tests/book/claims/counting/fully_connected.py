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


@CLAIMS.says("answer", "It holds 2,701 numbers, and 2,550")
@CLAIMS.says("cost", "numbers, then 50 \\cdot 50 + 50 =")
@CLAIMS.says("summary", "1-50-50-1 holds 2,701, and 94%")
def _() -> None:
    network = counting.mlp([1, 50, 50, 1])
    assert [layer.total for layer in network.layers] == [100, 2550, 51]
    assert (network.total, f"{2550 / 2701:.0%}") == (2701, "94%")


@CLAIMS.says("equal", "one with every number at 0.02")
def _() -> None:
    """The cell below trains from there."""
    cells = cells_of(read("book/counting/fully-connected"))
    assert sum("\nVALUE, grid = 0.02, " in cell for cell in cells) == 1


@CLAIMS.says("third", "a layer divides it by \\sqrt3 \\approx 1.73")
@CLAIMS.says("sixth", "multiplies the mean square by 6, and")
def _() -> None:
    """At width 1,000, 20 layers of each kind."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200, 1000))
    plain, relu = [], []
    for _ in range(20):
        y = x @ rng.uniform(-1, 1, (1000, 1000)) / 1000**0.5
        plain.append((y**2).mean())
        relu.append((np.maximum(y, 0) ** 2).mean())
    assert [f"{np.mean(own) ** -0.5:.2f}" for own in (plain, relu)] == ["1.73", "2.45"]
    assert [f"{times**0.5:.2f}" for times in (3, 6)] == ["1.73", "2.45"]


@CLAIMS.says("ex-digits", "64 \\cdot 10 + 10 = 650: together")
def _() -> None:
    network = counting.mlp([64, 64, 64, 10])
    assert [layer.total for layer in network.layers] == [4160, 4160, 650]
    assert network.total == 8970


@CLAIMS.says("ex-permute", "Nothing changes, either way")
@CLAIMS.says("ex-orders", "The 50 units of one layer have")
def _() -> None:
    net = en.mlp([1, 50, 50, 1], rng=np.random.default_rng(0))
    x, params = np.linspace(-4.6, 4.6, 185)[:, None], net.params
    kept, order = net(x), np.r_[1, 0, 2:50]
    for name in ("0.weight", "0.bias"):
        params[name][...] = params[name][..., order]
    params["2.weight"][...] = params["2.weight"][order]
    assert np.allclose(net(x), kept, rtol=0, atol=1e-12)
    for name in ("0.weight", "0.bias"):
        params[name][..., 0] *= 2
    params["2.weight"][0] /= 2
    assert np.allclose(net(x), kept, rtol=0, atol=1e-12)
    assert f"{factorial(50):.0e}" == "3e+64"
