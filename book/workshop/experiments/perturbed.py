"""How far apart full and rank-1 perturbations of a trained layer leave the score's covariance.

`trained` makes 64-7-5-10 with tanh learn 256 digits, down to a local minimum in all its 555
numbers: L-BFGS, then Newton's method on the exact Hessian. The seven parts of the digits have no
image in common, and each network a start of its own, so what they show is seven times independent.

`run` perturbs the matrix in the middle, (7, 5), there and halfway down, by several laws of one
size: the standard deviation of what an entry is scaled by is about `scale`. Each law's covariance
of the score stands beside that of a full normal perturbation with multiplicative covariance, as a
distance relative to it (Frobenius norms)::

    again          the same law, drawn anew: what sampling alone does
    rank1          W ∘ r sᵀ, normal r and s, whose covariance the full one has
    coupled        the same, but both from the same normal numbers: nearly without that noise
    mean_field     entries scaled independently, each with the same variance

All of this was settled on one part with fewer draws, before the tables were computed.

`clouds` is for a picture: where the score of the first network goes under three of these laws.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray as Array
from numpy.random import Generator
from torch import Tensor
from torch.nn.functional import cross_entropy

from ensedu import numpy as en
from ensedu import uncertainty
from ensedu.data import digits
from ensedu.theory.perturbations import (
    Score,
    entry_covariance,
    first_order,
    hessian,
    multiplicative,
    rank1,
    sample_covariance,
    separable,
)
from ensedu.uncertainty.meta_analysis import ALPHA
from workshop import measured
from workshop.running.experiment import Experiment
from workshop.running.machine import one_thread

SIZES, LAYER = (64, 7, 5, 10), 2
PARTS, EXAMPLES = 7, 256
#: λ of ½ λ |θ|² beside the mean NLL: without it the NLL of separable digits has no minimum.
DECAY = 1e-3
SCALES = (0.01, 0.03, 0.1, 0.3, 1.0)
STATES = ("minimum", "halfway")
#: Those compared with a full perturbation.
KINDS = ("again", "rank1", "coupled", "mean_field")


def digits_of_part(number: int) -> tuple[Float[Array, "B 64"], Int[Array, " B"]]:
    """Return the digits of one of `PARTS` that have none in common."""
    x, y = digits()
    order = np.random.default_rng(2020).permutation(len(x))
    rows = order[EXAMPLES * number : EXAMPLES * (number + 1)]
    return x[rows], y[rows]


def untrained_numbers(number: int) -> Float[Array, " P"]:
    """Return the numbers of a network that was not trained, weight and bias of each layer."""
    net = en.mlp(SIZES, rng=np.random.default_rng([number, 7]), activation="tanh")
    return np.concatenate([array.ravel() for array in net.params.values()])


def network(numbers: Float[Array, " P"]) -> en.Sequential:
    """Return the network of these numbers."""
    net = en.mlp(SIZES, rng=np.random.default_rng(0), activation="tanh")
    sizes = [array.size for array in net.params.values()]
    ends = np.cumsum(sizes)
    for array, own in zip(net.params.values(), np.split(numbers, ends[:-1]), strict=True):
        array[...] = own.reshape(array.shape)
    return net


def score_at(numbers: Float[Array, " P"], number: int) -> Score:
    """Return the score of the middle matrix on a part, all other numbers as they are."""
    return Score(network(numbers), *digits_of_part(number), layer=LAYER, decay=DECAY)


class Descent:
    """The regularized loss on a part of the digits, a function of all numbers of a network."""

    def __init__(self, number: int) -> None:
        self.x, self.y = map(torch.from_numpy, digits_of_part(number))
        self.shapes = [shape for m, n in pairwise(SIZES) for shape in ((m, n), (n,))]

    def __call__(self, numbers: Tensor) -> Tensor:
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        parts = [own.reshape(s) for own, s in zip(numbers.split(sizes), self.shapes, strict=True)]
        h = self.x
        for layer, (weight, bias) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
            h = (torch.tanh(h) if layer else h) @ weight + bias
        return cross_entropy(h, self.y) + DECAY / 2 * (numbers**2).sum()

    def descended(self, numbers: Array, steps: int) -> Array:
        """Return where L-BFGS ends after so many steps, or when it moves no more."""
        own = torch.from_numpy(numbers.copy()).requires_grad_(True)
        optimizer = torch.optim.LBFGS(
            [own], max_iter=steps, history_size=50, tolerance_grad=1e-7, tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )  # fmt: skip

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = self(own)
            loss.backward()
            return loss

        optimizer.step(closure)
        return own.detach().numpy()

    def halfway(self, numbers: Array, lowest: float, lr: float) -> Array:
        """Return where Adam first has half of the way down from a start to the lowest loss."""
        own = torch.from_numpy(numbers.copy()).requires_grad_(True)
        optimizer = torch.optim.Adam([own], lr=lr)
        loss = self(own)
        middle = (loss.item() + lowest) / 2
        while loss.item() > middle:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss = self(own)
        return own.detach().numpy()

    def gradient(self, numbers: Array) -> Array:
        """Return the gradient by all numbers."""
        return torch.func.grad(self)(torch.from_numpy(numbers)).numpy()

    def hessian(self, numbers: Array) -> Array:
        """Return the Hessian by all numbers, (P, P)."""
        return torch.func.jacrev(torch.func.grad(self))(torch.from_numpy(numbers)).numpy()


def polished(numbers: Array, number: int, steps: int) -> tuple[Array, list[float]]:
    """Return where so many steps of Newton's method lead, and the gradient norm before and after.

    For numbers so close to a minimum that the Hessian is positive definite.
    """
    loss, norms = Descent(number), []
    with one_thread():
        for _ in range(steps):
            gradient = loss.gradient(numbers)
            norms.append(float(np.linalg.norm(gradient)))
            numbers = numbers - np.linalg.solve(loss.hessian(numbers), gradient)
        norms.append(float(np.linalg.norm(loss.gradient(numbers))))
    return numbers, norms


def trained(number: int, steps: int, newton: int, lr: float) -> dict[str, Array]:
    """Return the numbers of a network at its start, halfway down, and at its minimum."""
    loss, begin = Descent(number), untrained_numbers(number)
    with one_thread():
        low, _ = polished(loss.descended(begin, steps), number, newton)
        half = loss.halfway(begin, float(loss(torch.from_numpy(low))), lr)
    return {"start": begin, "halfway": half, "minimum": low}


def run_network(number: int, **options: Any) -> dict[str, Any]:
    """Return the numbers of one network, halfway and at its minimum."""
    found = trained(number, **options)
    return {state: found[state].tolist() for state in STATES}


def distance(one: Float[Array, "p p"], reference: Float[Array, "p p"]) -> float:
    """Return how far a covariance is from another, relative to that one (Frobenius norms)."""
    return float(np.linalg.norm(one - reference) / np.linalg.norm(reference))


def perturbation_laws(
    weight: Float[Array, "m n"], scale: float, rng: Generator, draws: int
) -> dict[str, Callable[[], Float[Array, "S m n"]]]:
    """Return what draws matrices of each law: ``"full"``, and those of `KINDS` that are laws."""
    r_cov, s_cov = variances(weight, scale)
    relative = separable(r_cov, s_cov)
    each = np.sqrt(relative[0, 0, 0, 0])  # the standard deviation of r_a s_j
    return {
        "full": lambda: multiplicative(weight, relative, rng=rng, draws=draws),
        "again": lambda: multiplicative(weight, relative, rng=rng, draws=draws),
        "rank1": lambda: rank1(weight, r_cov, s_cov, rng=rng, draws=draws),
        "mean_field": lambda: weight * (1 + each * rng.standard_normal((draws, *weight.shape))),
    }


def variances(
    weight: Float[Array, "m n"], scale: float
) -> tuple[Float[Array, "m m"], Float[Array, "n n"]]:
    """Return the covariances of r and s that scale each entry by about 1 ± `scale`."""
    m, n = weight.shape
    return scale**2 / 2 * np.eye(m), scale**2 / 2 * np.eye(n)


def coupled_draws(
    weight: Float[Array, "m n"], scale: float, rng: Generator, draws: int
) -> tuple[Float[Array, "S m n"], Float[Array, "S m n"]]:
    """Return draws of the full law and of the rank-1 law that share their normal numbers.

    The full one scales by ``1 + τu_a + τv_j + τ²g_aj``, the rank-1 one by ``(1 + τu_a)(1 + τv_j)``,
    τ = scale / √2: equal covariances, and equal draws but for g_aj in place of u_a v_j. Half of the
    draws have -u and -v with the same g, so that what is odd in u and v cancels.
    """
    tau, half = scale / np.sqrt(2), draws // 2
    u, v = (rng.standard_normal((half, size)) for size in weight.shape)
    g = np.tile(rng.standard_normal((half, *weight.shape)), (2, 1, 1))
    u, v = (np.concatenate([one, -one]) for one in (u, v))
    r, s = 1 + tau * u[:, :, None], 1 + tau * v[:, None, :]
    return weight * (r + s - 1 + tau**2 * g), weight * r * s


def first_score(state: str) -> Score:
    """Return the score of the first network as the table has it, ``"halfway"`` or ``"minimum"``."""
    row = measured.row(measured.load("perturbed-network")["rows"], number=0)
    return score_at(np.array(row[state]), 0)


def clouds(sizes: Sequence[float], draws: int = 300) -> dict[float, dict[str, Float[Array, "S 2"]]]:
    """Return scores of three laws at the first minimum, by size, in two directions of 35.

    In the first one small noise in rows and columns moves the score most; of those that it does not
    reach, independent entries move it most in the second. Both are in standard deviations of
    ``"rank-1"`` along the first. The ``"normal twin"`` is the full law.
    """
    score, found = first_score("minimum"), {}
    weight, curvature = score.weight, hessian(score, score.weight)
    small = entry_covariance(weight, separable(*variances(weight, 1e-4))) / 1e-4**2
    reached = np.linalg.eigh(first_order(curvature, small))[1]  # rising variance, in columns
    beyond = reached[:, : 1 - sum(weight.shape)]
    free = beyond.T @ first_order(curvature, np.diag(weight.ravel() ** 2)) @ beyond
    axes = np.stack([reached[:, -1], beyond @ np.linalg.eigh(free)[1][:, -1]], axis=1)
    for size in sizes:
        full, pair = coupled_draws(weight, size, np.random.default_rng(20), draws)
        laws = perturbation_laws(weight, size, np.random.default_rng(21), draws)
        own = {"normal twin": full, "rank-1": pair, "independent entries": laws["mean_field"]()}
        points = {name: score(V).reshape(draws, -1) @ axes for name, V in own.items()}
        unit = points["rank-1"][:, 0].std(ddof=1)
        found[size] = {name: one / unit for name, one in points.items()}
    return found


def run(number: int, state: str, draws: int, **options: Any) -> dict[str, Any]:
    """Return distances of each law, lists over `SCALES`, and what tells a local minimum.

    ``gradient`` is the norm of the loss's gradient by all 555 numbers, ``least`` the least
    eigenvalue of its Hessian.
    """
    numbers, loss = trained(number, **options)[state], Descent(number)
    with one_thread():
        rng = np.random.default_rng([number, STATES.index(state), 41])
        return {
            "distances": distances(score_at(numbers, number), rng, draws),
            "gradient": float(np.linalg.norm(loss.gradient(numbers))),
            "least": float(np.linalg.eigvalsh(loss.hessian(numbers))[0]),
        }


def distances(score: Score, rng: Generator, draws: int) -> dict[str, list[float]]:
    """Return `KINDS` to distances of the score's covariance from that of the full law."""
    found: dict[str, list[float]] = {name: [] for name in KINDS}
    for scale in SCALES:
        laws = perturbation_laws(score.weight, scale, rng, draws)
        own = {name: sample_covariance(score(draw())) for name, draw in laws.items()}
        reference = own.pop("full")
        for name, covariance in own.items():
            found[name].append(distance(covariance, reference))
        both = coupled_draws(score.weight, scale, rng, draws)
        one, other = (sample_covariance(score(V)) for V in both)
        found["coupled"].append(distance(other, one))
    return found


