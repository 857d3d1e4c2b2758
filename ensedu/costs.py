"""What one layer's forward pass costs by formula: operations, bytes moved, and a bound on time.

Needs nothing but the standard library. All functions take ``(in_features, out_features)`` and
``batch``, the number of examples B that each member sees; `Cost` says what they return.
"""

from dataclasses import dataclass

from ensedu import _checks


@dataclass(frozen=True)
class Cost:
    """The cost of a layer's forward pass.

    Parameters
    ----------
    product_flops
        Multiplications and additions of the matrix products: 2 m n for each row.
    other_flops
        Those outside: scaling by r and s, folding them into a weight, adding a bias.
    parameter_numbers
        Numbers of parameters that the pass reads.
    activation_numbers
        Numbers of the input that it reads and of the output that it writes, each once: the least
        that any implementation moves.
    number_bytes
        Bytes of a number.
    """

    product_flops: int
    other_flops: int
    parameter_numbers: int
    activation_numbers: int
    number_bytes: int = 4

    @property
    def flops(self) -> int:
        """All multiplications and additions."""
        return self.product_flops + self.other_flops

    @property
    def bytes(self) -> int:
        """The least number of bytes that the pass moves from and to memory."""
        return self.number_bytes * (self.parameter_numbers + self.activation_numbers)

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations for each byte moved (Williams et al. 2009)."""
        return self.flops / self.bytes

    def seconds(self, flops_per_second: float, bytes_per_second: float) -> float:
        """The roofline's bound on time: no less than computing takes, nor than moving takes.

        Williams et al. 2009. Raises ``ValueError`` for a rate that is not above 0.
        """
        peak = _checks.real("flops_per_second", flops_per_second, low=0.0)
        bandwidth = _checks.real("bytes_per_second", bytes_per_second, low=0.0)
        return max(self.flops / peak, self.bytes / bandwidth)


def linear(
    in_features: int, out_features: int, *, batch: int, bias: bool = True, number_bytes: int = 4
) -> Cost:
    """One layer, m to n, for B examples: 2 B m n operations in its product."""
    return deep_ensemble(
        in_features,
        out_features,
        ensemble_size=1,
        batch=batch,
        bias=bias,
        number_bytes=number_bytes,
    )


def deep_ensemble(
    in_features: int,
    out_features: int,
    *,
    ensemble_size: int,
    batch: int,
    bias: bool = True,
    number_bytes: int = 4,
) -> Cost:
    """M layers that share nothing: 2 M B m n operations, and M (m n + n) parameters to read."""
    m, n, M, B = _sizes(in_features, out_features, ensemble_size, batch)
    b = int(_checks.boolean("bias", bias))
    return Cost(
        product_flops=2 * M * B * m * n,
        other_flops=b * M * B * n,
        parameter_numbers=M * (m * n + b * n),
        activation_numbers=M * B * (m + n),
        number_bytes=_checks.positive_int("number_bytes", number_bytes),
    )


def batch_ensemble(
    in_features: int,
    out_features: int,
    *,
    ensemble_size: int,
    batch: int,
    bias: bool = True,
    fold: bool = False,
    number_bytes: int = 4,
) -> Cost:
    """A BatchEnsemble: as many operations in products, m n + M (m + n) + M n parameters to read.

    Beside the products, scale multiplies M B (m + n) activations, and fold M m n entries twice.
    """
    m, n, M, B = _sizes(in_features, out_features, ensemble_size, batch)
    b = int(_checks.boolean("bias", bias))
    extra = 2 * M * m * n if _checks.boolean("fold", fold) else M * B * (m + n)
    return Cost(
        product_flops=2 * M * B * m * n,
        other_flops=extra + b * M * B * n,
        parameter_numbers=m * n + M * (m + n) + b * M * n,
        activation_numbers=M * B * (m + n),
        number_bytes=_checks.positive_int("number_bytes", number_bytes),
    )


def _sizes(*values: int) -> tuple[int, ...]:
    names = ("in_features", "out_features", "ensemble_size", "batch")
    return tuple(
        _checks.positive_int(name, value) for name, value in zip(names, values, strict=True)
    )
