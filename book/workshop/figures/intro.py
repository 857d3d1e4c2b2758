"""What the introduction says of its figures, and the numbers that one of them shows."""

from jaxtyping import Float
from numpy import ndarray as Array

from ensedu.numpy.base import Layer
from ensedu.numpy.variational import softplus

# What to try with the first figure.
TRIES = (
    {
        "ask": "The inner band is how far members differ. Set them to 1: how wide is it?",
        "set": {"ensemble_size": 1},
        "answer": "None: 1 member cannot disagree.",
    },
    {
        "ask": "Set them to 16. Where do they differ most?",
        "set": {"ensemble_size": 16, "start": "different"},
        "answer": "With 16, where there is no point.",
    },
    {
        "ask": "With 16 members, start all the same: what is left?",
        "set": {"ensemble_size": 16, "start": "same"},
        "answer": "Nothing: one start, one network.",
    },
)

# Captions.
DOUBT = (
    "One network is as sure in the gap, where it has seen no point, as anywhere else. Add "
    "members, and doubt appears there: it is the inner band, how far members differ. The outer "
    "band adds the noise of the points. Both are ± 2 standard deviations. The networks train on "
    "this page, on sixty points."
)
INSIDE = (
    "A deep ensemble repeats the matrix. BatchEnsemble and the rank-1 BNN share it and repeat "
    "thin vectors. The two Bayesian networks (BNNs) store a mean and a standard deviation "
    "(hatched) for r and s, or for every weight, and draw them anew for each prediction. Three "
    "members, or three draws of the mean-field BNN."
)
INSIDE_ALT = (
    "Five rows, one a method. A single network: one 3 by 4 matrix of squares and a bias. Deep "
    "ensemble of three: three such matrices, all in the method's color. BatchEnsemble: one gray "
    "matrix for all, and for each member two thin strips, r and s, and a bias. Rank-1 BNN: the "
    "same, with a strip of standard deviations next to each strip. Mean-field BNN: one matrix of "
    "means and one of standard deviations. Beside each row a bar with its count."
)


def parts_of(layer: Layer) -> dict[str, Float[Array, "..."]]:
    """Return a layer's arrays by name, its raw scales ρ as standard deviations."""
    return {
        name.replace("_rho", "_std"): softplus(array) if name.endswith("_rho") else array
        for name, array in layer.params.items()
    }
