"""The X-ray as a figure of the book: compact, opened at the zoom of the story around it."""

import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ensedu import colors
from ensedu.common import book_build, checks
from ensedu.data import gap
from ensedu.methods import METHODS
from ensedu.xray import XRay, xray
from workshop import measured
from workshop.page.controls import figure_name
from workshop.page.frames import FRAMES, embedded

__all__ = ["XRayFigure", "changed", "example_curves", "xray_figure"]

#: What a figure opens at, and how high it then is on a desk and on a phone, until its page says so.
ZOOMS = {
    "model": (335, 629), "share": (671, 879), "map": (459, 732), "layer": (954, 1157),
    "numbers": (896, 879),
}  # fmt: skip
CURVED = (838, 841)  # where it shares, with curves above the members
#: And without the way between methods, a rank-1 BNN with one member.
HIDING = {
    "single": (726, 766), "deep_ensemble": (590, 816), "batch_ensemble": (814, 765),
    "rank1": (806, 771),
}  # fmt: skip
CONTROLS = ("members", "methods")
#: On the way from weights of their own to one distribution, whose curves stand for a method.
CURVE_OF = {
    "deep_ensemble": "deep_ensemble", "batch_ensemble": "batch_ensemble_normal",
    "rank1": "rank1", "mean_field": "mean_field",
}  # fmt: skip
#: Numbers that a link may set, and their ends; layers and members are counted from 1.
ENDS = {
    "members": (1, 64), "member": (1, 64), "width": (1, 2000), "depth": (1, 12), "share": (0, 3),
}  # fmt: skip


def xray_figure(
    model: Any,
    *,
    ensemble_size: int = 4,
    zoom: str = "model",
    layer: int | str | None = None,
    method: str | None = None,
    hides: Sequence[str] = (),
    name: str,
    alt: str,
    caption: str,
    curves: Mapping[str, Any] | None = None,
    wide: bool = False,
) -> "XRayFigure":
    """Return an X-ray that a notebook cell shows when it ends with it.

    Parameters
    ----------
    model, ensemble_size, curves
        As for `ensedu.xray`.
    zoom
        What it opens at: ``"model"``, a bar a method; ``"share"``, the weights to scale and the
        slider that shares them; ``"map"``, where sharing pays; ``"layer"``, the matrices of one
        layer; ``"numbers"``, a window of them. All else is one press away.
    layer
        Which layer: its number, from 1, or its name. By default the first with a weight.
    method
        A key of `ensedu.methods.METHODS`; by default the deep ensemble.
    hides
        Controls that wait until a reader asks for all of the X-ray: ``"members"``, their slider,
        and ``"methods"``, the way from one to the next.
    name, alt, caption
        What other places of the book call the figure, such as ``"fig-stored"``; what is seen, and
        what it means. A link such as ``[8 members](set:fig-stored?members=8)`` sets it.

    Raises
    ------
    TypeError, ValueError
        For a bad argument, a layer that is not there or has no weight, and a method that refuses
        the model.
    """
    for title, text in {"alt": alt, "caption": caption}.items():
        checks.text(title, text)
    figure_name(name)
    checks.one_of("zoom", zoom, ZOOMS)
    for control in hides:
        checks.one_of("hides", control, CONTROLS)
    picture = xray(model, ensemble_size, curves=curves)
    if isinstance(layer, str):
        names = [one.name for one in picture.layers]
        checks.one_of("layer", layer, names)
        layer = names.index(layer) + 1
    opening = {"zoom": zoom, "layer": layer, "method": method}
    opening = {key: value for key, value in opening.items() if value is not None}
    hidden = {"hides": ",".join(hides)} if hides else {}
    figure = XRayFigure(picture, opening | hidden, name=name, alt=alt, caption=caption, wide=wide)
    changed(figure.known, opening)
    return figure


