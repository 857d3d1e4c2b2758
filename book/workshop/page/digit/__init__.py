"""Draw a digit: what small networks see of a drawing, and what each of their members says.

The networks are those of the table ``digit-networks``. A page gets them as a script of its own,
`script`, which it asks for when somebody first touches the square; until then it shows what stands
here, one drawing and what two methods say to it.
"""

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import uncertainty
from ensedu.common import book_build, checks
from ensedu.methods import METHODS
from workshop import measured, plot
from workshop.drawn_digits import (
    DIGITS,
    LETTERS,
    PEN,
    Drawing,
    from_text,
    probabilities,
    seen,
    unpacked,
)
from workshop.page.controls import figure_name
from workshop.page.frames import Frames, embedded
from workshop.plot import colored_cells, text_layout
from workshop.plot.style import INK, PALETTE, canvas, house_style, look, tint

TABLE = "digit-networks"
#: What a page asks for, in the folder of its scripts.
SCRIPT = f"{TABLE}.js"
#: What a reader may load: a name, the digits that it may stand for, and the drawing.
EXAMPLES: dict[str, tuple[list[int], Drawing]] = {
    "a 3": ([3], DIGITS["3"]),
    "a 4 or a 9": (
        [4, 9], from_text("~40,14 26,30 30,50 50,52 70,42;~60,10 70,30 62,94")
    ),
    "a 1 with a flag": ([1], from_text("38,24 54,8 54,92")),
    "an E": ([], LETTERS["E"]),
    "an X": ([], LETTERS["X"]),
    "a house": ([], from_text("20,94 20,44 50,10 80,44 80,94 20,94")),
    "a wave": ([], from_text("~10,50 25,20 40,80 55,20 70,80 90,50")),
}  # fmt: skip
START = "an X"
#: Shown first beside one network: the first method with members.
METHOD = next(key for key, row in METHODS.items() if row.has_members)


def _networks() -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in measured.load(TABLE)["rows"]}


def _drawn(method: str) -> bool:
    """Whether what stands in rows are draws of one network's weights, and no members."""
    return METHODS[method].stochastic and not METHODS[method].has_members


def script() -> str:
    """Return the script that holds the networks, ``ensedu_digits``: rate of dropout and arrays."""
    networks = {
        method: {"p": row["p"], "arrays": row["arrays"]} for method, row in _networks().items()
    }
    return f"globalThis.ensedu_digits = {json.dumps(networks, separators=(',', ':'))};\n"


