"""Exact parameter counts: formulas for each method, and the count of real arrays.

A layer has ``m = in_features`` inputs, ``n = out_features`` outputs and, for a convolution, a
kernel of ``height * width`` entries; an ensemble has ``M = ensemble_size`` members. What each
method trains stands in the table `ensedu.methods.METHODS`; every count follows from it.
`layer` counts one layer of any method; `linear` (one network), `deep_ensemble`, … are `layer` for
one method each.

Everything is an exact integer (or a ``Fraction``), and only the standard library is needed. All
raise ``TypeError`` or ``ValueError`` for a size that is no positive integer, an unknown method, and
members or samples that it does not have.
"""

from ensedu.counting.formulas import (
    Count,
    asymptotic_ratio,
    batch_ensemble,
    break_even_width,
    deep_ensemble,
    formula_table,
    last_layer,
    layer,
    linear,
    mc_dropout,
    mean_field,
    mlp,
    one_more_member,
    rank1,
)
from ensedu.counting.real_arrays import count

__all__ = [
    "Count",
    "asymptotic_ratio",
    "batch_ensemble",
    "break_even_width",
    "count",
    "deep_ensemble",
    "formula_table",
    "last_layer",
    "layer",
    "linear",
    "mc_dropout",
    "mean_field",
    "mlp",
    "one_more_member",
    "rank1",
]
