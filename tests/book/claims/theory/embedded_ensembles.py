"""What *Embedded ensembles* claims: of wide layers, by its cells, and by its tables."""

import numpy as np
import torch

from ensedu.book import measured
from ensedu.book.experiments.embedded import (
    FITTED,
    SLOPES,
    WIDTHS,
    by_mean,
    dragged,
    inputs_at_angle,
)
from ensedu.data import digits
from ensedu.running.seeding import seeded
from ensedu.theory import ntk
from ensedu.theory.ntk import Modulation
from ensedu.torch import BatchEnsembleLinear, mlp
from tests.book.claiming import Change, Claims
from tests.book.claims.learning.batch_ensemble import ratio, score

CLAIMS = Claims(
    "theory/embedded-ensembles",
    unclaimed={
        "Weights from N(0, 1), and modulations": "a theorem's assumptions",
        "at one input that is not 0": "a theorem",
        "Member 1 is trained, and member 2": "names of members",
        "Does the output of member 2 move": "a question",
        "In between, member 2 is dragged": "names of members",
        "some units push member 2 the": "names of members, and signs",
        "Signs cancel better the more units": "a random walk",
        "let member 1 alone be trained": "a proposition",
        "Only member 1 pulls, so": "a proof",
        "become jointly Gaussian with mean 0": "a theorem",
        "Only the last hidden layer must": "a theorem",
        "times a table with 1 on its": "a proof",
        "that are the same for all members": "a proof",
        "the difference has speed 0": "a proposition",
        "this is 1 only if": "the variance of a constant",
        "gradient is 1 for each member": "a derivative, checked on the page",
        "A step of member 1 reaches": "names of members",
        "numbers near 1 add up": "an initialization",
        "have 64 units in a layer": "an architecture",
        "hidden layer it is 0, and": "a theorem",
    },
)

ONES, SIGNS = Modulation("ones"), Modulation("signs")


def chi(u, **settings) -> float:
    """Return the kernel between two members over that within one, in the limit, at one input."""
    same, cross = ntk.limit(inputs_at_angle(1.0)[:1], hidden_layers=2, u=u, **settings).shared
    return float(cross[0, 0] / same[0, 0])


def chi_of_digits(width: int, networks: int = 6, **kind) -> float:
    """Return products of two members' gradients over those of one, without biases, on digits."""
    images, totals = torch.from_numpy(digits()[0][:networks]).float(), np.zeros((2, 2))
    for seed in range(networks):
        with seeded(seed):
            net = mlp((64, width, width, 10), "batch_ensemble", 2, **{"init": "normal"} | kind)
        layers = [layer for layer in net if isinstance(layer, BatchEnsembleLinear)]
        shared = [layer.weight for layer in layers]
        for layer in layers:
            torch.nn.init.zeros_(layer.bias)
        outputs = net(images[[seed]])[:, 0, seed]
        rows = [torch.autograd.grad(f, shared, retain_graph=True) for f in outputs]
        g = torch.stack([torch.cat([part.ravel() for part in row]) for row in rows])
        totals += (g @ g.T).double().numpy()
    return float(2 * totals[0, 1] / np.trace(totals))


def slope(part: str, key: str, to: float) -> Change:
    """Return a change of one fitted slope, or of an end of its interval."""
    where = {"activation": "relu", "modulation": "last"}
    return Change("kernel-width", "rows", where, part, key, to=to)


def training(width: int, times: float) -> Change:
    """Return a change of how far the kernel of independent members moves."""
    where = {"mean": 0.0, "gamma": 4.0, "width": width}
    return Change("embedded-training", "rows", where, "change", times=times)


def moved(width: int) -> float:
    """Return how far it moves, mean over seeds."""
    rows = measured.load("embedded-training")["rows"]
    place = 0.0, 4.0, width
    return float(np.mean([
        row["change"] for row in rows if (row["mean"], row["gamma"], row["width"]) == place
    ]))  # fmt: skip


