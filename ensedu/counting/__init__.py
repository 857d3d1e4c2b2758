"""Exact parameter counts: formulas for each method, and the count of real arrays.

A layer has ``m = in_features`` inputs, ``n = out_features`` outputs and, for a convolution, a
kernel of ``height * width`` entries; an ensemble has ``M = ensemble_size`` members. What each
method trains stands in the table `ensedu.methods.METHODS`; every count follows from it.
`layer` counts one layer of any method; `linear` (one network), `deep_ensemble`, … are `layer` for
one method each.

Everything is an exact integer (or a ``Fraction``), and only the standard library is needed.
"""

from typing import TYPE_CHECKING

from ensedu.counting.formulas import (
    FUNCTIONS,
    Count,
    asymptotic_ratio,
    break_even_width,
    formula_table,
    layer,
    mlp,
    one_more_member,
)
from ensedu.counting.real_arrays import count

__all__ = [
    "Count",
    "asymptotic_ratio",
    "break_even_width",
    "count",
    "formula_table",
    "layer",
    "mlp",
    "one_more_member",
]

if TYPE_CHECKING:
    from ensedu.counting.formulas import LayerOfAMethod

    # One for each row of the table, which a type checker does not read: it takes any name.
    def __getattr__(name: str) -> LayerOfAMethod: ...


globals().update(FUNCTIONS)
__all__ += list(FUNCTIONS)
