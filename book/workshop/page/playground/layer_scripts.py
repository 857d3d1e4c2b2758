"""The scripts of the playground, with what Python says of the methods and the numbers."""

from typing import Any

from ensedu.methods import METHODS, ROLE_LABELS, role_sums
from workshop import plot
from workshop.page.method_rows import method_row
from workshop.page.playground import layer_state, layers
from workshop.page.scripts import Bundle
from workshop.plot import style

__all__ = ["BUNDLE", "described"]


def _method(method: str) -> dict[str, Any]:
    """A method's row, with its label and colors; of a standard deviation σ stands for ρ."""
    row = method_row(METHODS[method])
    color = plot.PALETTE[method]
    return row | {
        "label": METHODS[method].label,
        "color": color,
        "dark": style.DARK.get(color, color),
        "terms": role_sums(method),
        "arrays": [
            array | {"name": array["name"].replace("_rho", "_std")} for array in row["arrays"]
        ],
    }


def described() -> dict[str, Any]:
    """Return what the scripts know of the methods, of the numbers and of a state."""
    ends_of = {
        name: dict(zip(("low", "high"), ends, strict=True)) for name, ends in layers.LIMITS.items()
    }
    return {
        "most": layers.MOST,
        "seeds": layers.SEEDS,
        "choices": layers.VALUES,
        "order": layers.ORDER,
        "noise": layers.NOISE,
        "roles": ROLE_LABELS,
        "methods": {method: _method(method) for method in layers.METHODS},
        "fields": {name: field.described() for name, field in layer_state.FIELDS.items()},
        **ends_of,
    }


BUNDLE = Bundle(
    "enseduPlayground",
    page=(
        "common/random", "common/fields", "common/controls", "common/widget", "playground/layer",
        "playground/names", "playground/graph", "playground/words", "playground/challenges",
        "playground/address", "playground/cells", "playground/sheet", "playground/outputs",
        "playground/panels", "playground/app", "playground/start",
    ),
    constants=lambda: {"LAYERS": described()},
)  # fmt: skip
