"""What *BatchEnsemble* draws and says: how members are made of one matrix, and how they begin."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import numpy as en
from ensedu import plot
from ensedu.plot.style import Figure

# Captions.
MEMBERS = (
    "A member is a column r and a row s. What it computes with is W times r sᵀ, entry by entry: "
    "computed from W, r and s, and no parameter."
)
RANK = (
    "One member of a layer with 4 inputs and 5 outputs. In the ratio, right, each row is one "
    "pattern times a number."
)
BREAK_EVEN = (
    "Numbers in a square layer of four members. From width 3 on BatchEnsemble is smaller, and the "
    "wider, the more it saves."
)
STARTS = (
    "First layer of 200-200-10 before training, random data. Right: what the average of four "
    "losses keeps along a member's gradient of W."
)
LIVE = (
    "A BatchEnsemble trains on this page. Members' matrices: blue is below 0, red above. From "
    "signs they have little in common; from near 1 they look alike, and yet the curves part in "
    "the gap."
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


class BreakEven:
    """From which width on a BatchEnsemble layer holds fewer numbers.

    Parameters
    ----------
    members
        M, of both ensembles.
    totals
        By method and by width, the numbers of a square layer.
    first
        The first width at which the BatchEnsemble is smaller.
    """

    def __init__(self, members: int, totals: Mapping[str, Mapping[int, int]], first: int) -> None:
        self.members, self.totals, self.first = members, totals, first

    def draw(self) -> Figure:
        """Draw a curve a method, with a ring at that width."""
        widths = [*next(iter(self.totals.values()))]
        return plot.growth_curves(
            widths, {method: [*own.values()] for method, own in self.totals.items()},
            xlabel="width h of a layer h → h", ylabel=f"numbers, {self.members} members",
            marks={"batch_ensemble": self.first},
        )  # fmt: skip

    def say(self) -> str:
        """Say where they cross."""
        first, *_, last = next(iter(self.totals.values()))
        return (
            f"Two curves over the width from {first} to {last}. The deep ensemble's curve rises "
            "steeply, that of BatchEnsemble slowly; they cross between "
            f"{self.first - 1} and {self.first}, where a ring marks the first width at which "
            "BatchEnsemble is smaller."
        )


class Starts:
    """How members begin, by the start of their fast weights.

    Parameters
    ----------
    members
        M, whose losses are averaged.
    correlations
        Of two members' outputs, a value a seed.
    left
        What the average of losses leaves of a member's gradient of W.
    """

    titles = ("correlation of outputs", "gradient that is left")

    def __init__(
        self, members: int, correlations: Mapping[str, Sequence[float | int]],
        left: Mapping[str, Sequence[float | int]],
    ) -> None:  # fmt: skip
        self.members, self.values = members, (correlations, left)

    def draw(self) -> Figure:
        """Draw a panel each."""
        correlation, gradient = self.titles
        return plot.dots(
            dict(zip(self.titles, self.values, strict=True)),
            colors=dict.fromkeys(self.values[0], "batch_ensemble"),
            xlim={correlation: (-0.15, 1.1), gradient: (0, 1.1)},
        )

    def say(self) -> str:
        """Say the means of both."""
        correlations, left = (
            ", ".join(f"{name} {round(np.mean(own), 2) + 0:.2f}" for name, own in values.items())
            for values in self.values
        )
        return (
            "Two panels, a row of dots a start. Correlation of two members' outputs: "
            f"{correlations}. What an average of {self.members} losses leaves of the gradient of "
            f"W: {left}."
        )
