"""Relatives of this book's methods: how many numbers each trains, and keeps to predict.

Needs nothing but the standard library.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ensedu import counting
from ensedu.common import checks
from ensedu.counting import Count
from ensedu.methods import size_option

__all__ = ["RELATIVES", "Numbers", "Relative", "numbers"]


class _LayerSizes(NamedTuple):
    m: int
    n: int
    M: int
    first: bool
    last: bool
    chosen: dict[str, int]

    def of(self, method: str) -> Count:
        return counting.layer(self.m, self.n, method, **size_option(method, self.M))


def _mimo(at: _LayerSizes) -> Count:
    m, n = at.m * (at.M if at.first else 1), at.n * (at.M if at.last else 1)
    return Count(per_member=m * n, biases=n) if at.first or at.last else at.of("single")


def _packed(at: _LayerSizes) -> Count:
    alpha, groups = at.chosen["alpha"], at.M * at.chosen["gamma"]
    m, n = at.m * (1 if at.first else alpha), at.n * (at.M if at.last else alpha)
    for width in (n,) if at.first else (m, n):
        if width % groups:
            raise ValueError(
                "ensemble_size * gamma must divide alpha times each hidden width in sizes, and "
                f"gamma the outputs, got {groups} groups for {width} units"
            )
    return Count(per_member=m * n // (1 if at.first else groups), biases=n)


def _lora(at: _LayerSizes) -> Count:
    base, added = at.of("single"), at.M * at.chosen["rank"] * (at.m + at.n)
    return replace(base, per_member=added, frozen=base.total)


def _swag(at: _LayerSizes) -> Count:
    more = 1 + at.chosen["columns"]  # the mean of squares, and deviations, beside the mean
    return Count(at.m * at.n, scales=more * at.m * at.n, biases=(1 + more) * at.n)


def _last_layer(at: _LayerSizes) -> Count:
    base = at.of("single")
    return replace(base, scales=base.total**2 if at.last else 0)


class Relative(NamedTuple):
    """What readers call a relative, its paper, how it works in a sentence, what a layer keeps.

    It trains "all" that it keeps, what is the members' "own", or "one" network.
    """

    label: str
    citation: str
    year: int
    how: str
    layer: Callable[..., Count]
    trains: str = "one"


#: Every relative by its key, those with members before those that draw around one network.
RELATIVES: dict[str, Relative] = {
    "mimo": Relative("MIMO", "havasi2021", 2021, "One network takes M inputs side by side and "
        "answers each; to predict, it gets the same input M times.", _mimo, "all"),
    "packed": Relative("packed ensemble", "laurent2023", 2023, "Layers alpha times as wide are "
        "cut into M networks, and each network's layers into gamma groups.", _packed, "all"),
    "tabm": Relative("TabM", "gorishniy2025", 2025, "A BatchEnsemble whose members own their last "
        "layers, and differ at the start in these and the first r alone.",
        lambda at: at.of("deep_ensemble" if at.last else "batch_ensemble"), "all"),
    "lora": Relative("LoRA ensemble", "wang2023", 2023, "To the frozen weights of one network each "
        "member adds products of two thin matrices, and trains these.", _lora, "own"),
    "snapshot": Relative("snapshot ensemble", "huang2017snapshot", 2017, "One run, whose learning "
        "rate jumps up and falls M times, leaves a copy after each fall.",
        lambda at: at.of("deep_ensemble")),
    "swag": Relative("SWAG", "maddox2019", 2019, "Draws from a normal with the mean, the variances "
        "and the last deviations of the weights late in training.", _swag),
    "laplace_last_layer": Relative("Laplace, last layer", "daxberger2021", 2021, "Draws the last "
        "layer from a normal as wide as the loss is flat around the trained one.", _last_layer),
    "laplace_kronecker": Relative("Laplace, Kronecker", "daxberger2021", 2021, "Draws all layers "
        "so, each curvature a Kronecker product of one of inputs and one of outputs.",
        lambda at: Count(at.m * at.n, scales=at.m**2 + at.n**2, biases=at.n + at.n**2)),
    "laplace_diagonal": Relative("Laplace, diagonal", "daxberger2021", 2021, "Draws all layers "
        "so, with one curvature a weight and none between two.", lambda at: at.of("mean_field")),
    "ivon": Relative("IVON", "shen2024", 2024, "Trains one normal a weight, nearly as cheaply as "
        "Adam: the curvatures that scale its steps say how wide.", lambda at: at.of("mean_field")),
}  # fmt: skip


class Numbers(NamedTuple):
    """What a gradient moves, without an optimizer's own memory, and what a prediction reads."""

    trained: Count
    kept: Count


def numbers(
    sizes: Sequence[int],
    relative: str,
    ensemble_size: int,
    *,
    alpha: int = 2,
    gamma: int = 1,
    columns: int = 20,
    rank: int = 8,
) -> Numbers:
    """The numbers of a multilayer perceptron that a relative trains at one time, and keeps.

    Parameters
    ----------
    sizes
        At least two positive integers: inputs, hidden widths, outputs.
    relative
        A key of `RELATIVES`.
    ensemble_size
        Number of members M; where there are none, of draws, which changes no count.
    alpha, gamma
        Of a packed ensemble. The groups of the first layer read all inputs.
    columns
        How many deviations SWAG keeps, 20 in its authors' code.
    rank
        Of a LoRA ensemble: columns of the first thin matrix, and rows of the second.

    Raises
    ------
    TypeError, ValueError
        For sizes and numbers that are not positive integers, an unknown `relative`, and units that
        cannot be divided among the groups of a packed ensemble.

    Notes
    -----
    What says how far weights lie from their means is in ``scales``, or in ``biases`` if it is of
    biases alone; single numbers, as a prior's precision, are left out. Laplace's Kronecker factors
    of a layer m→n are m × m and n × n for its weights and n × n for its biases, as
    ``laplace-torch`` keeps them; with biases as one more input, (m + 1) × (m + 1) and n × n.

    Examples
    --------
    >>> [part.total for part in numbers([1, 50, 50, 1], "snapshot", 4)]
    [2701, 10804]
    """
    sizes = checks.layer_sizes("sizes", sizes)
    row = RELATIVES[checks.one_of("relative", relative, RELATIVES)]
    M = checks.positive_int("ensemble_size", ensemble_size)
    chosen = {"alpha": alpha, "gamma": gamma, "columns": columns, "rank": rank}
    chosen = {name: checks.positive_int(name, value) for name, value in chosen.items()}
    trained, kept = [], []
    for i, (m, n) in enumerate(pairwise(sizes)):
        at = _LayerSizes(m, n, M, first=i == 0, last=i == len(sizes) - 2, chosen=chosen)
        held = replace(row.layer(at), name=f"{m} → {n}")
        moved = held if row.trains == "all" else at.of("single")
        if row.trains == "own":
            moved = Count(per_member=held.per_member)
        trained.append(replace(moved, name=held.name))
        kept.append(held)
    return Numbers(*(replace(sum(c, start=Count()), layers=tuple(c)) for c in (trained, kept)))
