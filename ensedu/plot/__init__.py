"""Figures in one house style: arrays and Counts in, a Matplotlib `Figure` out.

`key` says how to read them all. `network` draws nodes and edges with their counts,
`weight_matrices` heat maps, `parameter_bars` totals and their roles, `growth_curves` totals
against a size, `modulation` how BatchEnsemble makes its members,
`weight_density` one random weight, `distribution` matrices with their spread, and `inside` the
whole book in one figure. `functions` draws curves with their bands, `effects` differences whose
intervals are known, `forest` those that are pooled over data sets, and `panels` makes axes for a
figure of your own.
"""

try:
    import matplotlib as matplotlib
except ImportError as error:
    raise ImportError(
        'ensedu.plot needs Matplotlib, which comes with pip install ".[book]"'
    ) from error

from ensedu.plot.bars import parameter_bars
from ensedu.plot.curves import growth_curves
from ensedu.plot.density import weight_density
from ensedu.plot.distribution import distribution
from ensedu.plot.effects import effects
from ensedu.plot.forest import PooledEffect, forest
from ensedu.plot.functions import Belief, functions
from ensedu.plot.inside import inside
from ensedu.plot.key import key
from ensedu.plot.matrices import weight_matrices
from ensedu.plot.modulation import modulation
from ensedu.plot.network import network
from ensedu.plot.panels import panels
from ensedu.plot.style import (
    LABELS,
    LINES,
    MARKERS,
    PALETTE,
    ROLE_LABELS,
    Figure,
    Look,
    house_style,
    look,
    png,
    rendering,
    use_style,
)

__all__ = [
    "LABELS",
    "LINES",
    "MARKERS",
    "PALETTE",
    "ROLE_LABELS",
    "Belief",
    "Figure",
    "Look",
    "PooledEffect",
    "distribution",
    "effects",
    "forest",
    "functions",
    "growth_curves",
    "house_style",
    "inside",
    "key",
    "look",
    "modulation",
    "network",
    "panels",
    "parameter_bars",
    "png",
    "rendering",
    "use_style",
    "weight_density",
    "weight_matrices",
]