def summarize(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return, for each state, mean distances over networks and what is resolved.

    An entry for each of `KINDS` and size, with the 95 % interval of its mean; ``difference`` is
    from ``again``, the noise of sampling, and ``resolved`` says whether it is not 0 after Holm's
    correction over all of a state.
    """
    table: dict[str, Any] = {}
    for state in STATES:
        own = [row for row in rows if row["state"] == state]
        entries, judged = [], []
        for name in KINDS:
            for i, scale in enumerate(SCALES):
                values = np.array([row["distances"][name][i] for row in own])
                noise = np.array([row["distances"]["again"][i] for row in own])
                one = uncertainty.paired(values)
                entry = {
                    "kind": name, "scale": scale, "mean": one.mean, "low": one.low, "high": one.high
                }  # fmt: skip
                entries.append(entry)
                if name not in ("again", "coupled"):
                    judged.append((entry, uncertainty.paired(values - noise)))
        adjusted = uncertainty.holm([one.p for _, one in judged]).tolist()
        for (entry, one), p in zip(judged, adjusted, strict=True):
            entry |= {"difference": one.mean, "adjusted": p, "resolved": p < ALPHA}
        table[state] = entries
    return table


#: Steps of L-BFGS, at most, and of Newton's method behind them; the learning rate of Adam.
TRAINING = {"steps": 3000, "newton": 3, "lr": 0.01}
NETWORK = Experiment(
    name="perturbed-network",
    about="all 555 numbers of a network 64-7-5-10 with tanh, weight and bias of each layer, "
    "halfway down and at a local minimum of its regularized NLL on 256 digits",
    budget="one start; L-BFGS and three steps of Newton's method, no tuning",
    cases=[{"number": 0}],
    run=run_network,
    settings=TRAINING,
    digits=8,
)
EXPERIMENT = Experiment(
    name="perturbed",
    about="covariance of the score of the middle matrix, (7, 5), under perturbations of sizes 0.01 "
    "to 1: distances from that of a full normal one with multiplicative covariance, relative to "
    "it, Frobenius norms; gradient, the norm of the regularized loss's by all 555 numbers, and "
    "least, the least eigenvalue of its Hessian; the summary has means over networks, and says "
    "where a distance is not that of the same law drawn again (paired t-tests over seven networks, "
    "with Holm's correction for each state)",
    budget="7 parts of the digits, one network on each, 5,000 draws of each law and size",
    cases=[{"number": number, "state": state} for number in range(PARTS) for state in STATES],
    run=run,
    settings={"draws": 5000, **TRAINING},
    summarize=summarize,
)
