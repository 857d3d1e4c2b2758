"""What *What is inside a rank-1 BNN?* claims, by counts and by samples of layers."""

import re
from importlib.resources import files
from itertools import product

import numpy as np

from ensedu import counting
from ensedu import numpy as en
from ensedu.numpy.variational import inverse_softplus
from tests.book.claiming import Claims
from tests.book.conftest import ran

CLAIMS = Claims("counting/rank-1-bnn", unclaimed={
    "the box's question": ["2,500 weights, in 50 rows and 50", "may draw only 100 random numbers"],
    "an example": ["larger layer, with means of 1 and", "1 and standard deviations 0.5 again"],
})  # fmt: skip
says = CLAIMS.says
W = np.array([[1.0, -1, 2], [3, 1, 1]])


def passes() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return r and s of each pass of the cell, as it prints them."""
    printed = []
    ran(f"book/{CLAIMS.chapter}", "noise_r", print=lambda *said: printed.append(said[1:4:2]))
    return printed


def moved() -> tuple[int, int]:
    """Return how many numbers a pass draws, and how many weights every pass moves."""
    found = [W * np.outer(r, s) != W for r, s in passes()]
    return sum(own.size for own in passes()[0]), np.min([one.sum() for one in found])


def rank1(m: int, n: int, members: int = 1, seed: int = 0, **options) -> en.Rank1Linear:
    return en.Rank1Linear(m, n, members, rng=np.random.default_rng(seed), **options)


def drawn(layer, x: tuple[int, ...]) -> int:
    return sum(noise.size for noise in layer.noise(np.random.default_rng(0), x).values())


def added(m: int, n: int, method: str = "rank1") -> int:
    return counting.one_more_member(m, n, method).total


def covariance(layer, *names: str) -> np.ndarray:
    """Return the covariance of the four entries of a matrix, over all noise of plus or minus 1."""
    shapes = {name: own.shape for name, own in layer.noise(np.random.default_rng(0)).items()}
    signs = iter(np.array([*product([-1.0, 1.0], repeat=4)]).T)
    noise = {
        name: np.array([next(signs) for _ in range(np.prod(shape))]).T.reshape(-1, *shape)
        if name in names else np.zeros((16, *shape)) for name, shape in shapes.items()
    }  # fmt: skip
    return np.cov(layer.weight_matrices(noise).reshape(16, 4).T, ddof=0)


def moments() -> bool:
    """Say whether the proposition's covariances are those of a layer."""
    layer = rank1(2, 2, init_std=0.5, posterior_std=0.4)
    w = layer.params["weight"].ravel()
    means = [np.outer(own, own) for own in (layer.params["r_mean"], layer.params["s_mean"])]
    products = np.kron(*(own + 0.4**2 * np.eye(2) for own in means)) - np.kron(*means)
    return np.allclose(covariance(layer, "r", "s"), np.outer(w, w) * products)


def together(zero: str = "") -> bool:
    """Say whether two weights of a row move together, if all first numbers of an array are 0."""
    layer = rank1(2, 2, posterior_std=0.5)
    for name in ("weight", "r_mean", "s_mean"):
        layer.params[name][...] = 1
    if zero:
        layer.params[zero][..., 0] = 0
    return not np.isclose(covariance(layer, "r", "s")[0, 1], 0)


def even(*names: str) -> np.ndarray:
    """Return that of weights of 1 under means of 1 and standard deviations of 0.5."""
    layer = rank1(2, 2, posterior_std=0.5)
    for name in ("weight", "r_mean", "s_mean"):
        layer.params[name][...] = 1
    return covariance(layer, *names)


def no_covariance() -> float:
    """Return the largest covariance of two weights of a mean-field layer."""
    field = en.MeanFieldLinear(2, 2, rng=np.random.default_rng(2))
    return np.abs(np.triu(covariance(field, "weight"), 1)).max()


