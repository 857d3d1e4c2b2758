"""What *What is inside a rank-1 BNN?* draws and says: random weights, and numbers drawn."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.counting.text_table import Table
from workshop import plot
from workshop.page.method_table import method_table
from workshop.plot.style import Figure

# Captions.
WEIGHT = (
    "One weight of a Bayesian neural network (BNN). A mean and a standard deviation are stored; "
    "each pass draws the weight anew."
)
DISTRIBUTION = (
    "A random matrix, and three draws of it. Below each draw: red entries moved away from 0, blue "
    "ones towards 0 or past it."
)
NUMBERS = "Random numbers of one pass: 4 members, 128 examples"

MINUS = "\N{MINUS SIGN}"


class Weight:
    """One random weight: its density, and so many draws of it."""

    def __init__(self, draws: int, seed: int) -> None:
        self.noise = np.sort(np.random.default_rng(seed).standard_normal(draws))
        self.choices = {
            "mean": [-1.0, -0.5, 0.0, 0.5, 1.0],
            "standard_deviation": [0.25, 0.5, 1.0],
        }

    def of(self, mean: float | int, standard_deviation: float | int) -> Float[Array, " S"]:
        """Return the draws, the smallest first."""
        return mean + standard_deviation * self.noise

    def draw(self, mean: float | int, standard_deviation: float | int) -> Figure:
        """Draw the density, and below it a stroke a draw."""
        return plot.weight_density(
            mean, standard_deviation, self.of(mean, standard_deviation),
            xlim=(-3.5, 3.5), top=1.7,
        )  # fmt: skip

    def say(self, mean: float | int, standard_deviation: float | int) -> str:
        """Say where the draws lie."""
        draws = self.of(mean, standard_deviation)
        return (
            f"The {len(draws)} draws lie between {draws[0]:.1f} and {draws[-1]:.1f}, most of them "
            "near the mean."
        ).replace("-", MINUS)


class Distribution:
    """A random matrix, and draws of it.

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
        """Draw mean, standard deviation, draws, and how far each entry moved."""
        name = dict(zip(self.choices["method"], self.draws, strict=True))[method]
        return plot.distribution(
            self.mean, self.std, self.draws[name], method=name, value_range=0.9, std_range=0.8
        )

    def say(self, method: str) -> str:
        """Say what moves together."""
        return {
            "rank-1": "Rank-1: a row shares its draw of r and a column that of s, so their entries "
            "move together.",
            "mean-field": "Mean-field, with the same mean and standard deviation of each entry: "
            "colors without a pattern. Nothing moves together.",
        }[method]


def numbers_table(numbers: Mapping[str, tuple[int, int]]) -> Table:
    """Return the table of random numbers of a layer and of a ResNet-50, by what draws them.

    Rows are of rank-1 BNNs but the last one, of a mean-field network; the second row decides.
    """
    rows = {
        name: {"layer 50 → 50": small, "ResNet-50": f"{large / 1e6:.1f}M"}
        for name, (small, large) in numbers.items()
    }
    *shared, field = rows
    return method_table(
        rows, colors=dict.fromkeys(shared, "rank1") | {field: "mean_field"},
        decisive=(shared[1], "ResNet-50"), caption=NUMBERS,
    )  # fmt: skip
