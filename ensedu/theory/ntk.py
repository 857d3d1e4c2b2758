"""Embedded ensembles and what they become as they grow: tangent kernels, at hand and in the limit.

When does an ensemble whose members share their weights behave like one whose members do not? In
the NTK parametrization the answer can be computed (Velikanov et al. 2022)::

    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 5)[:, None]
    net = embedded([1, 256, 256, 1], 4, rng=rng, u=Modulation("signs"))
    tangent(net, x).shared[0, 1]  # how member 2's steps move member 1: near 0
    limit(x, hidden_layers=2, u=Modulation("signs")).shared[1]  # exactly 0

NumPy, in float64, with SciPy for erf: ``pip install "ensedu[scores]"``; the same in Torch is
`ensedu.theory.ntk_torch`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator
from scipy import special

from ensedu.common import checks
from ensedu.common.arrays import check_float64, check_rng
from ensedu.common.checks import optional

__all__ = [
    "EmbeddedEnsemble",
    "Kernel",
    "Limit",
    "Modulation",
    "Pass",
    "embedded",
    "flow",
    "limit",
    "modes",
    "tangent",
]

#: How many steepnesses of erf stand for tanh.
STEEPNESSES = 24


@dataclass(frozen=True, eq=False)
class Moments:
    """Three expectations of s and t, normal around 0 with variances a and b and covariance c."""

    #: E[φ(s) φ(t)]
    value: Float[Array, "..."]
    #: E[φ′(s) φ′(t)]
    slope: Float[Array, "..."]
    #: E[s t φ′(s) φ′(t)]
    scaled_slope: Float[Array, "..."]


@dataclass(frozen=True)
class Activation:
    """A function, its derivative, and `Moments` of it, called as ``moments(a, b, c)``."""

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    moments: Callable[[Array, Array, Array], Moments]


def relu_moments(a: Array, b: Array, c: Array) -> Moments:
    """Cho and Saul 2009, eq. 3 and 6, orders 1 and 0; ReLU has s φ′(s) = φ(s)."""
    size = np.sqrt(a * b)
    cosine = np.clip(np.divide(c, size, out=np.zeros_like(size * c), where=size > 0), -1, 1)
    angle = np.arccos(cosine)
    value = size / (2 * np.pi) * (np.sqrt(1 - cosine**2) + (np.pi - angle) * cosine)
    return Moments(value, (np.pi - angle) / (2 * np.pi), value)


def erf_moments(a: Array, b: Array, c: Array) -> Moments:
    """Williams 1997, eq. 11, and its derivatives."""
    product = (1 + 2 * a) * (1 + 2 * b)
    value = 2 / np.pi * np.arcsin(2 * c / np.sqrt(product))
    determinant = product - 4 * c**2
    slope = 4 / np.pi / np.sqrt(determinant)
    return Moments(value, slope, slope * c / determinant)


@cache
def steepnesses() -> tuple[Array, Array]:
    """Return h and their weights: tanh(z) is the mean of erf(h z).

    The logistic distribution is one of normals whose standard deviation is 2 K, with K as
    Kolmogorov's statistic is distributed (Andrews and Mallows 1974); so h = 1 / (√2 K). Read at
    even steps of log K, where the density has no end to cut.
    """
    k = np.geomspace(0.2, 4.0, STEEPNESSES)
    j = np.arange(1, 31)[:, None]
    density = 8 * k * ((-1.0) ** (j - 1) * j**2 * np.exp(-2 * j**2 * k**2)).sum(axis=0)
    return 1 / (2**0.5 * k), k * density / (k @ density)


def tanh_moments(a: Array, b: Array, c: Array) -> Moments:
    """Those of erf(h s) and erf(g t), averaged over both steepnesses: to 1e-9 at any variance."""
    steep, weights = steepnesses()
    a, b, c = np.broadcast_arrays(a, b, c)
    found = np.zeros((3, *a.shape))
    for h, weight in zip(steep, weights, strict=True):
        both = h * steep
        parts = erf_moments((h**2 * a)[..., None], steep**2 * b[..., None], both * c[..., None])
        rows = parts.value, both * parts.slope, parts.scaled_slope
        found += weight * np.stack([row @ weights for row in rows])
    return Moments(*found)


ACTIVATIONS = {
    "relu": Activation(lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(float), relu_moments),
    "erf": Activation(special.erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2)), erf_moments),
    "tanh": Activation(np.tanh, lambda z: 1 - np.tanh(z) ** 2, tanh_moments),
}

KINDS = ("ones", "signs", "normal", "bernoulli")
#: Points of the rule of a normal modulation on each side of 0, and how many standard deviations
#: from the mean they reach.
POINTS, REACH = 32, 7.0


@dataclass(frozen=True)
class Modulation:
    """The distribution of the entries of u or v, independent of each other and of all else.

    Attributes
    ----------
    kind
        ``"ones"``, no modulation; ``"signs"``, +1 or -1 with equal chance; ``"normal"``,
        N(mean, std²); ``"bernoulli"``, 0 with probability p and 1 / (1 - p) otherwise, as dropout
        has it.
    mean, std
        Of ``"normal"``; `std` is above 0.
    p
        Of ``"bernoulli"``, 0 <= p < 1.

    Raises
    ------
    TypeError, ValueError
        For another kind, and for a number out of its range.

    Examples
    --------
    >>> Modulation("signs").moments
    (0.0, 1.0)
    >>> Modulation("bernoulli", p=0.5).moments
    (1.0, 2.0)
    """

    kind: str = "ones"
    mean: float = 1.0
    std: float = 1.0
    p: float = 0.5

    def __post_init__(self) -> None:
        checks.one_of("kind", self.kind, KINDS)
        checks.real("mean", self.mean)
        checks.real("std", self.std, low=0.0)
        checks.fraction("p", self.p)

    @property
    def moments(self) -> tuple[float, float]:
        """E[u] and E[u²]: all of u that a limit depends on."""
        if self.kind == "normal":
            return self.mean, self.mean**2 + self.std**2
        values, chances = self.points
        return float(chances @ values), float(chances @ values**2)

    @property
    def points(self) -> tuple[Float[Array, " points"], Float[Array, " points"]]:
        """Values and their probabilities: all there are, or a rule that integrates as they do."""
        if self.kind == "normal":
            return _normal_points(self.mean, self.std)
        if self.kind == "signs":
            return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
        if self.kind == "bernoulli":
            return np.array([0.0, 1 / (1 - self.p)]), np.array([self.p, 1 - self.p])
        return np.ones(1), np.ones(1)

    def sample(self, rng: Generator, *shape: int) -> Float[Array, "..."]:
        """Draw entries of this shape."""
        check_rng("rng", rng)
        if self.kind == "normal":
            return rng.normal(self.mean, self.std, shape)
        values, chances = self.points
        return rng.choice(values, shape, p=chances)


def _normal_points(mean: float, std: float) -> tuple[Float[Array, " p"], Float[Array, " p"]]:
    """Gauss-Legendre quadrature in the cube root of v, on each side of 0.

    What is averaged has a kink at v = 0 (ReLU), or nearly a jump (the others, of large inputs):
    points are dense there, and none is beyond it.
    """
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    points, chances = [], []
    for side in (-1.0, 1.0):
        center = side * mean / std
        near, far = np.cbrt(np.maximum([center - REACH, center + REACH], 0.0))
        roots = near + (far - near) * (nodes + 1) / 2
        # d(root³) = 3 root² d(root)
        chances.append((far - near) * weights * roots**2 * np.exp(-((roots**3 - center) ** 2) / 2))
        points.append(side * std * roots**3)
    v, chance = np.concatenate(points), np.concatenate(chances)
    return v[chance > 0], chance[chance > 0] / chance.sum()


ONES, SIGNS = Modulation("ones"), Modulation("signs")


@dataclass(frozen=True, eq=False)
class Pass:
    """What a forward and a backward pass of every member go through.

    Attributes
    ----------
    inputs
        Of each layer, divided by the root of their number: (M, B, m), the first (1, B, m).
    slopes
        ∂f / ∂z of each layer, (M, B, n).
    modulated
        ∂f / ∂u and ∂f / ∂v of each hidden layer, a pair of (M, B, n).
    outputs
        f, (M, B).
    """

    inputs: list[Float[Array, "#M B _"]]
    slopes: list[Float[Array, "M B _"]]
    modulated: list[tuple[Float[Array, "M B _"], Float[Array, "M B _"]]]
    outputs: Float[Array, "M B"]


@dataclass(eq=False)
class EmbeddedEnsemble:
    """Members with one output, which share all weights and modulate units; made by `embedded`.

    Velikanov et al. 2022, in the NTK parametrization. Of a layer with m inputs::

        z = x W / √m + σ_b b        shared W (m, n) and b (n,), all entries from N(0, 1)
        x_next = u_i ∘ φ(v_i ∘ z)   u_i and v_i of member i, (n,)

    and of the last layer z alone, without a bias: one that all members share, trained or random,
    would add the same constant to the kernel of every pair of members. A `BatchEnsembleLinear` has
    ``u`` of one layer as r of the next, and ``v`` as s, with a bias of each member's own.

    Attributes
    ----------
    weights, biases
        Shared: (m, n) of each layer, (n,) of each hidden layer.
    u, v
        (M, n) of each hidden layer.
    activation
        ``"relu"``, ``"erf"`` or ``"tanh"``.
    bias_std
        σ_b.
    """

    weights: list[Float[Array, "_ _"]]
    biases: list[Float[Array, " _"]]
    u: list[Float[Array, "M _"]]
    v: list[Float[Array, "M _"]]
    activation: str = "relu"
    bias_std: float = 0.0

    @property
    def ensemble_size(self) -> int:
        """M."""
        return len(self.u[0])

    def __call__(self, x: Float[Array, "B m"]) -> Float[Array, "M B"]:
        return self.forward(x)

    def forward(self, x: Float[Array, "B m"]) -> Float[Array, "M B"]:
        """Every member's output."""
        return self._forward_through_layers(x)[-1]

    def forward_pass(self, x: Float[Array, "B m"]) -> Pass:
        """A forward pass, and the slopes of every member's output in all that is trained."""
        phi = ACTIVATIONS[self.activation]
        inputs, preactivations, outputs = self._forward_through_layers(x)
        # Of the last layer; then back, layer by layer.
        slope = np.ones((*outputs.shape, 1))
        slopes, modulated = [slope], []
        for layer in reversed(range(len(self.u))):
            weight = self.weights[layer + 1]
            u, v, z = self.u[layer][:, None], self.v[layer][:, None], preactivations[layer]
            after = slope @ weight.T / np.sqrt(len(weight))  # ∂f / ∂x_next
            inner = after * u * phi.slope(v * z)
            modulated.append((after * phi.value(v * z), inner * z))
            slope = inner * v
            slopes.append(slope)
        return Pass(inputs, slopes[::-1], modulated[::-1], outputs)

    def gradients(self, passed: Pass, pull: Float[Array, "M B"]) -> dict[str, list[Array]]:
        """The gradients of ``(pull ∘ f).sum()``, of the shapes of what is trained, by its name."""
        own = [slope * pull[..., None] for slope in passed.slopes]
        weights = [
            np.einsum("mbi,mbj->ij", np.broadcast_to(x, (len(d), *x.shape[1:])), d, optimize=True)
            for x, d in zip(passed.inputs, own, strict=True)
        ]
        biases = [self.bias_std * d.sum(axis=(0, 1)) for d in own[:-1]]
        u, v = (
            [(pair[i] * pull[..., None]).sum(axis=1) for pair in passed.modulated] for i in (0, 1)
        )
        return {"weights": weights, "biases": biases, "u": u, "v": v}

    def step(
        self, x: Float[Array, "B m"], y: Float[Array, " B"], lr: float, *,
        gamma: float = 1.0, modulation_lr: float | None = None,
    ) -> Float[Array, "M B"]:  # fmt: skip
        """Take one step down ``L_i = ½ mean (f_i - y)²`` of all members; return f before it.

        Shared weights move by ``lr · γ / M · Σ_i ∂L_i/∂w``, modulations by ``modulation_lr ·
        ∂L_i/∂u_i``: a γ of 1 is the gradient of the mean loss, one of M that of the sum.
        """
        passed = self.forward_pass(x)
        grads = self.gradients(passed, (passed.outputs - y) / len(x))
        shared = lr * gamma / self.ensemble_size
        rates = {"weights": shared, "biases": shared}
        rates |= dict.fromkeys("uv", lr if modulation_lr is None else modulation_lr)
        for name, rate in rates.items():
            for value, grad in zip(getattr(self, name), grads[name], strict=True):
                value -= rate * grad
        return passed.outputs

    def check_inputs(self, name: str, x: Array) -> None:
        """Check that these are inputs of this network: (B, m), float64."""
        check_float64(name, x)
        if x.ndim != 2 or x.shape[1] != len(self.weights[0]):
            raise ValueError(f"{name} has shape {x.shape}, accepted is (B, {len(self.weights[0])})")

    def _forward_through_layers(self, x: Array) -> tuple[list[Array], list[Array], Array]:
        self.check_inputs("x", x)
        phi = ACTIVATIONS[self.activation].value
        inputs, preactivations = [x[None] / np.sqrt(x.shape[1])], []
        for weight, bias, u, v in zip(self.weights, self.biases, self.u, self.v, strict=False):
            z = inputs[-1] @ weight + self.bias_std * bias
            preactivations.append(z)
            inputs.append(u[:, None] * phi(v[:, None] * z) / np.sqrt(len(bias)))
        return inputs, preactivations, (inputs[-1] @ self.weights[-1])[..., 0]


