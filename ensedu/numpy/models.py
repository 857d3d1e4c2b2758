"""A well-known network of every method, made of this package's layers."""

from typing import Any

from numpy.random import Generator

from ensedu.common import checks
from ensedu.methods import METHODS, checked_sizes, layer_methods
from ensedu.numpy.activations import ReLU
from ensedu.numpy.base import Layer
from ensedu.numpy.dropout import MCDropout
from ensedu.numpy.network import Sequential, Tile, layer_class
from ensedu.numpy.windows import Flatten, MaxPool2d


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

    Raises
    ------
    TypeError, ValueError
        For a bad argument, members or samples that the method does not have, and an option that
        the layers do not have.
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
