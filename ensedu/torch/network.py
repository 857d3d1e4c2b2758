"""Multilayer perceptrons for each method."""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ensedu import _checks
from ensedu.torch.base import check_tensor
from ensedu.torch.batch_ensemble import BatchEnsembleLinear
from ensedu.torch.bayes import BayesLinear
from ensedu.torch.deep_ensemble import DeepEnsembleLinear
from ensedu.torch.dropout import MCDropout
from ensedu.torch.rank1 import Rank1Linear


class Tile(nn.Module):
    """Repeat a batch: (B, features) -> (S, B, features), a view for each of S samples.

    Parameters
    ----------
    ensemble_size
        S, a positive integer.

    Raises
    ------
    TypeError, ValueError
        For a bad size, and for an input that is not (B, features).
    """

    def __init__(self, ensemble_size: int) -> None:
        super().__init__()
        self.ensemble_size = _checks.positive_int("ensemble_size", ensemble_size)

    def forward(self, x: Float[Tensor, "B features"]) -> Float[Tensor, "S B features"]:
        check_tensor("Tile: input x", x)
        if x.ndim != 2:
            raise ValueError(f"Tile: input x has shape {tuple(x.shape)}, accepted is (B, features)")
        return x.expand(self.ensemble_size, -1, -1)

    def extra_repr(self) -> str:
        return f"ensemble_size={self.ensemble_size}"


def mlp(
    sizes: Sequence[int],
    method: str = "single",
    ensemble_size: int = 1,
    *,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Sequential:
    """A multilayer perceptron with ReLU between its layers and nothing after the last.

    Parameters
    ----------
    sizes
        At least two positive integers: inputs m, hidden widths, outputs n.
    method
        One of `ensedu.counting.METHODS`. ``"single"`` maps (B, m) to (B, n), all others map it
        to (M, B, n).
    ensemble_size
        Number of members M. For ``"mean_field"`` and ``"mc_dropout"``, number of samples of a
        forward pass; without effect for ``"single"``.
    device, dtype
        As for ``nn.Linear``.
    options
        Further arguments of the method's layer (``init``, ``prior``, ...); for ``"mc_dropout"``
        those of `MCDropout`, which follows each ReLU.

    Raises
    ------
    TypeError, ValueError
        For a bad size or method, and for an option that the layer does not have.
    """
    sizes = _checks.layer_sizes("sizes", sizes)
    _checks.one_of("method", method, _checks.METHODS)
    M = _checks.positive_int("ensemble_size", ensemble_size)
    factory = {"device": device, "dtype": dtype}
    own = {**factory, **options}
    # What stands for one layer of a plain network: its weights, and what follows them.
    block: Callable[[int, int], list[nn.Module]] = {
        "single": lambda m, n: [nn.Linear(m, n, **own), nn.ReLU()],
        "deep_ensemble": lambda m, n: [DeepEnsembleLinear(m, n, M, **own), nn.ReLU()],
        "batch_ensemble": lambda m, n: [BatchEnsembleLinear(m, n, M, **own), nn.ReLU()],
        "rank1": lambda m, n: [Rank1Linear(m, n, M, **own), nn.ReLU()],
        "mean_field": lambda m, n: [BayesLinear(m, n, **own), nn.ReLU()],
        "mc_dropout": lambda m, n: [nn.Linear(m, n, **factory), nn.ReLU(), MCDropout(**options)],
    }[method]
    *hidden, last = (block(m, n) for m, n in pairwise(sizes))
    tile = [Tile(M)] if method in ("mean_field", "mc_dropout") else []
    return nn.Sequential(*tile, *chain.from_iterable(hidden), last[0])
