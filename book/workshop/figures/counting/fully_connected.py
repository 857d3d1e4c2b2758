"""What *Fully connected layers* draws and says: what a network holds, and from where it learns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu import counting
from ensedu.data import gap
from workshop import plot
from workshop.plot.style import Figure

# Captions.
NETWORK = (
    "Each line is a weight, each unit after the input has a bias. Areas are true: a matrix twice "
    "as large holds twice as many weights."
)
START = (
    "Fifty equal units a layer do the work of one: here the curve has one bend at most. From a "
    "random start it follows the points."
)
SIGNAL = (
    "A signal on its way through eight layers, mean of 20 networks. Without biases it shrinks "
    "alike at each width; a start √6 times as wide makes up for it."
)


class Network:
    """A network of one input and one output, with what it stores."""

    widths, depths = (1, 2, 3, 5, 8, 16, 50), (1, 2, 3)

    def __init__(self) -> None:
        self.choices = {"width": [*self.widths], "hidden_layers": [*self.depths]}

    def sizes(self, width: int, hidden_layers: int) -> list[int]:
        """Return the sizes of its layers."""
        return [1, *[width] * hidden_layers, 1]

    def draw(self, width: int, hidden_layers: int) -> Figure:
        """Draw it in one scale for all widths."""
        return plot.network(self.sizes(width, hidden_layers), widest=max(self.widths))

    def say(self, width: int, hidden_layers: int) -> str:
        """Say what a network of this shape holds."""
        sizes = self.sizes(width, hidden_layers)
        squares = (hidden_layers - 1) * width**2
        return (
            f"A network {'-'.join(map(str, sizes))} holds {counting.mlp(sizes).total:,} numbers, "
            f"{squares:,} of them as weights between hidden layers."
        )


@dataclass(frozen=True, eq=False)
class Learned:
    """What a network has learned: its curve, and its mean squared error at the points."""

    curve: Float[Array, " N"]
    error: float


class Start:
    """Networks from two starts, after each of some numbers of steps.

    Parameters
    ----------
    x
        (N,), where the curves are drawn.
    points
        What was learned from, x and y, (B, 1) each.
    equal, random
        By the number of steps.
    value
        Where each number of the first network starts.
    """

    def __init__(
        self, x: Float[Array, " N"], points: tuple[Float[Array, "B 1"], Float[Array, "B 1"]],
        equal: Mapping[int, Learned], random: Mapping[int, Learned], value: float | int,
    ) -> None:  # fmt: skip
        self.x, self.points, self.value = x, points, value
        self.equal, self.random = equal, random
        self.choices = {"steps": [*equal]}

    def draw(self, steps: int) -> Figure:
        """Draw a panel a start."""
        own = {f"every number starts at {self.value:g}": self.equal, "random start": self.random}
        x, y = self.points
        return plot.functions(
            self.x,
            {name: plot.Belief("single", found[steps].curve) for name, found in own.items()},
            truth=gap.truth(self.x), data=(x[:, 0], y[:, 0]), ylim=(-2, 2), columns=1,
        )  # fmt: skip

    def say(self, steps: int) -> str:
        """Say how close both come."""
        when = f"After {steps:,} steps" if steps else "Before the first step"
        return (
            f"{when}. Mean squared error at the points: {self.equal[steps].error:.3f} from the "
            f"equal start, {self.random[steps].error:.3f} from the random one."
        )


class Signal:
    """The size of a signal behind 0, 1, … layers.

    Parameters
    ----------
    sizes
        By width: with ReLU from a wider start, without activation, and with ReLU, (L,) each.
    times
        The square of how much wider that start is.
    """

    def __init__(self, sizes: Mapping[int, Sequence[Float[Array, " L"]]], times: int) -> None:
        self.sizes, self.times = sizes, times
        self.choices = {"width": [*sizes]}

    def draw(self, width: int) -> Figure:
        """Draw a curve each."""
        names = f"start √{self.times} times as wide, ReLU", "no activation", "ReLU"
        own = dict(zip(names, self.sizes[width], strict=True))
        return plot.growth_curves(
            range(len(own["ReLU"])), own, xlabel="layers",
            ylabel="size of the signal (root mean square)", log=True, ylim=(0.0003, 2),
            colors=dict.fromkeys(own, "single"),
        )  # fmt: skip

    def say(self, width: int) -> str:
        """Say what is left of a signal."""
        wide, linear, relu = (size[-1] for size in self.sizes[width])
        return (
            f"Of a signal, eight layers with ReLU leave {relu:.4f}, without activation "
            f"{linear:.3f}, with ReLU from a wider start {wide:.1f}."
        )