def embedded(
    sizes: Sequence[int],
    ensemble_size: int,
    *,
    rng: Generator,
    u: Modulation | Sequence[Modulation] = SIGNS,
    v: Modulation | Sequence[Modulation] = ONES,
    activation: str = "relu",
    bias_std: float = 0.0,
) -> EmbeddedEnsemble:
    """Draw an `EmbeddedEnsemble` at its start.

    Parameters
    ----------
    sizes
        Inputs, one or more hidden widths, and 1 output.
    ensemble_size
        M, a positive integer.
    rng
        Draws weights, biases, then u and v, layer by layer.
    u, v
        One `Modulation` for all hidden layers, or one for each.
    activation
        ``"relu"``, ``"erf"`` or ``"tanh"``.
    bias_std
        σ_b, 0 or more.

    Raises
    ------
    TypeError, ValueError
        For a bad argument.
    """
    sizes = checks.layer_sizes("sizes", sizes)
    if len(sizes) < 3 or sizes[-1] != 1:
        raise ValueError(f"sizes must have a hidden width and end with 1 output, got {sizes}")
    M = checks.positive_int("ensemble_size", ensemble_size)
    check_rng("rng", rng)
    checks.one_of("activation", activation, ACTIVATIONS)
    std, hidden = checks.not_negative("bias_std", bias_std), sizes[1:-1]
    weights = [rng.standard_normal(pair) for pair in pairwise(sizes)]
    biases = [rng.standard_normal(n) for n in hidden]
    drawn = []
    for name, value in (("u", u), ("v", v)):
        several = one_for_each_layer(name, value, hidden)
        drawn.append([own.sample(rng, M, n) for own, n in zip(several, hidden, strict=True)])
    return EmbeddedEnsemble(weights, biases, *drawn, activation, std)


