"""Deep ensembles of the running example, whose members start apart or alike, and their average."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray as Array
from torch import nn

from ensedu.data import gap
from ensedu.torch import predict
from workshop.experiments import running_example as example

__all__ = ["ByStart", "by_start"]


@dataclass(frozen=True, eq=False)
class ByStart:
    """Deep ensembles of the running example, from ``"different"`` starts and from the ``"same"``.

    Attributes
    ----------
    x, truth
        (N,), where their curves are drawn, and the true curve there.
    points
        x and y of what they were trained on, (B,) each.
    nets, curves
        The ensembles, and their members' curves, (M, N), by start.
    """

    x: Float[Array, " N"]
    truth: Float[Array, " N"]
    points: tuple[Float[Array, " B"], Float[Array, " B"]]
    nets: dict[str, nn.Module]
    curves: dict[str, Float[Array, "M N"]]

    @property
    def in_gap(self) -> Bool[Array, " N"]:
        """Whether an x lies where no point is."""
        low, high = gap.gaps[0]
        return (low < self.x) & (self.x < high)

    def left(self, sizes: Iterable[int]) -> dict[int, float]:
        """Return the average's mean squared error in the gap, over all choices of its members."""
        errors = (self.curves["different"] - self.truth)[:, self.in_gap]
        return {
            size: float(np.mean([np.mean(own, axis=0) ** 2 for own in combinations(errors, size)]))
            for size in sizes
        }


def by_start(members: int) -> ByStart:
    """Train so many members from different starts, and from one; it takes some seconds."""
    x, (data_x, data_y) = np.linspace(-4.6, 4.6, 185), gap.sample(np.random.default_rng(0))
    nets = {
        start: example.deep_ensemble(members, same_start=start == "same")
        for start in ("different", "same")
    }
    curves = {
        start: predict(net, torch.from_numpy(x[:, None])).numpy()[..., 0]
        for start, net in nets.items()
    }
    return ByStart(x, gap.truth(x), (data_x[:, 0], data_y[:, 0]), nets, curves)
