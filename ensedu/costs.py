"""What a layer costs by formula: operations, numbers moved, and a bound on time.

`layer` costs one layer of any method, with the arguments of `ensedu.counting.layer`. Needs nothing
but the standard library. Not counted are random numbers, softplus, and what an activation does.
"""

from dataclasses import dataclass
from math import prod

from ensedu import counting
from ensedu.common import checks
from ensedu.methods import METHODS, checked_sizes

__all__ = ["FORMS", "Cost", "layer"]

#: Two equal ways to modulate: scale activations by r and s, or fold r and s into the matrix.
FORMS = ("scale", "fold")


@dataclass(frozen=True)
class Cost:
    """The cost of a layer's forward pass, or of its forward and backward pass.

    Parameters
    ----------
    product_flops
        Multiplications and additions of the matrix products: 2 m n for each row.
    other_flops
        Those outside: scaling by r and s, folding them into a weight, drawing weights from means
        and standard deviations, masks, biases.
    num_params
        Numbers of parameters that are read, and of gradients that are written.
    num_activations
        Numbers of the input that are read and of the output that are written, each once: the least
        that any implementation moves. Backward the same of their gradients.
    itemsize
        Bytes of a number.

    Raises
    ------
    TypeError, ValueError
        For numbers that are not integers from 0 up, or an `itemsize` that is not positive.
    """

    product_flops: int
    other_flops: int
    num_params: int
    num_activations: int
    itemsize: int = 4

    def __post_init__(self) -> None:
        # frozen: plain assignment is refused, and a NumPy integer would overflow later
        for name in ("product_flops", "other_flops", "num_params", "num_activations"):
            object.__setattr__(self, name, checks.natural_int(name, getattr(self, name)))
        object.__setattr__(self, "itemsize", checks.positive_int("itemsize", self.itemsize))

    @property
    def flops(self) -> int:
        """All multiplications and additions."""
        return self.product_flops + self.other_flops

    @property
    def bytes(self) -> int:
        """The least number of bytes that move from and to memory."""
        return self.itemsize * (self.num_params + self.num_activations)

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations for each byte moved (Williams et al. 2009).

        Raises ``ValueError`` where nothing moves.
        """
        if self.bytes == 0:
            raise ValueError("num_params and num_activations are 0, accepted is a cost that moves")
        return _divided(self.flops, self.bytes)

    def seconds(self, flops_per_second: float, bytes_per_second: float) -> float:
        """The roofline's bound on time: no less than computing takes, nor than moving takes.

        Williams et al. 2009. Raises ``TypeError`` or ``ValueError`` for a rate that is no finite
        number above 0.
        """
        peak = checks.real("flops_per_second", flops_per_second, low=0.0)
        bandwidth = checks.real("bytes_per_second", bytes_per_second, low=0.0)
        return max(_divided(self.flops, peak), _divided(self.bytes, bandwidth))


def _divided(number: int, by: float | int) -> float:
    try:
        return number / by
    except OverflowError:
        raise ValueError(
            "product_flops, other_flops, num_params and num_activations must be below 1e308 to "
            f"be divided, got {checks.describe(number)}"
        ) from None


def layer(
    in_features: int,
    out_features: int,
    method: str = "single",
    ensemble_size: int | None = None,
    *,
    samples: int | None = None,
    batch_size: int,
    kernel_size: int | tuple[int, int] = 1,
    in_positions: int = 1,
    out_positions: int = 1,
    bias: bool = True,
    form: str = "scale",
    backward: bool = False,
    itemsize: int = 4,
) -> Cost:
    """The cost of one layer: for each row 2 m n operations in its product.

    Rows are the examples of all members and samples, M S B. Beside the product:

    - r and s: scaling multiplies m + n activations a row (forward; 2 (m + n) more backward),
      folding 2 m n entries of a matrix a member (6 m n more backward);
    - numbers that are drawn from a mean and a standard deviation: a multiplication and an addition
      each (a multiplication more backward);
    - units that are dropped: one multiplication an output each way;
    - a bias: one addition an output each way.

    Parameters
    ----------
    in_features, out_features, method, ensemble_size, samples, kernel_size, bias
        As for `ensedu.counting.layer`.
    batch_size
        Number of examples B that each member sees.
    in_positions, out_positions
        Height times width of a convolution's images, of its input and of its output; 1 for a
        linear layer.
    form
        How r and s are applied, one of `FORMS`.
    backward
        Whether to add the backward pass: twice the products, and as much again of what moves.
    itemsize
        Bytes of a number.

    Raises
    ------
    TypeError, ValueError
        As `ensedu.counting.layer`, for a size that is not a positive integer, an unknown `form`,
        and a flag that is not a bool.

    Examples
    --------
    >>> layer(50, 50, "deep_ensemble", 4, batch_size=32).product_flops
    640000
    """
    M, S = checked_sizes(method, ensemble_size, samples)
    sizes = in_features, out_features
    count = counting.layer(*sizes, method, ensemble_size, kernel_size=kernel_size, bias=bias)
    batch_size, in_positions, out_positions, m, n = (
        checks.positive_int(name, value)
        for name, value in (
            ("batch_size", batch_size),
            ("in_positions", in_positions),
            ("out_positions", out_positions),
            ("in_features", in_features),
            ("out_features", out_features),
        )
    )
    checks.one_of("form", form, FORMS)
    row, S = METHODS[method], S or 1
    matrix = m * n * prod(checks.pair("kernel_size", kernel_size))
    rows = M * S * batch_size
    inputs, outputs = rows * in_positions * m, rows * out_positions * n
    each_way = outputs * (bias + row.drops_units)
    forward_only = backward_only = 0
    if row.modulated:
        factor, entries = (1, inputs + outputs) if form == "scale" else (2, M * S * matrix)
        forward_only += factor * entries
        backward_only += (2 if form == "scale" else 6) * entries
    # As many entries are drawn as there are standard deviations, those of biases included.
    drawn = S * (count.stds + (n * bias if row.stochastic and not row.has_members else 0))
    if count.stds:
        forward_only += 2 * drawn
        backward_only += drawn
    ways = 1 + checks.boolean("backward", backward)
    return Cost(
        product_flops=2 * rows * out_positions * matrix * (2 * ways - 1),
        other_flops=forward_only + ways * each_way + (backward_only if backward else 0),
        num_params=ways * count.total,
        num_activations=ways * (inputs + outputs),
        itemsize=itemsize,
    )
