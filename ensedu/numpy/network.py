"""Layers in a row, and networks of each method: multilayer perceptrons, and LeNet-5."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks, layer_checks
from ensedu.common.array_checks import check_float64, check_rng
from ensedu.methods import METHODS, checked_sizes, layer_methods
from ensedu.numpy.activations import Multiply, ReLU, Tanh
from ensedu.numpy.base import Layer, Noise, WeightLayer
from ensedu.numpy.batch_ensemble import BatchEnsembleConv2d, BatchEnsembleLinear
from ensedu.numpy.deep_ensemble import DeepEnsembleConv2d, DeepEnsembleLinear
from ensedu.numpy.dropout import MCDropout
from ensedu.numpy.linear import Linear
from ensedu.numpy.mean_field import MeanFieldConv2d, MeanFieldLinear
from ensedu.numpy.rank1 import Rank1Conv2d, Rank1Linear
from ensedu.numpy.windows import Conv2d, Flatten, MaxPool2d

#: Every layer with weights, by its name.
LAYER_CLASSES: dict[str, type[WeightLayer]] = {
    layer.__name__: layer
    for layer in (
        Linear, Conv2d,
        DeepEnsembleLinear, DeepEnsembleConv2d,
        BatchEnsembleLinear, BatchEnsembleConv2d,
        Rank1Linear, Rank1Conv2d,
        MeanFieldLinear, MeanFieldConv2d,
    )
}  # fmt: skip


def layer_class(method: str, product: str) -> type[WeightLayer]:
    """Return the class of a method's layer: `product` is ``"Linear"`` or ``"Conv2d"``."""
    return LAYER_CLASSES[METHODS[method].layer + product]


ACTIVATIONS = {"relu": ReLU, "tanh": Tanh}
PARAMETRIZATIONS = ("standard", "ntk")


class Tile(Layer):
    """Repeat a batch: (B, features) -> (S, B, features), one copy for each of S samples.

    Parameters
    ----------
    samples
        S, a positive integer.
    ensemble_size
        For layers with members: M, a positive integer; the result is (S, M, B, features).
    feature_axes
        How many axes one example has: 1 for (B, features), 3 for images (B, C, H, W).
    """

    def __init__(
        self, samples: int, ensemble_size: int | None = None, *, feature_axes: int = 1
    ) -> None:
        super().__init__()
        self.samples = checks.positive_int("samples", samples)
        self.feature_axes = checks.positive_int("feature_axes", feature_axes)
        self.ensemble_size = ensemble_size
        if ensemble_size is not None:
            self.ensemble_size = checks.positive_int("ensemble_size", ensemble_size)

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        members = () if self.ensemble_size is None else (self.ensemble_size,)
        return (self.samples, *members, *checks.array_shape("input_shape", input_shape))

    def forward(self, x: Float[Array, "*B_features"]) -> Float[Array, "S *M_B_features"]:
        check_float64("Tile: input x", x)
        if x.ndim != 1 + self.feature_axes:
            raise ValueError(
                f"Tile: input x has shape {x.shape}, "
                f"accepted is {layer_checks.batch_axes(self.feature_axes)}"
            )
        y = np.broadcast_to(x, self.output_shape(x.shape)).copy()
        self._cache = None, y.shape
        return y

    def backward(self, grad: Float[Array, "S *M_B_features"]) -> Float[Array, "*B_features"]:
        self._recall(grad)
        return grad.sum(axis=tuple(range(grad.ndim - 1 - self.feature_axes)))

    def __repr__(self) -> str:
        members = "" if self.ensemble_size is None else f", ensemble_size={self.ensemble_size}"
        return f"Tile({self.samples}{members})"


