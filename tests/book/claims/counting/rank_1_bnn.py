"""What *What is inside a rank-1 BNN?* claims, by counts and by draws of layers."""

from itertools import product

import numpy as np
import torch

from ensedu import counting
from ensedu import numpy as en
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
says = CLAIMS.says


def rank1(m: int, n: int, members: int = 1, seed: int = 0, **options) -> en.Rank1Linear:
    """Return a layer from this seed."""
    return en.Rank1Linear(m, n, members, rng=np.random.default_rng(seed), **options)


def draws(layer, x: tuple[int, ...]) -> list[int]:
    """Return how many random numbers a pass takes, for each array of them."""
    return [noise.size for noise in layer.noise(np.random.default_rng(0), x).values()]


def added(m: int, n: int, method: str = "rank1") -> int:
    """Return what one more member of a layer costs."""
    return counting.one_more_member(m, n, method).total


def of_resnet() -> tuple[int, int]:
    """Return how many a ResNet-50 takes: four members and 128 examples, and a mean-field one."""
    with torch.device("meta"):
        parts = models.resnet50().modules()
    layers = [one for one in parts if isinstance(one, torch.nn.Linear | torch.nn.Conv2d)]
    own = sum(sum(layer.weight.shape[:2]) for layer in layers)
    return 4 * 128 * own, sum(p.numel() for layer in layers for p in layer.parameters())


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


def kept(std: float) -> float:
    """Return how outputs under draws correlate with those at means of 1, in 40 layers."""
    rng, found = np.random.default_rng(6), []
    for _ in range(40):
        layer = en.Rank1Linear(50, 50, 1, rng=rng, init_std=1e-9, posterior_std=std)
        x = rng.standard_normal((200, 50))
        found.append([x @ layer.weight_matrices()[0], x @ layer.params["weight"]])
    return np.corrcoef(*np.swapaxes(found, 0, 1).reshape(2, -1))[0, 1]


FIELD = en.MeanFieldLinear(50, 50, rng=np.random.default_rng(0))
COUNT = counting.rank1(784, 100, ensemble_size=5)
says("2,500, if all entries shall be independent", lambda: draws(FIELD, (128, 50))[0])
says("But 100 make every entry random", lambda: sum(draws(rank1(50, 50), (1, 128, 50))))
says("26.7 million random numbers, more than the 25.5", lambda: np.array(of_resnet()) / 1e6)
says("it would take 102 million", lambda: 4 * of_resnet()[1] / 1e6)
says("In a mean-field layer every covariance is 0", lambda: np.abs(np.triu(
    covariance(en.MeanFieldLinear(2, 2, rng=np.random.default_rng(2)), "weight"), 1
)).max())  # fmt: skip
says("and move together; in mean-field none do", moments)
says("costs 2m + 3n numbers, 250 for", lambda: (
    added(3, 1) - added(2, 1), added(1, 3) - added(1, 2), added(50, 50)
))  # fmt: skip
says("where a BatchEnsemble pays 150", lambda: added(50, 50, "batch_ensemble"))
says("a square one from width 6 on",
     lambda: counting.break_even_width([None, None], "rank1", 4))  # fmt: skip
says("0.99 for σ = 0.1, but by 0.5", lambda: (kept(0.1), 0.1, kept(1.0)))
says("With means of 1, an output under",
     lambda: all(abs(kept(std) - 1 / (1 + std**2)) < 0.02 for std in (0.1, 1.0)))  # fmt: skip
says("That makes 87{,}740 in all", lambda: COUNT.total)
says("A batch draws 4{,}420 numbers, one for", lambda: sum(draws(rank1(784, 100, 5), (5, 1, 784))))
