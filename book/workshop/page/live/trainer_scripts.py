"""The scripts of the trainer, with the labels and colors of the book, and its widget of Jupyter."""

from typing import Any

import anywidget
import traitlets

from ensedu.methods import METHODS, Method
from workshop import drawn_digits, plot
from workshop.page.live import toys, trainer_state
from workshop.page.scripts import HERE, Bundle
from workshop.plot import style

#: Colors of up to three classes, which are no method's.
CLASSES = {"light": ("#b08a1e", "#0d4f63", "#5f9e4f"), "dark": ("#f2d35e", "#3a9db5", "#a6d98a")}
#: How much of a method's color the band of the noise has, that of the members, and their edges.
NOISE = {"light": 0.16, "dark": 0.26}
DIFFER = {"light": 0.34, "dark": 0.5}
EDGE = {"light": 0.4, "dark": 1}
#: How much of the ink is in lines of members and of their mean.
LIFT = {"light": 0.0, "dark": 0.5}


def labels_and_colors() -> dict[str, Any]:
    """Return the labels and colors of the book, for the scripts."""

    def look(dark: bool) -> dict[str, Any]:
        own = style.DARK if dark else {}
        name = "dark" if dark else "light"
        colors = {method: own.get(color, color) for method, color in plot.PALETTE.items()}
        plain = {"ink": style.INK, "muted": style.MUTED, "grid": style.GRID, "page": style.PAGE}
        plain |= {"doubt": style.DOUBT, "dots": style.INK}
        return {key: own.get(color, color) for key, color in plain.items()} | {
            "colors": colors,
            "classes": CLASSES[name],
            "noise": NOISE[name],
            "differ": DIFFER[name],
            "edge": EDGE[name],
            "lift": LIFT[name],
        }

    labels = {key: method.label for key, method in METHODS.items()}
    return {"labels": labels, "light": look(False), "dark": look(True)}


def network_row(row: Method) -> dict[str, Any]:
    """Return what the networks of a page know of a method.

    What it has and does, and its arrays: name, letters of their axes, and role; how its members may
    start, which arrays are distributions, by their name without ``_mean``, and the mean of their
    prior.
    """
    means = (array.name for array in row.arrays if array.name.endswith("_mean"))
    flags = ("has_members", "modulated", "stochastic", "drops_units")
    return {flag: getattr(row, flag) for flag in flags} | {
        "arrays": [
            {"name": array.name, "axes": array.shape.replace(" ", ""), "role": array.role}
            for array in row.arrays
        ],
        "starts": trainer_state.starts_of(row),
        "distributions": [name.removesuffix("_mean") for name in means],
        "prior_loc": trainer_state.prior_loc(row),
    }


#: The trainer, and the drawing of digits.
BUNDLE = Bundle(
    "ensedu",
    worker=("live/toys", "live/network", "live/forecast", "live/paint", "live/worker"),
    worker_constants=lambda: {
        "METHODS": {method: network_row(METHODS[method]) for method in trainer_state.STARTS},
        "TRAINING": trainer_state.training(),
        "HOUSE": labels_and_colors(),
        "TOY_SETS": toys.described(),
    },
    page=(
        "live/link", "live/trainer", "live/story", "common/elements", "common/controls",
        "live/stage", "live/sharing", "live/settings", "live/guides", "digit/answers",
        "digit/figure", "common/figures", "live/app",
    ),
    constants=lambda: {
        "SETTINGS": trainer_state.described(),
        "DIGIT": drawn_digits.described(),
    },
)  # fmt: skip


class Live(anywidget.AnyWidget):
    """What `workshop.page.live.live` returns in Jupyter; it trains in the browser alone.

    Attributes
    ----------
    state
        Its settings at the start, by the names of the arguments of `live`, and ``points``.
    """

    _esm = BUNDLE.module()
    _css = "".join(
        (HERE / file).read_text(encoding="utf-8")
        for file in ("common/controls.css", "live/live.css")
    )

    _options = traitlets.Dict().tag(sync=True)

    def __init__(self, state: dict[str, Any], options: dict[str, Any]) -> None:
        self.state = state
        super().__init__(_options={"state": state, **options})

    def __repr__(self) -> str:
        return trainer_state.as_text(self.state)