def one_for_each_layer(name: str, value: Any, hidden: Sequence[int]) -> list[Modulation]:
    """Return a `Modulation` for each hidden layer."""
    several = [value] * len(hidden) if isinstance(value, Modulation) else value
    if not isinstance(several, (tuple, list)) or not all(
        isinstance(one, Modulation) for one in several
    ):
        raise TypeError(
            f"{name} must be a Modulation, or one for each hidden layer, got {checks.given(value)}"
        )
    if len(several) != len(hidden):
        raise ValueError(
            f"{name} must be one Modulation or one for each of {len(hidden)} hidden layers, got "
            f"{len(several)}"
        )
    return list(several)


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parts of a tangent kernel, of B inputs and C others.

    ``Θ_ij(x, x′) = γ/M Θ^com_ij(x, x′) + δ_ij Θ^ind_i(x, x′)`` says how a step down member j's loss
    at x′ moves member i's output at x: by the weights that all share, and by its own modulations
    (Velikanov et al. 2022).
    """

    #: Θ^com of each pair of members, from the shared weights.
    shared: Float[Array, "M M B C"]
    #: Θ^ind of each member, from its modulations.
    own: Float[Array, "M B C"]

    def total(self, gamma: float = 1.0) -> Float[Array, "M M B C"]:
        """Θ at this γ: 1 for the mean of the members' losses, M for their sum."""
        M = len(self.own)
        found = checks.real("gamma", gamma) / M * self.shared
        found[np.arange(M), np.arange(M)] += self.own
        return found


