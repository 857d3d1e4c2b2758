"""Dropout that stays on: each mask is a thinned network, a sample to average over."""

from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu.common import checks, layer_checks
from ensedu.common.array_checks import check_float64, check_rng
from ensedu.numpy.base import Layer, Noise


class MCDropout(Layer):
    """Set each unit to 0 with probability p, multiply the rest by 1 / (1 - p), always.

    Gal and Ghahramani 2016. An input (S, B, features) gives each of its S leading indices a mask
    of its own, (B, features) gets one; a mask is shared by the batch, so that it is one network.

    Parameters
    ----------
    p
        Probability of dropping a unit, 0 <= p < 1.
    per_example
        Draw a mask for each example, as ``nn.Dropout`` does.
    feature_axes
        How many axes one example has: 1 for (B, features), 3 for images (B, C, H, W).
    rng
        Default source of masks.
    """

    def __init__(
        self, p: float = 0.1, *, rng: Generator, per_example: bool = False, feature_axes: int = 1
    ) -> None:
        super().__init__()
        self.p = checks.fraction("p", p)
        self.per_example = checks.boolean("per_example", per_example)
        self.feature_axes = checks.positive_int("feature_axes", feature_axes)
        self.rng = check_rng("rng", rng)

    def noise(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> Noise:
        """Draw a mask of bools, True where a unit stays, for an input of this shape."""
        shape = layer_checks.dropout_input_shape("input_shape", input_shape, self.feature_axes)
        rng = self.rng if rng is None else check_rng("rng", rng)
        if not self.per_example:
            shape[-self.feature_axes - 1] = 1
        return {"mask": rng.random(shape) >= self.p}

    def forward(
        self, x: Float[Array, "*axes"], noise: Noise | None = None
    ) -> Float[Array, "*axes"]:
        check_float64("MCDropout: input x", x)
        layer_checks.dropout_input_shape("MCDropout: input x", x.shape, self.feature_axes)
        noise = self.noise(None, x.shape) if noise is None else noise
        factors = layer_checks.dropout_mask(noise, x.shape, self.feature_axes, Array) / (1 - self.p)
        self._cache = factors, x.shape
        return x * factors

    def backward(self, grad: Float[Array, "*axes"]) -> Float[Array, "*axes"]:
        return grad * self._recall(grad)

    def __repr__(self) -> str:
        return f"MCDropout(p={self.p})"