@CLAIMS.says("hand", "Here they leave -0.5, beside 4.5")
def _() -> None:
    W, w = np.array([1, 2, -1, 1, 3, 2]), np.array([1, -1, 2, 2, 1, -1])
    u = np.array([[1, 1, -1, 1, -1, -1], [1, -1, -1, -1, -1, 1]])
    # Slopes of u · w relu(W x) by all twelve weights, member by member.
    slopes = np.concatenate([u * np.maximum(W, 0), u * w * (W > 0)], axis=1)
    assert (slopes @ slopes.T / 6).tolist() == [[4.5, -0.5], [-0.5, 4.5]]


@CLAIMS.says("stays", "have mean 0, member 2 hardly moves")
@CLAIMS.says("half", "With a mean of 0.75 that is 0.56")
def _() -> None:
    assert round(chi(by_mean(0.75)), 2) == 0.56 == round(0.75**2, 2)
    _, _, found, _ = dragged()
    for mean, outputs in found.items():
        first, second = np.sqrt(((outputs[-1] - outputs[0]) ** 2).mean(axis=-1))
        assert second < 0.15 * first or mean > 0
    first, second = found[0.75][-1] - found[0.75][0]
    assert 0.5 < first @ second / (first @ first) < 0.65


@CLAIMS.says("near-one", "initialization of fast weights, ends at 0.95")
@CLAIMS.says("first-alone", "stays at 0.11, because the ReLU")
@CLAIMS.says("dropped", "a 0 for each unit that is")
@CLAIMS.says("above", "MC dropout ends above 0 at every")
@CLAIMS.says("signs-end", "Random signs end at 0")
@CLAIMS.says("summary", "starts as nearly one network, and")
def _() -> None:
    assert round(chi(Modulation("normal", std=0.1)), 2) == 0.95
    assert chi(SIGNS) == chi([ONES, SIGNS]) == 0
    assert round(chi([SIGNS, ONES]), 2) == 0.11
    for p in (0.01, 0.5, 0.99):
        assert Modulation("bernoulli", p=p).moments[0] == 1
        assert chi(Modulation("bernoulli", p=p)) > 0


@CLAIMS.says(
    "slopes", "the 16 slopes of its logarithm against",
    slope("cross", "high", -0.52), slope("same", "low", -0.48), slope("same", "high", -0.7),
)  # fmt: skip
@CLAIMS.says("steep", "last layer is −0.55 between two members", slope("cross", "slope", -0.5))
@CLAIMS.says("together", "intervals hold with 95% together", slope("same", "low", -0.4))
@CLAIMS.says("draws", "We drew 400 networks at each of")
def _() -> None:
    table = measured.load("kernel-width")
    found = [row[part] for row in table["rows"] for part in ("cross", "same")]
    assert len(found) == SLOPES == 16
    assert all(own["low"] < -0.5 < own["high"] for own in found)
    row = measured.row(table["rows"], activation="relu", modulation="last")
    assert round(row["cross"]["slope"], 2) == -0.55
    assert (FITTED, len(WIDTHS), table["settings"]["draws"]) == (256, 7, 400)
    assert {row["activation"] for row in table["rows"]} == {"relu", "erf", "tanh"}


@CLAIMS.says(
    "gaussian", "is 1.9 at width 32, and 0.1",
    Change("output-width", "rows", {"width": 32}, "kurtosis", times=1.1),
    Change("output-width", "rows", {"width": 512}, "kurtosis", times=4),
)  # fmt: skip
def _() -> None:
    rows = measured.load("output-width")["rows"]
    tails = [measured.row(rows, width=w, mean=0.0)["kurtosis"] for w in (32, 512)]
    assert np.round(tails, 1).tolist() == [1.9, 0.1]


@CLAIMS.says(
    "apart", "only falls from 0.40 to 0.29",
    Change("embedded-spread", "summary", {"mean": 0.75}, "spread", times=1.1),
    Change("embedded-spread", "summary", {"mean": 0.0}, "spread", times=0.9),
)  # fmt: skip
@CLAIMS.says(
    "single", "At 1 you see a single curve",
    Change("embedded-spread", "summary", {"mean": 1.0}, "spread", to=0.1),
)  # fmt: skip
def _() -> None:
    rows = measured.load("embedded-spread")["summary"]
    found = [measured.row(rows, mean=mean)["spread"] for mean in (0.0, 0.75, 1.0)]
    assert [f"{value:.2f}" for value in found] == ["0.40", "0.29", "0.00"]


