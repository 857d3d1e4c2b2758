"""Explorers and trainers that several tests look at."""

from ensedu.counting import Count
from workshop import plot
from workshop.page.explore import explore
from workshop.page.live import live, trainer_state

ALT = "{ensemble_size} networks of width {width}"
SIX = tuple(trainer_state.STARTS)


def draw(width, ensemble_size=1):
    return plot.parameter_bars({"a": Count(width, ensemble_size)})


def explorer(**options):
    given = {"alt": ALT, "caption": "A < B", "width": [2, 3, 50], "ensemble_size": [1, 2]}
    return explore(draw, **(given | options))


def small(**given):
    """A trainer of few numbers."""
    return live(**{"width": 5, "hidden_layers": 1} | given)
