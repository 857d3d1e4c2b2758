"""Dropout that stays on: each mask is a thinned network, a sample to average over."""

from jaxtyping import Float
from numpy import ndarray as Array
from numpy.random import Generator

from ensedu import _checks
from ensedu.numpy.base import Layer, check_array, check_rng


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
    rng
        Default source of masks.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for an input that is neither (B, features) nor (S, B, features).
    """

    def __init__(self, p: float = 0.1, *, rng: Generator, per_example: bool = False) -> None:
        super().__init__()
        self.p = _checks.fraction("p", p)
        self.per_example = _checks.boolean("per_example", per_example)
        self.rng = check_rng("rng", rng)

    def sample(
        self, rng: Generator | None = None, input_shape: tuple[int, ...] | None = None
    ) -> dict[str, Array]:
        """Draw a mask of bools, True where a unit stays, for an input of shape `input_shape`."""
        if input_shape is None:
            raise ValueError(
                "input_shape must be the input's shape, (B, features) or (S, B, features), got None"
            )
        rng = self.rng if rng is None else check_rng("rng", rng)
        *leading, batch, features = input_shape
        batch = batch if self.per_example else 1
        return {"mask": rng.random((*leading, batch, features)) >= self.p}

    def forward(
        self,
        x: Float[Array, "S B features"] | Float[Array, "B features"],
        sample: dict[str, Array] | None = None,
    ) -> Float[Array, "S B features"] | Float[Array, "B features"]:
        check_array("MCDropout: input x", x)
        _checks.batch("MCDropout", x.shape)
        sample = self.sample(None, x.shape) if sample is None else sample
        scale = (_checks.mask(sample, x.shape) / (1 - self.p)).astype(x.dtype)
        self._cache = scale, x.shape
        return x * scale

    def backward(
        self, grad: Float[Array, "S B features"] | Float[Array, "B features"]
    ) -> Float[Array, "S B features"] | Float[Array, "B features"]:
        scale = self._recall(grad)
        return grad * scale

    def __repr__(self) -> str:
        return f"MCDropout(p={self.p})"