@CLAIMS.says("root", "of what it is at mean 0")
def _() -> None:
    """What members differ by at the start, which stays where no point pulls."""
    for mean in (0.25, 0.75):
        same, cross = (own[0, 0] for own in ntk.limit(
            inputs_at_angle(1.0)[:1], hidden_layers=2, u=by_mean(mean)
        ).covariance)  # fmt: skip
        assert np.isclose((same - cross) / same, 1 - mean**2)


@CLAIMS.says("ends-one", "1, four members end as nearly one", score("near", "disagreement", 3))
@CLAIMS.says(
    "ends-apart", "Where it is 0, members that share", score("signs", "disagreement", 0.8)
)  # fmt: skip
@CLAIMS.says("table-near", "about 0.9 | 0.05", score("near", "disagreement", 1.3))
@CLAIMS.says("table-normal", "about 0.25 | 0.26", score("normal", "chance", 1.2))
@CLAIMS.says("table-signs", "about 0 | 0.56", score("signs", "disagreement", 0.8))
@CLAIMS.says("table-deep", "deep ensemble | 0 | 0.58", score("deep_ensemble", "chance", 0.9))
def _() -> None:
    found = [ratio(name) for name in ("near", "normal", "signs", "deep_ensemble")]
    assert found == sorted(found)
    assert np.round(found, 2).tolist() == [0.05, 0.26, 0.56, 0.58]


@CLAIMS.says("table", "χ, at width 1,024 | disagreement, measured")
@CLAIMS.says("lower", "lower than in the second figure, because")
@CLAIMS.says("ex-start", "about 0.25 the average moves about 1.75")
def _() -> None:
    """In the figure u alone is drawn."""
    near, normal, signs = (
        chi_of_digits(1024, **kind)
        for kind in ({"init_std": 0.1}, {"init_std": 0.5}, {"init": "signs"})
    )
    assert abs(near - 0.9) < 0.025 and abs(normal - 0.25) < 0.025 and abs(signs) < 0.025
    limits = [chi(Modulation("normal", std=std)) for std in (0.1, 0.5)]
    assert near < limits[0] and normal < limits[1]
    assert ntk.modes(4, 0.25, 4.0)[0] == 1.75


@CLAIMS.says("bias", "Even random signs have")
def _() -> None:
    same, cross = ntk.limit(inputs_at_angle(1.0)[:1], hidden_layers=2, u=SIGNS).shared
    assert round(float((cross[0, 0] + 1) / (same[0, 0] + 1)), 2) == 0.57


@CLAIMS.says("erf", "members have a covariance of −0.128")
@CLAIMS.says("away", "between two members is −0.029, so")
@CLAIMS.says("silent", "the covariance is +0.054 in that network")
@CLAIMS.says("angle", "and two inputs 120° apart")
def _() -> None:
    wide, u = inputs_at_angle(np.cos(np.radians(120))), Modulation("normal", std=0.5)
    erf = ntk.limit(wide, hidden_layers=2, activation="erf", u=u)
    relu = ntk.limit(wide, hidden_layers=1, u=u)
    opposite = ntk.limit(inputs_at_angle(-1.0), hidden_layers=2, u=u)
    values = erf.covariance[1], relu.shared[1], relu.covariance[1], opposite.covariance[1]
    found = [f"{value[0, 1]:+.3f}" for value in values]
    assert found == ["-0.128", "-0.029", "+0.054", "+0.099"]


@CLAIMS.says("narrow", "the kernel ends 1.5 times its own", training(32, 1.2))
@CLAIMS.says("wide", "At width 1,024 it has changed by", training(1024, 1.2))
def _() -> None:
    assert (round(moved(32), 1), f"{moved(1024):.0%}") == (1.5, "7%")


@CLAIMS.says("ex-speeds", "and a difference at 0.5/4 = 0.125")
@CLAIMS.says("ex-sum", "sum four times that: 2.5 and 0.5")
def _() -> None:
    assert ntk.modes(4, 0.5) == (0.625, 0.125)
    assert ntk.modes(4, 0.5, 4.0) == (2.5, 0.5)
