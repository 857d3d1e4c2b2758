"""What *What is inside a rank-1 BNN?* claims, by counts, by its tables, and by draws of layers."""

import numpy as np
import pytest
import torch

from ensedu import counting
from ensedu import numpy as en
from ensedu.book import measured
from ensedu.book.experiments import kl_weight
from ensedu.book.experiments import running_example as example
from ensedu.numpy.variational import inverse_softplus
from ensedu.priors import Normal
from ensedu.torch import models
from ensedu.uncertainty import paired
from tests.book.claiming import Change, Claims

PUBLISHED = "what the published code does"
CLAIMS = Claims(
    "counting/rank-1-bnn",
    unclaimed={
        "every entry shall be random": "the box's question",
        "so member 1 is at its mean": "the cell below has this noise",
        "0.1 and 0.5 for it on other data": "how a hyperparameter was chosen",
        "So the draw has the slope 1": "the slopes of a sum and of a product",
        "the NLL is in nats for a new": "how to read a score",
        "32 draws, and the known noise": "the protocol",
        "passes, 8 of each member": "the protocol",
        "pulls means to 1": "what the prior's mean is",
        "over 200 of 250 epochs": PUBLISHED,
        "over 90 of 135 epochs": PUBLISHED,
        "whether that lowers the NLL is unclear": "what another chapter claims",
        "Take means of 1": "an assumption",
        "with independent entries of mean": "an assumption",
        "which are independent and have mean 1": "the same assumption",
    },
)
TENTH, HALF = (kl_weight.PERCENT.index(percent) for percent in (10, 50))


def draws(layer: en.Rank1Linear, x: np.ndarray) -> int:
    """Return how many random numbers a pass takes."""
    return sum(noise.size for noise in layer.noise(np.random.default_rng(0), x).values())


def rank1(m: int, n: int, members: int, seed: int = 0, **options) -> en.Rank1Linear:
    """Return a layer from this seed."""
    return en.Rank1Linear(m, n, members, rng=np.random.default_rng(seed), **options)


def deviations(beta: float) -> list[float]:
    """Return percentiles of the standard deviations with this weight of the KL."""
    return measured.row(measured.load("kl-weight")["summary"], beta=beta)["deviations"]


def wider(beta: float, percent: int, times: float) -> Change:
    """Return a change of one of them."""
    place = kl_weight.PERCENT.index(percent)
    return Change("kl-weight", "summary", {"beta": beta}, "deviations", place, times=times)


def cost(beta: float, place: str) -> np.ndarray:
    """Return the NLL with this weight of the KL minus that with all of it, by data set."""
    rows = measured.load("kl-weight")["rows"]
    some, whole = (
        np.array([row[place]["nll"] for row in rows if row["beta"] == weight])
        for weight in (beta, 1.0)
    )
    return some - whole


def dearer(beta: float, place: str, times: float) -> Change:
    """Return a change of these NLLs."""
    return Change("kl-weight", "rows", {"beta": beta}, place, "nll", times=times)


def difference(place: str, score: str) -> tuple[float, float, float]:
    """Return the difference from one network, and its 95 % interval."""
    row = example.summary_row("rank1", place, score)
    return row["difference"], row["low"], row["high"]


def scored(place: str, score: str, part: str, times: float) -> Change:
    """Return a change of it."""
    where = {"contestant": "rank1", "place": place, "score": score}
    return Change("running-example", "summary", where, part, times=times)


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


@CLAIMS.says("prior", r"start at 0.005, and \sigma_p is 0.1")
def _() -> None:
    options = kl_weight.CONTESTANT.options(kl_weight.CONTESTANT.setting)
    assert options["prior"] == Normal(1.0, 0.1)
    assert options["posterior_std"] == 0.005


@CLAIMS.says(
    "start", "Without the KL it stays near its start", wider(0.0, 10, 0.5), wider(0.0, 90, 1.5)
)
@CLAIMS.says(
    "with", "half of all \\sigma end between 0.098 and",
    wider(1.0, 50, 0.9), wider(1.0, 100, 1.1),
)  # fmt: skip
@CLAIMS.says("tenth", "a tenth end below 0.067", wider(1.0, 10, 1.1))
def _() -> None:
    low, high = deviations(0.0)[TENTH], deviations(0.0)[-1 - TENTH]
    assert 0.0035 < low < 0.005 < high < 0.006
    assert round(deviations(1.0)[HALF], 3) == 0.098
    assert round(deviations(1.0)[-1], 4) <= 0.108
    assert round(deviations(1.0)[TENTH], 3) == 0.067
    assert len({row["data_seed"] for row in measured.load("kl-weight")["rows"]}) == 8


