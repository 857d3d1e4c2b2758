"""What `ensedu.xray` returns: counts, layers, and a page of one file."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ensedu import colors
from ensedu.common import checks
from ensedu.common.html_page import html_page
from ensedu.counting import Count, formula_table
from ensedu.methods import METHODS
from ensedu.xray import values
from ensedu.xray.layers import Layer, Matrix, Reading, read_model, read_sizes

__all__ = ["PARTS", "SIZES", "XRay", "xray"]

HERE = Path(__file__).parent
#: Scripts in the order in which they are joined, each after what it needs.
PARTS = (
    "counts", "state", "values", "layout", "draw", "bars", "curves", "formula", "tree", "stage",
    "numbers", "loop", "breakeven", "app",
)  # fmt: skip
#: What a page does without: indentation, and lines that only comment.
SPARED = re.compile(r"(?m)^ *//.*\n|^ */\*[^*]*\*/\n|^ +")
#: Sizes of a network in one word.
SIZES = re.compile(r"\d+(-\d+)+")
MOST_MEMBERS = 64


def xray(
    model: Any,
    ensemble_size: int = 4,
    *,
    head: str | None = None,
    shared: Sequence[Any] = (),
    modulated: Sequence[Any] = (),
    name: str = "",
    curves: Mapping[str, Any] | None = None,
) -> "XRay":
    """Show what a model stores under each method.

    Parameters
    ----------
    model
        A ``torch.nn.Module``, also one on the device ``"meta"``; or the sizes of a multilayer
        perceptron, ``"1-50-50-1"`` or ``[1, 50, 50, 1]``, which need no Torch.
    ensemble_size
        Number of members M, 1 to 64; for methods without, of samples.
    head, shared, modulated
        As for `ensedu.torch.ensemble`; the head is the last product unless it is named.
    name
        What the page calls the model; by default its class, or its sizes.
    curves
        Trained states to show above the members: ``"x"``, of each method on the way from a deep
        ensemble to mean-field its functions on x, (M, points), and if you like ``"points"``,
        pairs of the data.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, and for sizes that are not positive integers. A method that cannot
        convert the model is no error: the page says why.

    Examples
    --------
    >>> xray("1-50-50-1").counts["batch_ensemble"].total
    3812
    """
    M = checks.positive_int("ensemble_size", ensemble_size)
    if M > MOST_MEMBERS:
        raise ValueError(f"ensemble_size must be from 1 to {MOST_MEMBERS}, got {M}")
    checks.text("name", name)
    given = {"head": head, "shared": shared, "modulated": modulated}
    if isinstance(model, str) and SIZES.fullmatch(model):
        model = [int(size) for size in model.split("-")]
    if isinstance(model, (list, tuple)):
        for key, value in given.items():
            if value not in (None, (), []):
                raise ValueError(f"{key} is for a torch.nn.Module, got {checks.describe(value)}")
        sizes = checks.layer_sizes("model", model)
        title = name or "-".join(map(str, sizes))
        return XRay(title, M, read_sizes(sizes, M), sizes=sizes, curves=_checked(curves))
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(
            "model must be a torch.nn.Module, or sizes such as '1-50-50-1' or [1, 50, 50, 1], "
            f"got {checks.describe(model)}"
        )
    reading = read_model(model, M, **given)
    kind = type(model).__name__
    title = name or {"Sequential": "Your model"}.get(kind, kind)
    return XRay(title, M, reading, values=values.of_model(model, reading), curves=_checked(curves))


class XRay:
    """A picture of what is stored; `xray` makes it.

    Attributes
    ----------
    name, ensemble_size
        What the model is called, and M.
    counts
        The `ensedu.counting.Count` of each method; without those that refuse the model.
    layers
        The layers with parameters, `ensedu.xray.layers.Layer`.
    refused
        Why a method cannot convert the model, by method.
    sized
        Whether it is a network of given sizes, whose width and depth slide.
    """

    def __init__(
        self,
        name: str,
        ensemble_size: int,
        reading: Reading,
        *,
        sizes: Sequence[int] | None = None,
        values: dict[str, Any] | None = None,
        curves: dict[str, Any] | None = None,
    ) -> None:
        self.name, self.ensemble_size = name, ensemble_size
        self.layers: tuple[Layer, ...] = reading.layers
        self.counts: dict[str, Count] = reading.counts
        self.refused: dict[str, str] = reading.refused
        self._sizes, self.sized = sizes, sizes is not None and len(sizes) > 2
        self._more = {"values": values, "curves": curves}

    def __repr__(self) -> str:
        total = self.counts["single"].total
        layers = f"{len(self.layers):,} layer{'s' * (len(self.layers) != 1)}"
        return f"XRay({self.name!r}: {total:,} parameters in {layers})"

    def save(self, path: str | Path) -> Path:
        """Write the page, one file that needs no other, and return its path."""
        path = Path(path)
        path.write_text(self.html(), encoding="utf-8")
        return path

    def html(self, opening: str | None = None) -> str:
        """Return the page as text.

        With an `opening`, settings as in its address, it opens so, and is compact: for a page
        around it.
        """
        more = {} if opening is None else {"opening": opening}
        data = json.dumps(self.data() | more, ensure_ascii=False, separators=(",", ":"))
        scripts = SPARED.sub("", "\n".join(_part(f"{part}.js") for part in PARTS))
        rows = "".join(
            f"<tr><th>{escape(METHODS[key].label)}</th><td>{count.total:,}</td></tr>"
            for key, count in self.counts.items()
        )
        body = _part("page.html").format(
            table=f"<table><caption>Parameters, M = {self.ensemble_size}</caption>{rows}</table>",
            data=data.replace("</", "<\\/"),
            script=scripts,
        )
        return html_page(f"{self.name}: what is stored", SPARED.sub("", _part("xray.css")), body)

    def data(self) -> dict[str, Any]:
        """Return what the page's script reads: the layers, and the table that it counts by."""
        kinds: dict[str, int] = {}
        rows = [kinds.setdefault(json.dumps(_shape(layer)), len(kinds)) for layer in self.layers]
        layers = {
            "names": [layer.name for layer in self.layers],
            "shapes": [json.loads(kind) for kind in kinds],
            "rows": rows,
        }
        return {
            "name": self.name,
            "ensemble_size": self.ensemble_size,
            "table": formula_table(),
            "colors": {"light": _look(dark=False), "dark": _look(dark=True)},
            **({"sizes": self._sizes} if self._sizes else layers),
            "refused": {method: _plainly(why) for method, why in self.refused.items()},
            **{key: value for key, value in self._more.items() if value},
        }

    def framed(self, page: str) -> str:
        """Return a frame that holds a page of `html`; the page sets its height."""
        return (
            f'<iframe title="{escape(self.name)}: what is stored" srcdoc="{escape(page)}" '
            'style="border: 0; width: 100%; height: 900px"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.framed(self.html())


def _look(*, dark: bool) -> dict[str, Any]:
    """Return the colors of methods, and those of everything else, on a page of this look."""

    def shown(color: str) -> str:
        return colors.DARK[color] if dark else color

    named = ("INK", "MUTED", "SHARED", "GRID", "PAGE")
    return {name.lower(): shown(getattr(colors, name)) for name in named} | {
        "methods": {key: shown(color) for key, color in colors.PALETTE.items()}
    }


def _plainly(why: str) -> str:
    """Return what an error says of the model, as a sentence without what was given."""
    said = re.split(r", got |[:;] ", why)[0]
    return f"{re.sub('^model ', 'Your model ', said)}."


def _part(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _shape(layer: Layer) -> dict[str, Any]:
    """Return what a script needs of a layer but its name; short, as a model has thousands."""

    def sizes(matrix: Matrix) -> dict[str, Any]:
        return {
            "key": matrix.name.removeprefix(layer.name).lstrip("."),
            "m": matrix.inputs, "n": matrix.outputs, "size": matrix.numbers,
            "bias": matrix.biases, "kernel": matrix.kernel, "frozen": matrix.frozen,
        }  # fmt: skip

    # A table whose weights are another layer's, too, is not this layer's alone.
    table = layer.table if layer.table and layer.table.numbers == layer.shared else None
    return {
        "kind": layer.kind, "matrices": [sizes(matrix) for matrix in layer.matrices],
        **({"table": sizes(table)} if table else {}),
        "shared": layer.shared, "biases": layer.biases, "kept": layer.kept,
        "frozen": layer.frozen, "bytes": layer.itemsize, "head": layer.head,
    }  # fmt: skip


def _checked(curves: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Check trained functions, and return them as lists of numbers that a page can hold."""
    if curves is None:
        return None
    if not isinstance(curves, Mapping) or "x" not in curves:
        raise TypeError(
            f"curves must be a dict with 'x' and methods, got {checks.describe(curves)}"
        )
    found: dict[str, Any] = {}
    for key, value in curves.items():
        if key not in ("x", "points"):
            checks.one_of("curves: a method", key, METHODS)
        rows = value.tolist() if hasattr(value, "tolist") else value
        found[key] = [
            round(row, 4) if key == "x" else [round(number, 4) for number in row] for row in rows
        ]
        length = len(found["x"])
        if key not in ("x", "points") and any(len(row) != length for row in found[key]):
            raise ValueError(f"curves[{key!r}] must have rows of {length} numbers, as x has")
    return found
