"""What *What is inside a rank-1 BNN?* draws and says: random matrices."""

from collections.abc import Mapping
from dataclasses import dataclass

from jaxtyping import Float
from matplotlib.axes import Axes
from numpy import ndarray as Array

from ensedu.methods import METHODS
from workshop.plot.colored_cells import draw_heat, scale_below
from workshop.plot.panels import panels, place, write
from workshop.plot.style import MUTED, Figure, color, heat_colors, house_style, label, look
from workshop.plot.text_layout import SMALL

#: Inches: how high a matrix is, how thick a vector is, and the air between them; around a row.
HIGH, THIN, AIR, ABOVE, BELOW = 1.2, 0.1, 0.06, 0.46, 0.3
#: Which change has the strongest color, in means: 1 is from 0 to twice the mean.
MOST = 1.5

# Captions.
CAPTION = (
    "Drawing anew changes what is dashed: r, s, and the member's matrix, which is made of W, r and "
    "s. What is stored stays: W (gray), and for each entry of r and s a mean μ (solid) and a "
    "standard deviation σ (hatched)."
)
ALT = (
    "A gray square of 50 by 50 weights, stored once. Beside it one member, a square that is "
    "computed from one sample, with three strips at the left and three above, hatched, solid and "
    "dashed, and a strip of biases below."
)
MOVED = (
    "In a rank-1 matrix whole rows and columns move together, in a mean-field one each weight by "
    "itself. Red entries lie further from 0 than their mean, blue ones nearer to 0 or past it. "
    "Three samples of each, and around the upper ones the r and the s that were drawn."
)


@dataclass(eq=False)
class MovedWeights:
    """How far weights moved from their means, as a part of these, in samples of two methods."""

    #: (S, m, n) of ``"rank1"`` and of ``"mean_field"``.
    samples: Mapping[str, Float[Array, "S m n"]]
    #: What moved the first.
    r: Float[Array, "S m 1"]
    s: Float[Array, "S 1 n"]

    def draw(self) -> Figure:
        """Draw one method above the other, with r at the left of a matrix and s above it."""
        count, around = len(self.r), THIN + AIR
        with house_style():
            room = {"left": around + 0.1, "right": 0.04, "above": ABOVE, "below": BELOW}
            figure, found = panels(2 * count, height=HIGH, columns=(count, count), **room)
            for row, (method, samples) in enumerate(self.samples.items()):
                at = {"fontweight": "bold", "color": color(method), "va": "top"}
                write(
                    figure, room["left"], row * (ABOVE + HIGH + BELOW) + 0.04, label(method), **at
                )
                for i, moved in enumerate(samples):
                    axes = found[row * count + i]
                    heat(axes, moved)
                    if METHODS[method].modulated:
                        wide, high = axes.get_window_extent().size / figure.dpi
                        heat(axes.inset_axes((-around / wide, 0, THIN / wide, 1)), self.r[i])
                        heat(axes.inset_axes((0, 1 + AIR / high, 1, THIN / high)), self.s[i])
                        if i == 0:
                            named = {"transform": axes.transAxes, "color": MUTED, "fontsize": SMALL}
                            at = (-around + THIN / 2) / wide, -0.03
                            axes.text(*at, "r", ha="center", va="top", **named)
                            at = 1.04, 1 + (AIR + THIN / 2) / high
                            axes.text(*at, "s", va="center", **named)
            width, high = look().width - room["left"] - room["right"], figure.get_figheight()
            bar = place(figure, room["left"], high - BELOW - HIGH, width, HIGH)
            bar.set_axis_off()
            scale_below(bar, heat_colors(), ("toward 0 or past it", "away from 0"), BELOW)
        return figure

    def say(self) -> str:
        return (
            "Three rank-1 matrices, in which whole rows and whole columns are red or blue, and "
            "three mean-field ones, in which neighbors have nothing in common."
        )


def heat(axes: Axes, moved: Float[Array, "m n"]) -> None:
    """Color how far each entry moved."""
    m, n = moved.shape
    axes.set(xlim=(0, n), ylim=(m, 0), xticks=[], yticks=[])
    axes.set_frame_on(False)
    draw_heat(axes, moved, (0, 0), (1, 1), MOST)
