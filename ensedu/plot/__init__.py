"""Figures in one house style: arrays and Counts in, a Matplotlib `Figure` out.

`network` draws nodes and edges with their counts, `weight_matrices` heat maps, `parameter_bars`
counts by role, `growth_curves` totals against a size, `modulation` how BatchEnsemble makes its
members, `distribution` matrices with their spread, and `inside` the whole book in one figure.
`ratios` and `roofline` draw what was measured, `contest` what each of
several methods believes of one curve, and their scores.
"""

try:
    import matplotlib as matplotlib
except ImportError as error:
    raise ImportError(
        'ensedu.plot and ensedu.page need Matplotlib, which comes with pip install ".[book]"'
    ) from error

from ensedu.plot.bars import in_words, parameter_bars
from ensedu.plot.contest import Belief, contest
from ensedu.plot.curves import growth_curves
from ensedu.plot.distribution import distribution
from ensedu.plot.inside import inside
from ensedu.plot.matrices import weight_matrices
from ensedu.plot.modulation import modulation
from ensedu.plot.network import network
from ensedu.plot.ratios import ratios
from ensedu.plot.roofline import roofline
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
    "contest",
    "distribution",
    "growth_curves",
    "house_style",
    "in_words",
    "inside",
    "look",
    "modulation",
    "network",
    "parameter_bars",
    "png",
    "ratios",
    "rendering",
    "roofline",
    "use_style",
    "weight_matrices",
]
