"""What scripts know of a method: its row of `ensedu.methods.METHODS`, as JSON."""

from typing import Any

from ensedu.methods import Method

__all__ = ["method_row"]


def method_row(row: Method) -> dict[str, Any]:
    """Return what a method has and does, and its arrays: name, letters of their axes, and role."""
    return {
        "members": row.members,
        "modulated": row.modulated,
        "stochastic": row.stochastic,
        "drops_units": row.drops_units,
        "arrays": [
            {"name": array.name, "axes": array.shape.replace(" ", ""), "role": array.role}
            for array in row.arrays
        ],
    }