def scaled() -> bool:
    """Say whether r's numbers times 2 and s's over 2 leave each sample as it is."""
    one, two = (rank1(3, 5, posterior_std=0.4) for _ in range(2))
    noise = one.noise(np.random.default_rng(1))
    for name, factor in {"r": 2.0, "s": 0.5}.items():
        two.params[f"{name}_mean"][...] *= factor
        own = two.params[f"{name}_rho"]
        own[...] = np.log(np.expm1(factor * np.log1p(np.exp(own))))  # softplus, there and back
    return np.allclose(one.weight_matrices(noise), two.weight_matrices(noise))


def left(passes: int) -> float:
    """Return the part of a pass's standard deviation that the mean of so many passes has."""
    return np.random.default_rng(0).standard_normal((9999, passes)).mean(axis=1).std()


def started() -> bool:
    """Say whether means start as draws from N(1, 0.1²)."""
    means = rank1(5000, 2).params["r_mean"]
    return np.allclose((means.mean(), means.std()), (1, 0.1), atol=0.005)


def as_drawn() -> bool:
    """Say whether W and the biases get the gradients of a BatchEnsemble with r and s as drawn."""
    rng = np.random.default_rng(3)
    layer, plain = rank1(5, 7, 3), en.BatchEnsembleLinear(5, 7, 3, rng=rng)
    noise, x = layer.noise(rng), rng.standard_normal((3, 11, 5))
    std = layer.posterior_std
    for name in ("r", "s"):
        drawn_now = layer.params[f"{name}_mean"] + std * noise[name].reshape(3, -1)
        plain.params[name][...] = drawn_now
    for name in ("weight", "bias"):
        plain.params[name][...] = layer.params[name]
    layer.forward(x, noise), plain.forward(x)
    grad = rng.standard_normal((3, 11, 7))
    layer.backward(grad), plain.backward(grad)
    return all(np.allclose(layer.grads[name], plain.grads[name]) for name in ("weight", "bias"))


def pulled() -> bool:
    """Say whether a step down the KL brings each member's means nearer to 1."""
    layer = rank1(5, 7, members=3)
    layer.kl_backward()
    return all(
        bool((layer.grads[name] * (layer.params[name] - 1) > 0).all())
        for name in ("r_mean", "s_mean")
    )


def divergence(mean: float, std: float) -> float:
    """Return the KL of one entry of r from its prior, where no other has any."""
    layer = rank1(2, 3)
    at_prior = inverse_softplus(layer.prior.scale)
    for name in ("r", "s"):
        layer.params[f"{name}_mean"][...], layer.params[f"{name}_rho"][...] = 1, at_prior
    layer.params["r_mean"][0, 0], layer.params["r_rho"][0, 0] = mean, inverse_softplus(std)
    return layer.kl().item()


def one_draw() -> list[float]:
    """Return an entry of r that is drawn with noise of 2, and its slopes in mean and deviation."""
    layer, noise = rank1(1, 1), {"r": np.full((1, 1), 2.0), "s": np.zeros((1, 1))}
    layer.params["r_rho"][...] = inverse_softplus(0.03)
    for name, value in {"weight": 1, "s_mean": 1, "r_mean": 1.1, "bias": 0}.items():
        layer.params[name][...] = value
    drawn_now = layer.forward(np.ones((1, 1)), noise)
    layer.backward(np.ones_like(drawn_now))
    by_rho = 1 - np.exp(-0.03)  # the slope of softplus, where it is 0.03
    found = drawn_now, layer.grads["r_mean"], layer.grads["r_rho"] / by_rho
    return [own.item() for own in found]


def spreads_of_the_picture() -> list[float]:
    source = (files("ensedu.xray") / "values.js").read_text(encoding="utf-8")
    return [float(one) for one in re.search(r"spread: \[(.*?)\]", source)[1].split(",")]