def tangent(
    net: EmbeddedEnsemble,
    x: Float[Array, "B m"],
    other: Float[Array, "C m"] | None = None,
    *,
    block_size: int = 256,
    bar: bool = False,
) -> Kernel:
    """Return the kernel of a network at hand: layer by layer, (X Xᵀ) ∘ (Δ Δᵀ).

    The gradient of f in W is the product of a layer's input and of the slope of f in its output,
    so that no Jacobian is ever formed: what is kept is (M, B, n) for each layer, beside the kernel.

    Parameters
    ----------
    net
        From `embedded`.
    x, other
        Inputs; without others, of x with itself, in about half the time.
    block_size
        How many inputs of x are multiplied at a time, a positive integer: no effect on the result.
    bar
        Show blocks as they are done (with tqdm).

    Raises
    ------
    TypeError, ValueError
        For anything but a network and inputs (B, m) and (C, m) of its features.
    """
    if not isinstance(net, EmbeddedEnsemble):
        raise TypeError(f"net must be an EmbeddedEnsemble, got {checks.given(net)}")
    if other is not None:
        net.check_inputs("other", other)
    one = net.forward_pass(x)
    two = one if other is None else net.forward_pass(other)
    M, B, C = net.ensemble_size, one.outputs.shape[1], two.outputs.shape[1]
    shared, own = np.zeros((M, M, B, C)), np.zeros((M, B, C))
    offsets = [net.bias_std**2] * (len(net.weights) - 1) + [0.0]
    pairs = [(i, j) for i in range(M) for j in range(i if other is None else 0, M)]
    for rows in row_blocks(B, block_size, bar):
        for layer, offset in enumerate(offsets):
            inputs, others = one.inputs[layer][:, rows], two.inputs[layer]
            slopes = one.slopes[layer][:, rows], two.slopes[layer]
            # The first layer's inputs are the same for all members.
            alike = inputs[0] @ others[0].T if len(inputs) == 1 else None
            for i, j in pairs:
                products = inputs[i] @ others[j].T if alike is None else alike
                shared[i, j, rows] += (products + offset) * (slopes[0][i] @ slopes[1][j].T)
        for pair, others in zip(one.modulated, two.modulated, strict=True):
            for first, second in zip(pair, others, strict=True):
                own[:, rows] += first[:, rows] @ second.swapaxes(1, 2)
    if other is None:
        for i, j in pairs:
            shared[j, i] = shared[i, j].T
    return Kernel(shared, own)


