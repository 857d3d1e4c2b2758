"""What *Embedded ensembles* claims: of wide layers, by its cells, and by its tables."""

from functools import cache
from typing import Any

import numpy as np
import torch

from ensedu.data import digits
from ensedu.theory import ntk
from ensedu.theory.ntk import Modulation
from ensedu.torch import BatchEnsembleLinear, mlp
from ensedu.torch.base import seeded
from tests.book.claiming import Change, Claims
from tests.book.conftest import ran
from workshop import measured
from workshop.experiments import embedded
from workshop.experiments.embedded import by_mean, inputs_at_angle

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
        "a 0 for each unit that is": "what dropout is",
        "and two inputs 120° apart": "an example",
    },
)
says, reads = CLAIMS.says, CLAIMS.reads
ONES, SIGNS = Modulation("ones"), Modulation("signs")
NEAR, NORMAL = (Modulation("normal", std=std) for std in (0.1, 0.5))
ONE, WIDE = inputs_at_angle(1.0)[:1], inputs_at_angle(np.cos(np.radians(120)))
CELL = ran(f"book/{CLAIMS.chapter}", "make the second row of u all ones")


def limit(u, x=ONE, hidden_layers: int = 2, covariance: bool = False, **options) -> np.ndarray:
    """Return kernels, or covariances, within a member and between two, at infinite width."""
    found = ntk.limit(x, hidden_layers=hidden_layers, u=u, **options)
    return np.array(found.covariance if covariance else found.shared)


def chi(u, added: float = 0.0) -> float:
    """Return the kernel between two members over that within one, with so much added to both."""
    same, cross = limit(u)[:, 0, 0] + added
    return cross / same


@cache
def chi_of_digits(**kind) -> float:
    """Return it at width 1,024, without biases, on digits: the mean of both over six networks."""
    images, totals = torch.from_numpy(digits()[0][:6]).float(), np.zeros((2, 2))
    for seed in range(6):
        with seeded(seed):
            net = mlp((64, 1024, 1024, 10), "batch_ensemble", 2, **{"init": "normal"} | kind)
        layers = [layer for layer in net if isinstance(layer, BatchEnsembleLinear)]
        for layer in layers:
            torch.nn.init.zeros_(layer.bias)
        rows = [torch.autograd.grad(f, [layer.weight for layer in layers], retain_graph=True)
                for f in net(images[[seed]])[:, 0, seed]]  # fmt: skip
        g = torch.stack([torch.cat([part.ravel() for part in row]) for row in rows])
        totals += (g @ g.T).double().numpy()
    return abs(2 * totals[0, 1] / np.trace(totals))


@cache
def moved(mean: float) -> np.ndarray:
    """Return how far two members move at each input while the first is trained."""
    outputs = embedded.dragged()[2][mean]
    return outputs[-1] - outputs[0]


def slopes(key: str) -> np.ndarray:
    """Return what was fitted in 16 places."""
    rows = measured.load("kernel-width")["rows"]
    return np.array([row[part][key] for row in rows for part in ("cross", "same")])


def ratio(name: str) -> float:
    """Return how often trained members disagree on digits, over that of independent errors."""
    rows = measured.load("batch-ensemble-training")["rows"]
    own = [row for row in rows if (row["data"], row["contestant"]) == ("digits", name)]
    return np.divide(*(np.mean([row[key] for row in own]) for key in ("disagreement", "chance")))


def trained(name: str, key: str, times: float) -> Change:
    """Return a change of it."""
    where = {"data": "digits", "contestant": name}
    return Change("batch-ensemble-training", "rows", where, key, times=times)


def fitted(part: str, key: str) -> tuple[Any, ...]:
    """Return the way to a slope of signs in the last layer, or to an end of its interval."""
    return "kernel-width", "rows", {"activation": "relu", "modulation": "last"}, part, key


def of_outputs(width: int, key: str = "kurtosis") -> Change:
    """Return the tails of outputs, and their change."""
    return Change("output-width", "rows", {"width": width, "mean": 0.0}, key, times=2)


def spread(mean: float, **new: float) -> Change:
    """Return how far members are apart where there are no points, and its change."""
    return Change("embedded-spread", "summary", {"mean": mean}, "spread", **new or {"times": 1.1})


def change_of_kernel(width: int) -> tuple[Any, ...]:
    """Return the way to how far the kernel of four independent members moves."""
    return "embedded-training", "rows", {"mean": 0.0, "gamma": 4.0, "width": width}, "change"


says("-0.5, beside 4.5 for the member itself",
     lambda: (CELL["other"].mean(), CELL["itself"].mean()))  # fmt: skip
