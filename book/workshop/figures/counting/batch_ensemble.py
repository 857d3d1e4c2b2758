"""What *BatchEnsemble* draws and says: how members are made of one matrix, and what has rank 1."""

from collections.abc import Mapping
from itertools import product

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import numpy as en
from workshop import plot
from workshop.plot.style import Figure

# Captions.
MEMBERS = (
    "A member is a column r and a row s. What it computes with is W times r sᵀ, entry by entry: "
    "computed from W, r and s, and no parameter."
)
RANK = (
    "One member of a layer with 4 inputs and 5 outputs. In the ratio, right, each row is one "
    "pattern times a number."
)

#: What fast weights start from, by the name of their start.
FROM = {"signs": "random signs", "normal": "N(1, 0.5²)"}


class Members:
    """W, r sᵀ and their product for each member of a square layer, as they start."""

    sizes, widths = (2, 3), (4, 5, 8)

    def __init__(self) -> None:
        self.choices = {
            "fast_weights": [*FROM], "ensemble_size": [*self.sizes], "width": [*self.widths],
        }  # fmt: skip
        self.layers = {
            (init, M, h): en.BatchEnsembleLinear(
                h, h, M, rng=np.random.default_rng(4), init=init
            ).params
            for init, M, h in product(*self.choices.values())
        }

    def draw(self, fast_weights: str, ensemble_size: int, width: int) -> Figure:
        """Draw a column a member."""
        own = self.layers[fast_weights, ensemble_size, width]
        return plot.modulation(own["weight"], own["r"], own["s"], value_range=0.7, factor_range=3.0)

    def say(self, fast_weights: str, ensemble_size: int, width: int) -> str:
        """Say how many numbers members share, and how many they own."""
        return (
            f"The {ensemble_size} members share {width**2} weights, and each scales them by "
            f"{2 * width} numbers of its own, from {FROM[fast_weights]}."
        )


class Rank:
    """A member's matrix, its difference from W, and its ratio to W.

    Parameters
    ----------
    matrices
        By the start of fast weights, and by the name of each, (m, n).
    """

    def __init__(self, matrices: Mapping[str, Mapping[str, Float[Array, "m n"]]]) -> None:
        self.matrices = matrices
        self.choices = {"fast_weights": [*matrices]}

    def ranks(self, fast_weights: str) -> dict[str, int]:
        """Return the rank of each."""
        own = self.matrices[fast_weights]
        return {name: int(np.linalg.matrix_rank(V)) for name, V in own.items()}

    def draw(self, fast_weights: str) -> Figure:
        """Draw them side by side."""
        return plot.weight_matrices(
            np.stack([*self.matrices[fast_weights].values()]), annotate=False, value_range=2.0,
            titles=[f"{name}, rank {rank}" for name, rank in self.ranks(fast_weights).items()],
        )  # fmt: skip

    def say(self, fast_weights: str) -> str:
        """Say which rank each has."""
        ranks = self.ranks(fast_weights).items()
        return f"{', '.join(f'{name} has rank {k}' for name, k in ranks)}."
