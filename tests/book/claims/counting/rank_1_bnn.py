"""What *What is inside a rank-1 BNN?* claims, by counts and by draws of layers."""

import numpy as np
import pytest
import torch

from ensedu import counting
from ensedu import numpy as en
from ensedu.numpy.variational import inverse_softplus
from ensedu.torch import models
from tests.book.claiming import Claims

CLAIMS = Claims(
    "counting/rank-1-bnn",
    unclaimed={
        "every entry shall be random": "the box's question",
        "so member 1 is at its mean": "the cell below has this noise",
        "with independent entries of mean": "an assumption",
        "which are independent and have mean 1": "an assumption",
    },
)


def draws(layer: en.Rank1Linear, x: np.ndarray) -> int:
    """Return how many random numbers a pass takes."""
    return sum(noise.size for noise in layer.noise(np.random.default_rng(0), x).values())


def rank1(m: int, n: int, members: int, seed: int = 0, **options) -> en.Rank1Linear:
    """Return a layer from this seed."""
    return en.Rank1Linear(m, n, members, rng=np.random.default_rng(seed), **options)


@CLAIMS.says("independent", "2,500, if all entries shall be independent")
@CLAIMS.says("vectors", "But 100 make every entry random")
@CLAIMS.says("examples", "For 128 examples, four members of a ResNet-50")
@CLAIMS.says("four-draws", "it would take 102 million")
def _() -> None:
    field = draws(en.MeanFieldLinear(50, 50, rng=np.random.default_rng(0)), (128, 50))
    assert field == 2500 + 50
    assert draws(rank1(50, 50, 1), (1, 128, 50)) == 100
    assert draws(rank1(50, 50, 4), (4, 128, 50)) == 400
    every = draws(rank1(50, 50, 4, per_example=True), (4, 128, 50))
    assert every == 128 * 400 > 4 * field
    with torch.device("meta"):
        net = models.resnet50()
    kinds = torch.nn.Linear | torch.nn.Conv2d
    layers = [layer for layer in net.modules() if isinstance(layer, kinds)]
    own = 4 * 128 * sum(sum(layer.weight.shape[:2]) for layer in layers)
    field = sum(p.numel() for layer in layers for p in layer.parameters())
    assert [round(each / 1e6, 1) for each in (own, field)] == [26.7, 25.5]
    assert round(4 * field / 1e6) == 102


@CLAIMS.says("covariance", "In a mean-field layer every covariance is 0")
def _() -> None:
    """The proposition, and a mean-field layer, beside 20,000 draws of both."""
    layer = rank1(3, 5, 1, seed=1, init_std=0.5, posterior_std=0.4)
    W, r, s = (layer.params[name] for name in ("weight", "r_mean", "s_mean"))
    r, s, var = r[0], s[0], 0.4**2
    second = np.multiply.outer(r, r) + var * np.eye(3)  # means of products
    third = np.multiply.outer(s, s) + var * np.eye(5)
    means = W * np.outer(r, s)
    products = np.einsum("aj,bk,ab,jk->ajbk", W, W, second, third)
    covariances = products - np.multiply.outer(means, means)
    V = np.concatenate([layer.weight_matrices() for _ in range(20_000)])
    assert far(V, means) < 6
    assert far(pairs(V - means), covariances.reshape(15, 15)) < 6
    field = en.MeanFieldLinear(3, 5, rng=np.random.default_rng(2), posterior_std=0.4)
    means = field.params["weight_mean"]
    V = np.concatenate([field.weight_matrices() for _ in range(20_000)])
    assert far(pairs(V - means), 0.4**2 * np.eye(15)) < 6


def pairs(values: np.ndarray) -> np.ndarray:
    """Return products of each two entries, (S, mn, mn)."""
    flat = values.reshape(len(values), -1)
    return flat[:, :, None] * flat[:, None, :]


def far(values: np.ndarray, theory: np.ndarray) -> float:
    """Return the largest distance of a sample mean to theory, in standard errors."""
    error = values.std(axis=0) / np.sqrt(len(values))
    return (np.abs(values.mean(axis=0) - theory) / error).max()


@CLAIMS.says("member", r"numbers, 250 for 50 → 50")
@CLAIMS.says("break-even", "a square one from width 6 on")
def _() -> None:
    assert counting.one_more_member(50, 50, "rank1").total == 250
    assert counting.one_more_member(50, 50, "batch_ensemble").total == 150
    assert counting.break_even_width([None, None], "rank1", 4) == 6


@CLAIMS.says("same", "Each product r_a s_j stays what it")
def _() -> None:
    """With c r and s / c a layer computes the same."""
    x = np.random.default_rng(4).standard_normal((7, 5))
    noise = scaled(1.0).noise(np.random.default_rng(5))
    for c in (0.5, 2.0):
        same = scaled(c).forward(x, noise)
        assert np.allclose(same, scaled(1.0).forward(x, noise), rtol=0, atol=1e-12)


def scaled(c: float) -> en.Rank1Linear:
    """Return a layer with c r in the place of r, and s / c in that of s."""
    layer = rank1(5, 11, 3, seed=3, posterior_std=0.1)
    for name, factor in (("r", c), ("s", 1 / c)):
        layer.params[f"{name}_mean"] *= factor
        layer.params[f"{name}_rho"][...] = inverse_softplus(0.1 * factor)
    return layer


@CLAIMS.says("drowned", "0.99 for σ = 0.1, but by 0.5")
@CLAIMS.says("drowned-again", "With means of 1, an output under")
def _() -> None:
    """In many layers: both mean squares, the mean product, and so the correlation."""
    source = np.random.default_rng(6)
    for std, wanted in ((0.1, 0.99), (1.0, 0.5)):
        assert round(1 / (1 + std**2), 2) == wanted
        drawn, at_means = [], []
        for _ in range(40):
            layer = en.Rank1Linear(50, 50, 1, rng=source, posterior_std=std, bias=False)
            for name in ("r_mean", "s_mean"):
                layer.params[name][...] = 1.0
            x = source.standard_normal((200, 50))
            drawn.append(layer.forward(x).ravel())
            at_means.append((x @ layer.params["weight"]).ravel())
        y, y_mean = np.ravel(drawn), np.ravel(at_means)
        square = (y_mean**2).mean()
        assert (y * y_mean).mean() == pytest.approx(square, rel=0.08)
        assert (y**2).mean() == pytest.approx((1 + std**2) ** 2 * square, rel=0.08)
        assert np.corrcoef(y, y_mean)[0, 1] == pytest.approx(wanted, abs=0.04)


@CLAIMS.says("ex-stored", "That makes 87{,}740 in all")
@CLAIMS.says("ex-drawn", "A batch draws 4{,}420 numbers, one for")
def _() -> None:
    count = counting.rank1(784, 100, ensemble_size=5)
    assert (count.shared, count.biases) == (78_400, 500)
    assert count.per_member == count.scales == 4420
    assert count.total == 87_740
    assert draws(rank1(784, 100, 5), (5, 1, 784)) == 4420
