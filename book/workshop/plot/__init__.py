"""Figures in one house style: arrays in, a Matplotlib `Figure` out.

`figure_key` says how to read them all. `growth_curves` draws totals against a size,
`predictive_bands` curves with their bands, `effect_intervals` differences whose intervals are
known, `forest` those that are pooled over data sets; `panels` makes axes for others.
"""

from workshop.plot.curves import Belief, growth_curves, predictive_bands
from workshop.plot.effect_intervals import effect_intervals
from workshop.plot.figure_key import figure_key
from workshop.plot.forest import PooledEffect, forest
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
    "effect_intervals",
    "figure_key",
    "forest",
    "growth_curves",
    "house_style",
    "look",
    "panels",
    "png",
    "predictive_bands",
    "rendering",
]
