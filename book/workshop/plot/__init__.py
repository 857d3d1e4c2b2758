"""Figures in one house style: arrays in, a Matplotlib `Figure` out.

`key` says how to read them all. `growth_curves` draws totals against a size, `functions` curves
with their bands, `effects` differences whose intervals are known, `forest` those that are pooled
over data sets; `panels` makes axes for others.
"""

from workshop.plot.curves import growth_curves
from workshop.plot.effects import effects
from workshop.plot.forest import PooledEffect, forest
from workshop.plot.functions import Belief, functions
from workshop.plot.key import key
from workshop.plot.panels import panels
from workshop.plot.style import (
    LABELS,
    LINES,
    MARKERS,
    PALETTE,
    Figure,
    Look,
    house_style,
    look,
    png,
    rendering,
)

__all__ = [
    "LABELS",
    "LINES",
    "MARKERS",
    "PALETTE",
    "Belief",
    "Figure",
    "Look",
    "PooledEffect",
    "effects",
    "forest",
    "functions",
    "growth_curves",
    "house_style",
    "key",
    "look",
    "panels",
    "png",
    "rendering",
]
