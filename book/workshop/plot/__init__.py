"""Figures in one house style: arrays and Counts in, a Matplotlib `Figure` out.

`key` says how to read them all. `network` draws nodes and edges with their counts,
`weight_matrices` heat maps, `parameter_bars` totals and their roles, `growth_curves` totals
against a size, `modulation` how BatchEnsemble makes its members,
`weight_density` one random weight, `distribution` matrices with their spread, and `inside` the
whole book in one figure. `functions` draws curves with their bands, `effects` differences whose
intervals are known, `forest` those that are pooled over data sets, and `panels` makes axes for a
figure of your own.
"""

from workshop.plot.bars import parameter_bars
from workshop.plot.curves import growth_curves
from workshop.plot.density import weight_density
from workshop.plot.distribution import distribution
from workshop.plot.effects import effects
from workshop.plot.forest import PooledEffect, forest
from workshop.plot.functions import Belief, functions
from workshop.plot.inside import inside
from workshop.plot.key import key
from workshop.plot.matrices import weight_matrices
from workshop.plot.modulation import modulation
from workshop.plot.network import network
from workshop.plot.panels import panels
from workshop.plot.style import (
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
