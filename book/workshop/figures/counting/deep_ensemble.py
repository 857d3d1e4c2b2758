"""What *What is inside a deep ensemble?* says of its X-ray, and what an average gains."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from workshop.plot.moving import Computed, moves
from workshop.plot.panels import key_room, panels, write_key
from workshop.plot.style import INK, MUTED, PALETTE, Figure, house_style
from workshop.plot.text_layout import SMALL

CAPTION = (
    "Members of 1-50-50-1 as a deep ensemble: each stores all matrices and all biases, and "
    "nothing is stored once for all."
)
ALT = (
    "Four equal groups side by side, all in the color of the deep ensemble: a large square of "
    "weights, a thin row, a thin column, and frames for the biases. The place for what is stored "
    "once is empty. Beside them, 10,804 parameters."
)
GAIN = (
    "Where members miss the truth on different sides, their average misses it by less than they "
    "do on average. The lower bar splits the upper one: what is left in the average, and what "
    "is gained."
)
#: Of members, of their average, and of what it gains.
MEMBER: dict[str, Any] = {"color": PALETTE["deep_ensemble"], "lw": 3, "solid_capstyle": "butt"}
AVERAGE: dict[str, Any] = MEMBER | {"color": INK}
GAINED: dict[str, Any] = MEMBER | {"alpha": 0.35}
TRUTH: dict[str, Any] = {"color": MUTED, "lw": 2, "ls": (0, (4, 3))}


class Gain(Computed):
    """Predictions of one number, and how the squared errors of all split by their average.

    Parameters
    ----------
    predictions
        Of as many members as there may be.
    truth
        What all of them predict.
    """

    formula, drag = "gain", ("at", "rows")
    words = (
        "A member's squared error is {own:.2f} on average: {off:.2f} is left in that of the "
        "average, {apart:.2f} is gained.",
    )
    choices: ClassVar = {"members": [2, 3, 4, 8]}

    def __init__(self, predictions: Sequence[float], truth: float) -> None:
        self.predictions, self.truth = predictions, truth
        self.data = {"predictions": predictions, "truth": truth}

    def numbers(self, members: int) -> dict[str, Any]:
        """Return places, and the parts of the squared errors."""
        at, truth = np.array(self.predictions[:members]), self.truth
        rows = np.linspace(1, 0, members + 2)[1:-1]
        own, off = float(np.mean((at - truth) ** 2)), float((at.mean() - truth) ** 2)
        return {
            "at": at, "rows": rows, "all": [0, 1], "first": [2, 2], "second": [1, 1],
            "across": np.column_stack([np.full(members, truth), at, at]).ravel(),
            "along": np.column_stack([rows, rows, np.full(members, np.nan)]).ravel(),
            "average": [at.mean()] * 2, "own": own, "off": off, "apart": own - off,
            "whole": [0, own], "left": [0, off], "gained": [off, own],
        }  # fmt: skip

    def draw(self, members: int) -> Figure:
        """Draw what is predicted, and the squared errors as bars."""
        found, bar = self.numbers(members), {"lw": 22}
        with house_style():
            figure, (left, right) = panels(2, height=1.6, left=0.3, top=key_room(), above=0.3)
            left.axvline(self.truth, **TRUTH)
            off = MEMBER | {"lw": 1.5, "gid": moves("across", "along")}
            left.plot(found["across"], found["along"], **off)
            left.plot(found["average"], found["all"], gid=moves("average", "all"), **AVERAGE)
            dots = {"color": MEMBER["color"], "ms": 9, "gid": moves("at", "rows")}
            left.plot(found["at"], found["rows"], "o", **dots)
            left.set(xlim=(14, 26), ylim=(0, 1), yticks=[], title="predictions")
            for x, y, look in (
                ("whole", "first", MEMBER), ("left", "second", AVERAGE),
                ("gained", "second", GAINED),
            ):  # fmt: skip
                right.plot(found[x], found[y], gid=moves(x, y), label=x, **look | bar)
            right.set(xlim=(0, 10), ylim=(0.4, 2.8), yticks=[], title="squared errors")
            for y, words in ((2, "a member's, on average"), (1, "left in the average, and gained")):
                right.text(0.1, y + 0.3, words, color=MUTED, fontsize=SMALL)
            write_key(figure, {"members": MEMBER, "their average": AVERAGE, "truth": TRUTH})
        return figure