def row_blocks(number: int, block_size: int, bar: bool) -> Iterator[slice]:
    """Yield the rows of each block, and show how many are done."""
    starts = range(0, number, checks.positive_int("block_size", block_size))
    shown = optional("tqdm", "torch").tqdm if checks.boolean("bar", bar) else iter
    for start in shown(starts):
        yield slice(start, start + block_size)


@dataclass(frozen=True, eq=False)
class Limit:
    """What an ensemble is at infinite width, of two members: the same, and different ones."""

    #: E[f_i f_j], for j = i and j ≠ i.
    covariance: tuple[Float[Array, "B C"], Float[Array, "B C"]]
    #: Θ^com_ij, for j = i and j ≠ i.
    shared: tuple[Float[Array, "B C"], Float[Array, "B C"]]
    #: Θ^ind_i.
    own: Float[Array, "B C"]


def limit(
    x: Float[Array, "B m"],
    other: Float[Array, "C m"] | None = None,
    *,
    hidden_layers: int,
    u: Modulation | Sequence[Modulation] = SIGNS,
    v: Modulation | Sequence[Modulation] = ONES,
    activation: str = "relu",
    bias_std: float = 0.0,
) -> Limit:
    """Return the covariance of outputs and the kernel as the hidden layers grow, one after another.

    By recursion over layers: the first two moments of u, and an average over v, of normal
    integrals (`ensedu.theory.ntk`). Arguments are those of `embedded`, with a number of
    `hidden_layers` for sizes.

    Raises
    ------
    TypeError, ValueError
        For a bad argument.
    """
    check_float64("x", x)
    other = x if other is None else other
    check_float64("other", other)
    if x.ndim != 2 or other.ndim != 2 or x.shape[1] != other.shape[1]:
        raise ValueError(
            f"x has shape {x.shape} and other {other.shape}, accepted are (B, m) and (C, m)"
        )
    layers = checks.positive_int("hidden_layers", hidden_layers)
    checks.one_of("activation", activation, ACTIVATIONS)
    std, sizes = checks.not_negative("bias_std", bias_std), [1] * layers
    if not np.isfinite(offset := std * std):
        raise ValueError(f"bias_std must have a finite square, got {bias_std!r}")
    pairs = zip(one_for_each_layer("u", u, sizes), one_for_each_layer("v", v, sizes), strict=True)
    m = x.shape[1]
    cross = x @ other.T / m + offset
    # Of one member with itself, and of two.
    covariance, shared, own = [cross, cross], [cross, cross], np.zeros_like(cross)
    a, b = ((z**2).sum(axis=1) / m + offset for z in (x, other))
    for layer, (by_u, by_v) in enumerate(pairs, start=1):
        offset = offset if layer < layers else 0.0
        mean, square = by_u.moments
        same = _averaged_moments(activation, by_v, a[:, None], b, covariance[0], together=True)
        apart = _averaged_moments(activation, by_v, a[:, None], b, covariance[1], together=False)
        own = square * same["slope"] * own + same["value"] + square * same["scaled_slope"]
        a, b = (
            square * _averaged_moments(activation, by_v, c, c, c, together=True)["value"] + offset
            for c in (a, b)
        )
        moments = ((square, same), (mean**2, apart))
        shared = [
            factor * found["value"] + offset + factor * found["slope"] * before
            for (factor, found), before in zip(moments, shared, strict=True)
        ]
        covariance = [factor * found["value"] + offset for factor, found in moments]
    return Limit((covariance[0], covariance[1]), (shared[0], shared[1]), own)