class Sequential:
    """Layers applied one after another; ``params``, ``grads`` and noise are named "index.name".

    No layer may be in it twice: each keeps one forward pass for ``backward``.
    """

    def __init__(self, *layers: "Layer | Sequential") -> None:
        for i, layer in enumerate(layers):
            if not isinstance(layer, (Layer, Sequential)):
                raise TypeError(
                    f"layers[{i}] must be an ensedu.numpy layer, got {checks.describe(layer)}"
                )
        self.layers = list(layers)
        seen: dict[int, str] = {}
        for name, layer in named_layers(self):
            if id(layer) in seen:
                raise ValueError(
                    f"layers must be different objects, got one {layer!r} at {seen[id(layer)]} "
                    f"and {name}"
                )
            seen[id(layer)] = name

    def __call__(self, x: Array, noise: Noise | None = None) -> Array:
        return self.forward(x, noise)

    def noise(self, rng: Generator | None, input_shape: tuple[int, ...]) -> Noise:
        """Draw the noise of all layers for an input of this shape, as `forward` takes it."""
        if rng is not None:
            check_rng("rng", rng)
        drawn: Noise = {}
        shape = checks.array_shape("input_shape", input_shape)
        for i, layer in enumerate(self.layers):
            if hasattr(layer, "noise"):
                drawn |= {f"{i}.{k}": value for k, value in layer.noise(rng, shape).items()}
            shape = layer.output_shape(shape)
        return drawn

    def forward(self, x: Array, noise: Noise | None = None) -> Array:
        names = [str(i) for i, layer in enumerate(self.layers) if hasattr(layer, "noise")]
        own = {} if noise is None else layer_checks.noise_by_layer(noise, names)
        for i, layer in enumerate(self.layers):
            x = layer.forward(x, own[str(i)]) if str(i) in own else layer.forward(x)
        return x

    def backward(self, grad: Array) -> Array:
        for layer in reversed(self.layers):
            grad = layer.backward(grad)
        return grad

    def output_shape(self, input_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the output's shape for an input of this shape."""
        shape = checks.array_shape("input_shape", input_shape)
        for layer in self.layers:
            shape = layer.output_shape(shape)
        return shape

    @property
    def params(self) -> dict[str, Array]:
        return {
            f"{name}.{k}": v for name, layer in named_layers(self) for k, v in layer.params.items()
        }

    @property
    def grads(self) -> dict[str, Array]:
        return {
            f"{name}.{k}": v for name, layer in named_layers(self) for k, v in layer.grads.items()
        }

    def zero_grad(self) -> None:
        """Empty the gradients of all layers."""
        for layer in self.layers:
            layer.zero_grad()

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(repr, self.layers))})"


def named_layers(network: Layer | Sequential, name: str = "") -> Iterator[tuple[str, Layer]]:
    """Yield each layer of a network with its name, in the order in which they are called."""
    if isinstance(network, Layer):
        yield name, network
        return
    for i, layer in enumerate(network.layers):
        yield from named_layers(layer, f"{name}.{i}".lstrip("."))


def check_network(network: Any) -> "Layer | Sequential":
    """Return `network` if it is a layer or a network of this package."""
    if not isinstance(network, (Layer, Sequential)):
        raise TypeError(
            f"network must be an ensedu.numpy layer or network, got {checks.describe(network)}"
        )
    return network


def kl(network: Layer | Sequential) -> float:
    """The sum over layers of KL(q ‖ prior) in nats, the mean over members; 0 without such a layer.

    For the mixture of the members, the mean of their KLs is an upper bound (convexity).
    """
    check_network(network)
    return float(
        sum(np.mean(layer.kl()) for _, layer in named_layers(network) if hasattr(layer, "kl"))
    )


def kl_backward(network: Layer | Sequential, weight: float = 1.0) -> None:
    """Add the gradient of ``weight * kl(network)`` to the layers' ``grads``.

    For an evidence lower bound over N examples the weight is 1/N beside a loss that is a mean over
    members, and M/N beside one that is their sum.
    """
    check_network(network)
    checks.real("weight", weight)
    for _, layer in named_layers(network):
        if hasattr(layer, "kl_backward"):
            layer.kl_backward(weight)


