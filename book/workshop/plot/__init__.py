"""Figures in one house style: arrays and Counts in, a Matplotlib `Figure` out.

`key` says how to read them all. `parameter_bars` draws totals and their roles, `growth_curves`
totals against a size, `distribution` matrices with their spread, and `inside` what one layer stores
under several methods. `functions` draws curves with their bands, `effects` differences whose
intervals are known, `forest` those that are pooled over data sets, and `panels` makes axes for a
figure of your own.
"""

from workshop.plot.bars import parameter_bars
from workshop.plot.curves import growth_curves
from workshop.plot.distribution import distribution
from workshop.plot.effects import effects
from workshop.plot.forest import PooledEffect, forest
from workshop.plot.functions import Belief, functions
from workshop.plot.inside import inside
from workshop.plot.key import key
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
    "panels",
    "parameter_bars",
    "png",
    "rendering",
    "use_style",
]
