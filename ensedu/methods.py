"""The methods of this book in one table: formulas, layers, figures and pages follow from it.

Letters are the book's: a layer has ``m`` inputs and ``n`` outputs, an ensemble ``M`` members.
Needs nothing but the standard library.
"""

from dataclasses import dataclass
from typing import Any

from ensedu.common import checks

__all__ = [
    "METHODS",
    "ROLES",
    "ROLE_LABELS",
    "SHAPES",
    "Array",
    "Method",
    "checked_sizes",
    "layer_methods",
    "role_sums",
    "size_option",
]

#: What an array is for, in the order in which counts and figures show it.
ROLES = ("shared", "per_member", "stds", "biases")

#: What readers call each role, in figures and tables alike.
ROLE_LABELS = dict(zip(ROLES, ("shared", "own", "standard deviations", "biases"), strict=True))

#: What an array of a layer can be: a weight, a member's weight, vectors of inputs and of outputs.
SHAPES = ("m n", "M m n", "M m", "M n", "n")


@dataclass(frozen=True)
class Array:
    """One trained array of a layer.

    Attributes
    ----------
    name
        Its name in both backends; a standard deviation is stored as ρ, with σ = softplus(ρ).
    shape
        Its axes as letters, one of `SHAPES`. Behind m and n a convolution has its kernel.
    role
        One of `ROLES`.

    Raises
    ------
    TypeError, ValueError
        For a name that is no string, and another shape or role.
    """

    name: str
    shape: str
    role: str

    def __post_init__(self) -> None:
        checks.text("name", self.name)
        checks.one_of("shape", self.shape, SHAPES)
        checks.one_of("role", self.role, ROLES)


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Attributes
    ----------
    key, label
        What code and what readers call it.
    source
        Where it comes from.
    layer
        How the names of its layers begin: ``layer + "Linear"``, ``layer + "Conv2d"``.
    arrays
        What one layer trains.
    has_members
        Whether it has ``ensemble_size`` members. Without them, passes are samples of one network.
    stochastic
        Whether each pass draws.
    body
        The method of all layers but the last of a network, where that is another one.

    Raises
    ------
    TypeError
        For words that are no strings, arrays that are not a tuple of `Array`, and flags that are
        not bools.
    """

    key: str
    label: str
    source: str
    layer: str
    arrays: tuple[Array, ...]
    has_members: bool = False
    stochastic: bool = False
    body: str = ""

    def __post_init__(self) -> None:
        for name in ("key", "label", "source", "layer", "body"):
            checks.text(name, getattr(self, name))
        for name in ("has_members", "stochastic"):
            checks.boolean(name, getattr(self, name))
        arrays = self.arrays
        if not isinstance(arrays, tuple) or not all(isinstance(a, Array) for a in arrays):
            raise TypeError(f"arrays must be a tuple of Array, got {checks.describe(arrays)}")

    @property
    def roles(self) -> dict[str, str]:
        """The role of each array by name."""
        return {array.name: array.role for array in self.arrays}

    @property
    def modulated(self) -> bool:
        """Whether members are a shared matrix times r sᵀ."""
        return {"m n", "M m", "M n"} <= {a.shape for a in self.arrays if a.role != "biases"}

    @property
    def shares_nothing(self) -> bool:
        """Whether members share no array."""
        return self.has_members and not self.body and "shared" not in self.roles.values()

    @property
    def has_stds(self) -> bool:
        """Whether standard deviations are trained."""
        return "stds" in self.roles.values()

    @property
    def drops_units(self) -> bool:
        """Whether what is drawn is which units stay."""
        return self.stochastic and not self.has_stds


_OF_ONE_NETWORK = (Array("weight", "m n", "shared"), Array("bias", "n", "biases"))
_OF_EACH_MEMBER = (Array("weight", "M m n", "per_member"), Array("bias", "M n", "biases"))

#: Every method by its key, in the order in which tables and figures show them.
METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method("single", "single network", "one network", "", _OF_ONE_NETWORK),
        Method(
            "deep_ensemble",
            "deep ensemble",
            "Lakshminarayanan et al. 2017",
            "DeepEnsemble",
            _OF_EACH_MEMBER,
            has_members=True,
        ),
        Method(
            "batch_ensemble",
            "BatchEnsemble",
            "Wen et al. 2020, eq. 3",
            "BatchEnsemble",
            (
                Array("weight", "m n", "shared"),
                Array("r", "M m", "per_member"),
                Array("s", "M n", "per_member"),
                Array("bias", "M n", "biases"),
            ),
            has_members=True,
        ),
        Method(
            "rank1",
            "rank-1 BNN",
            "Dusenberry et al. 2020, eq. 3",
            "Rank1",
            (
                Array("weight", "m n", "shared"),
                Array("r_mean", "M m", "per_member"),
                Array("r_rho", "M m", "stds"),
                Array("s_mean", "M n", "per_member"),
                Array("s_rho", "M n", "stds"),
                Array("bias", "M n", "biases"),
            ),
            has_members=True,
            stochastic=True,
        ),
        Method(
            "mean_field",
            "mean-field BNN",
            "Blundell et al. 2015, sec. 3.2",
            "MeanField",
            (
                Array("weight_mean", "m n", "shared"),
                Array("weight_rho", "m n", "stds"),
                Array("bias_mean", "n", "biases"),
                Array("bias_rho", "n", "biases"),
            ),
            stochastic=True,
        ),
        Method(
            "mc_dropout",
            "MC dropout",
            "Gal and Ghahramani 2016",
            "",
            _OF_ONE_NETWORK,
            stochastic=True,
        ),
        Method(
            "last_layer",
            "last-layer ensemble",
            "a deep ensemble of the last layer on one shared body",
            "DeepEnsemble",
            _OF_EACH_MEMBER,
            has_members=True,
            body="single",
        ),
    )
}


def size_option(method: str, number: int) -> dict[str, Any]:
    """Return the keyword with which `method` gives `number` answers.

    It is ``ensemble_size`` for a method with members, ``samples`` for another that draws, and none
    for a single network.

    Examples
    --------
    >>> size_option("rank1", 4), size_option("mean_field", 4), size_option("single", 4)
    ({'ensemble_size': 4}, {'samples': 4}, {})
    """
    row = METHODS[checks.one_of("method", method, METHODS)]
    number = checks.positive_int("number", number)
    if row.has_members:
        return {"ensemble_size": number}
    return {"samples": number} if row.stochastic else {}


def checked_sizes(method: str, ensemble_size: Any, samples: Any) -> tuple[int, int | None]:
    """Check the sizes that `method` is given: return its members (1 without) and its samples.

    Samples that are not given are 1 where they are all that a forward pass repeats, else ``None``.

    Raises
    ------
    TypeError, ValueError
        For an unknown method, members or samples that it does not have, a missing `ensemble_size`,
        and a size that is not a positive integer.
    """
    row = METHODS[checks.one_of("method", method, METHODS)]
    if samples is not None and not row.stochastic:
        raise ValueError(
            f"samples must be left out for {method!r}, which draws nothing, "
            f"got {checks.describe(samples)}"
        )
    samples = None if samples is None else checks.positive_int("samples", samples)
    if row.has_members:
        return checks.positive_int("ensemble_size", ensemble_size), samples
    if ensemble_size is not None:
        instead = "; accepted is samples=" if row.stochastic else ""
        if instead:
            instead += str(checks.positive_int("ensemble_size", ensemble_size))
        raise ValueError(
            f"ensemble_size must be left out for {method!r}, which has no members, "
            f"got {checks.describe(ensemble_size)}{instead}"
        )
    return 1, 1 if row.stochastic and samples is None else samples


def layer_methods(method: str, layers: int) -> list[str]:
    """Return the method of each of so many layers of a network.

    Examples
    --------
    >>> layer_methods("last_layer", 3)
    ['single', 'single', 'last_layer']
    """
    row = METHODS[checks.one_of("method", method, METHODS)]
    return [row.body or method] * (checks.positive_int("layers", layers) - 1) + [method]


def role_sums(method: str) -> dict[str, str]:
    """Return what each role of a layer adds up to, in the book's letters.

    Examples
    --------
    >>> role_sums("batch_ensemble")
    {'shared': 'm · n', 'per_member': 'M · (m + n)', 'biases': 'M · n'}
    """
    arrays = METHODS[checks.one_of("method", method, METHODS)].arrays
    result = {}
    for role in ROLES:
        shapes = [a.shape.split() for a in arrays if a.role == role]
        if not shapes:
            continue
        if len(shapes) > 1 and all(shape == shapes[0] for shape in shapes):
            factors = [str(len(shapes)), *shapes[0]]
        elif len(shapes) > 1:
            rest = " + ".join(" · ".join(shape[1:]) for shape in shapes)
            factors = [shapes[0][0], f"({rest})"]
        else:
            factors = shapes[0]
        result[role] = " · ".join(factors)
    return result
