"""What is counted: trainable numbers by role, which add up and print as a table."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ensedu.common import checks
from ensedu.counting.text_table import Cell, Column, Row, Table
from ensedu.methods import ROLE_LABELS, ROLES

__all__ = ["Count", "sum_of_layers"]


@dataclass(frozen=True)
class Count:
    """Trainable numbers by role. Two counts are equal when all roles and `frozen` are.

    Attributes
    ----------
    shared
        Weights of which all members use one copy.
    per_member
        Weights that each member owns: a deep ensemble's matrices, the (means of the) fast weights.
    scales
        Standard deviations of weights and of fast weights.
    biases
        All that belongs to biases, standard deviations of biases included.
    frozen
        How many of the numbers above are held fixed (``requires_grad=False``).
    name, layers
        A label, and the counts that this one is the sum of; neither takes part in ``==``.
    """

    shared: int = 0
    per_member: int = 0
    scales: int = 0
    biases: int = 0
    frozen: int = 0
    name: str = field(default="", compare=False, repr=False)
    layers: tuple["Count", ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for part in (*ROLES, "frozen"):
            # frozen: plain assignment is refused, and a NumPy integer would overflow later
            object.__setattr__(self, part, checks.natural_int(part, getattr(self, part)))
        checks.text("name", self.name)
        layers = self.layers
        if not isinstance(layers, tuple) or not all(isinstance(c, Count) for c in layers):
            raise TypeError(f"layers must be a tuple of Counts, got {checks.given(layers)}")

    @property
    def weights(self) -> int:
        """All but the biases: ``shared + per_member + scales``."""
        return self.shared + self.per_member + self.scales

    @property
    def total(self) -> int:
        """``weights + biases``."""
        return self.weights + self.biases

    def __add__(self, other: "Count") -> "Count":
        if not isinstance(other, Count):
            return NotImplemented
        return Count(*(getattr(self, part) + getattr(other, part) for part in (*ROLES, "frozen")))

    def __str__(self) -> str:
        return repr(self._as_table())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._as_table()._repr_mimebundle_()

    def _as_table(self) -> Table:
        """One row a layer and the sum, or this count alone; one column a role."""
        titles = ROLE_LABELS | {"total": "total"} | ({"frozen": "frozen"} if self.frozen else {})
        names = [layer.name for layer in self.layers]
        names.append(self.name or ("all layers" if names else ""))
        rows = [
            Row(
                name,
                tuple(Cell(f"{getattr(part, role):,}") for role in titles),
                total=part is self and len(names) > 1,
            )
            for name, part in zip(names, (*self.layers, self), strict=True)
        ]
        return Table(tuple(map(Column, titles.values())), tuple(rows))


def sum_of_layers(layers: Sequence[Count]) -> Count:
    """Return the count of a network, which knows those of its layers."""
    total = sum(layers, start=Count())
    numbers = {role: getattr(total, role) for role in (*ROLES, "frozen")}
    return Count(**numbers, layers=tuple(layers))
