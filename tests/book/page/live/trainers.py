"""Trainers that several tests look at."""

from ensedu.book.page.live import live, trainer_state

SIX = tuple(trainer_state.STARTS)


def small(**given):
    return live(**{"width": 5, "hidden_layers": 1} | given)