says("have mean 0, member 2 hardly moves",
     lambda: np.divide(*(moved(0)[::-1] ** 2).mean(axis=1)) < 0.15**2)  # fmt: skip
says("With a mean of 0.75 that is 0.56", lambda: (0.75, chi(by_mean(0.75))))
says("goes a little more than half of the",
     lambda: 0.5 < np.polyfit(*moved(0.75), 1)[0] < 0.65)  # fmt: skip
says("Random signs end at 0", lambda: chi(SIGNS))
says("initialization of fast weights, ends at 0.95", lambda: chi(NEAR))
says("stays at 0.11, because the ReLU", lambda: chi([SIGNS, ONES]))
says(["MC dropout ends above 0 at every", "MC dropout is independent at no rate"],
     lambda: all(chi(Modulation("bernoulli", p=p)) > 0 for p in (0.01, 0.5, 0.99)))  # fmt: skip
says("We drew 400 networks at each of seven", lambda: (
    measured.load("kernel-width")["settings"]["draws"], len(embedded.WIDTHS)
))  # fmt: skip
says("From width 256 on, the 16 slopes of",
     lambda: (embedded.FITTED, ((slopes("low") < -0.5) & (slopes("high") > -0.5)).sum()),
     Change(*fitted("cross", "high"), to=-0.52), Change(*fitted("same", "low"), to=-0.48),
     Change(*fitted("same", "high"), to=-0.7))  # fmt: skip
reads("last layer is −0.55 between two members", *fitted("cross", "slope"), times=0.9)
says("intervals hold with 95% together", lambda: len(slopes("slope")) == embedded.SLOPES)
says("1.9 at width 32, and 0.1 at width",
     lambda: (of_outputs(32).before(), 32, of_outputs(512).before()),
     of_outputs(32), of_outputs(512))  # fmt: skip
says("only falls from 0.40 to 0.29", lambda: (spread(0.0).before(), spread(0.75).before()),
     spread(0.0), spread(0.75))  # fmt: skip
says("At 1 you see a single curve", lambda: spread(1.0).before() < 1e-3, spread(1.0, to=0.1))
says("of what it is at mean 0", lambda: all(
    np.isclose(np.divide(*limit(by_mean(mean), covariance=True)[::-1, 0, 0]), mean**2)
    for mean in (0.25, 0.75)
))  # fmt: skip
says(["χ, at width 1,024 | measured", "lower than in the second figure, because"],
     lambda: chi_of_digits(init_std=0.1) < chi(NEAR) and chi_of_digits() < chi(NORMAL))  # fmt: skip
says("about 0.9 | 0.05", lambda: (chi_of_digits(init_std=0.1), ratio("near")))
says("about 0.25 | 0.26", lambda: (round(20 * chi_of_digits()) / 20, ratio("normal")))
says("about 0 | 0.56", lambda: (chi_of_digits(init="signs"), ratio("signs")))
says("deep ensemble | 0 | 0.58", lambda: (0, ratio("deep_ensemble")),
     trained("deep_ensemble", "chance", 0.9))  # fmt: skip
says(["1, four members end as nearly one", "starts as nearly one network, and MC"],
     lambda: chi(NEAR) > 0.9 and ratio("near") < 0.1,
     trained("near", "disagreement", 3))  # fmt: skip
says("Where it is 0, members that share", lambda: ratio("signs") > 0.9 * ratio("deep_ensemble"),
     trained("signs", "disagreement", 0.8))  # fmt: skip
says("have \\chi = 0.57 then", lambda: chi(SIGNS, added=1.0))
says("members have a covariance of −0.128",
     lambda: limit(NORMAL, WIDE, covariance=True, activation="erf")[1, 0, 1])  # fmt: skip
says("between two members is −0.029, so", lambda: limit(NORMAL, WIDE, 1)[1, 0, 1])
says("the covariance is +0.054 in that network",
     lambda: limit(NORMAL, WIDE, 1, covariance=True)[1, 0, 1])  # fmt: skip
says("and +0.099 at",
     lambda: limit(NORMAL, inputs_at_angle(-1.0), covariance=True)[1, 0, 1])  # fmt: skip
reads("the kernel ends 1.5 times its own", *change_of_kernel(32))
reads("it has changed by 7%", *change_of_kernel(1024))
says("moves about 1.75 times as fast as", lambda: ntk.modes(4, 0.25, 4.0)[0])
says("= 0.625 and a difference at", lambda: ntk.modes(4, 0.5)[0])
says("sum four times that: 2.5 and 0.5", lambda: ntk.modes(4, 0.5, 4.0))
