"""What the cheat sheet draws and says: Part I on one page."""

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.methods import role_sums
from ensedu.numpy.base import Layer
from ensedu.numpy.variational import softplus

CAPTION = (
    "What four members store. The squares are a layer with 2 inputs and 3 outputs, the bars count "
    "the network 1-50-50-1."
)
ALT = (
    "Five rows, one a method. Single network: one matrix and a bias. Deep ensemble: four of both. "
    "BatchEnsemble: one gray matrix, and for each member a column r, a row s and a bias, around a "
    "faint matrix that is computed. Rank-1 BNN: the same with a hatched strip of standard "
    "deviations beside each. Mean-field BNN: a matrix of means and a hatched one of standard "
    "deviations. At the right a bar with the count of each."
)


def parts_of(layer: Layer) -> dict[str, Float[Array, "..."]]:
    """Return a layer's arrays by name, its raw scales ρ as standard deviations."""
    return {
        name.replace("_rho", "_std"): softplus(array) if name.endswith("_rho") else array
        for name, array in layer.params.items()
    }


def formula(method: str) -> str:
    """Return the parameters of a layer m → n."""
    return " + ".join(role_sums(method).values()).replace(" · ", "")