FIELD = en.MeanFieldLinear(50, 50, rng=np.random.default_rng(0))
FREE = rank1(50, 50)
PRIOR = FREE.prior
COUNT = counting.rank1(784, 100, ensemble_size=5)
# fmt: off
says("With 2,500 random numbers every weight could vary", lambda: FIELD.params["weight_mean"].size)
says("a member draws 100, and a mean-field", lambda: drawn(rank1(50, 50), (1, 128, 50)))
says("rows (1, -1, 2) and (3, 1, 1)", lambda: W.ravel())
says("the first, r_1 is 2.0, so the first", lambda: passes()[0][0][0])
says("row doubles, to (2, -2, 4)", lambda: passes()[0][0][0] * W[0])
says("In the second it is 0.5", lambda: passes()[1][0][0])
says("row is halved, to (0.5, -0.5, 1)", lambda: passes()[1][0][0] * W[0])
says("each pass five random numbers moved six weights", moved)
says("a BatchEnsemble with the drawn r and s", as_drawn)
says(["no weight of W and no mean is", "if neither weights nor means are 0"],
     lambda: together() and not together("weight") and not together("s_mean"))
says("in our package by default N(1, 0.1^2) for", lambda: (PRIOR.loc, PRIOR.scale) == (1, 0.1))
says("around 1, because a factor of 1 leaves",
     lambda: PRIOR.loc == 1 and np.array_equal(W * np.outer([1, 1], [1, 1, 1]), W))
says("drawn, by default from N(1, 0.1^2), and", started)
says("each \\sigma starts at 0.03", lambda: rank1(50, 50).posterior_std)
says("KL pulls all means toward 1", pulled)
says("\\frac12 = 1.25", lambda: divergence(1.1, 0.03))
says("\\mu = 1 it is 0.5 less, so", lambda: (1, divergence(1.1, 0.03) - divergence(1, 0.03)))
says("it is 2.26 more, and it grows", lambda: divergence(1.1, 0.003) - divergence(1.1, 0.03))
says("0.03 \\cdot 2 = 1.16", lambda: (0.03, 2, one_draw()[0]))
says("Its slope in \\mu is 1, and in", lambda: one_draw()[1])
says("it is \\varepsilon = 2, so the misfit", lambda: np.isclose(one_draw()[2], 2))
says("is 0.2, 0.5 or 1, so large", spreads_of_the_picture)
says("So 16 leave a quarter of this noise", lambda: round(1 / left(16)) == 4)
says("A tenth takes 100 passes", lambda: round(1 / left(100)) == 10)
says("is 1.25, the squared mean of r_a plus", lambda: 1 + even("r")[0, 0])
says("quotient, 0.25 / 0.5625 \\approx 0.44",
     lambda: (even("r", "s")[0, 1], even("r", "s")[0, 0], np.divide(*even("r", "s")[0, 1::-1])))
says(["sets all these covariances to 0", "In mean-field all covariances are 0"], no_covariance)
says("and weights of a column share", moments)
says("r_a s_j, so every output, is what it", scaled)
says("costs 250 parameters, where a BatchEnsemble pays 150",
     lambda: (added(50, 50), added(50, 50, "batch_ensemble")))
says("and a deep ensemble 2,550", lambda: added(50, 50, "deep_ensemble"))
says("4,620 parameters, and a mean-field BNN 5,402",
     lambda: (counting.mlp([1, 50, 50, 1], "rank1", 4).total, counting.mlp([1, 50, 50, 1],
         "mean_field").total))
says("mean-field layer draws 2,550, one for each weight", lambda: drawn(FIELD, (128, 50)))
says("= 78{,}400 shared weights, 5", lambda: (COUNT.shared, 5))
says("500 biases: 87{,}740 in all", lambda: (COUNT.biases, COUNT.total))
says("It draws 4{,}420 random numbers, one", lambda: drawn(rank1(784, 100, 5), (5, 1, 784)))
