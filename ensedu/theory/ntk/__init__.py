"""Embedded ensembles and what they become as they grow: tangent kernels, at hand and in the limit.

When does an ensemble whose members share their weights behave like one whose members do not? In
the NTK parametrization the answer can be computed (Velikanov et al. 2022)::

    rng, x = np.random.default_rng(0), np.linspace(-1, 1, 5)[:, None]
    net = embedded([1, 256, 256, 1], 4, rng=rng, u=Modulation("signs"))
    tangent(net, x).shared[0, 1]  # how member 2's steps move member 1: near 0
    limit(x, hidden_layers=2, u=Modulation("signs")).shared[1]  # exactly 0

NumPy, in float64, with SciPy for erf: ``pip install "ensedu[scores]"``; the same in Torch is
`ensedu.theory.ntk.torch`. All raise ``TypeError`` or ``ValueError`` for anything that they do not
name.
"""

from ensedu.theory.ntk.kernel import Kernel, flow, modes, tangent
from ensedu.theory.ntk.limits import Limit, limit
from ensedu.theory.ntk.network import EmbeddedEnsemble, Pass, embedded
from ensedu.theory.ntk.units import Modulation

__all__ = [
    "EmbeddedEnsemble",
    "Kernel",
    "Limit",
    "Modulation",
    "Pass",
    "embedded",
    "flow",
    "limit",
    "modes",
    "tangent",
]