class XRayFigure:
    """What `xray_figure` returns: an X-ray, how it opens, and how it is shown."""

    def __init__(
        self, picture: XRay, opening: dict[str, Any], *, name: str, alt: str, caption: str,
        wide: bool,
    ) -> None:  # fmt: skip
        self.picture, self.opening, self.alt, self.wide = picture, opening, alt, wide
        self._named = {"name": name, "caption": caption}

    def __repr__(self) -> str:
        return f"{self.picture!r} at {self.opening['zoom']}"

    @property
    def known(self) -> dict[str, Any]:
        """What `changed` has to know: numbers of the layers with a weight, methods, sliders."""
        layers = enumerate(self.picture.layers, start=1)
        return {
            "layers": [str(at) for at, one in layers if one.matrices],
            "methods": list(self.picture.counts),
            "sized": self.picture.sized,
        }

    def html(self, folder: Path) -> str:
        """Write the page into `folder`; return the frame that shows it, and what is printed."""
        page = self._page()
        file = f"{hashlib.sha256(page.encode()).hexdigest()[:16]}-xray.html"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(page, encoding="utf-8")
        data = "".join(f' data-{key}="{escape(text)}"' for key, text in self._named.items())
        curved = self.opening["zoom"] == "share" and "curves" in self.picture.data()
        wide, narrow = CURVED if curved else ZOOMS[self.opening["zoom"]]
        if "methods" in self.opening.get("hides", ""):
            wide, narrow = HIDING.get(self.opening.get("method"), (wide, narrow))
        return (
            f'<div class="ensedu-xray"{" data-wide" * self.wide}{data}>'
            f'<iframe data-page="{FRAMES}{file}" title="{escape(self.alt)}" loading="lazy" '
            f'style="--wide: {wide}px; --narrow: {narrow}px"></iframe>'
            f"{self._still()}"
            f'<script type="application/json">{embedded(self.known)}</script></div>'
        )

    def _page(self) -> str:
        return self.picture.html("&".join(f"{key}={value}" for key, value in self.opening.items()))

    def _still(self) -> str:
        """Return the methods as bars, for paper and for readers without scripts."""
        most = max(count.total for count in self.picture.counts.values())
        rows = "".join(
            f"<tr><th>{escape(METHODS[key].label)}</th><td>{count.total:,}</td><td>"
            f'<i style="width: {100 * count.total / most:.1f}%; background: {colors.PALETTE[key]}">'
            "</i></td></tr>"
            for key, count in self.picture.counts.items()
        )
        M = self.picture.ensemble_size
        return f'<table class="ensedu-bars"><caption>Parameters, M = {M}</caption>{rows}</table>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if folder := book_build.folder():
            return {"text/plain": repr(self), "text/html": self.html(Path(folder))}
        import ipywidgets  # only here: pages and scripts do without it

        frame = self.picture.framed(self._page())
        return ipywidgets.HTML(frame)._repr_mimebundle_() | {"text/plain": repr(self)}


def example_curves() -> dict[str, Any]:
    """Return what four members of the running example learned, for `curves`, and its data."""
    table = measured.load("running-example-curves")
    low, high, number = (table["settings"][key] for key in ("low", "high", "number"))
    rows = {row["contestant"]: row["members"] for row in table["rows"]}
    x, y = gap.sample(np.random.default_rng(table["settings"]["data_seed"]))
    learned = {method: rows[contestant] for method, contestant in CURVE_OF.items()}
    points = np.column_stack([x[:, 0], y[:, 0]])
    return {"x": np.linspace(low, high, number), "points": points, **learned}


def changed(known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` unless a figure that knows this can be set so."""
    choices = {"zoom": ZOOMS, "method": known["methods"], "layer": known["layers"]}
    for key, value in given.items():
        if key in choices:
            checks.one_of(key, str(value), choices[key])
        elif key not in ENDS or (key in ("width", "depth") and not known["sized"]):
            raise ValueError(f"{key} is nothing that an X-ray of this model can be set to")
        else:
            low, high = ENDS[key]
            if not isinstance(value, (int, float)) or not low <= value <= high:
                raise ValueError(f"{key} must be from {low} to {high}, got {value!r}")