def mlp(
    sizes: Sequence[int],
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    rng: Generator,
    samples: int | None = None,
    activation: str = "relu",
    bias: bool = True,
    parametrization: str = "standard",
    **options: Any,
) -> Sequential:
    """A multilayer perceptron with an activation between its layers and nothing after the last.

    Parameters
    ----------
    sizes
        At least two positive integers: inputs m, hidden widths, outputs n.
    method
        A key of `ensedu.methods.METHODS`. ``"single"`` maps (B, m) to (B, n), methods with members
        to (M, B, n), samples without members to (S, B, n).
    ensemble_size
        Number of members M, for a method that has them.
    samples
        Number of samples S of a forward pass, for a method that draws. Without members it is 1 by
        default; with members, a given S makes the output (S, M, B, n).
    rng
        As for `Linear`.
    activation
        ``"relu"`` or ``"tanh"``.
    bias
        Whether layers have biases.
    parametrization
        ``"standard"`` starts as ``nn.Linear`` does. ``"ntk"`` draws weights (means, for
        distributions) and biases from N(0, 1), and multiplies the input of each layer by 1/√m, so
        that training has a limit as the widths grow (Jacot et al. 2018; Velikanov et al. 2022).
    options
        Further arguments of the method's layer (``init``, ``prior``, ...); for a method that drops
        units those of `MCDropout`, which follows each activation.
    """
    sizes = checks.layer_sizes("sizes", sizes)
    M, S = checked_sizes(method, ensemble_size, samples)
    row = METHODS[method]
    act = ACTIVATIONS[checks.one_of("activation", activation, ACTIVATIONS)]
    ntk = checks.one_of("parametrization", parametrization, PARAMETRIZATIONS) == "ntk"
    keys = layer_methods(method, len(sizes) - 1)

    def weights(m: int, n: int, key: str) -> list[Layer]:
        members = (M,) if METHODS[key].has_members else ()
        own = {} if row.drops_units or key != method else options
        layer = layer_class(key, "Linear")(m, n, *members, rng=rng, bias=bias, **own)
        if not ntk:
            return [layer]
        for name, array in layer.params.items():
            if name in ("weight", "weight_mean", "bias", "bias_mean"):
                array[...] = rng.standard_normal(array.shape)
        return [Multiply(m**-0.5), layer]

    layers: list[Layer] = [] if S is None else [Tile(S, M if row.has_members else None)]
    for i, (pair, key) in enumerate(zip(pairwise(sizes), keys, strict=True)):
        if i:
            layers += [act(), *([MCDropout(rng=rng, **options)] if row.drops_units else [])]
        layers += weights(*pair, key)
    return Sequential(*layers)


def lenet5(
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    rng: Generator,
    samples: int | None = None,
    classes: int = 10,
    filters: tuple[int, int] = (6, 16),
    **options: Any,
) -> Sequential:
    """LeNet-5 for images (B, 1, 28, 28), with ReLU and max pooling: 61,706 numbers for one network.

    LeCun et al. 1998, in the form that most libraries train today.

    Parameters
    ----------
    method, ensemble_size, samples, rng
        As for `mlp`, with images (B, 1, 28, 28) for features.
    classes
        How many numbers come out for each image.
    filters
        The channels of its two convolutions.
    options
        Further arguments of the method's layers; for a method that drops units, or channels of
        images, those of `MCDropout`, which follows each activation.
    """
    M, S = checked_sizes(method, ensemble_size, samples)
    row = METHODS[method]
    keys = iter(layer_methods(method, 5))
    first, second = checks.layer_sizes("filters", filters)
    classes = checks.positive_int("classes", classes)

    def layer(product: str, *sizes: int, **geometry: int) -> Layer:
        key = next(keys)
        members = (M,) if METHODS[key].has_members else ()
        own = {} if row.drops_units or key != method else options
        return layer_class(key, product)(*sizes, *members, rng=rng, **geometry, **own)

    def activation(axes: int) -> list[Layer]:
        dropout = [MCDropout(rng=rng, feature_axes=axes, **options)] if row.drops_units else []
        return [ReLU(), *dropout]

    tile = [] if S is None else [Tile(S, M if row.has_members else None, feature_axes=3)]
    return Sequential(
        *tile,
        layer("Conv2d", 1, first, 5, padding=2), *activation(3), MaxPool2d(2),
        layer("Conv2d", first, second, 5), *activation(3), MaxPool2d(2), Flatten(),
        layer("Linear", 25 * second, 120), *activation(1),
        layer("Linear", 120, 84), *activation(1),
        layer("Linear", 84, classes),
    )  # fmt: skip