def _averaged_moments(
    activation: str, by: Modulation, a: Array, b: Array, c: Array, *, together: bool
) -> dict[str, Array]:
    """Average the moments over v of two members, or of one that is the same in both places.

    Of s = v z and t = v′ z′, with the chain rule's factors: v v′ for the slopes in z, none for
    those in v.
    """
    found: dict[str, Array] = {}
    values, chances = by.points
    for v, chance in zip(values, chances, strict=True):
        rows = [(v, 1.0)] if together else zip(values, chances, strict=True)
        for w, other in rows:
            if v * w == 0:
                raise ValueError("v must not be 0, got a distribution that may be")
            moments = ACTIVATIONS[activation].moments(v**2 * a, w**2 * b, v * w * c)
            parts = {
                "value": moments.value,
                "slope": v * w * moments.slope,
                "scaled_slope": moments.scaled_slope / (v * w),
            }
            for name, part in parts.items():
                found[name] = found.get(name, 0) + chance * other * part
    return found


def flow(
    kernel: Float[Array, "M M B B"],
    start: Float[Array, "M B"],
    targets: Float[Array, " B"],
    times: Sequence[float],
) -> Float[Array, "T M B"]:
    """Return the members' outputs on the training inputs at each of these times.

    ``f(t) = y + exp(-Θ t / B) (f(0) - y)``: under a kernel that stays as it is, every member's
    distance from the targets shrinks as ``d(f - y)/dt = -Θ (f - y) / B``, by its loss
    ``½ mean_x (f_i - y)²``. A step of gradient descent takes a time of its learning
    rate.

    Parameters
    ----------
    kernel
        Θ of each pair of members and of training inputs, as `Kernel.total` gives it: symmetric.
    start
        f(0), as ``net(x)``.
    targets
        y, (B,), the same for all members.
    times
        A list of numbers from 0 up.

    Raises
    ------
    TypeError, ValueError
        For arrays that do not fit each other, a kernel that is not symmetric, and times below 0.
    """
    for name, array in (("kernel", kernel), ("start", start), ("targets", targets)):
        check_float64(name, array)
    M, B = start.shape if start.ndim == 2 else (0, 0)
    if kernel.shape != (M, M, B, B) or targets.shape != (B,):
        raise ValueError(
            f"kernel has shape {kernel.shape}, start {start.shape} and targets {targets.shape}, "
            "accepted are (M, M, B, B), (M, B) and (B,)"
        )
    matrix = kernel.transpose(0, 2, 1, 3).reshape(M * B, M * B)
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * np.abs(matrix).max()):
        raise ValueError("kernel must be symmetric: that of x with itself, not with other inputs")
    if isinstance(times, (str, bytes)) or not isinstance(times, Sequence):
        raise TypeError(f"times must be a sequence of numbers, got {checks.given(times)}")
    moments = np.array([checks.not_negative(f"times[{i}]", t) for i, t in enumerate(times)])
    rates, directions = np.linalg.eigh((matrix + matrix.T) / 2)
    begin = directions.T @ (start - targets).ravel()
    shrunk = np.exp(-np.outer(moments, rates) / B) * begin  # (T, M B)
    return targets + (shrunk @ directions.T).reshape(-1, M, B)


