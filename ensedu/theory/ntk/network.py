"""The network: members that share all weights and modulate units, with slopes by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks
from ensedu.common.array_checks import check_float64, check_rng
from ensedu.theory.ntk.units import ACTIVATIONS, ALL_ONES, SIGNS, Modulation, layer_modulations


@dataclass(frozen=True, eq=False)
class Pass:
    """What a forward and a backward pass of every member go through."""

    #: Of each layer, divided by the root of their number, (M, B, m), the first (1, B, m).
    inputs: list[Float[Array, "#M B _"]]
    #: ∂f / ∂z of each layer, (M, B, n).
    slopes: list[Float[Array, "M B _"]]
    #: ∂f / ∂u and ∂f / ∂v of each hidden layer, a pair of (M, B, n).
    modulation_slopes: list[tuple[Float[Array, "M B _"], Float[Array, "M B _"]]]
    #: f, (M, B).
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
    """

    #: Shared, (m, n) of each layer and (n,) of each hidden layer.
    weights: list[Float[Array, "_ _"]]
    biases: list[Float[Array, " _"]]
    #: (M, n) of each hidden layer.
    u: list[Float[Array, "M _"]]
    v: list[Float[Array, "M _"]]
    #: ``"relu"``, ``"erf"`` or ``"tanh"``.
    activation: str = "relu"
    #: σ_b.
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
            [(pair[i] * pull[..., None]).sum(axis=1) for pair in passed.modulation_slopes]
            for i in (0, 1)
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
    v: Modulation | Sequence[Modulation] = ALL_ONES,
    activation: str = "relu",
    bias_std: float = 0.0,
) -> EmbeddedEnsemble:
    """Draw an `EmbeddedEnsemble` at its start: weights, biases, then u and v, layer by layer.

    Sizes are inputs, one or more hidden widths, and 1 output; u and v are one `Modulation` for all
    hidden layers, or one for each.
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
        several = layer_modulations(name, value, hidden)
        drawn.append([own.sample(rng, M, n) for own, n in zip(several, hidden, strict=True)])
    return EmbeddedEnsemble(weights, biases, *drawn, activation, std)
