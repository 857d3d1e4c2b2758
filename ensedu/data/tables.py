"""Tables of numbers: inputs with names, and what is to be predicted."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.common import checks
from ensedu.data.row_checks import check_features, check_targets
from ensedu.data.splits import Split


@dataclass(frozen=True, eq=False)
class Table:
    """N rows of m inputs, with k numbers to predict; ``len(table)`` is N.

    Attributes
    ----------
    x
        Inputs, raw, (N, m).
    y
        Numbers to predict, raw, (N, k).
    names
        What the m columns of x are called; one-hot ones ``"cut=Ideal"``.
    targets
        What the k columns of y are called.

    Raises
    ------
    TypeError, ValueError
        If these do not belong together, and for numbers that are not finite.
    """

    x: Float[Array, "N m"]
    y: Float[Array, "N k"]
    names: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        check_features("x", self.x)
        check_features("y", self.y)
        check_targets("y", self.y, len(self.x))
        for name, value, of in (("names", self.names, self.x), ("targets", self.targets, self.y)):
            _check_words(name, value, of.shape[1])

    def split(self, seed: int, test: float = 0.1) -> Split:
        """Shuffle the rows by `seed`, and keep a part of them to `test` on: `Split.at_random`."""
        return Split.at_random(self.x, self.y, seed, test)

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"Table({len(self):,} rows, {len(self.names)} inputs, {', '.join(self.targets)})"


def _check_words(name: str, value: Any, number: int) -> None:
    """Check that `value` is a tuple of so many different strings."""
    accepted = f"a tuple of {number} different strings"
    if not isinstance(value, tuple) or not all(isinstance(word, str) for word in value):
        raise TypeError(f"{name} must be {accepted}, got {checks.given(value)}")
    if number != len(value) or len(set(value)) < len(value):
        raise ValueError(f"{name} must be {accepted}, got {checks.shown(value)}")