def modes(ensemble_size: int, ratio: float | int, gamma: float | int = 1.0) -> tuple[float, float]:
    """Return how fast members move together and apart, where Θ^com_ij = χ Θ^com_ii for all j ≠ i.

    Relative to one network of that kernel: the mean of the members at ``γ (1 + (M - 1) χ) / M``,
    every difference of two at ``γ (1 - χ) / M``. At χ = 0 both are γ / M: no member sees another.
    At χ = 1 differences stay as they are.

    Parameters
    ----------
    ensemble_size
        M, a positive integer.
    ratio
        χ, from -1 / (M - 1), below which there is no such kernel, to 1.
    gamma
        γ(M): 1 for the mean of the members' losses, M for their sum.

    Raises
    ------
    TypeError, ValueError
        For a bad argument.

    Examples
    --------
    >>> modes(4, 0.0, gamma=4.0)
    (1.0, 1.0)
    >>> modes(4, 1.0)
    (1.0, 0.0)
    """
    M = checks.positive_int("ensemble_size", ensemble_size)
    share, factor = checks.real("ratio", ratio), checks.real("gamma", gamma, low=0.0)
    if not (-1 / (M - 1) if M > 1 else -1) <= share <= 1:
        raise ValueError(f"ratio must be from -1 / (M - 1) to 1, got {ratio!r} for M = {M}")
    return factor * (1 + (M - 1) * share) / M, factor * (1 - share) / M
