"""What *Embedded ensembles* claims: of wide layers, by its cells, and by its tables."""

from functools import cache

import numpy as np
import torch

from ensedu.data import digits
from ensedu.theory import ntk
from ensedu.theory.ntk import Modulation
from ensedu.torch import BatchEnsembleLinear, mlp
from ensedu.torch.base import seeded
from tests.book.claiming import Claims, reader
from tests.book.claims.learning.batch_ensemble import ratio
from tests.book.conftest import ran
from workshop.experiments import embedded
from workshop.experiments.embedded import by_mean

CLAIMS = Claims("theory/embedded-ensembles", unclaimed={
    "names of members": ["Member 1 is trained, and member 2", "In between, member 2 is dragged",
        "A step of member 1 reaches"],
    "names of members, and signs": ["some units push member 2 the"],
    "a random walk": ["Signs cancel better the more units"],
    "what a word means": ["0 for two copies of one network"],
    "a proof": ["Only member 1 pulls, so", "times a table with 1 on its",
        "that are the same for all members"],
    "a theorem": ["ReLU it only falls to 0 if", "hidden layer it is 0 in the limit"],
    "the variance of a constant": ["is 1 only if"],
    "a derivative, checked on the page": ["gradient is 1 for each member"],
    "an initialization": ["numbers near 1 add up"],
    "what dropout is": ["a 0 for each unit that is"],
})  # fmt: skip
says, reads = CLAIMS.says, CLAIMS.reads
narrow = reader("gradient-flow", "rows", by="width")
ONES, SIGNS = Modulation("ones"), Modulation("signs")
DROPOUT = Modulation("bernoulli", p=0.5)
NEAR = Modulation("normal", std=0.1)
ONE = np.array([[2**0.5, 0.0]])
CELL = ran(f"book/{CLAIMS.chapter}", "make the second row of u all ones")


def chi(u, added: float = 0.0) -> float:
    """Return the kernel between two members over that within one, with so much added to both."""
    same, cross = np.add(ntk.limit(ONE, hidden_layers=2, u=u).shared, added).ravel()
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


# fmt: off
says("= 2, and \\chi is 0.5", lambda: (2, chi([ONES, DROPOUT])))
says("Did you expect 0.5 for dropout", lambda: chi([ONES, DROPOUT]))
says("each member, and \\chi falls to 0.21", lambda: chi(DROPOUT))
says("-0.5, beside 4.5 for the member", lambda: (CELL["other"].mean(), CELL["itself"].mean()))
says("0, member 2 hardly moves", lambda: np.divide(*(moved(0)[::-1] ** 2).mean(axis=1)) < 0.15**2)
says("With a mean of 0.75 that is 0.56", lambda: (0.75, chi(by_mean(0.75))))
says("goes a little more than half of the", lambda: 0.5 < np.polyfit(*moved(0.75), 1)[0] < 0.65)
says("Random signs end at 0", lambda: chi(SIGNS))
says("initialization of fast weights, ends at 0.95", lambda: chi(NEAR))
says(["MC dropout ends above 0 at every", "with ReLU, is independent at no rate"],
     lambda: all(chi(Modulation("bernoulli", p=p)) > 0 for p in (0.01, 0.5, 0.99)))
says(["χ at the start, width 1,024", "it is lower than in the second figure"],
     lambda: chi_of_digits(init_std=0.1) < chi(NEAR))
says("about 0.9 | 0.05", lambda: (chi_of_digits(init_std=0.1), ratio("near")))
says("about 0.3 | 0.26", lambda: (chi_of_digits(), ratio("normal")))
says("about 0 | 0.56", lambda: (chi_of_digits(init="signs"), ratio("signs")))
says("deep ensemble | 0 | 0.58", lambda: (0, ratio("deep_ensemble")))
says(["1, four members end as nearly one", "starts as nearly one network, and MC"],
     lambda: chi(NEAR) > 0.9 and ratio("near") < 0.1)
says("Where it is 0, members that share", lambda: ratio("signs") > 0.9 * ratio("deep_ensemble"))
says("\\Theta_{ii} = 0.75, so they would",
     lambda: ntk.limit(ONE, hidden_layers=2, u=SIGNS).shared[0].item())
says("\\chi = 1 / 1.75 = 0.57", lambda: (1, 1.75, chi(SIGNS, added=1.0)))
says("network of width 16 moved by 54%", lambda: (16, narrow(16, "kernel")))
says("0.3 = 1.9 times as fast as one", lambda: (0.3, ntk.modes(4, 0.3, 4.0)[0]))
says("= 0.625 and a difference at", lambda: ntk.modes(4, 0.5)[0])
says("sum four times that: 2.5 and 0.5", lambda: ntk.modes(4, 0.5, 4.0))
