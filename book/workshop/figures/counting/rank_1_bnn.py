"""What *What is inside a rank-1 BNN?* draws and says: random matrices, and numbers drawn."""

from collections.abc import Mapping

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.counting.text_table import Table
from workshop import plot
from workshop.page.method_table import method_table
from workshop.plot.style import Figure

# Captions.
CAPTION = (
    "The gray matrix is stored once. A member stores a mean (solid) and a standard deviation "
    "(hatched) for each entry of r and s, and a bias. Its dashed matrix is one sample: draw anew, "
    "and all of it moves."
)
ALT = (
    "A gray window of six by six weights, stored once. For each member two columns at the left and "
    "two rows above, the outer ones hatched, and six biases below; between them, in dashed frames, "
    "the weights of one sample."
)
DISTRIBUTION = (
    "Whole rows and columns move together. Three samples of a random matrix, and below each how "
    "far its weights moved: red away from 0, blue toward 0 or past it."
)
NUMBERS = "Random numbers of one pass: 4 members, 128 examples"


class Distribution:
    """A random matrix, and samples of it.

    Parameters
    ----------
    mean, std
        (m, n) each, the same for both.
    draws
        (S, m, n) of ``"rank1"`` and of ``"mean_field"``.
    """

    def __init__(
        self, mean: Float[Array, "m n"], std: Float[Array, "m n"],
        draws: Mapping[str, Float[Array, "S m n"]],
    ) -> None:  # fmt: skip
        self.mean, self.std, self.draws = mean, std, draws
        self.choices = {"method": [name.replace("1", "-1").replace("_", "-") for name in draws]}

    def draw(self, method: str) -> Figure:
        """Draw mean, standard deviation, samples, and how far each weight moved."""
        name = dict(zip(self.choices["method"], self.draws, strict=True))[method]
        return plot.distribution(
            self.mean, self.std, self.draws[name], method=name, value_range=0.9, std_range=0.8
        )

    def say(self, method: str) -> str:
        """Say what moves together."""
        return {
            "rank-1": "Rank-1: the weights of a row share one random number, and so do those of a "
            "column. They move together.",
            "mean-field": "Mean-field, with the same means and standard deviations: each weight "
            "moves for itself.",
        }[method]


def numbers_table(numbers: Mapping[str, tuple[int, int]]) -> Table:
    """Return the table of random numbers of a layer and of a ResNet-50, by what draws them.

    Rows are of rank-1 BNNs but the last two, of mean-field networks; the second row decides.
    """
    rows = {
        name: {"layer 50 → 50": small, "ResNet-50": f"{large / 1e6:.1f}M"}
        for name, (small, large) in numbers.items()
    }
    shared, fields = [*rows][:-2], [*rows][-2:]
    return method_table(
        rows, colors=dict.fromkeys(shared, "rank1") | dict.fromkeys(fields, "mean_field"),
        decisive=(shared[1], "ResNet-50"), caption=NUMBERS,
    )  # fmt: skip