class DrawDigit:
    """A square to draw on: on the book's page an app without a kernel, elsewhere a figure.

    Parameters
    ----------
    name, caption
        In the book: what other places call the figure, and what stands below it.

    Raises
    ------
    TypeError, ValueError
        For a name or a caption that is no string, and letters that a name cannot have.
    """

    def __init__(self, *, name: str = "", caption: str = "") -> None:
        self.name, self.caption = figure_name(name), checks.text("caption", caption)

    def __repr__(self) -> str:
        return f"DrawDigit({', '.join(_networks())}; {', '.join(EXAMPLES)})"

    def first(self) -> dict[str, Float[Array, "M 10"]]:
        """Return what one network and the members of a deep ensemble say to the first drawing."""
        networks = _networks()
        x = seen(EXAMPLES[START][1])[None]
        return {
            method: probabilities(method, unpacked(method, networks[method]["arrays"]), x)[0, :, 0]
            for method in ("single", METHOD)
        }

    def data(self) -> dict[str, Any]:
        """Return all that the page needs before it has the networks."""
        said = self.first()
        return {
            "pen": PEN,
            "start": list(EXAMPLES).index(START),
            "method": METHOD,
            "methods": {
                method: {
                    "label": METHODS[method].label,
                    "word": "draw" if _drawn(method) else "member",
                }
                for method in _networks()
            },
            "examples": [
                {
                    "name": name,
                    "digits": digits,
                    "strokes": [np.round(stroke, 4).tolist() for stroke in drawing],
                }
                for name, (digits, drawing) in EXAMPLES.items()
            ],
            "first": {"single": said["single"].tolist(), "members": said[METHOD].tolist()},
        }

    def alt(self) -> str:
        """Say what is seen."""
        said = self.first()
        words = []
        for method, members in said.items():
            mean = members.mean(axis=0)
            parts = uncertainty.entropy_parts(members[:, None])
            expected, information = (
                part.item() for part in (parts.expected, parts.mutual_information)
            )
            own = f" Its members say {', '.join(map(str, members.argmax(axis=1)))}." * (
                len(members) > 1
            )
            words.append(
                f"The {METHODS[method].label} says {mean.argmax()} with {mean.max():.0%}: "
                f"{expected:.2f} nats of expected entropy and {max(0.0, information):.2f} of "
                f"mutual information.{own}"
            )
        return f"A drawing of {START}, and the 8 × 8 pixels seen of it. {' '.join(words)}"

    def figure(self) -> plot.Figure:
        """Draw the first drawing, what is seen of it, and what is said."""
        said = self.first()
        narrow = look().narrow
        side, gap, name, row = (1.55, 0.25, 0.85, 0.3) if narrow else (1.6, 0.25, 0.85, 0.27)
        across = 0.05 if narrow else 2 * (side + gap)
        down = side + 0.75 if narrow else 0.3
        cell = ((look().width - across - name - 0.05) / 10, row)
        with house_style():
            figure, axes = canvas(look().width, down + 6 * row + 0.12)
            write = {"color": INK, "fontsize": text_layout.SMALL, "va": "center"}
            for x, words in ((0.05, "drawn"), (side + gap, "seen")):
                axes.text(x, 0.15, words, **write)
            for stroke in EXAMPLES[START][1]:
                axes.plot(
                    *(stroke.T * side + [[0.05], [0.3]]), color=INK, lw=144 * PEN * side,
                    solid_capstyle="round", solid_joinstyle="round",
                )  # fmt: skip
            _frame(axes, 0.05, side)
            pixels = seen(EXAMPLES[START][1]).reshape(8, 8)
            colored_cells.draw_squares(
                axes, pixels, (side + gap, 0.3), (side / 8, side / 8), cmap=tint(INK), vmin=0,
                vmax=1,
            )  # fmt: skip
            _frame(axes, side + gap, side)
            members = said[METHOD]
            rows = [("single", said["single"][0], "single")]
            rows += [(f"member {i + 1}", p, METHOD) for i, p in enumerate(members)]
            rows += [("mean", members.mean(axis=0), METHOD)]
            for digit in range(10):
                at = across + name + (digit + 0.5) * cell[0]
                axes.text(at, down - 0.15, str(digit), ha="center", **write)
            for i, (words, p, method) in enumerate(rows):
                y = down + i * row
                axes.text(across, y + row / 2, words, **write)
                colored_cells.draw_squares(
                    axes, p[None], (across + name, y), cell, cmap=tint(PALETTE[method]),
                    vmin=0, vmax=1,
                )  # fmt: skip
                for digit in np.flatnonzero(p >= 0.05):
                    _percent(axes, across + name + (digit + 0.5) * cell[0], y + row / 2, p[digit],
                             tint(PALETTE[method])(p[digit]))  # fmt: skip
        return figure

    def html(self, folder: Path) -> str:
        """Draw the still picture into `folder`; return it, and what the script needs."""
        still = Frames([self.figure], folder).pictures(self.alt())
        named = {"name": self.name, "caption": self.caption}
        about = "".join(f' data-{key}="{escape(value)}"' for key, value in named.items() if value)
        data = embedded(self.data())
        return (
            f'<div class="ensedu-digit"{about}><div class="ensedu-still">{still}</div>'
            f'<script type="application/json">{data}</script></div>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        if folder := book_build.folder():
            return {"text/plain": repr(self), "text/html": self.html(Path(folder))}
        return {"text/plain": repr(self), "image/png": plot.png(self.figure())}


def _frame(axes: Any, left: float, side: float) -> None:
    """Draw the edge of a square, 0.3 inches from the top."""
    colored_cells.draw_frame(
        axes, np.zeros((1, 1)), (left, 0.3), (side, side), edgecolor=INK, lw=0.8
    )


def _percent(axes: Any, x: float, y: float, p: float, color: Any) -> None:
    """Write a probability into a cell, in the ink that is read on its color."""
    ink = colored_cells.INKS[int(colored_cells.luminance(np.array(color)) < colored_cells.MIDDLE)]
    axes.text(
        x, y, f"{100 * p:.0f}", color=ink, fontsize=text_layout.SMALL, ha="center", va="center"
    )
