"""What *What is inside a rank-1 BNN?* draws and says: random matrices."""

from collections.abc import Mapping

from jaxtyping import Float
from numpy import ndarray as Array

from workshop import plot
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
    "Whole rows and columns move together. Three draws of a random matrix, and below each how "
    "far its weights moved."
)


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