@CLAIMS.says(
    "row-none", "| 0 | 0.005 |",
    wider(0.0, 50, 1.2), dearer(0.0, "regions", 1.1), dearer(0.0, "gap", 1.1),
)  # fmt: skip
@CLAIMS.says(
    "row-whole", "| 1 | 0.098 |",
    wider(1.0, 50, 0.9), dearer(1.0, "regions", 0.9), dearer(1.0, "gap", 1.1),
)  # fmt: skip
@CLAIMS.says(
    "row-ten", "| 10 | 0.100 |",
    wider(10.0, 50, 0.9), dearer(10.0, "regions", 0.9), dearer(10.0, "gap", 1.1),
)  # fmt: skip
@CLAIMS.says("table", "this table, averages over eight")
def _() -> None:
    rows = measured.load("kl-weight")["rows"]
    for beta, half, regions, gap in (
        (0.0, "0.005", -0.55, 3.17), (1.0, "0.098", -0.45, 0.81), (10.0, "0.100", -0.26, 0.54),
    ):  # fmt: skip
        own = [row for row in rows if row["beta"] == beta]
        assert len({row["data_seed"] for row in own}) == len(own) == 8
        assert f"{deviations(beta)[HALF]:.3f}" == half
        for place, wanted in (("regions", regions), ("gap", gap)):
            assert round(np.mean([row[place]["nll"] for row in own]), 2) == wanted
    assert (cost(0.0, "regions") < 0).sum() == 6 and (cost(0.0, "gap") > 0).sum() == 7
    assert (cost(10.0, "regions") > 0).all() and (cost(10.0, "gap") < 0).sum() == 5


@CLAIMS.says(
    "costly", "In the gap it is worse to leave",
    dearer(0.0, "gap", 0.5), dearer(10.0, "regions", 2.0),
)  # fmt: skip
@CLAIMS.says(
    "unclear", "other two differences from weight 1 are unclear",
    Change("kl-weight", "rows", {"beta": 1.0}, "gap", "nll", to=9.0), dearer(0.0, "regions", 2.0),
)  # fmt: skip
def _() -> None:
    assert paired(cost(0.0, "gap")).low > 0 and paired(cost(10.0, "regions")).low > 0
    for there in (cost(0.0, "regions"), cost(10.0, "gap")):
        assert paired(there).low < 0 < paired(there).high


@CLAIMS.says("open", "the KL keeps σ from 0")
def _() -> None:
    """At σ = 0 it is infinite."""
    layer, nats = rank1(1, 1, 1, prior=Normal(1.0, 0.1)), []
    for std in (1e-2, 1e-4, 1e-6):
        layer.params["r_rho"][...] = inverse_softplus(std)
        nats.append(layer.kl()[0])
    assert np.allclose(np.diff(nats), np.log(100), rtol=0, atol=0.01)


@CLAIMS.says(
    "gain", "In the gap it gains 9.69 nats", scored("gap", "nll", "difference", 1.01),
    scored("gap", "nll", "high", -1), Change("running-example", "rows", {"contestant": "rank1"},
                                             "gap", "rmse", times=1.1),
)  # fmt: skip
@CLAIMS.says(
    "gain-again", "example it gains 9.69 nats in the gap",
    scored("gap", "nll", "difference", 0.99),
)  # fmt: skip
@CLAIMS.says(
    "loss", "than one network's by 0.09, its error by",
    scored("regions", "nll", "difference", 1.1), scored("regions", "nll", "low", -1),
    scored("regions", "rmse", "difference", 1.5),
)  # fmt: skip
def _() -> None:
    for place, score, value in (
        ("regions", "nll", 0.09), ("regions", "rmse", 0.02), ("gap", "nll", -9.69),
    ):  # fmt: skip
        mean, low, high = difference(place, score)
        assert round(mean, 2) == value
        assert low > 0 if value > 0 else high < 0
    curve, doubt = example.gap_nll_parts("rank1")
    assert (round(curve.mean, 2), round(doubt.mean, 2)) == (-4.60, -5.08)


@CLAIMS.says("covers", "hold 68% of new points", scored("gap", "coverage", "mean", 1.1))
def _() -> None:
    assert round(example.summary_row("rank1", "gap", "coverage")["mean"], 2) == 0.68


@CLAIMS.says("signs", "lies 20 standard deviations away")
@CLAIMS.says("signs-again", "a −1 under N(1, 0.1²)")
def _() -> None:
    """Also: with c r and s / c a layer computes the same, and has another KL."""
    layer, nats = rank1(1, 1, 1, prior=Normal(1.0, 0.1)), []
    layer.params["s_mean"][...] = 1.0
    for mean in (1.0, -1.0):
        layer.params["r_mean"][...] = mean
        nats.append(layer.kl()[0])
    assert nats[1] - nats[0] == pytest.approx(200)
    assert (1 - -1) / 0.1 == pytest.approx(20)
    x = np.random.default_rng(4).standard_normal((7, 5))
    noise = scaled(1.0).noise(np.random.default_rng(5))
    for c in (0.5, 2.0):
        same = scaled(c).forward(x, noise)
        assert np.allclose(same, scaled(1.0).forward(x, noise), rtol=0, atol=1e-12)
        assert scaled(c).kl().mean() > 2 * scaled(1.0).kl().mean()


def scaled(c: float) -> en.Rank1Linear:
    """Return a layer with c r in the place of r, and s / c in that of s."""
    layer = rank1(5, 11, 3, seed=3, posterior_std=0.1)
    for name, factor in (("r", c), ("s", 1 / c)):
        layer.params[f"{name}_mean"] *= factor
        layer.params[f"{name}_rho"][...] = inverse_softplus(0.1 * factor)
    return layer


@CLAIMS.says("drowned", "0.99 for σ = 0.1, but 0.5")
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
